/** For tests: random programs in every run of the suite, spread over test files so that all cores take part. */
import { expect, test } from "vitest";
import { emptyReport, fuzzSeed } from "./fuzz.ts";

/** Programs in each of the files. */
const PROGRAMS = 12;

export function randomProgramTests(file: number): void {
  test("what handlers of random programs touch is what was said", () => {
    const report = emptyReport();
    for (let index = 0; index < PROGRAMS; index++) fuzzSeed(file * 100_000 + index, 5, report);
    expect(report.failures).toEqual([]);
    const { sliced, recorded, given, handlers } = report.counts;
    expect(sliced + recorded + given).toBe(handlers);
    expect(Math.min(recorded, given)).toBeGreaterThan(0);
    // Most of them come to a result.
    expect(report.counts.traps + report.counts.aborts).toBeLessThan(report.counts.calls / 2);
  });
}
