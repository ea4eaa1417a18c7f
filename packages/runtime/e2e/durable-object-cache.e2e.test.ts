/** The Durable Object cache and the tiers, inside workerd. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type UnitId, unitId } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cache } from "../src/cache/cache.ts";
import type { CachePut } from "../src/core/effects.ts";
import { type OpenCache, describeCache, item } from "./cache-conformance.ts";
import { Location } from "./location.ts";

/** A Worker that opens its caches to the test. Values cross as arrays of numbers. */
const ENTRY = `
  import { DurableObjectCache } from "../src/cache/durable-object-cache.ts";
  import { MemoryCache } from "../src/cache/memory-cache.ts";
  import { RadicalCache as Base } from "../src/cache/radical-cache.ts";
  import { TieredCache } from "../src/cache/tiered-cache.ts";

  export class RadicalCache extends Base {
    run(sql) { return this.ctx.storage.sql.exec(sql).toArray(); }
    breakDown() { this.ctx.abort("broken by the test"); }
  }

  const memories = new Map();
  const pack = ({ version, value }) => ({ version, value: value && [...value] });
  const unpack = ({ version, value }) => ({ version, value: value && Uint8Array.from(value) });

  export default {
    async fetch(request, env) {
      const { tiers, application, location, units, puts } = await request.json();
      const errors = [];
      const object = new DurableObjectCache({
        namespace: env.RADICAL_CACHE, application, location, onError: (error) => errors.push(String(error)),
      });
      if (!memories.has(location)) memories.set(location, new MemoryCache());
      const cache = tiers === 2 ? new TieredCache(memories.get(location), object) : object;
      if (puts) {
        await cache.putMany(puts.map(({ unit, entry, disproved }) => ({ unit, entry: unpack(entry), disproved })));
        return Response.json({ errors });
      }
      const found = await cache.getMany(units);
      return Response.json({ errors, found: [...found].map(([unit, entry]) => [unit, pack(entry)]) });
    },
  };
`;

interface Packed {
  readonly version: CachePut["entry"]["version"];
  readonly value: number[] | null;
}

class RemoteCache implements Cache {
  readonly errors: string[] = [];
  readonly #location: Location;
  readonly #which: { readonly tiers: 1 | 2; readonly application: string; readonly location: string };

  constructor(location: Location, tiers: 1 | 2, name: string, application = "fixture") {
    this.#location = location;
    this.#which = { tiers, application, location: name };
  }

  peek(): undefined {
    return undefined;
  }

  async getMany(units: readonly UnitId[]): ReturnType<Cache["getMany"]> {
    const { found } = await this.#post({ units });
    return new Map(
      found!.map(([unit, { version, value }]) => [unit, { version, value: value && Uint8Array.from(value) }]),
    );
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    await this.#post({
      puts: puts.map((put) => ({ ...put, entry: { ...put.entry, value: put.entry.value && [...put.entry.value] } })),
    });
  }

  async #post(body: object): Promise<{ errors: string[]; found?: [UnitId, Packed][] }> {
    const response = await this.#location.request("/", {
      method: "POST",
      body: JSON.stringify({ ...this.#which, ...body }),
    });
    const answer = (await response.json()) as { errors: string[]; found?: [UnitId, Packed][] };
    this.errors.push(...answer.errors);
    return answer;
  }
}

const PRIMARY_URL = "http://127.0.0.1:9";
let count = 0;

async function openRemote(tiers: 1 | 2): Promise<OpenCache> {
  const location = await Location.start({ primaryUrl: PRIMARY_URL, entry: ENTRY });
  return { fresh: () => new RemoteCache(location, tiers, `conformance-${count++}`), close: () => location.stop() };
}

describeCache("Durable Object", () => openRemote(1));
describeCache("memory in front of a Durable Object", () => openRemote(2));

describe("Durable Object", () => {
  const a = unitId("notes", "a");
  const b = unitId("notes", "b");
  let location: Location;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "radical-cache-"));
    location = await Location.start({
      primaryUrl: PRIMARY_URL,
      entry: ENTRY,
      persistTo: folder,
      vars: { RADICAL_CACHE_MAX_BYTES: "100000" },
    });
  });
  afterAll(async () => {
    await location.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const fresh = (): { cache: RemoteCache; run: (sql: string) => Promise<Record<string, unknown>[]>; name: string } => {
    const name = `own-${count++}`;
    const run = async (sql: string): Promise<Record<string, unknown>[]> => (await location.cache(name)).run(sql);
    return { cache: new RemoteCache(location, 1, name), run, name };
  };

  test.each([
    ["a garbled value", "UPDATE entries_1 SET value = x'00'"],
    ["a garbled hash", "UPDATE entries_1 SET hash = 'ffffffffffffffff'"],
    ["a hash of another shape", "UPDATE entries_1 SET hash = 7"],
    ["a lost value", "UPDATE entries_1 SET value = NULL"],
    ["a lost hash", "UPDATE entries_1 SET hash = NULL"],
    ["a value of another type", "UPDATE entries_1 SET value = 'text'"],
    ["a garbled commit id", "UPDATE entries_1 SET commit_id = 'zzz'"],
  ])("%s is a miss, and the same entry put again is taken", async (_name, damage) => {
    const { cache, run } = fresh();
    await cache.putMany([
      { unit: a, entry: item(3, "value") },
      { unit: b, entry: item(4, "other") },
    ]);
    await run(`${damage} WHERE unit = '${a}'`);
    expect(await cache.getMany([a, b])).toEqual(new Map([[b, item(4, "other")]]));
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
    expect(cache.errors).toEqual([]);
  });

  test("damage that nobody has read yet gives way to its repair too", async () => {
    const { cache, run } = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await run("UPDATE entries_1 SET commit_id = 'zzz'");
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
  });

  test("wiped in flight: misses, then it works again", async () => {
    const { cache, run } = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await run("DROP TABLE entries_1");
    expect(await cache.getMany([a])).toEqual(new Map());
    expect(cache.errors).toHaveLength(1);
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
  });

  test("an object that breaks down loses nothing that it had stored", async () => {
    const { cache, name } = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await (await location.cache(name)).breakDown().catch(() => undefined);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
  });

  test("entries are bound to their application", async () => {
    const { cache, run, name } = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect(await new RemoteCache(location, 1, name, "another").getMany([a])).toEqual(new Map());
    // The same object under another application's name, as after a rename.
    await run("UPDATE entries_1 SET application = 'before'");
    expect(await cache.getMany([a])).toEqual(new Map());
  });

  test("bounded by bytes: the longest unwritten go first", async () => {
    const { cache, run } = fresh();
    const units = Array.from({ length: 60 }, (_, index) => unitId("notes", `n${index}`));
    for (const [index, unit] of units.entries())
      await cache.putMany([{ unit, entry: item(index + 1, "x".repeat(5_000)) }]);
    const [sums] = await run("SELECT sum(bytes) AS bytes, (SELECT bytes FROM totals_1) AS counted FROM entries_1");
    expect(sums!["bytes"]).toBe(sums!["counted"]);
    expect(sums!["bytes"]).toBeLessThanOrEqual(100_000);
    const held = await cache.getMany(units);
    expect(held.has(units[0]!)).toBe(false);
    expect(held.has(units[59]!)).toBe(true);
  });

  test("a value larger than a row is left out, the rest of the batch is kept", async () => {
    const { cache } = fresh();
    await cache.putMany([
      { unit: a, entry: item(1, "x".repeat(2_000_000)) },
      { unit: b, entry: item(1, "small") },
    ]);
    expect([...(await cache.getMany([a, b])).keys()]).toEqual([b]);
    expect(cache.errors).toEqual([]);
  });

  test("outlives the process", async () => {
    const { cache, name } = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await location.stop();
    location = await Location.start({
      primaryUrl: PRIMARY_URL,
      entry: ENTRY,
      persistTo: folder,
      vars: { RADICAL_CACHE_MAX_BYTES: "100000" },
    });
    expect((await new RemoteCache(location, 1, name).getMany([a])).get(a)).toEqual(item(3, "value"));
  });
});
