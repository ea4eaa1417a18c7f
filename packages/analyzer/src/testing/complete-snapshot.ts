/** For tests: snapshots of items in memory that lack nothing. It also runs in workerd. */
import {
  commitId,
  compareBounds,
  compareKeys,
  contains,
  entryOf,
  splitUnit,
  type DirectoryRow,
  type Entry,
  type Key,
  type Query,
  type UnitId,
} from "@radical/protocol";
import type { Scanned } from "@radical/wasm-host";

/** A snapshot that has all items and all spans. */
export interface Complete {
  (unit: UnitId): Entry;
  readonly scan: (query: Query) => Scanned;
}

/** The snapshot of encoded items by unit. */
export function snapshotOf(items: ReadonlyMap<string, Uint8Array>): Complete {
  const entry = (unit: string): Entry => entryOf(commitId(1, 1), items.get(unit) ?? null);
  return Object.assign(entry, {
    scan(query: Query): Scanned {
      const keys: Key[] = [];
      for (const unit of items.keys()) {
        const { table, key } = splitUnit(unit as UnitId);
        if (table === query.table && contains(query, key)) keys.push(key);
      }
      if (query.kind === "count") return { count: keys.length };
      const sorted = keys.toSorted((a, b) => (query.isReversed ? compareKeys(b, a) : compareKeys(a, b)));
      const rows = sorted.slice(0, query.limit).map((key): DirectoryRow => {
        const { commitId: id, hash } = entry(`${query.table}/${key}`).version;
        return { key, commitId: id, hash: hash! };
      });
      return { rows, reachesEnd: sorted.length < query.limit };
    },
  });
}

/** A complete snapshot of items that do not change. Its reads and scans cost as little as those of a location, which has rows in their order. */
export function preparedSnapshotOf(items: ReadonlyMap<string, Uint8Array>): Complete {
  const absent = entryOf(commitId(1, 1), null);
  const entries = new Map(Array.from(items, ([unit, value]) => [unit, entryOf(commitId(1, 1), value)]));
  const tables = new Map<string, DirectoryRow[]>();
  for (const [unit, { version }] of entries) {
    const { table, key } = splitUnit(unit as UnitId);
    const rows = tables.get(table) ?? [];
    rows.push({ key, commitId: version.commitId, hash: version.hash! });
    tables.set(table, rows);
  }
  for (const rows of tables.values()) rows.sort((a, b) => compareKeys(a.key, b.key));
  return Object.assign((unit: UnitId): Entry => entries.get(unit) ?? absent, {
    scan(query: Query): Scanned {
      const rows = tables.get(query.table) ?? [];
      const from = placeOf(rows, query.lo);
      const to = query.hi === "" ? rows.length : placeOf(rows, query.hi);
      if (query.kind === "count") return { count: Math.max(0, to - from) };
      const found = query.isReversed
        ? rows.slice(Math.max(from, to - query.limit), Math.max(from, to)).toReversed()
        : rows.slice(from, Math.min(to, from + query.limit));
      return { rows: found, reachesEnd: found.length < query.limit };
    },
  });
}

/** The number of rows before a bound. */
function placeOf(rows: readonly DirectoryRow[], bound: string): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBounds(rows[middle]!.key, bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
