/** Without any one of its rules, the analyzer is wrong, and the fixtures show it. */
import { expect, test } from "vitest";
import { verdictsOn } from "./mutation-threads.ts";
import { faultOf } from "./mutation.ts";
import { MUTANTS } from "./mutants.ts";

test("every mutant can be made", () => {
  expect(MUTANTS.flatMap((mutant) => faultOf(mutant) ?? [])).toEqual([]);
});

test("every mutant is caught", { timeout: 600_000 }, async () => {
  const verdicts = await verdictsOn(MUTANTS, 2);
  expect(verdicts.filter(({ caughtBy }) => caughtBy === null).map(({ rule }) => rule)).toEqual([]);
  expect(verdicts).toHaveLength(MUTANTS.length);
});
