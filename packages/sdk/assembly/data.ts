/**
 * The one handler of the data module: `radical data` writes items by it, so that a write from outside is an execution like
 * any other, with its locks, its commit id and its outcome. Its argument is an array of writes: table, key, and the encoded
 * value as bytes, or null to delete the item. Its result is how many of them there was something to do for: what is not there
 * is not deleted. Internal: no application has it.
 */
import { checkBlobsIn } from "./blobs";
import { readArguments, respond, Writer } from "./codec";
import * as host from "./host";

export function write(): void {
  const reader = readArguments();
  let done = 0;
  for (let left = reader.array(); left > 0; left--) {
    if (reader.array() != 3) throw new Error("malformed write");
    const table = reader.text();
    const key = reader.text();
    if (reader.nullIfNext()) {
      if (host.has(table, key) == 0) continue;
      host.remove(table, key);
    } else {
      const value = reader.bytes();
      checkBlobsIn(changetype<usize>(value), value.byteLength);
      host.put(table, key, changetype<usize>(value), value.byteLength);
    }
    done++;
  }
  reader.end();
  const result = new Writer();
  result.signed(done);
  respond(result);
}
