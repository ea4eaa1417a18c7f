/**
 * The time of a call if it ran elsewhere. *Central*: everything runs beside the primary's storage. *Ideal*: everything runs at the
 * location, and nothing is asked, so that nothing is consistent. Both are reckoned from what was measured.
 */
import type { Life } from "@radical/protocol";
import type { Call } from "./join.ts";
import { spansOf, sumOf, waitOf } from "./spans.ts";

/** Differences below this are none. */
const SAME_US = 5_000;
/** Of one execution at the primary, besides run and locks, until enough were seen. */
const REST_US = 1_500;
/** Fewer runs at the primary say nothing of a handler. */
const ENOUGH_RUNS = 3;
/** Of fewer runs the shortest counts: a run that compiles in another thread takes many times as long. */
const MANY_RUNS = 10;
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

export interface CentralOptions {
  /** Whether the location runs everything near storage: its calls are central itself. */
  readonly isCentral: (place: string) => boolean;
  readonly distances: Distances;
}

export class Central {
  readonly #isCentral: CentralOptions["isCentral"];
  readonly #distances: Distances;
  /** By place: of the last calls, what the way took. */
  readonly #ways = new Map<string, number[]>();
  /** By handler: builds whose first run at the primary is over. That one compiles, and stands for no other. */
  readonly #begun = new Map<string, string[]>();
  /** By handler: runs at the primary. */
  readonly #runs = new Map<string, number[]>();
  readonly #fuels = new Map<string, number[]>();
  /** By handler: calls beside the primary. */
  readonly #central = new Map<string, number[]>();
  /** All that the primary did but runs and waits for others: by handler, and of those that have written, or not. */
  readonly #rests = new Map<string, number[]>();

  constructor({ isCentral, distances }: CentralOptions) {
    this.#isCentral = isCentral;
    this.#distances = distances;
  }

  learn({ life, primary }: Call): void {
    const { handler, place, fuel } = life;
    if (fuel !== null) keep(this.#fuels, handler, fuel);
    if (primary === null) return;
    const isCentral = this.#isCentral(place);
    const sentUs = spansOf(life, "send").at(-1)?.[2] ?? null;
    const wayUs = sentUs === null ? 0 : Math.max(0, sentUs - primary.tookUs);
    if (sentUs !== null && !isCentral) keep(this.#ways, place, wayUs);
    const runUs = sumOf(primary, "run");
    if (runUs === 0 || primary.code !== null || primary.reason === "stored") return;
    if (this.#begun.get(handler)?.includes(primary.module) !== true) {
      keep(this.#begun, handler, primary.module);
      return;
    }
    keep(this.#runs, handler, runUs);
    const restUs = Math.max(0, primary.tookUs - runUs - sumOf(primary, "lock") - sumOf(primary, "leases"));
    keep(this.#rests, handler, restUs);
    keep(this.#rests, restOf(primary.commit), restUs);
    if (isCentral && life.code === null) keep(this.#central, handler, Math.max(0, life.tookUs - wayUs));
  }

  /** Whether the call is one that central could have answered as well: not refused, not answered before, and not at central itself. */
  compares({ life, primary }: Call): boolean {
    return (
      life.code === null && life.reason !== "stored" && primary?.reason !== "stored" && !this.#isCentral(life.place)
    );
  }

  /** The time of the call if central had answered it: as it was measured there, else as it is reckoned. Null: nobody knows yet. */
  centralUs(call: Call): number | null {
    return this.measuredUs(call) ?? this.of(call)?.totalUs ?? null;
  }

  /** Null: the way of the place is not known yet, or how long the handler runs at the primary. */
  of(call: Call): Reckoned | null {
    if (!this.compares(call)) return null;
    const { life, primary } = call;
    const roundTripUs = this.roundTripOf(life.place);
    const runUs = this.#runUs(life, primary);
    if (roundTripUs === null || runUs === null) return null;
    const restUs = this.#restUs(life.handler) ?? this.#restUs(restOf(primary?.commit ?? life.commit)) ?? REST_US;
    return { roundTripUs, runUs, restUs, totalUs: roundTripUs + runUs + restUs };
  }

  #restUs(of: string): number | null {
    return usual(this.#rests.get(of));
  }

  #runUs({ handler, fuel }: Life, primary: Life | null): number | null {
    const own = primary === null ? 0 : sumOf(primary, "run");
    if (own > 0) return own;
    const runUs = usual(this.#runs.get(handler));
    const usualFuel = median(this.#fuels.get(handler) ?? []);
    if (runUs === null || fuel === null || usualFuel === null || usualFuel === 0) return runUs;
    return (runUs * fuel) / usualFuel;
  }

  /** The way of the place, and what calls of the handler at central usually take without their own way. Null: there were too few. */
  measuredUs(call: Call): number | null {
    if (!this.compares(call)) return null;
    const roundTripUs = this.roundTripOf(call.life.place);
    const tookUs = usual(this.#central.get(call.life.handler));
    return roundTripUs === null || tookUs === null ? null : roundTripUs + tookUs;
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
export function soonerUs(call: Call, centralUs: number | null): number | null {
  if (centralUs === null) return null;
  const sooner = centralUs - call.life.tookUs;
  return Math.abs(sooner) < SAME_US ? 0 : sooner;
}

export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

/** Null: too few to tell. */
function usual(values: readonly number[] = []): number | null {
  if (values.length < ENOUGH_RUNS) return null;
  return values.length < MANY_RUNS ? Math.min(...values) : median(values);
}

function keep<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else if (list.push(value) > KEPT) list.shift();
}
