/**
 * The streams of live queries in one life of an isolate, as a Worker has them. Each belongs to a request, and everything is done in that
 * request. The platform may end it with all its timers, and tells the core nothing. Draws are of a generator of their own.
 */
import type { Random } from "@radical/history";
import { contentHash, type ModuleHash, type Outcome } from "@radical/protocol";
import type { Footprint, LiveEffect, LiveEvent, LiveMessage, RunManner, SubscriberId } from "@radical/runtime/core";
import type { ProgramArguments, ProgramName } from "./programs.ts";
import type { Stream as UpdateStream } from "./streams.ts";

/** A handler that only reads, with its arguments and its caller. */
export interface LiveQuery {
  readonly program: ProgramName;
  readonly args: ProgramArguments;
  readonly encodedArgs: Uint8Array;
  readonly caller: string | null;
}

/** The outcome of a run, and the position in the history at which the isolate had it. */
export interface Computed {
  readonly outcome: Outcome;
  readonly at: number;
}

/** A client that reads a stream. */
export interface LiveClient {
  /** `computed`: of a state. Calls `taken` when it can take more. */
  readonly told: (message: LiveMessage, computed: Computed | null, taken: () => void) => void;
  /** There is no more. Null: the connection broke. */
  readonly ended: (retryMs: number | null) => void;
}

/** A request that goes on for its isolate as long as the platform lets it, with its streams of updates. */
export interface ListeningRequest {
  lives: boolean;
  readonly streams: Set<UpdateStream>;
}

/** The module is the one that was deployed when the stream began. */
type OpenQuery = LiveQuery & { readonly module: ModuleHash };

interface Stream {
  readonly request: ListeningRequest;
  readonly query: OpenQuery;
  readonly client: LiveClient;
  /** Left to it by other requests too, in order. */
  readonly effects: LiveEffect[];
  readonly ends: Set<() => void>;
}

export interface StreamsWorld {
  readonly random: Random;
  /** A position of its own in the history. */
  readonly mark: () => number;
  /** After a time by the isolate's clock, if the isolate lives then. */
  readonly after: (ms: number, act: () => void) => void;
  /** Tells the core in this request. */
  readonly tell: (request: ListeningRequest, event: LiveEvent) => void;
  /** The request is free to listen for its isolate. */
  readonly listen: (request: ListeningRequest) => void;
  /** Executes the query. Returns a function after which nothing of the execution is heard. */
  readonly execute: (query: OpenQuery, manner: RunManner, ended: (run: Ran) => void) => () => void;
  /** The request has no stream any more, and goes on until nothing is under way in it. */
  readonly goesOn: (request: ListeningRequest) => void;
  readonly now: () => number;
}

/** Null: there is no outcome. */
export type Ran = { readonly outcome: Outcome; readonly footprint: Footprint } | null;

/** Another request wakes it, or it looks for itself. */
const LOOK_MS = [0, 0, 0, 1, 20, 1_000] as const;
/** Within which a location finds out that its client has gone. */
const GONE_MS = 2_000;
const FAILED = { status: 503, body: "{}" } as const;

export class LiveStreams {
  readonly #world: StreamsWorld;
  readonly #streams = new Map<SubscriberId, Stream>();
  readonly #computed: Computed[] = [];
  #opened = 0;

  constructor(world: StreamsWorld) {
    this.#world = world;
  }

  /** Returns a function by which the client goes away. */
  open(query: OpenQuery, known: string | null, client: LiveClient): () => void {
    const { random, tell, listen, now } = this.#world;
    const subscriber = ++this.#opened;
    const stream: Stream = {
      request: { lives: true, streams: new Set() },
      query,
      client,
      effects: [],
      ends: new Set(),
    };
    this.#streams.set(subscriber, stream);
    const key = JSON.stringify([query.program, query.args.units, query.args.amount, query.caller]);
    tell(stream.request, {
      kind: "subscribed",
      subscriber,
      query: key,
      known,
      random: random.unit(),
      atMs: now(),
    });
    listen(stream.request);
    return () =>
      this.#after(stream, random.between(0, GONE_MS), () => {
        this.#close(subscriber, stream);
        tell(stream.request, { kind: "unsubscribed", subscriber, atMs: now() });
      });
  }

  /** Also in a request that the stream does not belong to. */
  perform(effect: LiveEffect): void {
    const { random } = this.#world;
    const stream = this.#streams.get(effect.subscriber);
    if (stream === undefined) return;
    stream.effects.push(effect);
    if (stream.effects.length > 1) return;
    this.#after(stream, random.pick(LOOK_MS), () => {
      for (const each of stream.effects.splice(0)) this.#act(each.subscriber, stream, each);
    });
  }

  /** The platform ends each request with this probability. */
  cutOff(probability: number): number {
    let ended = 0;
    for (const [subscriber, stream] of this.#streams) {
      if (!this.#world.random.chance(probability)) continue;
      ended++;
      stream.request.lives = false;
      for (const each of stream.request.streams) each.close();
      this.#streams.delete(subscriber);
      for (const end of stream.ends) end();
      stream.client.ended(null);
    }
    return ended;
  }

  #after(stream: Stream, ms: number, act: () => void): void {
    this.#world.after(ms, () => {
      if (stream.request.lives) act();
    });
  }

  #close(subscriber: SubscriberId, stream: Stream): void {
    this.#streams.delete(subscriber);
    this.#world.goesOn(stream.request);
  }

  #act(subscriber: SubscriberId, stream: Stream, effect: LiveEffect): void {
    const { tell, listen, now } = this.#world;
    // It has ended before.
    if (!this.#streams.has(subscriber)) return;
    switch (effect.kind) {
      case "run-query":
        return this.#run(subscriber, stream, effect);
      case "send-event": {
        const { message } = effect;
        const computed = message.kind === "state" ? (this.#computed[Number(message.body)] ?? null) : null;
        return stream.client.told(message, computed, () =>
          this.#after(stream, 0, () => tell(stream.request, { kind: "written", subscriber, atMs: now() })),
        );
      }
      case "tick": {
        const { dueAtMs, waitMs } = effect;
        return this.#after(stream, waitMs, () => {
          if (!this.#streams.has(subscriber)) return;
          listen(stream.request);
          tell(stream.request, { kind: "ticked", subscriber, dueAtMs, spent: 0, atMs: now() });
        });
      }
      case "end-stream":
      case "refuse-stream":
        this.#close(subscriber, stream);
        return stream.client.ended(effect.kind === "end-stream" ? effect.retryMs : 1_000);
      case "check-caller":
    }
  }

  #run(subscriber: SubscriberId, stream: Stream, { number, manner }: LiveEffect & { kind: "run-query" }): void {
    const { mark, tell, execute, now } = this.#world;
    const end = execute(stream.query, manner, (ran) => {
      stream.ends.delete(end);
      if (!stream.request.lives) return;
      if (ran === null) {
        const run = { kind: "failed", reply: FAILED, isFinal: false } as const;
        return tell(stream.request, { kind: "ran", subscriber, number, run, spent: 0, atMs: now() });
      }
      const { outcome, footprint } = ran;
      const body = String(this.#computed.push({ outcome, at: mark() }) - 1);
      const run = { kind: "outcome", id: digestOf(outcome), reply: { status: 200, body }, ...footprint } as const;
      tell(stream.request, { kind: "ran", subscriber, number, run, spent: 0, atMs: now() });
    });
    stream.ends.add(end);
  }
}

function digestOf(outcome: Outcome): string {
  return outcome.kind === "result" ? contentHash(outcome.value) : `${outcome.kind} ${outcome.code}`;
}
