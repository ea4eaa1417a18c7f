/** The cache of a location as the build chose it, put together once per isolate. */
import { agesOf, type CacheChoice, type Jurisdiction } from "@radical/protocol";
import { type CacheBindings, missingBinding } from "../settings.ts";
import type { Cache } from "./cache.ts";
import { CacheObjects, DurableObjectCache } from "./durable-object-cache.ts";
import { KvCache } from "./kv-cache.ts";
import { KvWrites } from "./kv-writes.ts";
import { MemoryCache } from "./memory-cache.ts";
import type { Place } from "./place.ts";
import { PURGE_MARK, type PurgeMark } from "./purge-mark.ts";
import { TieredCache } from "./tiered-cache.ts";

/** The cache as one request sees it: that of its place, and what goes wrong in it is that request's to tell. */
type Of<Kind> = (place: Place, onError: (error: unknown) => void) => Kind;

/** A cache behind the memory, which outlives isolates. */
interface CacheBehind extends Cache {
  /** When it was purged last, by its own clock. May reject. */
  purgedAtMs(): Promise<number>;
}

export interface LocationCache {
  readonly of: Of<Cache>;
  /** Of the isolate, in front of everything else. */
  readonly memory: MemoryCache;
  /** The cache behind the memory; null: there is none at the place. */
  readonly behind: Of<CacheBehind | null>;
  /** Hears of a purge, once in a while. Never rejects. */
  readonly hearOfPurges: (place: Place) => Promise<void>;
}

interface Surroundings {
  readonly mark?: PurgeMark;
  readonly now?: () => number;
}

/**
 * The memory is the isolate's, whichever places its requests are said to be at. An entry in it that another location has
 * written is compared like any other. Throws an `internal_error` for a binding that the choice needs and that is not there.
 */
export function openCache(
  choice: CacheChoice,
  application: string,
  bindings: CacheBindings,
  { mark = PURGE_MARK, now = Date.now }: Surroundings = {},
): LocationCache {
  const { memoryMs } = agesOf(choice);
  const memory = new MemoryCache(choice.memoryBytes, { maxAgeMs: memoryMs, now });
  const behind = cacheBehind(choice, application, bindings, memory, mark);
  return {
    of: (place, onError) => {
      memory.renew(mark.atMs);
      const back = behind(place, onError);
      return back === null ? memory : new TieredCache(memory, back);
    },
    memory,
    behind,
    hearOfPurges: async (place) => {
      const back = mark.isDue(now()) ? behind(place, () => undefined) : null;
      // An isolate that does not hear of one now hears of it the next time.
      const atMs = await back?.purgedAtMs().catch(() => 0);
      mark.hear(atMs ?? 0);
      memory.renew(mark.atMs);
    },
  };
}

function cacheBehind(
  choice: CacheChoice,
  application: string,
  bindings: CacheBindings,
  memory: MemoryCache,
  mark: PurgeMark,
): Of<CacheBehind | null> {
  const { behindMs: maxAgeMs } = agesOf(choice);
  switch (choice.kind) {
    case "memory":
      return () => null;
    case "durable-object": {
      const { objectBytes: maxBytes, timeoutMs, jurisdiction } = choice;
      const objects = cacheObjects(choice, application, bindings);
      const sinceMs = (): number => memory.emptySinceMs;
      return (place, onError) =>
        jurisdiction !== undefined && isFar(place, jurisdiction)
          ? null
          : new DurableObjectCache({
              ...place,
              application,
              objects,
              maxBytes,
              maxAgeMs,
              timeoutMs,
              sinceMs,
              mark,
              onError,
            });
    }
    case "kv": {
      const { timeoutMs } = choice;
      const namespace = kvNamespace(bindings);
      const writes = new KvWrites();
      return ({ location }, onError) =>
        new KvCache({ application, location, namespace, timeoutMs, maxAgeMs, writes, onError });
    }
  }
}

/** Throws an `internal_error` if nothing is bound. */
export function cacheObjects(
  { jurisdiction }: Extract<CacheChoice, { readonly kind: "durable-object" }>,
  application: string,
  bindings: CacheBindings,
): CacheObjects {
  const namespace = bindings.RADICAL_CACHE ?? missingBinding("RADICAL_CACHE", "the Durable Object class RadicalCache");
  return new CacheObjects(namespace, application, jurisdiction);
}

/** Throws an `internal_error` if nothing is bound. */
export function kvNamespace(bindings: CacheBindings): KVNamespace {
  return bindings.RADICAL_CACHE_KV ?? missingBinding("RADICAL_CACHE_KV", "a KV namespace");
}

/** The regions of each jurisdiction, and those next to it. */
const NEAR: Readonly<Record<Jurisdiction, readonly Place["hint"][]>> = {
  eu: ["weur", "eeur"],
  us: ["wnam", "enam"],
};

/** Whether an object of the jurisdiction is about as far from the place as the primary is, and so of no use there. */
function isFar({ hint }: Place, jurisdiction: Jurisdiction): boolean {
  return hint !== null && !NEAR[jurisdiction].includes(hint);
}
