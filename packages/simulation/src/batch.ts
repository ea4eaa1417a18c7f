/** Many histories at once, in threads, each run twice; and what came of them together. */
import { Worker } from "node:worker_threads";
import type { FaultName } from "./faults.ts";
import { simulateIndexBuilds } from "./index-builds.ts";
import { simulateSchedules } from "./schedule-histories.ts";
import { simulateServices } from "./service-histories.ts";
import { fingerprintOf, simulate } from "./simulate.ts";
import { simulateTasks } from "./task-histories.ts";
import type { WeatherName } from "./weather.ts";
import { simulateWorkflows } from "./workflow-histories.ts";

/** The histories of the test suite; `pnpm sim` continues from there. */
export const CI_HISTORIES = 4_000;

/** The result of a history that is not one of {@link simulate}. All numbers in it are those of a second run too. */
interface OtherHistory {
  readonly problems: readonly string[];
  /** Answers, and their effects in storage or at a service. */
  readonly answered: number;
  readonly applied: number;
}

/** Histories with worlds of their own, each in the file that is named after it. */
const OTHERS = {
  indexes: (seed: number): OtherHistory => simulateIndexBuilds({ seed }),
  tasks: (seed: number): OtherHistory => simulateTasks({ seed }),
  services: (seed: number): OtherHistory => {
    const history = simulateServices({ seed });
    return { ...history, answered: history.calls - history.lost, applied: history.done };
  },
  schedules: (seed: number): OtherHistory => {
    const history = simulateSchedules({ seed });
    return { ...history, answered: history.ticks, applied: history.ticks };
  },
  workflows: (seed: number): OtherHistory => {
    const history = simulateWorkflows({ seed });
    return { ...history, answered: history.ended, applied: history.steps };
  },
} as const;
type OtherKind = keyof typeof OTHERS;
export const OTHER_KINDS: readonly OtherKind[] = ["indexes", "tasks", "services", "schedules", "workflows"];

/** One kind of weather, or other histories. */
export type HistoryKind = WeatherName | OtherKind;

export function isOther(kind: HistoryKind | null): kind is OtherKind {
  return kind !== null && kind in OTHERS;
}

/** Seeds `from`, `from + step`, … below `to`. */
export interface Seeds {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  /** Null: each has the weather of its seed. */
  readonly kind: HistoryKind | null;
  /** Each history runs once, and nobody compares fingerprints. */
  readonly once: boolean;
}

export interface Found {
  readonly seed: number;
  readonly problems: readonly string[];
}

/** The result of some histories. */
export interface Tally {
  readonly histories: number;
  readonly answered: number;
  readonly applied: number;
  readonly found: readonly Found[];
  readonly counts: ReadonlyMap<FaultName, number>;
  /** How often the server's core noted what. */
  readonly notes: ReadonlyMap<string, number>;
}

/** So often a thread says how far it is. */
const REPORTED = 100;

/** Runs histories in a thread of its own; a tally for every few of them, until one is wrong. */
export async function* tallies(seeds: Seeds): AsyncGenerator<Tally> {
  const worker = new Worker(new URL("batch-worker.ts", import.meta.url), {
    workerData: seeds,
    execArgv: ["--conditions=source"],
  });
  const waiting: Tally[] = [];
  let isOver = false;
  const errors: Error[] = [];
  let wake = (): void => {};
  worker.on("message", (tally: Tally) => {
    waiting.push(tally);
    wake();
  });
  worker.on("error", (reason: Error) => {
    errors.push(reason);
    wake();
  });
  worker.on("exit", () => {
    isOver = true;
    wake();
  });
  try {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (errors[0] !== undefined) throw errors[0];
      else if (isOver) return;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    await worker.terminate();
  }
}

/** All histories of a batch, in threads. */
export async function runBatch(first: number, histories: number, threads: number): Promise<Tally> {
  const parts = await Promise.all(
    Array.from({ length: threads }, async (_, thread) => {
      const seeds = { from: first + thread, to: first + histories, step: threads, kind: null, once: false };
      const all: Tally[] = [];
      for await (const tally of tallies(seeds)) all.push(tally);
      return all;
    }),
  );
  return together(parts.flat());
}

export function together(all: readonly Tally[]): Tally {
  const sum = (count: (tally: Tally) => number): number => all.reduce((total, tally) => total + count(tally), 0);
  return {
    histories: sum(({ histories }) => histories),
    answered: sum(({ answered }) => answered),
    applied: sum(({ applied }) => applied),
    found: all.flatMap(({ found }) => found),
    counts: sumOf(all.map(({ counts }) => counts)),
    notes: sumOf(all.map(({ notes }) => notes)),
  };
}

function sumOf<Name>(maps: readonly ReadonlyMap<Name, number>[]): ReadonlyMap<Name, number> {
  const sums = new Map<Name, number>();
  for (const map of maps) for (const [name, count] of map) sums.set(name, (sums.get(name) ?? 0) + count);
  return sums;
}

/** The histories of some seeds one after the other, in this thread; ends after one that is wrong. */
export function* run({ from, to, step, kind, once }: Seeds): Generator<Tally> {
  let some: Tally[] = [];
  for (let seed = from; seed < to; seed += step) {
    const tally = runOne(seed, kind, once);
    some.push(tally);
    if (some.length < REPORTED && tally.found.length === 0) continue;
    yield together(some);
    some = [];
    if (tally.found.length > 0) return;
  }
  yield together(some);
}

function runOne(seed: number, kind: HistoryKind | null, once: boolean): Tally {
  try {
    if (isOther(kind)) return ofOthers(OTHERS[kind], seed, once);
    const options = kind === null ? { seed } : { seed, weather: kind };
    const { problems, fingerprint, answered, applied, counts, notes } = simulate(options);
    const all = [...problems];
    if (!once && fingerprintOf(options) !== fingerprint) all.push(ANOTHER_WAY);
    return { histories: 1, answered, applied, found: foundIn(seed, all), counts: new Map(counts.entries()), notes };
  } catch (error) {
    // An invariant of the core, or of its driver.
    const problems = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    return { ...NOTHING_COUNTED, histories: 1, answered: 0, applied: 0, found: foundIn(seed, problems) };
  }
}

const ANOTHER_WAY = "the second run of the seed took another way";
const NOTHING_COUNTED = { counts: new Map<FaultName, number>(), notes: new Map<string, number>() };

function ofOthers(simulation: (seed: number) => OtherHistory, seed: number, once: boolean): Tally {
  const history = simulation(seed);
  const { problems, answered, applied } = history;
  const all = [...problems];
  if (!once && JSON.stringify(simulation(seed)) !== JSON.stringify(history)) all.push(ANOTHER_WAY);
  return { ...NOTHING_COUNTED, histories: 1, answered, applied, found: foundIn(seed, all) };
}

function foundIn(seed: number, problems: readonly string[]): readonly Found[] {
  return problems.length === 0 ? [] : [{ seed, problems }];
}
