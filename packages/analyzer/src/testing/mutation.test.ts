/** Without any one of its rules, the analyzer is wrong, and the fixtures show it. */
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { faultOf, type Verdict } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

const THREADS = 2;

function verdictsOf(thread: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), {
    workerData: { from: thread, step: THREADS },
    execArgv: ["--conditions=source"],
  });
  worker.on("message", (verdict: Verdict) => verdicts.push(verdict));
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve(verdicts));
  });
}

test("every mutant can be made", () => {
  expect(MUTANTS.flatMap((mutant) => faultOf(mutant) ?? [])).toEqual([]);
});

test("every mutant is caught", { timeout: 600_000 }, async () => {
  const verdicts = (await Promise.all(Array.from({ length: THREADS }, (_, thread) => verdictsOf(thread)))).flat();
  expect(verdicts.filter(({ caughtBy }) => caughtBy === null).map(({ rule }) => rule)).toEqual([]);
  expect(verdicts).toHaveLength(MUTANTS.length);
});
