/** The cache of a location as the build chose it, put together once per isolate. */
import type { CacheChoice } from "@radical/protocol";
import { type CacheBindings, missingBinding } from "../settings.ts";
import type { Cache } from "./cache.ts";
import { DurableObjectCache } from "./durable-object-cache.ts";
import { KvCache } from "./kv-cache.ts";
import { KvWrites } from "./kv-writes.ts";
import { MemoryCache } from "./memory-cache.ts";
import { TieredCache } from "./tiered-cache.ts";

export interface CachePlace {
  readonly application: string;
  readonly location: string;
}

/** The cache as one request sees it: what goes wrong in it is that request's to tell. */
export type RequestCache = (onError: (error: unknown) => void) => Cache;

/** Throws an `internal_error` for a binding that the choice needs and that is not there. */
export function openCache(choice: CacheChoice, place: CachePlace, bindings: CacheBindings): RequestCache {
  const memory = new MemoryCache(choice.memoryBytes);
  switch (choice.kind) {
    case "memory":
      return () => memory;
    case "durable-object": {
      const { objectBytes: maxBytes, timeoutMs } = choice;
      const namespace =
        bindings.RADICAL_CACHE ?? missingBinding("RADICAL_CACHE", "the Durable Object class RadicalCache");
      return (onError) =>
        new TieredCache(memory, new DurableObjectCache({ ...place, namespace, maxBytes, timeoutMs, onError }));
    }
    case "kv": {
      const { timeoutMs } = choice;
      const namespace = bindings.RADICAL_CACHE_KV ?? missingBinding("RADICAL_CACHE_KV", "a KV namespace");
      const writes = new KvWrites();
      return (onError) => new TieredCache(memory, new KvCache({ ...place, namespace, timeoutMs, writes, onError }));
    }
  }
}
