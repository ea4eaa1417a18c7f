import { execFileSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  commitId,
  countEntry,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  type KeyInterval,
  keySuccessor,
  type Span,
  spanId,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { describeCache, item } from "../../e2e/cache-conformance.ts";
import type { HeldMemory } from "../../e2e/cache-memory.ts";
import { scanUnit } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import { MemoryCache } from "./memory-cache.ts";

const UNREACHABLE = {
  unreachable: "the memory of an isolate",
  scansNothing: "memory knows the rows of spans, whatever asked for them",
};

describeCache(
  "memory",
  () => ({
    fresh: (maxBytes) => new MemoryCache(maxBytes),
    close: async () => undefined,
  }),
  UNREACHABLE,
);

const unit = (index: number) => unitId("notes", String(index));
const kilobyte = "x".repeat(1_000);

test("bounded by bytes: the least recently used goes first", async () => {
  const cache = new MemoryCache(10_000);
  for (let index = 0; index < 5; index++)
    await cache.putMany([{ unit: unit(index), entry: item(index + 1, kilobyte) }]);
  await cache.getMany([unit(0)]);
  for (let index = 5; index < 10; index++)
    await cache.putMany([{ unit: unit(index), entry: item(index + 1, kilobyte) }]);
  const held = await cache.getMany(Array.from({ length: 10 }, (_, index) => unit(index)));
  expect(held.size).toBeLessThan(10);
  expect(held.has(unit(0))).toBe(true);
  expect(held.has(unit(1))).toBe(false);
  expect(held.has(unit(9))).toBe(true);
});

const MEASURED = fileURLToPath(new URL("../../e2e/cache-memory.ts", import.meta.url));

function measured(maxBytes: number, what: number | "directories"): HeldMemory {
  const args = ["--expose-gc", "--conditions=source", MEASURED, String(maxBytes), String(what)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as HeldMemory;
}

test.each([0, 20, 300, 5_000])(
  "it takes no more memory than it may, and a good part of that: values of %i bytes",
  (size) => {
    const maxBytes = 8_000_000;
    const { bytes, hasFirst } = measured(maxBytes, size);
    expect(bytes).toBeLessThan(maxBytes);
    // Of small entries a third of the bound or nearly all: the engine may keep a map's earlier table beside the present one.
    expect(bytes).toBeGreaterThan(maxBytes / 5);
    expect(hasFirst).toBe(false);
  },
);

test("replacing frees what was there", async () => {
  const cache = new MemoryCache(10_000);
  await cache.putMany([{ unit: unit(0), entry: item(1, "kept") }]);
  for (let sequence = 1; sequence <= 100; sequence++) {
    await cache.putMany([{ unit: unit(1), entry: item(sequence, kilobyte) }]);
  }
  expect((await cache.getMany([unit(0), unit(1)])).size).toBe(2);
});

test("an entry larger than the cache is not kept", async () => {
  const cache = new MemoryCache(500);
  await cache.putMany([{ unit: unit(0), entry: item(1, kilobyte) }]);
  expect(await cache.getMany([unit(0)])).toEqual(new Map());
});

test("whether it holds an entry is told without a use of it", () => {
  const cache = new MemoryCache(2_000);
  cache.put([0, 1].map((index) => ({ unit: unit(index), entry: item(1, "x") })));
  expect([0, 1, 2].map((index) => cache.holds(unit(index)))).toEqual([true, true, false]);
  cache.put([2, 3].map((index) => ({ unit: unit(index), entry: item(1, "x") })));
  expect(cache.holds(unit(0))).toBe(false);
});

const NOTES: KeyInterval = { table: "notes", lo: "", hi: "" };
const ROWS = spanId({ ...NOTES, kind: "rows" });
const COUNT = spanId({ ...NOTES, kind: "count" });

function rowOf(of: UnitId, { version: { commitId: id, hash } }: Entry): DirectoryRow {
  return { key: splitUnit(of).key, commitId: id, hash: hash! };
}

test("puts of items patch the rows that are known, and no others", () => {
  const cache = new MemoryCache();
  cache.put([{ unit: unit(1), entry: item(1, "before the directory") }]);
  expect(cache.directories.rowsOf(NOTES)).toBeUndefined();
  const old = item(2, "old");
  cache.put([{ unit: ROWS, entry: directoryEntry(commitId(1, 5), [rowOf(unit(2), old), rowOf(unit(3), old)]) }]);
  const [changed, added] = [item(7, "changed"), item(8, "added")];
  cache.put([
    { unit: unit(2), entry: changed },
    { unit: unit(3), entry: entryOf(commitId(1, 7), null) },
    { unit: unit(4), entry: added },
    // As of the directory there is no such row.
    { unit: unit(5), entry: item(4, "deleted since") },
  ]);
  expect(cache.directories.rowsOf(NOTES)).toEqual({
    rows: [rowOf(unit(2), changed), rowOf(unit(4), added)],
    reachesEnd: true,
    asOf: commitId(1, 5),
  });
});

test("a put that comes late patches nothing", () => {
  const cache = new MemoryCache();
  const rows = [rowOf(unit(1), item(6, "new"))];
  cache.put([
    { unit: unit(1), entry: item(6, "new") },
    { unit: ROWS, entry: directoryEntry(commitId(1, 6), rows) },
  ]);
  cache.put([{ unit: unit(1), entry: item(3, "old") }]);
  expect(cache.directories.rowsOf(NOTES)?.rows).toEqual(rows);
});

test("own writes patch the directory that comes with them, in whatever order they are named", () => {
  const cache = new MemoryCache();
  const own = item(7, "mine");
  cache.put([
    { unit: unit(1), entry: own },
    { unit: ROWS, entry: directoryEntry(commitId(0, 0), []) },
  ]);
  expect(cache.directories.rowsOf(NOTES)?.rows).toEqual([rowOf(unit(1), own)]);
});

test("a number stays when an item is replaced, and grows when one comes", () => {
  const cache = new MemoryCache();
  cache.put([
    { unit: unit(1), entry: item(1, "one") },
    { unit: COUNT, entry: countEntry(commitId(1, 5), 1) },
  ]);
  cache.put([{ unit: unit(1), entry: item(6, "another") }]);
  expect(cache.directories.count(NOTES)?.count).toBe(1);
  cache.put([{ unit: unit(2), entry: item(7, "two") }]);
  expect(cache.directories.count(NOTES)?.count).toBe(2);
});

test("it holds items within rows that it knows, and spans that it knows something of", () => {
  const cache = new MemoryCache();
  const early: Span = { table: "notes", kind: "rows", lo: "", hi: keySuccessor("1") };
  cache.put([{ unit: spanId(early), entry: directoryEntry(commitId(1, 5), []) }]);
  expect([unit(0), unit(1), unit(2)].map((each) => cache.holds(each))).toEqual([true, true, false]);
  const late = spanId({ table: "notes", kind: "rows", lo: "2", hi: "" });
  expect([spanId(early), ROWS, late, COUNT].map((each) => cache.holds(each))).toEqual([true, true, false, false]);
});

test("directories take a quarter of the memory at most beside the rows that came last, and the rest is for items", () => {
  const cache = new MemoryCache(40_000);
  const others: KeyInterval = { ...NOTES, table: "others" };
  const put = ({ table }: KeyInterval, length: number): CachePut => {
    const rows = Array.from({ length }, (_, index) => rowOf(unitId(table, String(100 + index)), item(1, "x")));
    return { unit: spanId({ table, lo: "", hi: "", kind: "rows" }), entry: directoryEntry(commitId(1, 5), rows) };
  };
  const known = (of: KeyInterval): number | undefined => cache.directories.rowsOf(of)?.rows.length;
  cache.put([put(NOTES, 100)]);
  expect(known(NOTES)).toBe(100);
  cache.put([put(others, 10)]);
  expect([known(NOTES), known(others)]).toEqual([undefined, 10]);
  cache.put([put(NOTES, 10)]);
  expect([known(NOTES), known(others)]).toEqual([10, 10]);
});

test("scans that were asked for are handed on when their rows change, with as many rows as were asked for, and some", () => {
  const cache = new MemoryCache();
  const rows = Array.from({ length: 40 }, (_, index) => rowOf(unitId("notes", String(100 + index)), item(1, "x")));
  const put = { unit: ROWS, entry: directoryEntry(commitId(1, 5), rows) };
  cache.put([put]);
  expect(cache.scansAround([put])).toEqual([]);
  cache.directories.walk({ ...NOTES, limit: 10, isReversed: true });
  const other = { unit: unitId("others", "a"), entry: item(1, "x") };
  expect(cache.scansAround([other])).toEqual([]);
  for (const changed of [put, { unit: unitId("notes", "a"), entry: item(1, "x") }]) {
    const [scan, ...rest] = cache.scansAround([changed]);
    expect([scan?.unit, rest]).toEqual([scanUnit({ ...NOTES, kind: "rows" }), []]);
    const fresh = new MemoryCache();
    fresh.put([scan!]);
    expect(fresh.directories.walk({ ...NOTES, limit: 18, isReversed: true })?.rows).toEqual(
      rows.slice(-18).toReversed(),
    );
    expect(fresh.directories.walk({ ...NOTES, limit: 19, isReversed: true })?.reachesEnd).toBe(false);
    expect(fresh.directories.rowsOf(NOTES)).toBeUndefined();
  }
});

test("of many scans around a change the newest are handed on", () => {
  const cache = new MemoryCache();
  cache.put([{ unit: ROWS, entry: directoryEntry(commitId(1, 5), []) }]);
  const queries = Array.from({ length: 300 }, (_, index) => ({ ...NOTES, hi: String(1_000 + index) }));
  for (const query of queries) cache.directories.walk({ ...query, limit: 1, isReversed: false });
  const scans = cache.scansAround([{ unit: unit(1), entry: item(1, "x") }]).map((put) => put.unit);
  expect(scans).toEqual(queries.slice(-8).map((query) => scanUnit({ ...query, kind: "rows" })));
});

test("directories take no more memory than they may, and most of that", () => {
  const maxBytes = 8_000_000;
  const { bytes } = measured(maxBytes, "directories");
  expect(bytes).toBeLessThan(maxBytes / 4);
  expect(bytes).toBeGreaterThan(maxBytes / 8);
});

test("is forgotten as a whole when it is too old, or was purged: items, rows and what was asked", () => {
  let nowMs = 1_000;
  const cache = new MemoryCache(40_000, { maxAgeMs: 500, now: () => nowMs });
  const row = { key: splitUnit(unit(1)).key, commitId: commitId(1, 1), hash: item(1, "one").version.hash! };
  const span: Span = { table: "notes", kind: "rows", lo: "", hi: "" };
  const fill = (): void =>
    void cache.put([
      { unit: unit(1), entry: item(1, "one") },
      { unit: spanId(span), entry: directoryEntry(commitId(1, 1), [row]) },
    ]);
  const holds = (): readonly boolean[] => [cache.holds(unit(1)), cache.holds(spanId(span))];
  for (const [passedMs, purgedAtMs] of [
    [500, 0],
    [0, 1_501],
  ] as const) {
    fill();
    cache.renew(0);
    expect(holds()).toEqual([true, true]);
    nowMs += passedMs;
    cache.renew(purgedAtMs);
    expect(holds()).toEqual([false, false]);
    expect(cache.scansAround([{ unit: unit(1), entry: item(2, "two") }])).toEqual([]);
  }
  expect(cache.emptySinceMs).toBe(1_501);
});
