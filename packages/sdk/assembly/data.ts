/**
 * The handlers of the data module. `radical data` writes items by `write`: a write from outside is an execution like
 * any other, with its locks, its commit id and its outcome. Its argument is an array of writes: table, key, and the encoded
 * value as bytes, or null to delete the item. Its result is how many of them there was something to do for: what is not there
 * is not deleted. `edit`: the dashboard writes one item if nobody has written since a person has seen it. Internal: no application
 * has them.
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

/** Arguments: table, key, the value that is expected, and the new one; null for an absent item. The result is 1, or 0 for another value. */
export function edit(): void {
  const reader = readArguments();
  if (reader.array() != 4) throw new Error("malformed edit");
  const table = reader.text();
  const key = reader.text();
  const isNew = reader.nullIfNext();
  const expected = isNew ? new ArrayBuffer(0) : reader.bytes();
  const isDeleted = reader.nullIfNext();
  const value = isDeleted ? new ArrayBuffer(0) : reader.bytes();
  reader.end();
  const isAsExpected = holds(table, key, isNew, expected);
  if (isAsExpected && isDeleted) host.remove(table, key);
  if (isAsExpected && !isDeleted) {
    checkBlobsIn(changetype<usize>(value), value.byteLength);
    host.put(table, key, changetype<usize>(value), value.byteLength);
  }
  const result = new Writer();
  result.signed(isAsExpected ? 1 : 0);
  respond(result);
}

function holds(table: string, key: string, isAbsent: bool, expected: ArrayBuffer): bool {
  const size = host.get(table, key);
  if (size < 0) return isAbsent;
  const stored = new ArrayBuffer(size);
  host.take(changetype<usize>(stored));
  if (isAbsent || size != expected.byteLength) return false;
  return memory.compare(changetype<usize>(stored), changetype<usize>(expected), <usize>size) == 0;
}
