/** A thread of the mutation check: says the verdict on each mutant that it is given. */
import { parentPort } from "node:worker_threads";
import type { MutationTask } from "./mutation-threads.ts";
import { MutationCheck } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

const check = new MutationCheck();
parentPort?.on("message", ({ mutant, only }: MutationTask) => {
  void check.check(MUTANTS[mutant]!, only).then((verdict) => parentPort?.postMessage(verdict));
});
