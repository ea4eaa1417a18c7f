/**
 * The policy of read leases: a function of the cost of reads and writes. A leased read saves the round trip of its location. A write
 * costs the round trip of the farthest holder, since it waits until all of them have heard. The nearer holders cost nothing more.
 */

export interface LeasePolicy {
  /** A unit is taken to be written as often as those units of its table that somebody reads, over so many reads. */
  readonly priorReads: number;
  /** Most reads and writes of a unit that count, and of a table; most reads of the leased units of a table. */
  readonly unitEvents: number;
  readonly tableEvents: number;
  readonly leaseEvents: number;
  /** After a look that found no gain, the unit is not looked at for so long. */
  readonly lookAgainMs: number;
  /** So many leases of a location are looked at again at once, and how often. */
  readonly reviewed: number;
  readonly reviewMs: number;
  /** A location that let a lease run out while somebody waited gets none for so long. The time doubles each time, up to the most. */
  readonly backoffMs: number;
  readonly mostBackoffMs: number;
  /** The same goes for the location of a session that takes longer to hear of a revocation, twice in a row. One message may be lost. */
  readonly slowMs: number;
}

export const DEFAULT_LEASE_POLICY: LeasePolicy = {
  priorReads: 4,
  unitEvents: 32,
  tableEvents: 256,
  leaseEvents: 2_048,
  lookAgainMs: 1_000,
  reviewed: 256,
  reviewMs: 1_000,
  backoffMs: 30_000,
  mostBackoffMs: 600_000,
  slowMs: 1_000,
};

/** A location that reads the unit. */
export interface UnitReader {
  readonly rttMs: number;
  /** How often, of late. */
  readonly reads: number;
}

/**
 * The distance within which locations are worth a lease: leases for all that are not farther save the most. 0: none are.
 * `writes`: how often the unit is written, in the time of the reads.
 */
export function leaseDistance(readers: readonly UnitReader[], writes: number): number {
  let [distance, most, saved] = [0, 0, 0];
  for (const { rttMs, reads } of readers.toSorted((a, b) => a.rttMs - b.rttMs)) {
    saved += reads * rttMs;
    const gain = saved - writes * rttMs;
    if (gain > most) [distance, most] = [rttMs, gain];
  }
  return distance;
}

/** The time in which a count halves. */
const HALF_LIFE_MS = 60_000;
/** A shorter time is as none: a power is dearer than all else of a count. */
const GRAIN_MS = 1_000;

/** A count of late events: it halves every minute. */
export class FadingCount {
  #value = 0;
  #atMs = -Infinity;

  add(events: number, nowMs: number): void {
    this.#value = this.at(nowMs) + events;
  }

  scale(by: number): void {
    this.#value *= by;
  }

  at(nowMs: number): number {
    const passedMs = nowMs - this.#atMs;
    if (passedMs >= GRAIN_MS) {
      this.#value *= 2 ** (-passedMs / HALF_LIFE_MS);
      this.#atMs = nowMs;
    }
    return this.#value;
  }
}

/**
 * Counts of which only the ratios matter keep at most so many events together. So a new habit soon outweighs an old one where much
 * happens. `together`: those that are counted; `others`: those that fade with them.
 */
export function keepMost(
  most: number,
  nowMs: number,
  together: readonly FadingCount[],
  others: () => readonly FadingCount[] = () => [],
): void {
  const all = together.reduce((sum, count) => sum + count.at(nowMs), 0);
  if (all > most) for (const count of [...together, ...others()]) count.scale(most / 2 / all);
}
