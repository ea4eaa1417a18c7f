/**
 * A location as a Cloudflare Worker: HTTP, calls in process, the execution, its cache and its way to the primary, put
 * together.
 */
import { waitUntil } from "cloudflare:workers";
import { BLOB_CRON, BLOBS_PATH, hasBlobs, RadicalError, type TraceContext, traceContextOf } from "@radical/protocol";
import type { HandlerModule } from "@radical/wasm-host";
import type { Call, Context, Radical, RadicalOptions, RadicalWorker, WorkerParts } from "./api.ts";
import { type AskBlobs, inputOf } from "./blobs/ask.ts";
import { getBlob, isBlobPath, putBlob } from "./blobs/blob-requests.ts";
import { collectBlobs } from "./blobs/collector.ts";
import { openBlobStore } from "./blobs/open-blob-store.ts";
import { answerCaches } from "./cache/cache-requests.ts";
import { NO_PLACE, placeOf, type Whereabouts } from "./cache/place.ts";
import { CallError } from "./call-error.ts";
import { type CallInput, Exchange, type Told } from "./exchange.ts";
import { callerOf, checkedCaller, headOf } from "./http/authentication.ts";
import { argumentsOf, declarationOf, readArguments, route } from "./http/call.ts";
import { Cors } from "./http/cors.ts";
import { EVENT_STREAM_HEADERS, wantsEvents } from "./http/event-stream.ts";
import { admit } from "./http/limit.ts";
import { healthOf } from "./health.ts";
import { replyOfError, toResponse } from "./http/reply.ts";
import {
  DEFAULT_WORKFLOW_WAIT_MS,
  MAX_WORKFLOW_WAIT_MS,
  mayNameWorkflow,
  waitMsOf,
  workflowRequest,
} from "./http/workflow-request.ts";
import { prefersSpeculative, SpeculativeReply } from "./http/speculative-reply.ts";
import { type Isolate, openIsolate } from "./isolate.ts";
import type { Stream } from "./live-stream.ts";
import { consoleLog, type Log } from "./log.ts";
import { withMetrics } from "./metrics.ts";
import type { ServiceFault } from "./services/perform.ts";
import { checkServices, registeredServices, registerServices, type Services } from "./services/registered.ts";
import { answerService, isServicePath, Nonces } from "./services/service-requests.ts";
import { type Env, readSettings, type Settings } from "./settings.ts";
import { askWorkflow } from "./workflow-question.ts";

/** A module as the Worker of an application's own gets it: `createRadical` of `radical:worker`. */
export function bindRadical(
  parts: WorkerParts,
): <Bindings = Env>(options?: RadicalOptions<Bindings>) => Radical<Bindings> {
  const { manifest, f, rw, log = consoleLog, pace, onLeased, onIsolate, isReplaced = () => false, aheadMs } = parts;
  const module: HandlerModule = { hash: manifest.module, f, rw, limits: manifest.limits, pace };
  const hasWorkflows = Object.values(manifest.handlers).some(({ plan }) => plan === "workflow");
  let isolate: Isolate | null = null;

  return <Bindings>({ authenticate, cors: corsOptions, limit, blobs, services }: RadicalOptions<Bindings> = {}) => {
    if (services !== undefined) registerServices(manifest, services as Services);
    const named = new Cors(corsOptions ?? null);
    const besideDev = new Cors(corsOptions ?? null, true);
    const corsOf = (bindings: Bindings): Cors =>
      (bindings as Env).RADICAL_LOOPBACK_ORIGINS === "1" ? besideDev : named;

    /** The caller of a request that may go on. */
    const admitted = (request: Request, bindings: Bindings, handler: string | null): Promise<string | null> => {
      const onFailed = (error: unknown): void => {
        const message = error instanceof Error ? error.message : String(error);
        log({ level: "warn", event: "limit_failed", location: locationOf(), handler, execution: null, message });
      };
      return admit({ authenticate, limit, onFailed }, request, bindings, handler);
    };
    const locationOf = (): string => (isolate?.place ?? NO_PLACE).location;

    const openFor = (bindings: Bindings, request: Request | null): Isolate => {
      if (isolate === null) {
        isolate = openIsolate(manifest, bindings as Env, aheadMs);
        onIsolate?.(isolate);
      }
      if (isolate.settings.location === null && request?.cf?.colo !== undefined)
        isolate.place = placeOf(request.cf as Partial<Whereabouts>);
      return isolate;
    };
    const newExchange = (bindings: Bindings, request: Request | null): Exchange => {
      const reported = withMetrics(log, (bindings as Env).RADICAL_METRICS);
      return new Exchange(manifest, module, reported, request === null ? null : traceOf(request), onLeased ?? null);
    };

    /** Answers as soon as it can; what is left to do then keeps the Worker alive. */
    const exchange = (
      bindings: Bindings,
      context: Context,
      request: Request | null,
      early: SpeculativeReply | null,
      read: (exchange: Exchange, settings: Settings) => Promise<CallInput>,
    ): Promise<Told> => {
      const replying = Promise.withResolvers<Told>();
      // At its start: a client that goes away must not cancel the followup.
      context.waitUntil(
        (async () => {
          const one = newExchange(bindings, request);
          try {
            const opened = openFor(bindings, request);
            one.begin(opened);
            await one.execute(await read(one, opened.settings), opened, early, replying.resolve);
          } catch (error) {
            replying.resolve(one.fail(error));
            one.report();
            await one.sendSpans();
          }
        })(),
      );
      return replying.promise;
    };

    /** A live query: its request lives as long as its client stays. */
    const stream = (bindings: Bindings, context: Context, request: Request): Promise<Response> => {
      const responding = Promise.withResolvers<Response>();
      const cors = corsOf(bindings);
      context.waitUntil(
        (async () => {
          const one = newExchange(bindings, request);
          let opened: Stream | null = null;
          try {
            const { place, settings, streams } = openFor(bindings, request);
            one.place = place;
            cors.check(request);
            const handler = one.name(route(request, manifest));
            const callerNow = (): Promise<string | null> => callerOf(authenticate, request, bindings);
            const caller = await admitted(request, bindings, handler);
            const declaration = declarationOf(handler, manifest);
            const args = await readArguments(request, declaration, manifest, settings.maxBodyBytes);
            const input = { handler, declaration, args, caller, mustNotWrite: true };
            opened = streams.open(openFor(bindings, request), {
              ...input,
              known: request.headers.get("last-event-id"),
              callerNow,
              isReplaced,
              execute: async (live) => {
                const run = newExchange(bindings, request);
                const isolated = openFor(bindings, request);
                run.begin(isolated);
                const replying = Promise.withResolvers<Told>();
                const identity = await run.identify(null, caller, handler);
                run.name(handler);
                const call = { ...input, identity, live };
                const finished = run.execute(call, isolated, null, replying.resolve);
                return { told: await replying.promise, finished: finished.then(() => run.subrequests) };
              },
            });
            const headers = { ...EVENT_STREAM_HEADERS, "x-radical-location": place.location, ...cors.headers(request) };
            responding.resolve(new Response(opened.readable, { headers }));
          } catch (error) {
            responding.resolve(toResponse(one.fail(error), cors.headers(request)));
            one.report();
          }
          await opened?.serve();
        })(),
      );
      return responding.promise;
    };

    const askBlobs =
      (bindings: Bindings, context: Context, request: Request | null): AskBlobs =>
      async (handler, args) => {
        const told = await exchange(bindings, context, request, null, (one) => inputOf(one, handler, args));
        return resultOf(told) as readonly string[];
      };

    const putOrGetBlob = async (bindings: Bindings, context: Context, request: Request): Promise<Response> => {
      const cors = corsOf(bindings);
      try {
        cors.check(request);
        if (!isPut(request))
          return withHeaders(await getBlob(request, () => openBlobStore(bindings as Env)), cors.headers(request));
        const { settings, place } = openFor(bindings, request);
        const caller = await admitted(request, bindings, null);
        if (blobs === undefined && (bindings as Env).RADICAL_BLOBS_OPEN === "1") warnOpen(log, place.location);
        else if (blobs === undefined || !(await blobs.authorize(headOf(request), bindings, caller)))
          throw notAllowed(blobs === undefined);
        const ask = askBlobs(bindings, context, request);
        const putting = { ask, store: openBlobStore(bindings as Env), maxBytes: settings.maxBlobBytes };
        return withHeaders(await putBlob(request, putting), cors.headers(request));
      } catch (error) {
        const one = newExchange(bindings, request);
        const response = toResponse(one.fail(error), cors.headers(request));
        one.report();
        return response;
      }
    };

    /** A question after a workflow; null: the request is another. */
    const workflow = async (bindings: Bindings, request: Request): Promise<Response | null> => {
      const one = newExchange(bindings, request);
      const cors = corsOf(bindings);
      let told: Told;
      try {
        const of = workflowRequest(request, manifest);
        if (of === null) return null;
        const { core, primary, place } = openFor(bindings, request);
        one.place = place;
        one.name(of.handler);
        cors.check(request);
        const caller = await admitted(request, bindings, of.handler);
        const question = { ...of, caller, waitMs: waitMsOf(request) ?? 0 };
        told = await one.ask(of.workflow, askWorkflow(primary, core.primary, question, traceOf(request)));
      } catch (error) {
        told = one.fail(error);
      }
      one.report();
      return toResponse(told, cors.headers(request));
    };

    const fetch: Radical<Bindings>["fetch"] = async (request, env, context) => {
      const called = answerCaches(request, env as Env, manifest) ?? serviceOf(request, env, context, parts);
      if (called !== null) return called;
      const cors = corsOf(env);
      if (cors.isPreflight(request)) return cors.preflight(request);
      if (isBlobPath(request.url) && hasBlobs(manifest.records)) return putOrGetBlob(env, context, request);
      if (wantsEvents(request)) return stream(env, context, request);
      if (hasWorkflows && mayNameWorkflow(request.url)) {
        const asked = await workflow(env, request);
        if (asked !== null) return asked;
      }
      const early = prefersSpeculative(request) ? new SpeculativeReply() : null;
      const replying = exchange(env, context, request, early, async (one, { maxBodyBytes }) => {
        cors.check(request);
        const handler = one.name(route(request, manifest));
        const caller = await admitted(request, env, handler);
        const identity = await one.identify(request.headers.get("idempotency-key"), caller, handler);
        const declaration = declarationOf(handler, manifest);
        const args = await readArguments(request, declaration, manifest, maxBodyBytes);
        const mustNotWrite = request.method === "GET";
        const waitMs = waitMsOf(request) ?? DEFAULT_WORKFLOW_WAIT_MS;
        return { handler, declaration, args, identity, caller, mustNotWrite, waitMs, live: null };
      });
      const more = cors.headers(request);
      return early === null ? toResponse(await replying, more) : early.response(replying, more);
    };

    const collect = async (env: unknown, context: Context): Promise<void> => {
      const bindings = env as Bindings;
      try {
        const { blobKeepMs: keepMs } = openFor(bindings, null).settings;
        const store = openBlobStore(bindings as Env);
        const ask = askBlobs(bindings, context, null);
        await collectBlobs({ ask, store, keepMs, nowMs: Date.now, start: Math.random() });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        log({
          level: "warn",
          event: "blobs_not_collected",
          location: locationOf(),
          handler: null,
          execution: null,
          message,
        });
      }
    };

    const calls = (env: Bindings, context: Context = { waitUntil }): { readonly call: Call } => ({
      call: async (name, args = {}, { request, caller, idempotencyKey } = {}) => {
        const reply = await exchange(env, context, request ?? null, null, async (one) => {
          const declaration = declarationOf(name, manifest);
          const handler = one.name(name);
          const onBehalfOf =
            caller !== undefined || request === undefined
              ? checkedCaller(caller ?? null, "the caller of call()")
              : await callerOf(authenticate, request, env);
          const identity = await one.identify(idempotencyKey ?? null, onBehalfOf, handler);
          const encoded = argumentsOf(args, declaration, manifest);
          const input = { handler, declaration, args: encoded, identity, caller: onBehalfOf };
          return { ...input, mustNotWrite: false, waitMs: MAX_WORKFLOW_WAIT_MS, live: null };
        });
        return resultOf(reply);
      },
    });
    return Object.assign(calls, { fetch, [COLLECT]: collect });
  };
}

/** The scheduled event of a Worker calls it, and no application does. */
const COLLECT = Symbol("collect");

interface Collector {
  readonly [COLLECT]: (env: unknown, context: Context) => Promise<void>;
}

/** The default entry: handlers under `/api/` and nothing else. */
export function createWorker(parts: WorkerParts): RadicalWorker {
  return entryOf(bindRadical(parts)(), parts) as RadicalWorker;
}

/**
 * The default export of a Worker, from that of the application's entry: a `createRadical` alone is one too. It tells its
 * health whatever its own routes are, and collects blobs. An entry that is a class has to route that itself.
 */
export function entryOf(entry: unknown, parts: WorkerParts): unknown {
  const { manifest } = parts;
  if (typeof entry === "function" && !Object.hasOwn(entry, "fetch")) return entry;
  if ((typeof entry !== "object" && typeof entry !== "function") || entry === null) {
    throw new TypeError(
      "the Worker's entry must export by default a createRadical(), or an object with the method fetch",
    );
  }
  checkServices(manifest);
  const own = entry as Partial<RadicalWorker> & Readonly<Record<string, unknown>>;
  const fetch: RadicalWorker["fetch"] = (request, env, context) => {
    const answering =
      healthOf(request, env, manifest) ??
      answerCaches(request, env, manifest) ??
      serviceOf(request, env, context, parts) ??
      own.fetch?.(request, env, context);
    return answering ?? Promise.resolve(new Response(null, { status: 404 }));
  };
  const others = OTHER_EVENTS.flatMap((name) => {
    const handler = own[name];
    return typeof handler === "function" ? [[name, handler.bind(own) as unknown] as const] : [];
  });
  if (!hasBlobs(manifest.records)) return { ...Object.fromEntries(others), fetch };
  const collector = bindRadical(parts)() as unknown as Collector;
  const scheduled: RadicalWorker["scheduled"] = async (event, env, context) =>
    event.cron === BLOB_CRON ? collector[COLLECT](env, context) : own.scheduled?.(event, env, context);
  return { ...Object.fromEntries(others), scheduled, fetch };
}

function isPut({ method, url }: Request): boolean {
  return method === "PUT" && new URL(url).pathname === BLOBS_PATH;
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.append(name, value);
  return response;
}

let hasWarnedOpen = false;

function warnOpen(log: Log, location: string): void {
  if (hasWarnedOpen) return;
  hasWarnedOpen = true;
  const message = "Everybody may put blobs here. A deployment refuses them without blobs.authorize in createRadical.";
  log({ level: "warn", event: "blobs_open", location, handler: null, execution: null, message });
}

function notAllowed(isUnset: boolean): RadicalError {
  return new RadicalError(
    "blob_not_allowed",
    isUnset ? "This application does not allow uploads of blobs." : "The application does not allow this upload.",
    isUnset
      ? "Give createRadical the option blobs: { authorize }, in src/worker.ts."
      : "Sign in as a caller that may put blobs.",
  );
}

const NONCES = new Nonces();

/** Null: the request is another one. */
function serviceOf(
  request: Request,
  env: unknown,
  context: Context,
  { manifest, log = consoleLog }: WorkerParts,
): Promise<Response> | null {
  if (manifest.services === undefined || !isServicePath(request.url)) return null;
  let settings: Settings;
  try {
    settings = readSettings(env as Env);
  } catch (error) {
    return Promise.resolve(toResponse(replyOfError(error), {}));
  }
  const { key, location } = settings;
  const told = (service: string, { code, message, stack }: ServiceFault): void =>
    log({
      level: "warn",
      event: "service_failed",
      location: location ?? placeOf((request.cf ?? {}) as Partial<Whereabouts>).location,
      handler: service,
      execution: null,
      message: stack ?? `${code}: ${message}`,
    });
  const services = registeredServices();
  return answerService(request, env, context, { manifest, services, key, nonces: NONCES, now: Date.now, told });
}

/** The events for which the platform calls a Worker, besides requests. */
const OTHER_EVENTS = ["scheduled", "queue", "email", "tail", "tailStream", "trace", "connect", "test"] as const;

/** The result of a call in process. Throws a CallError for every other reply. */
function resultOf({ status, body, headers, repeatKey }: Told): unknown {
  const { result, error, state } = JSON.parse(body) as {
    readonly result?: unknown;
    readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
    readonly state?: string;
  };
  const retryAfter = headers["retry-after"];
  const again = { idempotencyKey: repeatKey, retryAfter: retryAfter === undefined ? null : Number(retryAfter) };
  if (state !== undefined) {
    const hint =
      "The workflow goes on. Call it again with the idempotencyKey of this error: the call joins the same workflow.";
    throw new CallError(503, "workflow_working", `The workflow has not ended: it is ${state}.`, { hint, ...again });
  }
  if (error === undefined) return result;
  throw new CallError(status, error.code, error.message, { hint: error.hint, ...again });
}

function traceOf({ headers }: Request): TraceContext | null {
  return traceContextOf(headers.get("traceparent"), headers.get("tracestate"));
}
