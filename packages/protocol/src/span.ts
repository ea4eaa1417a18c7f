/**
 * Spans: units that name the rows of a table in an interval of keys (`docs/internals/protocol.md`, "Spans"). Nobody writes a
 * span. Its version is computed from its rows, and never stored: a *digest*. Intervals follow the order of {@link compareKeys}.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { contentHashWords, type ContentHash, hashText } from "./content-hash.ts";
import {
  type CommitId,
  commitId,
  commitParts,
  compareKeys,
  isItemId,
  isKey,
  isStoredTable,
  type Key,
  maxKeyBytes,
  type UnitId,
  utf8Length,
} from "./ids.ts";
import { MAX_ENTRY_KEY_BYTES } from "./index-entry.ts";
import { MalformedError } from "./malformed-error.ts";
import { encodeUtf8 } from "./text.ts";

/** `rows`: the rows with their values. `count`: how many rows there are. */
export type SpanKind = "rows" | "count";

/** The keys from `lo` up to `hi`, without `hi`. An empty `lo` is before the first key, an empty `hi` is after the last one. */
export interface KeyInterval {
  readonly table: string;
  readonly lo: string;
  readonly hi: string;
}

export interface Span extends KeyInterval {
  readonly kind: SpanKind;
}

/** Asks for the first `limit` rows of an interval, from its start, or from its end if `isReversed`. `limit` is at least 1. */
export interface ScanQuery extends KeyInterval {
  readonly limit: number;
  readonly isReversed: boolean;
}

/** A read of an interval. A run may lack the rows that answer it. */
export type Query = ({ readonly kind: "rows" } & ScanQuery) | ({ readonly kind: "count" } & KeyInterval);

/** A row without its value: the version is that of the item. */
export interface DirectoryRow {
  readonly key: Key;
  readonly commitId: CommitId;
  readonly hash: ContentHash;
}

const KIND_LETTERS = { rows: "v", count: "n" } as const;
const SPAN = /^(?<table>[^:/]*):(?<kind>[vn])(?<length>0|[1-9][0-9]{0,3})\//;

/** Of every bound that {@link spanId} takes. */
export function isBound(text: string, table: string): boolean {
  return text.isWellFormed() && utf8Length(text) <= maxBoundBytes(table);
}

/** A bound may be the successor of a key, which is one byte longer. */
function maxBoundBytes(table: string): number {
  return maxKeyBytes(table) + 1;
}

/** The unit of a span: `posts:v4/lo…hi`. The number is the length of `lo` in UTF-16. Throws a RangeError for a table name or bound outside the rules. */
export function spanId({ table, kind, lo, hi }: Span): UnitId {
  if (!isStoredTable(table)) throw new RangeError(`invalid table name ${JSON.stringify(table)}`);
  for (const bound of [lo, hi]) {
    if (!isBound(bound, table))
      throw new RangeError(
        `invalid bound ${JSON.stringify(bound.slice(0, 80))} of keys in table ${table}: a bound is well-formed text of at most ${maxBoundBytes(table)} UTF-8 bytes`,
      );
  }
  return `${table}:${KIND_LETTERS[kind]}${lo.length}/${lo}${hi}` as UnitId;
}

/** Whether a unit is a span. The unit is a legal one. */
export function isSpan(unit: UnitId): boolean {
  return unit.lastIndexOf(":", unit.indexOf("/")) > 0;
}

/** Null: the text is not the unit of a span. */
export function spanOf(unit: string): Span | null {
  const match = SPAN.exec(unit);
  if (match === null) return null;
  const [head, table, letter, length] = match as unknown as [string, string, string, string];
  const middle = head.length + Number(length);
  const lo = unit.slice(head.length, middle);
  const hi = unit.slice(middle);
  if (lo.length !== Number(length) || !isStoredTable(table) || !isBound(lo, table) || !isBound(hi, table)) return null;
  return { table, kind: letter === KIND_LETTERS.rows ? "rows" : "count", lo, hi };
}

/** Whether the text is a unit: an item or a span. */
export function isUnitId(text: string): text is UnitId {
  return isItemId(text) || spanOf(text) !== null;
}

/** The first text after a key. */
export function keySuccessor(key: string): string {
  return `${key}\0`;
}

/** The first text after all texts that begin with the prefix; empty if there is none. */
export function prefixEnd(prefix: string): string {
  let rest = prefix;
  while (rest !== "") {
    const from = rest.length - (rest.length > 1 && isSurrogatePair(rest, rest.length - 2) ? 2 : 1);
    const last = rest.codePointAt(from)!;
    rest = rest.slice(0, from);
    // No text has a code point between U+D7FF and U+E000.
    if (last < 0x10ffff) return rest + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
  return "";
}

function isSurrogatePair(text: string, at: number): boolean {
  return text.codePointAt(at)! > 0xffff;
}

export function contains({ lo, hi }: KeyInterval, key: Key): boolean {
  return compareBounds(lo, key) <= 0 && isBelow(key, hi);
}

/** Whether no key can be in the interval. */
export function isEmptyInterval({ lo, hi }: KeyInterval): boolean {
  return !isBelow(lo, hi);
}

/** Whether a lower bound, or a key, is before an upper bound. */
export function isBelow(lo: string, hi: string): boolean {
  return hi === "" || compareBounds(lo, hi) < 0;
}

/** The order of bounds that are not an empty `hi`. */
export function compareBounds(a: string, b: string): number {
  return compareKeys(a as Key, b as Key);
}

/**
 * The interval that a walk has really seen, and depends on. A walk that has reached the end has seen all of it. Another walk has
 * seen it up to its last row. Throws a RangeError for a walk that has seen no row and has not reached the end.
 *
 * @param seen the keys of the rows seen, in the order of the walk
 */
export function observedSpan(query: ScanQuery, seen: readonly Key[], reachedEnd: boolean): Span {
  const { table, lo, hi } = query;
  // variant: end-observed
  if (reachedEnd) return { table, kind: "rows", lo, hi };
  const last = seen.at(-1);
  if (last === undefined) throw new RangeError(`a walk in table ${table} has seen no row, and has not reached the end`);
  return query.isReversed ? { table, kind: "rows", lo: last, hi } : { table, kind: "rows", lo, hi: keySuccessor(last) };
}

/** The value of a span of rows. The rows are in the order of their keys. */
export function encodeDirectory(rows: readonly DirectoryRow[]): Uint8Array {
  const writer = new CborWriter().array(rows.length);
  for (const { key, commitId: id, hash } of rows) {
    const { epoch, sequence } = commitParts(id);
    writer
      .array(4)
      .text(key)
      .integer(epoch)
      .integer(sequence)
      .integer(BigInt(`0x${hash}`));
  }
  return writer.finish();
}

/** Throws a MalformedError, also if the keys do not grow. */
export function decodeDirectory(bytes: Uint8Array): readonly DirectoryRow[] {
  const reader = new CborReader(bytes);
  const rows: DirectoryRow[] = [];
  for (let i = reader.array(); i > 0; i--) {
    if (reader.array() !== 4) throw new MalformedError("malformed row of a directory");
    const key = reader.text();
    if (!isKey(key, MAX_ENTRY_KEY_BYTES)) throw new MalformedError("malformed key in a directory");
    const before = rows.at(-1);
    if (before !== undefined && compareKeys(before.key, key) >= 0)
      throw new MalformedError("the keys of a directory do not grow");
    const id = commitId(reader.integerIn(0, 0xffffffff), reader.integerIn(0, 0xffffffffffff));
    rows.push({ key, commitId: id, hash: readHash(reader) });
  }
  reader.end();
  return rows;
}

/** The value of a span of kind `count`. */
export function encodeCount(count: number): Uint8Array {
  return new CborWriter().integer(count).finish();
}

/** Throws a MalformedError. */
export function decodeCount(bytes: Uint8Array): number {
  const reader = new CborReader(bytes);
  const count = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  reader.end();
  return count;
}

function readHash(reader: CborReader): ContentHash {
  const value = reader.integer();
  if (value < 0) throw new MalformedError("malformed hash in a directory");
  return value.toString(16).padStart(16, "0") as ContentHash;
}

/** A sum of hashes of rows modulo 2⁶⁴, whose order does not matter: so a tree of sums answers for any interval. */
export class Digest {
  #high = 0;
  #low = 0;

  /** 16 hex characters. */
  get hash(): ContentHash {
    return hashText(this.#high, this.#low);
  }

  add(row: DirectoryRow): this {
    const [high, low] = rowWords(row);
    return this.addWords(high, low);
  }

  remove(row: DirectoryRow): this {
    const [high, low] = rowWords(row);
    // The complement of two: −x is ~x + 1.
    return this.addWords(~high, ~low).addWords(0, 1);
  }

  /** Adds another sum, as its two halves of 32 bits. */
  addWords(high: number, low: number): this {
    const sum = (this.#low >>> 0) + (low >>> 0);
    this.#low = sum | 0;
    this.#high = (this.#high + high + (sum > 0xffffffff ? 1 : 0)) | 0;
    return this;
  }

  /** The halves of the sum, each of 32 bits with sign. */
  get words(): readonly [high: number, low: number] {
    return [this.#high, this.#low];
  }
}

/** The part of a row in digests: contentHash(key ‖ commit id ‖ content hash), as two halves of 32 bits. The last two have fixed lengths. */
export function rowWords({ key, commitId: id, hash }: DirectoryRow): readonly [high: number, low: number] {
  // variant: row-hashed
  return contentHashWords(encodeUtf8(key + id + hash));
}

/** The hash in the version of a span of rows. */
export function digestOf(rows: Iterable<DirectoryRow>): ContentHash {
  const digest = new Digest();
  for (const row of rows) digest.add(row);
  return digest.hash;
}

/** The hash in the version of a span of kind `count`: the number itself. */
export function countHash(count: number): ContentHash {
  return count.toString(16).padStart(16, "0") as ContentHash;
}
