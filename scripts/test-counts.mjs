/** How many tests passed, failed and were skipped, from vitest's JSON report and its exit code. */
import { readFileSync } from "node:fs";

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped including those marked `todo`
 *
 * @typedef {object} Report the part of vitest's JSON report that is read here
 * @property {{ name: string, status: string, assertionResults: { status: string }[] }[]} testResults one for each file
 */

/** @type {Counts} */
export const NO_TESTS = { passed: 0, failed: 0, skipped: 0 };

/**
 * A file that could not be loaded is one failure, although vitest counts no test in it. So is a run that ended badly
 * without a failed test (an unhandled rejection, a crash), and one that found no test at all.
 * @param {string} file the report; it may be missing or torn after a crash
 * @param {number} exitCode of vitest
 * @param {readonly string[]} [leftOut] names of files that are not counted
 * @returns {Counts}
 */
export function countsOf(file, exitCode, leftOut = []) {
  const counts = { ...NO_TESTS };
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

/**
 * The names of the files with failures.
 * @param {string} file the report
 */
export function failedFiles(file) {
  return readReport(file)
    .testResults.filter(({ status }) => status === "failed")
    .map(({ name }) => name);
}

/** @param {string} file @returns {Report} */
function readReport(file) {
  try {
    return /** @type {Report} */ (JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return { testResults: [] };
  }
}

/** @param {Counts} a @param {Counts} b @returns {Counts} */
export function add(a, b) {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** @param {Counts} counts */
export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
