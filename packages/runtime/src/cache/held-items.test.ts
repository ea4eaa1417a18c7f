import { type Entry, type UnitId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { item } from "../../e2e/cache-conformance.ts";
import type { Isolate } from "../isolate.ts";
import { heldItems } from "./held-items.ts";
import { MemoryCache } from "./memory-cache.ts";

const [a, b, c] = ["a", "b", "c"].map((key) => unitId("notes", key)) as [UnitId, UnitId, UnitId];
const ABSENT: Entry = { version: { commitId: item(3, "").version.commitId, hash: null }, value: null };

/** An isolate with a memory, and a cache behind it that tells what it was asked for. */
function isolate(memory: MemoryCache, behind: ReadonlyMap<UnitId, Entry> | null, leased: readonly UnitId[] = []) {
  const asked: (readonly UnitId[])[] = [];
  const getMany = (units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> => {
    asked.push(units);
    return Promise.resolve(new Map([...(behind ?? [])].filter(([unit]) => units.includes(unit))));
  };
  const cache = { memory, behind: () => (behind === null ? null : { getMany }) };
  const core = { isLeased: (unit: UnitId) => leased.includes(unit) };
  return { asked, isolate: { cache, core, place: { location: "JP", hint: null } } as unknown as Isolate };
}

test("memory comes before the cache behind it, which is asked for the rest in one batch", async () => {
  const memory = new MemoryCache();
  memory.put([
    { unit: a, entry: item(2, "two") },
    { unit: b, entry: ABSENT },
  ]);
  const behind = new Map([
    [a, item(1, "one")],
    [c, item(4, "four")],
  ]);
  const { asked, isolate: one } = isolate(memory, behind, [a]);
  const version = (entry: Entry) => entry.version.commitId;
  expect(await heldItems(one, [a, b, c, unitId("notes", "d")], 0)).toEqual([
    { unit: a, tier: "memory", commit: version(item(2, "two")), isThere: true, isLeased: true },
    { unit: b, tier: "memory", commit: version(ABSENT), isThere: false, isLeased: false },
    { unit: c, tier: "behind", commit: version(item(4, "four")), isThere: true, isLeased: false },
  ]);
  expect(asked).toEqual([[c, unitId("notes", "d")]]);
});

test("a look is not a use: memory is as it was, and has nothing of the cache behind it", async () => {
  const kilobyte = "x".repeat(1_000);
  const unit = (index: number): UnitId => unitId("notes", String(index));
  const memory = new MemoryCache(10_000);
  for (let index = 0; index < 5; index++) memory.put([{ unit: unit(index), entry: item(index + 1, kilobyte) }]);
  const { isolate: one } = isolate(memory, new Map([[a, item(1, "one")]]));
  await heldItems(one, [unit(0), a], 0);
  expect(memory.holds(a)).toBe(false);
  for (let index = 5; index < 10; index++) memory.put([{ unit: unit(index), entry: item(index + 1, kilobyte) }]);
  // Used last long ago, it goes first.
  expect(memory.holds(unit(0))).toBe(false);
});

test("without a cache behind the memory only that is looked at", async () => {
  const { isolate: one } = isolate(new MemoryCache(), null);
  expect(await heldItems(one, [a], 0)).toEqual([]);
});
