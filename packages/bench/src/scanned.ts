/** Ranges as the systems beside Radical read them: the span that was observed is a unit, with the directory of its rows as its value. */
import {
  encodeCount,
  encodeDirectory,
  entryOf,
  type Key,
  NO_COMMIT,
  observedSpan,
  present,
  type Query,
  spanId,
  unitId,
  type UnitId,
  type UnitMap,
} from "@radical/protocol";
import type { StoredValue } from "./store-messages.ts";

/** A row of a range. */
export interface ScannedRow extends StoredValue {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** Position of the last step that wrote a unit, or into a span. `versions`: of the items that were written. */
export function lastVersion(versions: UnitMap<number>, unit: UnitId): number {
  return Math.max(0, ...versions.overlapping(unit).map(([, version]) => version));
}

/** The whole range, as a unit. */
export function unitOfQuery({ kind, table, lo, hi }: Query): UnitId {
  return spanId({ kind, table, lo, hi });
}

/**
 * The span that a read of a range has observed, and its rows. `rows`: in the order of the walk, as many as the limit allows. `versionOf`: of the span
 * that was observed.
 */
export function valuesOfRows(
  query: Query & { readonly kind: "rows" },
  rows: readonly ScannedRow[],
  versionOf: (unit: UnitId) => number,
): readonly (readonly [UnitId, StoredValue])[] {
  const keys = rows.map(({ key }) => key);
  const span = spanId(observedSpan(query, keys, rows.length < query.limit));
  const directory = rows.map(({ key, value }) => {
    const { commitId, hash } = entryOf(NO_COMMIT, value).version;
    return { key, commitId, hash: present(hash, "a value has a hash") };
  });
  const value = encodeDirectory(query.isReversed ? directory.toReversed() : directory);
  return [
    [span, { version: versionOf(span), value }],
    ...rows.map((row) => [unitId(query.table, row.key), { version: row.version, value: row.value }] as const),
  ];
}

/** The span of a range that was counted, with the number of its rows. */
export function valueOfCount(
  query: Query,
  count: number,
  versionOf: (unit: UnitId) => number,
): readonly [UnitId, StoredValue] {
  const span = unitOfQuery(query);
  return [span, { version: versionOf(span), value: encodeCount(count) }];
}
