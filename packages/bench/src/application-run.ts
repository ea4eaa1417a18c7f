/** Experiments on one application: a deployment, runs on it one after the other, and the checks of all of them. */
import { CommandError } from "@radical/app/command-error";
import { type Project, type Benchmark, counted } from "@radical/app";
import type { BuiltApp, MeasurementOptions, RunOutcome } from "./measurement.ts";
import { Measurement } from "./measurement.ts";
import type { PaperHandler, ResultBuilder, RunPlan } from "./result-builder.ts";
import { ServerLog } from "./server-log.ts";

export interface ApplicationRun {
  readonly project: Project;
  readonly built: BuiltApp;
  readonly measurement: Omit<MeasurementOptions, "onServerLog">;
  /** Whether locations begin with what their clients will ask for. */
  readonly warm: boolean;
  readonly plans: readonly RunPlan[];
  readonly paper?: Readonly<Record<string, PaperHandler>>;
  /** Lines for people. */
  readonly tell: (line: string) => void;
  /** Called with each run as it ends. */
  readonly onRun?: (run: {
    readonly plan: RunPlan;
    readonly outcome: RunOutcome;
    readonly log: ServerLog;
    readonly measurement: Measurement;
  }) => Promise<void> | void;
}

const PROGRESS_MS = 10_000;

/** Between two requests of the mix of a benchmark, each handler is as likely. */
export function withEqualShares(benchmark: Benchmark): Benchmark {
  return { ...benchmark, requests: benchmark.requests.map((request) => ({ ...request, share: 1 })) };
}

/** How long the requests of a run take to arrive. */
export function durationMs({ loads, warmUpRequests }: RunPlan): number {
  return Math.max(
    ...loads.map(({ requests, arrivalsPerSecond }) => ((requests + warmUpRequests) * 1_000) / arrivalsPerSecond),
  );
}

/** Throws a CommandError if a check fails, with the rows of the check in the result. */
export async function runApplication(run: ApplicationRun, result: ResultBuilder): Promise<void> {
  const { project, built, plans, tell, measurement: options } = run;
  const { signal } = options;
  const log = new ServerLog();
  const name = project.config.name;
  tell(`${name}: starting ${counted(options.locations.length, "location")} …`);
  const measurement = await Measurement.start(project, built, { ...options, onServerLog: (line) => log.add(line) });
  try {
    if (result.locations.length === 0) result.locations.push(...(await measurement.measureDelays()));
    if (run.warm) {
      const progress = progressOf(`${name}: warm-up`, tell);
      await measurement.warmUp(progress);
    }
    for (const plan of plans) {
      if (signal.aborted) break;
      const words = Object.entries(plan.parameters).map(([key, value]) => `${key} ${value}`);
      const label = [`${name}: ${plan.profile}`, ...words].join(", ");
      tell(`${label}: some ${Math.ceil(durationMs(plan) / 1_000)} s`);
      // What was stale before is not this run's.
      log.takeStale();
      const outcome = await measurement.run({
        name: label,
        loads: plan.loads,
        warmUpRequests: plan.warmUpRequests,
        leastMs: plan.leastMs,
        onProgress: progressOf(label, tell),
        ...(plan.zipf === null ? {} : { zipf: plan.zipf }),
        ...(plan.requestsOf === undefined ? {} : { benchmark: plan.requestsOf(built.benchmark) }),
      });
      result.addRun(plan, outcome, log, measurement.samples, (unit) => measurement.itemBytes(unit));
      if (plan === plans[0] && run.paper !== undefined)
        result.addExecutionTimes(built, measurement.runTimes(), run.paper, plan.leastMs);
      await run.onRun?.({ plan, outcome, log, measurement });
    }
    tell(`${name}: checking what the systems did …`);
    const checks = await measurement.check(result.nextRun - 1);
    result.checks.push(...checks);
    const failed = checks.filter(({ passed }) => !passed);
    for (const { system, kind, problems } of failed)
      tell(`${name}: ${system} has failed the check ${kind}:\n  ${problems.join("\n  ")}`);
    if (failed.length > 0)
      throw new CommandError(
        "check_failed",
        `${name}: ${failed.map(({ system, kind }) => `${system} (${kind})`).join(", ")} did not do what the handlers say`,
        "what was measured means nothing: see the problems above",
      );
  } finally {
    await measurement.stop();
  }
}

function progressOf(label: string, tell: (line: string) => void): (answered: number, all: number) => void {
  let toldAtMs = performance.now();
  return (answered, all) => {
    if (performance.now() - toldAtMs < PROGRESS_MS) return;
    toldAtMs = performance.now();
    tell(`${label}: ${answered} of ${all} requests`);
  };
}
