/**
 * The one handler of the data module: `radical data` writes items by it, so that a write from outside is an execution like
 * any other, with its locks, its commit id and its outcome. Its argument is an array of writes: table, key, and the encoded
 * value as bytes, or null to delete the item. Internal: no application has it.
 */
import { readArguments } from "./codec";
import * as host from "./host";

export function write(): void {
  const reader = readArguments();
  for (let left = reader.array(); left > 0; left--) {
    if (reader.array() != 3) throw new Error("malformed write");
    const table = reader.text();
    const key = reader.text();
    if (reader.nullIfNext()) {
      host.remove(table, key);
    } else {
      const value = reader.bytes();
      host.put(table, key, changetype<usize>(value), value.byteLength);
    }
  }
  reader.end();
}
