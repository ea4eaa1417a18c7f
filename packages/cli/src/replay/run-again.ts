/** A handler run again in this process, by the very host that locations and the primary run it in, on given values alone. */
import { type ExecutionId, type LoggedLine, type Outcome, present, spanId, type UnitId } from "@radical/protocol";
import { type HandlerModule, recordHandler, type RunStep, spanSnapshot } from "@radical/wasm-host";
import { messageOf } from "@radical/app/command-error";
import type { Recorded } from "./record-line.ts";
import { entriesOf, type Values } from "./recorded-spans.ts";

export type Inputs = Pick<Recorded, "execution" | "handler" | "args" | "timeMs" | "seed" | "caller">;

export type RunAgain =
  | {
      readonly kind: "ended";
      readonly outcome: Outcome;
      /** In the order of first read. */
      readonly reads: readonly UnitId[];
      readonly writes: Values;
      readonly fuel: number;
      /** Call sites of its draws, in the order of the first draw of each. */
      readonly drawSites: readonly string[];
      readonly logged: readonly LoggedLine[];
    }
  /** It read a unit that is not among the values. */
  | { readonly kind: "outside"; readonly unit: UnitId }
  /** This process can't run it. */
  | { readonly kind: "failed"; readonly reason: string };

/**
 * `recordedSites`: of the execution that is to be repeated. The first call site that draws then draws what the first one
 * drew, and so on, wherever in the source both stand: lines that were added above change nothing. `watch`: told each step.
 */
export function runAgain(
  module: HandlerModule,
  { execution, handler, args, timeMs, seed, caller }: Inputs,
  values: Values,
  recordedSites: readonly string[] = [],
  watch?: (step: RunStep) => void,
): RunAgain {
  const drawSites: string[] = [];
  const drawSite = (site: string): string => {
    let index = drawSites.indexOf(site);
    if (index < 0) index = drawSites.push(site) - 1;
    return recordedSites[index] ?? site;
  };
  try {
    const invocation = {
      executionId: execution as ExecutionId,
      handler,
      args,
      environment: { timeMs, seed, caller },
      drawSite,
      ...(watch && { watch }),
    };
    const snapshot = spanSnapshot(entriesOf(values));
    const { run, missing, missingQueries } = recordHandler(module, invocation, snapshot, { guess: false });
    if (run === null) {
      const [unit] = [...missing, ...missingQueries.map(({ kind, table, lo, hi }) => spanId({ kind, table, lo, hi }))];
      return { kind: "outside", unit: present(unit, "a run ends early for lack of a value") };
    }
    const { outcome, reads, writes, fuel, logged = [] } = run;
    const written = new Map(writes.map(({ unit, value }) => [unit, value]));
    return { kind: "ended", outcome, reads, writes: written, fuel, drawSites, logged };
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}
