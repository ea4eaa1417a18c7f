/** The mutation check: all mutants, in threads. */
import { Worker } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { Anchors } from "@radical/variants";
import { MUTANTS } from "./mutants.ts";
import type { Verdict } from "./verdict.ts";

export interface MutationTask {
  readonly thread: number;
  readonly threads: number;
  /** The first seed. */
  readonly from: number;
  /** How many histories each mutant gets; null: as many as it says. */
  readonly most: number | null;
  /** The mutants to check; the others are left out. */
  readonly names: readonly string[];
}

/** The anchors of all that is simulated. */
export function readAnchors(): Anchors {
  const packages = ["protocol", "lvi-server", "runtime", "simulation"];
  return Anchors.in(packages.map((name) => fileURLToPath(new URL(`../../${name}/src`, import.meta.url))));
}

export async function checkMutants(
  threads: number,
  from: number,
  most: number | null,
  names: readonly string[] = MUTANTS.map(({ name }) => name),
): Promise<readonly Verdict[]> {
  const parts = await Promise.all(
    Array.from({ length: threads }, (_, thread) => verdictsOf({ thread, threads, from, most, names })),
  );
  return parts.flat();
}

function verdictsOf(task: MutationTask): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), {
    workerData: task,
    execArgv: ["--conditions=source"],
  });
  worker.on("message", (verdict: Verdict) => verdicts.push(verdict));
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve(verdicts));
  });
}
