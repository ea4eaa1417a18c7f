import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byUnit, compareKeys, type Key, type UnitId, unitId } from "./ids.ts";
import { spanId } from "./span.ts";
import { bound, interval, key, table } from "./testing/span-arbitraries.ts";
import { ItemMap, overlaps, SpanMap, type UnitMap } from "./units.ts";

const item = fc.tuple(table, key).map(([of, name]) => unitId(of, name));
const span = fc.tuple(interval, fc.constantFrom("rows", "count")).map(([of, kind]) => spanId({ ...of, kind }));
const gate = fc.constant("" as UnitId);

interface Instance {
  readonly name: string;
  readonly create: () => UnitMap<number>;
  readonly units: fc.Arbitrary<UnitId>;
}

const INSTANCES: readonly Instance[] = [
  { name: "items", create: () => new ItemMap(), units: fc.oneof(item, gate) },
  { name: "items and spans", create: () => new SpanMap(), units: fc.oneof(item, span, gate) },
];

describe.each(INSTANCES)("a map of $name", ({ create, units }) => {
  test("property: a unit overlaps itself, and units overlap each other", () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        expect(overlaps(a, a)).toBe(true);
        expect(overlaps(a, b)).toBe(overlaps(b, a));
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
          const expected = [...model].filter(([kept]) => overlaps(kept, unit));
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

test("a map of items and spans keeps the order of a table also when many other tables have had spans", () => {
  const map = new SpanMap<number>();
  const of = (name: string): UnitId => spanId({ table: name, kind: "rows", lo: "b", hi: "d" });
  map.set(unitId("t", "c"), 1);
  expect(map.hasOverlapping(of("t"))).toBe(true);
  for (let i = 0; i < 200; i++) {
    map.set(of(`u${i}`), 1);
    map.delete(of(`u${i}`));
  }
  map.set(unitId("t", "b"), 2);
  map.set(of("t"), 3);
  expect(map.overlapping(of("t")).map(([unit]) => unit)).toEqual([of("t"), "t/b", "t/c"]);
  map.delete(unitId("t", "c"));
  expect(map.overlapping(unitId("t", "b")).map(([unit]) => unit)).toEqual(["t/b", of("t")]);
});

test("a span overlaps the items of its interval, in the order of UTF-8 bytes, and no other span", () => {
  const within = spanId({ table: "t", kind: "rows", lo: "b", hi: "d" });
  expect(["a", "b", "c", "d"].filter((name) => overlaps(within, unitId("t", name)))).toEqual(["b", "c"]);
  expect(overlaps(within, unitId("u", "c"))).toBe(false);
  expect(overlaps(within, spanId({ table: "t", kind: "rows", lo: "c", hi: "e" }))).toBe(false);
  // By UTF-16 U+1F600 comes before U+FFFF.
  const high = spanId({ table: "t", kind: "count", lo: "\uffff", hi: "\u{10ffff}" });
  expect(overlaps(high, unitId("t", "😀"))).toBe(true);
});

describe("order", () => {
  test("property: keys and units are ordered by their UTF-8 bytes", () => {
    const wellFormed = fc.oneof(bound, fc.string({ unit: "binary", maxLength: 20 }));
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
