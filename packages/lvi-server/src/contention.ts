/**
 * The units that executions contend for: how often somebody waited for one, behind whom, and how often a location had an old
 * version. Memory is bounded: the tally keeps the units that were met most (Space-Saving), over the last two windows of time.
 */
import {
  CONTENTION_WINDOW_MS,
  type ContendedUnit,
  type LviRequest,
  MAX_CONTENDED_UNITS,
  MAX_LAST_WAITS,
  type UnitId,
  type UnitWait,
} from "@radical/protocol";
import type { Note } from "./core/events.ts";
import type { Now } from "./core/lvi-core.ts";

type Counts = Pick<ContendedUnit, "calls" | "waits" | "waitedMs" | "longestMs" | "stale">;

interface Tallied {
  /** By the window in which they were counted: the present one, and the one before. */
  now: Counts;
  before: Counts;
  /** How much it was met for, with the weight that it may have taken over from the unit that it put out. */
  weight: number;
  readonly last: UnitWait[];
}

const NONE: Counts = { calls: 0, waits: 0, waitedMs: 0, longestMs: 0, stale: 0 };

export class ContentionTally {
  readonly #now: () => Now;
  readonly #units = new Map<UnitId, Tallied>();
  #windowSinceMs: number;
  /** A unit was put out by another one, so that counts of units are missing. */
  #hasLeftOut = false;

  constructor(now: () => Now) {
    this.#now = now;
    this.#windowSinceMs = now().monotonicMs;
  }

  /** A request has come. It counts for the units that are tallied: most requests meet none. */
  requested({ units }: LviRequest): void {
    if (this.#units.size === 0 || units === null) return;
    for (const { unit } of units) {
      const tallied = this.#units.get(unit);
      if (tallied !== undefined) tallied.now = { ...tallied.now, calls: tallied.now.calls + 1 };
    }
  }

  noted({ name, executionId, units, old, behind, waitedMs = 0, handler, location }: Note): void {
    if (name === "stale") {
      for (const unit of old ?? []) this.#count(unit, { stale: 1 });
      return;
    }
    const [unit] = units ?? [];
    if (name !== "waited" || unit === undefined || executionId === undefined) return;
    const { last } = this.#count(unit, { waits: 1, waitedMs, longestMs: waitedMs });
    last.push({
      execution: executionId,
      behind: behind ?? null,
      handler: handler ?? null,
      location: location ?? null,
      waitedMs,
      endedAtMs: this.#now().wallMs,
    });
    if (last.length > MAX_LAST_WAITS) last.shift();
  }

  /** Those that waited longest together first. */
  get units(): readonly Omit<ContendedUnit, "leasedTo">[] {
    this.#turn();
    return Array.from(this.#units, ([unit, { now, before, last }]) => ({ unit, ...sumOf(now, before), last })).toSorted(
      (a, b) => b.waitedMs - a.waitedMs || b.waits - a.waits || b.stale - a.stale,
    );
  }

  get hasLeftOut(): boolean {
    return this.#hasLeftOut;
  }

  #count(unit: UnitId, more: Partial<Counts>): Tallied {
    this.#turn();
    const tallied = this.#units.get(unit) ?? this.#admit(unit);
    tallied.now = sumOf(tallied.now, { ...NONE, ...more });
    tallied.weight++;
    return tallied;
  }

  /** In place of the one that was met least, once there are too many. */
  #admit(unit: UnitId): Tallied {
    let weight = 0;
    if (this.#units.size >= MAX_CONTENDED_UNITS) {
      let least: UnitId | null = null;
      weight = Infinity;
      for (const [other, tallied] of this.#units)
        if (tallied.weight < weight) [least, weight] = [other, tallied.weight];
      if (least !== null) this.#units.delete(least);
      this.#hasLeftOut = true;
    }
    const tallied: Tallied = { now: NONE, before: NONE, weight, last: [] };
    this.#units.set(unit, tallied);
    return tallied;
  }

  /** Begins the next window, if this one is over. */
  #turn(): void {
    const { monotonicMs } = this.#now();
    const windows = Math.floor((monotonicMs - this.#windowSinceMs) / CONTENTION_WINDOW_MS);
    if (windows < 1) return;
    this.#windowSinceMs += windows * CONTENTION_WINDOW_MS;
    for (const [unit, tallied] of this.#units) {
      tallied.before = windows === 1 ? tallied.now : NONE;
      tallied.now = NONE;
      tallied.weight = tallied.before.waits + tallied.before.stale;
      if (tallied.weight === 0) this.#units.delete(unit);
    }
    this.#hasLeftOut &&= windows === 1 && this.#units.size > 0;
  }
}

function sumOf(a: Counts, b: Counts): Counts {
  return {
    calls: a.calls + b.calls,
    waits: a.waits + b.waits,
    waitedMs: a.waitedMs + b.waitedMs,
    longestMs: Math.max(a.longestMs, b.longestMs),
    stale: a.stale + b.stale,
  };
}
