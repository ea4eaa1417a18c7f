/**
 * Ranges of a table's keys. The order of keys is that of their UTF-8 bytes, everywhere.
 */
import { takeRows } from "./codec";
import * as host from "./host";
import { Row } from "./rows";

/**
 * The items of a table whose keys are in an interval: a value that reads nothing by itself. Tables make ranges:
 *
 *     let range = posts.prefix(room + "/");
 *     if (before != null) range = range.before(before);
 *     const newest = range.last(20);
 *
 * An execution depends on the rows that it has seen, and on nothing beyond them: a new post disturbs no older page.
 */
export class Range<T> {
  constructor(
    private table: string,
    private lo: string,
    private hi: string,
  ) {}

  /** The rows behind the cursor of a row. */
  after(cursor: string): Range<T> {
    const lo = cursor + "\0";
    return isBefore(this.lo, lo) ? new Range<T>(this.table, lo, this.hi) : this;
  }

  /** The rows before the cursor of a row. */
  before(cursor: string): Range<T> {
    // No key is before the empty one, and an empty end is none.
    if (cursor.length == 0) return new Range<T>(this.table, "\0", "\0");
    return this.hi.length == 0 || isBefore(cursor, this.hi) ? new Range<T>(this.table, this.lo, cursor) : this;
  }

  /** The first `count` rows, the least key first; fewer if there are fewer. */
  first(count: i32): Row<T>[] {
    return takeRows<T>(host.scan(this.table, this.lo, this.hi, count, 0), this.table);
  }

  /** The last `count` rows, the greatest key first; fewer if there are fewer. */
  last(count: i32): Row<T>[] {
    return takeRows<T>(host.scan(this.table, this.lo, this.hi, count, 1), this.table);
  }

  /** The number of rows. A change of their values does not disturb it. */
  count(): i32 {
    return min<i64>(host.count(this.table, this.lo, this.hi), i32.MAX_VALUE) as i32;
  }

  /** Only in read/write-set functions: the handler reads the first `count` rows, and they are not needed here. */
  touchFirst(count: i32): void {
    host.touch_scan(this.table, this.lo, this.hi, count, 0);
  }

  /** Only in read/write-set functions: the handler reads the last `count` rows, and they are not needed here. */
  touchLast(count: i32): void {
    host.touch_scan(this.table, this.lo, this.hi, count, 1);
  }

  /** Only in read/write-set functions: the handler reads the number of rows, and it is not needed here. */
  touchCount(): void {
    host.touch_count(this.table, this.lo, this.hi);
  }
}

/** Whether a text comes before another one in the order of UTF-8. That of UTF-16 has U+E000 … U+FFFF behind all above it. */
function isBefore(a: string, b: string): bool {
  const length = min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x != y) return inOrder(x) < inOrder(y);
  }
  return a.length < b.length;
}

/** A code unit, with surrogates after all others. */
function inOrder(unit: i32): i32 {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** The first text behind all texts that begin with the prefix; empty if there is none. */
export function prefixEnd(prefix: string): string {
  for (let end = prefix.length; end > 0;) {
    let from = end - 1;
    let last: i32 = prefix.charCodeAt(from);
    if ((last & 0xfc00) == 0xdc00 && from > 0 && (prefix.charCodeAt(from - 1) & 0xfc00) == 0xd800)
      last = prefix.codePointAt(--from);
    // No text has a code point between U+D7FF and U+E000.
    if (last < 0x10ffff) return prefix.substring(0, from) + String.fromCodePoint(last == 0xd7ff ? 0xe000 : last + 1);
    end = from;
  }
  return "";
}

const DIGITS = "0123456789abcdef";

/**
 * 16 characters that sort as the number, for keys: `${room}/${ascending(now())}-${uuid()}`. A range of such keys is in the
 * order of the numbers, negative ones too. The time is that of the location, so two locations may order two posts otherwise.
 */
export function ascending(value: i64): string {
  const bits = (value as u64) ^ (1 << 63);
  let text = "";
  for (let shift = 60; shift >= 0; shift -= 4) text += DIGITS.charAt(((bits >> shift) & 15) as i32);
  return text;
}

/** 16 characters that sort as the number in the opposite order: the greatest number comes first. */
export function descending(value: i64): string {
  return ascending(~value);
}
