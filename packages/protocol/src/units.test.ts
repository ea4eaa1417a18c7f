import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byUnit, compareKeys, type Key, type UnitId, unitId } from "./ids.ts";
import { SpanMap, spanOf, spansOverlap } from "./testing/span-map.ts";
import { ItemMap, overlaps, type UnitMap } from "./units.ts";

const text = fc.string({
  unit: fc.constantFrom("a", "b", "é", "\u{ffff}", "\u{e000}", "😀", "\u{10ffff}"),
  maxLength: 3,
});
const key = text.filter((each) => each !== "");
const table = fc.constantFrom("t", "u");
const item = fc.tuple(table, key).map(([of, name]) => unitId(of, name));
const span = fc.tuple(table, text, text).map(([of, low, high]) => spanOf(of, low, high));

interface Instance {
  readonly name: string;
  readonly create: () => UnitMap<number>;
  readonly overlaps: (a: UnitId, b: UnitId) => boolean;
  readonly units: fc.Arbitrary<UnitId>;
}

const INSTANCES: readonly Instance[] = [
  { name: "items", create: () => new ItemMap(), overlaps, units: fc.oneof(item, fc.constant("" as UnitId)) },
  { name: "items and spans", create: () => new SpanMap(), overlaps: spansOverlap, units: fc.oneof(item, span) },
];

describe.each(INSTANCES)("a map of $name", ({ create, overlaps: overlap, units }) => {
  test("property: a unit overlaps itself, and units overlap each other", () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        expect(overlap(a, a)).toBe(true);
        expect(overlap(a, b)).toBe(overlap(b, a));
      }),
    );
  });

  test("property: it keeps what a Map keeps, and finds each kept unit that overlaps", () => {
    const change = fc.record({ unit: units, value: fc.option(fc.nat(9), { freq: 3 }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), fc.array(units, { maxLength: 5 }), (changes, asked) => {
        const map = create();
        const model = new Map<UnitId, number>();
        for (const { unit, value } of changes) {
          if (value === null) expect(map.delete(unit)).toBe(model.delete(unit));
          else {
            map.set(unit, value);
            model.set(unit, value);
          }
        }
        expect(map.size).toBe(model.size);
        expect(new Map(map)).toEqual(model);
        for (const unit of [...asked, ...model.keys()]) {
          const expected = [...model].filter(([kept]) => overlap(kept, unit));
          expect(map.get(unit)).toBe(model.get(unit));
          expect(new Map(map.overlapping(unit))).toEqual(new Map(expected));
          expect(map.hasOverlapping(unit)).toBe(expected.length > 0);
        }
      }),
    );
  });

  test("property: overlapping units may be deleted while they are gone through", () => {
    fc.assert(
      fc.property(fc.uniqueArray(units, { minLength: 1 }), (kept) => {
        const map = create();
        for (const unit of kept) map.set(unit, 1);
        for (const [unit] of map.overlapping(kept[0]!)) map.delete(unit);
        expect(map.hasOverlapping(kept[0]!)).toBe(false);
      }),
    );
  });
});

test("a span has the keys from its lower end up to its upper end, in the order of UTF-8 bytes", () => {
  const within = spanOf("t", "b", "d");
  expect(["a", "b", "c", "d"].filter((name) => spansOverlap(within, unitId("t", name)))).toEqual(["b", "c"]);
  expect(spansOverlap(within, unitId("u", "c"))).toBe(false);
  expect(spansOverlap(within, spanOf("t", "c", "e"))).toBe(true);
  expect(spansOverlap(within, spanOf("t", "d", "e"))).toBe(false);
  // By UTF-16 U+1F600 comes before U+FFFF.
  expect(spansOverlap(spanOf("t", "\uffff", "\u{10ffff}"), unitId("t", "😀"))).toBe(true);
});

describe("order", () => {
  test("property: keys and units are ordered by their UTF-8 bytes", () => {
    const wellFormed = fc.oneof(text, fc.string({ unit: "binary", maxLength: 20 }));
    fc.assert(
      fc.property(wellFormed, wellFormed, wellFormed, (prefix, a, b) => {
        const [x, y] = [prefix + a, prefix + b];
        expect(Math.sign(compareKeys(x as Key, y as Key))).toBe(Buffer.compare(Buffer.from(x), Buffer.from(y)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a key above U+FFFF comes after all below, unlike by JavaScript's own order", () => {
    const units = ["\u{10000}", "\uffff", "\ue000", "\ud7ff", "a", "ab"].map((name) => ({ unit: unitId("t", name) }));
    const sorted = units.toSorted(byUnit).map(({ unit }) => unit.slice(2));
    expect(sorted).toEqual(["a", "ab", "\ud7ff", "\ue000", "\uffff", "\u{10000}"]);
    expect(sorted.toSorted()).not.toEqual(sorted);
  });
});
