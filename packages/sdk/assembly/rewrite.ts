/**
 * The two handlers of the module by which `radical data rewrite` stores the items of a table anew. The build makes the module
 * from the application's sources. So its classes read the items, with earlier names of fields and initial values, and write
 * them. Internal: no application imports it.
 */
import { decodeValue, encodeValue, Reader, readArguments, respond, Writer } from "./codec";
import * as host from "./host";

/**
 * Gives the first keys of a table, each with the bytes of its value. Its arguments are the key to begin with, which need not
 * exist, and the most keys.
 */
export function keysOf(table: string): void {
  const reader = readArguments();
  reader.tuple(2);
  const from = reader.text();
  const count = reader.signed(1, i32.MAX_VALUE) as i32;
  reader.end();
  const rows = new Reader();
  host.take(rows.expect(host.scan(table, from, "", count, 0)));
  const found = rows.array();
  const result = new Writer();
  result.array(found);
  for (let left = found; left > 0; left -= 2) {
    result.text(rows.text());
    const value = rows.next;
    rows.skip();
    result.signed(rows.next - value);
  }
  respond(result);
}

/**
 * Reads items by the class of their table, and stores those whose bytes change. Its arguments are whether nothing is stored,
 * and the keys. Its result is how many items change. An item that is not there is left out.
 */
export function rewriteItems<T>(table: string): void {
  const reader = readArguments();
  reader.tuple(2);
  const isDry = reader.bool();
  let changed = 0;
  for (let left = reader.array(); left > 0; left--) {
    if (rewritten<T>(table, reader.text(), isDry)) changed++;
  }
  reader.end();
  const result = new Writer();
  result.signed(changed);
  respond(result);
}

/** Whether the bytes of an item change. Traps if it does not fit the class. */
function rewritten<T>(table: string, key: string, isDry: bool): bool {
  const length = host.get(table, key);
  if (length < 0) return false;
  const reader = new Reader(true);
  reader.name(table, key);
  const stored = reader.expect(length);
  host.take(stored);
  const value = decodeValue<T>(reader);
  reader.end();
  const writer = new Writer(true, table, key);
  encodeValue<T>(writer, value);
  if (writer.length == length && memory.compare(writer.start, stored, length) == 0) return false;
  if (!isDry) host.put(table, key, writer.start, writer.length);
  return true;
}
