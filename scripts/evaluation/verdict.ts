/** The expected results, and whether they came out: worked out from the results, never written by hand. */
import type { BenchmarkResult, WorkloadRun } from "../../packages/bench/src/result.ts";
import { costOf } from "./cost-of-results.ts";
import { handlerRuns, labelOf, type Results, rowOf, workloadRuns } from "./results.ts";

export interface Verdict {
  readonly what: string;
  readonly wanted: string;
  /** The worst, with its unit. */
  readonly found: string;
  /** The application, handler and location. */
  readonly where: string;
  /** Null: not measured. */
  readonly met: boolean | null;
}

/** Shares of 1, and `cost` of central's. */
const WANTED = {
  possibleShare: 0.97,
  validated: 0.99,
  worseMs: 2,
  readWriteMs: 0.1,
  /** Of f, where f takes longer than `readWriteFromMs`. */
  readWriteShare: 0.02,
  readWriteFromMs: 5,
  cost: 1,
} as const;

interface Found {
  readonly value: number;
  readonly where: string;
}

/** One line for each application where that is asked for, else the worst of all. Empty without a run in the paper's profile. */
export function verdictsOf(results: Results): readonly Verdict[] {
  const paper = results["end-to-end-paper"];
  if (paper === undefined) return [];
  const { validation } = results;
  return [
    ...workloadRuns(paper).map((run) => possibleShare(paper, run)),
    ...workloadRuns(paper).map((run) => validated(paper, run, "validation succeeds, paper profile")),
    ...(validation?.runs ?? []).map((run) =>
      validated(validation!, run, "validation succeeds, native profile, with more requests"),
    ),
    ...(Object.keys(DIFFERENCES) as (keyof typeof DIFFERENCES)[]).flatMap((name) => worstDifference(results, name)),
    ...readWriteTimes(results),
    ...cost(results),
  ];
}

function possibleShare(result: BenchmarkResult, run: WorkloadRun): Verdict {
  const medians = result.improvements.filter(({ of }) => of === "median");
  const share = rowOf(medians, run, null, null)?.possibleShare ?? null;
  return {
    what: "share of the possible improvement, at the median",
    wanted: `≥ ${percent(WANTED.possibleShare, 0)}`,
    found: share === null ? "" : percent(share),
    where: labelOf(run, result),
    met: share === null ? null : share >= WANTED.possibleShare,
  };
}

function validated(result: BenchmarkResult, run: WorkloadRun, what: string): Verdict {
  const share = rowOf(result.validations, run, null, null)?.validShare ?? null;
  return {
    what,
    wanted: `≥ ${percent(WANTED.validated, 0)}`,
    found: share === null ? "" : percent(share, 2),
    where: labelOf(run, result),
    met: share === null ? null : share >= WANTED.validated,
  };
}

const DIFFERENCES = {
  "end-to-end-paper": "paper profile",
  "end-to-end-native": "native profile",
  "near-primary": "native profile, near the primary",
} as const;

function worstDifference(results: Results, name: keyof typeof DIFFERENCES): readonly Verdict[] {
  const result = results[name];
  if (result === undefined) return [];
  const runs = new Set(handlerRuns(result).map(({ run }) => run));
  const worst = largest(
    result.differences
      .filter(({ run }) => runs.has(run))
      .map((row) => ({
        value: row.p50Ms,
        where: `${row.application}, ${row.handler}, ${row.location}; the interval is ${row.p50LowMs.toFixed(1)} to ${row.p50HighMs.toFixed(1)}`,
      })),
  );
  return [
    {
      what: `slower than central, at any handler and location, ${DIFFERENCES[name]}`,
      wanted: `≤ ${WANTED.worseMs} ms`,
      found: worst === null ? "" : `${worst.value.toFixed(1)} ms`,
      where: worst?.where ?? "",
      met: worst === null ? null : worst.value <= WANTED.worseMs,
    },
  ];
}

/** Of all handlers, in both profiles. */
function readWriteTimes(results: Results): readonly Verdict[] {
  const rows = [results["end-to-end-paper"], results["end-to-end-native"]].flatMap(
    (result) => result?.executionTimes ?? [],
  );
  const longest = largest(
    rows.flatMap(({ rw, application, handler }) =>
      rw.p50Ms === null ? [] : [{ value: rw.p50Ms, where: `${application}, ${handler}` }],
    ),
  );
  const largestShare = largest(
    rows.flatMap(({ rw, f, application, handler }) =>
      rw.p50Ms === null || f.p50Ms === null || f.p50Ms <= WANTED.readWriteFromMs
        ? []
        : [{ value: rw.p50Ms / f.p50Ms, where: `${application}, ${handler}` }],
    ),
  );
  return [
    {
      what: "f^rw at the median",
      wanted: `≤ ${WANTED.readWriteMs} ms`,
      found: longest === null ? "" : `${longest.value.toFixed(3)} ms`,
      where: longest?.where ?? "",
      met: longest === null ? null : longest.value <= WANTED.readWriteMs,
    },
    {
      what: `f^rw of f, where f takes over ${WANTED.readWriteFromMs} ms`,
      wanted: `≤ ${percent(WANTED.readWriteShare, 0)}`,
      found: largestShare === null ? "" : percent(largestShare.value, 2),
      where: largestShare?.where ?? "",
      met: largestShare === null ? null : largestShare.value <= WANTED.readWriteShare,
    },
  ];
}

function cost(results: Results): readonly Verdict[] {
  const worst = largest(
    costOf(results).flatMap(({ label, paperRate }) =>
      paperRate === null ? [] : [{ value: paperRate.radical / paperRate.lambda, where: label }],
    ),
  );
  return [
    {
      what: "infrastructure beside central on Lambda, at the paper's 50,000 reads a second",
      wanted: `≤ ${WANTED.cost.toFixed(1)} × (the paper: 1.31 ×)`,
      found: worst === null ? "" : `${worst.value.toFixed(2)} ×`,
      where: worst?.where ?? "",
      met: worst === null ? null : worst.value <= WANTED.cost,
    },
  ];
}

function largest(all: readonly Found[]): Found | null {
  return all.reduce<Found | null>((most, each) => (most === null || each.value > most.value ? each : most), null);
}

export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`;
}
