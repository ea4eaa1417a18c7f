/** The caches that outlive an isolate, and the tiers, inside workerd. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Entry, type UnitId, unitId } from "@radical/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeCache, item } from "./cache-conformance.ts";
import { AGE_MS, CacheLocation, type RemoteCache } from "./cache-location.ts";
import { type AgingDoor, copies } from "./aging-door.ts";

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
    ["a garbled value", "UPDATE entries_3 SET value = x'00'"],
    ["a hash of another shape", "UPDATE entries_3 SET hash = 7"],
    ["a lost value", "UPDATE entries_3 SET value = NULL"],
    ["a lost hash", "UPDATE entries_3 SET hash = NULL"],
    ["a value of another type", "UPDATE entries_3 SET value = 'text'"],
    ["a garbled commit id", "UPDATE entries_3 SET commit_id = 'zzz'"],
    ["a lost seal", "UPDATE entries_3 SET seal = ''"],
    ["text that is no text", "UPDATE entries_3 SET commit_id = CAST(x'ff' AS TEXT)"],
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
    await run(cache, "DROP TABLE entries_3");
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

describe("a Durable Object by a clock of the test's", () => {
  /** A week has 168 of them: times of puts are rounded down to one. */
  const GRAIN_MS = AGE_MS / 168;
  /** In the future, so that the platform rings no alarm. */
  const START_MS = 6_600 * AGE_MS;

  async function opened(maxBytes?: number) {
    const cache = workerd.fresh("object", false, maxBytes);
    const door = (await workerd.location.cache(cache.which.location)) as AgingDoor;
    let nowMs = START_MS;
    await door.setClock(nowMs);
    return {
      cache,
      door,
      pass: async (ms: number): Promise<void> => door.setClock((nowMs += ms)),
      put: (unit: UnitId, entry: Entry) => cache.putMany([{ unit, entry }]),
      look: async (unit: UnitId) => (await cache.getMany([unit])).get(unit),
      units: async () => (await door.run("SELECT unit FROM entries_3 ORDER BY sequence")).map(({ unit }) => unit),
      nowMs: () => nowMs,
    };
  }

  test("an entry that is too old is missing, and one that was written again has a new age", async () => {
    const { pass, put, look } = await opened();
    await put(a, item(1, "one"));
    await put(b, item(1, "one"));
    await pass(AGE_MS - 1);
    expect(await look(a)).toEqual(item(1, "one"));
    await put(b, item(2, "two"));
    await pass(1);
    expect(await look(a)).toBeUndefined();
    expect(await look(b)).toEqual(item(2, "two"));
    // A repair brings it back.
    await put(a, item(1, "one"));
    expect(await look(a)).toEqual(item(1, "one"));
  });

  test("the alarm drops what is too old, though nobody asks, and comes again for the rest", async () => {
    const { door, pass, put, units } = await opened();
    await put(a, item(1, "one"));
    expect(await door.alarmAt()).toBe(START_MS + AGE_MS);
    await pass(2 * GRAIN_MS);
    await put(b, item(2, "two"));
    // The first one is not pushed back.
    expect(await door.alarmAt()).toBe(START_MS + AGE_MS);
    await pass(AGE_MS - 2 * GRAIN_MS);
    await door.ring();
    expect(await units()).toEqual([b]);
    expect(await door.alarmAt()).toBe(START_MS + AGE_MS + 2 * GRAIN_MS);
    await pass(2 * GRAIN_MS);
    await door.ring();
    expect(await units()).toEqual([]);
    await put(a, item(1, "one"));
    expect(await door.alarmAt()).toBe(START_MS + 2 * AGE_MS + 2 * GRAIN_MS);
  });

  test("a shorter age counts at once, also for what was put before", async () => {
    const { cache, door, pass, put, look, units, nowMs } = await opened();
    await put(a, item(1, "one"));
    await pass(AGE_MS / 2);
    const shorter = cache.with({ maxAgeMs: AGE_MS / 4 });
    expect((await shorter.getMany([a])).size).toBe(0);
    expect(await look(a)).toEqual(item(1, "one"));
    await shorter.putMany([{ unit: b, entry: item(2, "two") }]);
    expect(await door.alarmAt()).toBe(nowMs());
    await door.ring();
    expect(await units()).toEqual([b]);
  });

  test("property: no entry is given, or lies there after an alarm, that is older than the age", async () => {
    const units = ["a", "b", "c"].map((key) => unitId("notes", key));
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("put" as const),
        unit: fc.constantFrom(...units),
        sequence: fc.integer({ min: 1, max: 9 }),
      }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: AGE_MS }) }),
      fc.record({ kind: fc.constant("alarm" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { cache, door, pass, put, nowMs, units: stored } = await opened();
        const model = new Map<UnitId, { readonly sequence: number; readonly putAtMs: number }>();
        for (const one of steps) {
          if (one.kind === "put") {
            const held = model.get(one.unit);
            const isHeld = held !== undefined && (await cache.getMany([one.unit])).size === 1;
            await put(one.unit, item(one.sequence, "x"));
            // Also the same value again is a put.
            if (!isHeld || one.sequence >= held.sequence)
              model.set(one.unit, { sequence: one.sequence, putAtMs: nowMs() });
          } else if (one.kind === "pass") await pass(one.ms);
          else {
            await door.ring();
            for (const unit of await stored())
              expect(nowMs() - model.get(unit as UnitId)!.putAtMs).toBeLessThan(AGE_MS);
          }
          const found = await cache.getMany(units);
          for (const unit of units) {
            const ageMs = nowMs() - (model.get(unit)?.putAtMs ?? -Infinity);
            if (ageMs >= AGE_MS) expect(found.has(unit)).toBe(false);
            // It may go a grain too early.
            if (ageMs < AGE_MS - GRAIN_MS) expect(found.get(unit)).toEqual(item(model.get(unit)!.sequence, "x"));
          }
        }
      }),
      { numRuns: 12 },
    );
  });

  test("those go first that were neither read nor written since the last eviction", async () => {
    const maxBytes = 300_000;
    const { cache, put, pass, look } = await opened(maxBytes);
    const [read, rewritten, neither] = ["read", "rewritten", "neither"].map((key) => unitId("notes", key)) as [
      UnitId,
      UnitId,
      UnitId,
    ];
    const value = "x".repeat(10_000);
    for (const unit of [read, rewritten, neither]) await put(unit, item(1, value));
    for (let index = 0; index < 10; index++) await put(unitId("notes", `n${index}`), item(1, value));
    await pass(GRAIN_MS);
    await put(rewritten, item(2, value));
    for (let index = 10; index < 24; index++) {
      await look(read);
      await put(unitId("notes", `n${index}`), item(3, value));
    }
    const held = await cache.getMany([read, rewritten, neither]);
    expect([...held.keys()]).toEqual([read, rewritten]);
  });

  test("if everything was read, the bound is kept all the same", async () => {
    const maxBytes = 300_000;
    const { cache, door, put } = await opened(maxBytes);
    const units = Array.from({ length: 60 }, (_, index) => unitId("notes", `n${index}`));
    for (const [index, unit] of units.entries()) {
      await put(unit, item(index + 1, "x".repeat(10_000)));
      await cache.getMany(units);
      expect(await door.size()).toBeLessThanOrEqual(maxBytes);
    }
  });
});

describe("a Durable Object that is purged", () => {
  async function opened() {
    const cache = workerd.fresh("object", false);
    const door = (await workerd.location.cache(cache.which.location)) as AgingDoor;
    const user = unitId("users", "ann");
    await cache.putMany([
      { unit: a, entry: item(1, "one") },
      { unit: user, entry: item(2, "ann") },
    ]);
    return { cache, door, user };
  }

  test("has nothing any more, or nothing of the part", async () => {
    const { cache, door, user } = await opened();
    expect(await door.purge("fixture", { table: "users", key: "bob" })).toMatchObject({ entries: 0 });
    expect(await door.purge("fixture", { table: "users", key: "ann" })).toMatchObject({ entries: 1 });
    expect([...(await cache.getMany([a, user])).keys()]).toEqual([a]);
    expect(await door.purge("fixture", null)).toMatchObject({ entries: 1 });
    expect(await door.run("SELECT * FROM entries_3")).toEqual([]);
  });

  test("takes nothing from an isolate whose memory is older than the purge", async () => {
    const { cache, door } = await opened();
    const { purgedAtMs } = await door.purge("fixture", null);
    const puts = [{ unit: a, entry: item(1, "one") }];
    await cache.putManySince(purgedAtMs - 1, puts);
    expect(await cache.getMany([a])).toEqual(new Map());
    await cache.putManySince(purgedAtMs, puts);
    expect(await cache.getMany([a])).toEqual(new Map([[a, item(1, "one")]]));
  });

  test("loses some thousands of entries in one call, and each call is a purge for isolates", async () => {
    const { cache, door, user } = await opened();
    await door.run(copies(a, 30_000));
    await door.run(copies(user, 10_000));
    const users = { table: "users", key: null };
    expect(await door.purge("fixture", users)).toMatchObject({ entries: 10_001, hasMore: false });
    const nowMs = Date.now();
    await door.setClock(nowMs);
    expect(await door.purge("fixture", null)).toEqual({ entries: 20_000, purgedAtMs: nowMs, hasMore: true });
    await door.setClock(nowMs + 5);
    expect(await door.purge("fixture", null)).toEqual({ entries: 10_001, purgedAtMs: nowMs + 5, hasMore: false });
    // It may have read the entry between the two.
    await cache.putManySince(nowMs + 4, [{ unit: a, entry: item(1, "one") }]);
    expect(await door.run("SELECT * FROM entries_3")).toEqual([]);
  });

  test("is in the list of its application, from its first put on", async () => {
    const { cache } = await opened();
    const list = (await workerd.location.cache("~locations")) as AgingDoor;
    expect(await list.locations()).toContain(cache.which.location);
    expect(await list.locations()).not.toContain("~locations");
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
  const PAGE_BYTES = 4_096;

  /** A cache whose file was damaged while nobody ran, and what was put into it before. */
  async function torn(name: string, damage: (bytes: Buffer, ofPlatform: ReadonlySet<number>) => Buffer) {
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
      const roots = database
        .prepare("SELECT rootpage FROM sqlite_master WHERE tbl_name LIKE '\\_cf%' ESCAPE '\\'")
        .all();
      database.close();
      const bytes = readFileSync(file);
      if (!bytes.includes(`${name}-199`)) continue;
      writeFileSync(file, damage(bytes, new Set(roots.map(({ rootpage }) => Number(rootpage)))));
      files++;
    }
    expect(files).toBe(1);
    await workerd.restart();
    return { again: workerd.fresh("object", false).with(cache.which), units, puts };
  }

  test("that SQLite can't read any more is given up", async () => {
    // All pages but the first one, which has the tables' names, and those by which the platform opens it.
    const { again, units, puts } = await torn("pages", (bytes, ofPlatform) => {
      for (let at = PAGE_BYTES; at < bytes.length; at += PAGE_BYTES)
        if (!ofPlatform.has(at / PAGE_BYTES + 1)) bytes.fill(0xff, at, at + PAGE_BYTES);
      return bytes;
    });
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
