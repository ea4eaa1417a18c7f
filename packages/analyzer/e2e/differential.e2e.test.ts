/** Node and workerd perform the same executions, and show the same. `pnpm differential` is the long version. */
import { expect, test } from "vitest";
import {
  compareHosts,
  limitsProgram,
  randomDifferentialProgram,
  templatePrograms,
  type DifferentialCounts,
} from "../src/testing/differential.ts";

const OUTCOMES = ["result", "abort", "assertion_failed", "out_of_fuel", "stack_overflow", "out_of_memory"];

test("reads, writes, outcome and fuel are the same in Node and in workerd", { timeout: 300_000 }, async () => {
  const written = counted();
  const programs = [...templatePrograms(1), limitsProgram(2, true), limitsProgram(2, false)];
  expect(await compareHosts(programs, 1, written)).toEqual([]);
  expect(written.executions).toBeGreaterThan(1_000);
  expect([...written.outcomes.keys()]).toEqual(expect.arrayContaining(OUTCOMES));

  // A program costs more to build than a thousand executions of it take.
  const random = counted();
  const randomPrograms = [0, 1, 3].map((seed) => randomDifferentialProgram(100, seed));
  expect(await compareHosts(randomPrograms, 1, random)).toEqual([]);
  expect(random.executions).toBeGreaterThan(5_000);
});

function counted(): DifferentialCounts {
  return { programs: 0, executions: 0, outcomes: new Map() };
}
