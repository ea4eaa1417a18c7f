import { BLOB_UPLOADS, CborWriter, type UnitId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { withBlobNames } from "./blob-names.ts";

const [A, B] = ["0a".repeat(32), "f9".repeat(32)];
const ANN = unitId("users", "ann");
const BOB = unitId("users", "bob");

function naming(...hashes: readonly string[]): Uint8Array {
  const writer = new CborWriter().array(hashes.length);
  for (const hash of hashes)
    writer.map(3).text("hash").text(hash).text("size").integer(1).text("type").text("image/png");
  return writer.finish();
}

function entriesOf(writes: Parameters<typeof withBlobNames>[0], there: readonly UnitId[] = []): readonly UnitId[] {
  return withBlobNames(writes, (entry) => there.includes(entry)).map(({ unit }) => unit);
}

test("each item that names a hash has an entry in the same commit, in the order of units", () => {
  const writes = [
    { unit: ANN, value: naming(A, B) },
    { unit: BOB, value: null },
  ];
  const entries = [`.blob-names/${A}/users/ann`, `.blob-names/${B}/users/ann`];
  expect(entriesOf(writes)).toEqual([...entries, ANN, BOB]);
  expect(entriesOf(writes, [entries[0] as UnitId])).toEqual([entries[1], ANN, BOB]);
});

test("writes without Blobs, and those of hidden tables, stay as they are", () => {
  const writes = [{ unit: ANN, value: naming() }];
  expect(withBlobNames(writes, () => false)).toBe(writes);
  expect(entriesOf([{ unit: unitId(BLOB_UPLOADS, A), value: naming(A) }])).toEqual([`${BLOB_UPLOADS}/${A}`]);
});
