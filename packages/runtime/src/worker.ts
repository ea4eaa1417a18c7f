/**
 * A location as a Cloudflare Worker: HTTP, calls in process, the execution, its cache and its way to the primary, put
 * together.
 */
import { waitUntil } from "cloudflare:workers";
import { type HandlerManifest, type Manifest, SEED_BYTES, type TraceContext, traceContextOf } from "@radical/protocol";
import type { CompiledModule, HandlerModule, Pace } from "@radical/wasm-host";
import { type LocationCache, openCache } from "./cache/open-cache.ts";
import { NO_PLACE, type Place, placeOf, type Whereabouts } from "./cache/place.ts";
import type { Answer } from "./core/effects.ts";
import { Execution } from "./core/execution.ts";
import { Experience } from "./core/experience.ts";
import { Leader } from "./core/leader.ts";
import { drive } from "./driver.ts";
import { ArmedFailpoint } from "./failpoints.ts";
import { CallError } from "./call-error.ts";
import { type Authenticate, callerOf, checkedCaller } from "./http/authentication.ts";
import { argumentsOf, declarationOf, readArguments, route } from "./http/call.ts";
import { Cors, type CorsOptions } from "./http/cors.ts";
import { healthOf } from "./health.ts";
import { type Identity, identityOf, toldExecution } from "./http/idempotency-key.ts";
import { type Reply, replyOf, replyOfError, toResponse } from "./http/reply.ts";
import { type Log, consoleLog } from "./log.ts";
import { Primary } from "./lvi/primary.ts";
import { withMetrics } from "./metrics.ts";
import { type Env, type Settings, readSettings } from "./settings.ts";
import { answerLeaves, SpeculationLane } from "./speculation-lane.ts";
import { Timings } from "./timings.ts";
import { Updates } from "./updates.ts";

export interface WorkerParts {
  readonly manifest: Manifest;
  /** `module.wasm`: the handlers. */
  readonly f: CompiledModule;
  /** `module.rw.wasm`: the read/write-set functions. */
  readonly rw: CompiledModule;
  readonly log?: Log;
  /** For benchmarks. */
  readonly pace?: Pace;
}

export interface RadicalWorker {
  readonly fetch: (request: Request, env: Env, context: Context) => Promise<Response>;
}

export interface RadicalOptions<Bindings> {
  /** Without it nobody is known: `caller()` is null. */
  readonly authenticate?: Authenticate<Bindings>;
  /** Without it only pages of the application's own origin may call. */
  readonly cors?: CorsOptions;
}

/** What of the platform's context is used. */
type Context = Pick<ExecutionContext, "waitUntil">;

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
  /** Answers `/api/<handler>`. */
  readonly fetch: (request: Request, env: Bindings, context: Context) => Promise<Response>;
}

/** What the requests of an isolate share. None of it belongs to a request. */
interface Isolate {
  readonly settings: Settings;
  readonly cache: LocationCache;
  readonly primary: Primary;
  readonly lane: SpeculationLane;
  readonly experience: Experience;
  readonly leader: Leader;
  /** Null: there is nothing to keep fresh. */
  readonly updates: Updates | null;
  /** Of the last request that had one: for calls that no request is known of. */
  place: Place;
  /** For crash tests. */
  readonly failpoint: ArmedFailpoint | null;
}

/** A module as the Worker of an application's own gets it: `createRadical` of `radical:worker`. */
export function bindRadical({
  manifest,
  f,
  rw,
  log = consoleLog,
  pace,
}: WorkerParts): <Bindings = Env>(options?: RadicalOptions<Bindings>) => Radical<Bindings> {
  const module: HandlerModule = { hash: manifest.module, f, rw, limits: manifest.limits, pace };
  let isolate: Isolate | null = null;

  const openIsolate = (env: Env): Isolate => {
    const settings = readSettings(env);
    const cache = openCache(manifest.cache, manifest.application, env);
    const primary = new Primary(settings.ways, settings.key);
    const leader = new Leader(settings.ways.length);
    const caches = !settings.nearStorageOnly && manifest.cache.memoryBytes > 0;
    return {
      settings,
      cache,
      primary,
      lane: new SpeculationLane(),
      experience: new Experience(),
      leader,
      updates: caches ? new Updates({ primary, leader, memory: cache.memory, now }) : null,
      place: settings.location === null ? NO_PLACE : { location: settings.location, hint: null },
      failpoint: manifest.testHooks?.failpoint === undefined ? null : new ArmedFailpoint(manifest.testHooks.failpoint),
    };
  };

  return <Bindings>({ authenticate, cors: corsOptions }: RadicalOptions<Bindings> = {}) => {
    const cors = new Cors(corsOptions ?? null);

    /** Answers as soon as it can; what is left to do then keeps the Worker alive. */
    const exchange = (
      bindings: Bindings,
      context: Context,
      request: Request | null,
      read: (exchange: Exchange, settings: Settings) => Promise<CallInput>,
    ): Promise<Told> => {
      const replying = Promise.withResolvers<Told>();
      // At its start: a client that goes away must not cancel the followup.
      context.waitUntil(
        (async () => {
          const reported = withMetrics(log, (bindings as Env).RADICAL_METRICS);
          const one = new Exchange(manifest, module, reported, request === null ? null : traceOf(request));
          try {
            isolate ??= openIsolate(bindings as Env);
            if (isolate.settings.location === null && request?.cf?.colo !== undefined)
              isolate.place = placeOf(request.cf as Partial<Whereabouts>);
            one.place = isolate.place;
            await one.execute(await read(one, isolate.settings), isolate, replying.resolve);
          } catch (error) {
            replying.resolve(one.fail(error));
            one.report();
          }
        })(),
      );
      return replying.promise;
    };

    const fetch: Radical<Bindings>["fetch"] = async (request, env, context) => {
      if (cors.isPreflight(request)) return cors.preflight(request);
      const reply = await exchange(env, context, request, async (one, { maxBodyBytes }) => {
        cors.check(request);
        const handler = one.name(route(request, manifest));
        const caller = await callerOf(authenticate, request, env);
        const identity = await one.identify(request.headers.get("idempotency-key"), caller, handler);
        const declaration = declarationOf(handler, manifest);
        const args = await readArguments(request, declaration, manifest, maxBodyBytes);
        return { handler, declaration, args, identity, caller, mustNotWrite: request.method === "GET" };
      });
      return toResponse(reply, cors.headers(request));
    };

    const calls = (env: Bindings, context: Context = { waitUntil }): { readonly call: Call } => ({
      call: async (name, args = {}, { request, caller, idempotencyKey } = {}) => {
        const reply = await exchange(env, context, request ?? null, async (one) => {
          const declaration = declarationOf(name, manifest);
          const handler = one.name(name);
          const onBehalfOf =
            caller !== undefined || request === undefined
              ? checkedCaller(caller ?? null, "the caller of call()")
              : await callerOf(authenticate, request, env);
          const identity = await one.identify(idempotencyKey ?? null, onBehalfOf, handler);
          const encoded = argumentsOf(args, declaration, manifest);
          return { handler, declaration, args: encoded, identity, caller: onBehalfOf, mustNotWrite: false };
        });
        return resultOf(reply);
      },
    });
    return Object.assign(calls, { fetch });
  };
}

/** The default entry: handlers under `/api/` and nothing else. */
export function createWorker(parts: WorkerParts): RadicalWorker {
  return entryOf(bindRadical(parts)(), parts.manifest) as RadicalWorker;
}

/**
 * What a Worker exports by default, from what the application's entry does: a `createRadical` alone is one too. Whatever
 * its own routes are, it tells its health; an entry that is a class has to route that itself.
 */
export function entryOf(entry: unknown, manifest: Manifest): unknown {
  if (typeof entry === "function" && !Object.hasOwn(entry, "fetch")) return entry;
  if ((typeof entry !== "object" && typeof entry !== "function") || entry === null) {
    throw new TypeError(
      "the Worker's entry must export by default a createRadical(), or an object with the method fetch",
    );
  }
  const own = entry as Partial<RadicalWorker> & Readonly<Record<string, unknown>>;
  const fetch: RadicalWorker["fetch"] = (request, env, context) => {
    const answering = healthOf(request, env, manifest) ?? own.fetch?.(request, env, context);
    return answering ?? Promise.resolve(new Response(null, { status: 404 }));
  };
  const others = OTHER_EVENTS.flatMap((name) => {
    const handler = own[name];
    return typeof handler === "function" ? [[name, handler.bind(own) as unknown] as const] : [];
  });
  return { ...Object.fromEntries(others), fetch };
}

/** What the platform calls a Worker for, besides requests. */
const OTHER_EVENTS = ["scheduled", "queue", "email", "tail", "tailStream", "trace", "connect", "test"] as const;

interface CallInput {
  readonly handler: string;
  readonly declaration: HandlerManifest;
  /** Encoded: a map by parameter name. */
  readonly args: Uint8Array;
  readonly identity: Identity;
  readonly caller: string | null;
  /** It came as a GET. A call in process is none: the application's own code decides what its routes do. */
  readonly mustNotWrite: boolean;
}

/** A reply with the `Idempotency-Key` that repeats the call; null: nothing was called. */
type Told = Reply & { readonly repeatKey: string | null };

/** One call of a handler and its answer. */
class Exchange {
  readonly #manifest: Manifest;
  readonly #module: HandlerModule;
  readonly #log: Log;
  readonly #trace: TraceContext | null;
  readonly #timings = new Timings(now);
  /** Known one after the other. */
  place: Place = NO_PLACE;
  #handler: string | null = null;
  #identity: Identity | null = null;
  #line: Parameters<Log>[0] | null = null;

  constructor(manifest: Manifest, module: HandlerModule, log: Log, trace: TraceContext | null) {
    this.#manifest = manifest;
    this.#module = module;
    this.#log = log;
    this.#trace = trace;
  }

  name(handler: string): string {
    return (this.#handler = handler);
  }

  async identify(key: string | null, caller: string | null, handler: string): Promise<Identity> {
    return (this.#identity = await identityOf(key, { application: this.#manifest.application, caller, handler }));
  }

  /** Replies as soon as the execution is answered; settles when nothing is left to do. */
  async execute(input: CallInput, isolate: Isolate, reply: (reply: Told) => void): Promise<void> {
    const { handler, declaration, args, identity, caller, mustNotWrite } = input;
    const { settings, cache, primary, lane, experience, leader, updates, failpoint } = isolate;
    const environment = { timeMs: Date.now(), seed: crypto.getRandomValues(new Uint8Array(SEED_BYTES)), caller };
    const execution = new Execution(
      {
        ...identity,
        module: this.#module.hash,
        handler,
        args,
        environment,
        mustNotWrite,
        location: this.place.location,
        plan: settings.nearStorageOnly ? "near-storage" : declaration.plan,
        seen: primary.seen,
        undeclaredTables: this.#manifest.testHooks?.undeclaredTables ?? [],
      },
      settings.bounds,
      experience,
      leader,
    );
    const run = drive(execution, {
      module: this.#module,
      invocation: { handler, args, environment },
      cache: cache.of(this.place, (error) => this.#warn("warn", "cache_failed", describe(error))),
      primary,
      trace: this.#trace,
      lane,
      failpoint,
      timings: this.#timings,
      now,
      warn: (event, message) => this.#warn(event === "wrote_on_get" ? "error" : "warn", event, message),
      fault: (error) => this.#warn("error", "internal_error", describe(error)),
    });
    let answer: Answer | null = null;
    try {
      answer = await run.answered;
      reply(this.#reply(replyOf(answer), answer));
    } catch (error) {
      reply(this.fail(error));
    }
    const caches = answer?.kind === "outcome" && declaration.plan !== "near-storage";
    await Promise.all([run.finished, this.#afterwards(caches ? updates : null)]);
  }

  /** The request has what it wanted: it is reported, and listens for those to come. */
  async #afterwards(updates: Updates | null): Promise<void> {
    await answerLeaves();
    this.report();
    await updates?.listen(this.place.location);
  }

  /** The reply to bad input, or to a fault of ours. */
  fail(error: unknown): Told {
    const reply = replyOfError(error);
    if (reply.code === "internal_error") this.#warn("error", "internal_error", describe(error));
    return this.#reply(reply, null);
  }

  /** What was replied, to the log. */
  report(): void {
    if (this.#line !== null) this.#log(this.#line);
    this.#line = null;
  }

  #reply(reply: Reply, answer: Answer | null): Told {
    const execution = this.#identity?.executionId ?? null;
    const ms = this.#timings.toRecord();
    this.#line = {
      level: "info",
      event: "request",
      location: this.place.location,
      handler: this.#handler,
      execution,
      trace: this.#trace?.traceId ?? null,
      status: reply.status,
      path: reply.path,
      reason: answer?.kind === "outcome" ? answer.reason : null,
      code: reply.code,
      ms,
      fuel: this.#timings.fuel,
    };
    const headers: Record<string, string> = {
      ...reply.headers,
      "x-radical-location": this.place.location,
      "server-timing": this.#timings.toHeader(ms),
    };
    if (execution !== null) headers["x-radical-execution"] = toldExecution(execution);
    return { ...reply, headers, repeatKey: this.#identity?.repeatKey ?? null };
  }

  #warn(
    level: "warn" | "error",
    event: Extract<Parameters<Log>[0], { level: "warn" | "error" }>["event"],
    message: string,
  ): void {
    this.#log({
      level,
      event,
      location: this.place.location,
      handler: this.#handler,
      execution: this.#identity?.executionId ?? null,
      message,
    });
  }
}

/** The result of a call in process. Throws a CallError for every other reply. */
function resultOf({ status, body, headers, repeatKey }: Told): unknown {
  const { result, error } = JSON.parse(body) as {
    readonly result?: unknown;
    readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
  };
  if (error === undefined) return result;
  const retryAfter = headers["retry-after"];
  throw new CallError(status, error.code, error.message, {
    hint: error.hint,
    idempotencyKey: repeatKey,
    retryAfter: retryAfter === undefined ? null : Number(retryAfter),
  });
}

function traceOf({ headers }: Request): TraceContext | null {
  return traceContextOf(headers.get("traceparent"), headers.get("tracestate"));
}

function now(): number {
  return performance.now();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
