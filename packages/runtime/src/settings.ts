/** The variables and bindings of a location's Worker, checked once per isolate. */
import { RadicalError } from "@radical/protocol";
import type { CacheNamespace } from "./cache/durable-object-cache.ts";
import { DEFAULT_MEMORY_CACHE_BYTES } from "./cache/memory-cache.ts";
import { DEFAULT_BOUNDS, type ExecutionBounds } from "./core/execution.ts";
import { fromHex } from "./hex.ts";
import type { PrimaryKey } from "./lvi/primary.ts";

export interface Env {
  /** Origin of the LVI server. */
  readonly RADICAL_PRIMARY_URL: string;
  readonly RADICAL_KEY_ID: string;
  /** The deployment's key in hex; a secret. */
  readonly RADICAL_KEY: string;
  readonly RADICAL_LOCATION: string;
  /** The Durable Object class {@link RadicalCache}; without it there is only the isolate's memory. */
  readonly RADICAL_CACHE?: CacheNamespace;
  /** "1": every execution runs near storage. The central baseline. */
  readonly RADICAL_NEAR_STORAGE_ONLY?: string;
  /** Most bytes of a request's body; 1 MiB if not set. */
  readonly RADICAL_MAX_BODY_BYTES?: string;
  readonly RADICAL_MEMORY_CACHE_BYTES?: string;
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
  readonly memoryCacheBytes: number;
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
    memoryCacheBytes: positive(
      "RADICAL_MEMORY_CACHE_BYTES",
      env.RADICAL_MEMORY_CACHE_BYTES,
      DEFAULT_MEMORY_CACHE_BYTES,
    ),
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

function wrong(name: string, expected: string): RadicalError {
  return new RadicalError(
    "internal_error",
    `the location is not configured: ${name} must be ${expected}`,
    `set ${name} for this Worker`,
  );
}
