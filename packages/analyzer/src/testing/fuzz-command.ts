/**
 * `pnpm fuzz`: random programs at length, in several processes. Failing programs are reduced, printed, and written to a
 * folder as they are found. Ctrl-C ends it with the totals so far.
 */
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine, type Command, type Option } from "@radical/command-line";
import {
  countFeatures,
  emptyReport,
  fuzzSeed,
  reduceFailure,
  type FeatureCounts,
  type FuzzCounts,
  type FuzzFailure,
} from "./fuzz.ts";
import { randomProgram } from "./random-program.ts";

const COMMAND = {
  name: "pnpm fuzz",
  words:
    "Make random handler programs, derive their read/write-set functions, and run both on random items: what a\nhandler touches must be what was said. Each program has three handlers; each of them runs on <runs> stores, up to\nthree times on each.",
  options: {
    from: { kind: "number", default: 0, least: 0, words: "the first seed; same seed, same program" },
    programs: { kind: "number", default: 500, least: 1, words: "how many programs" },
    runs: { kind: "number", default: 10, least: 1, words: "stores for each handler" },
    jobs: { kind: "number", default: 2, least: 1, words: "processes" },
    reduce: { kind: "number", default: 90, least: 0, words: "seconds for making a failing program small" },
    failures: { kind: "text", placeholder: "folder", words: "where failing programs are written (default: .fuzz)" },
    features: {
      kind: "flag",
      words: "count which features of the generator occur, and which an execution gets to (takes half as long again)",
    },
    json: { kind: "flag", words: "the totals as JSON on standard output, all else on standard error" },
  },
  exitCodes: ["nothing failed", "something failed", "wrong options"],
  examples: [
    ["pnpm fuzz --programs 5000 --jobs 2", "a long run: the seeds 0 to 4999"],
    ["pnpm fuzz --from 1234 --programs 1", "one seed again"],
    ["pnpm fuzz --programs 200 --features", "whether the generator gets everywhere"],
  ],
} as const satisfies Command<Readonly<Record<string, Option>>>;

interface Task {
  readonly seed: number;
  readonly runs: number;
  readonly reduceSeconds: number;
  readonly features: boolean;
}

type Message =
  | {
      readonly kind: "explored";
      readonly counts: FuzzCounts;
      readonly features: readonly (readonly [string, FeatureCounts])[];
      readonly failures: readonly FuzzFailure[];
    }
  /** The program of the first failure. */
  | { readonly kind: "reduced"; readonly failure: FuzzFailure; readonly program: string }
  | { readonly kind: "done" };

/** The compiler's memory outside of the garbage collector grows with every program. */
const PROGRAMS_PER_PROCESS = 250;
/** A program that takes longer does not end. */
const SECONDS_PER_PROGRAM = 120;
/** Between two lines about how far it is. */
const SECONDS_PER_PROGRESS = 30;

if (process.send === undefined) command();
else work();

function work(): void {
  // The parent answers Ctrl-C.
  process.on("SIGINT", () => undefined);
  const send = (message: Message): void => void process.send!(message);
  process.on("message", ({ seed, runs, reduceSeconds, features }: Task) => {
    const report = emptyReport();
    fuzzSeed(seed, runs, report);
    if (features) countFeatures(seed, runs, report);
    send({ kind: "explored", counts: report.counts, features: [...report.features], failures: report.failures });
    const [failure] = report.failures;
    const until = performance.now() + reduceSeconds * 1000;
    if (failure !== undefined && reduceSeconds > 0)
      send({ kind: "reduced", failure, program: reduceFailure(failure, runs, () => performance.now() < until) });
    send({ kind: "done" });
  });
}

function command(): void {
  const options = commandLine(COMMAND);
  const { from, runs } = options;
  const to = from + options.programs;
  const folder = options.failures ?? ".fuzz";
  const report = emptyReport();
  const running = new Set<ChildProcess>();
  const started = performance.now();
  let next = from;
  let saidAt = started;
  const say = (line: string): void => void (options.json ? process.stderr : process.stdout).write(`${line}\n`);
  const seconds = (): number => Math.round((performance.now() - started) / 1000);

  const progress = (): void => {
    saidAt = performance.now();
    const { programs, calls } = report.counts;
    const left =
      programs === 0 ? "" : `, about ${Math.round((seconds() / programs) * (options.programs - programs))} s left`;
    say(
      `${programs} of ${options.programs} programs, ${calls} executions, ${report.failures.length} failures, ${seconds()} s${left}`,
    );
  };
  const again = (seed: number): string => `pnpm fuzz --from ${seed} --programs 1 --runs ${runs}`;
  const write = ({ seed, handler, message }: FuzzFailure, program: string): string => {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `seed-${seed}.ts`);
    writeFileSync(path, `// seed ${seed}: ${handler ?? "the program"}: ${message}\n// ${again(seed)}\n${program}\n`);
    return path;
  };
  const fail = (failure: FuzzFailure): void => {
    report.failures.push(failure);
    const [program = ""] = Object.values(randomProgram(failure.seed).files);
    say(`seed ${failure.seed}: ${failure.handler ?? "the program"}: ${failure.message}`);
    say(`  again: ${again(failure.seed)}\n  in ${write(failure, program)}`);
  };
  const finish = (): void => {
    for (const child of running) {
      child.removeAllListeners();
      child.kill("SIGKILL");
    }
    running.clear();
    const { counts, features, failures } = report;
    const shares = [...features].toSorted(([, a], [, b]) => a.reached - b.reached || a.used - b.used);
    if (options.features) {
      const percent = (part: number, whole: number): string =>
        whole === 0 ? "-" : `${Math.round((1000 * part) / whole) / 10} %`;
      say("feature: in how many programs it is, in how many of those an execution gets there");
      for (const [feature, { used, reached }] of shares)
        say(
          `${feature.padEnd(28)} ${percent(used, counts.programs)}, ${reached} of ${used} (${percent(reached, used)})`,
        );
      say(
        `never reached: ${
          shares
            .filter(([, { reached }]) => reached === 0)
            .map(([name]) => name)
            .join(", ") || "none"
        }`,
      );
    }
    if (!options.json) {
      progress();
      say(
        `${counts.sliced} handlers sliced, ${counts.recorded} recorded, ${counts.given} given; ${counts.traps} executions trapped, ${counts.aborts} aborted, ${counts.unsaid} had no set though the handler went on`,
      );
    }
    const totals = { from, seconds: seconds(), ...counts };
    const text = options.json
      ? { ...totals, runs, features: Object.fromEntries(shares), failures }
      : { ...totals, failures: failures.length };
    console.log(JSON.stringify(text));
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
          fail({ seed, handler: null, mistake: "does not end", message: "the program does not end" });
          end();
        },
        (SECONDS_PER_PROGRAM + options.reduce) * 1000,
      );
      child.send({ seed, runs, reduceSeconds: options.reduce, features: options.features } satisfies Task);
    };
    child.on("message", (message: Message) => {
      switch (message.kind) {
        case "explored":
          for (const key of Object.keys(message.counts) as (keyof FuzzCounts)[])
            report.counts[key] += message.counts[key];
          for (const [feature, counts] of message.features) {
            const all = report.features.get(feature) ?? { used: 0, reached: 0 };
            for (const key of ["used", "reached"] as const) all[key] += counts[key];
            report.features.set(feature, all);
          }
          for (const failure of message.failures) fail(failure);
          if (performance.now() - saidAt > SECONDS_PER_PROGRESS * 1000) progress();
          return;
        case "reduced":
          say(`seed ${message.failure.seed}, reduced, in ${write(message.failure, message.program)}:`);
          say(message.program.replaceAll(/^/gm, "    "));
          return;
        case "done":
          clearTimeout(clock);
          give();
          return;
      }
    });
    child.on("exit", (code) => {
      fail({ seed, handler: null, mistake: "crash", message: `the process ended with ${code}` });
      end();
    });
    give();
  };

  process.once("SIGINT", () => {
    next = to;
    finish();
    // The clocks of programs that were under way.
    process.exit();
  });
  for (let job = 0; job < Math.min(options.jobs, options.programs); job++) startWorker();
}
