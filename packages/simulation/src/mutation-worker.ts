/** A thread of the mutation check: says what came of each mutant that it is given. */
import { parentPort, workerData } from "node:worker_threads";
import { present } from "@radical/protocol";
import { VariantLoader } from "@radical/variants";
import { MUTANTS } from "./mutants.ts";
import { type MutationTask, readAnchors } from "./mutation.ts";
import type { simulate } from "./simulate.ts";
import { verdictOn } from "./verdict.ts";

const port = present(parentPort, "it is a thread");
const loader = new VariantLoader(readAnchors());
const { from, most } = workerData as MutationTask;

port.on("message", (name: string | null) => {
  if (name === null) port.close();
  else void check(name);
});

/** An error ends the thread, and the check with it. */
async function check(wanted: string): Promise<void> {
  const mutant = present(
    MUTANTS.find(({ name }) => name === wanted),
    "it is in the list",
  );
  const variant = (await loader.load(mutant, new URL("simulate.ts", import.meta.url))) as {
    readonly simulate: typeof simulate;
  };
  port.postMessage(verdictOn(mutant, variant.simulate, from, most ?? mutant.within));
}
