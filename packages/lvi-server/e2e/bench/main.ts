/**
 * `pnpm bench:server`: how fast the LVI server is, beside bare `node:http` in the same run, and what else it takes: calls to
 * storage, memory, time to recover, what endless handlers leave to others, and hot keys. docs/internals/server-speed.md has results.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { commandLine } from "@radical/command-line";
import { benchAudits } from "./audits.ts";
import { benchFairness } from "./fairness.ts";
import { type Effort, type Figure, isMet, type Progress } from "./figure.ts";
import { benchHotKeys } from "./hot-keys.ts";
import { benchInProcess } from "./in-process.ts";
import { benchIndexes } from "./indexes.ts";
import { benchMemory } from "./memory.ts";
import { benchObject } from "./object.ts";
import { benchRanges } from "./ranges.ts";
import { benchRecovery } from "./recovery.ts";
import { benchReads, benchWrites } from "./request-path.ts";
import { benchStorageCalls } from "./storage-calls.ts";
import { benchOwedWork } from "./owed-work.ts";
import { benchTasks } from "./tasks.ts";

type Benchmark = (effort: Effort, progress: Progress) => readonly Figure[] | Promise<readonly Figure[]>;

const NAMES = [
  "reads",
  "writes",
  "core",
  "calls",
  "memory",
  "recovery",
  "fairness",
  "hot",
  "ranges",
  "indexes",
  "object",
  "tasks",
  "owed",
  "audits",
] as const;

const BENCHMARKS: Readonly<Record<(typeof NAMES)[number], Benchmark>> = {
  reads: benchReads,
  writes: benchWrites,
  core: benchInProcess,
  calls: benchStorageCalls,
  memory: benchMemory,
  recovery: benchRecovery,
  fairness: benchFairness,
  hot: benchHotKeys,
  ranges: benchRanges,
  indexes: benchIndexes,
  object: benchObject,
  tasks: benchTasks,
  owed: benchOwedWork,
  audits: benchAudits,
};

const { benchmarks, quick, json, out, ...given } = commandLine({
  name: "pnpm bench:server",
  words:
    "Measure the LVI server: signed requests beside the same bytes to bare node:http, the protocol core in process,\ncalls to storage, memory of versions, recovery of pending intents, what endless handlers leave to others, and executions on one key, ranges of a large table, the build of an index, an object with many entries, tasks,\na start on owed work: due and delayed tasks, and waiting workflows, and what audits of followups cost.",
  options: {
    benchmarks: { kind: "operands", of: NAMES, words: "what to measure" },
    quick: { kind: "flag", words: "fewer turns, rounds and intents, no DynamoDB: all of it in less than two minutes" },
    turns: { kind: "number", default: 12, quick: 5, least: 1, words: "how often those that are compared take turns" },
    requests: { kind: "number", default: 10_000, quick: 4_000, least: 1, words: "requests of each turn" },
    rounds: { kind: "number", default: 5, quick: 2, least: 1, words: "injections of endless handlers" },
    intents: {
      kind: "number",
      default: 10_000,
      quick: 2_000,
      least: 1,
      words:
        "pending intents to recover, tasks to carry out, and due tasks of owed work: ten delayed ones come with each",
    },
    versions: { kind: "number", default: 1_000_000, least: 1, words: "versions in memory" },
    rows: { kind: "number", default: 1_000_000, quick: 100_000, least: 10_000, words: "rows of the table with ranges" },
    items: { kind: "number", default: 100_000, quick: 10_000, least: 1_000, words: "items whose index is built" },
    json: { kind: "flag", words: "print one JSON document" },
    out: { kind: "text", placeholder: "file", words: "write that document to a file" },
  },
  exitCodes: ["measured, whether goals are met or not", "a benchmark failed", "wrong options"],
  examples: [
    ["pnpm bench:server", "all of them"],
    ["pnpm bench:server --quick --out speed.json", "all of them, shorter, for people and programs"],
    ["pnpm bench:server reads writes", "beside bare node:http"],
    [
      "pnpm bench:server owed",
      "10,000 due tasks, 100,000 delayed ones and 1,000 workflows on both storages: some 20 minutes",
    ],
    ["pnpm bench:server recovery --intents 1000", "on both storages, a tenth of it"],
  ],
});
const effort: Effort = { ...given, dynamodb: !quick };

const results: { readonly name: string; readonly figures: readonly Figure[] }[] = [];
const before = loadavg()[0]!;
for (const name of benchmarks) {
  const figures = await BENCHMARKS[name](effort, (words) => process.stderr.write(`${name}: ${words}\n`));
  results.push({ name, figures });
  if (!json) {
    console.log(`\n${name}`);
    for (const one of figures) console.log(lineOf(one));
  }
}
const machine = {
  cpus: cpus().length,
  model: cpus()[0]?.model ?? "",
  node: process.version,
  load: [before, loadavg()[0]!],
};
const document = JSON.stringify({ machine, effort, results }, null, 2);
if (out !== null) writeFileSync(out, `${document}\n`);
if (json) console.log(document);
else console.log(`\n${machine.cpus} × ${machine.model}, Node ${machine.node}, load ${machine.load.join(" to ")}`);

function lineOf(one: Figure): string {
  const value = Math.abs(one.value) >= 100 ? one.value.toFixed(0) : one.value.toPrecision(3);
  const goal = one.goal === null ? "" : "atLeast" in one.goal ? `≥ ${one.goal.atLeast}` : `≤ ${one.goal.atMost}`;
  const met = isMet(one);
  return `  ${one.what.padEnd(84)} ${value.padStart(8)} ${one.unit.padEnd(3)} ${goal === "" ? "" : `${goal} ${met === true ? "met" : "MISSED"}`}`;
}
