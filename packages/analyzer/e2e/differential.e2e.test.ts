/** Node and workerd perform the same executions, and show the same. `pnpm differential` is the long version. */
import { expect, test } from "vitest";
import {
  compareHosts,
  limitsProgram,
  randomDifferentialProgram,
  templatePrograms,
  type DifferentialCounts,
} from "../src/testing/differential.ts";

test("reads, writes, outcome and fuel are the same in Node and in workerd", { timeout: 300_000 }, async () => {
  const programs = [
    ...templatePrograms(1),
    limitsProgram(2, true),
    limitsProgram(2, false),
    ...[0, 1, 3].map((seed) => randomDifferentialProgram(25, seed)),
  ];
  const counts: DifferentialCounts = { programs: 0, executions: 0, outcomes: new Map() };
  expect(await compareHosts(programs, 1, counts)).toEqual([]);
  expect(counts.executions).toBeGreaterThan(1_000);
  expect([...counts.outcomes.keys()]).toEqual(
    expect.arrayContaining(["result", "abort", "assertion_failed", "out_of_fuel", "stack_overflow", "out_of_memory"]),
  );
});
