/** Reads and writes in six mixes, by the distances of the paper: the mean of all, with leases and without. */
import type { Benchmark } from "@radical/app";
import { type Answered, latencyOf, mean, median, quantile } from "@radical/bench";
import type { Random } from "@radical/history";
import { type Figure, figure } from "../bench-figure.ts";
import { type Application, type Effort, READ, type Side, SIDES, TABLE, withBoth, WRITE } from "./two-deployments.ts";

export interface Mix {
  readonly reads: number;
  /** Items of each read and each write. */
  readonly units: number;
  readonly items: number;
}

export const MIXES: readonly Mix[] = [
  { reads: 99, units: 1, items: 1_000 },
  { reads: 90, units: 1, items: 1_000 },
  { reads: 50, units: 1, items: 1_000 },
  { reads: 99, units: 20, items: 10_000 },
  { reads: 90, units: 5, items: 10_000 },
  { reads: 90, units: 20, items: 10_000 },
];

const EXECUTION_MS = 5;
/** The location that is the farthest away. */
const FAR = "JP";
const MOST_RATIO = 1.05;
const MOST_RATIO_OF_ONE = 0.4;
const MOST_RATIO_OF_FAR_READS = 0.2;
/** Items that a request of the warm-up reads. */
const AT_ONCE = 20;
/** Turns begin with requests that are not counted: leases were let go while the other deployment was asked. */
const WARM_UP_SECONDS = 3;

export function nameOf({ reads, units, items }: Mix): string {
  return `${reads} % reads, ${units} of ${items.toLocaleString("en")} items each`;
}

export async function measureMix(application: Application, mix: Mix, effort: Effort): Promise<readonly Figure[]> {
  const { rate, seconds, turns, signal, tell } = effort;
  const answered: Record<Side, Answered[]> = { leased: [], off: [] };
  await withBoth(application, benchmarkOf(mix), effort, async (both) => {
    for (let turn = 0; turn < turns && !signal.aborted; turn++) {
      for (const side of turn % 2 === 0 ? SIDES : SIDES.toReversed()) {
        tell(`${nameOf(mix)}: turn ${turn + 1} of ${turns}, ${side}`);
        const outcome = await both[side].run({
          name: `turn ${turn}`,
          loads: [{ system: "radical", arrivalsPerSecond: rate, requests: Math.ceil(rate * seconds) }],
          warmUpRequests: Math.ceil(rate * WARM_UP_SECONDS),
          leastMs: { [READ]: EXECUTION_MS, [WRITE]: EXECUTION_MS },
        });
        answered[side].push(...outcome.answered);
      }
    }
  });
  return SIDES.some((side) => answered[side].length === 0) ? [] : figuresOf(mix, answered);
}

function benchmarkOf({ reads, units, items }: Mix): Benchmark {
  const args = (draw: Random): { readonly keys: readonly string[] } => {
    const keys = new Set<number>();
    while (keys.size < units) keys.add(draw.zipf(items));
    return { keys: Array.from(keys, keyOf) };
  };
  return {
    prepare: (preparation) => {
      for (let item = 0; item < items; item++) preparation.put(TABLE, keyOf(item), { count: 0 });
    },
    *warmUp() {
      // The items that are read most come last.
      let writes = 0;
      for (let first = items - AT_ONCE; first >= 0; first -= AT_ONCE) {
        const keys = Array.from({ length: AT_ONCE }, (_, index) => keyOf(first + index));
        // The primary learns how often the table is written, before it leases what was not written yet.
        for (writes += (100 - reads) / reads; writes >= 1; writes--) yield { handler: WRITE, args: { keys } };
        yield { handler: READ, args: { keys } };
      }
    },
    requests: [
      { handler: READ, share: reads, args },
      { handler: WRITE, share: 100 - reads, args },
    ],
  };
}

function keyOf(item: number): string {
  return `key-${item}`;
}

function figuresOf(mix: Mix, answered: Readonly<Record<Side, readonly Answered[]>>): readonly Figure[] {
  const of = (side: Side, isWanted: (one: Answered) => boolean): readonly number[] =>
    answered[side].filter(isWanted).map(latencyOf);
  const isRead = ({ handler }: Answered): boolean => handler === READ;
  const isWrite = ({ handler }: Answered): boolean => handler === WRITE;
  const isLeased = ({ headers }: Answered): boolean => headers["x-radical-path"] === "leased";
  const isFar = ({ location }: Answered): boolean => location === FAR;
  const name = nameOf(mix);
  const ratio = mean(of("leased", () => true)) / mean(of("off", () => true));
  const isOne = mix.reads === 99 && mix.units === 1;
  const leased = of("leased", (one) => isRead(one) && isLeased(one));
  const farLeased = of("leased", (one) => isFar(one) && isLeased(one));
  const far = of("off", (one) => isFar(one) && isRead(one));
  return [
    figure(`${name}: mean of all, leased / off`, ratio, "×", {
      atMost: isOne ? MOST_RATIO_OF_ONE : MOST_RATIO,
    }),
    ...SIDES.flatMap((side) => [
      figure(`${name}: mean of all, ${side}`, mean(of(side, () => true)), "ms"),
      figure(`${name}: mean of reads, ${side}`, mean(of(side, isRead)), "ms"),
      figure(`${name}: mean of writes, ${side}`, mean(of(side, isWrite)), "ms"),
      figure(
        `${name}: p99 of writes, ${side}`,
        quantile(
          of(side, isWrite).toSorted((a, b) => a - b),
          0.99,
        ),
        "ms",
      ),
    ]),
    figure(`${name}: reads answered by leases`, (100 * leased.length) / of("leased", isRead).length, "%"),
    ...(farLeased.length === 0
      ? []
      : [
          figure(`${name}: p50 of leased reads at ${FAR}`, median(farLeased), "ms"),
          figure(`${name}: p50 of leased reads at ${FAR} / off`, median(farLeased) / median(far), "×", {
            atMost: MOST_RATIO_OF_FAR_READS,
          }),
        ]),
  ];
}
