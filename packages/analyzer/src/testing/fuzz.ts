/**
 * For tests: random programs through the whole analyzer, compared by execution. Run it at length by itself:
 *
 *     node --conditions=source packages/analyzer/src/testing/fuzz.ts --from 0 --to 1000
 */
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "./library.ts";
import { explore } from "./oracle.ts";
import { KEY_TEXTS, randomProgram, TABLES } from "./random-program.ts";

export interface FuzzReport {
  programs: number;
  handlers: number;
  sliced: number;
  calls: number;
  traps: number;
  extraReads: number;
  extraWrites: number;
  /** One line per failure: the seed and what went wrong. */
  readonly failures: string[];
}

/** Builds and explores the programs of the seeds `from` (inclusive) to `to` (exclusive). */
export function fuzz(from: number, to: number, runs: number, progress?: (report: FuzzReport) => void): FuzzReport {
  const report: FuzzReport = {
    programs: 0,
    handlers: 0,
    sliced: 0,
    calls: 0,
    traps: 0,
    extraReads: 0,
    extraWrites: 0,
    failures: [],
  };
  for (let seed = from; seed < to; seed++) {
    fuzzOne(seed, runs, report);
    progress?.(report);
  }
  return report;
}

function fuzzOne(seed: number, runs: number, report: FuzzReport): void {
  const { files, handlers } = randomProgram(seed);
  const build = buildWith({ ...buildInput(files), optimize: false }, slicer);
  report.programs++;
  report.handlers += handlers.length;
  for (const { code, class: kind, message, primary } of build.diagnostics) {
    if (code !== "compiler_warning")
      report.failures.push(
        `seed ${seed}: ${kind} ${code} at ${primary.file}:${primary.line}:${primary.column}: ${message}`,
      );
  }
  for (const { name, plan } of build.handlers) {
    if (plan.kind !== "sliced") continue;
    report.sliced++;
    try {
      const found = explore(build, {
        strings: KEY_TEXTS,
        integers: [0, 1, 2, 3, 4, 5],
        keys: Object.fromEntries(TABLES.map((table) => [table, KEY_TEXTS])),
        handlers: [name],
        runs,
        callsPerRun: 3,
        seed,
      });
      report.calls += found.calls;
      report.traps += found.traps;
      report.extraReads += found.extraReads;
      report.extraWrites += found.extraWrites;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      report.failures.push(`seed ${seed}: ${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: "0" },
      to: { type: "string", default: "100" },
      runs: { type: "string", default: "15" },
    },
  });
  let shown = 0;
  const report = fuzz(Number(values.from), Number(values.to), Number(values.runs), (current) => {
    for (const failure of current.failures.slice(shown)) console.log(failure);
    shown = current.failures.length;
    if (current.programs % 20 === 0) console.log(JSON.stringify({ ...current, failures: shown }));
  });
  console.log(JSON.stringify({ ...report, failures: report.failures.length }));
  process.exitCode = report.failures.length === 0 ? 0 : 1;
}
