/** Handlers in everyday TypeScript do what they do as TypeScript, are refused, or end as a trap. */
import { expect, test } from "vitest";
import { buildWith, type BuildInput, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { differenceOf, differencesOf } from "./testing/meaning.ts";
import { MEANINGS } from "./testing/meanings.ts";

const build = (input: BuildInput): BuildResult => buildWith(input, slicer);

const told = MEANINGS.filter(({ fate }) => fate.kind === "told");
const run = MEANINGS.filter(({ fate }) => fate.kind !== "told");

test("there are many", () => {
  expect(new Set(MEANINGS.map(({ name }) => name)).size).toBe(MEANINGS.length);
  expect(run.length).toBeGreaterThan(250);
  expect(told.length).toBeGreaterThan(25);
});

test("a handler that compiles does what TypeScript does, or traps", () => {
  expect(Object.fromEntries(differencesOf(run, build))).toEqual({});
});

test.each(told)("$name is told: $fate.code", (meaning) => {
  expect(differenceOf(meaning, build)).toBeNull();
});
