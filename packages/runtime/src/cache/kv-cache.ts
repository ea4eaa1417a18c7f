/**
 * Workers KV as the second tier: the weaker choice (docs/caches.md). It can't compare and set, so of two isolates the last
 * one to write wins. Its answers may be a minute old, an absence too. A key takes one write a second, and a write is dear.
 * All of that only costs validations.
 */
import type { Entry, UnitId } from "@radical/protocol";
import { fromBase64, toBase64 } from "../base64.ts";
import { itemsOfStored } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import { type Cache, NOTHING_KNOWN, takes } from "./cache.ts";
import { keyOf, purgeMarkOf } from "./kv-keys.ts";
import type { KvWrites } from "./kv-writes.ts";
import { sealOf, unsealed } from "./seal.ts";
import { within } from "./within.ts";

/** The largest value that the primary takes. Larger values are not kept. */
const MAX_VALUE_BYTES = 384 * 1024;
/**
 * Keys of one bulk read. KV takes 100, but its answer ends at 25 MiB: this many values of the largest size, in base 64,
 * stay below that.
 */
const BULK_KEYS = 48;
/** KV keeps what it has read for so long near the reader, its shortest time; an absence too. */
const EDGE_TTL_SECONDS = 30;
/** A request has 1,000 operations, its LVI request and followup among them. */
const MAX_WRITES = 200;
/** Nobody waits for a write, but a request does not live long after its answer. */
const WRITE_TIMEOUT_MS = 10_000;

export interface KvCacheOptions {
  readonly namespace: KVNamespace;
  readonly application: string;
  readonly location: string;
  readonly timeoutMs: number;
  readonly maxAgeMs: number;
  /** Of the isolate. */
  readonly writes: KvWrites;
  readonly onError: (error: unknown) => void;
}

export class KvCache implements Cache {
  readonly #options: KvCacheOptions;
  /**
   * Locations share the namespace, not their entries: before it is applied, only the location that ran the handler may
   * have a write (docs/internals/protocol.md, own writes).
   */
  readonly #owner: string;

  constructor(options: KvCacheOptions) {
    this.#options = options;
    this.#owner = `${options.application}/${options.location}`;
  }

  readonly directories = NOTHING_KNOWN;

  peek(): undefined {
    return undefined;
  }

  /** KV answers one question after the other: the items of a scan are read once its rows are known. */
  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const asked = new Set(units);
    const found = await this.#read([...asked]);
    const items = [...found].flatMap(([unit, entry]) => itemsOfStored(unit, entry)).filter((unit) => !asked.has(unit));
    if (items.length === 0) return found;
    return new Map([...found, ...(await this.#read([...new Set(items)]))]);
  }

  async #read(all: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const found = new Map<UnitId, Entry>();
    const batches = Array.from({ length: Math.ceil(all.length / BULK_KEYS) }, (_, index) =>
      all.slice(index * BULK_KEYS, (index + 1) * BULK_KEYS),
    );
    await Promise.all(
      batches.map(async (batch) => {
        const { namespace, timeoutMs, onError } = this.#options;
        const keys = new Map(batch.map((unit) => [unit, keyOf(this.#owner, unit)]));
        try {
          const read = namespace.get([...keys.values()], { type: "text", cacheTtl: EDGE_TTL_SECONDS });
          const texts = await within(timeoutMs, read);
          for (const [unit, key] of keys) {
            const entry = decode(this.#owner, unit, texts.get(key) ?? "");
            if (entry !== null) found.set(unit, entry);
          }
        } catch (error) {
          onError(error);
        }
      }),
    );
    return found;
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    const newest = new Map<UnitId, CachePut>();
    for (const put of puts) {
      if ((put.entry.value?.length ?? 0) > MAX_VALUE_BYTES) continue;
      if (takes(newest.get(put.unit)?.entry.version, put)) newest.set(put.unit, put);
    }
    await Promise.all([...newest.values()].slice(0, MAX_WRITES).map((put) => this.#put(put)));
  }

  /** When the caches of the application were purged last. */
  async purgedAtMs(): Promise<number> {
    const { namespace, application, timeoutMs } = this.#options;
    const text = await within(timeoutMs, namespace.get(purgeMarkOf(application), { cacheTtl: EDGE_TTL_SECONDS }));
    return Number(text ?? 0);
  }

  async #put(put: CachePut): Promise<void> {
    const { namespace, writes, maxAgeMs, onError } = this.#options;
    const key = keyOf(this.#owner, put.unit);
    try {
      await writes.write(key, put, async (entry) => {
        const text = encode(this.#owner, put.unit, entry);
        await within(WRITE_TIMEOUT_MS, namespace.put(key, text, { expirationTtl: Math.floor(maxAgeMs / 1_000) }));
      });
    } catch (error) {
      // Another isolate has written the key within the second. Its entry, or the next repair, will do.
      if (!isTooManyWrites(error)) onError(error);
    }
  }
}

function isTooManyWrites(error: unknown): boolean {
  return error instanceof Error && error.message.includes("429");
}

/** A bulk read gives text only. No hash: an absence. */
function encode(owner: string, unit: UnitId, { version, value }: Entry): string {
  return [
    sealOf(owner, unit, version),
    version.commitId,
    version.hash ?? "",
    value === null ? "" : toBase64(value),
  ].join(" ");
}

function decode(owner: string, unit: UnitId, text: string): Entry | null {
  const [seal, commitId, hash, value, ...rest] = text.split(" ");
  if (value === undefined || rest.length > 0) return null;
  if (hash === "") return unsealed(owner, unit, { seal, commitId, hash: null, value: value === "" ? null : value });
  return unsealed(owner, unit, { seal, commitId, hash, value: fromBase64(value) });
}
