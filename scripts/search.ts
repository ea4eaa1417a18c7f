/**
 * `pnpm run search`: the long hunt for a night. It runs the searching commands one after the other, under seeds that nobody
 * has run. It goes on when one has found something.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { commandLine } from "../packages/command-line/src/command-line.ts";
import { run } from "./child.mjs";
import { type Finding, HUNTS, type HuntName, commandOf, findingsOf, planOf } from "./search-plan.ts";
import { sourcesOf } from "./tier-parts.ts";

const ROOT = path.dirname(import.meta.dirname);
/** The output of each run that has found something; not in git. */
const FOLDER = ".search";
const NO_LIMIT = 0;
/** Between two lines that say how far a run is. */
const PROGRESS_MS = 60_000;

const { only, minutes, seed, json } = commandLine({
  name: "pnpm run search",
  words:
    "Search at length: 100,000 histories and as many of ranges, of indexes and of tasks, all variants and rules, all failpoints on both storages, 2,000 random programs, ten minutes of HTTP, handlers in Node and workerd. What it finds is told with seed, commit and command.",
  options: {
    only: {
      kind: "text",
      placeholder: "names",
      words: `some of these, with commas: ${HUNTS.join(", ")} (default: all)`,
    },
    minutes: { kind: "number", default: NO_LIMIT, least: 0, words: "after so many nothing more is begun; 0: no limit" },
    seed: { kind: "seed", words: "the first seed of each search" },
    json: { kind: "flag", words: "the result as JSON on standard output, all else on standard error" },
  },
  exitCodes: ["nothing was found", "something was found", "wrong options"],
  examples: [
    ["pnpm run search", "a night"],
    ["pnpm run search --minutes 60", "an hour, of which each search has a part"],
    ["pnpm run search --only simulation,programs", "two of them"],
  ],
});
const say = (line: string): void => void (json ? process.stderr : process.stdout).write(`${line}\n`);
const hunts = huntsOf(only);

const commit = sourcesOf(ROOT);
const startedMs = performance.now();
const minutesGone = (): number => (performance.now() - startedMs) / 60_000;
const plan = planOf(hunts, seed);
const findings: Finding[] = [];
const done = new Map<HuntName, number>(hunts.map((hunt) => [hunt, 0]));
let interrupted: string | null = null;

say(`Commit ${commit}, seed ${seed}, ${plan.length} runs.`);
for (const [at, next] of plan.entries()) {
  if (minutes !== NO_LIMIT && minutesGone() >= minutes) break;
  say(`${minutesGone().toFixed(0)} min, run ${at + 1} of ${plan.length}, ${findings.length} found: ${commandOf(next)}`);
  let lastLine = "";
  const progress = setInterval(() => say(`  ${minutesGone().toFixed(0)} min … ${lastLine}`), PROGRESS_MS);
  // oxlint-disable-next-line no-await-in-loop -- one after the other: each of them keeps two cores busy
  const { code, output, interruptedBy } = await run("pnpm", ["--silent", "run", next.script, ...next.args], {
    cwd: ROOT,
    env: process.env,
    capture: (chunk) => (lastLine = chunk.trim().split("\n").at(-1) ?? lastLine),
  });
  clearInterval(progress);
  interrupted = interruptedBy;
  // A run that is broken off ends with a code of its own, which is not a finding.
  const found = findingsOf(next, output, interrupted === null ? code : 0, commit);
  findings.push(...found);
  for (const finding of found) say(`FOUND: ${finding.words}\n  ${finding.command}`);
  if (found.length > 0) {
    const file = path.join(FOLDER, `${next.hunt}-${next.seed}.txt`);
    mkdirSync(path.join(ROOT, FOLDER), { recursive: true });
    writeFileSync(path.join(ROOT, file), output);
    say(`  All of its output is in ${file}.`);
  }
  if (interrupted !== null) break;
  done.set(next.hunt, (done.get(next.hunt) ?? 0) + 1);
}

say(`\n${interrupted === null ? "Ended" : `Broken off by ${interrupted}`} after ${minutesGone().toFixed(0)} min.`);
for (const [hunt, runs] of done) say(`${hunt}: ${runs} of ${plan.filter((one) => one.hunt === hunt).length} runs`);
for (const { hunt, words, seed: of, command } of findings)
  say(`\n${hunt}: ${words}\n  commit ${commit}, seed ${of}\n  ${command}`);
say(`${findings.length} found`);
if (json) {
  const runs = Object.fromEntries(done);
  console.log(
    JSON.stringify({ commit, seed, minutes: minutesGone(), interrupted: interrupted !== null, runs, findings }),
  );
}
process.exitCode = findings.length > 0 ? 1 : 0;

function huntsOf(names: string | null): readonly HuntName[] {
  if (names === null) return HUNTS;
  const wanted = names.split(",");
  const unknown = wanted.find((name) => !(HUNTS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    process.stderr.write(`error --only names some of ${HUNTS.join(", ")}, not '${unknown}'\n`);
    process.exit(2);
  }
  return HUNTS.filter((hunt) => wanted.includes(hunt));
}
