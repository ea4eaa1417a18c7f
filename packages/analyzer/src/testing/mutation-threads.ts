/** For tests: the mutation check in two threads. */
import { Worker } from "node:worker_threads";
import type { Verdict } from "./mutation.ts";

const THREADS = 2;

export async function allVerdicts(): Promise<Verdict[]> {
  const parts = await Promise.all(Array.from({ length: THREADS }, (_, thread) => verdictsOf(thread)));
  return parts.flat();
}

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
