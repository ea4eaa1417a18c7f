import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commitId, compareCommits, isKey, isItemId, MAX_KEY_BYTES, NO_COMMIT, splitUnit, unitId } from "./ids.ts";

describe("units", () => {
  test("table and key come back, also with slashes in the key", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), (key) => {
        const unit = unitId("follows", key);
        expect(isItemId(unit)).toBe(true);
        expect(splitUnit(unit)).toEqual({ table: "follows", key });
      }),
    );
    expect(splitUnit(unitId("a", "b/c"))).toEqual({ table: "a", key: "b/c" });
  });

  test.each([
    ["bad table", "k"],
    ["", "k"],
    ["t", ""],
    ["t", "\ud800"],
    ["t", "x".repeat(MAX_KEY_BYTES + 1)],
    ["t", "é".repeat(MAX_KEY_BYTES / 2 + 1)],
  ])("refuses table %j with key %j", (table, key) => {
    expect(() => unitId(table, key)).toThrow(RangeError);
  });

  test("the longest key is counted in UTF-8 bytes", () => {
    expect(isKey("é".repeat(MAX_KEY_BYTES / 2))).toBe(true);
    expect(isKey("😀".repeat(MAX_KEY_BYTES / 4))).toBe(true);
    expect(isKey("😀".repeat(MAX_KEY_BYTES / 4) + "x")).toBe(false);
  });
});

test("commit ids are ordered as their parts are", () => {
  const part = fc.tuple(fc.nat(0xffffffff), fc.nat(2 ** 31 - 1));
  fc.assert(
    fc.property(part, part, ([e1, s1], [e2, s2]) => {
      const expected = Math.sign(e1 - e2) || Math.sign(s1 - s2);
      expect(compareCommits(commitId(e1, s1), commitId(e2, s2))).toBe(expected);
    }),
  );
  expect(compareCommits(NO_COMMIT, commitId(0, 1))).toBe(-1);
  expect(() => commitId(1, -1)).toThrow(RangeError);
  expect(() => commitId(2 ** 32, 0)).toThrow(RangeError);
});
