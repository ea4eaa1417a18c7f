/** Without any one of its rules, the analyzer is wrong, and the fixtures show it. */
import { drawn } from "@radical/command-line/short-tier";
import { expect, test } from "vitest";
import { knownCases } from "./known-cases.ts";
import { verdictsOn } from "./mutation-threads.ts";
import { MUTANTS, readAnchors, variantOf } from "./mutants.ts";

test("every mutant fits its source, and every anchor is used", () => {
  expect(readAnchors().problems(MUTANTS.map(variantOf))).toEqual([]);
});

// One that the known case does not catch any more may be caught by another: `pnpm mutants --write` looks for it.
test("every mutant is caught by the case that is known for it", async () => {
  const cases = knownCases();
  expect([...cases.keys()].toSorted()).toEqual(MUTANTS.map(({ rule }) => rule).toSorted());
  const rules = drawn("rules of the analyzer", [...cases.keys()], 12);
  const mutants = MUTANTS.filter(({ rule }) => rules.includes(rule));
  const verdicts = await verdictsOn(mutants, 2, cases);
  expect(verdicts.filter(({ caughtBy }) => caughtBy === null).map(({ rule }) => rule)).toEqual([]);
  expect(verdicts).toHaveLength(rules.length);
});
