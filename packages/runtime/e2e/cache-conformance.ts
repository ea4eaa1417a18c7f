/** What every cache of a location does; see the port in `src/cache/cache.ts`. */
import {
  type CommitId,
  commitId,
  directoryEntry,
  type Entry,
  entryOf,
  type Span,
  spanId,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cache, takes } from "../src/cache/cache.ts";
import { Directories, scanUnit } from "../src/core/directories.ts";
import type { CachePut } from "../src/core/effects.ts";

export interface OpenCache {
  /** An empty cache at every call; its bounds are far away unless given. */
  fresh(maxBytes?: number): Promise<Cache> | Cache;
  close(): Promise<void>;
  /** What it stores, unless that is declared unreachable. */
  readonly store?: CacheStore;
}

export interface CacheStore {
  /** Flips one bit of the stored entry, chosen by the number. */
  garble(cache: Cache, unit: UnitId, random: number): Promise<void>;
  /** Stores what is stored of one unit as that of another one. */
  transplant(cache: Cache, from: UnitId, to: UnitId): Promise<void>;
  /** The same store, as another application has it. */
  foreign(cache: Cache): Cache;
}

/** What a cache does otherwise than the others, each with the reason. */
export interface Deviations {
  /** It can't compare: of two batches the later one wins, whatever their versions. */
  readonly lastPutWins?: string;
  /** Nobody but the cache itself comes to what it stores. */
  readonly unreachable?: string;
  /** Nothing is evicted. */
  readonly unbounded?: string;
  /** A batch is cut after so many. */
  readonly mostPuts?: { readonly count: number; readonly because: string };
  /** Scans are not stored. */
  readonly scansNothing?: string;
}

const encoder = new TextEncoder();
const commit = (sequence: number): CommitId => commitId(1, sequence);
export const item = (sequence: number, text: string): Entry => entryOf(commit(sequence), encoder.encode(text));
const absent = (sequence: number): Entry => entryOf(commit(sequence), null);
const a = unitId("notes", "a");
const b = unitId("notes", "b");

const NOTES: Span = { table: "notes", kind: "rows", lo: "", hi: "" };
const SCAN = scanUnit(NOTES);

/** The rows of these items, as a cache in memory hands them on. */
function scanOf(units: readonly UnitId[]): Entry {
  const directories = new Directories(Infinity);
  const rows = units.map((unit, index) => {
    const { commitId: id, hash } = item(index + 1, ["one", "two"][index]!).version;
    return { key: splitUnit(unit).key, commitId: id, hash: hash! };
  });
  directories.learn(spanId(NOTES), directoryEntry(commit(5), rows));
  return directories.stored(NOTES, { first: 10, last: 0 })!;
}

export interface ConformanceOptions {
  /** Runs of the properties. */
  readonly runs?: number;
  /** Units of the large batch. */
  readonly batch?: number;
}

export function describeCache(
  name: string,
  open: () => Promise<OpenCache> | OpenCache,
  deviations: Deviations = {},
  { runs = 50, batch: batchSize = 500 }: ConformanceOptions = {},
): void {
  describe(`${name}: conformance`, () => {
    let opened: OpenCache;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => {
      await opened.close();
    });

    /** A fresh cache after the batches, and a look at units of it. */
    async function after(
      ...batches: readonly (readonly CachePut[])[]
    ): Promise<(unit: UnitId) => Promise<Entry | undefined>> {
      const cache = await opened.fresh();
      for (const batch of batches) await cache.putMany(batch);
      return async (unit) => (await cache.getMany([unit])).get(unit);
    }

    test("gives back what was put, and leaves out what it lacks", async () => {
      const cache = await opened.fresh();
      await cache.putMany([{ unit: a, entry: item(1, "one") }]);
      expect(await cache.getMany([a, b])).toEqual(new Map([[a, item(1, "one")]]));
      expect(await cache.getMany([])).toEqual(new Map());
    });

    test("in memory is what it holds, or nothing", async () => {
      const cache = await opened.fresh();
      await cache.putMany([{ unit: a, entry: item(1, "one") }]);
      expect([item(1, "one"), undefined]).toContainEqual(cache.peek(a));
      expect(cache.peek(b)).toBeUndefined();
    });

    test("an absence is an entry", async () => {
      const look = await after([{ unit: a, entry: absent(3) }]);
      expect(await look(a)).toEqual(absent(3));
    });

    test("an empty value is not an absence", async () => {
      const look = await after([{ unit: a, entry: item(3, "") }]);
      expect(await look(a)).toEqual(item(3, ""));
    });

    const { lastPutWins, unreachable, unbounded, mostPuts, scansNothing } = deviations;
    // oxlint-disable-next-line vitest/no-conditional-tests -- what applies is declared, and shown by another test
    if (scansNothing !== undefined) {
      test(`DEVIATION: a scan is not in a batch: ${scansNothing}`, async () => {
        const cache = await opened.fresh();
        await cache.putMany([{ unit: SCAN, entry: scanOf([a]) }]);
        expect(await cache.getMany([SCAN])).toEqual(new Map());
      });
    } else {
      test("a scan comes with the items of its rows, whatever batch they came with", async () => {
        const cache = await opened.fresh();
        await cache.putMany([{ unit: a, entry: item(1, "one") }]);
        await cache.putMany([
          { unit: SCAN, entry: scanOf([a, b]) },
          { unit: b, entry: item(2, "two") },
        ]);
        const found = await cache.getMany([SCAN]);
        expect(found).toEqual(
          new Map([
            [SCAN, scanOf([a, b])],
            [a, item(1, "one")],
            [b, item(2, "two")],
          ]),
        );
        expect((await cache.getMany([SCAN, a])).size).toBe(3);
      });

      test("an item of a scan that is not held is left out", async () => {
        const look = await after([{ unit: SCAN, entry: scanOf([a]) }]);
        expect(await look(SCAN)).toEqual(scanOf([a]));
        expect(await look(a)).toBeUndefined();
      });
    }

    // oxlint-disable-next-line vitest/no-conditional-tests -- what applies is declared, and shown by another test
    if (lastPutWins !== undefined) {
      test(`DEVIATION: of two batches the later one wins: ${lastPutWins}`, async () => {
        const backwards = await after([{ unit: a, entry: item(2, "new") }], [{ unit: a, entry: item(1, "old") }]);
        expect(await backwards(a)).toEqual(item(1, "old"));
        const forward = await after([{ unit: a, entry: item(1, "old") }], [{ unit: a, entry: item(2, "new") }]);
        expect(await forward(a)).toEqual(item(2, "new"));
      });
    } else {
      test("goes forward only: a late, older put changes nothing", async () => {
        const look = await after([{ unit: a, entry: item(2, "new") }], [{ unit: a, entry: item(1, "old") }]);
        expect(await look(a)).toEqual(item(2, "new"));
        const forward = await after([{ unit: a, entry: item(1, "old") }], [{ unit: a, entry: item(2, "new") }]);
        expect(await forward(a)).toEqual(item(2, "new"));
      });

      test("an absence replaces only what is older", async () => {
        const newer = await after([{ unit: a, entry: item(1, "value") }], [{ unit: a, entry: absent(2) }]);
        expect(await newer(a)).toEqual(absent(2));
        const same = await after([{ unit: a, entry: item(1, "value") }], [{ unit: a, entry: absent(1) }]);
        expect(await same(a)).toEqual(item(1, "value"));
      });

      test("a value replaces an absence of the same commit, read while that commit was under way", async () => {
        const look = await after([{ unit: a, entry: absent(1) }], [{ unit: a, entry: item(1, "value") }]);
        expect(await look(a)).toEqual(item(1, "value"));
      });

      test("a disproved version gives way to an older one, and no other version does", async () => {
        const held = item(9, "wrong");
        const disproved = await after(
          [{ unit: a, entry: held }],
          [{ unit: a, entry: item(2, "right"), disproved: held.version }],
        );
        expect(await disproved(a)).toEqual(item(2, "right"));
        const newer = item(10, "newer");
        const moved = await after(
          [{ unit: a, entry: newer }],
          [{ unit: a, entry: item(2, "right"), disproved: held.version }],
        );
        expect(await moved(a)).toEqual(newer);
      });
    }

    test("one batch that names a unit twice keeps the newer, in either order", async () => {
      for (const order of [
        [item(1, "old"), item(2, "new")],
        [item(2, "new"), item(1, "old")],
      ]) {
        const look = await after(order.map((entry) => ({ unit: a, entry })));
        expect(await look(a)).toEqual(item(2, "new"));
      }
    });

    test("large batches, large values, every kind of key", async () => {
      const keys = [
        "/",
        "a/b",
        "'; DROP TABLE entries_1; --",
        "ключ",
        "🗝️",
        "a\u0000b",
        "a\u0000c",
        "%",
        " ",
        "k".repeat(512),
      ];
      const units = [...keys, ...Array.from({ length: batchSize }, (_, index) => `n${index}`)].map((key) =>
        unitId("notes", key),
      );
      const entries = new Map(
        units.map((unit, index) => [unit, item(index + 1, index % 50 === 0 ? "x".repeat(100_000) : unit)]),
      );
      const cache = await opened.fresh();
      const puts = units.map((unit) => ({ unit, entry: entries.get(unit)! }));
      const most = mostPuts?.count ?? puts.length;
      for (let at = 0; at < puts.length; at += most) await cache.putMany(puts.slice(at, at + most));
      expect(await cache.getMany(units)).toEqual(entries);
    });

    // oxlint-disable-next-line vitest/no-conditional-tests -- what applies is declared, and shown by another test
    if (mostPuts !== undefined) {
      test(`DEVIATION: a batch is cut after ${mostPuts.count} puts: ${mostPuts.because}`, async () => {
        const units = Array.from({ length: mostPuts.count + 1 }, (_, index) => unitId("notes", String(index)));
        const cache = await opened.fresh();
        await cache.putMany(units.map((unit) => ({ unit, entry: item(1, "x") })));
        expect((await cache.getMany(units)).size).toBe(mostPuts.count);
      });
    }

    const fill = async (cache: Cache, count: number): Promise<readonly UnitId[]> => {
      const units = Array.from({ length: count }, (_, index) => unitId("notes", `n${index}`));
      for (const [index, unit] of units.entries())
        await cache.putMany([{ unit, entry: item(index + 1, "x".repeat(10_000)) }]);
      return units;
    };
    // oxlint-disable-next-line vitest/no-conditional-tests -- what applies is declared, and shown by another test
    if (unbounded !== undefined) {
      test(`DEVIATION: not bounded by bytes: ${unbounded}`, async () => {
        const cache = await opened.fresh(100_000);
        const units = await fill(cache, 20);
        expect((await cache.getMany(units)).size).toBe(20);
      });
    } else {
      test("bounded by bytes: what came first goes first", async () => {
        const maxBytes = 300_000;
        const cache = await opened.fresh(maxBytes);
        const units = await fill(cache, 60);
        const held = [...(await cache.getMany(units)).keys()];
        expect(held.length * 10_000).toBeLessThanOrEqual(maxBytes);
        expect(held.length * 10_000).toBeGreaterThan(maxBytes / 2);
        expect(held).toEqual(units.slice(-held.length));
      });
    }

    // oxlint-disable-next-line vitest/no-conditional-tests -- what applies is declared, and shown by another test
    if (unreachable === undefined) {
      test("an entry of another application, or of another unit, is a miss", async () => {
        const store = opened.store!;
        const cache = await opened.fresh();
        await cache.putMany([
          { unit: a, entry: item(1, "one") },
          { unit: b, entry: item(2, "two") },
        ]);
        expect(await store.foreign(cache).getMany([a, b])).toEqual(new Map());
        await store.transplant(cache, a, b);
        expect(await cache.getMany([a, b])).toEqual(new Map([[a, item(1, "one")]]));
        await cache.putMany([{ unit: b, entry: item(2, "two") }]);
        expect((await cache.getMany([b])).get(b)).toEqual(item(2, "two"));
      });

      test("property: an entry of which a bit is flipped is a miss, and the same one put again is taken", async () => {
        const store = opened.store!;
        const entry = fc.constantFrom(item(3, "value"), item(3, ""), absent(3));
        await fc.assert(
          fc.asyncProperty(entry, fc.nat(), async (put, random) => {
            const cache = await opened.fresh();
            await cache.putMany([
              { unit: a, entry: put },
              { unit: b, entry: item(4, "other") },
            ]);
            await store.garble(cache, a, random);
            expect(await cache.getMany([a, b])).toEqual(new Map([[b, item(4, "other")]]));
            await cache.putMany([{ unit: a, entry: put }]);
            expect((await cache.getMany([a])).get(a)).toEqual(put);
          }),
          { numRuns: runs },
        );
      });
    }

    test(`property: like a map${lastPutWins === undefined ? " that goes forward only" : ""}`, async () => {
      const put = fc
        .record({
          unit: fc.constantFrom(a, b),
          sequence: fc.integer({ min: 1, max: 4 }),
          value: fc.option(fc.constantFrom("x", "y")),
        })
        .map(({ unit, sequence, value }): CachePut => ({
          unit,
          entry: value === null ? absent(sequence) : item(sequence, value),
        }));
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(put, { maxLength: 3 }), { maxLength: 5 }), async (batches) => {
          const model = new Map<UnitId, Entry>();
          const cache = await opened.fresh();
          for (const batch of batches) {
            const newest = new Map<UnitId, CachePut>();
            for (const each of batch)
              if (takes(newest.get(each.unit)?.entry.version, each)) newest.set(each.unit, each);
            for (const [unit, each] of newest) {
              if (lastPutWins !== undefined || takes(model.get(unit)?.version, each)) model.set(unit, each.entry);
            }
            await cache.putMany(batch);
            expect(await cache.getMany([a, b])).toEqual(model);
          }
        }),
        { numRuns: runs },
      );
    });
  });
}
