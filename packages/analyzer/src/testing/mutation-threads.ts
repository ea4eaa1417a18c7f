/** For tests: the mutation check in two threads. */
import { Worker } from "node:worker_threads";
import type { Verdict } from "./mutation.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

const THREADS = 2;

/** The verdicts on the mutants, in no order. */
export async function verdictsOn(mutants: readonly Mutant[]): Promise<Verdict[]> {
  const indexes = mutants.map((mutant) => MUTANTS.indexOf(mutant));
  const parts = await Promise.all(
    Array.from({ length: THREADS }, (_, thread) => verdictsOf(indexes.filter((__, at) => at % THREADS === thread))),
  );
  return parts.flat();
}

function verdictsOf(indexes: readonly number[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), {
    workerData: indexes,
    execArgv: ["--conditions=source"],
  });
  worker.on("message", (verdict: Verdict) => verdicts.push(verdict));
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve(verdicts));
  });
}
