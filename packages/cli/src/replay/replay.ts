/** Runs recorded executions again in another build, and says what is different. */
import type { LoggedLine, ModuleContent } from "@radical/protocol";
import { compileModule, type HandlerModule } from "@radical/wasm-host";
import { activationDifferences, type Difference, differencesOf } from "./differences.ts";
import type { Recorded } from "./record-line.ts";
import { followAgain, runAgain } from "./run-again.ts";

export interface DifferingExecution {
  readonly execution: string;
  readonly handler: string;
  readonly differences: readonly Difference[];
}

/** The lines of an execution, as it is run here and as it was recorded. */
export interface LoggingExecution {
  readonly execution: string;
  readonly handler: string;
  readonly logged: readonly LoggedLine[];
  /** Null: that is not known. */
  readonly was: readonly LoggedLine[] | null;
}

export interface Replayed {
  /** Those that differ, in the order of the records. */
  readonly differing: readonly DifferingExecution[];
  /** Those that log something or did, likewise. */
  readonly logging: readonly LoggingExecution[];
  /** Records of an earlier release, which have no effects: these were not compared. */
  readonly withoutEffects: number;
}

export function replay(content: ModuleContent, records: Iterable<Recorded>, fuelTolerance: number): Replayed {
  const module = compileModule(content);
  const differing: DifferingExecution[] = [];
  const logging: LoggingExecution[] = [];
  let withoutEffects = 0;
  for (const recorded of records) {
    const { execution, handler, logged: was } = recorded;
    if (recorded.kind === "execution" && recorded.effects === null) withoutEffects++;
    const isThere = Object.hasOwn(content.handlers, handler);
    const again: Again = isThere ? runRecorded(module, recorded, fuelTolerance) : GONE;
    const { differences, logged } = again;
    if (differences.length > 0) differing.push({ execution, handler, differences });
    if (logged.length > 0 || (was !== null && was.length > 0)) logging.push({ execution, handler, logged, was });
  }
  return { differing, logging, withoutEffects };
}

interface Again {
  readonly differences: readonly Difference[];
  readonly logged: readonly LoggedLine[];
}

const GONE: Again = { differences: [{ kind: "handler_gone" }], logged: [] };

function runRecorded(module: HandlerModule, recorded: Recorded, fuelTolerance: number): Again {
  const options = { recordedSites: recorded.drawSites };
  if (recorded.kind === "activation") {
    const { round, entries } = recorded.journal;
    const followed = followAgain(module, recorded, { round, arrived: entries }, options);
    const logged = followed.kind === "followed" ? followed.logged : [];
    return { differences: activationDifferences(recorded, followed), logged };
  }
  const run = runAgain(module, recorded, recorded.reads, options);
  const logged = run.kind === "ended" ? run.logged : [];
  return { differences: differencesOf(recorded, run, fuelTolerance), logged };
}

/** Whether the execution logs other lines than when it was recorded. */
export function logsOther({ logged, was }: LoggingExecution): boolean {
  return was !== null && (was.length !== logged.length || was.some((line, at) => !isSame(line, logged[at]!)));
}

export function isSame(a: LoggedLine, b: LoggedLine): boolean {
  return a.level === b.level && a.text === b.text;
}
