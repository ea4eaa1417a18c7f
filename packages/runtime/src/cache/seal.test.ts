import { commitId, entryOf, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { type Stored, sealOf, unsealed } from "./seal.ts";

const unit = unitId("notes", "a");
const entry = entryOf(commitId(1, 1), new Uint8Array([1, 2, 3]));
const stored: Stored = { seal: sealOf("app/VA", unit, entry.version), ...entry.version, value: entry.value };
const other = entryOf(commitId(1, 2), new Uint8Array([1, 2, 4]));

test("an entry is what was sealed for this owner and unit, in this version, with this content", () => {
  expect(unsealed("app/VA", unit, stored)).toEqual(entry);
  expect(unsealed("another/VA", unit, stored)).toBeNull();
  expect(unsealed("app/JP", unit, stored)).toBeNull();
  expect(unsealed("app/VA", unitId("notes", "b"), stored)).toBeNull();
  expect(unsealed("app/VA", unit, { ...stored, commitId: other.version.commitId })).toBeNull();
  expect(unsealed("app/VA", unit, { ...stored, hash: other.version.hash })).toBeNull();
  expect(unsealed("app/VA", unit, { ...stored, value: other.value })).toBeNull();
  expect(unsealed("app/VA", unit, { ...stored, hash: other.version.hash, value: other.value })).toBeNull();
  expect(unsealed("app/VA", unit, { ...stored, hash: null, value: null })).toBeNull();
});
