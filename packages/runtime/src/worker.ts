/**
 * A location as a Cloudflare Worker: HTTP, the execution, its cache and its way to the primary, put together.
 */
import type { ExecutionId, Manifest } from "@radical/protocol";
import { SEED_BYTES } from "@radical/protocol";
import type { CompiledModule, HandlerModule } from "@radical/wasm-host";
import { type RequestCache, openCache } from "./cache/open-cache.ts";
import type { Answer } from "./core/effects.ts";
import { Execution } from "./core/execution.ts";
import { Experience } from "./core/experience.ts";
import { drive } from "./driver.ts";
import { ArmedFailpoint } from "./failpoints.ts";
import { readCall, route } from "./http/call.ts";
import { identityOf } from "./http/idempotency-key.ts";
import { type Reply, replyOf, replyOfError, toResponse } from "./http/reply.ts";
import { type Log, consoleLog } from "./log.ts";
import { Primary } from "./lvi/primary.ts";
import { type Env, type Settings, readSettings } from "./settings.ts";
import { SpeculationLane } from "./speculation-lane.ts";
import { Timings } from "./timings.ts";

export interface WorkerParts {
  readonly manifest: Manifest;
  /** `module.wasm`: the handlers. */
  readonly f: CompiledModule;
  /** `module.rw.wasm`: the read/write-set functions. */
  readonly rw: CompiledModule;
  readonly log?: Log;
}

export interface RadicalWorker {
  fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response>;
}

/** What the requests of an isolate share. None of it belongs to a request. */
interface Isolate {
  readonly settings: Settings;
  readonly cache: RequestCache;
  readonly primary: Primary;
  readonly lane: SpeculationLane;
  readonly experience: Experience;
  /** For crash tests. */
  readonly failpoint: ArmedFailpoint | null;
}

export function createWorker({ manifest, f, rw, log = consoleLog }: WorkerParts): RadicalWorker {
  const module: HandlerModule = { hash: manifest.module, f, rw, limits: manifest.limits };
  let isolate: Isolate | null = null;

  const openIsolate = (env: Env): Isolate => {
    const settings = readSettings(env);
    return {
      settings,
      cache: openCache(manifest.cache, { application: manifest.application, location: settings.location }, env),
      primary: new Primary(settings.primaryUrl, settings.key),
      lane: new SpeculationLane(),
      experience: new Experience(),
      failpoint: manifest.testHooks?.failpoint === undefined ? null : new ArmedFailpoint(manifest.testHooks.failpoint),
    };
  };

  return {
    fetch(request, env, context) {
      const responding = Promise.withResolvers<Response>();
      // At its start: a client that goes away must not cancel the followup.
      context.waitUntil(
        (async () => {
          const exchange = new Exchange(manifest, module, log);
          try {
            isolate ??= openIsolate(env);
            await exchange.serve(request, isolate, responding.resolve);
          } catch (error) {
            responding.resolve(exchange.fail(error, isolate?.settings.location ?? "unknown"));
          }
        })(),
      );
      return responding.promise;
    },
  };
}

/** One request and its response. */
class Exchange {
  readonly #manifest: Manifest;
  readonly #module: HandlerModule;
  readonly #log: Log;
  readonly #timings = new Timings(now);
  #handler: string | null = null;
  #executionId: ExecutionId | null = null;

  constructor(manifest: Manifest, module: HandlerModule, log: Log) {
    this.#manifest = manifest;
    this.#module = module;
    this.#log = log;
  }

  /** Responds as soon as the execution is answered; settles when nothing is left to do. */
  async serve(request: Request, isolate: Isolate, respond: (response: Response) => void): Promise<void> {
    const { settings, cache, primary, lane, experience, failpoint } = isolate;
    const { location } = settings;
    const handler = (this.#handler = route(request, this.#manifest));
    const { executionId, retained } = await identityOf(request.headers);
    this.#executionId = executionId;
    const { declaration, args } = await readCall(request, handler, this.#manifest, settings.maxBodyBytes);

    const environment = { timeMs: Date.now(), seed: crypto.getRandomValues(new Uint8Array(SEED_BYTES)), caller: null };
    const execution = new Execution(
      {
        executionId,
        module: this.#module.hash,
        handler,
        args,
        environment,
        location,
        plan: settings.nearStorageOnly ? "near-storage" : declaration.plan,
        retained,
        seen: primary.seen,
        undeclaredTables: this.#manifest.testHooks?.undeclaredTables ?? [],
      },
      settings.bounds,
      experience,
    );
    const run = drive(execution, {
      module: this.#module,
      invocation: { handler, args, environment },
      cache: cache((error) => this.#warn("warn", "cache_failed", location, describe(error))),
      primary,
      lane,
      failpoint,
      timings: this.#timings,
      now,
      warn: (event, message) => this.#warn("warn", event, location, message),
    });
    try {
      const answer = await run.answered;
      respond(this.#respond(replyOf(answer), answer, location));
    } catch (error) {
      respond(this.fail(error, location));
    }
    await run.finished;
  }

  /** The response to bad input, or to a fault of ours. */
  fail(error: unknown, location: string): Response {
    const reply = replyOfError(error);
    if (reply.code === "internal_error") this.#warn("error", "internal_error", location, describe(error));
    return this.#respond(reply, null, location);
  }

  #respond(reply: Reply, answer: Answer | null, location: string): Response {
    this.#log({
      level: "info",
      event: "request",
      location,
      handler: this.#handler,
      execution: this.#executionId,
      status: reply.status,
      path: reply.path,
      reason: answer?.kind === "outcome" ? answer.reason : null,
      code: reply.code,
      ms: this.#timings.toRecord(),
    });
    return toResponse(reply, this.#executionId, location, this.#timings);
  }

  #warn(
    level: "warn" | "error",
    event: Extract<Parameters<Log>[0], { level: "warn" | "error" }>["event"],
    location: string,
    message: string,
  ): void {
    this.#log({ level, event, location, handler: this.#handler, execution: this.#executionId, message });
  }
}

function now(): number {
  return performance.now();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
