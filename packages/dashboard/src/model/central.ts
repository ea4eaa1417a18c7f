/**
 * The time of a call if it ran elsewhere. *Central*: everything runs beside the primary's storage. *Ideal*: everything runs at the
 * location, and nothing is asked, so that nothing is consistent. Both are reckoned from what was measured.
 */
import type { Life } from "@radical/protocol";
import type { Call } from "./join.ts";
import { spansOf, sumOf, waitOf } from "./spans.ts";

/** Differences below this are none. */
const SAME_US = 5_000;
/** Until a run at the primary shows how many units of fuel it uses in a millisecond. */
const FUEL_OF_MS = 20_000_000;
/** Of one execution at the primary, besides run and locks, until one was seen. */
const REST_US = 1_500;
/** Fewer runs at the primary say little: the first one may have been the only one. */
const ENOUGH_RUNS = 3;
const KEPT = 100;

export interface Reckoned {
  /** Round trip, run, and the rest at the primary. */
  readonly roundTripUs: number;
  readonly runUs: number;
  readonly restUs: number;
  readonly totalUs: number;
}

/** The distance of a place to the primary before a call has shown it, in microseconds; null: not known. */
export type Distances = (place: string) => number | null;

export class Central {
  readonly #distances: Distances;
  /** By place: of the last calls, what the way took. */
  readonly #ways = new Map<string, number[]>();
  /** By handler: runs at the primary. */
  readonly #runs = new Map<string, number[]>();
  readonly #fuels = new Map<string, number[]>();
  /** By handler: calls beside the primary. */
  readonly #central = new Map<string, number[]>();
  /** All that the primary did but runs and waits for others: by handler, and of those that have written, or not. */
  readonly #rests = new Map<string, number[]>();

  constructor(distances: Distances = () => null) {
    this.#distances = distances;
  }

  learn({ life, primary }: Call): void {
    if (life.fuel !== null) keep(this.#fuels, life.handler, life.fuel);
    if (primary === null) return;
    const [, , sentUs] = spansOf(life, "send").at(-1) ?? ["send", 0, null];
    if (sentUs !== null) keep(this.#ways, life.place, Math.max(0, sentUs - primary.tookUs));
    const runUs = sumOf(primary, "run");
    if (runUs === 0 || primary.code !== null || primary.reason === "stored") return;
    keep(this.#runs, life.handler, runUs);
    const restUs = Math.max(0, primary.tookUs - runUs - sumOf(primary, "lock") - sumOf(primary, "leases"));
    keep(this.#rests, life.handler, restUs);
    keep(this.#rests, restOf(primary.commit), restUs);
  }

  /** Null: the way of the place is not known yet. */
  of({ life, primary }: Call): Reckoned | null {
    const roundTripUs = this.roundTripOf(life.place);
    if (roundTripUs === null || life.code !== null) return null;
    const runUs = this.#runUs(life, primary);
    const rests = this.#rests.get(life.handler) ?? this.#rests.get(restOf(primary?.commit ?? life.commit)) ?? [];
    const restUs = median(rests) ?? REST_US;
    return { roundTripUs, runUs, restUs, totalUs: roundTripUs + runUs + restUs };
  }

  #runUs(life: Life, primary: Life | null): number {
    const { handler, fuel } = life;
    const own = primary === null ? 0 : sumOf(primary, "run");
    if (own > 0) return own;
    const seen = this.#runs.get(handler) ?? [];
    if (seen.length < ENOUGH_RUNS) {
      // A run is as long here as there. The first one there compiles.
      const here = fuel === null ? null : Math.max((fuel / FUEL_OF_MS) * 1_000, sumOf(life, "run"));
      return seen.length === 0 ? (here ?? 0) : Math.min(...seen, here ?? Infinity);
    }
    const usual = median(this.#fuels.get(handler) ?? []);
    const middle = median(seen) ?? 0;
    return fuel === null || usual === null || usual === 0 ? middle : (middle * fuel) / usual;
  }

  /** A call came from the location that runs everything near storage: that is central itself, but for its own way to the primary. */
  learnCentral({ life, primary }: Call): void {
    if (life.code !== null) return;
    const [, , sentUs] = spansOf(life, "send").at(-1) ?? ["send", 0, 0];
    const wayUs = primary === null ? 0 : Math.max(0, sentUs - primary.tookUs);
    keep(this.#central, life.handler, Math.max(0, life.tookUs - wayUs));
  }

  /** As calls of the same handler beside the primary have taken, and the way of the place; null: there were none. */
  measuredUs({ life }: Call): number | null {
    const roundTripUs = this.roundTripOf(life.place);
    const usual = median(this.#central.get(life.handler) ?? []);
    return roundTripUs === null || usual === null ? null : roundTripUs + usual;
  }

  /** The round trip to the primary, as the last calls of the place have shown it, else as the distance is known; null: nobody knows. */
  roundTripOf(place: string): number | null {
    const ways = this.#ways.get(place);
    return ways === undefined ? this.#distances(place) : Math.min(...ways);
  }
}

/** The name of all executions that have written, or of those that have not. No handler is called so. */
function restOf(commit: Life["commit"]): string {
  return commit === null ? "/read" : "/wrote";
}

/** Without the wait for the primary. A call that ran there only would have run here as long as it did there. */
export function idealUs({ life, primary }: Call): number | null {
  if (life.code !== null) return null;
  const wait = waitOf(life);
  if (wait === null) return life.tookUs;
  const hasRun = spansOf(life, "run").length > 0;
  return Math.max(0, life.tookUs - wait.tookUs) + (hasRun || primary === null ? 0 : sumOf(primary, "run"));
}

/** By how much the call was sooner than central; negative: later. Null: not known, or too little to tell. */
export function soonerUs(call: Call, central: Reckoned | null): number | null {
  if (central === null) return null;
  const sooner = central.totalUs - call.life.tookUs;
  return Math.abs(sooner) < SAME_US ? 0 : sooner;
}

export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

function keep(map: Map<string, number[]>, key: string, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else if (list.push(value) > KEPT) list.shift();
}
