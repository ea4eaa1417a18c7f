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

/** A look at so many rows costs about as much as it may. */
const MOST_ROWS = 1_000;

/**
 * The leased spans by which the unit is known to have this version. Null: they leave something of it out, or the directories lack
 * their rows, or the version is another one.
 */
export function coverOf(
  unit: UnitId,
  version: Version,
  leases: SpanMap<Version>,
  known: KnownRows,
): readonly UnitId[] | null {
  const span = spanOf(unit);
  const interval = span ?? intervalOf(unit);
  const cover: UnitId[] = [];
  const rows: DirectoryRow[] = [];
  let reach = interval.lo;
  let looked = 0;
  for (const [leased, { hash }] of leases.meeting(interval)) {
    const part = spanOf(leased);
    if (part?.kind !== "rows" || !isBelow(reach, part.hi)) continue;
    // variant: cover-gap
    if (compareBounds(part.lo, reach) > 0) return null;
    const found = known.rowsOf(part)?.rows;
    // variant: cover-rows
    if (found === undefined || (looked += found.length) > MOST_ROWS || digestOf(found) !== hash) return null;
    for (const row of found) if (contains(interval, row.key) && compareBounds(row.key, reach) >= 0) rows.push(row);
    cover.push(leased);
    reach = part.hi;
    // variant: cover-version
    if (reach === "" || !isBelow(reach, interval.hi)) return hasVersion(unit, version, rows) ? cover : null;
  }
  return null;
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
