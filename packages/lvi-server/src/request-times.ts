/**
 * Where the time of each execution goes in this server, for whoever looks closely: kept, and logged as `request_times`, only if
 * the log writes debug lines.
 */
import type { ExecutionId, LviReply } from "@radical/protocol";
import type { Fields } from "./log.ts";

/** In milliseconds. */
interface Times {
  readonly beganAtMs: number;
  answeredAtMs: number | null;
  lockWaitMs: number;
  intentMs: number;
}

export type RequestPart = "lockWaitMs" | "intentMs";

/** Most executions that are kept: the followup of one that was told may never come. The oldest go first. */
const MOST_EXECUTIONS = 10_000;

export class RequestTimes {
  readonly #times = new Map<ExecutionId, Times>();

  get size(): number {
    return this.#times.size;
  }

  begin(id: ExecutionId): void {
    this.#times.delete(id);
    this.#times.set(id, { beganAtMs: performance.now(), answeredAtMs: null, lockWaitMs: 0, intentMs: 0 });
    const [oldest] = this.#times.size > MOST_EXECUTIONS ? this.#times.keys() : [];
    if (oldest !== undefined) this.#times.delete(oldest);
  }

  spent(id: ExecutionId | undefined, part: RequestPart, ms: number): void {
    const times = id === undefined ? undefined : this.#times.get(id);
    if (times !== undefined) times[part] += ms;
  }

  /** Adds what an operation takes. */
  async during<T>(id: ExecutionId, part: RequestPart, operation: Promise<T>): Promise<T> {
    const sinceMs = performance.now();
    try {
      return await operation;
    } finally {
      this.spent(id, part, performance.now() - sinceMs);
    }
  }

  /** What is to be logged of an answer. */
  answered(id: ExecutionId, reply: LviReply): Fields {
    const times = this.#times.get(id);
    if (times === undefined) return { execution: id };
    const { beganAtMs, lockWaitMs, intentMs } = times;
    times.answeredAtMs = performance.now();
    if (reply.kind !== "valid" || reply.commitId === null) this.#times.delete(id);
    const repairs = reply.kind === "executed" ? reply.repairs.length : 0;
    return {
      execution: id,
      reply: reply.kind,
      repairs,
      serverMs: times.answeredAtMs - beganAtMs,
      lockWaitMs,
      intentMs,
    };
  }

  /** How long ago the execution was answered that has its followup applied; null: not known. */
  followed(id: ExecutionId | undefined): number | null {
    const answeredAtMs = id === undefined ? null : (this.#times.get(id)?.answeredAtMs ?? null);
    if (id !== undefined) this.#times.delete(id);
    return answeredAtMs === null ? null : performance.now() - answeredAtMs;
  }
}
