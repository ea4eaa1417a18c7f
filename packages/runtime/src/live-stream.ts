/**
 * The streams of live queries in a Worker. Each belongs to a request, and does everything in it: the platform ties inputs and
 * outputs to the request that began them. Another request leaves it what is to be done, and wakes it. A request that can't be
 * woken finds it with its next tick.
 */
import { RadicalError } from "@radical/protocol";
import type { LiveEffect, LiveEvent, LiveMessage, LiveRun, RunManner, SubscriberId } from "./core/live-queries.ts";
import type { CallInput, Told } from "./exchange.ts";
import { eventOf, retryOf } from "./http/event-stream.ts";
import { type Reply, replyOfError } from "./http/reply.ts";
import { hex } from "./hex.ts";
import type { Isolate } from "./isolate.ts";
import { LocationWork, now } from "./worker-ports.ts";

const DIGEST_BYTES = 16;

/** The bytes of a message that many streams send. */
const encoded = new WeakMap<LiveMessage, Uint8Array>();

export interface StreamInput extends Omit<CallInput, "identity" | "live"> {
  /** The last state that the client knows, by its id. */
  readonly known: string | null;
  /** The caller, by what the request has shown; throws like `authenticate`. */
  readonly callerNow: () => Promise<string | null>;
  readonly isReplaced: () => boolean;
  /** One run of the query. `finished` gives the number of its subrequests. */
  readonly execute: (manner: RunManner) => Promise<{ readonly told: Told; readonly finished: Promise<number> }>;
}

export class LiveStreams {
  readonly #streams = new Map<SubscriberId, Stream>();
  #opened = 0;

  /** Throws a RadicalError if there are too many. */
  open(isolate: Isolate, input: StreamInput): Stream {
    const id = ++this.#opened;
    const stream = new Stream(id, isolate, input, () => void this.#streams.delete(id));
    this.#streams.set(id, stream);
    stream.subscribe();
    if (this.#streams.has(id)) return stream;
    throw new RadicalError(
      "too_many_streams",
      "The location has as many live queries as it can serve.",
      "Ask again in a while, or ask with GET without the header accept: text/event-stream.",
    );
  }

  /** Also in a request that the stream does not belong to. */
  perform(effect: LiveEffect): void {
    const stream = this.#streams.get(effect.subscriber);
    // Its request may be gone, and then does nothing any more.
    if (effect.kind === "end-stream") this.#streams.delete(effect.subscriber);
    stream?.take(effect);
  }
}

export class Stream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #id: SubscriberId;
  readonly #input: StreamInput;
  readonly #forget: () => void;
  readonly #location: string;
  #effects: LiveEffect[] = [];
  #waking = Promise.withResolvers<void>();
  #isOver = false;
  #spent = 0;
  readonly #work: LocationWork;

  constructor(id: SubscriberId, isolate: Isolate, input: StreamInput, forget: () => void) {
    const { readable, writable } = new IdentityTransformStream();
    this.readable = readable;
    this.#writer = writable.getWriter();
    this.#id = id;
    this.#work = new LocationWork(isolate);
    this.#input = input;
    this.#forget = forget;
    this.#location = isolate.place.location;
  }

  subscribe(): void {
    const { handler, args, caller, known } = this.#input;
    const query = JSON.stringify([handler, hex(args), caller]);
    this.#tell({ kind: "subscribed", subscriber: this.#id, query, known, random: Math.random(), atMs: now() });
  }

  take(effect: LiveEffect): void {
    if (effect.kind === "refuse-stream") return this.#end();
    this.#effects.push(effect);
    this.#waking.resolve();
  }

  /** Settles when the client has gone, or the stream has ended. */
  async serve(): Promise<void> {
    // The platform tells of it at the next write.
    this.#writer.closed.catch(() => {
      this.#tell({ kind: "unsubscribed", subscriber: this.#id, atMs: now() });
      this.#end();
    });
    this.#listen();
    for (;;) {
      this.#performAll();
      if (this.#isOver) break;
      this.#waking = Promise.withResolvers<void>();
      await this.#waking.promise;
    }
    // Others hear of changes by this request until the next one listens.
    await this.#work.finished();
  }

  #end(): void {
    this.#isOver = true;
    this.#forget();
    this.#waking.resolve();
  }

  #tell(event: LiveEvent): void {
    this.#work.tell(event);
  }

  /** It listens for its isolate when the request before it has done so for long enough. */
  #listen(): void {
    this.#work.tell({ kind: "free", location: this.#location, atMs: now() });
  }

  #performAll(): void {
    while (this.#effects.length > 0 && !this.#isOver) {
      const effects = this.#effects;
      this.#effects = [];
      for (const effect of effects) this.#perform(effect);
    }
  }

  #perform(effect: LiveEffect): void {
    switch (effect.kind) {
      case "run-query":
        return void this.#run(effect);
      case "send-event":
        return void this.#send(effect.message);
      case "check-caller":
        return void this.#checkCaller();
      case "tick":
        return void this.#tick(effect);
      case "end-stream":
        return void this.#close(effect);
      case "refuse-stream":
        return this.#end();
    }
  }

  async #run({ number, manner }: Extract<LiveEffect, { kind: "run-query" }>): Promise<void> {
    const { told, finished } = await this.#input.execute(manner);
    void finished.then((subrequests) => (this.#spent += subrequests));
    const run = await runOf(told);
    this.#tell({
      kind: "ran",
      subscriber: this.#id,
      number,
      run,
      spent: this.#spent + this.#work.subrequests,
      atMs: now(),
    });
  }

  async #send(message: LiveMessage): Promise<void> {
    try {
      await this.#writer.write(bytesOf(message));
    } catch {
      // It is closed, which is heard of there.
      return;
    }
    this.#tell({ kind: "written", subscriber: this.#id, atMs: now() });
  }

  async #tick({ dueAtMs, waitMs }: Extract<LiveEffect, { kind: "tick" }>): Promise<void> {
    await scheduler.wait(waitMs);
    this.#performAll();
    if (this.#isOver) return;
    this.#listen();
    if (this.#input.isReplaced()) return this.#retire(null);
    this.#tell({
      kind: "ticked",
      subscriber: this.#id,
      dueAtMs,
      spent: this.#spent + this.#work.subrequests,
      atMs: now(),
    });
  }

  async #close({ message, retryMs, isCut }: Extract<LiveEffect, { kind: "end-stream" }>): Promise<void> {
    this.#end();
    try {
      if (isCut) return await this.#writer.abort(new Error("The client reads nothing."));
      await this.#writer.write(new TextEncoder().encode((message === null ? "" : eventOf(message)) + retryOf(retryMs)));
      await this.#writer.close();
    } catch {
      // The client has gone.
    }
  }

  async #checkCaller(): Promise<void> {
    try {
      if ((await this.#input.callerNow()) !== this.#input.caller) this.#retire(null);
    } catch (error) {
      this.#retire(replyOfError(error));
    }
  }

  #retire(reply: Reply | null): void {
    const why = reply === null ? null : { status: reply.status, body: reply.body };
    this.#tell({ kind: "retired", subscriber: this.#id, reply: why, atMs: now() });
  }
}

function bytesOf(message: LiveMessage): Uint8Array {
  let bytes = encoded.get(message);
  if (bytes === undefined) encoded.set(message, (bytes = new TextEncoder().encode(eventOf(message))));
  return bytes;
}

async function runOf({ status, body, headers, footprint }: Told): Promise<LiveRun> {
  const reply = { status, body };
  if (footprint === null) return { kind: "failed", reply, isFinal: headers["retry-after"] === undefined };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  return { kind: "outcome", id: hex(new Uint8Array(digest, 0, DIGEST_BYTES)), reply, ...footprint };
}
