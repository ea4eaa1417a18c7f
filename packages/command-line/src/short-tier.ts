/**
 * The short tier of the test suite: `npm test` sets it for the processes of its tests. Without it a test has all its
 * cases, as `pnpm unit`, `pnpm e2e` and the full tier run them.
 */
import { createHash } from "node:crypto";
import process from "node:process";

export interface ShortTier {
  /** The text by which cases are drawn: the hash of a commit. */
  readonly draw: string;
  /** Names of the searches that have all their cases although the tier is short. */
  readonly whole: readonly string[];
  /** Test files that do not run, by their path from the root of the repository. */
  readonly leftOut: readonly string[];
}

/** The environment variable that carries it, as JSON. */
const VARIABLE = "RADICAL_SHORT_TIER";

/** Null: the tier is full. */
export function shortTier(environment: NodeJS.ProcessEnv = process.env): ShortTier | null {
  const text = environment[VARIABLE];
  return text === undefined ? null : (JSON.parse(text) as ShortTier);
}

/** The environment for the processes of tests; null sets the full tier. */
export function environmentOf(tier: ShortTier | null): NodeJS.ProcessEnv {
  return { [VARIABLE]: tier === null ? undefined : JSON.stringify(tier) };
}

/**
 * The cases of a search that run in this tier, in their order: all of them, or as many as `count` in the short tier.
 * The same text draws the same cases, and a case that is added replaces one at most.
 */
export function drawn(
  search: string,
  cases: readonly string[],
  count: number,
  tier: ShortTier | null = shortTier(),
): readonly string[] {
  if (tier === null || tier.whole.includes(search)) return cases;
  const rankOf = (name: string): string =>
    createHash("sha256").update(`${tier.draw}\n${search}\n${name}`).digest("hex");
  const ranked = cases.map((name) => ({ name, rank: rankOf(name) }));
  const chosen = new Set(
    ranked
      .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, count)
      .map(({ name }) => name),
  );
  return cases.filter((name) => chosen.has(name));
}

/** The first seed of a search in the short tier; null when it begins where it always does. */
export function drawnSeed(search: string, tier: ShortTier | null = shortTier()): number | null {
  if (tier === null || tier.whole.includes(search)) return null;
  return createHash("sha256").update(`${tier.draw}\n${search}`).digest().readUInt32BE() % 1_000_000_000;
}
