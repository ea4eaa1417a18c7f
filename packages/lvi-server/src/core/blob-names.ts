/**
 * The entries by which the collector of blobs finds the items that name a hash. They go into the commit that stores the item, so
 * that no item names a hash without one. Pure.
 *
 * The locks of the execution cover them. Nobody but the collector removes an entry, and it reads the item under a lock before. An
 * execution that is given a Blob holds the lock on its item of `.blobs`, which the collector removes first.
 */
import {
  blobHashesIn,
  blobNameUnit,
  byUnit,
  CborWriter,
  isHiddenTable,
  tableOf,
  type UnitId,
  type Write,
} from "@radical/protocol";

const NAMED = new CborWriter().null().finish();

/** The writes with the entries of the hashes that they name. `isThere`: whether memory knows that an entry is stored. */
export function withBlobNames(writes: readonly Write[], isThere: (entry: UnitId) => boolean): readonly Write[] {
  const entries: Write[] = [];
  for (const { unit, value } of writes) {
    if (value === null) continue;
    const hashes = blobHashesIn(value);
    if (hashes.length === 0 || isHiddenTable(tableOf(unit))) continue;
    for (const hash of hashes) {
      const entry = blobNameUnit(hash, unit);
      if (!isThere(entry)) entries.push({ unit: entry, value: NAMED });
    }
  }
  return entries.length === 0 ? writes : [...writes, ...entries].toSorted(byUnit);
}
