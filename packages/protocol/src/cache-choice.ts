/** Where a location keeps what it has read: chosen in `radical.config.ts`, carried by the manifest. */

/** Behind the memory of the isolates: nothing, a Durable Object for each location, or Workers KV. */
export type CacheKind = "memory" | "durable-object" | "kv";

/** Sizes in bytes. A cache that has not answered within `timeoutMs` is missed. */
export type CacheChoice =
  | { readonly kind: "memory"; readonly memoryBytes: number }
  | {
      readonly kind: "durable-object";
      readonly memoryBytes: number;
      /** Of the database of each location. */
      readonly objectBytes: number;
      readonly timeoutMs: number;
    }
  | { readonly kind: "kv"; readonly memoryBytes: number; readonly timeoutMs: number };

export const CACHE_KINDS = ["durable-object", "kv", "memory"] as const satisfies readonly CacheKind[];

/** An isolate has 128 MB for everything. */
export const DEFAULT_MEMORY_BYTES = 16 * 1024 * 1024;

/** A Durable Object has 10 GB. */
export const DEFAULT_OBJECT_BYTES = 512 * 1024 * 1024;

/** A miss costs a round trip to the primary, so a much longer wait gains nothing. */
export const DEFAULT_TIMEOUT_MS = 500;

export const DEFAULT_CACHE: CacheChoice = {
  kind: "durable-object",
  memoryBytes: DEFAULT_MEMORY_BYTES,
  objectBytes: DEFAULT_OBJECT_BYTES,
  timeoutMs: DEFAULT_TIMEOUT_MS,
};
