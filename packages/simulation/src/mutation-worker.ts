/** A thread of the mutation check: says what came of each mutant that it is given. */
import { parentPort, workerData } from "node:worker_threads";
import { VariantLoader } from "@radical/variants";
import { type Mutant, MUTANTS } from "./mutants.ts";
import { type MutationTask, readAnchors } from "./mutation.ts";
import type { simulateSchedules } from "./schedule-histories.ts";
import type { simulateIndexBuilds } from "./index-builds.ts";
import type { simulateServices } from "./service-histories.ts";
import type { simulateTasks } from "./task-histories.ts";
import type { simulate } from "./simulate.ts";
import type { simulateWorkflows } from "./workflow-histories.ts";
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
  const [file, run] = historiesOf(mutant);
  const variant = (await loader.load(mutant, new URL(file, import.meta.url))) as {
    readonly simulate: typeof simulate;
    readonly simulateIndexBuilds: typeof simulateIndexBuilds;
    readonly simulateSchedules: typeof simulateSchedules;
    readonly simulateTasks: typeof simulateTasks;
    readonly simulateServices: typeof simulateServices;
    readonly simulateWorkflows: typeof simulateWorkflows;
  };
  port.postMessage(verdictOn(mutant, variant[run], from, most ?? mutant.within));
}

function historiesOf({ isOfIndexes, isOfTasks, isOfServices, isOfSchedules, isOfWorkflows }: Mutant) {
  if (isOfWorkflows === true) return ["workflow-histories.ts", "simulateWorkflows"] as const;
  if (isOfSchedules === true) return ["schedule-histories.ts", "simulateSchedules"] as const;
  if (isOfServices === true) return ["service-histories.ts", "simulateServices"] as const;
  if (isOfIndexes === true) return ["index-builds.ts", "simulateIndexBuilds"] as const;
  return isOfTasks === true
    ? (["task-histories.ts", "simulateTasks"] as const)
    : (["simulate.ts", "simulate"] as const);
}
