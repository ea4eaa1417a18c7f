/** The variables and bindings of a location's Worker, checked once per isolate. */
import { RadicalError } from "@radical/protocol";
import type { CacheNamespace } from "./cache/durable-object-cache.ts";
import { DEFAULT_BOUNDS, type ExecutionBounds } from "./core/execution.ts";
import { fromHex } from "./hex.ts";
import type { PrimaryKey } from "./lvi/primary.ts";

/** What the cache that the build chose needs to be bound. */
export interface CacheBindings {
  /** `durable-object`: the class {@link RadicalCache}. */
  readonly RADICAL_CACHE?: CacheNamespace;
  /** `kv`: a namespace that nothing else uses. */
  readonly RADICAL_CACHE_KV?: KVNamespace;
}

export interface Env extends CacheBindings {
  /** Origin of the LVI server. */
  readonly RADICAL_PRIMARY_URL: string;
  readonly RADICAL_KEY_ID: string;
  /** The deployment's key in hex; a secret. */
  readonly RADICAL_KEY: string;
  readonly RADICAL_LOCATION: string;
  /** "1": every execution runs near storage. The central baseline. */
  readonly RADICAL_NEAR_STORAGE_ONLY?: string;
  /** Most bytes of a request's body; 1 MiB if not set. */
  readonly RADICAL_MAX_BODY_BYTES?: string;
  /** Gets a data point for each request. */
  readonly RADICAL_METRICS?: AnalyticsEngineDataset;
  /** How long one LVI request waits for its reply, and in which time an execution is answered at all. */
  readonly RADICAL_ATTEMPT_MS?: string;
  readonly RADICAL_TOTAL_MS?: string;
}

export interface Settings {
  readonly primaryUrl: string;
  readonly key: PrimaryKey;
  readonly location: string;
  readonly nearStorageOnly: boolean;
  readonly maxBodyBytes: number;
  readonly bounds: ExecutionBounds;
}

const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;
const MIN_KEY_BYTES = 16;

/** Throws an `internal_error` that names the variable. */
export function readSettings(env: Env): Settings {
  const secret = fromHex(env.RADICAL_KEY ?? "");
  if (secret === null || secret.length < MIN_KEY_BYTES)
    throw wrong("RADICAL_KEY", `at least ${MIN_KEY_BYTES} bytes in hex`);
  if (!env.RADICAL_KEY_ID) throw wrong("RADICAL_KEY_ID", "the name of the key");
  if (!env.RADICAL_LOCATION) throw wrong("RADICAL_LOCATION", "the name of the location");
  if (!URL.canParse(env.RADICAL_PRIMARY_URL)) throw wrong("RADICAL_PRIMARY_URL", "the URL of the LVI server");
  return {
    primaryUrl: env.RADICAL_PRIMARY_URL,
    key: { id: env.RADICAL_KEY_ID, secret },
    location: env.RADICAL_LOCATION,
    nearStorageOnly: env.RADICAL_NEAR_STORAGE_ONLY === "1",
    maxBodyBytes: positive("RADICAL_MAX_BODY_BYTES", env.RADICAL_MAX_BODY_BYTES, DEFAULT_MAX_BODY_BYTES),
    bounds: {
      ...DEFAULT_BOUNDS,
      attemptMs: positive("RADICAL_ATTEMPT_MS", env.RADICAL_ATTEMPT_MS, DEFAULT_BOUNDS.attemptMs),
      totalMs: positive("RADICAL_TOTAL_MS", env.RADICAL_TOTAL_MS, DEFAULT_BOUNDS.totalMs),
    },
  };
}

function positive(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) throw wrong(name, "a positive whole number");
  return value;
}

/** Throws an `internal_error` that names the binding. */
export function missingBinding(name: keyof CacheBindings, expected: string): never {
  throw new RadicalError(
    "internal_error",
    `the location is not configured: ${name} must be bound to ${expected}`,
    `bind ${name} for this Worker, or choose another cache in radical.config.ts`,
  );
}

function wrong(name: string, expected: string): RadicalError {
  return new RadicalError(
    "internal_error",
    `the location is not configured: ${name} must be ${expected}`,
    `set ${name} for this Worker`,
  );
}
