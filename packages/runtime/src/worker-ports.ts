/** The ports of the driver in a Worker: the platform's clock, cache, requests and WebAssembly. */
import type { TraceContext } from "@radical/protocol";
import { deriveAccessSet, recordHandler, runHandler, type HandlerModule, type Invocation } from "@radical/wasm-host";
import type { Cache } from "./cache/cache.ts";
import type { Answer, LocationEvent, Verdict, WarningCode } from "./core/effects.ts";
import type { LocationCore } from "./core/location.ts";
import {
  ExecutionDriver,
  type ExecutionMachine,
  type ExecutionPorts,
  type ListeningPorts,
  type Settled,
  tell,
} from "./driver.ts";
import { type ArmedFailpoint, failpointBeforeEffect, failpointBeforeEvent } from "./failpoints.ts";
import type { Isolate } from "./isolate.ts";
import type { Connection } from "./lvi/connections.ts";
import type { Primary } from "./lvi/primary.ts";
import { answerLeaves, type SpeculationLane, turns } from "./speculation-lane.ts";
import type { Phase, Timings } from "./timings.ts";

/**
 * Turns of the event loop between handing the LVI request to the platform and taking the CPU. `fetch` only queues the
 * request. A run that begins before the loop turns delays it: round trip and run then take their sum, not the longer of the two.
 * An open connection needs one turn, a new one to an address three. Whether one is open is not known for certain. A turn that
 * is not needed takes up to 0.1 ms.
 */
const TURNS_BEFORE_SPECULATION = 4;
/**
 * More time for a new connection. It covers looking the name up, and connecting to a near primary, or to the near end of a
 * tunnel. Waiting for the handshake with a primary that is far gains nothing: docs/internals/edge-speed.md.
 */
const NEW_CONNECTION_MS = 2;

export interface Surroundings {
  readonly module: HandlerModule;
  readonly invocation: Invocation;
  readonly cache: Cache;
  readonly primary: Primary;
  readonly trace: TraceContext | null;
  /** That of the next question to the primary. */
  readonly traceOfSend: () => TraceContext | null;
  readonly lane: SpeculationLane;
  readonly failpoint: ArmedFailpoint | null;
  readonly timings: Timings;
  readonly show: (result: Uint8Array) => void;
  readonly warn: (code: WarningCode, message: string) => void;
  /** A fault of ours that no answer tells of: the client has its answer already. */
  readonly fault: (error: unknown) => void;
}

export interface Run {
  /** Rejects only for a fault of ours. */
  readonly answered: Promise<{ readonly answer: Answer; readonly verdict: Verdict | null }>;
  /** When nothing is left to do, followup and cache included; never rejects. */
  readonly finished: Promise<void>;
}

/** Milliseconds by the platform's clock, which may stand still between inputs and outputs. */
export function now(): number {
  return performance.now();
}

export function run(execution: ExecutionMachine, surroundings: Surroundings): Run {
  const { module, invocation, cache, primary, trace, traceOfSend, lane, failpoint, timings, show, warn, fault } =
    surroundings;
  const answering = Promise.withResolvers<Awaited<Run["answered"]>>();
  const finishing = Promise.withResolvers<void>();
  let sent: Promise<Connection> = Promise.resolve("open");
  const timed = <T>(phase: Phase, work: () => T): T => {
    const sinceMs = now();
    try {
      return work();
    } finally {
      timings.add(phase, sinceMs);
    }
  };
  const ports: ExecutionPorts = {
    now,
    wait: (ms, settled) => settle(() => scheduler.wait(ms), settled),
    peek: (unit) => cache.peek(unit),
    directories: cache.directories,
    getMany: (units, settled) =>
      settle(async () => {
        const sinceMs = now();
        timings.subrequests++;
        const entries = await cache.getMany(units);
        timings.add("cache", sinceMs);
        return entries;
      }, settled),
    putMany: (entries, settled) =>
      settle(async () => {
        timings.subrequests++;
        await cache.putMany(entries);
        await failpoint?.reach("edge.put");
      }, settled),
    ask: (server, request, timeoutMs, settled) =>
      settle(async () => {
        const sinceMs = now();
        timings.subrequests++;
        timings.life?.sent(request);
        const sending = primary.ask(server, request, timeoutMs, traceOfSend());
        sent = sending.sent;
        if (failpoint !== null) {
          await sent;
          await failpoint.reach("edge.request-sent");
        }
        const answered = await sending.answered;
        timings.add("lvi", sinceMs);
        if (answered.kind === "reply") timings.life?.replied(answered.reply);
        return answered;
      }, settled),
    follow: (server, followup, timeoutMs, settled) =>
      settle(async () => {
        timings.subrequests++;
        await answerLeaves();
        return primary.follow(server, followup, timeoutMs, trace);
      }, settled),
    alarm: (server, alarm, timeoutMs, settled) =>
      settle(async () => {
        timings.subrequests++;
        await answerLeaves();
        await primary.alarm(server, alarm, timeoutMs, trace);
      }, settled),
    takeTurn: (after, takeCpu, settled) =>
      settle(async () => {
        if (after === "send") {
          if ((await sent) === "new") await scheduler.wait(NEW_CONNECTION_MS);
          await turns(TURNS_BEFORE_SPECULATION);
        }
        await lane.enter();
        takeCpu();
        await lane.leave();
      }, settled),
    host: {
      deriveAccessSet: (snapshot) => timed("rw", () => deriveAccessSet(module, invocation, snapshot)),
      recordHandler: (snapshot, options) => {
        const recorded = timed("f", () => recordHandler(module, invocation, snapshot, options));
        timings.fuel = recorded.run?.fuel ?? null;
        return recorded;
      },
      runHandler: (snapshot, set, options) => {
        const ran = timed("f", () => runHandler(module, invocation, snapshot, set, options));
        if (ran.kind === "completed") timings.fuel = ran.fuel;
        return ran;
      },
    },
    show: (result) => {
      show(result);
      // From here on the execution hears nothing.
      void failpoint?.reach("edge.shown");
    },
    answer: (answer, verdict, settled) => {
      answering.resolve({ answer, verdict });
      const stopped = failpoint?.reach("edge.answered") ?? null;
      if (stopped === null) settled.done();
      else settle(() => stopped, settled);
    },
    warn,
    failed: (error, isAnswer) => {
      if (isAnswer) answering.reject(error);
      else fault(error);
    },
    finished: () => finishing.resolve(),
    endsBeforeEvent: (event) => failpoint !== null && failpoint.reach(failpointBeforeEvent(event)) !== null,
    endsBeforeEffect: (effect) => failpoint !== null && failpoint.reach(failpointBeforeEffect(effect)) !== null,
  };
  new ExecutionDriver(execution, ports).start();
  return { answered: answering.promise, finished: finishing.promise };
}

/** The part of one request in the work of its isolate: it listens, and has timers under way. */
export class LocationWork {
  readonly ports: ListeningPorts;
  /** That it has made so far. */
  subrequests = 0;
  readonly #core: LocationCore;
  #underWay = 0;
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #fault: { readonly error: unknown } | null = null;

  constructor({ core, primary, cache: { memory }, streams, failpoint }: Isolate) {
    this.#core = core;
    const hear: Primary["hear"] = async (...message) => {
      await failpoint?.reach("edge.heard-unsent");
      const answered = await primary.hear(...message);
      await failpoint?.reach("edge.heard");
      return answered;
    };
    this.ports = {
      now,
      listen: (server, question, told, ended) => {
        this.subrequests++;
        this.#begin(primary.listen(server, question, told), ended);
      },
      holds: (unit) => memory.holds(unit),
      refresh: (entries) => void memory.put(entries),
      hear: (server, heard, timeoutMs, done) => {
        this.subrequests++;
        this.#begin(hear(server, heard, timeoutMs), done);
      },
      wake: (ms, done) => this.#begin(scheduler.wait(ms), done),
      live: (effect) => streams.perform(effect),
    };
  }

  tell(event: LocationEvent): void {
    tell(this.#core, event, this.ports);
  }

  /** Settles when nothing is under way. Rejects only for a fault of ours. */
  async finished(): Promise<void> {
    if (this.#underWay > 0) {
      const waiting = Promise.withResolvers<void>();
      this.#waiting.push(waiting);
      await waiting.promise;
    }
    if (this.#fault !== null) throw this.#fault.error;
  }

  #begin<T>(work: Promise<T>, done: (value: T) => void): void {
    this.#underWay++;
    void (async () => {
      try {
        done(await work);
      } catch (error) {
        this.#fault ??= { error };
      }
      if (--this.#underWay === 0) for (const { resolve } of this.#waiting.splice(0)) resolve();
    })();
  }
}

/** The request is free to listen for its isolate. Settles when it has nothing left to do. Rejects only for a fault of ours. */
export function listen(isolate: Isolate, location: string): Promise<void> {
  const work = new LocationWork(isolate);
  work.tell({ kind: "free", location, atMs: now() });
  return work.finished();
}

/** Also an error that is thrown before anything was begun is a fault that is told. */
function settle<T>(begin: () => Promise<T>, { done, failed }: Settled<T>): void {
  void (async () => {
    let value: T;
    try {
      value = await begin();
    } catch (error) {
      return failed(error);
    }
    done(value);
  })();
}
