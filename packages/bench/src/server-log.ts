/** What the LVI server logs of executions, collected for the rows of a run. */
import { tableOf, type UnitId } from "@radical/protocol";
import type { ServerTimes } from "./rows.ts";

export class ServerLog {
  /** By execution id. */
  readonly times = new Map<string, ServerTimes>();
  /** Units that the answer brought, by execution id. */
  readonly repairs = new Map<string, number>();
  #stale: Record<string, number> = {};

  add(line: Readonly<Record<string, unknown>>): void {
    const execution = line["execution"];
    if (typeof execution !== "string") return;
    switch (line["event"]) {
      case "request_times":
        return this.#answered(execution, line);
      case "followup_applied":
        if (typeof line["followupMs"] === "number") this.#set(execution, { followupMs: line["followupMs"] });
        return;
      case "stale":
        for (const unit of String(line["units"] ?? "").split(" ")) {
          const table = tableOf(unit as UnitId);
          this.#stale[table] = (this.#stale[table] ?? 0) + 1;
        }
    }
  }

  /** Stale units by table since the last call. */
  takeStale(): Readonly<Record<string, number>> {
    const stale = this.#stale;
    this.#stale = {};
    return stale;
  }

  #answered(execution: string, line: Readonly<Record<string, unknown>>): void {
    this.repairs.set(execution, Number(line["repairs"]));
    const [serverMs, lockWaitMs, intentMs] = ["serverMs", "lockWaitMs", "intentMs"].map((name) => Number(line[name]));
    if (serverMs === undefined || lockWaitMs === undefined || intentMs === undefined) return;
    const restMs = serverMs - lockWaitMs - intentMs;
    const isExecuted = line["reply"] === "executed";
    this.#set(execution, {
      serverMs,
      lockWaitMs,
      ...(isExecuted ? { nearStorageMs: restMs } : { validateMs: restMs }),
      ...(intentMs > 0 ? { intentMs } : {}),
    });
  }

  #set(execution: string, times: ServerTimes): void {
    this.times.set(execution, { ...this.times.get(execution), ...times });
  }
}
