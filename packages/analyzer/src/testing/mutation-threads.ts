/** For tests: the mutation check in threads. */
import { Worker } from "node:worker_threads";
import type { Verdict } from "./mutation.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

/** The verdicts, each told as it is there. */
export async function verdictsOn(
  mutants: readonly Mutant[],
  threads: number,
  onVerdict: (verdict: Verdict) => void = () => undefined,
): Promise<Verdict[]> {
  const left = mutants.map((mutant) => MUTANTS.indexOf(mutant));
  const verdicts: Verdict[] = [];
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), { execArgv: ["--conditions=source"] });
      const give = (): void => {
        const index = left.shift();
        if (index === undefined) void worker.terminate().then(() => resolve(), reject);
        else worker.postMessage(index);
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
