/**
 * The handlers of the module by which `radical data check` compares items with the entries of their indexes, and corrects the
 * entries. All that one execution reads is of one moment. Internal: no application has it.
 */
import { Reader, readArguments, respond, Writer } from "./codec";
import * as host from "./host";

/**
 * Gives the first rows of a table: how many there are, and of each the key and the value as bytes. Its arguments are the table,
 * the key to begin with, which need not exist, the most rows, and the most bytes of values. Behind the row that exceeds these
 * it leaves out the others.
 */
export function rows(): void {
  const reader = readArguments();
  reader.tuple(4);
  const table = reader.text();
  const from = reader.text();
  const most = reader.signed(1, i32.MAX_VALUE) as i32;
  const mostBytes = reader.signed(0, i32.MAX_VALUE) as i32;
  reader.end();
  const found = new Reader();
  host.take(found.expect(host.scan(table, from, "", most, 0)));
  const count = found.array() / 2;
  const start = found.next;
  let given = 0;
  while (given < count && found.next - start <= (mostBytes as usize)) {
    found.skip();
    found.skip();
    given++;
  }
  const result = new Writer();
  result.array(1 + given * 2);
  result.signed(count);
  result.copy(start, (found.next - start) as i32);
  respond(result);
}

/** Gives the values of items as bytes, or null where there is none. Its argument is an array of table, key, table, key and so on. */
export function read(): void {
  const reader = readArguments();
  const count = reader.array() / 2;
  const result = new Writer();
  result.array(count);
  const value = new Reader();
  for (let left = count; left > 0; left--) {
    const table = reader.text();
    const length = host.get(table, reader.text());
    if (length < 0) {
      result.null();
      continue;
    }
    const start = value.expect(length);
    host.take(start);
    result.bytes(start, length);
  }
  reader.end();
  respond(result);
}

/**
 * Writes entries of items, each if item and entry are as they were found. Its argument is an array of corrections. One has table,
 * key and value of the item, then the same of the entry, and the entry's value as it should be. Its result is an array that says
 * of each whether it was made.
 */
export function correct(): void {
  const reader = readArguments();
  const count = reader.array();
  const result = new Writer();
  result.array(count);
  for (let left = count; left > 0; left--) {
    reader.tuple(7);
    const table = reader.text();
    const isSame = isFound(table, reader.text(), reader);
    const index = reader.text();
    const key = reader.text();
    const isMade = isFound(index, key, reader) && isSame;
    if (reader.nullIfNext()) {
      if (isMade) host.remove(index, key);
    } else {
      const value = reader.bytes();
      if (isMade) host.put(index, key, changetype<usize>(value), value.byteLength);
    }
    result.bool(isMade);
  }
  reader.end();
  respond(result);
}

/** Whether the stored value is the next one. */
function isFound(table: string, key: string, reader: Reader): bool {
  const length = host.get(table, key);
  if (reader.nullIfNext()) return length < 0;
  const value = reader.bytes();
  if (length != value.byteLength) return false;
  const stored = new ArrayBuffer(length);
  host.take(changetype<usize>(stored));
  return memory.compare(changetype<usize>(stored), changetype<usize>(value), length) == 0;
}
