/** A thread of the mutation check: says the verdict on each mutant that it is given. */
import { parentPort } from "node:worker_threads";
import { VariantLoader } from "@radical/variants";
import type { Slicer } from "../front.ts";
import type { FrontCheck } from "./front-check.ts";
import { isOfFront, MUTANTS, readAnchors, variantOf } from "./mutants.ts";
import type { MutationTask } from "./mutation-threads.ts";
import type { Verdict } from "./mutation.ts";

const SLICER = new URL("../slicer.ts", import.meta.url);
const FRONT = new URL("front-check.ts", import.meta.url);
const loader = new VariantLoader(readAnchors());
// The loader sees who imports what, so the analyzer comes after it.
const { MutationCheck } = await import("./mutation.ts");
const check = new MutationCheck();

async function verdictOn({ mutant: index, only }: MutationTask): Promise<void> {
  const mutant = MUTANTS[index]!;
  if (isOfFront(mutant)) {
    const started = performance.now();
    const front = (await loader.load(variantOf(mutant), FRONT)) as FrontCheck;
    const caughtBy = only === undefined ? front.findFrontCase() : front.frontCaughtBy(only);
    const verdict: Verdict = { rule: mutant.rule, caughtBy, seconds: (performance.now() - started) / 1000 };
    parentPort?.postMessage(verdict);
    return;
  }
  const { slicer } = (await loader.load(variantOf(mutant), SLICER)) as { readonly slicer: Slicer };
  parentPort?.postMessage(check.check(mutant, slicer, only));
}

parentPort?.on("message", (task: MutationTask) => void verdictOn(task));
