import { expect, test } from "vitest";
import { encodeArguments } from "./arguments.ts";
import { type BlobValue, blobHashesIn, blobNameUnit, isMediaType } from "./blob.ts";
import { isItemId, type UnitId } from "./ids.ts";
import type { RecordTypes, ValueType } from "./value-type.ts";

const RECORDS: RecordTypes = {
  Blob: {
    name: "Blob",
    isBlob: true,
    fields: [
      { name: "hash", type: { kind: "string" }, optional: false },
      { name: "size", type: { kind: "i64" }, optional: false },
      { name: "type", type: { kind: "string" }, optional: false },
    ],
  },
  Post: {
    name: "Post",
    fields: [
      { name: "text", type: { kind: "string" }, optional: false },
      { name: "files", type: { kind: "array", element: { kind: "record", name: "Blob" } }, optional: false },
    ],
  },
};
const POST: ValueType = { kind: "record", name: "Post" };
const [A, B] = ["0a".repeat(32), "f9".repeat(32)];
const blob = (hash: string): BlobValue => ({ hash, size: 3, type: "image/png" });

function encoded(json: unknown): Uint8Array {
  const done = encodeArguments([{ name: "post", type: POST, optional: false }], RECORDS, { post: json });
  if (done.kind === "problem") throw new Error(done.problem.message);
  return done.bytes;
}

test("the hashes in a value are those of its Blobs, each once", () => {
  expect(blobHashesIn(encoded({ text: A, files: [] }))).toEqual([]);
  expect(blobHashesIn(encoded({ text: "hash", files: [blob(A), blob(B), blob(A)] }))).toEqual([A, B]);
  expect(blobHashesIn(encoded({ text: "", files: [blob(A)] }).subarray(0, 60))).toEqual([]);
});

test.each([
  [{ hash: A.toUpperCase() }, "post.files[0].hash"],
  [{ hash: A.slice(1) }, "post.files[0].hash"],
  [{ hash: `${A}\n` }, "post.files[0].hash"],
  [{ size: -1 }, "post.files[0].size"],
  [{ size: "-1" }, "post.files[0].size"],
  [{ type: "image" }, "post.files[0].type"],
  [{ type: "image/png\r\nset-cookie: a=b" }, "post.files[0].type"],
  [{ type: "" }, "post.files[0].type"],
])("a Blob that can't be one is refused: %j", (wrong, path) => {
  const json = { post: { text: "", files: [{ ...blob(A), ...wrong }] } };
  const done = encodeArguments([{ name: "post", type: POST, optional: false }], RECORDS, json);
  expect(done).toMatchObject({ kind: "problem", problem: { code: "invalid_argument", path } });
});

test("media types are those of HTTP", () => {
  for (const type of ["image/svg+xml", "text/html; charset=utf-8", 'a/b;c="d e"', "application/octet-stream"])
    expect(isMediaType(type)).toBe(true);
  for (const type of ["text", "a/b;", "a/b; c", "a/b\n", `a/${"b".repeat(300)}`, "é/b"])
    expect(isMediaType(type)).toBe(false);
});

test("the entry of the longest item is a unit", () => {
  expect(isItemId(blobNameUnit(A, `${"t".repeat(64)}/${"k".repeat(512)}` as UnitId))).toBe(true);
});
