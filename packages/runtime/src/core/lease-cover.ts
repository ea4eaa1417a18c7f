/**
 * A read lease of a span of rows covers all that lies within: each item, there or not, each span, and each number of rows. Nobody
 * writes an item of the span while it is leased, so none of these changes either. Leased spans that meet cover what they have
 * together. So a range that was never asked for is read by leases once its parts are leased.
 */
import {
  compareBounds,
  contains,
  countEntry,
  digestOf,
  type DirectoryRow,
  isBelow,
  type KeyInterval,
  keySuccessor,
  NO_COMMIT,
  sameVersion,
  type SpanMap,
  spanOf,
  splitUnit,
  type UnitId,
  type Version,
} from "@radical/protocol";
import type { KnownRows } from "./span-look.ts";

/** A look compares at most so many rows, however many units it is about: more would cost more than they save. */
const MOST_ROWS = 1_000;

/** The covers of one look. */
export class LeaseCover {
  readonly #leases: SpanMap<Version>;
  readonly #known: KnownRows;
  /** Of the leased spans that were compared: their rows, or null if memory has not those of the lease. */
  readonly #compared = new Map<UnitId, readonly DirectoryRow[] | null>();
  #rows = 0;

  constructor(leases: SpanMap<Version>, known: KnownRows) {
    this.#leases = leases;
    this.#known = known;
  }

  /**
   * The leased spans by which the unit is known to have this version. Null: they leave something of it out, or the directories
   * lack their rows, or the version is another one.
   */
  of(unit: UnitId, version: Version): readonly UnitId[] | null {
    const interval = spanOf(unit) ?? intervalOf(unit);
    const cover: UnitId[] = [];
    const rows: DirectoryRow[] = [];
    let reach = interval.lo;
    for (const [leased, { hash }] of this.#leases.meeting(interval)) {
      const part = spanOf(leased);
      if (part?.kind !== "rows" || !isBelow(reach, part.hi)) continue;
      // variant: cover-gap
      if (compareBounds(part.lo, reach) > 0) return null;
      const found = this.#rowsOf(leased, part, hash);
      if (found === null) return null;
      for (const row of found) if (contains(interval, row.key) && compareBounds(row.key, reach) >= 0) rows.push(row);
      cover.push(leased);
      reach = part.hi;
      // variant: cover-version
      if (reach === "" || !isBelow(reach, interval.hi)) return hasVersion(unit, version, rows) ? cover : null;
    }
    return null;
  }

  /** The rows of a leased span; null: memory has not those of the lease, or too many. */
  #rowsOf(leased: UnitId, span: KeyInterval, hash: Version["hash"]): readonly DirectoryRow[] | null {
    const compared = this.#compared.get(leased);
    if (compared !== undefined) return compared;
    const rows = this.#known.rowsOf(span)?.rows ?? null;
    this.#rows += rows?.length ?? 0;
    // variant: cover-rows
    const found = rows === null || this.#rows > MOST_ROWS || digestOf(rows) !== hash ? null : rows;
    this.#compared.set(leased, found);
    return found;
  }
}

/** Whether the unit has this version if these are the rows of its interval. */
function hasVersion(unit: UnitId, version: Version, rows: readonly DirectoryRow[]): boolean {
  const span = spanOf(unit);
  if (span === null) return sameVersion(unit, rows[0] ?? { commitId: NO_COMMIT, hash: null }, version);
  if (span.kind === "count") return countEntry(NO_COMMIT, rows.length).version.hash === version.hash;
  return digestOf(rows) === version.hash;
}

function intervalOf(item: UnitId): KeyInterval {
  const { table, key } = splitUnit(item);
  return { table, lo: key, hi: keySuccessor(key) };
}
