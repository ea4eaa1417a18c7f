/** KV as it is in production and not in workerd: it is behind, and refuses. A model of it, by a clock of the test's. */
import { scheduler } from "node:timers/promises";
import { type UnitId, unitId } from "@radical/protocol";
import { beforeEach, expect, test, vi } from "vitest";
import { item } from "../../e2e/cache-conformance.ts";
import { KvCache } from "./kv-cache.ts";
import { KvWrites } from "./kv-writes.ts";
import { MemoryCache } from "./memory-cache.ts";
import { TieredCache } from "./tiered-cache.ts";

// As workerd has it.
vi.stubGlobal("scheduler", scheduler);

const a = unitId("notes", "a");

/** Time passes where the test says so, and wakes who waits for it. */
class ManualClock {
  #nowMs = 0;
  readonly #waiting: { readonly atMs: number; readonly wake: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  wait(ms: number): Promise<void> {
    return new Promise((wake) => this.#waiting.push({ atMs: this.#nowMs + ms, wake }));
  }

  async pass(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const { atMs, wake } of this.#waiting) if (atMs <= this.#nowMs) wake();
    await settled();
  }
}

/** A turn of the event loop: everything that waits for no clock has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A place near a reader keeps what it has read, absences too, for the time of `cacheTtl`. */
class EventualKv {
  readonly #clock: ManualClock;
  readonly #central = new Map<string, string>();
  readonly #near = new Map<string, { readonly text: string | null; readonly untilMs: number }>();
  readonly #writtenAtMs = new Map<string, number>();
  readonly writes: { readonly key: string; readonly text: string }[] = [];
  readonly options: unknown[] = [];
  refusals = 0;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  async get(keys: readonly string[], options: { readonly cacheTtl: number }): Promise<Map<string, string | null>> {
    if (keys.length > 100) throw new Error("KV GET_BULK failed: 400 You can request a maximum of 100 keys");
    if (options.cacheTtl < 30)
      throw new Error("KV GET_BULK failed: 400 Invalid cache_ttl. Cache TTL must be at least 30");
    const nowMs = this.#clock.nowMs();
    const bytes = keys.reduce((sum, key) => sum + (this.#central.get(key)?.length ?? 0), 0);
    if (bytes > 25 * 1024 * 1024) throw new Error("KV GET_BULK failed: 413 Total size of request exceeds the limit");
    return new Map(
      keys.map((key) => {
        let near = this.#near.get(key);
        if (near === undefined || near.untilMs <= nowMs) {
          near = { text: this.#central.get(key) ?? null, untilMs: nowMs + options.cacheTtl * 1_000 };
          this.#near.set(key, near);
        }
        return [key, near.text];
      }),
    );
  }

  async put(key: string, text: string, options: unknown): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (nowMs - (this.#writtenAtMs.get(key) ?? -Infinity) < 1_000) {
      this.refusals++;
      throw new Error("KV PUT failed: 429 Too Many Requests");
    }
    this.#writtenAtMs.set(key, nowMs);
    this.#central.set(key, text);
    this.writes.push({ key, text });
    this.options.push(options);
  }
}

let clock: ManualClock;
let kv: EventualKv;
let errors: unknown[];
beforeEach(() => {
  clock = new ManualClock();
  kv = new EventualKv(clock);
  errors = [];
});

function cache(writes = new KvWrites(clock), timeoutMs = 10_000): KvCache {
  return new KvCache({
    namespace: kv,
    application: "app",
    location: "VA",
    timeoutMs,
    maxAgeMs: 600_000,
    writes,
    onError: (error) => errors.push(error),
  });
}

const look = async (from: KvCache | TieredCache, unit: UnitId = a) => (await from.getMany([unit])).get(unit);

test("what KV gives may be old, an absence too; after its time near the reader it is what was written", async () => {
  const kvCache = cache();
  expect(await look(kvCache)).toBeUndefined();
  await kvCache.putMany([{ unit: a, entry: item(1, "one") }]);
  expect(await look(kvCache)).toBeUndefined();
  await clock.pass(60_000);
  expect(await look(kvCache)).toEqual(item(1, "one"));
  await kvCache.putMany([{ unit: a, entry: item(2, "two") }]);
  expect(await look(kvCache)).toEqual(item(1, "one"));
  await clock.pass(60_000);
  expect(await look(kvCache)).toEqual(item(2, "two"));
});

test("a read that is behind never moves the memory in front backwards, nor does it answer for it", async () => {
  const memory = new MemoryCache();
  const tiered = new TieredCache(memory, cache());
  await tiered.putMany([{ unit: a, entry: item(1, "one") }]);
  // Another isolate's reader has made the place near it keep the first one.
  await look(cache());
  await clock.pass(1_000);
  await tiered.putMany([{ unit: a, entry: item(2, "two") }]);
  expect(await look(cache())).toEqual(item(1, "one"));
  // A read of an isolate that forgot it, under way while the second one comes to its memory again.
  const forgetful = new MemoryCache();
  const reading = new TieredCache(forgetful, cache()).getMany([a]);
  forgetful.put([{ unit: a, entry: item(2, "two") }]);
  expect((await reading).get(a)).toEqual(item(2, "two"));
  expect(forgetful.peek(a)).toEqual(item(2, "two"));
});

test("what memory knows to be old news is not written behind, unless it disproves what may be there", async () => {
  const tiered = new TieredCache(new MemoryCache(), cache());
  await tiered.putMany([{ unit: a, entry: item(5, "five") }]);
  await clock.pass(60_000);
  await tiered.putMany([{ unit: a, entry: item(4, "four") }]);
  expect(kv.writes).toHaveLength(1);
  await tiered.putMany([{ unit: a, entry: item(4, "four"), disproved: item(9, "nine").version }]);
  expect(kv.writes).toHaveLength(2);
});

test("one write a second for a key: the first one leaves at once, of the others the newest one at the end", async () => {
  const writes = new KvWrites(clock);
  const puts: Promise<void>[] = [];
  // Each by another request of the isolate.
  for (const [sequence, text] of [
    [1, "one"],
    [2, "two"],
    [4, "four"],
    [3, "three"],
  ] as const) {
    puts.push(cache(writes).putMany([{ unit: a, entry: item(sequence, text) }]));
    await settled();
  }
  expect(kv.writes).toHaveLength(1);
  await clock.pass(999);
  expect(kv.writes).toHaveLength(1);
  await clock.pass(1);
  await Promise.all(puts);
  expect(kv.writes).toHaveLength(2);
  expect(await look(cache())).toEqual(item(4, "four"));
  // The second one takes a second too.
  puts.push(cache(writes).putMany([{ unit: a, entry: item(5, "five") }]));
  await settled();
  expect(kv.writes).toHaveLength(2);
  await clock.pass(1_000);
  await Promise.all(puts);
  expect(kv.writes).toHaveLength(3);
  expect(kv.refusals).toBe(0);
  expect(errors).toEqual([]);
});

test("a request that the platform ends while it waits does not keep the others of its key waiting", async () => {
  // Its wait never ends.
  const ended = new KvWrites({ nowMs: () => clock.nowMs(), wait: () => new Promise(() => undefined) });
  await cache(ended).putMany([{ unit: a, entry: item(1, "one") }]);
  void cache(ended).putMany([{ unit: a, entry: item(2, "two") }]);
  await clock.pass(2_001);
  await cache(ended).putMany([{ unit: a, entry: item(3, "three") }]);
  await clock.pass(60_000);
  expect(await look(cache())).toEqual(item(3, "three"));
});

test("two isolates write one key: KV refuses one of them, nobody retries, nobody is told", async () => {
  await cache().putMany([{ unit: a, entry: item(1, "one") }]);
  await cache().putMany([{ unit: a, entry: item(2, "two") }]);
  expect(kv.refusals).toBe(1);
  expect(errors).toEqual([]);
  expect(await look(cache())).toEqual(item(1, "one"));
});

test("keys are keys of KV, whatever the unit; an entry expires", async () => {
  const units = ["plain", "ключ", "a\u0000b", "x".repeat(512), "🗝".repeat(128)].map((key) => unitId("notes", key));
  const kvCache = cache();
  await kvCache.putMany(units.map((unit) => ({ unit, entry: item(1, unit) })));
  expect(await kvCache.getMany(units)).toEqual(new Map(units.map((unit) => [unit, item(1, unit)])));
  const keys = kv.writes.map(({ key }) => key);
  expect(keys[0]).toBe("app/VA/notes/plain");
  for (const key of keys) {
    expect(Buffer.byteLength(key)).toBeLessThanOrEqual(512);
    expect(key).toMatch(/^app\/VA\/[\x21-\x7e]+$/);
  }
  for (const options of kv.options) expect(options).toEqual({ expirationTtl: 600 });
});

test("more bytes than one bulk read can bring; a value that the primary would not take is not kept", async () => {
  const units = Array.from({ length: 60 }, (_, index) => unitId("notes", String(index)));
  const largest = "x".repeat(384 * 1024);
  const kvCache = cache();
  await kvCache.putMany(units.map((unit) => ({ unit, entry: item(1, largest) })));
  expect((await kvCache.getMany(units)).size).toBe(60);
  await kvCache.putMany([{ unit: a, entry: item(1, `${largest}x`) }]);
  expect(await look(kvCache)).toBeUndefined();
  expect(errors).toEqual([]);
});

test("whatever KV throws is a miss, and told; of many batches only the one that failed", async () => {
  const units = Array.from({ length: 60 }, (_, index) => unitId("notes", String(index)));
  const kvCache = cache();
  await kvCache.putMany(units.map((unit) => ({ unit, entry: item(1, unit) })));
  const get = kv.get.bind(kv);
  kv.get = async (keys, options) => {
    if (keys.length < 40) throw new Error("KV GET failed: 500 Internal Server Error");
    return get(keys, options);
  };
  expect((await kvCache.getMany(units)).size).toBe(48);
  expect(errors).toHaveLength(1);
  kv.put = () => Promise.reject(new Error("KV PUT failed: 500 Internal Server Error"));
  await kvCache.putMany([{ unit: a, entry: item(1, "one") }]);
  expect(errors).toHaveLength(2);
});

test("a read that is never answered is a miss", async () => {
  kv.get = () => new Promise(() => undefined);
  expect(await look(cache(new KvWrites(clock), 1))).toBeUndefined();
  expect(String(errors)).toContain("did not answer within 1 ms");
});
