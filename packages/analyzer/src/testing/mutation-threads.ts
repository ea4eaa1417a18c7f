/** For tests: the mutation check in threads. */
import { Worker } from "node:worker_threads";
import type { Case, Verdict } from "./mutation.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

/** The mutant that a thread tries. */
export interface MutationTask {
  readonly mutant: number;
  /** The only case that is tried; undefined: all of them. */
  readonly only: Case | undefined;
}

/** The verdicts, each told as it is there. */
export async function verdictsOn(
  mutants: readonly Mutant[],
  threads: number,
  cases: ReadonlyMap<string, Case>,
  onVerdict: (verdict: Verdict) => void = () => undefined,
): Promise<Verdict[]> {
  const left = mutants.map((mutant): MutationTask => ({
    mutant: MUTANTS.indexOf(mutant),
    only: cases.get(mutant.rule),
  }));
  const verdicts: Verdict[] = [];
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), { execArgv: ["--conditions=source"] });
      const give = (): void => {
        const task = left.shift();
        if (task === undefined) void worker.terminate().then(() => resolve(), reject);
        else worker.postMessage(task);
      };
      worker.once("error", reject);
      worker.on("message", (verdict: Verdict) => {
        verdicts.push(verdict);
        onVerdict(verdict);
        give();
      });
      give();
    });
  await Promise.all(Array.from({ length: Math.min(threads, mutants.length) }, work));
  return verdicts;
}
