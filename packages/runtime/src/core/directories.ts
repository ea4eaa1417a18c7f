/**
 * The directories that an isolate knows. Its memory keeps the rows of a table without values, in *stretches*. A stretch is an
 * interval of keys all of whose rows are known as of one commit id. A scan is answered from the stretches along its walk.
 *
 * A repair of a span replaces what is known of its interval. A put of an item patches the stretch around its key. So a stretch
 * may be ahead of the commit id that it names, and each row that is ahead has a greater commit id. Nothing here is trusted: a
 * directory that is stale, torn or wrongly patched has another digest than the primary's, and costs one validation.
 */
import {
  CborReader,
  CborWriter,
  type CommitId,
  compareBounds,
  compareCommits,
  contains,
  countEntry,
  decodeCount,
  decodeDirectory,
  digestOf,
  type DirectoryRow,
  encodeDirectory,
  type Entry,
  entryOf,
  isBelow,
  isBound,
  isCommitId,
  isEmptyInterval,
  isSpan,
  type Key,
  type KeyInterval,
  keySuccessor,
  MalformedError,
  NO_COMMIT,
  present,
  type Query,
  type ScanQuery,
  type Span,
  spanId,
  spanOf,
  splitUnit,
  type UnitId,
  type Version,
} from "@radical/protocol";
import type { CachePut } from "./effects.ts";

/** The rows along a walk, as far as they are known. */
export interface KnownWalk {
  /** In the order of the walk, at most as many as the query asks for. */
  readonly rows: readonly DirectoryRow[];
  /** There are no further rows up to the end of the interval. */
  readonly reachesEnd: boolean;
  /** If not all that was asked for is known: forward the first key beyond what is known, reversed the last one within. */
  readonly reach?: string;
  readonly asOf: CommitId;
}

/** The number of rows of an interval. */
export interface KnownCount {
  readonly count: number;
  readonly asOf: CommitId;
}

/** All rows in `[lo, hi)`, sorted by key. */
interface Stretch {
  readonly lo: string;
  readonly hi: string;
  readonly asOf: CommitId;
  readonly rows: DirectoryRow[];
}

interface HeldStretch extends Stretch {
  /** That has brought it. */
  readonly batch: number;
}

interface Counted extends KnownCount {
  readonly span: Span;
}

/** The cost of a row, and of a stretch, besides their texts of keys. */
const ROW_BYTES = 320;
const STRETCH_BYTES = 480;
/** Numbers of rows of this many spans are kept; the one used longest ago goes first. */
const MOST_COUNTS = 256;

export class Directories {
  readonly #maxBytes: number;
  /** By table: disjoint, sorted by their lower bounds. */
  readonly #tables = new Map<string, HeldStretch[]>();
  /** In order of use: the least recently used first. */
  readonly #used = new Map<HeldStretch, string>();
  readonly #counts = new Map<UnitId, Counted>();
  #bytes = 0;
  #batch = 0;
  /** The last batch that has brought rows. */
  #latest = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** At most the bound that it was made with, unless the rows that came last have more. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined: nothing is known at the start of the walk. */
  walk(query: ScanQuery): KnownWalk | undefined {
    return query.isReversed ? this.#backward(query) : this.#forward(query);
  }

  /** Undefined: the number is not known, and some rows are not. */
  count(interval: KeyInterval): KnownCount | undefined {
    const unit = spanId({ ...interval, kind: "count" });
    const counted = this.#counts.get(unit);
    if (counted !== undefined) {
      this.#counts.delete(unit);
      this.#counts.set(unit, counted);
      return counted;
    }
    const all = this.rowsOf(interval);
    return all === undefined ? undefined : { count: all.rows.length, asOf: all.asOf };
  }

  /** All rows of an interval; undefined: not all are known. */
  rowsOf(interval: KeyInterval): KnownWalk | undefined {
    const known = this.walk({ ...interval, limit: Infinity, isReversed: false });
    return known?.reachesEnd === true ? known : undefined;
  }

  /** Whether the rows around the key are known, or are counted. */
  covers(item: UnitId): boolean {
    const { table, key } = splitUnit(item);
    if (this.#around(table, key) !== undefined) return true;
    for (const { span } of this.#counts.values()) if (span.table === table && contains(span, key)) return true;
    return false;
  }

  /** Whether anything of the span is known. */
  knows(unit: UnitId): boolean {
    const span = spanOf(unit);
    if (span === null) return false;
    return span.kind === "count" ? this.#counts.has(unit) : this.#overlapping(span).length > 0;
  }

  /**
   * Takes the entries of spans, and of {@link scanUnit}s, which came together. Their rows stay until others come, whatever
   * the bound is. The run that has asked for them looks at them next, and a cache behind takes them from here.
   */
  learnAll(puts: readonly CachePut[]): void {
    this.#batch++;
    for (const { unit, entry, disproved } of puts) {
      if (isScanUnit(unit)) this.#learnStored(unit, entry);
      else this.#learnSpan(unit, entry, disproved);
    }
    this.#evict();
  }

  /** Takes one entry that came alone. */
  learn(unit: UnitId, entry: Entry, disproved?: Version): void {
    this.learnAll([disproved === undefined ? { unit, entry } : { unit, entry, disproved }]);
  }

  /**
   * Rows that are newer than the entry stay. A value of null says that nothing is known of the span. If the rows of the span
   * have the disproved digest, none of them stays.
   */
  #learnSpan(unit: UnitId, { version, value }: Entry, disproved?: Version): void {
    const span = spanOf(unit);
    if (span === null) return;
    if (disproved !== undefined && this.#versionOf(span) === disproved.hash) this.#forget(span, unit);
    if (value === null) return;
    try {
      if (span.kind === "count") this.#keepCount(unit, { span, count: decodeCount(value), asOf: version.commitId });
      else this.#learnRows(span, version.commitId, decodeDirectory(value));
    } catch (error) {
      // A garbled directory is none.
      if (!(error instanceof MalformedError)) throw error;
    }
  }

  /**
   * The item has this version now. Numbers of rows follow. An item of which nothing was known counts as new if it is there now,
   * else as gone.
   *
   * @param before the version that was known until now; undefined: none was
   */
  patch(item: UnitId, before: Version | undefined, version: Version): void {
    const { table, key } = splitUnit(item);
    const stretch = this.#around(table, key);
    if (stretch !== undefined) this.#patchRow(stretch, key, version);
    const isThere = version.hash !== null;
    const wasThere = before === undefined ? !isThere : before.hash !== null;
    if (isThere === wasThere) return;
    for (const [unit, counted] of this.#counts) {
      const { span, count, asOf } = counted;
      if (span.table !== table || !contains(span, key) || compareCommits(version.commitId, asOf) <= 0) continue;
      this.#counts.set(unit, { ...counted, count: Math.max(0, count + (isThere ? 1 : -1)) });
    }
  }

  #patchRow(stretch: Stretch, key: Key, { commitId, hash }: Version): void {
    const { rows, asOf } = stretch;
    const at = lowerBound(rows, key);
    const row = rows[at];
    if (row?.key === key) {
      const order = compareCommits(commitId, row.commitId);
      if (order < 0 || (order === 0 && hash === null)) return;
      if (hash !== null) {
        rows[at] = { key, commitId, hash };
        return;
      }
      rows.splice(at, 1);
      this.#bytes -= rowBytes(key);
      return;
    }
    // As of the commit id of the stretch there was no such row.
    if (hash === null || compareCommits(commitId, asOf) <= 0) return;
    rows.splice(at, 0, { key, commitId, hash });
    this.#bytes += rowBytes(key);
    this.#evict();
  }

  // ── In a cache that outlives the isolate ───────────────────────────────────────────────────────────────────────────

  /**
   * The knowledge of a query's interval, which is kept under its {@link scanUnit}. Null: nothing is known.
   *
   * @param most of rows that matter, from the start of the interval and from its end
   */
  stored({ kind, ...interval }: Span, most: { readonly first: number; readonly last: number }): Entry | null {
    const unit = spanId({ ...interval, kind });
    if (kind === "count") {
      const counted = this.#counts.get(unit);
      return counted === undefined ? null : entryOf(counted.asOf, encodeCounted(counted));
    }
    const pieces: Stretch[] = [];
    for (const { isReversed, limit } of [
      { isReversed: false, limit: most.first },
      { isReversed: true, limit: most.last },
    ]) {
      const known = limit === 0 ? undefined : this.walk({ ...interval, limit, isReversed });
      if (known === undefined) continue;
      const piece = pieceOf(interval, known, isReversed);
      if (!isEmptyInterval({ table: interval.table, ...piece })) pieces.push(piece);
      if (known.reachesEnd) break;
    }
    if (pieces.length === 0) return null;
    let newest = NO_COMMIT;
    for (const { asOf, rows } of pieces) {
      newest = later(newest, asOf);
      for (const { commitId } of rows) newest = later(newest, commitId);
    }
    return entryOf(newest, encodePieces(pieces));
  }

  /** Takes what {@link stored} gave. */
  #learnStored(unit: UnitId, { value }: Entry): void {
    const found = value === null ? null : decodeStored(unit, value);
    if (found === null) return;
    if ("count" in found) this.#keepCount(spanId(found.span), found);
    else for (const { lo, hi, asOf, rows } of found.pieces) this.#learnRows({ ...found.span, lo, hi }, asOf, rows);
  }

  // ── Walks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #forward({ table, lo, hi, limit }: ScanQuery): KnownWalk | undefined {
    const stretches = this.#tables.get(table) ?? [];
    const rows: DirectoryRow[] = [];
    let reach = lo;
    let asOf: CommitId | null = null;
    for (let i = lastFrom(stretches, lo); i < stretches.length; i++) {
      const stretch = entryAt(stretches, i);
      if (compareBounds(stretch.lo, reach) > 0 || !isBelow(reach, stretch.hi)) break;
      this.#use(stretch, table);
      asOf = asOf === null ? stretch.asOf : earlier(asOf, stretch.asOf);
      for (let at = lowerBound(stretch.rows, reach); at < stretch.rows.length; at++) {
        const row = entryAt(stretch.rows, at);
        if (!isBelow(row.key, hi)) break;
        rows.push(row);
        if (rows.length === limit) return { rows, reachesEnd: false, asOf };
      }
      if (compareEnds(stretch.hi, hi) >= 0) return { rows, reachesEnd: true, asOf };
      reach = stretch.hi;
    }
    return asOf === null ? undefined : { rows, reachesEnd: false, reach, asOf };
  }

  #backward({ table, lo, hi, limit }: ScanQuery): KnownWalk | undefined {
    const stretches = this.#tables.get(table) ?? [];
    const rows: DirectoryRow[] = [];
    let reach = hi;
    let asOf: CommitId | null = null;
    for (let i = hi === "" ? stretches.length - 1 : lastFrom(stretches, hi, false); i >= 0; i--) {
      const stretch = stretches[i];
      if (stretch === undefined) break;
      if (compareEnds(stretch.hi, reach) < 0 || !isBelow(stretch.lo, reach)) break;
      this.#use(stretch, table);
      asOf = asOf === null ? stretch.asOf : earlier(asOf, stretch.asOf);
      const end = reach === "" ? stretch.rows.length : lowerBound(stretch.rows, reach);
      for (let at = end - 1; at >= 0; at--) {
        const row = entryAt(stretch.rows, at);
        if (compareBounds(row.key, lo) < 0) break;
        rows.push(row);
        if (rows.length === limit) return { rows, reachesEnd: false, asOf };
      }
      if (compareBounds(stretch.lo, lo) <= 0) return { rows, reachesEnd: true, asOf };
      reach = stretch.lo;
    }
    return asOf === null ? undefined : { rows, reachesEnd: false, reach, asOf };
  }

  #around(table: string, key: Key): HeldStretch | undefined {
    const stretches = this.#tables.get(table) ?? [];
    const stretch = stretches[lastFrom(stretches, key)];
    return stretch !== undefined && contains({ table, ...stretch }, key) ? stretch : undefined;
  }

  #versionOf(span: Span): Version["hash"] | undefined {
    if (span.kind === "count") {
      const known = this.count(span);
      return known === undefined ? undefined : countEntry(known.asOf, known.count).version.hash;
    }
    const known = this.rowsOf(span);
    return known === undefined ? undefined : digestOf(known.rows);
  }

  // ── Changes ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #keepCount(unit: UnitId, counted: Counted): void {
    const held = this.#counts.get(unit);
    if (held !== undefined && compareCommits(held.asOf, counted.asOf) > 0) return;
    this.#counts.delete(unit);
    this.#counts.set(unit, counted);
    for (const first of this.#counts.keys()) {
      if (this.#counts.size <= MOST_COUNTS) break;
      this.#counts.delete(first);
    }
  }

  #forget(span: Span, unit: UnitId): void {
    if (span.kind === "count") this.#counts.delete(unit);
    // A number may have been taken from rows.
    this.#cut(span);
  }

  #learnRows(interval: KeyInterval, asOf: CommitId, rows: readonly DirectoryRow[]): void {
    if (isEmptyInterval(interval) || !rows.every(({ key }) => contains(interval, key))) return;
    const newer = this.#cut(interval).filter(({ commitId }) => compareCommits(commitId, asOf) > 0);
    const { table, lo, hi } = interval;
    const batch = (this.#latest = this.#batch);
    this.#insert(table, { lo, hi, asOf, rows: newer.length === 0 ? [...rows] : merged(rows, newer), batch });
  }

  /** Returns the rows that were known of the interval, sorted. */
  #cut({ table, lo, hi }: KeyInterval): readonly DirectoryRow[] {
    const removed: DirectoryRow[] = [];
    for (const stretch of this.#overlapping({ table, lo, hi })) {
      const { rows } = stretch;
      const start = lowerBound(rows, lo);
      const end = hi === "" ? rows.length : lowerBound(rows, hi);
      for (let at = start; at < end; at++) removed.push(entryAt(rows, at));
      this.#remove(table, stretch);
      if (compareBounds(stretch.lo, lo) < 0) this.#insert(table, { ...stretch, hi: lo, rows: rows.slice(0, start) });
      if (compareEnds(stretch.hi, hi) > 0) this.#insert(table, { ...stretch, lo: hi, rows: rows.slice(end) });
    }
    return removed;
  }

  #overlapping({ table, lo, hi }: KeyInterval): readonly HeldStretch[] {
    const stretches = this.#tables.get(table) ?? [];
    const overlapping: HeldStretch[] = [];
    for (let i = lastFrom(stretches, lo); i < stretches.length; i++) {
      const stretch = entryAt(stretches, i);
      if (!isBelow(stretch.lo, hi)) break;
      if (isBelow(lo, stretch.hi)) overlapping.push(stretch);
    }
    return overlapping;
  }

  #insert(table: string, stretch: HeldStretch): void {
    let stretches = this.#tables.get(table);
    if (stretches === undefined) this.#tables.set(table, (stretches = []));
    const before = stretches[lastFrom(stretches, stretch.lo)];
    const at = before === undefined || compareBounds(before.lo, stretch.lo) > 0 ? 0 : stretches.indexOf(before) + 1;
    stretches.splice(at, 0, stretch);
    this.#bytes += stretchBytes(stretch);
    this.#use(stretch, table);
  }

  #remove(table: string, stretch: HeldStretch): void {
    const stretches = this.#tables.get(table) ?? [];
    stretches.splice(stretches.indexOf(stretch), 1);
    if (stretches.length === 0) this.#tables.delete(table);
    this.#used.delete(stretch);
    this.#bytes -= stretchBytes(stretch);
  }

  #use(stretch: HeldStretch, table: string): void {
    this.#used.delete(stretch);
    this.#used.set(stretch, table);
  }

  #evict(): void {
    for (const [stretch, table] of this.#used) {
      if (this.#bytes <= this.#maxBytes) return;
      if (stretch.batch !== this.#latest) this.#remove(table, stretch);
    }
  }
}

// ── Stored stretches ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Units of scans begin with it, and no other units. */
export const SCAN_TABLE = "~scan/";

/** The unit under which caches keep the stretches of a query's interval, or its number. No item and no span has it. */
export function scanUnit({ kind, table, lo, hi }: Query | Span): UnitId {
  return `${SCAN_TABLE}${spanId({ kind, table, lo, hi })}` as UnitId;
}

/** The unit under which caches keep a unit that an execution reads. */
export function cachedAs(unit: UnitId): UnitId {
  const span = isSpan(unit) ? spanOf(unit) : null;
  return span === null ? unit : scanUnit(span);
}

/** The span of all that a scan may read; null: the unit is not that of a scan. */
export function spanOfScan(unit: UnitId): Span | null {
  return isScanUnit(unit) ? spanOf(unit.slice(SCAN_TABLE.length)) : null;
}

export function isScanUnit(unit: UnitId): boolean {
  return unit.startsWith(SCAN_TABLE);
}

/** The items of the rows that the stored entry names. */
export function itemsOfStored(unit: UnitId, { value }: Entry): readonly UnitId[] {
  const found = value === null ? null : decodeStored(unit, value);
  if (found === null || "count" in found) return [];
  return found.pieces.flatMap(({ rows }) => rows.map(({ key }) => `${found.span.table}/${key}` as UnitId));
}

type Stored = { readonly span: Span; readonly pieces: readonly Stretch[] } | Counted;

function encodePieces(pieces: readonly Stretch[]): Uint8Array {
  const writer = new CborWriter().array(pieces.length);
  for (const { lo, hi, asOf, rows } of pieces)
    writer.array(4).text(lo).text(hi).text(asOf).bytes(encodeDirectory(rows));
  return writer.finish();
}

function encodeCounted({ count, asOf }: KnownCount): Uint8Array {
  return new CborWriter().array(2).text(asOf).integer(count).finish();
}

/** Null: garbled. */
function decodeStored(unit: UnitId, value: Uint8Array): Stored | null {
  const span = spanOfScan(unit);
  if (span === null) return null;
  try {
    const reader = new CborReader(value);
    if (span.kind === "count") {
      if (reader.array() !== 2) return null;
      const asOf = readCommit(reader);
      return { span, count: reader.integerIn(0, Number.MAX_SAFE_INTEGER), asOf };
    }
    const pieces: Stretch[] = [];
    for (let left = reader.array(); left > 0; left--) {
      if (reader.array() !== 4) return null;
      const [lo, hi] = [reader.text(), reader.text()];
      const asOf = readCommit(reader);
      if (!isBound(lo, span.table) || !isBound(hi, span.table)) return null;
      pieces.push({ lo, hi, asOf, rows: [...decodeDirectory(reader.bytes())] });
    }
    return { span, pieces };
  } catch (error) {
    if (error instanceof MalformedError) return null;
    throw error;
  }
}

function readCommit(reader: CborReader): CommitId {
  const text = reader.text();
  if (!isCommitId(text)) throw new MalformedError("malformed commit id of a stretch");
  return text;
}

/** The stretch that a walk has seen. */
function pieceOf({ lo, hi }: KeyInterval, known: KnownWalk, isReversed: boolean): Stretch {
  const { reachesEnd, reach, asOf } = known;
  const rows = isReversed ? known.rows.toReversed() : [...known.rows];
  if (reachesEnd) return { lo, hi, asOf, rows };
  if (isReversed) return { lo: reach ?? rows[0]?.key ?? hi, hi, asOf, rows };
  const last = rows.at(-1);
  return { lo, hi: reach ?? (last === undefined ? lo : keySuccessor(last.key)), asOf, rows };
}

// ── Sorted lists ─────────────────────────────────────────────────────────────────────────────────────────────────────

function entryAt<T extends object>(list: readonly T[], at: number): T {
  return present(list[at], "the place is in the list");
}

/** The place of the first row whose key is not before the bound. */
function lowerBound(rows: readonly DirectoryRow[], bound: string): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBounds(entryAt(rows, middle).key, bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The place of the last stretch that begins before the bound, or at it; 0 if none does. */
function lastFrom(stretches: readonly Stretch[], bound: string, orAt = true): number {
  let [low, high] = [0, stretches.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareBounds(entryAt(stretches, middle).lo, bound);
    if (order < 0 || (orAt && order === 0)) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** The order of upper bounds: the empty one is behind all others. */
function compareEnds(a: string, b: string): number {
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  return compareBounds(a, b);
}

function earlier(a: CommitId, b: CommitId): CommitId {
  return compareCommits(a, b) <= 0 ? a : b;
}

function later(a: CommitId, b: CommitId): CommitId {
  return compareCommits(a, b) >= 0 ? a : b;
}

/** Sorted lists of rows in one, with the newer row of a key. */
function merged(rows: readonly DirectoryRow[], newer: readonly DirectoryRow[]): DirectoryRow[] {
  const all = new Map<Key, DirectoryRow>(rows.map((row) => [row.key, row]));
  for (const row of newer) {
    const known = all.get(row.key);
    if (known === undefined || compareCommits(row.commitId, known.commitId) > 0) all.set(row.key, row);
  }
  return [...all.values()].toSorted((a, b) => compareBounds(a.key, b.key));
}

function rowBytes(key: Key): number {
  return ROW_BYTES + 2 * key.length;
}

function stretchBytes({ lo, hi, rows }: Stretch): number {
  let bytes = STRETCH_BYTES + 2 * (lo.length + hi.length);
  for (const { key } of rows) bytes += rowBytes(key);
  return bytes;
}
