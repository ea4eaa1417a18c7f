import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commitId, compareKeys, isItemId, type Key, MAX_KEY_BYTES, unitId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  contains,
  countHash,
  decodeCount,
  decodeDirectory,
  Digest,
  digestOf,
  encodeCount,
  encodeDirectory,
  isEmptyInterval,
  isSpan,
  isUnitId,
  keySuccessor,
  observedSpan,
  prefixEnd,
  spanId,
  spanOf,
} from "./span.ts";
import { anyBound, directoryRow, interval, key, rows, table } from "./testing/span-arbitraries.ts";

const kind = fc.constantFrom("rows", "count");

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

describe("the unit of a span", () => {
  test("reads as table, kind, length of the lower bound, and both bounds", () => {
    expect(spanId({ table: "posts", kind: "rows", lo: "room", hi: "roon" })).toBe("posts:v4/roomroon");
    expect(spanId({ table: "posts", kind: "count", lo: "", hi: "" })).toBe("posts:n0/");
    // The length is in UTF-16.
    expect(spanId({ table: "posts", kind: "count", lo: "😀", hi: "é/:" })).toBe("posts:n2/😀é/:");
  });

  test("property: its parts come back, whatever the bounds are", () => {
    fc.assert(
      fc.property(table, kind, anyBound, anyBound, (of, what, lo, hi) => {
        const unit = spanId({ table: of, kind: what, lo, hi });
        expect(spanOf(unit)).toEqual({ table: of, kind: what, lo, hi });
        expect([isSpan(unit), isUnitId(unit), isItemId(unit)]).toEqual([true, true, false]);
      }),
    );
  });

  test("property: an item is not a span, whatever its key is", () => {
    fc.assert(
      fc.property(table, fc.oneof(key, fc.constantFrom("a:v1/b", ":v0/", "v0:/")), (of, name) => {
        const unit = unitId(of, name);
        expect([isSpan(unit), isUnitId(unit), spanOf(unit)]).toEqual([false, true, null]);
      }),
    );
  });

  test.each([
    ["another kind", "t:k0/"],
    ["no length", "t:v/"],
    ["a length with a zero before it", "t:v01/ab"],
    ["a lower bound that is too short", "t:v3/ab"],
    ["a length of many digits", "t:v10000/ab"],
    ["no slash", "t:v0"],
    ["no table", ":v0/"],
    ["a bad table", "1:v0/"],
    ["two kinds", "t:v0:v0/"],
    ["a length that splits a character", "t:v1/😀"],
    ["a lone surrogate", "t:v1/\ud83d"],
    ["a bound that is too long", `t:v0/${"x".repeat(MAX_KEY_BYTES + 2)}`],
  ])("is not read from a text with %s", (_what, text) => {
    expect([spanOf(text), isUnitId(text)]).toEqual([null, false]);
  });

  test("is not made of a bad table or bound", () => {
    const span = { table: "t", kind: "rows", lo: "", hi: "" } as const;
    const longest = keySuccessor("x".repeat(MAX_KEY_BYTES));
    expect(spanOf(spanId({ ...span, lo: longest }))?.lo).toBe(longest);
    for (const wrong of [{ table: "1" }, { lo: "\ud800" }, { hi: "\udfff" }, { hi: `${longest}x` }])
      expect(() => spanId({ ...span, ...wrong })).toThrow(RangeError);
  });
});

describe("an interval", () => {
  test("property: it has the keys between its bounds, by their UTF-8 bytes", () => {
    fc.assert(
      fc.property(interval, key, (within, name) => {
        const { lo, hi } = within;
        const isWithin =
          Buffer.compare(bytes(lo), bytes(name)) <= 0 && (hi === "" || Buffer.compare(bytes(name), bytes(hi)) < 0);
        expect(contains(within, name)).toBe(isWithin);
        if (isWithin) expect(isEmptyInterval(within)).toBe(false);
      }),
    );
  });

  test("property: the prefix and the end of a prefix have the keys between them that begin with the prefix", () => {
    const prefix = fc.oneof(
      anyBound,
      key,
      fc.constantFrom("a\u{10ffff}", "\u{10ffff}\u{10ffff}", "\u{d7ff}", "\u{ffff}", "b😀"),
    );
    fc.assert(
      fc.property(prefix, fc.oneof(key, anyBound), fc.boolean(), (begin, rest, isBegun) => {
        const name = (isBegun ? begin + rest : rest) as Key;
        const end = prefixEnd(begin);
        expect(end.isWellFormed()).toBe(true);
        expect(contains({ table: "t", lo: begin, hi: end }, name)).toBe(name.startsWith(begin));
      }),
      { numRuns: 1_000 },
    );
  });

  test("the end of a prefix is the successor of its last character that has one", () => {
    const cases = { a: "b", "a\u{7f}": "a\u{80}", "a\u{d7ff}": "a\u{e000}", "a\u{ffff}": "a\u{10000}" };
    for (const [prefix, end] of Object.entries(cases)) expect(prefixEnd(prefix)).toBe(end);
    expect(prefixEnd("😀")).toBe("😁");
    expect(prefixEnd("a\u{10ffff}\u{10ffff}")).toBe("b");
    expect(prefixEnd("\u{10ffff}")).toBe("");
    expect(prefixEnd("")).toBe("");
  });

  test("property: nothing is between a key and its successor", () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(compareKeys(a, keySuccessor(a) as Key)).toBeLessThan(0);
        if (compareKeys(a, b) < 0) expect(compareKeys(keySuccessor(a) as Key, b)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe("the observed span", () => {
  const query = { table: "t", lo: "a", hi: "x", limit: 2 };
  const seen = ["b", "c"] as Key[];

  test("goes to the last row seen, and has it", () => {
    const forward = observedSpan({ ...query, isReversed: false }, seen, false);
    expect(forward).toEqual({ table: "t", kind: "rows", lo: "a", hi: "c\0" });
    const backward = observedSpan({ ...query, isReversed: true }, seen.toReversed(), false);
    expect(backward).toEqual({ table: "t", kind: "rows", lo: "b", hi: "x" });
  });

  test("is the whole interval if the walk has reached the end", () => {
    for (const isReversed of [true, false])
      for (const keys of [seen, []])
        expect(observedSpan({ ...query, isReversed }, keys, true)).toEqual({
          table: "t",
          kind: "rows",
          lo: "a",
          hi: "x",
        });
  });

  test("is not known of a walk that has seen nothing and goes on", () => {
    expect(() => observedSpan({ ...query, isReversed: false }, [], false)).toThrow(RangeError);
  });
});

describe("a directory", () => {
  test("property: it comes back from its bytes", () => {
    fc.assert(
      fc.property(rows, (list) => {
        expect(decodeDirectory(encodeDirectory(list))).toEqual(list);
      }),
    );
  });

  test("keeps the largest commit id and hash", () => {
    const row = { key: "a" as Key, commitId: commitId(0xffffffff, 0xffffffffffff), hash: countHash(0) };
    const last = { ...row, key: "b" as Key, hash: "ffffffffffffffff" as typeof row.hash };
    expect(decodeDirectory(encodeDirectory([row, last]))).toEqual([row, last]);
  });

  test("is malformed if its keys do not grow, or its bytes are damaged", () => {
    const [a, b] = [
      directoryRow("a", commitId(1, 1), Uint8Array.of(1)),
      directoryRow("b", commitId(1, 1), Uint8Array.of(1)),
    ];
    for (const wrong of [[b, a], [a, a], [{ ...a, key: "" as Key }], [{ ...a, key: "x".repeat(1025) as Key }]])
      expect(() => decodeDirectory(encodeDirectory(wrong))).toThrow(MalformedError);
    const whole = encodeDirectory([a, b]);
    for (let length = 0; length < whole.length; length++)
      expect(() => decodeDirectory(whole.subarray(0, length))).toThrow(MalformedError);
    expect(() => decodeDirectory(Uint8Array.of(...whole, 0))).toThrow(MalformedError);
  });

  test("property: damaged bytes are malformed, or a directory", () => {
    fc.assert(
      fc.property(rows, fc.nat(), fc.nat(255), (list, at, byte) => {
        const damaged = encodeDirectory(list);
        damaged[at % damaged.length] = byte;
        try {
          expect(encodeDirectory(decodeDirectory(damaged))).toEqual(damaged);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
    );
  });
});

describe("a digest", () => {
  test("property: it is a sum, so order does not matter and a removed row leaves no trace", () => {
    fc.assert(
      fc.property(rows, rows, fc.nat(), (kept, gone, at) => {
        const from = kept.length === 0 ? 0 : at % kept.length;
        const digest = new Digest();
        for (const row of [...gone, ...kept.slice(from), ...kept.slice(0, from)]) digest.add(row);
        for (const row of gone) digest.remove(row);
        expect(digest.hash).toBe(digestOf(kept));
        const parts = new Digest().addWords(...new Digest().words);
        for (const part of [kept.slice(0, from), kept.slice(from)]) {
          const sum = new Digest();
          for (const row of part) sum.add(row);
          parts.addWords(...sum.words);
        }
        expect(parts.hash).toBe(digestOf(kept));
      }),
    );
  });

  test("changes with key, commit id and value of a row", () => {
    const row = directoryRow("a", commitId(1, 1), Uint8Array.of(1));
    const others = [
      directoryRow("b", commitId(1, 1), Uint8Array.of(1)),
      directoryRow("a", commitId(1, 2), Uint8Array.of(1)),
      directoryRow("a", commitId(1, 1), Uint8Array.of(2)),
    ];
    const digests = [[], [row], ...others.map((other) => [other]), [row, others[0]!]].map(digestOf);
    expect(new Set(digests).size).toBe(digests.length);
    expect(digestOf([])).toBe("0000000000000000");
  });

  test("is what earlier releases computed", () => {
    const row = directoryRow("room/1", commitId(3, 77), Uint8Array.of(1, 2, 3));
    expect(digestOf([row])).toMatchInlineSnapshot(`"1ae5508e4d0c047c"`);
  });
});

test("a count is its own hash, and comes back from its bytes", () => {
  expect(countHash(255)).toBe("00000000000000ff");
  expect(decodeCount(encodeCount(1_000_000))).toBe(1_000_000);
  expect(() => decodeCount(Uint8Array.of(0x20))).toThrow(MalformedError);
  expect(() => decodeCount(Uint8Array.of(1, 1))).toThrow(MalformedError);
});
