/** Where a location keeps what it has read: chosen in `radical.config.ts`, carried by the manifest. */

/** Behind the memory of the isolates: nothing, a Durable Object for each location, or Workers KV. */
export type CacheKind = "memory" | "durable-object" | "kv";

/** Sizes in bytes. A cache that has not answered within `timeoutMs` is missed. */
export type CacheChoice =
  | { readonly kind: "memory"; readonly memoryBytes: number; readonly maxAgeHours: number }
  | {
      readonly kind: "durable-object";
      readonly memoryBytes: number;
      /** Of the database of each location. */
      readonly objectBytes: number;
      readonly timeoutMs: number;
      readonly maxAgeHours: number;
      /** Where the objects run and store; left out: near those who ask. */
      readonly jurisdiction?: Jurisdiction;
    }
  | { readonly kind: "kv"; readonly memoryBytes: number; readonly timeoutMs: number; readonly maxAgeHours: number };

export const CACHE_KINDS = ["durable-object", "kv", "memory"] as const satisfies readonly CacheKind[];

/** The jurisdictions of Cloudflare that a deployment can be kept in. */
export const JURISDICTIONS = ["eu", "us"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** An isolate has 128 MB for everything. */
export const DEFAULT_MEMORY_BYTES = 16 * 1024 * 1024;

/** A Durable Object has 10 GB. */
export const DEFAULT_OBJECT_BYTES = 512 * 1024 * 1024;

/** A miss costs a round trip to the primary, so a much longer wait gains nothing. */
export const DEFAULT_TIMEOUT_MS = 500;

/** A week: an entry that nobody has written for so long is garbage, or soon repaired. */
export const DEFAULT_MAX_AGE_HOURS = 168;

export const DEFAULT_CACHE: CacheChoice = {
  kind: "durable-object",
  memoryBytes: DEFAULT_MEMORY_BYTES,
  objectBytes: DEFAULT_OBJECT_BYTES,
  timeoutMs: DEFAULT_TIMEOUT_MS,
  maxAgeHours: DEFAULT_MAX_AGE_HOURS,
};

const HOUR_MS = 3_600_000;
/** The memory in front has this part of the age, since it takes entries from behind without their age. */
const PART_OF_MEMORY = 1 / 8;

/** How long each tier keeps an entry. Both together: `maxAgeHours`. */
export function agesOf({ kind, maxAgeHours }: CacheChoice): { readonly memoryMs: number; readonly behindMs: number } {
  const allMs = maxAgeHours * HOUR_MS;
  if (kind === "memory") return { memoryMs: allMs, behindMs: 0 };
  const memoryMs = allMs * PART_OF_MEMORY;
  return { memoryMs, behindMs: allMs - memoryMs };
}
