/** Numbers that many executions change: a library over items. */
import { Writer, encodeValue, takeValue } from "./codec";
import * as host from "./host";

/**
 * Numbers by key, each an `i64`. A number that was never set is 0. Declared once, at module level, with a literal name:
 *
 *     const seats = new Counter("seats");
 *
 * The numbers are the items of a table with that name. Keys are text of 1 to 512 UTF-8 bytes.
 */
export class Counter {
  constructor(
    /** As of a table, whose name no other table or counter has. */
    readonly name: string,
  ) {}

  /** The number under `key`. */
  get(key: string): i64 {
    const length = host.get(this.name, key);
    return length < 0 ? 0 : takeValue<i64>(length, this.name, key);
  }

  /** Adds `n`, which may be negative. The handler ends where the sum does not fit into an `i64`. */
  add(key: string, n: i64): void {
    const before = this.get(key);
    const sum = before + n;
    if (((before ^ sum) & (n ^ sum)) < 0)
      throw new Error(`${this.name}/${key}: ${before} and ${n} have a sum that does not fit into an i64`);
    this.put(key, sum);
  }

  /** Whether the number under `key` is `n` or more. */
  atLeast(key: string, n: i64): bool {
    return this.get(key) >= n;
  }

  /** Sets the number under `key`, whatever it was. */
  put(key: string, n: i64): void {
    const writer = new Writer(true, this.name, key);
    encodeValue<i64>(writer, n);
    host.put(this.name, key, writer.start, writer.length);
  }

  /** Removes the number under `key`. It is 0 from then on. */
  delete(key: string): void {
    host.remove(this.name, key);
  }

  /** Only in read/write-set functions: the handler reads the number, and its value is not needed here. */
  touch(key: string): void {
    host.touch(this.name, key);
  }

  /** Only in derived read/write-set functions: the same, unless they said before that the number is written. */
  touchUnwritten(key: string): void {
    host.touch_unwritten(this.name, key);
  }

  /** Only in read/write-set functions: the handler sets the number. One that adds to it also reads it. */
  willPut(key: string): void {
    host.will_write(this.name, key);
  }

  /** Only in read/write-set functions: the handler deletes the number. */
  willDelete(key: string): void {
    host.will_write(this.name, key);
  }
}
