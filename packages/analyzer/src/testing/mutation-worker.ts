/** A thread of the mutation check: says the verdict on each mutant that it is given the number of. */
import { parentPort } from "node:worker_threads";
import { MutationCheck } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

const check = new MutationCheck();
parentPort?.on("message", (index: number) => {
  void check.check(MUTANTS[index]!).then((verdict) => parentPort?.postMessage(verdict));
});
