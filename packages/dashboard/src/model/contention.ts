/** Waits for items, from the lives of the last minutes. */
import type { ContentionReport, ExecutionId, UnitId, UnitWait } from "@radical/protocol";
import { type Call, unitsOf } from "./join.ts";
import { counted } from "./words.ts";

/** Units that are told apart. */
const MOST_UNITS = 256;

export interface Contended {
  readonly unit: UnitId;
  /** Calls that touched it. */
  readonly calls: number;
  readonly waits: number;
  readonly longestUs: number;
  /** Calls whose location had an old version, and calls that it sent to the primary since it had been old time after time. */
  readonly stale: number;
  readonly hot: number;
  /** The locations that hold a read lease of it. */
  readonly leasedTo: readonly string[];
  /** The last waits, as the primary tells. */
  readonly last: readonly UnitWait[];
  readonly handlers: readonly string[];
  /** Those of them that write it. */
  readonly writers: readonly string[];
}

export interface Waiter {
  readonly call: Call;
  /** When it came to the primary, from the first one, and how long it waited and held. */
  readonly startUs: number;
  readonly waitedUs: number;
  readonly heldUs: number;
  readonly behind: ExecutionId | null;
}

/** The ones that were waited for longest first; then those that kept a location's run from being the answer. */
export function contended(calls: readonly Call[], sinceMs: number): readonly Contended[] {
  const found = new Map<
    UnitId,
    {
      calls: number;
      waits: number;
      longestUs: number;
      stale: number;
      hot: number;
      handlers: Set<string>;
      writers: Set<string>;
    }
  >();
  for (const call of calls) {
    const { life, primary } = call;
    if (life.atMs < sinceMs) continue;
    const accessed = unitsOf(call);
    const units = new Set(accessed.map(([unit]) => unit));
    const written = new Set(accessed.flatMap(([unit, mode]) => (mode === "read" ? [] : [unit])));
    for (const [unit] of primary?.waited ?? []) units.add(unit);
    for (const unit of units) {
      let one = found.get(unit);
      if (one === undefined) {
        if (found.size >= MOST_UNITS) continue;
        found.set(
          unit,
          (one = { calls: 0, waits: 0, longestUs: 0, stale: 0, hot: 0, handlers: new Set(), writers: new Set() }),
        );
      }
      one.calls++;
      one.handlers.add(life.handler);
      if (written.has(unit)) one.writers.add(life.handler);
      if (primary?.because?.unit === unit && primary.because.had !== null) one.stale++;
      if (life.reason === "hot") one.hot++;
      for (const [waited, , tookUs] of primary?.waited ?? []) {
        if (waited !== unit) continue;
        one.waits++;
        one.longestUs = Math.max(one.longestUs, tookUs);
      }
    }
  }
  return Array.from(found, ([unit, one]) => ({
    unit,
    ...one,
    leasedTo: [],
    last: [],
    handlers: [...one.handlers],
    writers: [...one.writers],
  }))
    .filter(isContended)
    .toSorted((a, b) => b.waits - a.waits || b.stale - a.stale);
}

function isContended({ waits, stale, hot }: Pick<Contended, "waits" | "stale" | "hot">): boolean {
  return waits > 0 || stale > 0 || hot > 0;
}

/** The counts of the primary, which sees every call, with the handlers that the page has seen. */
export function withTally(seen: readonly Contended[], tally: ContentionReport | null): readonly Contended[] {
  if (tally === null) return seen;
  const known = new Map(seen.map((one) => [one.unit as string, one]));
  return tally.units.map(({ unit, calls, waits, longestMs, stale, leasedTo, last }): Contended => {
    const own = known.get(unit);
    const waiting = last.flatMap(({ handler }) => (handler === null ? [] : [handler]));
    return {
      unit: unit,
      calls: Math.max(calls, own?.calls ?? 0),
      waits,
      longestUs: longestMs * 1_000,
      stale,
      hot: own?.hot ?? 0,
      leasedTo,
      last,
      handlers: [...new Set([...(own?.handlers ?? []), ...waiting])],
      writers: own?.writers ?? [],
    };
  });
}

/** Calls that an old version of it has sent to the primary, in words. */
export function staleWords({ stale, hot }: Pick<Contended, "stale" | "hot">): string {
  const times = stale === 1 ? "once, so that call" : `${stale} times, so these calls`;
  const old = `A location had an old version ${times} ran at the primary.`;
  if (hot === 0) return old;
  const again = "at once, since the item had been old time after time.";
  return stale === 0
    ? `${counted(hot, "call")} went to the primary ${again}`
    : `${old} ${counted(hot, "more call")} went there ${again}`;
}

/** Calls that came to the primary so soon before or after one that waited are shown with it. */
const NEAR_MS = 1_000;

/**
 * The calls that wanted the unit at the primary about when one has waited last, by their arrival there. All times are of its one
 * clock.
 */
export function queueOf(calls: readonly Call[], unit: UnitId, most: number): readonly Waiter[] {
  const last = calls.find(({ primary }) => primary?.waited.some(([named]) => named === unit) === true)?.primary?.atMs;
  const wanted = calls
    .filter(({ primary }) => last === undefined || Math.abs((primary?.atMs ?? 0) - last) < NEAR_MS)
    .filter(({ life, primary }) => {
      const touches = [...life.units, ...(primary?.units ?? [])].some(([named]) => named === unit);
      return primary !== null && (touches || primary.waited.some(([named]) => named === unit));
    })
    .slice(0, most)
    .toReversed();
  const first = Math.min(...wanted.map(({ primary }) => primary?.atMs ?? Infinity));
  return wanted
    .map((call): Waiter => {
      const { primary } = call;
      const waits = primary?.waited.filter(([named]) => named === unit) ?? [];
      const waitedUs = waits.reduce((sum, [, , tookUs]) => sum + tookUs, 0);
      const endUs = Math.max(
        primary?.tookUs ?? 0,
        ...(primary?.spans.map(([, startUs, tookUs]) => startUs + tookUs) ?? []),
      );
      return {
        call,
        startUs: ((primary?.atMs ?? first) - first) * 1_000,
        waitedUs,
        heldUs: Math.max(0, endUs - waitedUs),
        behind: waits[0]?.[1] ?? null,
      };
    })
    .toSorted((a, b) => a.startUs - b.startUs);
}
