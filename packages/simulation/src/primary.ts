/**
 * The primary in the simulation: the real protocol core, driven with virtual time, over a modelled storage that is
 * slow, fails, loses answers, and survives the crashes of the server.
 */
import {
  type Candidate,
  type CandidateEffect,
  type CandidateEvent,
  type Completion,
  type CompleteResult,
  type CoreOptions,
  DEFAULT_CORE_OPTIONS,
  type Effect,
  type Event,
  executeTask,
  type HeldLease,
  type Intent,
  type IntentRecord,
  type Lease,
  type LviCore,
  type NoteName,
  type Now,
  type Recovered,
  type StoreResult,
} from "@radical/lvi-server";
import {
  type CommitId,
  type ExecutionId,
  type LviReply,
  type ModuleHash,
  type Outcome,
  type UnitId,
} from "@radical/protocol";
import type { Clock } from "./clock.ts";
import { PLANS, primaryHost } from "./programs.ts";
import type { ToLocation, ToPrimary } from "./network.ts";

export const MODULE = "a".repeat(64) as ModuleHash;

/** What storage applied, in order: the truth that the checker compares with. */
export interface Applied {
  readonly executionId: ExecutionId;
  readonly commitId: CommitId;
  readonly outcome: Outcome;
  readonly writes: Completion["writes"];
}

interface StoredItem {
  readonly commitId: CommitId;
  readonly value: Uint8Array;
}

/** Probabilities of storage's faults, and its longest delay. */
export interface StorageFaults {
  readonly maxDelayMs: number;
  readonly failure: number;
  readonly lostAnswer: number;
  /** Of operations that are on their way for long. */
  readonly late: number;
}

class ModelStorage {
  lease: Lease = { epoch: 0, beat: 0, termMs: 0 };
  /** The epoch that has read the pending intents. */
  #recovered = 0;
  readonly items = new Map<UnitId, StoredItem>();
  readonly intents = new Map<ExecutionId, IntentRecord>();
  readonly applied: Applied[] = [];
  /** Whether an intent that an earlier server sent is refused as soon as the lease is another's, or only not found later. */
  readonly #fencesIntents: boolean;
  /** Intents that arrived after a successor had looked: they count as not there. */
  ghosts = 0;

  constructor(fencesIntents: boolean) {
    this.#fencesIntents = fencesIntents;
  }

  acquireLease(seen: Lease, termMs: number): Lease | null {
    const { epoch, beat } = this.lease;
    if (epoch !== seen.epoch || beat !== seen.beat) return null;
    return (this.lease = { epoch: epoch + 1, beat: 0, termMs });
  }

  renewLease(epoch: number, termMs: number): boolean {
    if (epoch !== this.lease.epoch) return false;
    this.lease = { epoch, beat: this.lease.beat + 1, termMs };
    return true;
  }

  recover(epoch: number): readonly Intent[] | null {
    if (epoch !== this.lease.epoch) return null;
    this.#recovered = epoch;
    return [...this.intents.values()].filter((record) => record.state === "pending").map(({ intent }) => intent);
  }

  storeIntent(epoch: number, intent: Intent): StoreResult {
    if (this.#fencesIntents && epoch !== this.lease.epoch) return { kind: "fenced" };
    if (epoch < this.#recovered) {
      this.ghosts++;
      return { kind: "stored" };
    }
    const record = this.intents.get(intent.executionId);
    if (record !== undefined) return { kind: "exists", record };
    this.intents.set(intent.executionId, { state: "pending", intent });
    return { kind: "stored" };
  }

  complete(epoch: number, expects: "pending" | "new", completion: Completion): CompleteResult {
    if (epoch !== this.lease.epoch) return { kind: "fenced" };
    const record = this.intents.get(completion.executionId);
    if (expects === "new" ? record !== undefined : record?.state !== "pending")
      return { kind: "exists", record: record ?? null };
    const { writes, environment: _, ...done } = completion;
    this.intents.set(completion.executionId, { state: "done", done });
    this.applied.push({
      executionId: completion.executionId,
      commitId: completion.commitId,
      outcome: completion.outcome,
      writes,
    });
    for (const { unit, value } of writes) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, { commitId: completion.commitId, value });
    }
    return { kind: "applied" };
  }
}

/** The protocol core, or a wrong variant of it. */
export interface CoreClasses {
  readonly LviCore: new (options: CoreOptions, recovered: Recovered, now: Now) => LviCore;
  readonly Candidate: new (termMs: number) => Candidate;
}

export interface PrimaryOptions {
  readonly core: CoreClasses;
  readonly coreOptions: Partial<CoreOptions>;
  readonly clock: Clock;
  readonly faults: StorageFaults;
  /** How many servers know the storage. One alone needs no lease. */
  readonly servers: number;
  readonly termMs: number;
  readonly fencesIntents: boolean;
  /** How far the rates of the servers' clocks are from the true one at most. */
  readonly drift: number;
  /** Hands a message to the network. */
  readonly send: (message: ToLocation) => void;
  readonly trace: (line: string) => void;
}

/** How often each kind of fault has happened. */
export type FaultCounts = Record<"crash" | "pause" | "cut" | "takeover" | "clock step" | "ghost intent", number>;

/** The storage and the servers that know it. */
export class Primary {
  readonly storage: ModelStorage;
  readonly notes = new Map<NoteName, number>();
  readonly faults: FaultCounts = { crash: 0, pause: 0, cut: 0, takeover: 0, "clock step": 0, "ghost intent": 0 };
  readonly #options: PrimaryOptions;
  readonly #servers: Server[] = [];
  readonly #cutUntilMs = new Map<string, number>();

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.storage = new ModelStorage(options.fencesIntents);
    for (let index = 0; index < options.servers; index++) {
      const server = new Server(index, this, options);
      this.#servers.push(server);
      server.start();
    }
  }

  get isIdle(): boolean {
    const serving = this.#servers.filter((server) => server.isServing);
    return serving.length === 1 && serving[0]!.isIdle;
  }

  /** `kill -9` of a server, and its start some time later. */
  crash(downMs: number): void {
    const server = this.#options.clock.random.pick(this.#servers);
    if (!server.isUp) return;
    this.faults.crash++;
    server.crash();
    this.#options.clock.after(downMs, () => server.start());
  }

  /** `SIGSTOP` of a server, and `SIGCONT` some time later. */
  pause(ms: number): void {
    const serving = this.#servers.filter((candidate) => candidate.isServing);
    if (serving.length === 0) return;
    const server = this.#options.clock.random.pick(serving);
    this.faults.pause++;
    server.pause(ms);
  }

  /** Sets the wall clock of a server. */
  stepClock(ms: number): void {
    this.faults["clock step"]++;
    this.#options.clock.random.pick(this.#servers).wallOffsetMs = ms;
  }

  /** Cuts a link for a while, in one direction or both. */
  cut(location: number, ms: number): void {
    const { clock } = this.#options;
    this.faults.cut++;
    const server = clock.random.below(this.#servers.length);
    const kinds = clock.random.pick([["to"], ["from"], ["to", "from"]] as const);
    for (const kind of kinds) {
      const link = `${kind} ${server} ${location}`;
      const untilMs = clock.nowMs + ms;
      this.#cutUntilMs.set(link, Math.max(untilMs, this.#cutUntilMs.get(link) ?? 0));
    }
  }

  #isCut(kind: "to" | "from", server: number, location: number): boolean {
    return (this.#cutUntilMs.get(`${kind} ${server} ${location}`) ?? 0) > this.#options.clock.nowMs;
  }

  /**
   * A location stays with the server that it likes as long as that one listens, also if it is stopped or should not serve
   * any more; now and then it tries another one.
   */
  receive(from: number, message: ToPrimary): void {
    const { random } = this.#options.clock;
    const listening = this.#servers.filter((server) => server.isServing);
    if (listening.length === 0) return;
    const liked = listening[from % listening.length]!;
    const server = random.chance(0.1) ? random.pick(listening) : liked;
    if (!this.#isCut("to", server.index, from)) server.receive(message);
  }

  /** Hands a server's message to the network. */
  send(server: number, message: ToLocation): void {
    if (!this.#isCut("from", server, message.to)) this.#options.send(message);
  }

  note(name: NoteName): void {
    this.notes.set(name, (this.notes.get(name) ?? 0) + 1);
  }
}

/** One life of a server process. */
interface Life {
  core: LviCore | null;
  epoch: number;
  readonly callers: Map<number, (answer: LviReply) => void>;
  wakeAtMs: number | null;
}

class Server {
  readonly index: number;
  readonly #primary: Primary;
  readonly #options: PrimaryOptions;
  readonly #rate: number;
  /** Null between a crash and the restart. */
  #life: Life | null = null;
  #callers = 0;
  /** What is to be done when the process goes on; null: it runs. */
  #stopped: (() => void)[] | null = null;
  wallOffsetMs = 0;

  constructor(index: number, primary: Primary, options: PrimaryOptions) {
    this.index = index;
    this.#primary = primary;
    this.#options = options;
    const { random } = options.clock;
    this.#rate = 1 + (options.drift * (random.below(201) - 100)) / 100;
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isServing(): boolean {
    return (this.#life?.core ?? null) !== null;
  }

  get isIdle(): boolean {
    return this.#life?.core?.isIdle === true;
  }

  get #now(): Now {
    const { nowMs } = this.#options.clock;
    return { monotonicMs: nowMs * this.#rate, wallMs: nowMs + this.wallOffsetMs };
  }

  start(): void {
    const { servers, core, termMs } = this.#options;
    this.#options.trace(`server ${this.index} starts`);
    this.#life = { core: null, epoch: 0, callers: new Map(), wakeAtMs: null };
    if (servers > 1) {
      const candidate = new core.Candidate(termMs);
      return this.#stand(candidate, candidate.start());
    }
    const { storage } = this.#primary;
    this.#serve(storage.acquireLease(storage.lease, 0)!.epoch, null);
  }

  /** Waits for the lease. */
  #stand(candidate: Candidate, effect: CandidateEffect): void {
    const { storage, faults } = this.#primary;
    const next = (event: CandidateEvent): void => this.#stand(candidate, candidate.step(this.#now.monotonicMs, event));
    const failed = (): void => next({ kind: "failed" });
    switch (effect.kind) {
      case "read":
        return this.#ask(
          () => storage.lease,
          (lease) => next({ kind: "read", lease }),
          failed,
        );
      case "acquire":
        return this.#ask(
          () => storage.acquireLease(effect.seen, effect.termMs),
          (lease) => next({ kind: "acquired", lease }),
          failed,
        );
      case "wait":
        return this.#after(effect.ms, () => next({ kind: "waited" }));
      case "elected":
        faults.takeover++;
        return this.#serve(effect.lease.epoch, effect.lease);
    }
  }

  #serve(epoch: number, lease: HeldLease | null): void {
    const { core, coreOptions, servers, trace } = this.#options;
    const { storage } = this.#primary;
    const begin = (pending: readonly Intent[] | null): void => {
      // Another one has the lease already: the process ends, and is started again.
      if (pending === null) return this.#end();
      trace(`server ${this.index} serves with epoch ${epoch}`);
      const life = this.#life!;
      life.epoch = epoch;
      const recovered: Recovered = { epoch, pending, lease, modules: new Map([[MODULE, PLANS]]) };
      life.core = new core.LviCore({ ...DEFAULT_CORE_OPTIONS, ...coreOptions }, recovered, this.#now);
      this.#wake();
    };
    if (servers === 1) return begin(storage.recover(epoch));
    this.#ask(
      () => storage.recover(epoch),
      begin,
      () => this.#end(),
    );
  }

  /** The process ends by itself, and is started again. */
  #end(): void {
    this.crash();
    this.#options.clock.after(100, () => this.start());
  }

  /** Memory is lost; what was sent to storage may still arrive there. */
  crash(): void {
    this.#options.trace(`server ${this.index} ends`);
    this.#life = null;
    this.#stopped = null;
  }

  pause(ms: number): void {
    const { clock, trace } = this.#options;
    if (this.#stopped !== null) return;
    trace(`server ${this.index} is stopped`);
    const waiting: (() => void)[] = [];
    this.#stopped = waiting;
    clock.after(ms, () => {
      if (this.#stopped !== waiting) return;
      trace(`server ${this.index} goes on`);
      this.#stopped = null;
      for (const act of waiting) act();
    });
  }

  receive(message: ToPrimary): void {
    this.#inThisLife(() => {
      const life = this.#life!;
      const { coreOptions } = this.#options;
      const caller = ++this.#callers;
      if (message.kind === "followup") {
        life.callers.set(caller, () => {});
        return this.#step({ kind: "followup", caller, followup: message.followup });
      }
      const { from, request, sending, signedAtMs } = message;
      const windowMs = coreOptions.replayWindowMs ?? DEFAULT_CORE_OPTIONS.replayWindowMs;
      if (Math.abs(signedAtMs - this.#now.wallMs) > windowMs) return;
      life.callers.set(caller, (reply) =>
        this.#primary.send(this.index, {
          kind: "lvi-reply",
          to: from,
          executionId: request.executionId,
          sending,
          reply,
        }),
      );
      this.#step({ kind: "lvi-request", caller, request });
    })();
  }

  #step(event: Event): void {
    const { trace } = this.#options;
    trace(`${this.index} ${describeEvent(event)}`);
    const core = this.#life?.core ?? null;
    if (core === null) throw new Error(`an event for a server that does not serve`);
    for (const effect of core.step(this.#now, event)) {
      trace(`  ${describeEffect(effect)}`);
      this.#perform(effect);
    }
    this.#wake();
  }

  /** Does something in this life only, and not while the process is stopped. */
  #inThisLife(run: () => void): () => void {
    const life = this.#life;
    return () => {
      if (this.#life !== life) return;
      if (this.#stopped === null) run();
      else this.#stopped.push(this.#inThisLife(run));
    };
  }

  /** After a time by this server's clock. */
  #after(ms: number, run: () => void): void {
    this.#options.clock.after(Math.ceil(ms / this.#rate), this.#inThisLife(run));
  }

  #wake(): void {
    const life = this.#life;
    const atMs = life?.core?.wakeAtMs ?? null;
    if (life === null || atMs === null || (life.wakeAtMs !== null && life.wakeAtMs <= atMs)) return;
    life.wakeAtMs = atMs;
    this.#after(Math.max(0, atMs - this.#now.monotonicMs), () => {
      if (life.wakeAtMs !== atMs) return;
      life.wakeAtMs = null;
      this.#step({ kind: "clock" });
    });
  }

  #perform(effect: Effect): void {
    const { clock, trace } = this.#options;
    const { random } = clock;
    const { storage } = this.#primary;
    const life = this.#life;
    // The process has ended in this very step.
    if (life === null) return;
    const { epoch, callers } = life;
    switch (effect.kind) {
      case "reply":
      case "followup-reply": {
        const answer = callers.get(effect.caller);
        if (answer === undefined) throw new Error(`caller ${effect.caller} was answered twice`);
        callers.delete(effect.caller);
        if (effect.kind === "reply") answer(effect.reply);
        return;
      }
      case "look-up": {
        const { operation, executionId } = effect;
        return this.#operate(
          operation,
          () => storage.intents.get(executionId) ?? null,
          (record) => ({ kind: "looked-up", operation, record }),
        );
      }
      case "load": {
        const { operation, units } = effect;
        return this.#operate(
          operation,
          () =>
            new Map(
              units.flatMap((unit) => (storage.items.has(unit) ? [[unit, storage.items.get(unit)!] as const] : [])),
            ),
          (items) => ({ kind: "loaded", operation, items }),
        );
      }
      case "store-intent": {
        const { operation, intent } = effect;
        return this.#operate(
          operation,
          () => {
            const before = storage.ghosts;
            const result = storage.storeIntent(epoch, intent);
            this.#primary.faults["ghost intent"] += storage.ghosts - before;
            return result;
          },
          (result) => ({ kind: "intent-stored", operation, result }),
        );
      }
      case "complete": {
        const { operation, expects, completion } = effect;
        return this.#operate(
          operation,
          () => storage.complete(epoch, expects, completion),
          (result) => ({ kind: "completed", operation, result }),
        );
      }
      case "renew-lease": {
        const { operation, termMs } = effect;
        return this.#operate(
          operation,
          () => storage.renewLease(epoch, termMs),
          (isHeld) => ({ kind: "lease-renewed", operation, isHeld }),
        );
      }
      case "execute": {
        const result = random.chance(0.01)
          ? ({ kind: "killed", reason: "simulated" } as const)
          : executeTask(primaryHost, effect.task);
        trace(`run ${effect.run} ${effect.task.access.kind} ${result.kind}`);
        const tookMs = random.between(0, 20);
        this.#after(tookMs, () => this.#step({ kind: "executed", run: effect.run, result, tookMs }));
        return;
      }
      case "note":
        return this.#primary.note(effect.note.name);
      case "halt":
        if (this.#options.servers === 1) throw new Error(`the only server halted: ${effect.reason}`);
        return this.#end();
      case "collect":
    }
  }

  #operate<T>(operation: number, carryOut: () => T, event: (value: T) => Event): void {
    this.#ask(
      carryOut,
      (value) => this.#step(event(value)),
      (effect) => this.#step({ kind: "storage-failed", operation, effect, reason: "simulated" }),
    );
  }

  /** A storage operation takes effect some time after it was sent, if it does, and is answered some time later. */
  #ask<T>(carryOut: () => T, succeed: (value: T) => void, fail: (effect: "none" | "unknown") => void): void {
    const { clock, faults } = this.#options;
    const { random } = clock;
    if (random.chance(faults.failure)) {
      const effect = random.chance(0.5) ? "none" : "unknown";
      clock.after(
        random.between(0, 10),
        this.#inThisLife(() => fail(effect)),
      );
      return;
    }
    const lost = random.chance(faults.lostAnswer);
    // Bound to the life that asked, not to the one that is there when storage acts.
    let value: T;
    const answer = this.#inThisLife(() => (lost ? fail("unknown") : succeed(value)));
    // Now and then an operation is on its way for long.
    const late = (): number => (random.chance(faults.late) ? random.between(100, 3_000) : 0);
    clock.after(random.between(0, faults.maxDelayMs) + late(), () => {
      value = carryOut();
      clock.after(random.between(0, faults.maxDelayMs) + late(), answer);
    });
  }
}

function describeEvent(event: Event): string {
  switch (event.kind) {
    case "lvi-request": {
      const { executionId, handler, units, retained, attempt, seen } = event.request;
      const set = units?.map(({ unit, mode }) => `${unit}:${mode}`).join(" ") ?? "no set";
      return `request ${shortId(executionId)} ${handler}${retained ? " retained" : ""} attempt ${attempt} seen ${seen} (${set}) from caller ${event.caller}`;
    }
    case "followup":
      return `followup ${shortId(event.followup.executionId)} ${event.followup.commitId}`;
    case "executed":
      return `executed run ${event.run} ${event.result.kind}`;
    case "storage-failed":
      return `storage-failed ${event.operation} ${event.effect}`;
    case "intent-stored":
    case "completed":
      return `${event.kind} ${event.operation} ${event.result.kind}`;
    case "loaded":
    case "looked-up":
      return `${event.kind} ${event.operation}`;
    case "lease-renewed":
      return `lease-renewed ${event.isHeld}`;
    case "module-registered":
    case "clock":
    case "collect":
    case "drain":
      return event.kind;
  }
}

function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case "reply": {
      const { reply } = effect;
      const more = reply.kind === "valid" ? reply.commitId : reply.kind === "executed" ? reply.cause : reply.code;
      return `answer caller ${effect.caller}: ${reply.kind} ${more}`;
    }
    case "followup-reply":
      return `answer followup ${effect.caller}: ${effect.result}`;
    case "look-up":
      return `look up ${shortId(effect.executionId)} as ${effect.operation}`;
    case "load":
      return `load ${effect.units.join(" ")} as ${effect.operation}`;
    case "store-intent":
      return `store intent ${shortId(effect.intent.executionId)} ${effect.intent.commitId} as ${effect.operation}`;
    case "complete": {
      const { executionId, commitId, writes } = effect.completion;
      return `complete ${shortId(executionId)} ${commitId} ${effect.expects} ${writes.map(({ unit }) => unit).join(" ")} as ${effect.operation}`;
    }
    case "execute":
      return `execute ${effect.task.access.kind} on ${[...effect.task.snapshot.keys()].join(" ")} as run ${effect.run}`;
    case "note":
      return `note ${effect.note.name} ${effect.note.executionId === undefined ? "" : shortId(effect.note.executionId)} ${effect.note.detail ?? ""}`;
    case "renew-lease":
      return `renew lease as ${effect.operation}`;
    case "halt":
    case "collect":
      return effect.kind;
  }
}

/** Executions are numbered like operations. */
function shortId(id: ExecutionId): string {
  return `op${Number.parseInt(id, 16)}`;
}
