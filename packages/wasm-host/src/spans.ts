/**
 * Walks over a range of keys: the stored rows, merged with what the run has written itself. A walk gives the rows that the
 * handler sees, and the span of stored rows that decided them: its *observed span*. That one is the unit which the run reads.
 */
import {
  compareBounds,
  compareKeys,
  contains,
  decodeCount,
  decodeDirectory,
  isBelow,
  isSpan,
  observedSpan,
  spanId,
  spanOf,
  splitUnit,
  type DirectoryRow,
  type Entry,
  type Key,
  type KeyInterval,
  type Query,
  type ScanQuery,
  type Span,
  type UnitId,
} from "@radical/protocol";

/** Stored rows in the order of a walk, from its start. */
export interface ScannedRows {
  readonly rows: readonly DirectoryRow[];
  /** There are no further rows to the end of the queried interval. */
  readonly reachesEnd: boolean;
  /**
   * How far the rows are all that there are: forward the first key beyond, reversed the last key within. Left out: up to and
   * including the last row.
   */
  readonly reach?: string;
}

/** The answer to a query of a captured snapshot. */
export type Scanned = ScannedRows | { readonly count: number };

/** A captured snapshot of items and spans. A snapshot without `scan` has no spans. Undefined: not captured. */
export interface Snapshot {
  (unit: UnitId): Entry | undefined;
  readonly scan?: ((query: Query) => Scanned | undefined) | undefined;
}

/** A row of a walk. */
export interface WalkedRow {
  readonly key: Key;
  readonly unit: UnitId;
  /** Empty unless the walk looked for values. */
  readonly value: Uint8Array;
}

/** The result of a walk. */
export type Walk =
  | { readonly kind: "walked"; readonly rows: readonly WalkedRow[]; readonly observed: Span }
  /** The snapshot lacks an answer to the query, or the value of one of its rows. */
  | { readonly kind: "missing"; readonly query: Query };

/** The writes of a run: null deletes. */
export type OwnWrites = Iterable<readonly [UnitId, Uint8Array | null]>;

const NO_BYTES = new Uint8Array();

/** The writes of a run to keys in an interval, in the order of keys. */
export function ownIn(interval: KeyInterval, writes: OwnWrites): (readonly [Key, Uint8Array | null])[] {
  const own: (readonly [Key, Uint8Array | null])[] = [];
  for (const [unit, value] of writes) {
    const { table, key } = splitUnit(unit);
    if (table === interval.table && contains(interval, key)) own.push([key, value]);
  }
  return own.toSorted(([a], [b]) => compareKeys(a, b));
}

/** Walks to the limit of the query or the end of its interval, which is not empty. `hasValues`: the values are looked for too. */
export function walk(query: ScanQuery, writes: OwnWrites, snapshot: Snapshot, hasValues: boolean): Walk {
  const ascending = ownIn(query, writes);
  const own = query.isReversed ? ascending.toReversed() : ascending;
  for (let wanted = query.limit; ;) {
    const asked: Query = { ...query, kind: "rows", limit: wanted };
    const stored = snapshot.scan?.(asked);
    if (stored === undefined || !("rows" in stored)) return { kind: "missing", query: asked };
    const merged = merge(query, own, stored);
    if (merged.lacking > 0) {
      wanted += merged.lacking;
      // All that the snapshot has is known already.
      if (stored.rows.length < asked.limit) return { kind: "missing", query: { ...asked, limit: wanted } };
      continue;
    }
    const rows: WalkedRow[] = [];
    for (const { key, row, value } of merged.rows) {
      const unit = `${query.table}/${key}` as UnitId;
      const found = row === null || !hasValues ? value : valueOf(row, snapshot(unit));
      if (found === undefined) return { kind: "missing", query: asked };
      rows.push({ key, unit, value: found });
    }
    return { kind: "walked", rows, observed: observedSpan(query, merged.seen, merged.reachedEnd) };
  }
}

/** The value of a row; undefined if the entry has another version of the item. */
function valueOf({ commitId, hash }: DirectoryRow, entry: Entry | undefined): Uint8Array | undefined {
  // The span's version speaks of the rows in its directory, so a value of another time would never be validated.
  if (entry === undefined || entry.version.commitId !== commitId || entry.version.hash !== hash) return undefined;
  return entry.value ?? undefined;
}

interface Merged {
  /** The rows that the handler sees: a stored row, or a value of its own. */
  readonly rows: readonly { readonly key: Key; readonly row: DirectoryRow | null; readonly value: Uint8Array }[];
  /** All keys that the walk came by, own deletes included. */
  readonly seen: readonly Key[];
  readonly reachedEnd: boolean;
  /** How many further stored rows the walk may need; 0: it came to its end or its limit. */
  readonly lacking: number;
}

function merge(
  { limit, isReversed }: ScanQuery,
  own: readonly (readonly [Key, Uint8Array | null])[],
  { rows: stored, reachesEnd, reach }: ScannedRows,
): Merged {
  const before = (a: Key, b: Key): boolean => (isReversed ? compareKeys(b, a) : compareKeys(a, b)) < 0;
  /** Whether it is known that no stored row beyond the last one comes before the key. */
  const isReached = (key: Key): boolean => {
    if (reachesEnd) return true;
    if (reach === undefined) return false;
    return isReversed ? compareBounds(reach, key) <= 0 : isBelow(key, reach);
  };
  const rows: { key: Key; row: DirectoryRow | null; value: Uint8Array }[] = [];
  const seen: Key[] = [];
  for (let i = 0, j = 0; rows.length < limit;) {
    const row = stored[i];
    const mine = own[j];
    if (row === undefined && mine === undefined) {
      const lacking = reachesEnd ? 0 : limit - rows.length;
      return { rows, seen, reachedEnd: lacking === 0, lacking };
    }
    if (mine !== undefined && (row === undefined || !before(row.key, mine[0]))) {
      const [key, value] = mine;
      if (row === undefined && !isReached(key)) return { rows, seen, reachedEnd: false, lacking: limit - rows.length };
      j++;
      // The walk has seen the stored row under an own key too.
      if (row?.key === key) i++;
      seen.push(key);
      if (value !== null) rows.push({ key, row: null, value });
    } else {
      i++;
      seen.push(row!.key);
      rows.push({ key: row!.key, row: row!, value: NO_BYTES });
    }
  }
  return { rows, seen, reachedEnd: false, lacking: 0 };
}

/** Whether the keys of one interval are all in the other. */
export function isWithin(inner: Span, outer: Span): boolean {
  if (inner.kind !== outer.kind || inner.table !== outer.table) return false;
  // A count is that of its own interval only.
  if (inner.kind === "count") return inner.lo === outer.lo && inner.hi === outer.hi;
  return compareBounds(outer.lo, inner.lo) <= 0 && isEndWithin(inner.hi, outer.hi);
}

function isEndWithin(inner: string, outer: string): boolean {
  return outer === "" || (inner !== "" && compareBounds(inner, outer) <= 0);
}

/** The spans among units. */
export function spansOf(units: Iterable<UnitId>): Span[] {
  const spans: Span[] = [];
  for (const unit of units) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span !== null) spans.push(span);
  }
  return spans;
}

/** The unit of a query's whole interval. */
export function unitOfQuery({ kind, table, lo, hi }: Query): UnitId {
  return spanId({ kind, table, lo, hi });
}

/** A snapshot of these entries: of items, and of spans with their directories or numbers as values. */
export function spanSnapshot(entries: Iterable<readonly [UnitId, Entry]>): Snapshot {
  const known = new Map(entries);
  const item = (unit: UnitId): Entry | undefined => known.get(unit);
  const directories: { readonly span: Span; readonly rows: readonly DirectoryRow[] }[] = [];
  for (const [unit, { value }] of known) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span?.kind === "rows" && value !== null) directories.push({ span, rows: decodeDirectory(value) });
  }
  return Object.assign(item, {
    scan(query: Query): Scanned | undefined {
      if (query.kind === "count") {
        const value = known.get(unitOfQuery(query))?.value;
        return value === undefined || value === null ? undefined : { count: decodeCount(value) };
      }
      let best: { readonly span: Span; readonly rows: readonly DirectoryRow[] } | undefined;
      for (const directory of directories) {
        const { span } = directory;
        if (isAtStart(query, span) && (best === undefined || isFarther(span, best.span, query))) best = directory;
      }
      return best === undefined ? undefined : answerOf(query, best.span, best.rows);
    },
  });
}

/** Whether a span has the place where a walk begins. */
function isAtStart({ table, lo, hi, isReversed }: ScanQuery, span: Span): boolean {
  return span.table === table && (isReversed ? isEndWithin(hi, span.hi) : compareBounds(span.lo, lo) <= 0);
}

/** Whether a walk comes farther in one span than in the other. */
function isFarther(a: Span, b: Span, { isReversed }: ScanQuery): boolean {
  return isReversed ? compareBounds(a.lo, b.lo) < 0 : !isEndWithin(a.hi, b.hi);
}

/** The part of an answer that the directory of a span has. */
function answerOf(query: ScanQuery, span: Span, rows: readonly DirectoryRow[]): ScannedRows {
  const { lo, hi, isReversed, limit } = query;
  const within = rows.filter(({ key }) => contains(query, key));
  const walked = (isReversed ? within.toReversed() : within).slice(0, limit);
  if (walked.length < within.length) return { rows: walked, reachesEnd: false };
  if (isReversed ? compareBounds(span.lo, lo) <= 0 : isEndWithin(hi, span.hi))
    return { rows: walked, reachesEnd: true };
  return { rows: walked, reachesEnd: false, reach: isReversed ? span.lo : span.hi };
}
