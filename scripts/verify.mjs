/**
 * Everything that must hold before a change is merged, exactly what CI runs. All steps run, whatever failed before, so
 * that one run shows all there is to repair; only the end-to-end tests need the build.
 *
 * End-to-end tests wait as often as they work. What they leave of the processors' time goes to all the rest meanwhile, in
 * the background: the other checks and the unit tests, which wait for nothing and depend on no clock.
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

const BUILD = "Build";
const UNIT = "Unit tests";
const E2E = "End-to-end tests";
/** @type {readonly [label: string, command: string, ...args: string[]][]} */
const CHECKS = [
  ["Layers", "node", "scripts/check-layers.mjs"],
  ["Lint (oxlint, type-aware)", "oxlint", "--type-aware", "--deny-warnings"],
  ["Format (oxfmt)", "oxfmt", "--check"],
  ["Dead code (knip)", "knip", "--no-config-hints"],
  ["Site of the documents (VitePress)", "vitepress", "build", "docs"],
];

/** Searches, in which a single failure is the finding. */
const ONE_TRY = /(consistency|crash|takeover|faults|cache-damage|differential|http-fuzz)\.e2e\.test\.ts$/;
/** More failed files than that are no accident. */
const MOST_AGAIN = 3;

const reports = mkdtempSync(path.join(tmpdir(), "radical-verify-"));
process.on("exit", () => rmSync(reports, { recursive: true, force: true }));

/** We got a signal, and passed it on to all steps that are under way. */
class Interrupted extends Error {
  /** @param {number} code @param {NodeJS.Signals} signal */
  constructor(code, signal) {
    super(`Interrupted by ${signal}.`);
    this.code = code;
  }
}

/** @param {import("./child.mjs").Ended} ended */
function stopIfInterrupted({ code, interruptedBy }) {
  if (interruptedBy !== null) throw new Interrupted(code === 0 ? 130 : code, interruptedBy);
}

/** @type {string[]} */
const failures = [];
let counts = NO_TESTS;

/** @param {string} project @param {string} report @param {readonly string[]} files all if empty */
function vitestArguments(project, report, files = []) {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  return ["run", "--project", project, ...reporters, ...files];
}

/**
 * A step beside the end-to-end tests: it says one line, and all that it wrote if it failed.
 * @param {string} label @param {string} command @param {readonly string[]} args
 */
async function runInBackground(label, command, args) {
  const startedMs = performance.now();
  const ended = await run(command, args, { ...OPTIONS, capture: () => undefined, inBackground: true });
  stopIfInterrupted(ended);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${ended.code === 0 ? "✓" : "✗"} ${label} (${seconds} s, beside others)`);
  if (ended.code !== 0) console.log(ended.output.trimEnd());
  return ended.code;
}

async function checkAndTestUnits() {
  for (const [label, command, ...args] of CHECKS)
    if ((await runInBackground(label, command, args)) !== 0) failures.push(label);
  const report = path.join(reports, "unit.json");
  const suite = countsOf(report, await runInBackground(UNIT, "vitest", vitestArguments("unit", report)));
  counts = add(counts, suite);
  if (suite.failed > 0) failures.push(UNIT);
}

/** @param {string} report @param {readonly string[]} [files] */
async function testEndToEnd(report, files) {
  const ended = await run("vitest", vitestArguments("e2e", report, files), OPTIONS);
  stopIfInterrupted(ended);
  return ended.code;
}

/**
 * What the first comes to. Both have ended before anything is thrown: nothing outlives us.
 * @template Value @param {Promise<Value>} first @param {Promise<void>} second
 */
async function beside(first, second) {
  await Promise.allSettled([first, second]);
  await second;
  return first;
}

async function verify() {
  const build = await runQuietly(BUILD, "pnpm", ["--silent", "run", "build"], OPTIONS);
  stopIfInterrupted(build);
  if (build.code !== 0) {
    failures.push(BUILD);
    console.log(build.output.trimEnd());
  }

  console.log(`· ${E2E} …`);
  const report = path.join(reports, "e2e.json");
  const code = await beside(testEndToEnd(report), checkAndTestUnits());
  let endToEnd = countsOf(report, code);
  const failed = failedFiles(report);
  const isOneTry = failed.length > MOST_AGAIN || failed.some((file) => ONE_TRY.test(file));
  if (failed.length > 0 && !isOneTry) {
    const names = failed.map((file) => path.relative(ROOT, file)).join(", ");
    console.log(`· Once more, alone: ${names} …`);
    const again = path.join(reports, "e2e-again.json");
    const second = countsOf(again, await testEndToEnd(again, failed));
    endToEnd = add(countsOf(report, 0, failed), second);
    if (second.failed === 0) console.log(`\nFailed beside others, and passed alone: ${names}`);
  }
  counts = add(counts, endToEnd);
  if (endToEnd.failed > 0) failures.push(E2E);

  if (failures.length > 0) console.log(`\nFailed: ${failures.join(", ")}`);
  const failedChecks = failures.filter((label) => label !== UNIT && label !== E2E).length;
  const total = add(counts, { ...NO_TESTS, failed: failedChecks });
  console.log(summaryLine(total));
  process.exitCode = total.failed > 0 ? 1 : 0;
}

try {
  await verify();
} catch (error) {
  if (!(error instanceof Interrupted)) throw error;
  console.error(error.message);
  process.exitCode = error.code;
}
