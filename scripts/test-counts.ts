/** How many tests passed, failed and were skipped, from vitest's JSON report and its exit code. */
import { readFileSync } from "node:fs";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Including those marked `todo`. */
  readonly skipped: number;
}

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  /** The absolute path of the file. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

export const NO_TESTS: Counts = { passed: 0, failed: 0, skipped: 0 };

/**
 * A file that could not be loaded is one failure, although vitest counts no test in it. So is a run that ended badly
 * without a failed test (an unhandled rejection, a crash), and one that found no test at all.
 * @param file the report; it may be missing or torn after a crash
 * @param exitCode of vitest
 * @param leftOut names of files that are not counted
 */
export function countsOf(file: string, exitCode: number, leftOut: readonly string[] = []): Counts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, status, assertionResults } of readReport(file).testResults) {
    if (leftOut.includes(name)) continue;
    const failedBefore = counts.failed;
    for (const assertion of assertionResults) {
      if (assertion.status === "passed") counts.passed += 1;
      else if (assertion.status === "failed") counts.failed += 1;
      else counts.skipped += 1;
    }
    if (status === "failed" && counts.failed === failedBefore) counts.failed += 1;
  }
  const foundNothing = counts.passed + counts.failed + counts.skipped === 0;
  if (counts.failed === 0 && (exitCode !== 0 || foundNothing)) counts.failed = 1;
  return counts;
}

/** The names of the files with failures. @param file the report */
export function failedFiles(file: string): readonly string[] {
  return readReport(file)
    .testResults.filter(({ status }) => status === "failed")
    .map(({ name }) => name);
}

/** The failed tests with their files, and files that failed without a failed test. @param file the report */
export function failedTests(file: string): readonly string[] {
  return readReport(file).testResults.flatMap(({ name, status, assertionResults }) => {
    if (status !== "failed") return [];
    const failed = assertionResults.filter((one) => one.status === "failed");
    return failed.length === 0 ? [name] : failed.map(({ fullName }) => `${name} > ${fullName}`);
  });
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return { testResults: [] };
  }
}

export function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

export function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
