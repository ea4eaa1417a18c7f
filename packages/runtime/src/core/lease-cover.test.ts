import {
  commitId,
  compareBounds,
  contains,
  countEntry,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  isEmptyInterval,
  isSpan,
  type Key,
  keySuccessor,
  type KeyInterval,
  NO_COMMIT,
  type Span,
  spanId,
  SpanMap,
  spanOf,
  splitUnit,
  type UnitId,
  unitId,
  type Version,
} from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Directories } from "./directories.ts";
import { LeaseCover } from "./lease-cover.ts";
import { type KnownRows, NO_ROWS } from "./span-look.ts";

const TABLE = "taken";
const KEYS = ["a", "b", "c", "d", "e", "f"] as Key[];
const ALL: KeyInterval = { table: TABLE, lo: "", hi: "" };

type Rows = readonly DirectoryRow[];

const value = (sequence: number): Entry => entryOf(commitId(1, sequence), Uint8Array.of(sequence));
const row = (key: Key, sequence: number): DirectoryRow => {
  const { commitId: id, hash } = value(sequence).version;
  return { key, commitId: id, hash: hash! };
};
const rowsIn = (interval: KeyInterval, all: Rows): Rows => all.filter(({ key }) => contains(interval, key));
const span = (lo: string, hi: string, kind: Span["kind"] = "rows"): UnitId => spanId({ table: TABLE, kind, lo, hi });

/** The entry of a unit of the table, if these are its rows. */
function entryIn(unit: UnitId, all: Rows): Entry {
  const of = spanOf(unit);
  if (of === null) {
    const { key } = splitUnit(unit);
    const found = all.find((one) => one.key === key);
    return found === undefined ? entryOf(NO_COMMIT, null) : { version: found, value: new Uint8Array() };
  }
  const within = rowsIn(of, all);
  return of.kind === "count" ? countEntry(NO_COMMIT, within.length) : directoryEntry(NO_COMMIT, within);
}

const coverOf = (unit: UnitId, version: Version, leases: SpanMap<Version>, rows: KnownRows): readonly UnitId[] | null =>
  new LeaseCover(leases, rows).of(unit, version);

function leasesOf(units: readonly UnitId[], all: Rows): SpanMap<Version> {
  const leases = new SpanMap<Version>();
  for (const unit of units) leases.set(unit, entryIn(unit, all).version);
  return leases;
}

/** Directories that know these rows of the intervals. */
function knowing(intervals: readonly KeyInterval[], all: Rows): Directories {
  const directories = new Directories(Infinity);
  for (const interval of intervals)
    directories.learn(spanId({ ...interval, kind: "rows" }), directoryEntry(commitId(1, 99), rowsIn(interval, all)));
  return directories;
}

describe("leased spans of rows cover what lies within", () => {
  const now = [row("a" as Key, 1), row("b" as Key, 2), row("d" as Key, 3)];
  const known = knowing([ALL], now);
  const cover = (unit: UnitId, leased: readonly UnitId[], version = entryIn(unit, now).version) =>
    coverOf(unit, version, leasesOf(leased, now), known);

  test("a part, a number of rows, an item, and an item that is absent", () => {
    const leased = span("a", "e");
    const within = [span("b", "d"), span("a", "e", "count"), span("b", "c", "count")];
    for (const unit of [...within, unitId(TABLE, "b"), unitId(TABLE, "c")])
      expect(cover(unit, [leased])).toEqual([leased]);
  });

  test("spans that meet or overlap cover together what none of them has alone", () => {
    const [left, right] = [span("a", "c"), span("c", "e")];
    expect(cover(span("b", "d"), [left, right])).toEqual([left, right]);
    expect(cover(span("a", "e"), [left, span("b", "f")])).toEqual([left, span("b", "f")]);
    expect(cover(span("a", ""), [left, span("b", "")])).toEqual([left, span("b", "")]);
  });

  test("nothing is covered beyond their ends, or in between", () => {
    const [left, right] = [span("a", "c"), span("d", "f")];
    for (const unit of [span("a", "f"), span("b", "d"), span("", "b"), span("e", ""), unitId(TABLE, "c")])
      expect(cover(unit, [left, right])).toBeNull();
    expect(cover(unitId(TABLE, "f"), [right])).toBeNull();
  });

  test("a leased number of rows, and a leased item, cover nothing else", () => {
    expect(cover(span("b", "d"), [span("a", "e", "count"), unitId(TABLE, "b")])).toBeNull();
  });

  test("another version is not the leased one", () => {
    const leased = [span("a", "e")];
    expect(cover(unitId(TABLE, "b"), leased, value(3).version)).toBeNull();
    expect(cover(unitId(TABLE, "c"), leased, value(3).version)).toBeNull();
    expect(cover(span("b", "d"), leased, directoryEntry(NO_COMMIT, []).version)).toBeNull();
    expect(cover(span("b", "d", "count"), leased, countEntry(NO_COMMIT, 2).version)).toBeNull();
  });

  test("rows that memory lacks, or has of another time, show nothing", () => {
    const [unit, leases] = [span("b", "d"), leasesOf([span("a", "e")], now)];
    const { version } = entryIn(unit, now);
    expect(coverOf(unit, version, leases, NO_ROWS)).toBeNull();
    expect(coverOf(unit, version, leases, knowing([{ ...ALL, lo: "b" }], now))).toBeNull();
    expect(coverOf(unit, version, leases, knowing([ALL], [...now.slice(0, 2), row("d" as Key, 4)]))).toBeNull();
  });
});

test("a look compares a leased span once, and no more than a thousand rows", () => {
  const many = Array.from({ length: 700 }, (_, at) => row(`a${1_000 + at}` as Key, 1));
  const all = [...many, ...many.map((one) => ({ ...one, key: `b${one.key}` as Key }))];
  const [left, right] = [span("a", "b"), span("b", "c")];
  let walks = 0;
  const rows = knowing([ALL], all);
  const counting: KnownRows = { ...NO_ROWS, rowsOf: (of) => (walks++, rows.rowsOf(of)) };
  const covers = new LeaseCover(leasesOf([left, right], all), counting);
  for (const { key: of } of many.slice(0, 20)) {
    const item = unitId(TABLE, of);
    expect(covers.of(item, entryIn(item, all).version)).toEqual([left]);
  }
  expect(walks).toBe(1);
  const beyond = unitId(TABLE, `b${many[0]!.key}`);
  expect(covers.of(beyond, entryIn(beyond, all).version)).toBeNull();
});

const key = fc.constantFrom(...KEYS);
const bound = fc.constantFrom("", ...KEYS, ...KEYS.map((one) => keySuccessor(one)));
const rows = fc
  .uniqueArray(fc.tuple(key, fc.integer({ min: 1, max: 3 })), { selector: ([of]) => of })
  .map((drawn) => drawn.map((one) => row(...one)).toSorted((a, b) => compareBounds(a.key, b.key)));
const interval = fc
  .record({ table: fc.constant(TABLE), lo: bound, hi: bound })
  .filter((drawn) => !isEmptyInterval(drawn));
const unit = fc.oneof(
  key.map((one) => unitId(TABLE, one)),
  fc.tuple(interval, fc.constantFrom("rows" as const, "count" as const)).map(([of, kind]) => spanId({ ...of, kind })),
);

test("property: a covered unit has its present version, and what leases of present rows reach is covered", () => {
  fc.assert(
    fc.property(
      fc.record({ now: rows, before: rows, leased: fc.array(unit, { maxLength: 5 }), asked: unit }),
      fc.record({ stale: fc.array(interval, { maxLength: 3 }), fresh: fc.array(interval, { maxLength: 5 }) }),
      fc.boolean(),
      ({ now, before, leased, asked }, { stale, fresh }, readsNow) => {
        const directories = knowing(stale, before);
        for (const of of fresh)
          directories.learn(spanId({ ...of, kind: "rows" }), directoryEntry(commitId(1, 99), rowsIn(of, now)));
        const seen = entryIn(asked, readsNow ? now : before).version;
        const present = entryIn(asked, now).version;
        const cover = coverOf(asked, seen, leasesOf(leased, now), directories);
        if (cover !== null) {
          expect([seen.hash, isSpan(asked) || seen.hash === null || seen.commitId]).toEqual([
            present.hash,
            isSpan(asked) || present.hash === null || present.commitId,
          ]);
          for (const one of cover) expect(leased).toContain(one);
        }
        const spans = leased.map(spanOf).filter((one) => one?.kind === "rows");
        const places = KEYS.flatMap((one) => [one, keySuccessor(one)] as Key[]);
        const of = spanOf(asked) ?? { lo: splitUnit(asked).key, hi: keySuccessor(splitUnit(asked).key) };
        const isReached =
          ["" as Key, ...places].every(
            (place) => !contains({ ...ALL, ...of }, place) || spans.some((one) => one !== null && contains(one, place)),
          ) &&
          seen.hash === present.hash &&
          (isSpan(asked) || seen.hash === null || seen.commitId === present.commitId);
        if (isReached) expect(coverOf(asked, seen, leasesOf(leased, now), knowing([ALL], now))).not.toBeNull();
      },
    ),
    { numRuns: 2_000 },
  );
});
