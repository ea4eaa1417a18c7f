import {
  commitId,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  type KeyInterval,
  spanId,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { describeCache, item } from "../../e2e/cache-conformance.ts";
import { itemsOfStored, scanUnit } from "../core/directories.ts";
import { type Cache, NOTHING_KNOWN } from "./cache.ts";
import { MemoryCache } from "./memory-cache.ts";
import { TieredCache } from "./tiered-cache.ts";

const UNREACHABLE = {
  unreachable: "the memory of an isolate",
  scansNothing: "memory is behind it, which knows the rows of spans, whatever asked for them",
};

describeCache(
  "memory in front of memory",
  () => ({
    fresh: (maxBytes) => new TieredCache(new MemoryCache(maxBytes), new MemoryCache(maxBytes)),
    close: async () => undefined,
  }),
  UNREACHABLE,
);

// Every entry is evicted at once, so that everything comes from behind.
describeCache(
  "a front that keeps nothing",
  () => ({
    fresh: (maxBytes) => new TieredCache(new MemoryCache(1), new MemoryCache(maxBytes)),
    close: async () => undefined,
  }),
  UNREACHABLE,
);

const a = unitId("notes", "a");
const b = unitId("notes", "b");

test("asks behind only for what the front lacks, and remembers it", async () => {
  const front = new MemoryCache();
  const behind = new MemoryCache();
  await front.putMany([{ unit: a, entry: item(1, "front") }]);
  await behind.putMany([
    { unit: a, entry: item(2, "behind") },
    { unit: b, entry: item(2, "behind") },
  ]);
  const cache = new TieredCache(front, behind);
  expect(await cache.getMany([a, b])).toEqual(
    new Map([
      [a, item(1, "front")],
      [b, item(2, "behind")],
    ]),
  );
  expect((await front.getMany([b])).get(b)).toEqual(item(2, "behind"));
});

test("filling the front never moves it backwards", async () => {
  const front = new MemoryCache();
  const behind = new MemoryCache();
  await behind.putMany([{ unit: a, entry: item(1, "old") }]);
  // A write of another request lands in the front while the read behind is under way.
  const slow = {
    peek: () => undefined,
    directories: NOTHING_KNOWN,
    getMany: async (units: readonly (typeof a)[]) => {
      await front.putMany([{ unit: a, entry: item(2, "new") }]);
      return behind.getMany(units);
    },
    putMany: (puts: Parameters<MemoryCache["putMany"]>[0]) => behind.putMany(puts),
  };
  await new TieredCache(front, slow).getMany([a]);
  expect((await front.getMany([a])).get(a)).toEqual(item(2, "new"));
});

/** A store behind memory, which brings the items of scans. */
function store(): Cache & { readonly entries: Map<UnitId, Entry> } {
  const entries = new Map<UnitId, Entry>();
  return {
    entries,
    peek: () => undefined,
    directories: NOTHING_KNOWN,
    getMany: async (units) => {
      const wanted = new Set(units);
      const found = new Map<UnitId, Entry>();
      for (const unit of wanted) {
        const entry = entries.get(unit);
        if (entry === undefined) continue;
        found.set(unit, entry);
        for (const of of itemsOfStored(unit, entry)) wanted.add(of);
      }
      return Promise.resolve(found);
    },
    putMany: (puts) => {
      for (const { unit, entry } of puts) entries.set(unit, entry);
      return Promise.resolve();
    },
  };
}

const NOTES: KeyInterval = { table: "notes", lo: "", hi: "" };
const rowOf = (unit: UnitId, { version }: Entry): DirectoryRow => ({
  key: splitUnit(unit).key,
  commitId: version.commitId,
  hash: version.hash!,
});

test("a fresh isolate knows the rows of a scan that another has asked for, as they are after its writes", async () => {
  const behind = store();
  const first = new TieredCache(new MemoryCache(), behind);
  const query = { ...NOTES, limit: 5, isReversed: false };
  const span = { ...NOTES, kind: "rows" } as const;
  expect(first.directories.walk(query)).toBeUndefined();
  const [one, two] = [item(1, "one"), item(7, "two")];
  const directory = directoryEntry(commitId(1, 5), [rowOf(a, one)]);
  await first.putMany([
    { unit: spanId(span), entry: directory },
    { unit: a, entry: one },
  ]);
  await first.putMany([{ unit: b, entry: two }]);
  // Spans have no place of their own there.
  expect(new Set(behind.entries.keys())).toEqual(new Set([a, b, scanUnit(span)]));
  const second = new TieredCache(new MemoryCache(), behind);
  const found = await second.getMany([scanUnit(span)]);
  expect([...found.keys()]).toEqual([scanUnit(span), a, b]);
  expect(second.directories.walk(query)?.rows).toEqual([rowOf(a, one), rowOf(b, two)]);
  expect([second.peek(a), second.peek(b)]).toEqual([one, two]);
});

test("rows that come from behind are not written there again", async () => {
  const behind = store();
  const cache = new TieredCache(new MemoryCache(), behind);
  const query = { ...NOTES, limit: 5, isReversed: false };
  cache.directories.walk(query);
  await cache.putMany([{ unit: spanId({ ...NOTES, kind: "rows" }), entry: directoryEntry(commitId(1, 5), []) }]);
  const fresh = new TieredCache(new MemoryCache(), { ...behind, putMany: () => Promise.reject(new Error("written")) });
  fresh.directories.walk(query);
  await fresh.getMany([scanUnit({ ...NOTES, kind: "rows" })]);
  expect(fresh.directories.walk(query)?.reachesEnd).toBe(true);
});

test("a memory that holds nothing hands rows on all the same, and shows those that have just come", async () => {
  const behind = store();
  const query = { ...NOTES, limit: 5, isReversed: false };
  const unit = spanId({ ...NOTES, kind: "rows" });
  const cache = new TieredCache(new MemoryCache(0), behind);
  expect(cache.directories.walk(query)).toBeUndefined();
  await cache.putMany([
    { unit, entry: directoryEntry(commitId(1, 5), [rowOf(a, item(1, "one"))]) },
    { unit: a, entry: item(1, "one") },
  ]);
  const another = new TieredCache(new MemoryCache(0), behind);
  const found = await another.getMany([scanUnit({ ...NOTES, kind: "rows" })]);
  expect(found.get(a)).toEqual(item(1, "one"));
  expect(another.directories.walk(query)?.rows).toEqual([rowOf(a, item(1, "one"))]);
});

// Otherwise each repair of the rows would be undone by the item, which the primary does not bring again.
test("a wrong item behind changes no rows that the primary has told", async () => {
  for (const wrong of [item(9, "wrong"), entryOf(commitId(1, 9), null)]) {
    const behind = store();
    const cache = new TieredCache(new MemoryCache(0), behind);
    const rows = [rowOf(a, item(1, "one"))];
    await cache.putMany([{ unit: spanId({ ...NOTES, kind: "rows" }), entry: directoryEntry(commitId(1, 5), rows) }]);
    behind.entries.set(a, wrong);
    expect((await cache.getMany([a])).get(a)).toEqual(wrong);
    expect(cache.directories.rowsOf(NOTES)?.rows).toEqual(rows);
  }
});
