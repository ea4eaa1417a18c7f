/** The variables and bindings of a location's Worker, checked once per isolate. */
import {
  DEFAULT_BLOB_KEEP_HOURS,
  DEFAULT_MAX_BLOB_BYTES,
  type OtlpEnvironment,
  type OtlpTarget,
  RadicalError,
  readOtlp,
} from "@radical/protocol";
import type { BlobBindings } from "./blobs/open-blob-store.ts";
import type { CacheNamespace } from "./cache/durable-object-cache.ts";
import { DEFAULT_BOUNDS, type ExecutionBounds } from "./core/execution.ts";
import { DEFAULT_LIVE_BOUNDS, type LiveBounds } from "./core/live-queries.ts";
import { fromHex } from "./hex.ts";
import type { PrimaryKey, Way } from "./lvi/primary.ts";

/** The bindings that the caches need; the build chose one cache. */
export interface CacheBindings {
  /** `durable-object`: the class {@link RadicalCache}. */
  readonly RADICAL_CACHE?: CacheNamespace;
  /** `kv`: a namespace that nothing else uses. */
  readonly RADICAL_CACHE_KV?: KVNamespace;
}

/** The variables of OpenTelemetry name the collector of spans, as everywhere. */
export interface Env extends CacheBindings, BlobBindings, OtlpEnvironment {
  /** Most bytes of one blob; 16 MiB if not set. */
  readonly RADICAL_MAX_BLOB_BYTES?: string;
  /** How long bytes that nobody names are kept; a day if not set. */
  readonly RADICAL_BLOB_KEEP_MS?: string;
  /** "1": everybody may put blobs. `radical dev` sets it. */
  readonly RADICAL_BLOBS_OPEN?: string;
  /** Ways to the LVI servers, leader and standby in any order: Workers VPC services. */
  readonly RADICAL_PRIMARY_A?: Pick<Fetcher, "fetch">;
  readonly RADICAL_PRIMARY_B?: Pick<Fetcher, "fetch">;
  /** Without these: origins of the LVI servers, separated by commas. */
  readonly RADICAL_PRIMARY_URL?: string;
  readonly RADICAL_KEY_ID: string;
  /** The deployment's key in hex; a secret. */
  readonly RADICAL_KEY: string;
  /** Of a Worker that serves one location; else the data centre of each request is its location. */
  readonly RADICAL_LOCATION?: string;
  /** "1": every execution runs near storage. The central baseline. */
  readonly RADICAL_NEAR_STORAGE_ONLY?: string;
  /** Most bytes of a request's body; 1 MiB if not set. */
  readonly RADICAL_MAX_BODY_BYTES?: string;
  /** "1": pages of the machine itself may call, at any port. `radical dev` sets it. */
  readonly RADICAL_LOOPBACK_ORIGINS?: string;
  /** Most streams of live queries of one isolate. */
  readonly RADICAL_MAX_STREAMS?: string;
  /** How often the caller of a stream is checked anew. */
  readonly RADICAL_CALLER_CHECK_MS?: string;
  /** Gets a data point for each request. */
  readonly RADICAL_METRICS?: AnalyticsEngineDataset;
  /** One of so many executions tells its life in the log; not set: none. `radical dev` sets 1. */
  readonly RADICAL_LIVES_EVERY?: string;
  /** How long one LVI request waits for its reply, and in which time an execution is answered at all. */
  readonly RADICAL_ATTEMPT_MS?: string;
  readonly RADICAL_TOTAL_MS?: string;
}

export interface Settings {
  /** To the servers of the primary. */
  readonly ways: readonly Way[];
  readonly key: PrimaryKey;
  /** Null: where each request is. */
  readonly location: string | null;
  readonly nearStorageOnly: boolean;
  readonly maxBodyBytes: number;
  readonly maxBlobBytes: number;
  readonly blobKeepMs: number;
  readonly bounds: ExecutionBounds;
  readonly live: Partial<LiveBounds>;
  /** One of so many executions tells its life; null: none does. */
  readonly livesEvery: number | null;
  /** Where spans go; null: there are none. */
  readonly otlp: OtlpTarget | null;
}

const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;
const MIN_KEY_BYTES = 16;
/** While a standby takes over nobody leads, for the term of a leadership and some more: so many rounds last that long. */
const ATTEMPTS_WITH_STANDBY = 10;

/** Throws an `internal_error` that names the variable. */
export function readSettings(env: Env): Settings {
  const secret = fromHex(env.RADICAL_KEY ?? "");
  if (secret === null || secret.length < MIN_KEY_BYTES)
    throw wrong("RADICAL_KEY", `at least ${MIN_KEY_BYTES} bytes in hex`);
  if (!env.RADICAL_KEY_ID) throw wrong("RADICAL_KEY_ID", "the name of the key");
  const ways = waysOf(env);
  return {
    ways,
    key: { id: env.RADICAL_KEY_ID, secret },
    location: env.RADICAL_LOCATION || null,
    nearStorageOnly: env.RADICAL_NEAR_STORAGE_ONLY === "1",
    maxBodyBytes: positive("RADICAL_MAX_BODY_BYTES", env.RADICAL_MAX_BODY_BYTES, DEFAULT_MAX_BODY_BYTES),
    maxBlobBytes: positive("RADICAL_MAX_BLOB_BYTES", env.RADICAL_MAX_BLOB_BYTES, DEFAULT_MAX_BLOB_BYTES),
    blobKeepMs: positive("RADICAL_BLOB_KEEP_MS", env.RADICAL_BLOB_KEEP_MS, DEFAULT_BLOB_KEEP_HOURS * 3_600_000),
    bounds: {
      ...DEFAULT_BOUNDS,
      attempts: ways.length > 1 ? ATTEMPTS_WITH_STANDBY : DEFAULT_BOUNDS.attempts,
      attemptMs: positive("RADICAL_ATTEMPT_MS", env.RADICAL_ATTEMPT_MS, DEFAULT_BOUNDS.attemptMs),
      totalMs: positive("RADICAL_TOTAL_MS", env.RADICAL_TOTAL_MS, DEFAULT_BOUNDS.totalMs),
    },
    live: {
      subscribers: positive("RADICAL_MAX_STREAMS", env.RADICAL_MAX_STREAMS, DEFAULT_LIVE_BOUNDS.subscribers),
      callerMs: positive("RADICAL_CALLER_CHECK_MS", env.RADICAL_CALLER_CHECK_MS, DEFAULT_LIVE_BOUNDS.callerMs),
    },
    livesEvery: env.RADICAL_LIVES_EVERY ? positive("RADICAL_LIVES_EVERY", env.RADICAL_LIVES_EVERY, 1) : null,
    otlp: otlpOf(env),
  };
}

/** Null: executions have no spans. */
function otlpOf(env: Env): OtlpTarget | null {
  const read = readOtlp(env);
  if (read?.kind === "wrong") throw wrong(read.name, read.expected);
  return read;
}

function waysOf({ RADICAL_PRIMARY_A, RADICAL_PRIMARY_B, RADICAL_PRIMARY_URL = "" }: Env): readonly Way[] {
  const bound = [RADICAL_PRIMARY_A, RADICAL_PRIMARY_B].filter((fetcher) => fetcher !== undefined);
  if (bound.length > 0) return bound.map((fetcher) => ({ kind: "binding", fetcher }));
  const origins = RADICAL_PRIMARY_URL.split(",").map((origin) => origin.trim());
  if (!origins.every((origin) => URL.canParse(origin)))
    throw wrong("RADICAL_PRIMARY_URL", "the URL of the LVI server, or those of several separated by commas");
  return origins.map((origin) => ({ kind: "url", origin }));
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
    `The location is not configured: ${name} must be bound to ${expected}.`,
    `Bind ${name} for this Worker, or choose another cache in radical.config.ts.`,
  );
}

function wrong(name: string, expected: string): RadicalError {
  return new RadicalError(
    "internal_error",
    `The location is not configured: ${name} must be ${expected}.`,
    `Set ${name} for this Worker.`,
  );
}
