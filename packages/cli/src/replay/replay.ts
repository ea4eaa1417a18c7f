/** Runs recorded executions again in another build, and says what is different. */
import type { LoggedLine, ModuleContent } from "@radical/protocol";
import { compileModule } from "@radical/wasm-host";
import { type Difference, differencesOf } from "./differences.ts";
import type { Recorded } from "./record-line.ts";
import { type RunAgain, runAgain } from "./run-again.ts";

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
}

export function replay(content: ModuleContent, records: Iterable<Recorded>, fuelTolerance: number): Replayed {
  const module = compileModule(content);
  const differing: DifferingExecution[] = [];
  const logging: LoggingExecution[] = [];
  for (const recorded of records) {
    const { execution, handler, reads, drawSites, logged: was } = recorded;
    const isThere = Object.hasOwn(content.handlers, handler);
    const run: RunAgain | null = isThere ? runAgain(module, recorded, reads, drawSites) : null;
    const differences: readonly Difference[] =
      run === null ? [{ kind: "handler_gone" }] : differencesOf(recorded, run, fuelTolerance);
    if (differences.length > 0) differing.push({ execution, handler, differences });
    const logged = run?.kind === "ended" ? run.logged : [];
    if (logged.length > 0 || (was !== null && was.length > 0)) logging.push({ execution, handler, logged, was });
  }
  return { differing, logging };
}

/** Whether the execution logs other lines than when it was recorded. */
export function logsOther({ logged, was }: LoggingExecution): boolean {
  return was !== null && (was.length !== logged.length || was.some((line, at) => !isSame(line, logged[at]!)));
}

export function isSame(a: LoggedLine, b: LoggedLine): boolean {
  return a.level === b.level && a.text === b.text;
}
