/** The work of a table for its indexes. A file of its own, so that programs without indexes have none of their code. */

/** Of a table without indexes. Internal. */
export class Keeper {
  /** Before an item is stored: `length` bytes at `start`. */
  put(table: string, key: string, start: usize, length: i32): void {}

  /** Before an item is removed. */
  remove(table: string, key: string): void {}
}
