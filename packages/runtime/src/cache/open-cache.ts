/** The cache of a location as the build chose it, put together once per isolate. */
import type { CacheChoice } from "@radical/protocol";
import { type CacheBindings, missingBinding } from "../settings.ts";
import type { Cache } from "./cache.ts";
import { DurableObjectCache } from "./durable-object-cache.ts";
import { KvCache } from "./kv-cache.ts";
import { KvWrites } from "./kv-writes.ts";
import { MemoryCache } from "./memory-cache.ts";
import type { Place } from "./place.ts";
import { TieredCache } from "./tiered-cache.ts";

/** The cache as one request sees it: that of its place, and what goes wrong in it is that request's to tell. */
export type RequestCache = (place: Place, onError: (error: unknown) => void) => Cache;

export interface LocationCache {
  readonly of: RequestCache;
  /** Of the isolate, in front of everything else. */
  readonly memory: MemoryCache;
  /** The cache behind the memory; null: there is none. */
  readonly behind: RequestCache | null;
}

/**
 * The memory is the isolate's, whichever places its requests are said to be at. An entry in it that another location has
 * written is compared like any other. Throws an `internal_error` for a binding that the choice needs and that is not there.
 */
export function openCache(choice: CacheChoice, application: string, bindings: CacheBindings): LocationCache {
  const memory = new MemoryCache(choice.memoryBytes);
  const behind = cacheBehind(choice, application, bindings);
  return {
    of: behind === null ? () => memory : (place, onError) => new TieredCache(memory, behind(place, onError)),
    memory,
    behind,
  };
}

function cacheBehind(choice: CacheChoice, application: string, bindings: CacheBindings): RequestCache | null {
  switch (choice.kind) {
    case "memory":
      return null;
    case "durable-object": {
      const { objectBytes: maxBytes, timeoutMs } = choice;
      const namespace =
        bindings.RADICAL_CACHE ?? missingBinding("RADICAL_CACHE", "the Durable Object class RadicalCache");
      return (place, onError) =>
        new DurableObjectCache({ ...place, application, namespace, maxBytes, timeoutMs, onError });
    }
    case "kv": {
      const { timeoutMs } = choice;
      const namespace = bindings.RADICAL_CACHE_KV ?? missingBinding("RADICAL_CACHE_KV", "a KV namespace");
      const writes = new KvWrites();
      return ({ location }, onError) => new KvCache({ application, location, namespace, timeoutMs, writes, onError });
    }
  }
}
