/**
 * For tests: whether small handlers show that a rule of the front end is broken. The front end says what the numbers, texts,
 * shapes and records of a handler mean, and what is refused. A variant is loaded with this file, which builds by it.
 */
import { buildWith, type BuildInput, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { differenceOf } from "./meaning.ts";
import { MEANINGS } from "./meanings.ts";
import type { Case, Caught, Noticed } from "./mutation.ts";

/** The file of a case that is a handler of `MEANINGS`. */
const MEANING = "meaning";

/** The first case that notices that this front end is not the right one; null: none does. */
export function findFrontCase(): Caught | null {
  let thrown: Caught | null = null;
  for (const { name } of MEANINGS) {
    const caught = frontCaughtBy({ file: MEANING, handler: name, withOthers: false });
    if (caught !== null && caught.sign !== "throws") return caught;
    thrown ??= caught;
  }
  return thrown;
}

export function frontCaughtBy(one: Case): Caught | null {
  const noticed = noticedByMeaning(one.handler);
  return noticed === null ? null : { ...one, ...noticed };
}

function noticedByMeaning(name: string): Noticed | null {
  const meaning = MEANINGS.find((one) => one.name === name);
  if (meaning === undefined) throw new Error(`There is no meaning ${name}. Run pnpm mutants --write.`);
  try {
    const found = differenceOf(meaning, (input: BuildInput): BuildResult => buildWith(input, slicer));
    return found === null ? null : { sign: found.isRefusal ? "refuses" : "wrong", words: found.words };
  } catch (error) {
    return { sign: "throws", words: String(error) };
  }
}

/** The exports of this file, as a variant has them. */
export interface FrontCheck {
  readonly findFrontCase: typeof findFrontCase;
  readonly frontCaughtBy: typeof frontCaughtBy;
}
