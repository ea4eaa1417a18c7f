/** A thread of the mutation check: says what came of each mutant that it is given. */
import { parentPort, workerData } from "node:worker_threads";
import { VariantLoader } from "@radical/variants";
import { MUTANTS } from "./mutants.ts";
import { type MutationTask, readAnchors } from "./mutation.ts";
import type { simulateIndexBuilds } from "./index-builds.ts";
import type { simulate } from "./simulate.ts";
import { verdictOn } from "./verdict.ts";

// The protocol is among the sources that variants change, so nothing of it is imported here.
if (parentPort === null) throw new Error("Broken invariant: it is a thread");
const port = parentPort;
const loader = new VariantLoader(readAnchors());
const { from, most } = workerData as MutationTask;

port.on("message", (name: string | null) => {
  if (name === null) port.close();
  else void check(name);
});

/** An error ends the thread, and the check with it. */
async function check(wanted: string): Promise<void> {
  const mutant = MUTANTS.find(({ name }) => name === wanted);
  if (mutant === undefined) throw new Error(`Broken invariant: "${wanted}" is in the list`);
  const ofIndexes = mutant.isOfIndexes === true;
  const file = ofIndexes ? "index-builds.ts" : "simulate.ts";
  const variant = (await loader.load(mutant, new URL(file, import.meta.url))) as {
    readonly simulate: typeof simulate;
    readonly simulateIndexBuilds: typeof simulateIndexBuilds;
  };
  const run = ofIndexes ? variant.simulateIndexBuilds : variant.simulate;
  port.postMessage(verdictOn(mutant, run, from, most ?? mutant.within));
}
