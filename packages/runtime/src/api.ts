/** The types of `radical:worker`, as the entry of an application sees them. */
import type { Environment, ExecutionId, Manifest, UnitId, Version } from "@radical/protocol";
import type { CompiledModule, Pace } from "@radical/wasm-host";
import type { Authenticate } from "./http/authentication.ts";
import type { CorsOptions } from "./http/cors.ts";
import type { LimitOptions } from "./http/limit.ts";
import type { Isolate } from "./isolate.ts";
import type { Log } from "./log.ts";
import type { Service } from "./services/perform.ts";
import type { Env } from "./settings.ts";

export interface WorkerParts {
  readonly manifest: Manifest;
  /** `module.wasm`: the handlers. */
  readonly f: CompiledModule;
  /** `module.rw.wasm`: the read/write-set functions. */
  readonly rw: CompiledModule;
  readonly log?: Log;
  /** For benchmarks. */
  readonly pace?: Pace;
  /** For benchmarks: told of each execution that was answered by read leases. */
  readonly onLeased?: (leased: LeasedExecution) => void;
  /** For `radical dev`: told of what the requests share, once the first one has come. */
  readonly onIsolate?: (isolate: Isolate) => void;
  /** Whether another build serves in place of this one, so that streams are to end. */
  readonly isReplaced?: () => boolean;
  /** For tests of an application: by how much the time of handlers is ahead of this machine's, in ms. Left out: by nothing. */
  readonly aheadMs?: () => number;
}

/** An execution that the primary knows nothing of. */
export interface LeasedExecution {
  readonly executionId: ExecutionId;
  readonly handler: string;
  /** Encoded. */
  readonly args: Uint8Array;
  readonly environment: Environment;
  readonly versions: ReadonlyMap<UnitId, Version>;
}

export interface RadicalWorker {
  readonly fetch: (request: Request, env: Env, context: Context) => Promise<Response>;
  /** Of an application with Blobs, or one that has such a function itself. */
  readonly scheduled?: (event: Pick<ScheduledController, "cron">, env: unknown, context: Context) => Promise<unknown>;
}

export interface RadicalOptions<Bindings> {
  /** Without it nobody is known: `caller()` is null. */
  readonly authenticate?: Authenticate<Bindings>;
  /** Without it only pages of the application's own origin may call. */
  readonly cors?: CorsOptions;
  /** How many requests one address, and one caller, may send. Without it: any number. */
  readonly limit?: LimitOptions<Bindings>;
  /** Without it nobody may put blobs in a deployment. */
  readonly blobs?: BlobOptions<Bindings>;
  /** The services that the handlers' sources declare, by name. */
  readonly services?: Readonly<Record<string, Service<Bindings>>>;
}

export interface BlobOptions<Bindings> {
  /**
   * Whether the bytes of the request may be put, on behalf of the caller that `authenticate` has found. It may throw a
   * `CallError` instead. It is given the head of the request, with its `content-type` and its `content-length`.
   */
  readonly authorize: (request: Request, env: Bindings, caller: string | null) => boolean | Promise<boolean>;
}

/** The used part of the platform's context. */
export type Context = Pick<ExecutionContext, "waitUntil">;

export interface CallOptions {
  /**
   * The request on whose behalf the handler is called: `authenticate` finds its caller, and its trace goes on. Its
   * idempotency key is not taken: a route may call several handlers.
   */
  readonly request?: Request;
  /** On whose behalf, if not what `authenticate` says of `request`. */
  readonly caller?: string | null;
  /** As the header `Idempotency-Key`. */
  readonly idempotencyKey?: string;
}

/** Calls a handler by name; gives its result, or throws a {@link CallError}. */
export type Call = (handler: string, args?: unknown, options?: CallOptions) => Promise<unknown>;

export interface Radical<Bindings> {
  /** Handlers in process. Without a context the platform's current one keeps the Worker alive for the followup. */
  (env: Bindings, context?: Context): { readonly call: Call };
  /** Answers `/api/<handler>`, and `/blobs` of an application with Blobs. */
  readonly fetch: (request: Request, env: Bindings, context: Context) => Promise<Response>;
}
