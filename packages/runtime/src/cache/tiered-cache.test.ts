import { unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { describeCache, item } from "../../e2e/cache-conformance.ts";
import { MemoryCache } from "./memory-cache.ts";
import { TieredCache } from "./tiered-cache.ts";

const UNREACHABLE = { unreachable: "the memory of an isolate" };

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
    getMany: async (units: readonly (typeof a)[]) => {
      await front.putMany([{ unit: a, entry: item(2, "new") }]);
      return behind.getMany(units);
    },
    putMany: (puts: Parameters<MemoryCache["putMany"]>[0]) => behind.putMany(puts),
  };
  await new TieredCache(front, slow).getMany([a]);
  expect((await front.getMany([a])).get(a)).toEqual(item(2, "new"));
});
