/**
 * An isolate with the core and the driver that ship. Their ports are virtual: a modelled cache, a network that loses messages,
 * runs that take their time. The ports decide nothing but when the isolate dies.
 */
import type { Random } from "@radical/history";
import {
  decodeFollowupReply,
  encodeFollowupReply,
  type Entry,
  type ExecutionId,
  type FollowupResult,
  type HeardReply,
  isSpan,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  type UnitId,
} from "@radical/protocol";
import {
  type Answered,
  assertWellFormed,
  type CachePut,
  type Effect,
  type Footprint,
  isScanUnit,
  itemsOfStored,
  type LiveBounds,
  LocationCore,
  type RunManner,
} from "@radical/runtime/core";
import {
  ExecutionDriver,
  type ExecutionMachine,
  type ExecutionPorts,
  type ListeningPorts,
  tell,
} from "@radical/runtime/driver";
import type { Holder } from "./checkers/lease-agreement.ts";
import { describeLocationEffect } from "./describe.ts";
import { LOCATION_EFFECTS } from "./faults.ts";
import { type ListeningRequest, type LiveClient, type LiveQuery, LiveStreams, type Ran } from "./live-streams.ts";
import { type Client, type Invocation, isLviReply, type LocationOptions, nameOf } from "./location.ts";
import { ModelCache } from "./model-cache.ts";
import type { ToLocation } from "./network.ts";
import { locationHost, PLANS, SPECULATIVE } from "./programs.ts";

/** One execution, until nothing is left to do. */
interface Running {
  readonly invocation: Invocation;
  readonly client: Client;
  /** The primary has confirmed the values that f runs on. */
  isConfirmed: boolean;
  /** It has sent an absence that its cache does not know. */
  guesses: boolean;
  /** It has sent rows that its cache knows. */
  scans: boolean;
  readonly answered: () => void;
}

/** One life of an isolate: all that it loses when it ends. */
interface Life {
  readonly core: LocationCore;
  readonly memory: ModelCache;
  /** Those who wait for an answer. */
  readonly clients: Set<Client>;
  readonly running: Map<Running, ExecutionDriver>;
  /** Those who wait for the answer to a sending, until they give it up. */
  readonly sendings: Map<number, (reply: Reply) => void>;
  readonly listening: Set<ListeningRequest>;
  /** Subscribers whose requests the isolate has not met yet. */
  readonly arriving: Set<LiveClient>;
  readonly live: LiveStreams;
}

/** Of live queries: a generator of their own for all that is drawn for them. */
export interface LiveHabits {
  readonly random: Random;
  readonly bounds: Partial<LiveBounds>;
  /** A position of its own in the history. */
  readonly mark: () => number;
}

/** Of a request that was cut off, the part of those with a live query. */
const CUT_OFF = 0.5;

export interface IsolateOptions extends LocationOptions {
  /** Its place among the isolates of the location, and how many these are. */
  readonly isolate: number;
  readonly isolates: number;
  /** The cache that the isolates of the location share. */
  readonly cache: ModelCache;
  /** The rate of its clock beside the true one. */
  readonly rate: number;
  readonly live: LiveHabits;
}

type Reply = ToLocation["reply"];
/** The module is the one that was deployed when the execution began. */
type Call = Parameters<typeof locationHost.runHandler>[0] & { readonly module: ModuleHash };

const ENDINGS: ReadonlyMap<string, `location ends before ${(typeof LOCATION_EFFECTS)[number]}`> = new Map(
  LOCATION_EFFECTS.map((kind) => [kind, `location ends before ${kind}`]),
);

const BOUNDS = {
  fetchRounds: 8,
  recordRuns: 4,
  attempts: 6,
  totalMs: 10_000,
  backoffMs: 50,
  longestBackoffMs: 1_000,
  followupAttempts: 2,
} as const;

/** For which the end of an answer may be late. */
const LISTENING_GRACE_MS = 2_000;

export class Isolate {
  /** How far its clock is from the true time. */
  offsetMs = 0;
  readonly #options: IsolateOptions;
  #lives = 0;
  #life: Life;
  #sent = 0;
  #liveRuns = 0;
  /** The actions for the time when the isolate runs again; null: it runs. */
  #stopped: (() => void)[] | null = null;

  constructor(options: IsolateOptions) {
    this.#options = options;
    this.#life = this.#newLife();
  }

  #newLife(): Life {
    const { index, isolate, servers, attemptMs, listening, live } = this.#options;
    const listener = `isolate ${index}.${isolate}.${++this.#lives}`;
    const bounds = { ...BOUNDS, attemptMs };
    const listens = listening === null ? {} : { listening };
    const memory = new ModelCache();
    const known = memory.known;
    const core = new LocationCore({ servers, listener, known, bounds, live: live.bounds, ...listens });
    return {
      core,
      memory,
      clients: new Set(),
      running: new Map(),
      sendings: new Map(),
      listening: new Set(),
      arriving: new Set(),
      live: this.#liveStreams(),
    };
  }

  /** The read leases of this life. */
  get leases(): Holder {
    return this.#life.core.primary.leases;
  }

  get #nowMs(): number {
    const { clock, rate } = this.#options;
    return clock.nowMs * rate + this.offsetMs;
  }

  // ── Its lives ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** It ends, with all that is under way. Another one takes its place. */
  crash(): void {
    const { clients, running, arriving, live } = this.#life;
    live.cutOff(1);
    this.cutOff();
    this.#life = this.#newLife();
    this.#stopped = null;
    for (const driver of running.values()) driver.end();
    for (const client of clients) client.answer(null);
    for (const client of arriving) client.ended(null);
  }

  /** Nothing that comes is met before it goes on, while its clock does. */
  stop(ms: number): void {
    if (this.#stopped !== null) return;
    const { clock, trace } = this.#options;
    const waiting: (() => void)[] = [];
    this.#stopped = waiting;
    if (trace.lines !== null) trace.write(`${this.#name} is stopped`);
    clock.after(ms, () => {
      if (this.#stopped !== waiting) return;
      if (trace.lines !== null) trace.write(`${this.#name} goes on`);
      this.#stopped = null;
      // It meets in any order all that has come meanwhile. The lines of one stream keep theirs: `next` takes the first.
      for (const act of clock.random.some(waiting, waiting.length)) act();
    });
  }

  /** Does something in this life only, and not while the isolate is stopped. */
  #inThisLife(act: () => void): () => void {
    const life = this.#life;
    return () => {
      if (this.#life !== life) return;
      if (this.#stopped === null) act();
      else this.#stopped.push(this.#inThisLife(act));
    };
  }

  /** After a time by the isolate's clock. */
  #after(ms: number, act: () => void): void {
    this.#options.clock.after(Math.ceil(ms / this.#options.rate), this.#inThisLife(act));
  }

  get #name(): string {
    const { index, isolate, isolates } = this.#options;
    return isolates === 1 ? nameOf(index) : `${nameOf(index)}.${isolate}`;
  }

  // ── Requests ───────────────────────────────────────────────────────────────────────────────────────────────────────

  invoke(module: ModuleHash, invocation: Invocation, client: Client): void {
    this.#life.clients.add(client);
    this.#inThisLife(() => this.#begin(module, invocation, client))();
  }

  #begin(module: ModuleHash, invocation: Invocation, client: Client): void {
    this.#execute(module, invocation, { watches: false, takesLeases: true }, client, () => this.#listen());
  }

  /** `answered`: called after each answer to the client. */
  #execute(
    module: ModuleHash,
    invocation: Invocation,
    { watches, takesLeases }: RunManner,
    client: Client,
    answered: (footprint: Footprint | null) => void,
  ): ExecutionDriver {
    const { clock, index } = this.#options;
    const { executionId, program: handler, encodedArgs: args, caller, ...habits } = invocation;
    const { retained, mustNotWrite, prefersSpeculative } = habits;
    const environment = { timeMs: clock.nowMs + this.offsetMs, seed: clock.random.bytes(16), caller };
    const execution = this.#life.core.execution({
      executionId,
      module,
      handler,
      args,
      environment,
      location: nameOf(index),
      plan: PLANS.get(handler)!,
      retained,
      repeatKey: executionId,
      mustNotWrite,
      mayEffect: false,
      prefersSpeculative,
      speculative: SPECULATIVE.has(handler),
      watches,
      takesLeases,
      undeclaredTables: [],
    });
    const ended = (): void => answered(execution.footprint);
    const running: Running = { invocation, client, isConfirmed: false, guesses: false, scans: false, answered: ended };
    const machine: ExecutionMachine = {
      step: (event) => {
        running.isConfirmed ||= event.kind === "replied" && event.reply.kind === "valid";
        const effects = execution.step(event);
        assertWellFormed(execution);
        return effects;
      },
      get answered() {
        return execution.answered;
      },
    };
    const driver = new ExecutionDriver(
      machine,
      this.#ports(running, { executionId, module, handler, args, environment }),
    );
    this.#life.running.set(running, driver);
    driver.start();
    return driver;
  }

  #ports(running: Running, call: Call): ExecutionPorts {
    const { clock, counts, send } = this.#options;
    const { random } = clock;
    const life = this.#life;
    return {
      now: () => this.#nowMs,
      wait: (ms, { done }) => this.#after(ms, done),
      // Memory is small: some of what it has held is not there any more.
      peek: (unit) => (random.chance(0.5) ? life.memory.get(unit) : undefined),
      // Within a run they are what they are.
      get directories() {
        return life.memory.directories;
      },
      getMany: (units, { done }) => this.#after(random.between(0, 3), () => done(this.#read(units))),
      putMany: (entries, { done }) => {
        this.#put(entries);
        done();
      },
      ask: (server, request, timeoutMs, { done }) => {
        running.guesses ||= this.#isGuessedIn(request);
        running.scans ||= isScanIn(request);
        this.#await(timeoutMs, done, answeredBy, (sending) => {
          // variant: reply-awaited
          send({ kind: "lvi-request", server, sending, signedAtMs: clock.nowMs + this.offsetMs, request });
        });
      },
      follow: (server, followup, timeoutMs, { done }) =>
        this.#await(timeoutMs, done, followupAnsweredBy, (sending) =>
          send({ kind: "followup", server, sending, followup }),
        ),
      // Nothing depends on it.
      alarm: (_server, _alarm, _timeoutMs, { done }) => done(),
      takeTurn: (after, takeCpu, { done }) => {
        if (after === "reply") counts.add("run put off until its confirmation");
        this.#after(random.between(0, 60), () => {
          takeCpu();
          done();
        });
      },
      host: {
        deriveAccessSet: (snapshot) => locationHost.deriveAccessSet(call, snapshot),
        recordHandler: (snapshot, options) => locationHost.recordHandler(call, snapshot, options),
        runHandler: (snapshot, set, options) => {
          // variant: speculation-host
          return locationHost.runHandler(call, snapshot, set, options);
        },
      },
      show: (result) => {
        if (life.clients.has(running.client)) running.client.show({ result, isConfirmed: running.isConfirmed });
      },
      answer: (answer, verdict, { done }) => {
        if (verdict !== null) counts.add(`result shown, ${verdict}`);
        if (answer.kind === "outcome" && answer.path === "leased") counts.add("read answered by its leases");
        if (running.scans && answer.kind === "outcome")
          counts.add(`rows of the cache ${answer.path === "near-storage" ? "not confirmed" : "confirmed"}`);
        if (running.guesses && answer.kind === "outcome") {
          if (answer.path !== "near-storage") counts.add("absence guessed, rightly");
          else if (answer.reason === "missing") counts.add("absence guessed, wrongly");
        }
        if (life.clients.delete(running.client))
          running.client.answer(answer.kind === "outcome" ? answer.outcome : null, verdict);
        done();
        running.answered();
      },
      warn: (code) => {
        if (code === "set_left") counts.add("read/write set given up");
        if (code === "wrote_on_get") counts.add("GET that was about to write");
      },
      failed: (error) => {
        throw error;
      },
      finished: () => void life.running.delete(running),
      endsBeforeEvent: () => false,
      endsBeforeEffect: (effect) => this.#endsBefore(effect, running.invocation),
    };
  }

  #endsBefore(effect: Effect, { args }: Invocation): boolean {
    const { faults, clock, counts, trace } = this.#options;
    trace.mix(effect.kind.length);
    const ending = ENDINGS.get(effect.kind);
    if (faults.end > 0 && ending !== undefined && clock.random.chance(faults.end)) {
      counts.add(ending);
      this.crash();
      return true;
    }
    if (trace.lines !== null) trace.write(`${this.#name}: ${args.operation} ${describeLocationEffect(effect)}`);
    return false;
  }

  #isGuessedIn({ units }: LviRequest): boolean {
    return (
      units?.some((accessed) => {
        const version = accessed.mode === "write" ? null : accessed.version;
        return version?.commitId === NO_COMMIT && this.#read([accessed.unit]).size === 0;
      }) ?? false
    );
  }

  /** One attempt. An answer that comes after its time is not heard. */
  #await<T>(
    timeoutMs: number,
    done: (answered: Answered<T>) => void,
    answeredIn: (reply: Reply) => Answered<T>,
    send: (sending: number) => void,
  ): void {
    const { isolate, isolates } = this.#options;
    const { sendings } = this.#life;
    const sending = isolate + isolates * ++this.#sent;
    const hear = (answered: Answered<T>): void => {
      if (sendings.delete(sending)) done(answered);
    };
    sendings.set(sending, (reply) => hear(answeredIn(reply)));
    send(sending);
    this.#after(timeoutMs, () => hear({ kind: "unanswered", reason: "too late" }));
  }

  receive(message: ToLocation): void {
    this.#inThisLife(() => {
      const { sendings } = this.#life;
      // variant: reply-heard
      sendings.get(message.sending)?.(message.reply);
    })();
  }

  // ── The cache: the memory of this isolate, and behind it what all of the location share ────────────────────────────

  #read(units: readonly UnitId[]): ReadonlyMap<UnitId, Entry> {
    const { cache, clock } = this.#options;
    const { memory } = this.#life;
    const found = new Map<UnitId, Entry>();
    const wanted = new Set(units);
    // Memory is small: directories go too.
    if (memory.hasDirectories && clock.random.chance(0.3)) memory.forgetDirectories();
    for (const unit of wanted) {
      let entry = isScanUnit(unit) || clock.random.chance(0.5) ? undefined : memory.get(unit);
      if (entry === undefined && (entry = cache.get(unit)) !== undefined) memory.put(unit, entry);
      if (entry === undefined) continue;
      found.set(unit, entry);
      for (const item of itemsOfStored(unit, entry)) wanted.add(item);
    }
    return found;
  }

  #put(entries: readonly CachePut[]): void {
    for (const { unit, entry, disproved } of entries) {
      this.#life.memory.put(unit, entry, disproved);
      this.#options.cache.put(unit, entry, disproved);
    }
  }

  // ── Listening ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A request was answered. It listens, unless another one does. */
  #listen(): void {
    const { index, listening } = this.#options;
    if (listening === null) return;
    const request: ListeningRequest = { lives: true, streams: new Set() };
    this.#life.listening.add(request);
    const event = { kind: "free", location: nameOf(index), atMs: this.#nowMs } as const;
    tell(this.#life.core, event, this.#listeningPorts(request));
  }

  /** The platform ends the requests that listen: nothing that they have begun is heard of any more. */
  cutOff(): void {
    const { listening, live } = this.#life;
    for (let ended = live.cutOff(CUT_OFF); ended > 0; ended--)
      this.#options.counts.add("request of a subscriber cut off");
    for (const request of listening) {
      request.lives = false;
      for (const stream of request.streams) stream.close();
    }
    listening.clear();
  }

  #listeningPorts(request: ListeningRequest): ListeningPorts {
    const { trace, counts, listen, updatesMs, send } = this.#options;
    const { memory } = this.#life;
    const inThisRequest = (act: () => void): (() => void) =>
      this.#inThisLife(() => {
        if (request.lives) act();
      });
    return {
      now: () => this.#nowMs,
      listen: (server, question, told, ended) => {
        if (trace.lines !== null) trace.write(`${this.#name} listens to server ${server}: ${JSON.stringify(question)}`);
        const isOver = (inOrder: boolean): void => {
          if (trace.lines !== null) trace.write(`${this.#name} listens no more`);
          request.streams.delete(stream);
          ended(inOrder);
        };
        const hear = (lines: readonly string[]): void => {
          if (trace.lines !== null) trace.write(`${this.#name} is told ${lines.map((line) => line.trim()).join(" ")}`);
          // variant: update-heard
          told(lines);
        };
        const arrived = inThisRequest(() => stream.next(hear, isOver));
        const stream = listen(server, question, arrived);
        request.streams.add(stream);
        const givesUp = inThisRequest(() => stream.giveUp(isOver));
        this.#after(updatesMs + LISTENING_GRACE_MS, givesUp);
      },
      hear: (server, heard, timeoutMs, done) => {
        if (trace.lines !== null) trace.write(`${this.#name} has heard ${heard.session} up to ${heard.n}`);
        const answered = (answer: Answered<HeardReply>): void => {
          if (request.lives) done(answer);
        };
        this.#await(timeoutMs, answered, heardAnsweredBy, (sending) => send({ kind: "heard", server, sending, heard }));
      },
      wake: (ms, done) => this.#after(ms, inThisRequest(done)),
      live: (effect) => this.#life.live.perform(effect),
      holds: (unit) => memory.holds(unit),
      refresh: (entries) => memory.refresh(entries, counts),
    };
  }

  // ── Live queries ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Returns a function by which the client goes away. */
  subscribe(module: ModuleHash, query: LiveQuery, known: string | null, client: LiveClient): () => void {
    const { arriving } = this.#life;
    arriving.add(client);
    let leave: (() => void) | null = null;
    this.#inThisLife(() => {
      if (arriving.delete(client)) leave = this.#life.live.open({ ...query, module }, known, client);
    })();
    return () => {
      arriving.delete(client);
      leave?.();
    };
  }

  #liveStreams(): LiveStreams {
    const { index, live } = this.#options;
    /** Each request has ports of its own. */
    const ports = new WeakMap<ListeningRequest, ListeningPorts>();
    const listeningOf = (request: ListeningRequest): ListeningPorts => {
      let found = ports.get(request);
      if (found === undefined) ports.set(request, (found = this.#listeningPorts(request)));
      return found;
    };
    return new LiveStreams({
      random: live.random,
      mark: live.mark,
      now: () => this.#nowMs,
      after: (ms, act) => this.#after(ms, act),
      tell: (request, event) => tell(this.#life.core, event, listeningOf(request)),
      listen: (request) =>
        tell(this.#life.core, { kind: "free", location: nameOf(index), atMs: this.#nowMs }, listeningOf(request)),
      goesOn: (request) => void this.#life.listening.add(request),
      execute: ({ module, ...query }, manner, ended) => this.#runLive(module, query, manner, ended),
    });
  }

  #runLive(module: ModuleHash, query: LiveQuery, manner: RunManner, ended: (ran: Ran) => void): () => void {
    const { index, isolate } = this.#options;
    const number = [index, isolate, this.#lives, ++this.#liveRuns].map((each) => each.toString(16).padStart(6, "0"));
    const executionId = `7${number.join("")}`.padEnd(32, "0") as ExecutionId;
    const habits = { retained: false, mustNotWrite: true, prefersSpeculative: false };
    let outcome: Outcome | null = null;
    const client: Client = { answer: (told) => (outcome = told), show: () => undefined };
    this.#life.clients.add(client);
    const driver = this.#execute(module, { ...query, ...habits, executionId }, manner, client, (footprint) =>
      ended(outcome === null || footprint === null ? null : { outcome, footprint }),
    );
    return () => driver.end();
  }
}

function isScanIn({ units }: LviRequest): boolean {
  return (
    units?.some((each) => isSpan(each.unit) && each.mode === "read" && each.version?.commitId !== NO_COMMIT) ?? false
  );
}

const UNANSWERED = { kind: "unanswered", reason: "It was not answered by a leader." } as const;

function answeredBy(reply: Reply): Answered<LviReply> {
  if (isLviReply(reply)) return { kind: "reply", reply };
  return reply === "not leading" ? { kind: "not-leading", reason: reply } : UNANSWERED;
}

function heardAnsweredBy(reply: Reply): Answered<HeardReply> {
  return typeof reply === "object" && !isLviReply(reply) ? { kind: "reply", reply } : UNANSWERED;
}

function followupAnsweredBy(reply: Reply): Answered<FollowupResult> {
  if (typeof reply !== "string" || reply === "not leading" || reply === "no connection") return UNANSWERED;
  return { kind: "reply", reply: decodeFollowupReply(encodeFollowupReply(reply)) };
}
