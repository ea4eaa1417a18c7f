/**
 * A process of its own fills a memory cache, and says what the cache takes of the heap. A process with other tests frees their code
 * meanwhile. `node --expose-gc cache-memory.ts <most bytes> <bytes of a value>` prints a {@link HeldMemory}. With `directories` in
 * place of the bytes it puts directories of rows.
 */
import {
  commitId,
  contentHash,
  directoryEntry,
  entryOf,
  keySuccessor,
  spanId,
  splitUnit,
  unitId,
} from "@radical/protocol";
import { MemoryCache } from "../src/cache/memory-cache.ts";

export interface HeldMemory {
  readonly bytes: number;
  /** Whether the entry that was put first is still there. */
  readonly hasFirst: boolean;
}

const [most, what] = process.argv.slice(2);
const maxBytes = Number(most);

/** The engine frees code that was not used for some rounds, so it is asked until several of them have freed nothing. */
async function heldBytes(): Promise<number> {
  let least = Infinity;
  for (let round = 0, unchanged = 0; unchanged < 5 && round < 100; round++) {
    globalThis.gc!();
    await new Promise((resolve) => setImmediate(resolve));
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const bytes = heapUsed + arrayBuffers;
    unchanged = bytes < least - 10_000 ? 0 : unchanged + 1;
    least = Math.min(least, bytes);
  }
  return least;
}

function putItems(cache: MemoryCache, size: number): void {
  for (let index = 0; index * (size + 500) < 2 * maxBytes; index++) {
    // As it comes with a repair: a part of a message.
    const message = new Uint8Array(size + 10_000);
    const entry = entryOf(commitId(1, index), message.subarray(100, 100 + size));
    cache.put([{ unit: unitId("notes", String(index)), entry }]);
  }
}

function putDirectories(cache: MemoryCache): void {
  for (let page = 0; page < 300; page++) {
    const keys = Array.from({ length: 50 }, (_, index) => `${String(page).padStart(6, "0")}/${100_000 + index}`);
    const rows = keys.map((key, index) => ({
      key: splitUnit(unitId("notes", key)).key,
      commitId: commitId(1, page * 50 + index + 1),
      hash: contentHash(new TextEncoder().encode(key)),
    }));
    const span = { table: "notes", kind: "rows", lo: keys[0]!, hi: keySuccessor(keys.at(-1) ?? "") } as const;
    cache.put([{ unit: spanId(span), entry: directoryEntry(commitId(1, 100_000), rows) }]);
  }
}

function putAll(cache: MemoryCache): void {
  if (what === "directories") putDirectories(cache);
  else putItems(cache, Number(what));
}

// A small cache first: what the engine compiles takes memory too.
putAll(new MemoryCache(10_000));
const cache = new MemoryCache(maxBytes);
const beforeBytes = await heldBytes();
putAll(cache);
const bytes = (await heldBytes()) - beforeBytes;
const held: HeldMemory = { bytes, hasFirst: cache.peek(unitId("notes", "0")) !== undefined };
process.stdout.write(JSON.stringify(held));
