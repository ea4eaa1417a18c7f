import { describe, expect, test } from "vitest";
import { commitId, unitId } from "./ids.ts";
import { directoryRow } from "./testing/span-arbitraries.ts";
import { spanId } from "./span.ts";
import { countEntry, directoryEntry, entryOf, isIntact, sameVersion } from "./version.ts";

const unit = unitId("t", "a");
const value = Uint8Array.of(1, 2, 3);
const first = commitId(1, 1);
const second = commitId(1, 2);

test("a version is a commit id bound to its content", () => {
  expect(sameVersion(unit, entryOf(first, value).version, entryOf(first, value).version)).toBe(true);
  expect(sameVersion(unit, entryOf(first, value).version, entryOf(second, value).version)).toBe(false);
  expect(sameVersion(unit, entryOf(first, value).version, entryOf(first, Uint8Array.of(9)).version)).toBe(false);
});

test("absent is absent, as of whichever commit", () => {
  expect(sameVersion(unit, entryOf(first, null).version, entryOf(second, null).version)).toBe(true);
  expect(sameVersion(unit, entryOf(first, null).version, entryOf(first, value).version)).toBe(false);
});

test("an entry whose bytes changed is not intact", () => {
  const entry = entryOf(first, value);
  expect(isIntact(unit, entry)).toBe(true);
  expect(isIntact(unit, { ...entry, value: Uint8Array.of(1, 2, 4) })).toBe(false);
  expect(isIntact(unit, { ...entry, value: null })).toBe(false);
  expect(isIntact(unit, entryOf(first, null))).toBe(true);
});

describe("a span", () => {
  const rows = spanId({ table: "t", kind: "rows", lo: "b", hi: "d" });
  const count = spanId({ table: "t", kind: "count", lo: "b", hi: "d" });
  const row = directoryRow("b", first, value);

  test("has the same version whenever its rows are the same, whatever the commit ids say as of when", () => {
    const [early, late] = [directoryEntry(first, [row]), directoryEntry(second, [row])];
    expect(sameVersion(rows, early.version, late.version)).toBe(true);
    expect(sameVersion(unit, early.version, late.version)).toBe(false);
    for (const other of [
      directoryRow("c", first, value),
      directoryRow("b", second, value),
      directoryRow("b", first, Uint8Array.of(9)),
    ])
      expect(sameVersion(rows, early.version, directoryEntry(first, [other]).version)).toBe(false);
    expect(sameVersion(count, countEntry(first, 3).version, countEntry(second, 3).version)).toBe(true);
    expect(sameVersion(count, countEntry(first, 3).version, countEntry(first, 4).version)).toBe(false);
  });

  test("is intact if its directory has its digest, and rows of the interval only", () => {
    const entry = directoryEntry(first, [row]);
    expect(isIntact(rows, entry)).toBe(true);
    expect(isIntact(rows, directoryEntry(first, []))).toBe(true);
    expect(isIntact(rows, { ...entry, value: directoryEntry(first, []).value })).toBe(false);
    expect(isIntact(rows, { ...entry, value: Uint8Array.of(0xff) })).toBe(false);
    expect(isIntact(rows, directoryEntry(first, [directoryRow("d", first, value)]))).toBe(false);
    expect(isIntact(rows, entryOf(first, null))).toBe(false);
    expect(isIntact(count, countEntry(first, 3))).toBe(true);
    expect(isIntact(count, { ...countEntry(first, 3), value: countEntry(first, 4).value })).toBe(false);
  });
});
