import { describe, expect, test } from "vitest";
import { drawn, drawnSeed, environmentOf, shortTier, type ShortTier } from "./short-tier.ts";

const CASES = Array.from({ length: 51 }, (_, index) => `case ${index}`);
const tier = (draw: string, whole: readonly string[] = []): ShortTier => ({ draw, whole, leftOut: [] });

describe("cases of a search", () => {
  test("are all there in the full tier, and where something has changed", () => {
    expect(drawn("kills", CASES, 4, null)).toEqual(CASES);
    expect(drawn("kills", CASES, 4, tier("a", ["kills"]))).toEqual(CASES);
    expect(drawn("kills", CASES, 100, tier("a"))).toEqual(CASES);
  });

  test("are a few in the short tier, in their order, the same for the same commit", () => {
    const few = drawn("kills", CASES, 4, tier("a", ["another search"]));
    expect(few).toHaveLength(4);
    expect(few).toEqual(CASES.filter((name) => few.includes(name)));
    expect(drawn("kills", CASES.toReversed(), 4, tier("a"))).toEqual(few.toReversed());
  });

  test("are others for another commit, and for another search", () => {
    const few = drawn("kills", CASES, 4, tier("a"));
    expect(drawn("kills", CASES, 4, tier("b"))).not.toEqual(few);
    expect(drawn("stops", CASES, 4, tier("a"))).not.toEqual(few);
  });

  test("are replaced one at most by a case that is added", () => {
    for (let commit = 0; commit < 50; commit++) {
      const before = drawn("kills", CASES, 4, tier(`${commit}`));
      const after = drawn("kills", [...CASES, "one more"], 4, tier(`${commit}`));
      expect(before.filter((name) => !after.includes(name)).length).toBe(after.includes("one more") ? 1 : 0);
    }
  });

  test("have all been drawn after some commits", () => {
    const met = Array.from({ length: 100 }, (_, commit) => drawn("kills", CASES, 4, tier(`${commit}`))).flat();
    expect(new Set(met).size).toBe(CASES.length);
  });
});

test("a search begins at a seed of the commit in the short tier, and where it always does otherwise", () => {
  expect(drawnSeed("histories", null)).toBeNull();
  expect(drawnSeed("histories", tier("a", ["histories"]))).toBeNull();
  const seed = drawnSeed("histories", tier("a"));
  expect(seed).toBe(drawnSeed("histories", tier("a")));
  expect(seed).not.toBe(drawnSeed("histories", tier("b")));
  expect(Number.isSafeInteger(seed)).toBe(true);
});

test("the environment carries the tier", () => {
  const short = { draw: "a", whole: ["kills"], leftOut: ["a.test.ts"] };
  expect(shortTier(environmentOf(short))).toEqual(short);
  expect(shortTier(environmentOf(null))).toBeNull();
  expect(shortTier({})).toBeNull();
});
