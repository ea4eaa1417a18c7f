/**
 * Orders to empty the caches of locations. An operator's command asks the primary, and the primary asks the application's Worker,
 * which reaches all caches of its deployment. Caches are validated, so an order costs time and changes no answer. It erases.
 */
import type { CacheKind } from "./cache-choice.ts";
import { isKey, isStoredTable } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";

/** `POST` of a {@link CacheQuestion} to the primary. Its answer is a {@link CacheAnswer}, or an error. */
export const CACHES_PATH = "/v1/caches";

/** `POST` of a {@link CacheOrder} to the Worker, signed by the primary. Its answer is a {@link CacheAnswer}, or an error. */
export const WORKER_CACHES_PATH = "/api/-/caches";

export type CacheOrder =
  /** Asks where there are caches. */
  | { readonly kind: "look" }
  /** Empties a cache, or a part of it. An answer with `next` asks for the same order with that as `after`. */
  | {
      readonly kind: "purge";
      /** Null: all locations that share one store. */
      readonly location: string | null;
      /** Null: all tables. */
      readonly table: string | null;
      /** An item of the table; null: all of them. */
      readonly key: string | null;
      /** Null: from the start. */
      readonly after: string | null;
    };

/** Most locations in the list of an application's caches. Others have caches too, which are emptied by name. */
export const MOST_LOCATIONS = 10_000;

export type CacheAnswer =
  /** `locations`: those that have a cache of their own; null: all locations share one store. */
  | { readonly kind: "looked"; readonly cache: CacheKind; readonly locations: readonly string[] | null }
  | {
      readonly kind: "purged";
      /** That were there and are gone. */
      readonly entries: number;
      /** Null: all of it is done. */
      readonly next: string | null;
    };

export interface CacheQuestion {
  /** Origin of the application's Worker; null: where the primary calls services. */
  readonly worker: string | null;
  readonly order: CacheOrder;
}

const MAX_TEXT_LENGTH = 4_096;
/** Only this machine is called without TLS. */
const ORIGIN = /^(?:https:\/\/[^\s/?#@]{1,300}|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?)$/;

export function isWorkerOrigin(text: string): boolean {
  return ORIGIN.test(text);
}

/** Throws a MalformedError. */
export function readCacheQuestion({ worker = null, order }: Readonly<Record<string, unknown>>): CacheQuestion {
  if (worker !== null && (typeof worker !== "string" || !isWorkerOrigin(worker)))
    throw new MalformedError("worker is not the origin of a Worker");
  return { worker, order: readCacheOrder(order) };
}

/** Throws a MalformedError. */
export function readCacheOrder(order: unknown): CacheOrder {
  if (typeof order !== "object" || order === null) throw new MalformedError("malformed order about caches");
  const { kind, location, table, key, after } = order as Readonly<Record<string, unknown>>;
  if (kind === "look") return { kind };
  if (kind !== "purge") throw new MalformedError("malformed order about caches");
  if (!isTextOrNull(location) || !isTextOrNull(table) || !isTextOrNull(key) || !isTextOrNull(after))
    throw new MalformedError("malformed order about caches");
  if (table !== null && !isStoredTable(table)) throw new MalformedError("table is not the name of a table");
  if (key !== null && (table === null || !isKey(key))) throw new MalformedError("key is not the key of an item");
  return { kind, location, table, key, after };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && value !== "" && value.length <= MAX_TEXT_LENGTH);
}

/** Null: it is not one. */
export function cacheAnswerIn(json: unknown): CacheAnswer | null {
  if (typeof json !== "object" || json === null) return null;
  const { kind, cache, locations, entries, next } = json as Readonly<Record<string, unknown>>;
  if (kind === "looked" && (cache === "memory" || cache === "durable-object" || cache === "kv")) {
    if (locations === null) return { kind, cache, locations };
    if (Array.isArray(locations) && locations.every((name) => typeof name === "string"))
      return { kind, cache, locations };
  }
  return kind === "purged" && typeof entries === "number" && (next === null || typeof next === "string")
    ? { kind, entries, next }
    : null;
}
