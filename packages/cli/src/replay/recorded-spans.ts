/**
 * The spans among the values of a recorded execution. The value of a span is its directory. A record keeps the keys alone:
 * the values of the rows are recorded too, and a run again is given those, under no commit.
 */
import {
  compareBounds,
  decodeDirectory,
  directoryEntry,
  type Entry,
  entryOf,
  isSpan,
  type Key,
  NO_COMMIT,
  type Span,
  spanOf,
  type UnitId,
} from "@radical/protocol";

export type Values = ReadonlyMap<UnitId, Uint8Array | null>;

/** The items of the rows of a span; none: it is not one of rows. Throws a MalformedError for a directory that is none. */
export function rowsOfValue(unit: UnitId, value: Uint8Array | null): readonly UnitId[] {
  const span = isSpan(unit) ? spanOf(unit) : null;
  if (span?.kind !== "rows" || value === null) return [];
  return decodeDirectory(value).map(({ key }) => `${span.table}/${key}` as UnitId);
}

/** The directory of rows with these keys, whose values are recorded; rows without a value are left out. */
export function directoryOf(table: string, keys: Iterable<string>, values: Values): Uint8Array | null {
  const rows = [...new Set(keys)].toSorted(compareBounds).flatMap((key) => {
    const value = values.get(`${table}/${key}` as UnitId) ?? null;
    const { commitId, hash } = entryOf(NO_COMMIT, value).version;
    return hash === null ? [] : [{ key: key as Key, commitId, hash }];
  });
  return directoryEntry(NO_COMMIT, rows).value;
}

/** The entries on which a handler runs again. */
export function* entriesOf(values: Values): Iterable<readonly [UnitId, Entry]> {
  for (const [unit, value] of values) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span === null) yield [unit, entryOf(NO_COMMIT, value)];
    else if (value !== null) {
      const keys = rowsOfValue(unit, value).map((item) => item.slice(span.table.length + 1));
      const bytes = span.kind === "rows" ? directoryOf(span.table, keys, values) : value;
      yield [unit, { version: { commitId: NO_COMMIT, hash: null }, value: bytes }];
    }
  }
}

/** The values that a run has read. Of a span it may have read less than what is known, which then is all kept, with its rows. */
export function valuesRead(reads: readonly UnitId[], values: Values): Values {
  const read = new Map<UnitId, Uint8Array | null>();
  for (const unit of reads) {
    if (!isSpan(unit)) read.set(unit, values.get(unit) ?? null);
    else
      for (const around of spansAround(unit, values)) {
        const [known, span] = around;
        const items = rowsOfValue(known, values.get(known) ?? null);
        for (const item of items) read.set(item, values.get(item) ?? null);
        const keys = items.map((item) => item.slice(span.table.length + 1));
        read.set(known, span.kind === "rows" ? directoryOf(span.table, keys, values) : (values.get(known) ?? null));
      }
  }
  return read;
}

function spansAround(unit: UnitId, values: Values): readonly (readonly [UnitId, Span])[] {
  const inner = spanOf(unit);
  return [...values.keys()].filter(isSpan).flatMap((known) => {
    const outer = spanOf(known);
    return inner !== null && outer !== null && isPartOf(inner, outer) ? [[known, outer] as const] : [];
  });
}

function isPartOf(inner: Span, outer: Span): boolean {
  if (inner.kind !== outer.kind || inner.table !== outer.table) return false;
  const endsWithin = outer.hi === "" || (inner.hi !== "" && compareBounds(inner.hi, outer.hi) <= 0);
  return compareBounds(outer.lo, inner.lo) <= 0 && endsWithin;
}
