/** What every cache of a location does; see the port in `src/cache/cache.ts`. */
import { type CommitId, type Entry, type UnitId, commitId, entryOf, unitId } from "@radical/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cache, takes } from "../src/cache/cache.ts";
import type { CachePut } from "../src/core/effects.ts";

export interface OpenCache {
  /** An empty cache at every call; its bounds are far away. */
  fresh(): Promise<Cache> | Cache;
  close(): Promise<void>;
}

const encoder = new TextEncoder();
const commit = (sequence: number): CommitId => commitId(1, sequence);
export const item = (sequence: number, text: string): Entry => entryOf(commit(sequence), encoder.encode(text));
const absent = (sequence: number): Entry => entryOf(commit(sequence), null);
const a = unitId("notes", "a");
const b = unitId("notes", "b");

export function describeCache(name: string, open: () => Promise<OpenCache> | OpenCache): void {
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
      const units = [...keys, ...Array.from({ length: 500 }, (_, index) => `n${index}`)].map((key) =>
        unitId("notes", key),
      );
      const entries = new Map(
        units.map((unit, index) => [unit, item(index + 1, index % 50 === 0 ? "x".repeat(100_000) : unit)]),
      );
      const cache = await opened.fresh();
      await cache.putMany(units.map((unit) => ({ unit, entry: entries.get(unit)! })));
      expect(await cache.getMany(units)).toEqual(entries);
    });

    test("property: like a map that goes forward only", async () => {
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
            for (const each of batch) if (takes(model.get(each.unit)?.version, each)) model.set(each.unit, each.entry);
            await cache.putMany(batch);
            expect(await cache.getMany([a, b])).toEqual(new Map([...model].toSorted(([x], [y]) => (x < y ? -1 : 1))));
          }
        }),
        { numRuns: 50 },
      );
    });
  });
}
