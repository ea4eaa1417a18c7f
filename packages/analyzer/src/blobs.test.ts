/** Blobs: records of the SDK that handlers take, store and return, and never make. */
import { BLOB_MISSING, blobHashesIn, BLOBS, CborWriter, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call, type Items } from "./testing/run.ts";

function buildOf(handlers: string): BuildResult {
  return buildWith({ ...buildInput({ "handlers/app.ts": handlers }), optimize: false }, slicer);
}

function errorsOf({ diagnostics }: BuildResult): readonly string[] {
  return diagnostics.flatMap(({ severity, message }) => (severity === "error" ? [message] : []));
}

const APP = `
  import { Blob, Table, abort } from "@radical/sdk";
  export class User { name: string = ""; picture: Blob | null = null; album: Blob[] = []; }
  export class Entry { note: string = ""; file: Blob | null = null; }
  const users = new Table<User>("users");
  export function setPicture(name: string, picture: Blob): Blob | null {
    const user = users.get(name) ?? new User();
    const before = user.picture;
    user.name = name;
    user.picture = picture;
    users.put(name, user);
    return before;
  }
  export function add(name: string, entries: Entry[]): i32 {
    const user = users.get(name);
    if (user == null) abort(404, "no_user", "There is no such user.");
    for (let i = 0; i < entries.length; i++) {
      const file = entries[i].file;
      if (file != null) user.album.push(file);
    }
    users.put(name, user);
    return user.album.length;
  }
  export function copy(from: string, to: string): void {
    const one = users.get(from);
    const other = users.get(to);
    if (one == null || other == null) abort(404, "no_user", "There is no such user.");
    other.picture = one.picture;
    users.put(to, other);
  }
  export function sizeOf(name: string): i64 {
    const user = users.get(name);
    if (user == null) return 0;
    const picture = user.picture;
    return picture == null ? 0 : picture.size;
  }
`;

const HASH = "ab".repeat(32);
const OTHER = "cd".repeat(32);
const PICTURE = { hash: HASH, size: 3, type: "image/png" };
const BLOBS_APP = buildOf(APP);

/** Bytes under the hash, as far as executions know. */
function put(items: Items, hash: string): void {
  items.set(unitId(BLOBS, hash), new CborWriter().null().finish());
}

test("handlers take, store, copy and return Blobs, and their sets are derived", () => {
  expect(errorsOf(BLOBS_APP)).toEqual([]);
  expect(BLOBS_APP.handlers.map(({ name, plan, tables }) => [name, plan.kind, tables?.reads])).toEqual([
    ["add", "sliced", [BLOBS, "users"]],
    ["copy", "sliced", ["users"]],
    ["setPicture", "sliced", [BLOBS, "users"]],
    ["sizeOf", "sliced", ["users"]],
  ]);
  expect(BLOBS_APP.records["Blob"]).toMatchObject({
    isBlob: true,
    fields: [{ name: "hash" }, { name: "size" }, { name: "type" }],
  });
  const items: Items = new Map();
  put(items, HASH);
  expect(call(BLOBS_APP, items, "setPicture", { name: "ann", picture: PICTURE }).result).toBe(null);
  expect(call(BLOBS_APP, items, "setPicture", { name: "ann", picture: PICTURE }).result).toEqual(PICTURE);
  expect(call(BLOBS_APP, items, "add", { name: "ann", entries: [{ file: PICTURE }, {}] }).result).toBe(1);
  expect(call(BLOBS_APP, items, "sizeOf", { name: "ann" }).result).toBe(3);
  expect(blobHashesIn(items.get("users/ann")!)).toEqual([HASH]);
});

test("an execution that is given a Blob whose bytes are not there ends, and says so to its clients", () => {
  const items: Items = new Map();
  put(items, HASH);
  const picture = { ...PICTURE, hash: OTHER };
  const refused = { kind: "abort", status: 409, code: BLOB_MISSING };
  expect(call(BLOBS_APP, items, "setPicture", { name: "ann", picture }).outcome).toMatchObject(refused);
  const entries = [{ file: PICTURE }, { file: picture }];
  expect(call(BLOBS_APP, items, "add", { name: "ann", entries }).outcome).toMatchObject(refused);
  const codes = BLOBS_APP.handlers.map(({ name, abortCodes }) => [name, abortCodes]);
  expect(codes).toEqual([
    ["add", [BLOB_MISSING, "no_user"]],
    ["copy", ["no_user"]],
    ["setPicture", [BLOB_MISSING]],
    ["sizeOf", []],
  ]);
});

test("their sets are right on random calls", () => {
  const found = explore(BLOBS_APP, { strings: ["a", "b"], runs: 60, callsPerRun: 6 });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
});

test.each([
  ["new Blob()", ["A handler can't make a Blob, because the bytes would not be there."]],
  [
    "{ hash: name, size: 1, type: name }",
    ["Class '@radical/sdk/blob/Blob' cannot declare a constructor when instantiated from an object literal."],
  ],
  [
    "new Photo()",
    [
      "Class 'Blob' is final and cannot be extended.",
      "Cannot extend a class '@radical/sdk/blob/Blob'. Class constructor is marked as private.",
      "A handler can't make a Blob, because the bytes would not be there.",
    ],
  ],
])("no handler makes a Blob: %s", (made, expected) => {
  const build = buildOf(`
    import { Blob, Table } from "@radical/sdk";
    export class User { picture: Blob | null = null; }
    ${made === "new Photo()" ? "class Photo extends Blob { constructor() { super(); } }" : ""}
    const users = new Table<User>("users");
    export function make(name: string): void {
      const user = new User();
      user.picture = ${made};
      users.put(name, user);
    }`);
  expect(errorsOf(build)).toEqual(expected);
});
