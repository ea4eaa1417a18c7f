/** A handler run again in this process, by the very host that locations and the primary run it in, on given values alone. */
import {
  type ExecutionId,
  type LoggedLine,
  type Outcome,
  present,
  type RunEffect,
  spanId,
  type UnitId,
} from "@radical/protocol";
import {
  type Arrived,
  type FollowedRun,
  followWorkflow,
  type HandlerModule,
  type Invocation,
  recordHandler,
  type RunStep,
  spanSnapshot,
} from "@radical/wasm-host";
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
      readonly effects: readonly RunEffect[];
      readonly fuel: number;
      /** Call sites of its draws, in the order of the first draw of each. */
      readonly drawSites: readonly string[];
      readonly logged: readonly LoggedLine[];
    }
  /** It read a unit that is not among the values. */
  | { readonly kind: "outside"; readonly unit: UnitId }
  /** This process can't run it. */
  | { readonly kind: "failed"; readonly reason: string };

/** A workflow run again on what had arrived. */
export type FollowedAgain =
  | (FollowedRun & {
      readonly kind: "followed";
      readonly drawSites: readonly string[];
      /** In its last activation. */
      readonly logged: readonly LoggedLine[];
    })
  | Extract<RunAgain, { kind: "failed" }>;

/** Options of a run. */
export interface RunAgainOptions {
  /**
   * Call sites of draws, of the execution that is to be repeated. The first call site that draws then draws what the first one drew,
   * and so on, wherever in the source both stand. Lines that were added above change nothing.
   */
  readonly recordedSites?: readonly string[];
  /** Told each step. */
  readonly watch?: ((step: RunStep) => void) | undefined;
}

export function runAgain(
  module: HandlerModule,
  inputs: Inputs,
  values: Values,
  options: RunAgainOptions = {},
): RunAgain {
  const { invocation, drawSites } = repeated(inputs, options);
  try {
    const snapshot = spanSnapshot(entriesOf(values));
    const { run, missing, missingQueries } = recordHandler(module, invocation, snapshot, { guess: false });
    if (run === null) {
      const [unit] = [...missing, ...missingQueries.map(({ kind, table, lo, hi }) => spanId({ kind, table, lo, hi }))];
      return { kind: "outside", unit: present(unit, "a run ends early for lack of a value") };
    }
    const { outcome, reads, writes, effects = [], fuel, logged = [] } = run;
    const written = new Map(writes.map(({ unit, value }) => [unit, value]));
    return { kind: "ended", outcome, reads, writes: written, effects, fuel, drawSites, logged };
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}

export function followAgain(
  module: HandlerModule,
  inputs: Inputs,
  { round, arrived }: { readonly round: number; readonly arrived: readonly Arrived[] },
  options: RunAgainOptions = {},
): FollowedAgain {
  const { invocation, drawSites } = repeated(inputs, options);
  try {
    const { run, entries } = followWorkflow(module, { ...invocation, round }, arrived);
    return { kind: "followed", run, entries, drawSites, logged: run.logged ?? [] };
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}

/** `drawSites`: filled by the run. */
function repeated(
  { execution, handler, args, timeMs, seed, caller }: Inputs,
  { recordedSites = [], watch }: RunAgainOptions,
): { readonly invocation: Invocation; readonly drawSites: readonly string[] } {
  const drawSites: string[] = [];
  const drawSite = (site: string): string => {
    let index = drawSites.indexOf(site);
    if (index < 0) index = drawSites.push(site) - 1;
    return recordedSites[index] ?? site;
  };
  const invocation = {
    executionId: execution as ExecutionId,
    handler,
    args,
    environment: { timeMs, seed, caller },
    drawSite,
    ...(watch && { watch }),
  };
  return { invocation, drawSites };
}
