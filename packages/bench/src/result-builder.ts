/** Puts the result of an experiment together, run by run. */
import { totalmem, cpus, loadavg, release, type } from "node:os";
import type { Benchmark } from "@radical/app";
import type { Answered } from "./client.ts";
import type { Load } from "./schedule.ts";
import type { RunOutcome } from "./measurement.ts";
import { Random } from "@radical/history";
import type {
  BenchmarkResult,
  CheckRow,
  ColdStartRow,
  Experiment,
  MeasuredLocation,
  ReplicationRow,
  WorkloadRun,
} from "./result.ts";
import {
  differenceRows,
  improvementRows,
  latencyOf,
  latencyRows,
  operationRows,
  phaseRows,
  selections,
  validationRow,
} from "./rows.ts";
import type { RunTimes } from "./run-times.ts";
import { rounded, statisticsOf } from "./statistics.ts";
import type { Sample } from "./deployment.ts";
import type { ServerLog } from "./server-log.ts";
import type { BuiltApp } from "./measurement.ts";

/** What is known of a run beforehand. */
export interface RunPlan extends Pick<WorkloadRun, "application" | "profile" | "storage" | "zipf" | "parameters"> {
  readonly loads: readonly Load[];
  readonly warmUpRequests: number;
  readonly leastMs: Readonly<Record<string, number>>;
  /** Makes other requests of those of the application's file, on the same data. */
  readonly requestsOf?: (benchmark: Benchmark) => Benchmark;
}

/** Of a handler, in the paper's Table 1. */
export interface PaperHandler {
  readonly ms: number;
  readonly share: number;
}

export interface ResultOptions {
  readonly experiment: Experiment;
  readonly command: string;
  readonly quick: boolean;
  readonly seed: number;
}

type Rows<Name extends keyof BenchmarkResult> = BenchmarkResult[Name] extends readonly (infer Row)[] ? Row[] : never;

export class ResultBuilder {
  readonly #options: ResultOptions;
  readonly #begunAt = new Date();
  readonly #beganAtMs = performance.now();
  readonly #loadBefore = loadavg()[0]!;
  readonly #cpusBefore = cpuTimes();
  readonly locations: MeasuredLocation[] = [];
  readonly runs: WorkloadRun[] = [];
  readonly coldStarts: ColdStartRow[] = [];
  readonly replications: ReplicationRow[] = [];
  readonly checks: CheckRow[] = [];
  readonly #latencies: Rows<"latencies"> = [];
  readonly #improvements: Rows<"improvements"> = [];
  readonly #differences: Rows<"differences"> = [];
  readonly #executionTimes: Rows<"executionTimes"> = [];
  readonly #phases: Rows<"phases"> = [];
  readonly #validations: Rows<"validations"> = [];
  readonly #operations: Rows<"operations"> = [];

  constructor(options: ResultOptions) {
    this.#options = options;
  }

  /** The number of the run that is added next. */
  get nextRun(): number {
    return this.runs.length;
  }

  /** `samples`: what the LVI server has told of the executions. `itemBytes`: of the units at the beginning. */
  addRun(
    plan: RunPlan,
    { answered, systems, tookMs, primaryBytes }: RunOutcome,
    log: ServerLog,
    samples: ReadonlyMap<string, Sample>,
    itemBytes: (unit: string) => number,
  ): void {
    const run = this.nextRun;
    const { application, profile, storage, zipf, parameters } = plan;
    this.runs.push({
      run,
      application,
      profile,
      storage,
      zipf,
      parameters,
      systems,
      tookMs: rounded(tookMs),
    });
    const draw = new Random(this.#options.seed, 0).fork(`resampling ${run}`);
    const oneWayMs = new Map(this.locations.map(({ name, measured }) => [name, (measured.p50Ms ?? 0) / 2]));
    const stale = log.takeStale();
    this.#operations.push(
      ...operationRows({ run, application }, answered, { samples, repairs: log.repairs, itemBytes, primaryBytes }),
    );
    for (const { selection, own } of selections(answered, { run, application })) {
      this.#latencies.push(...latencyRows(selection, own));
      this.#improvements.push(...improvementRows(selection, own));
      this.#differences.push(...differenceRows(selection, own, draw));
      if (selection.handler === null || selection.location === null)
        this.#phases.push(...phaseRows(selection, own, log.times, oneWayMs));
      if (own.some(({ system }) => system === "radical")) this.#validations.push(validationRow(selection, own, stale));
    }
  }

  /** Beside the times of the last run in its Workers, those of f and f^rw alone. */
  addExecutionTimes(
    { app, benchmark }: BuiltApp,
    alone: ReadonlyMap<string, RunTimes>,
    paper: Readonly<Record<string, PaperHandler>>,
    leastMs: RunPlan["leastMs"],
  ): void {
    const run = this.runs.at(-1);
    const all = benchmark.requests.reduce((sum, { share }) => sum + share, 0);
    for (const { handler, share } of benchmark.requests) {
      const { plan, readOnly } = app.manifest.handlers[handler]!;
      const { fMs, rwMs, dependent } = alone.get(handler)!;
      this.#executionTimes.push({
        run: run.run,
        application: run.application,
        handler,
        writes: !readOnly,
        plan,
        dependent,
        share: rounded(share / all),
        paperMs: paper[handler]?.ms ?? null,
        paperShare: paper[handler]?.share ?? null,
        f: statisticsOf(fMs.map((ms) => Math.max(ms, leastMs[handler] ?? 0))),
        rw: statisticsOf(rwMs),
      });
    }
  }

  /** In steps of so many requests of each location. */
  addColdStart(plan: RunPlan, { answered }: RunOutcome, step: number): void {
    const run = this.runs.at(-1).run;
    const bySystem = Map.groupBy(answered, ({ system }) => system);
    for (const [system, all] of bySystem) {
      for (const location of [null, ...new Set(all.map((one) => one.location))]) {
        const own = location === null ? all : all.filter((one) => one.location === location);
        const steps = Map.groupBy(own, ({ place }) => Math.trunc(place / step));
        for (const [index, those] of [...steps].toSorted(([a], [b]) => a - b)) {
          this.coldStarts.push({
            run,
            application: plan.application,
            location,
            system,
            firstRequest: index * step + 1,
            lastRequest: (index + 1) * step,
            latency: statisticsOf(those.map(latencyOf)),
            speculativeShare: system === "radical" ? rounded(shareAtLocation(those)) : null,
          });
        }
      }
    }
  }

  result(interrupted: boolean): BenchmarkResult {
    const { experiment, command, quick, seed } = this.#options;
    return {
      format: 1,
      experiment,
      command,
      quick,
      interrupted,
      seed,
      begunAt: this.#begunAt.toISOString(),
      tookMs: Math.round(performance.now() - this.#beganAtMs),
      machine: {
        cpu: cpus()[0]?.model.trim() ?? "",
        cores: cpus().length,
        memoryMb: Math.round(totalmem() / 2 ** 20),
        os: `${type()} ${release()}`,
        node: process.version,
        loadBefore: this.#loadBefore,
        busyShare: busyShare(this.#cpusBefore, cpuTimes()),
      },
      locations: this.locations,
      runs: this.runs,
      latencies: this.#latencies,
      improvements: this.#improvements,
      differences: this.#differences,
      executionTimes: this.#executionTimes,
      phases: this.#phases,
      operations: this.#operations,
      validations: this.#validations,
      coldStarts: this.coldStarts,
      replications: this.replications,
      checks: this.checks,
    };
  }
}

function shareAtLocation(answered: readonly Answered[]): number {
  return answered.filter(({ headers }) => headers["x-radical-path"] !== "near-storage").length / answered.length;
}

interface CpuTimes {
  readonly busyMs: number;
  readonly idleMs: number;
}

function cpuTimes(): CpuTimes {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of: (one: (typeof times)[number]) => number): number => times.reduce((all, one) => all + of(one), 0);
  return { busyMs: sum(({ user, nice, sys, irq }) => user + nice + sys + irq), idleMs: sum(({ idle }) => idle) };
}

/** Null where the system counts nothing. */
function busyShare(before: CpuTimes, after: CpuTimes): number | null {
  const [busyMs, idleMs] = [after.busyMs - before.busyMs, after.idleMs - before.idleMs];
  return busyMs + idleMs <= 0 ? null : rounded(busyMs / (busyMs + idleMs));
}
