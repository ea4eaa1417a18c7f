/**
 * Everything that must hold before a change is merged, exactly what CI runs. All steps run, whatever failed before, so
 * that one run shows all there is to repair; only the end-to-end tests need the build.
 *
 * The last line is `N passed, N failed[, N skipped]`: the tests of all suites, and each failed step that is no test as
 * one failure more. Exit code 0 only with no failure.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { run, runQuietly } from "./child.mjs";
import { NO_TESTS, add, countsOf, summaryLine } from "./test-counts.mjs";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const BIN = path.join(ROOT, "node_modules", ".bin");
const OPTIONS = {
  cwd: ROOT,
  env: { ...process.env, PATH: [BIN, path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter) },
};

/** @type {readonly [label: string, command: string, ...args: string[]][]} */
const CHECKS = [
  ["Build", "pnpm", "--silent", "run", "build"],
  ["Layers", "node", "scripts/check-layers.mjs"],
  ["Lint (oxlint, type-aware)", "oxlint", "--type-aware", "--deny-warnings"],
  ["Format (oxfmt)", "oxfmt", "--check"],
  ["Dead code (knip)", "knip", "--no-config-hints"],
  ["Site of the documents (VitePress)", "vitepress", "build", "docs"],
];

/** @type {readonly [project: string, label: string][]} */
const SUITES = [
  ["unit", "Unit tests"],
  ["e2e", "End-to-end tests"],
];

const reports = mkdtempSync(path.join(tmpdir(), "radical-verify-"));
process.on("exit", () => rmSync(reports, { recursive: true, force: true }));

/** @param {import("./child.mjs").Ended} ended */
function stopIfInterrupted({ code, interruptedBy }) {
  if (interruptedBy === null) return;
  console.error(`Interrupted by ${interruptedBy}.`);
  process.exit(code === 0 ? 130 : code);
}

/** @type {string[]} */
const failures = [];

for (const [label, command, ...args] of CHECKS) {
  const ended = await runQuietly(label, command, args, OPTIONS);
  stopIfInterrupted(ended);
  if (ended.code !== 0) {
    failures.push(label);
    console.log(ended.output.trimEnd());
  }
}

let counts = NO_TESTS;
for (const [project, label] of SUITES) {
  console.log(`· ${label} …`);
  const report = path.join(reports, `${project}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const ended = await run("vitest", ["run", "--project", project, ...reporters], OPTIONS);
  stopIfInterrupted(ended);
  const suite = countsOf(report, ended.code);
  counts = add(counts, suite);
  if (suite.failed > 0) failures.push(label);
}

if (failures.length > 0) console.log(`\nFailed: ${failures.join(", ")}`);
const failedChecks = CHECKS.filter(([label]) => failures.includes(label)).length;
const total = add(counts, { ...NO_TESTS, failed: failedChecks });
console.log(summaryLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;
