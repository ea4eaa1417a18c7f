import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborWriter } from "./cbor.ts";
import { compareKeys, isItemId, isKey, isStoredTable, isTableName, type Key, unitId } from "./ids.ts";
import {
  indexEntryOf,
  indexName,
  indexOf,
  isIndexName,
  itemOfEntry,
  MAX_ENTRY_KEY_BYTES,
  type IndexDeclaration,
} from "./index-entry.ts";
import { MalformedError } from "./malformed-error.ts";
import { spanId, spanOf } from "./span.ts";
import { GOLDEN_ENTRIES, storedRecord } from "./testing/index-entries.ts";

const KEY = "k" as Key;

function named(name: string): IndexDeclaration {
  return indexOf(name)!;
}

function entryKey(name: string, item: Parameters<typeof storedRecord>[0], key: Key = KEY): Key {
  return indexEntryOf(named(name), key, storedRecord(item))!.key;
}

describe("the name of an index", () => {
  test("says its table, its fields and whether it is unique", () => {
    const byAuthor = { name: "posts.author+at", table: "posts", fields: ["author", "at"], unique: false };
    const byEmail = { name: "users=email", table: "users", fields: ["email"], unique: true };
    expect([indexOf("posts.author+at"), indexOf("users=email")]).toEqual([byAuthor, byEmail]);
    expect([indexName(byAuthor), indexName(byEmail)]).toEqual([byAuthor.name, byEmail.name]);
  });

  test.each([
    "posts",
    "posts.",
    ".author",
    "posts.a+",
    "posts.a.b",
    "posts.a=b",
    "1.a",
    "posts.é",
    `t.${"a".repeat(254)}`,
  ])("is not %j", (name) => {
    expect([isIndexName(name), isStoredTable(name)]).toEqual([false, isTableName(name)]);
  });

  test("is not that of a table, and its entries are items with longer keys", () => {
    expect(isTableName("posts.author")).toBe(false);
    const longest = "é".repeat(MAX_ENTRY_KEY_BYTES / 2);
    expect(isItemId(unitId("posts.author", longest))).toBe(true);
    expect(() => unitId("posts.author", `${longest}x`)).toThrow(RangeError);
    expect(() => unitId("posts", longest)).toThrow(RangeError);
    const span = { table: "posts.author", kind: "rows", lo: longest, hi: `${longest}\0` } as const;
    expect(spanOf(spanId(span))).toEqual(span);
  });
});

describe("an entry", () => {
  test.each(GOLDEN_ENTRIES)("of $item in $index is $entry", ({ index, key, item, entry }) => {
    const found = indexEntryOf(named(index), key as Key, storedRecord(item));
    expect(found?.key ?? null).toBe(entry);
    if (found !== null) expect(itemOfEntry(found.value)).toBe(key);
  });

  test("is not there without an item, and of what is not a record with such fields", () => {
    const index = named("t.a");
    expect(indexEntryOf(index, KEY, null)).toBeNull();
    for (const other of [
      new CborWriter().text("a").finish(),
      new CborWriter().map(1).text("a").float(1).finish(),
      new CborWriter().map(1).text("a").array(1).text("x").finish(),
      new CborWriter().map(1).text("b").map(1).text("a").text("x").finish(),
    ])
      expect(indexEntryOf(index, KEY, other)).toBeNull();
    expect(() => indexEntryOf(index, KEY, Uint8Array.of(0xa1))).toThrow(MalformedError);
    expect(() => itemOfEntry(Uint8Array.of(0xa1))).toThrow(MalformedError);
  });

  const text = fc.string({ unit: fc.constantFrom("\0", "\u0001", "\u0002", "a", "b", "\uffff", "😀"), maxLength: 5 });
  const integer = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), fc.bigInt({ min: -300n, max: 300n }));

  test("property: entries are in the order of their fields, then of the items' keys", () => {
    const item = fc.record({ a: text, n: integer, key: text.filter((key) => isKey(key)) });
    fc.assert(
      fc.property(item, item, (one, other) => {
        const [first, second] = [one, other].map(({ key, ...fields }) => entryKey("t.a+n", fields, key));
        const byNumber = one.n < other.n ? -1 : one.n > other.n ? 1 : 0;
        const expected = compareKeys(one.a as Key, other.a as Key) || byNumber || compareKeys(one.key, other.key);
        expect(Math.sign(compareKeys(first!, second!))).toBe(Math.sign(expected));
      }),
      { numRuns: 2_000 },
    );
  });

  test("property: fields that are cut in another way have other entries", () => {
    fc.assert(
      fc.property(text, text, text, text, (a, b, c, d) => {
        const isSame = entryKey("t=a+b", { a, b }) === entryKey("t=a+b", { a: c, b: d });
        expect(isSame).toBe(a === c && b === d);
      }),
    );
  });
});
