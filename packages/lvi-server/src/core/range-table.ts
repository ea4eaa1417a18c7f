/**
 * The range table: the rows of tables without values, as far as somebody has walked them. It answers for digests and numbers of
 * rows, and tells which rows a walk finds. Nothing of it is durable.
 *
 * The loaded part of a table is a list of intervals; the rest is *holes*. The version table's two dangers are those of this table
 * too (`version-table.ts`), and it excludes them by key. A load takes no row whose key is being applied, or was applied while
 * the load was under way. Such a key is a hole, or has the row that was applied.
 */
import {
  type CommitId,
  compareBounds,
  contains,
  type ContentHash,
  contentHash,
  countHash,
  type DirectoryRow,
  type Entry,
  hashText,
  isBelow,
  isEmptyInterval,
  type Key,
  type KeyInterval,
  keySuccessor,
  observedSpan,
  type ScanQuery,
  type Span,
  splitUnit,
  type UnitId,
  type Write,
} from "@radical/protocol";
import { RowTree } from "./row-tree.ts";
import type { StoredItem } from "./version-table.ts";

/** An item as a scan of storage returned it. */
export interface StoredRow extends StoredItem {
  readonly unit: UnitId;
}

/** A row that the table has taken from a scan, as an entry. */
export interface TakenRow {
  readonly unit: UnitId;
  readonly entry: Entry;
}

/** The part of an interval that memory lacks, and where a walk meets it first. */
export interface Hole extends KeyInterval {
  readonly isReversed: boolean;
}

/** The answer to a query: the span that it has observed, and the rows of that span in the order of their keys. */
export interface Walked {
  readonly span: Span;
  readonly rows: readonly DirectoryRow[];
}

/** A loaded part of a table. */
interface Loaded {
  readonly lo: string;
  readonly hi: string;
  /** Larger ones were used later. */
  usedAt: number;
}

interface Table {
  readonly rows: RowTree;
  /** In order, with holes between them. */
  loaded: Loaded[];
  /** Of a row as storage returned it. */
  rowBytes: number;
}

interface LoadUnderWay {
  readonly hole: Hole;
  /** Keys of which storage may return anything: as they are now, null if they are absent, undefined if nobody knows. */
  readonly changed: Map<Key, DirectoryRow | null | undefined>;
}

/** Most rows of one load: so many are taken in one turn of the loop. */
const MOST_ROWS = 1_000;
/** Bytes that one load is to have at most, as far as the rows of the table were of one size so far. */
const LOAD_BYTES = 4 * 1024 * 1024;
/** The guess before any row was seen. */
const FIRST_ROW_BYTES = 16 * 1024;
/** Parts that are kept may take so much memory, however small memory is. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** However small memory is, an execution may load so many rows. */
const LEAST_ROWS = 1_000;
/** Memory of a row and of a loaded part, besides keys. */
const ROW_BYTES = 80;
const LOADED_BYTES = 200;
/** Most rows that are forgotten in one step. */
const MOST_FORGOTTEN = 2_000;

export class RangeTable {
  readonly #maxBytes: number;
  readonly #tables = new Map<string, Table>();
  readonly #loads = new Map<number, LoadUnderWay>();
  /** Those who keep all parts that were used since a time. */
  readonly #keepers = new Map<object, number>();
  #bytes = 0;
  #clock = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The memory that it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Most rows that one execution may need at once: their keys may take as much memory as all else of them. */
  get mostRows(): number {
    return Math.max(LEAST_ROWS, Math.floor(this.#maxBytes / (2 * ROW_BYTES)));
  }

  /** How many rows it holds. */
  get size(): number {
    let size = 0;
    for (const { rows } of this.#tables.values()) size += rows.size;
    return size;
  }

  /** The digest of a span as its version has it; null: memory lacks a part of the span. */
  hashOf(span: Span): ContentHash | null {
    // variant: digest-holes
    if (this.holeIn(span, false) !== null) return null;
    const { count, high, low } = this.#sumOf(span);
    return span.kind === "count" ? countHash(count) : hashText(high, low);
  }

  /** How many rows are in an interval without holes. */
  countOf(interval: KeyInterval): number {
    return this.#sumOf(interval).count;
  }

  /** The rows of an interval without holes, in the order of their keys. */
  rowsOf(interval: KeyInterval): readonly DirectoryRow[] {
    const table = this.#tables.get(interval.table);
    if (table === undefined || isEmptyInterval(interval)) return [];
    return table.rows.slice(table.rows.from(interval.lo).count, table.rows.before(interval.hi).count);
  }

  /** The answer to a query of rows, or the hole that its walk meets. */
  walk(query: ScanQuery): Walked | Hole {
    const { limit, isReversed } = query;
    const hole = this.holeIn(query, isReversed);
    const { table, lo, hi } = query;
    const rows = this.#tables.get(table)?.rows;
    if (hole !== null && (isReversed ? hole.hi === hi : hole.lo === lo)) return hole;
    if (rows === undefined || isEmptyInterval(query)) return { span: observedSpan(query, [], true), rows: [] };
    // The part before the hole, as the walk comes.
    const from = rows.from(hole !== null && isReversed ? hole.hi : lo).count;
    const to = rows.before(hole !== null && !isReversed ? hole.lo : hi).count;
    if (hole !== null && to - from < limit) return hole;
    const found = isReversed
      ? rows.slice(Math.max(from, to - limit), to)
      : rows.slice(from, Math.min(to, from + limit));
    const keys = found.map(({ key }) => key);
    const span = observedSpan(query, isReversed ? keys.toReversed() : keys, found.length < limit);
    return { span, rows: found };
  }

  /** The first hole in an interval, from its start, or from its end if `isReversed`; null: there is none. */
  holeIn(interval: KeyInterval, isReversed: boolean): Hole | null {
    const { table, lo, hi } = interval;
    if (isEmptyInterval(interval)) return null;
    const loaded = this.#tables.get(table)?.loaded ?? [];
    const at = isReversed ? lastBelow(loaded, hi) : lastFrom(loaded, lo);
    const part = loaded[at];
    const isIn = part !== undefined && (isReversed ? reaches(part.hi, hi) : isBelow(lo, part.hi));
    if (isIn) part.usedAt = ++this.#clock;
    if (isReversed) {
      if (isIn && compareBounds(part.lo, lo) <= 0) return null;
      const end = isIn ? part.lo : hi;
      const before = loaded[isIn ? at - 1 : at];
      const start = before !== undefined && compareBounds(before.hi, lo) > 0 ? before.hi : lo;
      return { table, lo: start, hi: end, isReversed };
    }
    if (isIn && reaches(part.hi, hi)) return null;
    const start = isIn ? part.hi : lo;
    const after = loaded[at + 1];
    return { table, lo: start, hi: after !== undefined && isBelow(after.lo, hi) ? after.lo : hi, isReversed };
  }

  // ── Loads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** How many rows to load at once where so many are wanted. */
  rowsToLoad(table: string, wanted: number): number {
    const rowBytes = this.#tables.get(table)?.rowBytes ?? FIRST_ROW_BYTES;
    return Math.max(1, Math.min(wanted, MOST_ROWS, Math.floor(LOAD_BYTES / rowBytes)));
  }

  /** `unsettled`: the units that are being applied. */
  loadStarted(operation: number, hole: Hole, unsettled: Iterable<UnitId>): void {
    const changed = new Map<Key, undefined>();
    // variant: range-unsettled
    for (const unit of unsettled) if (hasItem(hole, unit)) changed.set(splitUnit(unit).key, undefined);
    this.#loads.set(operation, { hole, changed });
  }

  /** Takes the rows that a scan of the hole found, at most `limit`. They are in the order of the walk. Gives those that it took. */
  loadEnded(operation: number, rows: readonly StoredRow[], limit: number): readonly TakenRow[] {
    const load = this.#loads.get(operation);
    this.#loads.delete(operation);
    if (load === undefined) return [];
    const { hole, changed } = load;
    const { table, lo, hi, isReversed } = hole;
    const last = rows.length < limit ? undefined : rows.at(-1);
    const end = last === undefined ? null : splitUnit(last.unit).key;
    const found = end === null ? hole : isReversed ? { table, lo: end, hi } : { table, lo, hi: keySuccessor(end) };
    const kept = this.#table(table);
    const taken: TakenRow[] = [];
    let bytes = 0;
    for (const row of rows) {
      const { unit, commitId, value } = row;
      const { key } = splitUnit(unit);
      if (changed.has(key)) continue;
      const hash = contentHash(value);
      bytes += unit.length + value.length;
      this.#set(kept, { key, commitId, hash });
      taken.push({ unit, entry: { version: { commitId, hash }, value } });
    }
    if (taken.length > 0) kept.rowBytes = bytes / taken.length;
    this.#cover(kept, found.lo, found.hi);
    for (const [key, row] of changed) {
      if (!contains(found, key)) continue;
      if (row === undefined) this.#uncover(kept, key, keySuccessor(key));
      else if (row === null) this.#delete(kept, key);
      else this.#set(kept, row);
    }
    return taken;
  }

  loadFailed(operation: number): void {
    this.#loads.delete(operation);
  }

  // ── Applies ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The writes are on their way to storage: nobody can tell whether a load sees them. */
  applyStarted(writes: readonly Write[]): void {
    this.#changed(writes, () => undefined);
  }

  /** The writes are in storage. */
  applied(commitId: CommitId, writes: readonly Write[]): void {
    for (const write of writes) {
      const { unit, value } = write;
      const { table: name, key } = splitUnit(unit);
      if (!this.#knows(name)) continue;
      const row = value === null ? null : { key, commitId, hash: contentHash(value) };
      this.#changed([write], () => row);
      const table = this.#tables.get(name);
      if (table === undefined || !this.#joins(table, key)) continue;
      if (row === null) this.#delete(table, key);
      else this.#set(table, row);
    }
  }

  /** Whether a part of the table is loaded, or is being loaded. */
  #knows(table: string): boolean {
    if (this.#tables.has(table)) return true;
    for (const { hole } of this.#loads.values()) if (hole.table === table) return true;
    return false;
  }

  /** Loads under way have these rows instead of those that storage returns. Undefined: nobody knows the row. */
  #changed(writes: readonly Write[], row: () => DirectoryRow | null | undefined): void {
    for (const { hole, changed } of this.#loads.values()) {
      // variant: range-overtaken
      for (const { unit } of writes) if (hasItem(hole, unit)) changed.set(splitUnit(unit).key, row());
    }
  }

  /** Whether the key is in a loaded part of the table, or is now, since it is next to one. */
  #joins(table: Table, key: Key): boolean {
    const part = table.loaded[lastFrom(table.loaded, key)];
    const after = keySuccessor(key);
    if (part !== undefined && isBelow(key, part.hi)) return true;
    const isNext = part?.hi === key || table.loaded[lastFrom(table.loaded, after)]?.lo === after;
    if (isNext) this.#cover(table, key, after);
    return isNext;
  }

  // ── Memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** No part that is used from now on is forgotten before {@link release}: so one that loads several parts has them together. */
  keep(keeper: object): void {
    if (!this.#keepers.has(keeper)) this.#keepers.set(keeper, this.#clock);
  }

  release(keeper: object): void {
    this.#keepers.delete(keeper);
  }

  /** Forgets some of the part that nobody has used for the longest time, if it has no room for it. Called between steps. */
  evict(): void {
    if (this.#bytes <= this.#maxBytes) return;
    let least: readonly [Table, Loaded] | null = null;
    for (const table of this.#tables.values())
      for (const part of table.loaded) if (least === null || part.usedAt < least[1].usedAt) least = [table, part];
    if (least === null) return;
    const isFull = this.#bytes > 2 * this.#maxBytes + KEPT_BYTES;
    // The keeper that came first keeps the most.
    const [keptFrom = Number.POSITIVE_INFINITY] = this.#keepers.values();
    // variant: ranges-kept
    if (!isFull && least[1].usedAt > keptFrom) return;
    const [table, { lo, hi }] = least;
    const from = table.rows.from(lo).count;
    const rows = table.rows.slice(from, Math.min(from + MOST_FORGOTTEN + 1, table.rows.before(hi).count));
    const next = rows[MOST_FORGOTTEN];
    this.#uncover(table, lo, next?.key ?? hi);
  }

  #table(name: string): Table {
    let table = this.#tables.get(name);
    if (table === undefined)
      this.#tables.set(name, (table = { rows: new RowTree(), loaded: [], rowBytes: FIRST_ROW_BYTES }));
    return table;
  }

  #set({ rows }: Table, row: DirectoryRow): void {
    if (rows.set(row)) this.#bytes += ROW_BYTES + row.key.length;
  }

  #delete({ rows }: Table, key: Key): void {
    if (rows.delete(key)) this.#bytes -= ROW_BYTES + key.length;
  }

  #sumOf(interval: KeyInterval): { readonly count: number; readonly high: number; readonly low: number } {
    const rows = this.#tables.get(interval.table)?.rows;
    if (rows === undefined || isEmptyInterval(interval)) return { count: 0, high: 0, low: 0 };
    const [start, end] = [rows.from(interval.lo), rows.before(interval.hi)];
    const borrow = end.low >>> 0 < start.low >>> 0 ? 1 : 0;
    return {
      count: end.count - start.count,
      high: (end.high - start.high - borrow) | 0,
      low: (end.low - start.low) | 0,
    };
  }

  /** The interval is loaded, and joins those that it meets. */
  #cover(table: Table, lo: string, hi: string): void {
    const { loaded } = table;
    let first = lastFrom(loaded, lo);
    if (first < 0 || endsBefore(loaded[first]!, lo)) first++;
    const isNextOrIn = (part: Loaded): boolean => hi === "" || compareBounds(part.lo, hi) <= 0;
    const beyond = loaded.findIndex((part, at) => at >= first && !isNextOrIn(part));
    const met = loaded.slice(first, beyond < 0 ? loaded.length : beyond);
    const start = met.length > 0 && compareBounds(met[0]!.lo, lo) < 0 ? met[0]!.lo : lo;
    const last = met.at(-1)?.hi ?? hi;
    const whole: Loaded = { lo: start, hi: reaches(last, hi) ? last : hi, usedAt: ++this.#clock };
    loaded.splice(first, met.length, whole);
    this.#bytes += (1 - met.length) * LOADED_BYTES;
  }

  /** The interval is a hole, and its rows are forgotten. */
  #uncover(table: Table, lo: string, hi: string): void {
    const { rows } = table;
    for (const { key } of rows.slice(rows.from(lo).count, rows.before(hi).count)) this.#delete(table, key);
    const before = table.loaded.length;
    table.loaded = table.loaded.flatMap((part): Loaded[] => {
      if (!isBelow(part.lo, hi) || !isBelow(lo, part.hi)) return [part];
      const left = compareBounds(part.lo, lo) < 0 ? [{ ...part, hi: lo }] : [];
      const right = hi !== "" && isBelow(hi, part.hi) ? [{ ...part, lo: hi }] : [];
      return [...left, ...right];
    });
    this.#bytes += (table.loaded.length - before) * LOADED_BYTES;
  }
}

/** Whether an upper bound is not before another one. */
function reaches(hi: string, other: string): boolean {
  return compareUpper(hi, other) >= 0;
}

/** The order of upper bounds. */
function compareUpper(a: string, b: string): number {
  if (a === "" || b === "") return Number(a === "") - Number(b === "");
  return compareBounds(a, b);
}

/** Whether there is a hole between the part and a lower bound behind it. */
function endsBefore({ hi }: Loaded, lo: string): boolean {
  return hi !== "" && compareBounds(hi, lo) < 0;
}

/** The place of the last part that begins at the bound or before it; -1: there is none. */
function lastFrom(loaded: readonly Loaded[], bound: string): number {
  let low = 0;
  let high = loaded.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBounds(loaded[middle]!.lo, bound) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The place of the last part that begins before the upper bound; -1: there is none. */
function lastBelow(loaded: readonly Loaded[], hi: string): number {
  let low = 0;
  let high = loaded.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(loaded[middle]!.lo, hi)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function hasItem(interval: KeyInterval, unit: UnitId): boolean {
  const { table, key } = splitUnit(unit);
  return interval.table === table && contains(interval, key);
}
