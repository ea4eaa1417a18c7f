import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { commitId, entryOf, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { describeCache, item } from "../../e2e/cache-conformance.ts";
import { MemoryCache } from "./memory-cache.ts";

const UNREACHABLE = { unreachable: "the memory of an isolate" };

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

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function heldBytes(): Promise<number> {
  // The second one frees what the first has found.
  for (let round = 0; round < 2; round++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test.each([0, 20, 300, 5_000])(
  "it takes no more memory than it may, and most of that: values of %i bytes",
  async (size) => {
    const maxBytes = 8_000_000;
    const cache = new MemoryCache(maxBytes);
    const beforeBytes = await heldBytes();
    for (let index = 0; index * (size + 500) < 2 * maxBytes; index++) {
      // As it comes with a repair: a part of a message.
      const message = new Uint8Array(size + 10_000);
      const entry = entryOf(commitId(1, index), message.subarray(100, 100 + size));
      await cache.putMany([{ unit: unit(index), entry }]);
    }
    const bytes = (await heldBytes()) - beforeBytes;
    expect(bytes).toBeLessThan(maxBytes);
    expect(bytes).toBeGreaterThan(maxBytes / 2);
    expect(cache.peek(unit(0))).toBeUndefined();
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
