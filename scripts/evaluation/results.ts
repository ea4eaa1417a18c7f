/** The results that are committed in `benchmarks/results`, one file for each experiment, and how rows of them are found. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  type BenchmarkResult,
  type Experiment,
  EXPERIMENTS,
  type LatencyRow,
  type Selection,
  type Statistics,
  type System,
  type ValidationRow,
  type WorkloadRun,
} from "../../packages/bench/src/result.ts";

export const RESULTS_FOLDER = path.resolve(import.meta.dirname, "../../benchmarks/results");

export type Results = Readonly<Partial<Record<Experiment, BenchmarkResult>>>;

/** The results of the experiments that were run. Throws for a file of another format or name. */
export function readResults(folder: string): Results {
  const read = EXPERIMENTS.flatMap((experiment) => {
    const file = path.join(folder, `${experiment}.json`);
    if (!existsSync(file)) return [];
    const result = JSON.parse(readFileSync(file, "utf8")) as Omit<BenchmarkResult, "format"> & { format: number };
    if (result.format !== 1 || result.experiment !== experiment) {
      throw new Error(`${file} is no result of "${experiment}" in format 1`);
    }
    return [[experiment, { ...result, format: 1 }] as const];
  });
  return Object.fromEntries(read) as Results;
}

/** The runs in the shares of the workload, if there are others too: what concerns applications is of these. */
export function workloadRuns({ runs }: Pick<BenchmarkResult, "runs">): readonly WorkloadRun[] {
  return runs.filter(({ parameters }) => parameters["mix"] !== EQUAL_MIX);
}

/** The runs in which each handler is as likely, if there are such: what concerns single handlers is of these, as some are rare. */
export function handlerRuns({ runs }: BenchmarkResult): readonly WorkloadRun[] {
  const equal = runs.filter(({ parameters }) => parameters["mix"] === EQUAL_MIX);
  return equal.length > 0 ? equal : runs;
}

const EQUAL_MIX = "equal";

/** The workload of a run in words: its application, and what tells it from the other runs of the file with the same. */
export function labelOf(run: WorkloadRun, { runs }: BenchmarkResult): string {
  const others = runs.filter(({ application }) => application === run.application);
  const parts = [
    run.application,
    ...(new Set(others.map(({ storage }) => storage)).size > 1 ? [run.storage] : []),
    ...(new Set(others.map(({ profile }) => profile)).size > 1 ? [run.profile] : []),
  ];
  return parts.join(", ");
}

/** The row of exactly this selection. */
export function rowOf<Row extends Omit<Selection, "application">>(
  rows: readonly Row[],
  run: WorkloadRun,
  handler: string | null,
  location: string | null,
): Row | undefined {
  return rows.find((row) => row.run === run.run && row.handler === handler && row.location === location);
}

/** End-to-end latency of a system, of all requests of a handler or of all, at a location or at all. */
export function latencyOf(
  result: BenchmarkResult,
  run: WorkloadRun,
  system: System,
  handler: string | null = null,
  location: string | null = null,
): Statistics | undefined {
  const rows: readonly LatencyRow[] = result.latencies.filter((row) => row.system === system);
  return rowOf(rows, run, handler, location)?.latency;
}

/** The handlers of a run, those that are asked for most first. */
export function handlersOf(result: BenchmarkResult, run: WorkloadRun): readonly string[] {
  return result.executionTimes
    .filter((row) => row.application === run.application)
    .toSorted((a, b) => b.share - a.share)
    .map(({ handler }) => handler);
}

/** A parameter of runs, as a number. */
export function parameterOf(run: WorkloadRun, name: string): number {
  const value = run.parameters[name];
  if (typeof value !== "number") throw new Error(`run ${run.run} has no number "${name}"`);
  return value;
}

/** The share of the requests that the location's own run has answered, whether the primary or read leases have confirmed it. */
export function atLocation({ requests, speculative, leased = 0 }: ValidationRow): number {
  return (speculative + leased) / requests;
}
