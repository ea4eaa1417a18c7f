/** A thread of the mutation check: says which seed catches each of its mutants. */
import { parentPort, workerData } from "node:worker_threads";
import { VariantLoader } from "@radical/variants";
import { type Mutant, MUTANTS } from "./mutants.ts";
import { type MutationTask, readAnchors } from "./mutation.ts";
import type { simulate } from "./simulate.ts";

const loader = new VariantLoader(readAnchors());

/** The first seed from `from` on, of at most so many, whose history is wrong, and what is wrong with it; null: none. */
async function firstCaught(
  mutant: Mutant,
  from: number,
  most: number,
): Promise<{ readonly seed: number; readonly problem: string } | null> {
  const variant = (await loader.load(mutant, new URL("simulate.ts", import.meta.url))) as {
    readonly simulate: typeof simulate;
  };
  const weather = mutant.weather === undefined ? {} : { weather: mutant.weather };
  for (let seed = from; seed < from + most; seed++) {
    try {
      const { problems } = variant.simulate({ seed, ...weather });
      if (problems.length > 0) return { seed, problem: problems[0]! };
    } catch (error) {
      // An invariant of the core, or of its driver; anything else may be a mistake of the variant itself.
      if (error instanceof TypeError || error instanceof ReferenceError) continue;
      return { seed, problem: String(error) };
    }
  }
  return null;
}

const { thread, threads, from, most, names } = workerData as MutationTask;
const wanted = MUTANTS.filter(({ name }) => names.includes(name));
for (let index = thread; index < wanted.length; index += threads) {
  const mutant = wanted[index]!;
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  const caught = await firstCaught(mutant, from, most ?? mutant.within);
  const histories = caught === null ? null : caught.seed - from + 1;
  parentPort!.postMessage({ name: mutant.name, histories, problem: caught?.problem ?? null });
}
