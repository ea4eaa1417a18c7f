/** What must come out, and whether it did: worked out from the results, never written by hand. */
import type { BenchmarkResult, WorkloadRun } from "../../packages/cli/src/bench/result.ts";
import { costOf } from "./cost-of-results.ts";
import { labelOf, type Results, rowOf } from "./results.ts";

export interface Verdict {
  readonly what: string;
  readonly wanted: string;
  /** The worst, with its unit. */
  readonly found: string;
  /** Of which application, handler, location. */
  readonly where: string;
  readonly met: boolean;
}

const POSSIBLE_SHARE = 0.97;
const VALIDATED = 0.99;
const WORSE_MS = 2;
const RW_MS = 0.1;
const RW_SHARE = 0.02;
const RW_SHARE_FROM_MS = 5;
const COST = 1;

interface Found {
  readonly value: number;
  readonly where: string;
}

/** One line for each application where that is asked for, else the worst of all. Empty without a run in the paper's profile. */
export function verdictsOf(results: Results): readonly Verdict[] {
  const paper = results["end-to-end-paper"];
  if (paper === undefined) return [];
  return [
    ...paper.runs.flatMap((run) => possibleShare(paper, run)),
    ...paper.runs.flatMap((run) => validated(paper, run)),
    ...worstDifference(results),
    ...readWriteTimes(paper),
    ...cost(results),
  ];
}

function possibleShare(result: BenchmarkResult, run: WorkloadRun): readonly Verdict[] {
  const row = rowOf(
    result.improvements.filter(({ of }) => of === "median"),
    run,
    null,
    null,
  );
  const share = row?.possibleShare ?? null;
  if (share === null) return [];
  return [
    {
      what: "share of the possible improvement, at the median",
      wanted: `≥ ${percent(POSSIBLE_SHARE, 0)}`,
      found: percent(share),
      where: labelOf(run, result),
      met: share >= POSSIBLE_SHARE,
    },
  ];
}

function validated(result: BenchmarkResult, run: WorkloadRun): readonly Verdict[] {
  const share = rowOf(result.validations, run, null, null)?.validShare ?? null;
  if (share === null) return [];
  return [
    {
      what: "validation succeeds",
      wanted: `≥ ${percent(VALIDATED, 0)}`,
      found: percent(share, 2),
      where: labelOf(run, result),
      met: share >= VALIDATED,
    },
  ];
}

/** Over all experiments with applications, in both profiles. */
function worstDifference(results: Results): readonly Verdict[] {
  return (["end-to-end-paper", "end-to-end-native"] as const).flatMap((name) => {
    const result = results[name];
    const worst = largest(
      (result?.differences ?? []).map((row) => ({
        value: row.p50Ms,
        where: `${row.application}, ${row.handler}, ${row.location}; the interval is ${row.p50LowMs.toFixed(1)} to ${row.p50HighMs.toFixed(1)}`,
      })),
    );
    if (worst === null) return [];
    return [
      {
        what: `slower than central, at any handler and location, ${name === "end-to-end-paper" ? "paper" : "native"} profile`,
        wanted: `≤ ${WORSE_MS} ms`,
        found: `${worst.value.toFixed(1)} ms`,
        where: worst.where,
        met: worst.value <= WORSE_MS,
      },
    ];
  });
}

function readWriteTimes({ executionTimes }: BenchmarkResult): readonly Verdict[] {
  const longest = largest(
    executionTimes.flatMap(({ rw, application, handler }) =>
      rw.p50Ms === null ? [] : [{ value: rw.p50Ms, where: `${application}, ${handler}` }],
    ),
  );
  const largestShare = largest(
    executionTimes.flatMap(({ rw, f, application, handler }) =>
      rw.p50Ms === null || f.p50Ms === null || f.p50Ms <= RW_SHARE_FROM_MS
        ? []
        : [{ value: rw.p50Ms / f.p50Ms, where: `${application}, ${handler}` }],
    ),
  );
  return [
    ...(longest === null
      ? []
      : [
          {
            what: "f^rw at the median",
            wanted: `≤ ${RW_MS} ms`,
            found: `${longest.value.toFixed(3)} ms`,
            where: longest.where,
            met: longest.value <= RW_MS,
          },
        ]),
    ...(largestShare === null
      ? []
      : [
          {
            what: `f^rw of f, where f takes over ${RW_SHARE_FROM_MS} ms`,
            wanted: `≤ ${percent(RW_SHARE, 0)}`,
            found: percent(largestShare.value, 2),
            where: largestShare.where,
            met: largestShare.value <= RW_SHARE,
          },
        ]),
  ];
}

function cost(results: Results): readonly Verdict[] {
  const worst = largest(
    costOf(results).flatMap(({ label, paperRate }) =>
      paperRate === null ? [] : [{ value: paperRate.radical / paperRate.lambda, where: label }],
    ),
  );
  if (worst === null) return [];
  return [
    {
      what: "infrastructure beside central on Lambda, at the paper's 50,000 reads a second",
      wanted: `≤ ${COST.toFixed(1)} × (the paper: 1.31 ×)`,
      found: `${worst.value.toFixed(2)} ×`,
      where: worst.where,
      met: worst.value <= COST,
    },
  ];
}

function largest(all: readonly Found[]): Found | null {
  return all.reduce<Found | null>((most, each) => (most === null || each.value > most.value ? each : most), null);
}

export function percent(share: number, digits = 1): string {
  return `${(share * 100).toFixed(digits)} %`;
}
