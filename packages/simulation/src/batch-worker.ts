/** A thread of a batch: runs its histories and posts tallies of them. */
import { parentPort, workerData } from "node:worker_threads";
import { run, type Seeds } from "./batch.ts";

for (const tally of run(workerData as Seeds)) parentPort!.postMessage(tally);
