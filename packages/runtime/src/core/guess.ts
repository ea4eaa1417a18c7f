/**
 * The guess for a unit that the cache lacks: an item is absent, and a span has no rows. No execution has the commit id, so nobody
 * takes the version for an own write. The primary validates it like any other.
 */
import {
  countEntry,
  directoryEntry,
  type Entry,
  entryOf,
  isSpan,
  NO_COMMIT,
  spanOf,
  type UnitId,
} from "@radical/protocol";

const ABSENT: Entry = entryOf(NO_COMMIT, null);
const NO_ROWS: Entry = directoryEntry(NO_COMMIT, []);
const NONE_COUNTED: Entry = countEntry(NO_COMMIT, 0);

export function guessOf(unit: UnitId): Entry {
  if (!isSpan(unit)) return ABSENT;
  return spanOf(unit)?.kind === "count" ? NONE_COUNTED : NO_ROWS;
}
