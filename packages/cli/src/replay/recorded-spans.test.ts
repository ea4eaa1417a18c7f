import {
  commitId,
  contentHash,
  directoryEntry,
  encodeCount,
  type Key,
  NO_COMMIT,
  spanId,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { spanSnapshot } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { directoryOf, entriesOf, rowsOfValue, valuesRead } from "./recorded-spans.ts";

const ALL = { table: "t", lo: "", hi: "" } as const;
const rows = spanId({ ...ALL, kind: "rows" });
const part = spanId({ ...ALL, kind: "rows", hi: "b" });
const count = spanId({ ...ALL, kind: "count" });
const [a, b] = [unitId("t", "a"), unitId("t", "b")];
const bytes = Uint8Array.of(1);
/** As the server tells it, with commits. */
const directory = directoryEntry(
  commitId(1, 9),
  ["a", "b"].map((key) => ({ key: key as Key, commitId: commitId(1, 2), hash: contentHash(bytes) })),
).value;
const VALUES = new Map<UnitId, Uint8Array | null>([
  [rows, directory],
  [count, encodeCount(2)],
  [a, bytes],
  [b, bytes],
  [unitId("u", "x"), null],
]);

test("a run again finds rows whose values are those recorded, under no commit", () => {
  const snapshot = spanSnapshot(entriesOf(VALUES));
  expect(snapshot(a)).toEqual({ version: { commitId: NO_COMMIT, hash: contentHash(bytes) }, value: bytes });
  const found = snapshot.scan!({ kind: "rows", ...ALL, limit: 1, isReversed: true });
  expect(found).toMatchObject({ rows: [{ key: "b", commitId: NO_COMMIT, hash: contentHash(bytes) }] });
  expect(snapshot.scan!({ kind: "count", ...ALL })).toEqual({ count: 2 });
});

test("a redacted value is what its row is of", () => {
  const other = Uint8Array.of(0);
  const snapshot = spanSnapshot(entriesOf(new Map([...VALUES, [a, other]])));
  const found = snapshot.scan!({ kind: "rows", ...ALL, limit: 1, isReversed: false });
  expect(found).toMatchObject({ rows: [{ key: "a", hash: contentHash(other) }] });
});

test("of a part of a span that a run has read, the whole span is kept with its rows", () => {
  const read = valuesRead([part, b], VALUES);
  expect(new Set(read.keys())).toEqual(new Set([a, b, rows]));
  expect(rowsOfValue(rows, read.get(rows)!)).toEqual([a, b]);
  expect(read.get(rows)).toEqual(directoryOf("t", ["b", "a", "a"], VALUES));
  expect([...valuesRead([count], VALUES).keys()]).toEqual([count]);
  expect(valuesRead([unitId("u", "x"), spanId({ ...ALL, table: "u", kind: "rows" })], VALUES)).toEqual(
    new Map([[unitId("u", "x"), null]]),
  );
});
