/** The mutation check: all mutants, in threads. */
import { Worker } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { Anchors } from "@radical/variants";
import { MUTANTS } from "./mutants.ts";
import type { Verdict } from "./verdict.ts";

export interface MutationTask {
  /** The first seed. */
  readonly from: number;
  /** How many histories each mutant gets; null: as many as it says. */
  readonly most: number | null;
}

/** The anchors of all that is simulated. */
export function readAnchors(): Anchors {
  const packages = ["protocol", "lvi-server", "runtime", "simulation"];
  return Anchors.in(packages.map((name) => fileURLToPath(new URL(`../../${name}/src`, import.meta.url))));
}

/** @param names the mutants to check; the others are left out */
export async function checkMutants(
  threads: number,
  from: number,
  most: number | null,
  names: readonly string[] = MUTANTS.map(({ name }) => name),
): Promise<readonly Verdict[]> {
  // The dear ones first, so that no thread is without work at the end.
  const left = MUTANTS.filter(({ name }) => names.includes(name)).toSorted((a, b) => b.within - a.within);
  const next = (): string | null => left.shift()?.name ?? null;
  const parts = await Promise.all(Array.from({ length: threads }, () => verdictsOf({ from, most }, next)));
  return parts.flat();
}

/** `next`: the mutant that a thread takes next; null: there is none. */
function verdictsOf(task: MutationTask, next: () => string | null): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  const worker = new Worker(new URL("mutation-worker.ts", import.meta.url), {
    workerData: task,
    execArgv: ["--conditions=source"],
  });
  worker.on("message", (verdict: Verdict) => {
    verdicts.push(verdict);
    worker.postMessage(next());
  });
  worker.postMessage(next());
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve(verdicts));
  });
}
