/**
 * `pnpm fuzz`: random programs at length, in several processes.
 *
 *     pnpm fuzz --programs 5000 --jobs 2          the seeds 0 to 4999
 *     pnpm fuzz --from 1234 --programs 1          one seed again
 *     pnpm fuzz --programs 200 --features         how often each feature of the generator occurs
 *
 * Failing programs are reduced and printed. Ctrl-C ends it with the summary so far. Exit code 1 if anything failed.
 */
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { emptyReport, fuzzSeed, reduceFailure, type FuzzCounts, type FuzzFailure } from "./fuzz.ts";

interface Task {
  readonly seed: number;
  readonly runs: number;
  readonly reduceSeconds: number;
}

interface Done {
  readonly counts: FuzzCounts;
  readonly features: readonly string[];
  readonly failures: readonly FuzzFailure[];
  /** The first failure's program, reduced. */
  readonly reduced: string | null;
}

/** The compiler's memory outside of the garbage collector grows with every program. */
const PROGRAMS_PER_PROCESS = 250;
/** A program that takes longer does not end. */
const SECONDS_PER_PROGRAM = 120;

if (process.send === undefined) command();
else work();

function work(): void {
  // The parent answers Ctrl-C.
  process.on("SIGINT", () => undefined);
  process.on("message", ({ seed, runs, reduceSeconds }: Task) => {
    const report = emptyReport();
    fuzzSeed(seed, runs, report);
    const [failure] = report.failures;
    const until = performance.now() + reduceSeconds * 1000;
    const reduced =
      failure === undefined || reduceSeconds === 0
        ? null
        : reduceFailure(failure, runs, () => performance.now() < until);
    const { counts, features, failures } = report;
    process.send!({ counts, features: [...features.keys()], failures, reduced } satisfies Done);
  });
}

function command(): void {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: "0" },
      programs: { type: "string", default: "500" },
      runs: { type: "string", default: "10" },
      jobs: { type: "string", default: "2" },
      reduce: { type: "string", default: "90" },
      json: { type: "boolean", default: false },
      features: { type: "boolean", default: false },
    },
  });
  const from = Number(values.from);
  const to = from + Number(values.programs);
  const runs = Number(values.runs);
  const reduceSeconds = Number(values.reduce);
  const report = emptyReport();
  const running = new Set<ChildProcess>();
  const started = performance.now();
  let next = from;
  const say = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);

  const progress = (): void => {
    const { programs, calls } = report.counts;
    const seconds = Math.round((performance.now() - started) / 1000);
    say(`${programs} programs, ${calls} calls, ${report.failures.length} failures, ${seconds} s`);
  };
  const fail = (failure: FuzzFailure, reduced: string | null): void => {
    report.failures.push(failure);
    say(`seed ${failure.seed}: ${failure.handler ?? "the program"}: ${failure.message}`);
    say(`  again: pnpm fuzz --from ${failure.seed} --programs 1 --runs ${runs}`);
    if (reduced !== null) say(`  reduced:\n${reduced.replaceAll(/^/gm, "    ")}`);
  };
  const finish = (): void => {
    for (const child of running) {
      child.removeAllListeners();
      child.kill("SIGKILL");
    }
    running.clear();
    progress();
    const { counts, features, failures } = report;
    const shares = [...features]
      .map(([feature, count]) => [feature, Math.round((1000 * count) / counts.programs) / 10] as const)
      .toSorted((a, b) => a[1] - b[1]);
    if (values.features) for (const [feature, percent] of shares) say(`${String(percent).padStart(5)} % ${feature}`);
    const seconds = Math.round((performance.now() - started) / 1000);
    if (values.json)
      console.log(
        JSON.stringify({ from, to: next, runs, seconds, ...counts, features: Object.fromEntries(shares), failures }),
      );
    else console.log(JSON.stringify({ from, to: next, seconds, ...counts, failures: failures.length }));
    process.exitCode = failures.length === 0 ? 0 : 1;
  };

  const startWorker = (): void => {
    const child = fork(fileURLToPath(import.meta.url), {
      execArgv: ["--conditions=source", "--max-semi-space-size=64"],
    });
    running.add(child);
    let left = PROGRAMS_PER_PROCESS;
    let seed = 0;
    let clock: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(clock);
      child.removeAllListeners();
      child.kill("SIGKILL");
      if (!running.delete(child)) return;
      if (next < to) startWorker();
      else if (running.size === 0) finish();
    };
    const give = (): void => {
      if (next >= to || left-- === 0) return end();
      seed = next++;
      clock = setTimeout(
        () => {
          fail({ seed, handler: null, mistake: "does not end", message: "the program does not end" }, null);
          end();
        },
        (SECONDS_PER_PROGRAM + reduceSeconds) * 1000,
      );
      child.send({ seed, runs, reduceSeconds } satisfies Task);
    };
    child.on("message", ({ counts, features, failures, reduced }: Done) => {
      clearTimeout(clock);
      for (const key of Object.keys(counts) as (keyof FuzzCounts)[]) report.counts[key] += counts[key];
      for (const feature of features) report.features.set(feature, (report.features.get(feature) ?? 0) + 1);
      for (const [index, failure] of failures.entries()) fail(failure, index === 0 ? reduced : null);
      if (report.counts.programs % 100 === 0) progress();
      give();
    });
    child.on("exit", (code) => {
      fail({ seed, handler: null, mistake: "crash", message: `the process ended with ${code}` }, null);
      end();
    });
    give();
  };

  process.once("SIGINT", () => {
    next = Math.min(next, to);
    finish();
  });
  for (let job = 0; job < Number(values.jobs); job++) startWorker();
}
