/** The caches that outlive an isolate, and the tiers, inside workerd. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { unitId } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeCache, item } from "./cache-conformance.ts";
import { CacheLocation, type RemoteCache } from "./cache-location.ts";

let workerd: CacheLocation;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-cache-"));
  workerd = await CacheLocation.start(folder);
});
afterAll(async () => {
  await workerd.location.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Each call goes through HTTP. */
const FEWER = { runs: 8, batch: 150 };
const HIDDEN = "what is behind shows only once the memory has forgotten it";
const UNBOUNDED = "KV knows no bound; what nobody has written for a week expires";
describeCache("Durable Object", () => workerd.open("object", false), {}, FEWER);
describeCache(
  "memory in front of a Durable Object",
  () => workerd.open("object", true),
  { unreachable: HIDDEN },
  FEWER,
);
describeCache(
  "KV",
  () => workerd.open("kv", false),
  {
    lastPutWins: "KV can't compare and set, and isolates know nothing of each other",
    unbounded: UNBOUNDED,
    mostPuts: { count: 200, because: "a request has 1,000 operations, and every put is one" },
  },
  FEWER,
);
describeCache(
  "memory in front of KV",
  () => workerd.open("kv", true),
  { unreachable: HIDDEN, unbounded: UNBOUNDED },
  FEWER,
);

const a = unitId("notes", "a");
const b = unitId("notes", "b");

describe("Durable Object", () => {
  const fresh = (maxBytes?: number): RemoteCache => workerd.fresh("object", false, maxBytes);
  const door = (cache: RemoteCache) => workerd.location.cache(cache.which.location);
  const run = async (cache: RemoteCache, sql: string): Promise<unknown> => (await door(cache)).run(sql);

  test.each([
    ["a garbled value", "UPDATE entries_2 SET value = x'00'"],
    ["a hash of another shape", "UPDATE entries_2 SET hash = 7"],
    ["a lost value", "UPDATE entries_2 SET value = NULL"],
    ["a lost hash", "UPDATE entries_2 SET hash = NULL"],
    ["a value of another type", "UPDATE entries_2 SET value = 'text'"],
    ["a garbled commit id", "UPDATE entries_2 SET commit_id = 'zzz'"],
    ["a lost seal", "UPDATE entries_2 SET seal = ''"],
    ["text that is no text", "UPDATE entries_2 SET commit_id = CAST(x'ff' AS TEXT)"],
  ])("%s is a miss, and the same entry put again is taken", async (_name, damage) => {
    const cache = fresh();
    await cache.putMany([
      { unit: a, entry: item(3, "value") },
      { unit: b, entry: item(4, "other") },
    ]);
    await run(cache, `${damage} WHERE unit = '${a}'`);
    expect(await cache.getMany([a, b])).toEqual(new Map([[b, item(4, "other")]]));
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
    expect(cache.errors).toEqual([]);
  });

  test("wiped in flight: misses, then it works again", async () => {
    const cache = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await run(cache, "DROP TABLE entries_2");
    expect(await cache.getMany([a])).toEqual(new Map());
    expect(cache.errors).toHaveLength(1);
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
  });

  test("an object that breaks down loses nothing that it had stored", async () => {
    const cache = fresh();
    await cache.putMany([{ unit: a, entry: item(3, "value") }]);
    await (await door(cache)).breakDown().catch(() => undefined);
    expect((await cache.getMany([a])).get(a)).toEqual(item(3, "value"));
  });

  test("bounded by the bytes of the database, whatever the size of the values", async () => {
    const maxBytes = 200_000;
    const cache = fresh(maxBytes);
    const units = Array.from({ length: 3_000 }, (_, index) => unitId("notes", `n${index}`));
    for (let at = 0; at < units.length; at += 500) {
      await cache.putMany(units.slice(at, at + 500).map((unit, index) => ({ unit, entry: item(at + index + 1, "x") })));
      expect(await (await door(cache)).size()).toBeLessThanOrEqual(maxBytes);
    }
    const held = await cache.getMany(units);
    expect(held.size).toBeGreaterThan(100);
    expect(held.has(unitId("notes", "n2999"))).toBe(true);
  });

  test("a value larger than a row is left out, the rest of the batch is kept", async () => {
    const cache = fresh();
    await cache.putMany([
      { unit: a, entry: item(1, "x".repeat(2_000_000)) },
      { unit: b, entry: item(1, "small") },
    ]);
    expect([...(await cache.getMany([a, b])).keys()]).toEqual([b]);
    expect(cache.errors).toEqual([]);
  });
});

describe("KV", () => {
  test("locations share the namespace, not their entries", async () => {
    const cache = workerd.fresh("kv", false);
    await cache.putMany([{ unit: a, entry: item(1, "one") }]);
    expect(await cache.with({ location: "elsewhere" }).getMany([a])).toEqual(new Map());
  });
});

describe("a torn database", () => {
  /** A cache whose file was damaged while nobody ran, and what was put into it before. */
  async function torn(name: string, damage: (bytes: Buffer) => Buffer) {
    const cache = workerd.fresh("object", false);
    const units = Array.from({ length: 200 }, (_, index) => unitId("notes", `${name}-${index}`));
    const puts = units.map((unit, index) => ({ unit, entry: item(index + 1, "x".repeat(500)) }));
    await cache.putMany(puts);
    await workerd.location.stop();
    let files = 0;
    for (const found of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/RadicalCache\/[0-9a-f]{64}\.sqlite$/.test(found)) continue;
      const file = path.join(folder, found);
      // What was written lies in the log yet.
      const database = new DatabaseSync(file);
      database.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
      database.close();
      const bytes = readFileSync(file);
      if (!bytes.includes(`${name}-199`)) continue;
      writeFileSync(file, damage(bytes));
      files++;
    }
    expect(files).toBe(1);
    await workerd.restart();
    return { again: workerd.fresh("object", false).with(cache.which), units, puts };
  }

  test("that SQLite can't read any more is given up", async () => {
    // All pages but the first one, which has the tables' names.
    const { again, units, puts } = await torn("pages", (bytes) => bytes.fill(0xff, 4_096));
    expect(await again.getMany(units)).toEqual(new Map());
    expect(again.errors.join()).toContain("malformed");
    await again.putMany(puts);
    expect((await again.getMany(units)).size).toBe(200);
  });

  test("that the platform can't open is a miss each time, and told", async () => {
    const { again, units, puts } = await torn("half", (bytes) => bytes.subarray(0, bytes.length / 2));
    for (let calls = 1; calls <= 3; calls += 2) {
      expect(await again.getMany(units)).toEqual(new Map());
      await again.putMany(puts);
      expect(again.errors).toHaveLength(calls + 1);
    }
  });
});

test("Durable Object and KV outlive the process", async () => {
  const caches = [workerd.fresh("object", false), workerd.fresh("kv", false)];
  for (const cache of caches) await cache.putMany([{ unit: a, entry: item(3, "value") }]);
  await workerd.restart();
  for (const cache of caches) {
    const again = workerd.fresh(cache.which.store, false).with(cache.which);
    expect((await again.getMany([a])).get(a)).toEqual(item(3, "value"));
  }
});
