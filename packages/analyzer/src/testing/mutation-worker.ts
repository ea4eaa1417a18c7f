/** A thread of the mutation check: says the verdict on each of the mutants that it is given, one after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { MutationCheck } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

const { from, step } = workerData as { readonly from: number; readonly step: number };
const check = new MutationCheck();
for (let index = from; index < MUTANTS.length; index += step) {
  // oxlint-disable-next-line no-await-in-loop: one after the other
  parentPort?.postMessage(await check.check(MUTANTS[index]!));
}
