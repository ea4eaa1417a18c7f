/**
 * For tests: random programs through the whole analyzer, compared by execution. `fuzz-command.ts` runs it at length.
 */
import { buildWith, type BuildInput, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "./library.ts";
import { explore, type Exploration } from "./oracle.ts";
import { KEY_TEXTS, TABLES } from "./random-prelude.ts";
import { MARKS, randomProgram, type RandomProgram } from "./random-program.ts";
import { deriveNothing } from "./record-mode.ts";
import { reduceSource } from "./reduce.ts";

export interface FuzzFailure {
  readonly seed: number;
  /** The handler concerned; null: the program as a whole. */
  readonly handler: string | null;
  /** The mistake in the same words each time: a code of a diagnostic, or an error with the unit left out. */
  readonly mistake: string;
  readonly message: string;
}

/** Counts of the results of programs, which add up. */
export interface FuzzCounts {
  programs: number;
  handlers: number;
  sliced: number;
  recorded: number;
  given: number;
  calls: number;
  traps: number;
  aborts: number;
  extraReads: number;
  extraWrites: number;
  /** Executions without a set, as f^rw made an access that f does not make and no store takes. */
  unsaid: number;
}

/** Of one feature of the generator: the programs that have it, and those in which an execution gets there. */
export interface FeatureCounts {
  used: number;
  reached: number;
}

export interface FuzzReport {
  readonly counts: FuzzCounts;
  readonly features: Map<string, FeatureCounts>;
  readonly failures: FuzzFailure[];
}

export function emptyReport(): FuzzReport {
  return {
    counts: {
      programs: 0,
      handlers: 0,
      sliced: 0,
      recorded: 0,
      given: 0,
      calls: 0,
      traps: 0,
      aborts: 0,
      extraReads: 0,
      extraWrites: 0,
      unsaid: 0,
    },
    features: new Map(),
    failures: [],
  };
}

/** The calls and items of one exploration of a random program. */
function exploration(seed: number, handlers: readonly string[], runs: number): Exploration {
  return {
    strings: KEY_TEXTS,
    integers: [0, 1, 2, 3, 4, 5],
    keys: Object.fromEntries(TABLES.map((table) => [table, KEY_TEXTS])),
    handlers,
    runs,
    callsPerRun: 3,
    seed,
  };
}

/** Builds and explores the program of a seed: `runs` random stores with up to three calls for each of its handlers. */
export function fuzzSeed(seed: number, runs: number, report: FuzzReport): void {
  const program = randomProgram(seed);
  report.counts.programs++;
  report.counts.handlers += program.handlers.size;
  report.failures.push(...explorations(program, seed, runs, report.counts));
}

/** Counts the features of the program of a seed, and those that executions like the ones above get to. */
export function countFeatures(seed: number, runs: number, { features }: Pick<FuzzReport, "features">): void {
  const { files, handlers, features: used, offered } = randomProgram(seed, { marked: true });
  const build = buildWith({ ...buildInput(files), optimize: false }, deriveNothing);
  const reached = new Set<string>();
  for (const name of handlers.keys())
    explore(build, {
      ...exploration(seed, [name], runs),
      onRead: (unit) => {
        if (unit.startsWith(`${MARKS}/`)) reached.add(unit.slice(MARKS.length + 1));
      },
    });
  for (const feature of new Set([...offered, ...used])) {
    const counts = features.get(feature) ?? { used: 0, reached: 0 };
    if (used.has(feature)) counts.used++;
    if (reached.has(feature)) counts.reached++;
    features.set(feature, counts);
  }
}

/** The program of a failure, reduced, as a handler file that can become a fixture. */
export function reduceFailure(failure: FuzzFailure, runs: number, goesOn: () => boolean): string {
  const program = randomProgram(failure.seed);
  const [path, text] = Object.entries(program.files)[0]!;
  return reduceSource(
    text,
    (candidate) =>
      explorations(
        { ...program, files: { [path]: candidate } },
        failure.seed,
        runs,
        emptyReport().counts,
        failure.handler,
      ).some(({ mistake }) => mistake === failure.mistake),
    goesOn,
  );
}

function explorations(
  { files, handlers }: Pick<RandomProgram, "files" | "handlers">,
  seed: number,
  runs: number,
  counts: FuzzCounts,
  only: string | null = null,
): FuzzFailure[] {
  const failures: FuzzFailure[] = [];
  const input: BuildInput = { ...buildInput(files), optimize: false };
  let build: BuildResult;
  try {
    build = buildWith(input, slicer);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ seed, handler: null, mistake: `the build threw: ${message}`, message }];
  }
  for (const { code, class: kind, severity, message, primary } of build.diagnostics) {
    if (code === "compiler_warning" || (severity !== "error" && kind !== "internal")) continue;
    const place = `${primary.file}:${primary.line}:${primary.column}`;
    failures.push({
      seed,
      handler: null,
      mistake: `${code}: ${message}`,
      message: `${kind} ${code} at ${place}: ${message}`,
    });
  }
  for (const { name, plan, transformations } of build.handlers) {
    if (only !== null && name !== only) continue;
    const wanted = handlers.get(name);
    // Of the prelude: tasks call it.
    if (wanted === undefined) continue;
    if (plan.kind === "recorded" && wanted !== "recorded") {
      const { code, message, primary } = plan.reason;
      const place = `${primary.file}:${primary.line}:${primary.column}`;
      failures.push({
        seed,
        handler: name,
        mistake: `${code}: ${message}`,
        message: `${code} at ${place}: ${message}`,
      });
      continue;
    }
    if (plan.kind === "near-storage" || plan.kind !== wanted) {
      failures.push({ seed, handler: name, mistake: `is ${plan.kind}`, message: `is ${plan.kind}, not ${wanted}` });
      continue;
    }
    counts[plan.kind]++;
    try {
      const found = explore(build, { ...exploration(seed, [name], runs), sources: input.sources });
      counts.calls += found.calls;
      counts.traps += found.traps;
      counts.aborts += found.aborts;
      counts.unsaid += found.unsaid;
      if (plan.kind !== "given" && transformations.length === 0 && found.extraReads + found.extraWrites > 0) {
        const message = `says ${found.extraReads} reads and ${found.extraWrites} writes too many, without a transformation`;
        failures.push({ seed, handler: name, mistake: "inexact", message });
      }
      counts.extraReads += found.extraReads;
      counts.extraWrites += found.extraWrites;
    } catch (error) {
      // fast-check keeps what the minimized calls came to as the cause.
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const words = cause instanceof Error ? cause.message : String(cause);
      const example = error instanceof Error ? (/Counterexample: (.*)/.exec(error.message)?.[1] ?? "") : "";
      failures.push({
        seed,
        handler: name,
        mistake: words.replace(/ of .*$/s, "").replace(/round \d+/, "round"),
        message: example === "" ? words : `${words}, as in ${example}`,
      });
    }
  }
  return failures;
}
