/**
 * Indexes of tables: other orders in which the items of a table are found.
 *
 * An entry is an item of a hidden table. Its key consists of the fields of the item and, unless the index is unique, of the
 * item's key. Its value is the item's key. The primary makes the same entries (`index-entry.ts` of `@radical/protocol`).
 */
import { Reader, Writer, takeValue } from "./codec";
import * as host from "./host";
import { Table } from "./index";
import { Keeper } from "./keeper";
import { Range, prefixEnd } from "./ranges";
import { Row } from "./rows";

// Initial bytes and major types (RFC 8949, section 3).
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const MAP: u8 = 5 << 5;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;

const MAX_ENTRY_BYTES = 1024;

/** The items of a range of an index: a value that reads nothing by itself. Each row is an item of the indexed table. */
export class IndexRange<T> {
  constructor(
    protected table: Table<T>,
    protected entries: Range<string>,
  ) {}

  /** The rows behind the cursor of a row. */
  after(cursor: string): IndexRange<T> {
    return new IndexRange<T>(this.table, this.entries.after(cursor));
  }

  /** The rows before the cursor of a row. */
  before(cursor: string): IndexRange<T> {
    return new IndexRange<T>(this.table, this.entries.before(cursor));
  }

  /** The first `count` rows, in the order of the indexed fields; fewer if there are fewer. */
  first(count: i32): Row<T>[] {
    return itemsOf<T>(this.table, this.entries.first(count));
  }

  /** The last `count` rows, the last one first; fewer if there are fewer. */
  last(count: i32): Row<T>[] {
    return itemsOf<T>(this.table, this.entries.last(count));
  }

  /** The number of rows. A change of a field that is not indexed does not disturb it. */
  count(): i32 {
    return this.entries.count();
  }
}

/** The items whose first fields have given values. */
export class IndexPart<T> extends IndexRange<T> {
  constructor(
    table: Table<T>,
    private name: string,
    private prefix: string,
  ) {
    super(table, new Range<string>(name, prefix, prefixEnd(prefix)));
  }

  /** The items of these whose next field has the value. */
  equal<P>(part: P): IndexPart<T> {
    return new IndexPart<T>(this.table, this.name, this.prefix + entryPart<P>(part));
  }
}

/**
 * An index of a table, in the order of some fields of its items. Declared once, at module level, with a literal list of fields:
 *
 *     const posts = new Table<Post>("posts");
 *     const byAuthor = new Index<Post>(posts, "author, at");
 *
 *     byAuthor.equal("ann").last(10);
 *
 * The fields are texts, integers, booleans or enums. An item that lacks one of them, or has null there, is in no row.
 */
export class Index<T> {
  private name: string;

  constructor(
    private table: Table<T>,
    fields: string,
  ) {
    this.name = kept(table, fields, false);
  }

  /** All items that have the fields. */
  all(): IndexRange<T> {
    return new IndexRange<T>(this.table, new Range<string>(this.name, "", ""));
  }

  /** The items whose first field has the value. */
  equal<P>(part: P): IndexPart<T> {
    return new IndexPart<T>(this.table, this.name, entryPart<P>(part));
  }
}

/** The items whose first fields have given values; one has the next, too. */
export class UniquePart<T> extends IndexRange<T> {
  constructor(
    table: Table<T>,
    private name: string,
    private prefix: string,
  ) {
    super(table, new Range<string>(name, prefix, prefixEnd(prefix)));
  }

  /** The items of these whose next field has the value. */
  equal<P>(part: P): UniquePart<T> {
    return new UniquePart<T>(this.table, this.name, this.prefix + entryPart<P>(part));
  }

  /** The item of these whose last field has the value, or null. */
  find<P>(part: P): T | null {
    return itemUnder<T>(this.table, this.name, this.prefix + entryPart<P>(part));
  }
}

/**
 * An index whose fields no two items have alike:
 *
 *     const users = new Table<User>("users");
 *     const byEmail = new Unique<User>(users, "email");
 *
 *     const user = byEmail.find(email);
 *
 * A `put` of a second item with the same fields ends the execution: 409 `not_unique`. Items that lack a field, or have null
 * there, do not count.
 */
export class Unique<T> {
  private name: string;

  constructor(
    private table: Table<T>,
    fields: string,
  ) {
    this.name = kept(table, fields, true);
  }

  /** All items that have the fields. */
  all(): IndexRange<T> {
    return new IndexRange<T>(this.table, new Range<string>(this.name, "", ""));
  }

  /** The items whose first field has the value. */
  equal<P>(part: P): UniquePart<T> {
    return new UniquePart<T>(this.table, this.name, entryPart<P>(part));
  }

  /** The item whose only field has the value, or null. With more fields: `byRoomAndDay.equal(room).find(day)`. */
  find<P>(part: P): T | null {
    return itemUnder<T>(this.table, this.name, entryPart<P>(part));
  }
}

/** The rows of the items that entries name. */
function itemsOf<T>(table: Table<T>, entries: Row<string>[]): Row<T>[] {
  const rows: Row<T>[] = [];
  for (let i = 0; i < entries.length; i++) {
    const key = entries[i].value;
    const item = table.get(key);
    // There is one, unless this run works with values that are out of date and has no effect.
    if (item != null) rows.push(new Row<T>(key, item, entries[i].key));
  }
  return rows;
}

function itemUnder<T>(table: Table<T>, index: string, entry: string): T | null {
  const length = host.get(index, entry);
  return length < 0 ? null : table.get(takeValue<string>(length, index, entry));
}

// ── Keeping entries ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The name of an index, whose entries the table keeps from now on. */
function kept<T>(table: Table<T>, fields: string, unique: bool): string {
  const names = fields.split(",");
  for (let i = 0; i < names.length; i++) names[i] = names[i].trim();
  const index = new Entries(table.name + (unique ? "=" : ".") + names.join("+"), names, unique);
  const keeper = table.keeper;
  const entries = keeper instanceof EntryKeeper ? (keeper as EntryKeeper) : new EntryKeeper();
  entries.indexes.push(index);
  table.keeper = entries;
  return index.name;
}

/** Keeps the entries of all indexes of a table. */
class EntryKeeper extends Keeper {
  readonly indexes: Entries[] = [];

  put(table: string, key: string, start: usize, length: i32): void {
    const next = new Reader(true);
    memory.copy(next.expect(length), start, length);
    this.change(table, key, next);
  }

  remove(table: string, key: string): void {
    this.change(table, key, null);
  }

  private change(table: string, key: string, next: Reader | null): void {
    const length = host.get(table, key);
    let stored: Reader | null = null;
    if (length >= 0) {
      stored = new Reader(true);
      host.take(stored.expect(length));
    }
    for (let i = 0; i < this.indexes.length; i++) {
      const index = this.indexes[i];
      const before = stored != null ? index.of(key, stored) : null;
      const after = next != null ? index.of(key, next) : null;
      if (before != after) index.change(table, key, before, after);
    }
  }
}

/** The entries of one index. */
class Entries {
  constructor(
    readonly name: string,
    private fields: string[],
    private unique: bool,
  ) {}

  /** The key of the entry of an encoded item, which is read from its start; null: it has none. */
  of(key: string, item: Reader): string | null {
    item.restart();
    if ((load<u8>(item.next) & 0xe0) != MAP) return null;
    const parts = new Array<string | null>(this.fields.length);
    for (let pairs = item.map(); pairs > 0; pairs--) {
      item.key();
      let at = 0;
      while (at < parts.length && !item.keyIs(this.fields[at])) at++;
      if (at < parts.length) parts[at] = readPart(item);
      else item.skip();
    }
    let entry = "";
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i];
      if (part == null) return null;
      entry += part + "\0";
    }
    return this.unique ? entry : entry + key;
  }

  change(table: string, key: string, before: string | null, after: string | null): void {
    if (after != null) {
      const bytes = String.UTF8.byteLength(after);
      if (bytes > MAX_ENTRY_BYTES)
        throw new Error(
          `${table}/${key}: its entry in the index ${this.name} takes ${bytes} bytes, of ${MAX_ENTRY_BYTES}; shorten the fields`,
        );
      if (this.unique && host.has(this.name, after) != 0) host.abort(409, "not_unique", notUnique(table, this.fields));
    }
    if (before != null) host.remove(this.name, before);
    if (after != null) {
      const writer = new Writer(true, this.name, after);
      writer.text(key);
      host.put(this.name, after, writer.start, writer.length);
    }
  }
}

function notUnique(table: string, fields: string[]): string {
  return `Another item of ${table} has the same ${fields.join(", ")}.`;
}

/** Reads a value as a part of an entry, without its end; null: it can be none. */
function readPart(item: Reader): string | null {
  const initial = load<u8>(item.next);
  if (initial < NEGATIVE) return hexadecimal(item.unsigned(u64.MAX_VALUE));
  if (initial < BYTES) return integerPart(item.signed(i64.MIN_VALUE, -1));
  if ((initial & 0xe0) == TEXT) return textPart(item.text());
  if (initial == TRUE || initial == FALSE) return item.bool() ? "1" : "0";
  item.skip();
  return null;
}

/** A value of an indexed field as the part of an entry's key, with its end. Internal. */
export function entryPart<P>(value: P): string {
  if (isString<P>()) return textPart(value as string) + "\0";
  if (isBoolean<P>()) return value ? "1\0" : "0\0";
  if (isSigned<P>()) return integerPart(value as i64) + "\0";
  return hexadecimal(value as u64) + "\0";
}

/** U+0000 ends a part, so it can't be in one. The order of texts stays. */
function textPart(text: string): string {
  for (let i = 0; i < text.length; i++)
    if (text.charCodeAt(i) < 2) return text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
  return text;
}

/** Negative numbers have a minus sign before their digits: parts are in the order of the numbers. */
function integerPart(value: i64): string {
  return value < 0 ? "-" + hexadecimal(value as u64) : hexadecimal(value as u64);
}

const DIGITS = "0123456789abcdef";

function hexadecimal(bits: u64): string {
  let text = "";
  for (let shift = 60; shift >= 0; shift -= 4) text += DIGITS.charAt(((bits >> shift) & 15) as i32);
  return text;
}

/** Only in read/write-set functions: the entries that stored items have in an index. */
export class StoredEntries {
  private entries: Entries;
  private table: string;

  constructor(name: string) {
    const unique = name.indexOf(".") < 0;
    const at = name.indexOf(unique ? "=" : ".");
    this.table = name.substring(0, at);
    this.entries = new Entries(name, name.substring(at + 1).split("+"), unique);
  }

  /** The key of the entry of the item under a key, or null. */
  get(key: string): string | null {
    const length = host.get(this.table, key);
    if (length < 0) return null;
    const stored = new Reader(true);
    host.take(stored.expect(length));
    return this.entries.of(key, stored);
  }

  touch(key: string): void {
    host.touch(this.table, key);
  }

  touchUnwritten(key: string): void {
    host.touch_unwritten(this.table, key);
  }
}
