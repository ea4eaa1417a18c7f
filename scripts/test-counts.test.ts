import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { add, countsOf, failedFiles, failedTests, summaryLine } from "./test-counts.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-counts-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function reportOf(...files: { status: string; tests: string[] }[]): string {
  const file = path.join(folder, "report.json");
  const testResults = files.map(({ status, tests }, index) => ({
    name: `/${index}.test.ts`,
    status,
    assertionResults: tests.map((testStatus, place) => ({ status: testStatus, fullName: `test ${place}` })),
  }));
  writeFileSync(file, JSON.stringify({ testResults }));
  return file;
}

test("failed tests are named with their files, and files that could not be loaded alone", () => {
  const file = reportOf(
    { status: "passed", tests: ["passed"] },
    { status: "failed", tests: ["passed", "failed"] },
    { status: "failed", tests: [] },
  );
  expect(failedTests(file)).toEqual(["/1.test.ts > test 1", "/2.test.ts"]);
});

describe("the counts of a run", () => {
  test("are those of its tests", () => {
    const file = reportOf(
      { status: "passed", tests: ["passed", "passed", "skipped", "todo"] },
      { status: "failed", tests: ["passed", "failed", "failed"] },
    );
    expect(countsOf(file, 1)).toEqual({ passed: 3, failed: 2, skipped: 2 });
  });

  test("leave files out that are counted otherwise", () => {
    const file = reportOf({ status: "passed", tests: ["passed"] }, { status: "failed", tests: ["passed", "failed"] });
    expect(failedFiles(file)).toEqual(["/1.test.ts"]);
    expect(countsOf(file, 0, failedFiles(file))).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });

  test("have one failure for a file that could not be loaded", () => {
    const file = reportOf({ status: "passed", tests: ["passed"] }, { status: "failed", tests: [] });
    expect(countsOf(file, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  test("have a failure when vitest failed although every test passed", () => {
    const file = reportOf({ status: "passed", tests: ["passed"] });
    expect(countsOf(file, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(countsOf(file, 0)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });

  test("have a failure when vitest left no report or half of one", () => {
    expect(countsOf(path.join(folder, "none.json"), 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    const torn = path.join(folder, "torn.json");
    writeFileSync(torn, '{ "testResults": [');
    expect(countsOf(torn, 137)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  test("have a failure when there was nothing to run", () => {
    expect(countsOf(reportOf(), 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

test("the summary line", () => {
  const passed = { passed: 120, failed: 0, skipped: 0 };
  expect(summaryLine(passed)).toBe("120 passed, 0 failed");
  expect(summaryLine(add(passed, { passed: 1, failed: 2, skipped: 3 }))).toBe("121 passed, 2 failed, 3 skipped");
});
