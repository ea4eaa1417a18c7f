/**
 * Everything that must hold before a change is merged, exactly what CI runs. All steps run, whatever failed before, so
 * that one run shows all there is to repair; only the end-to-end tests need the build.
 *
 * An end-to-end file that fails is run once more, alone: its processes share the machine with those of two others, and
 * what an overtaxed machine does to them is no fault of the change. The run says which files needed that. Files that
 * search for what goes wrong rarely have one try.
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
import { NO_TESTS, add, countsOf, failedFiles, summaryLine } from "./test-counts.mjs";

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
  ["English", "node", "scripts/check-english.mjs"],
  ["Order of units and commit ids", "node", "scripts/check-order.mjs"],
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

/** Searches, in which a single failure is the finding. */
const ONE_TRY = /(consistency|crash|takeover|faults|cache-damage|differential|http-fuzz)\.e2e\.test\.ts$/;
/** More failed files than that are no accident. */
const MOST_AGAIN = 3;

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

/** @param {string} project @param {string} report @param {readonly string[]} files all if empty */
async function test(project, report, files) {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const ended = await run("vitest", ["run", "--project", project, ...reporters, ...files], OPTIONS);
  stopIfInterrupted(ended);
  return ended.code;
}

let counts = NO_TESTS;
for (const [project, label] of SUITES) {
  console.log(`· ${label} …`);
  const report = path.join(reports, `${project}.json`);
  const code = await test(project, report, []);
  let suite = countsOf(report, code);
  const failed = failedFiles(report);
  const isOneTry = project === "unit" || failed.length > MOST_AGAIN || failed.some((file) => ONE_TRY.test(file));
  if (failed.length > 0 && !isOneTry) {
    const names = failed.map((file) => path.relative(ROOT, file)).join(", ");
    console.log(`· Once more, alone: ${names} …`);
    const again = path.join(reports, `${project}-again.json`);
    const second = countsOf(again, await test(project, again, failed));
    suite = add(countsOf(report, 0, failed), second);
    if (second.failed === 0) console.log(`\nFailed beside others, and passed alone: ${names}`);
  }
  counts = add(counts, suite);
  if (suite.failed > 0) failures.push(label);
}

if (failures.length > 0) console.log(`\nFailed: ${failures.join(", ")}`);
const failedChecks = CHECKS.filter(([label]) => failures.includes(label)).length;
const total = add(counts, { ...NO_TESTS, failed: failedChecks });
console.log(summaryLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;
