/** A thread of the mutation check: says what came of each of its mutants. */
import { parentPort, workerData } from "node:worker_threads";
import { VariantLoader } from "@radical/variants";
import { MUTANTS } from "./mutants.ts";
import { type MutationTask, readAnchors } from "./mutation.ts";
import type { simulate } from "./simulate.ts";
import { verdictOn } from "./verdict.ts";

const loader = new VariantLoader(readAnchors());
const { thread, threads, from, most, names } = workerData as MutationTask;
const wanted = MUTANTS.filter(({ name }) => names.includes(name));
for (let index = thread; index < wanted.length; index += threads) {
  const mutant = wanted[index]!;
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  const variant = (await loader.load(mutant, new URL("simulate.ts", import.meta.url))) as {
    readonly simulate: typeof simulate;
  };
  parentPort!.postMessage(verdictOn(mutant, variant.simulate, from, most ?? mutant.within));
}
