/** For tests: snapshots of items in memory that lack nothing. It also runs in workerd. */
import {
  commitId,
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
