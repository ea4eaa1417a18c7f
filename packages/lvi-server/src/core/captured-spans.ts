/** The spans of a run near storage: the queries that it asks, and the spans that it has observed in the captured ones. */
import {
  type CommitId,
  contains,
  countEntry,
  decodeDirectory,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  isBelow,
  isSpan,
  compareBounds,
  present,
  type Query,
  type Span,
  spanId,
  spanOf,
  type UnitId,
  unitId,
} from "@radical/protocol";
import type { Walked } from "./range-table.ts";

/** The queries of an execution, each once: a later one with more rows takes the place of one with fewer. */
export type Queries = Map<string, Query>;

export function addQuery(queries: Queries, query: Query): void {
  const { kind, table, lo, hi } = query;
  const name = `${spanId({ kind, table, lo, hi })}${query.kind === "rows" && query.isReversed ? "-" : "+"}`;
  const before = queries.get(name);
  if (before?.kind === "rows" && query.kind === "rows" && before.limit >= query.limit) return;
  queries.set(name, query);
}

/** A span that a query walks over, and the rows that it finds there; of a count no rows. */
export interface CapturedSpan extends Walked {
  readonly unit: UnitId;
}

/** The count that a unit stands for; null: it is another kind of unit. */
export function countIn(unit: UnitId): (Query & { readonly kind: "count" }) | null {
  const span = isSpan(unit) ? spanOf(unit) : null;
  return span?.kind === "count" ? { ...span, kind: "count" } : null;
}

/** The items of the rows. */
export function itemsOf({ table }: Span, rows: readonly DirectoryRow[]): readonly UnitId[] {
  return rows.map(({ key }) => unitId(table, key));
}

/** The items and no spans. */
export function itemsAmong(units: Iterable<UnitId>): readonly UnitId[] {
  return Array.from(units).filter((unit) => !isSpan(unit));
}

/**
 * The captured entries with those of all spans that the run has observed. A run may observe a part of a captured span, so that
 * part has a version of its own.
 */
export function withObserved(
  snapshot: ReadonlyMap<UnitId, Entry>,
  reads: readonly UnitId[],
): ReadonlyMap<UnitId, Entry> {
  let all: Map<UnitId, Entry> | null = null;
  for (const unit of reads)
    if (isSpan(unit) && !snapshot.has(unit)) (all ??= new Map(snapshot)).set(unit, observedEntry(snapshot, unit));
  return all ?? snapshot;
}

function observedEntry(snapshot: ReadonlyMap<UnitId, Entry>, unit: UnitId): Entry {
  const observed = present(spanOf(unit), "a unit with a colon in its table is a span");
  for (const [captured, { version, value }] of snapshot) {
    const span = isSpan(captured) ? spanOf(captured) : null;
    if (span?.kind !== "rows" || value === null || !isWithin(observed, span)) continue;
    const rows = decodeDirectory(value).filter(({ key }) => contains(observed, key));
    return entryOfSpan(observed, version.commitId, rows);
  }
  throw new Error(`Broken invariant: the run has observed ${unit}, which was not captured`);
}

function isWithin(inner: Span, outer: Span): boolean {
  if (inner.table !== outer.table || compareBounds(outer.lo, inner.lo) > 0) return false;
  return outer.hi === "" || (inner.hi !== "" && !isBelow(outer.hi, inner.hi));
}

/** The entry of a span that has these rows as of a commit id. */
function entryOfSpan({ kind }: Span, asOf: CommitId, rows: readonly DirectoryRow[]): Entry {
  return kind === "count" ? countEntry(asOf, rows.length) : directoryEntry(asOf, rows);
}
