/**
 * Everything that must hold before a change is merged. All steps run, whatever failed before, so that one run shows all
 * there is to repair; only the end-to-end tests need the build.
 *
 * The *full* tier has every test, and is what CI runs. The *short* tier is for whoever works on a change: what it leaves
 * out is written in `tier-parts.ts`, and printed by each run.
 *
 * An end-to-end file that fails runs once more, alone. Its processes share the machine with those of two others, and an
 * overtaxed machine is not a fault of the change. The run says which files needed a second try. Files that search for
 * rare mistakes have one try.
 *
 * The last line is `N passed, N failed[, N skipped]`: the tests of all suites, and each failed step that is not a test
 * as one failure more. Exit code 0 only with no failure.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { commandLine } from "../packages/command-line/src/command-line.ts";
import { environmentOf } from "../packages/command-line/src/short-tier.ts";
import { type Ended, run, runQuietly } from "./child.mjs";
import { type Counts, NO_TESTS, add, countsOf, failedFiles, failedTests, summaryLine } from "./test-counts.ts";
import { MOST_PROCESSOR_SECONDS, TIMES_FILE, dearest, overLimit, slownessOfMachine, timesOf } from "./test-times.ts";
import { PARTS, changesOf, commitOf, filesOf, selection } from "./tier-parts.ts";

const ROOT = path.dirname(import.meta.dirname);
const BIN = path.join(ROOT, "node_modules", ".bin");
/** The times of the last run; not in git. */
const MEASURED = "test-times.json";
const DEAREST = 10;
/** Between two counts of how slow the machine is, of a tenth of a second each. */
const COUNTED_MS = 15_000;

const { full, json, draw } = commandLine({
  name: "npm test --",
  words:
    "Check everything that must hold before a change is merged: build, rules, tests. Without --full the tests are the short tier, of which each run says what it leaves out.",
  options: {
    full: { kind: "flag", words: "all tests, as CI runs them" },
    draw: {
      kind: "text",
      placeholder: "text",
      words: "draw the cases of the short tier by this (default: the commit)",
    },
    json: { kind: "flag", words: "the result as JSON on standard output, all else on standard error" },
  },
  exitCodes: ["nothing failed", "something failed", "wrong options"],
  examples: [
    ["npm test", "the short tier"],
    ["npm test -- --full", "what CI runs"],
    ["npm test -- --draw 1a2b3c4", "the short tier with the cases that another commit draws"],
  ],
});

const reports = mkdtempSync(path.join(tmpdir(), "radical-verify-"));
process.on("exit", () => rmSync(reports, { recursive: true, force: true }));

const commit = commitOf(ROOT);
const changes = changesOf(ROOT);
// Without a commit each run draws something else.
const tier = full ? null : selection(ROOT, draw ?? commit ?? String(Date.now()), changes);

const times = path.join(reports, "times");
writeFileSync(times, "");
const OPTIONS = {
  cwd: ROOT,
  env: {
    ...process.env,
    ...environmentOf(tier),
    [TIMES_FILE]: times,
    PATH: [BIN, path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter),
  },
  ...(json ? { stdout: "stderr" as const } : {}),
};
const say = (line: string): void => void (json ? process.stderr : process.stdout).write(`${line}\n`);

type Check = readonly [label: string, command: string, ...args: string[]];
const CHECKS: readonly Check[] = [
  ["Build", "pnpm", "--silent", "run", "build"],
  ["Layers", "node", "scripts/check-layers.mjs"],
  ["Order of units and commit ids", "node", "scripts/check-order.mjs"],
  ["English", "node", "scripts/check-english.mjs"],
  ["Lint (oxlint, type-aware)", "oxlint", "--type-aware", "--deny-warnings"],
  ["Format (oxfmt)", "oxfmt", "--check"],
  ["Dead code (knip)", "knip", "--no-config-hints"],
  ["Site of the documents (VitePress)", "vitepress", "build", "docs"],
];

type Suite = readonly [project: string, label: string];
const SUITES: readonly Suite[] = [
  ["unit", "Unit tests"],
  ["e2e", "End-to-end tests"],
];

/** Searches, in which a single failure is the finding. */
const ONE_TRY = /(consistency|crash|takeover|faults|cache-damage|differential|http-fuzz)\.e2e\.test\.ts$/;
/** More failed files are not an accident. */
const MOST_AGAIN = 3;

function stopIfInterrupted({ code, interruptedBy }: Ended): void {
  if (interruptedBy === null) return;
  console.error(`Interrupted by ${interruptedBy}.`);
  process.exit(code === 0 ? 130 : code);
}

/** @param files all if empty */
async function test(project: string, report: string, files: readonly string[]): Promise<number> {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const ended = await run("vitest", ["run", "--project", project, ...reporters, ...files], OPTIONS);
  stopIfInterrupted(ended);
  return ended.code;
}

/** A file that ran once more. */
interface SecondTry {
  readonly file: string;
  readonly passed: boolean;
}

const startedMs = performance.now();
const failures: string[] = [];
/** The names of failed tests, as the last lines tell them. */
const failedNames: string[] = [];
const checks: { readonly label: string; readonly wallSeconds: number }[] = [];
const secondTries: SecondTry[] = [];

say(full ? "Full tier: all tests." : "Short tier: `npm test -- --full` has all tests.");
if (tier !== null) {
  if (changes.kind === "unknown") say(`Nothing is left out, since ${changes.why}.`);
  else
    say(
      `Compared with ${changes.base.slice(0, 12)}, drawn by ${tier.draw.slice(0, 12)}. These parts do not run in full:`,
    );
  for (const words of tier.words) say(`  ${words}`);
}

for (const [label, command, ...args] of CHECKS) {
  const checkMs = performance.now();
  const ended = await runQuietly(label, command, args, OPTIONS);
  stopIfInterrupted(ended);
  checks.push({ label, wallSeconds: Math.round(performance.now() - checkMs) / 1_000 });
  if (ended.code !== 0) {
    failures.push(label);
    say(ended.output.trimEnd());
  }
}

let counts: Counts = NO_TESTS;
/** Counted beside the tests, and the first time for nothing: its code is compiled then. */
const slownesses: number[] = [];
slownessOfMachine();
const counting = setInterval(() => slownesses.push(slownessOfMachine()), COUNTED_MS);
for (const [project, label] of SUITES) {
  say(`· ${label} …`);
  const report = path.join(reports, `${project}.json`);
  const code = await test(project, report, []);
  let suite = countsOf(report, code);
  let names = failedTests(report);
  const failed = failedFiles(report);
  const isOneTry = project === "unit" || failed.length > MOST_AGAIN || failed.some((file) => ONE_TRY.test(file));
  if (failed.length > 0 && !isOneTry) {
    const tried = failed.map((file) => path.relative(ROOT, file));
    say(`· Once more, alone: ${tried.join(", ")} …`);
    const again = path.join(reports, `${project}-again.json`);
    const second = countsOf(again, await test(project, again, failed));
    const failedAgain = failedFiles(again);
    names = failedTests(again);
    secondTries.push(...failed.map((file, at) => ({ file: tried[at] ?? file, passed: !failedAgain.includes(file) })));
    suite = add(countsOf(report, 0, failed), second);
    if (second.failed === 0) say(`\nFailed beside others, and passed alone: ${tried.join(", ")}`);
  }
  counts = add(counts, suite);
  failedNames.push(...names.map((name) => name.replace(`${ROOT}${path.sep}`, "")));
  if (suite.failed > 0) failures.push(label);
  if (suite.failed > 0 && names.length === 0)
    failedNames.push(`${label}: no test failed, and the exit code is ${code}`);
}

clearInterval(counting);
const slowness = slownesses.reduce((sum, one) => sum + one, 0) / Math.max(1, slownesses.length);

const files = timesOf(ROOT, times);
say(`\nThe dearest files: processor time, wall time (all are in ${MEASURED})`);
say(dearest(files, DEAREST));

if (tier !== null) {
  // A part that has changed may take as long as it needs.
  const inFull = PARTS.filter(({ name }) => tier.whole.includes(name)).flatMap((part) => filesOf(ROOT, part));
  const over = overLimit(files, slowness).filter(({ file }) => !inFull.includes(file));
  for (const { file, processorSeconds } of over) {
    const limit = `${MOST_PROCESSOR_SECONDS} s${slowness > 1 ? ` × ${slowness.toFixed(1)}, by which this machine is slower` : ""}`;
    say(
      `${file} takes ${processorSeconds.toFixed(1)} s of processor time, and a file of the short tier may take ${limit}.`,
    );
    say("  Make it cheaper, split it, or make a part of it in scripts/tier-parts.ts.");
    failures.push(`Time of ${file}`);
  }
}

if (failures.length > 0) say(`\nFailed: ${[failures.join(", "), ...failedNames].join("\n  ")}`);
const steps = failures.filter((failure) => !SUITES.some(([, label]) => label === failure)).length;
const total = add(counts, { ...NO_TESTS, failed: steps });
const result = {
  tier: full ? "full" : "short",
  commit,
  ...(tier === null ? {} : { drawnBy: tier.draw, notInFull: tier.words }),
  wallSeconds: Math.round((performance.now() - startedMs) / 1_000),
  slowness: Math.round(slowness * 100) / 100,
  counts: total,
  failures,
  failedTests: failedNames,
  checks,
  secondTries: [...secondTriesBefore(), ...secondTries.map((one) => ({ commit, ...one }))],
  files,
};
writeFileSync(path.join(ROOT, MEASURED), `${JSON.stringify(result, null, 2)}\n`);
if (json) console.log(JSON.stringify({ ...result, secondTries }));
say(summaryLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;

/** Those of earlier runs are kept: a file that needs one time and again hides a mistake. */
function secondTriesBefore(): readonly unknown[] {
  try {
    const before = JSON.parse(readFileSync(path.join(ROOT, MEASURED), "utf8")) as { readonly secondTries: unknown[] };
    return before.secondTries.slice(-100);
  } catch {
    return [];
  }
}
