/** Runs recorded executions again in another build, and says what is different. */
import type { ModuleContent } from "@radical/protocol";
import { compileModule } from "@radical/wasm-host";
import { type Difference, differencesOf } from "./differences.ts";
import type { Recorded } from "./record-line.ts";
import { runAgain } from "./run-again.ts";

export interface DifferingExecution {
  readonly execution: string;
  readonly handler: string;
  readonly differences: readonly Difference[];
}

/** Those that differ, in the order of the records. */
export function replay(
  content: ModuleContent,
  records: Iterable<Recorded>,
  fuelTolerance: number,
): readonly DifferingExecution[] {
  const module = compileModule(content);
  const differing: DifferingExecution[] = [];
  for (const recorded of records) {
    const { execution, handler, reads, drawSites } = recorded;
    const differences: readonly Difference[] = Object.hasOwn(content.handlers, handler)
      ? differencesOf(recorded, runAgain(module, recorded, reads, drawSites), fuelTolerance)
      : [{ kind: "handler_gone" }];
    if (differences.length > 0) differing.push({ execution, handler, differences });
  }
  return differing;
}
