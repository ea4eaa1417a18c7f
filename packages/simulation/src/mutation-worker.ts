/** A thread of the mutation check: says which seed catches each of its mutants. */
import { parentPort, workerData } from "node:worker_threads";
import { firstCaught, MUTANTS } from "./mutants.ts";
import type { MutationTask } from "./mutation.ts";

const { thread, threads, from, most } = workerData as MutationTask;
for (let index = thread; index < MUTANTS.length; index += threads) {
  const mutant = MUTANTS[index]!;
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  const caught = await firstCaught(mutant, from, most ?? mutant.within);
  const histories = caught === null ? null : caught.seed - from + 1;
  parentPort!.postMessage({ name: mutant.name, histories, problem: caught?.problem ?? null });
}
