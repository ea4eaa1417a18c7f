/** The caches that are not in a test's own memory, inside workerd, and their stores opened to the test. */
import type { UnitId } from "@radical/protocol";
import { type Cache, NOTHING_KNOWN } from "../src/cache/cache.ts";
import type { CachePut } from "../src/core/effects.ts";
import type { CacheStore, OpenCache } from "./cache-conformance.ts";
import { Location } from "./location.ts";

/** Values cross in base 64. The clock of KV's writes jumps, so that nobody waits for their second. */
const ENTRY = `
  import { CacheObjects, DurableObjectCache } from "../src/cache/durable-object-cache.ts";
  import { KvCache } from "../src/cache/kv-cache.ts";
  import { KvWrites } from "../src/cache/kv-writes.ts";
  import { MemoryCache } from "../src/cache/memory-cache.ts";
  import { PurgeMark } from "../src/cache/purge-mark.ts";
  import { RadicalCache as Base } from "../src/cache/radical-cache.ts";
  import { TieredCache } from "../src/cache/tiered-cache.ts";

  function flip(bytes, random) {
    const bit = random % (bytes.length * 8);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    return bytes;
  }

  export class RadicalCache extends Base {
    run(sql) { return this.ctx.storage.sql.exec(sql).toArray(); }
    size() { return this.ctx.storage.sql.databaseSize; }
    // By a clock of the test's, if it has set one.
    clockMs = null;
    setClock(ms) { this.clockMs = ms; }
    now() { return this.clockMs ?? super.now(); }
    ring() { return this.alarm(); }
    alarmAt() { return this.ctx.storage.getAlarm(); }
    breakDown() { this.ctx.abort("broken by the test"); }
    garble(unit, random) {
      const { sql } = this.ctx.storage;
      const [row] = sql.exec("SELECT * FROM entries_3 WHERE unit = ?", unit).toArray();
      const columns = Object.keys(row).filter((name) => !["sequence", "put_at"].includes(name) && (row[name]?.length ?? row[name]?.byteLength));
      const name = columns[random % columns.length];
      const isText = typeof row[name] === "string";
      const bytes = flip(isText ? new TextEncoder().encode(row[name]) : new Uint8Array(row[name]), Math.floor(random / 7));
      sql.exec("UPDATE entries_3 SET " + name + " = " + (isText ? "CAST(? AS TEXT)" : "?") + " WHERE sequence = ?", bytes, row.sequence);
    }
    transplant(from, to) {
      this.ctx.storage.sql.exec(
        "UPDATE entries_3 SET (commit_id, hash, seal, value) = " +
        "(SELECT commit_id, hash, seal, value FROM entries_3 WHERE unit = ?) WHERE unit = ?", from, to);
    }
  }

  const stores = {
    object: (env, { application, location, unit }) => {
      const object = env.RADICAL_CACHE.get(env.RADICAL_CACHE.idFromName(application + "/" + location));
      return {
        garble: (random) => object.garble(unit, random),
        transplant: (to) => object.transplant(unit, to),
      };
    },
    kv: (env, { application, location, unit }) => {
      const key = (unit) => application + "/" + location + "/" + unit;
      return {
        garble: async (random) => {
          const bytes = new Uint8Array(await env.RADICAL_CACHE_KV.get(key(unit), "arrayBuffer"));
          await env.RADICAL_CACHE_KV.put(key(unit), flip(bytes, random));
        },
        transplant: async (to) => env.RADICAL_CACHE_KV.put(key(to), await env.RADICAL_CACHE_KV.get(key(unit))),
      };
    },
  };

  class JumpingClock {
    now = 0;
    nowMs() { return this.now; }
    async wait(ms) { this.now += ms; }
  }

  const isolates = new Map();
  const pack = ({ version, value }) => ({ version, value: value && value.toBase64() });
  const unpack = ({ version, value }) => ({ version, value: value === null ? null : Uint8Array.fromBase64(value) });

  export default {
    async fetch(request, env) {
      const { store, withMemory, maxBytes, maxAgeMs, application, location, ...asked } = await request.json();
      const errors = [];
      const onError = (error) => errors.push(String(error));
      const common = { application, location, timeoutMs: 60_000, onError };
      if (!isolates.has(location)) isolates.set(location, {
        memory: new MemoryCache(maxBytes, { maxAgeMs }),
        writes: new KvWrites(new JumpingClock()),
        mark: new PurgeMark(),
      });
      const { memory, writes, mark } = isolates.get(location);
      const back = store === "object"
        ? new DurableObjectCache({
            ...common,
            objects: new CacheObjects(env.RADICAL_CACHE, application),
            maxBytes,
            maxAgeMs,
            sinceMs: () => asked.sinceMs ?? memory.emptySinceMs,
            mark,
          })
        : new KvCache({
            ...common,
            namespace: env.RADICAL_CACHE_KV,
            maxAgeMs,
            // Without memory, every call is one of another isolate.
            writes: withMemory ? writes : new KvWrites(new JumpingClock()),
          });
      const cache = withMemory ? new TieredCache(memory, back) : back;
      switch (asked.kind) {
        case "put":
          await cache.putMany(asked.puts.map(({ unit, entry, disproved }) => ({ unit, entry: unpack(entry), disproved })));
          break;
        case "get": {
          const found = await cache.getMany(asked.units);
          return Response.json({ errors, found: [...found].map(([unit, entry]) => [unit, pack(entry)]) });
        }
        case "garble":
          await stores[store](env, { application, location, unit: asked.unit }).garble(asked.random);
          break;
        case "transplant":
          await stores[store](env, { application, location, unit: asked.from }).transplant(asked.to);
          break;
      }
      return Response.json({ errors });
    },
  };
`;

interface Packed {
  readonly version: CachePut["entry"]["version"];
  readonly value: string | null;
}

interface WorkerAnswer {
  readonly errors: readonly string[];
  readonly found?: readonly (readonly [UnitId, Packed])[];
}

interface Which {
  readonly store: "object" | "kv";
  readonly withMemory: boolean;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly application: string;
  /** Each name is a store of its own, and an isolate of its own. */
  readonly location: string;
}

export class RemoteCache implements Cache {
  readonly errors: string[] = [];
  readonly which: Which;
  readonly directories = NOTHING_KNOWN;
  readonly #location: Location;

  constructor(location: Location, which: Which) {
    this.#location = location;
    this.which = which;
  }

  peek(): undefined {
    return undefined;
  }

  async getMany(units: readonly UnitId[]): ReturnType<Cache["getMany"]> {
    const { found } = await this.post({ kind: "get", units });
    return new Map(
      found!.map(([unit, { version, value }]) => [
        unit,
        { version, value: value === null ? null : new Uint8Array(Buffer.from(value, "base64")) },
      ]),
    );
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    await this.post({ kind: "put", puts: packed(puts) });
  }

  /** By an isolate all of whose memory is younger than that. */
  async putManySince(sinceMs: number, puts: readonly CachePut[]): Promise<void> {
    await this.post({ kind: "put", puts: packed(puts), sinceMs });
  }

  with(which: Partial<Which>): RemoteCache {
    return new RemoteCache(this.#location, { ...this.which, ...which });
  }

  async post(body: object): Promise<WorkerAnswer> {
    const response = await this.#location.request("/", {
      method: "POST",
      body: JSON.stringify({ ...this.which, ...body }),
    });
    const answer = (await response.json()) as WorkerAnswer;
    this.errors.push(...answer.errors);
    return answer;
  }
}

function packed(puts: readonly CachePut[]): readonly object[] {
  return puts.map((put) => ({
    ...put,
    entry: { ...put.entry, value: put.entry.value && Buffer.from(put.entry.value).toString("base64") },
  }));
}

const FAR_BYTES = 500_000_000;
/** A week. */
export const AGE_MS = 604_800_000;
let count = 0;

/** One workerd for all kinds of caches. */
export class CacheLocation {
  location: Location;
  readonly #persistTo: string;

  private constructor(location: Location, persistTo: string) {
    this.location = location;
    this.#persistTo = persistTo;
  }

  static async start(persistTo: string): Promise<CacheLocation> {
    return new CacheLocation(await startWorkerd(persistTo), persistTo);
  }

  /** Also after it was stopped. */
  async restart(): Promise<void> {
    await this.location.stop();
    this.location = await startWorkerd(this.#persistTo);
  }

  fresh(store: Which["store"], withMemory: boolean, maxBytes = FAR_BYTES): RemoteCache {
    const location = `fresh-${count++}`;
    return new RemoteCache(this.location, {
      store,
      withMemory,
      maxBytes,
      maxAgeMs: AGE_MS,
      application: "fixture",
      location,
    });
  }

  open(store: Which["store"], withMemory: boolean): OpenCache {
    return {
      fresh: (maxBytes) => this.fresh(store, withMemory, maxBytes),
      close: async () => undefined,
      store: STORE,
    };
  }
}

const STORE: CacheStore = {
  garble: async (cache, unit, random) => void (await remote(cache).post({ kind: "garble", unit, random })),
  transplant: async (cache, from, to) => void (await remote(cache).post({ kind: "transplant", from, to })),
  foreign: (cache) => remote(cache).with({ application: "another" }),
};

function remote(cache: Cache): RemoteCache {
  if (cache instanceof RemoteCache) return cache;
  throw new TypeError("not in workerd");
}

function startWorkerd(persistTo: string): Promise<Location> {
  return Location.start({ primaryUrl: "http://127.0.0.1:9", entry: ENTRY, persistTo });
}
