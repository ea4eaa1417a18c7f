/**
 * An LVI server in the simulation: the driver of the real protocol core, with virtual time, over a modelled storage that
 * is slow, fails, loses answers, and survives the crashes of the server. It decides nothing but when it dies.
 */
import {
  type CallHasher,
  Candidate,
  type CandidateEffect,
  type CandidateEvent,
  commitOf,
  type CoreOptions,
  DEFAULT_CORE_OPTIONS,
  type Effect,
  type Event,
  executeTask,
  type ExecutionResult,
  type ExecutionTask,
  type HeldLeadership,
  LviCore,
  type NoteName,
  type Now,
  readsOf,
  type Recovered,
  Updates,
} from "@radical/lvi-server/core";
import {
  contentHash,
  type ExecutionId,
  type FollowupResult,
  type LviReply,
  type ModuleHash,
  type UnitId,
} from "@radical/protocol";
import type { Clock } from "./clock.ts";
import { describeEffect, describeEvent, shortId } from "./describe.ts";
import { type FaultCounts, SERVER_EFFECTS } from "./faults.ts";
import { nameOf } from "./location.ts";
import type { ModelStorage } from "./model-storage.ts";
import type { ToLocation, ToPrimary } from "./network.ts";
import { effortOf, MODULES, PLANS, primaryHost, RUN_LIMIT_MS } from "./programs.ts";
import type { Trace } from "./trace.ts";

/** Nobody reads the storage of the simulation to find out what was called. */
const HASHER: CallHasher = {
  hash: (bytes) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key, bytes) => ({ key, hash: contentHash(bytes) }),
};

/** Probabilities of storage's faults, and its longest usual delay. */
export interface StorageFaults {
  readonly maxDelayMs: number;
  readonly failure: number;
  readonly lostAnswer: number;
  /** Of operations that are on their way for long, and how long at most. */
  readonly late: number;
  readonly lateMs: number;
}

/** What goes wrong with a server by itself. It changes when all is to become quiet. */
export interface ServerFaults {
  storage: StorageFaults;
  /** Probability that the process ends before an effect. */
  end: number;
  /** Probability that it is stopped for a while just after it has sent a write to storage. */
  freeze: number;
  /** Probability that a run of a handler is killed. */
  kill: number;
}

export interface ServerOptions {
  readonly index: number;
  readonly coreOptions: Partial<CoreOptions>;
  readonly clock: Clock;
  readonly storage: ModelStorage;
  /** Nobody else knows the storage: the leadership needs no renewal. */
  readonly isAlone?: boolean;
  readonly termMs: number;
  /** How far the rate of its clock is from the true one at most. */
  readonly drift: number;
  readonly faults: ServerFaults;
  readonly counts: FaultCounts;
  readonly trace: Trace;
  readonly send: (message: ToLocation) => void;
  /** Tells a location what others have written, unasked; null: nobody listens. */
  readonly tell: ((to: number, line: string) => void) | null;
  readonly locations: number;
  readonly note: (name: NoteName) => void;
}

interface Caller {
  readonly executionId: ExecutionId;
  readonly answer: (reply: LviReply | FollowupResult) => void;
}

type StoredItems = ReturnType<ModelStorage["load"]>;

/** One life of a server process. */
interface Life {
  core: LviCore | null;
  epoch: number;
  readonly callers: Map<number, Caller>;
  /** Executions whose completion is on its way to storage, by operation. */
  readonly completing: Map<number, ExecutionId>;
  readonly updates: Updates;
  /** The operation that has last tried to renew the leadership. */
  renewal: number | null;
  wakeAtMs: number | null;
}

const ENDINGS: ReadonlyMap<string, `server ends before ${(typeof SERVER_EFFECTS)[number]}`> = new Map(
  SERVER_EFFECTS.map((kind) => [kind, `server ends before ${kind}`]),
);
/** Events after which an execution may have ended. */
const ENDS: ReadonlySet<Event["kind"]> = new Set(["completed", "storage-failed", "clock"]);
const LISTENS_WITHIN_MS = 500;
/** Followups hold no locks: their callers are of no execution. */
const NO_EXECUTION = "" as ExecutionId;

export class Server {
  readonly index: number;
  readonly problems: string[] = [];
  readonly #options: ServerOptions;
  readonly #rate: number;
  /** Null between a crash and the restart. */
  #life: Life | null = null;
  #callers = 0;
  /** What is to be done when the process goes on; null: it runs. */
  #stopped: (() => void)[] | null = null;
  wallOffsetMs = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.index = options.index;
    const { clock, drift, counts } = options;
    this.#rate = drift === 0 ? 1 : 1 + (drift * (clock.random.below(201) - 100)) / 100;
    if (this.#rate !== 1) counts.add("clock of a server runs at another rate");
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isStopped(): boolean {
    return this.#stopped !== null;
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

  // ── Its lives ──────────────────────────────────────────────────────────────────────────────────────────────────

  start(): void {
    const { isAlone, termMs, storage } = this.#options;
    this.#write(() => "starts");
    this.#life = {
      core: null,
      epoch: 0,
      callers: new Map(),
      completing: new Map(),
      updates: new Updates(() => {}),
      renewal: null,
      wakeAtMs: null,
    };
    if (isAlone === true) return this.#serve(storage.acquireLease(storage.lease, 0)!.epoch, null);
    const candidate = new Candidate(termMs);
    this.#stand(candidate, candidate.start());
  }

  /** Waits for the leadership. */
  #stand(candidate: Candidate, effect: CandidateEffect): void {
    const { storage, counts } = this.#options;
    const next = (event: CandidateEvent): void => this.#stand(candidate, candidate.step(this.#now.monotonicMs, event));
    const failed = (): void => next({ kind: "failed" });
    switch (effect.kind) {
      case "read":
        return this.#ask(
          () => storage.lease,
          (leadership) => next({ kind: "read", leadership }),
          failed,
        );
      case "acquire":
        return this.#ask(
          () => storage.acquireLease(effect.seen, effect.termMs),
          (leadership) => next({ kind: "acquired", leadership }),
          failed,
        );
      case "wait":
        return this.#after(effect.ms, () => next({ kind: "waited" }));
      case "elected":
        counts.add("server elected");
        return this.#serve(effect.leadership.epoch, effect.leadership);
    }
  }

  #serve(epoch: number, leadership: HeldLeadership | null): void {
    const { coreOptions, storage, clock } = this.#options;
    // As the server does, or as one whose load has failed.
    const recover = (): Pick<Recovered, "pending" | "items"> | null => {
      const pending = storage.recover(epoch);
      if (pending === null || clock.random.chance(0.5)) return pending === null ? null : { pending };
      const units = pending.flatMap(readsOf);
      const items = storage.load(units);
      return { pending, items: new Map(units.map((unit) => [unit, items.get(unit) ?? null])) };
    };
    const begin = (found: Pick<Recovered, "pending" | "items"> | null): void => {
      // Another one leads already: the process ends, and is started again.
      if (found === null) return this.#end();
      const { pending } = found;
      this.#write(() => `serves with epoch ${epoch}; pending intents adopted: ${pending.length}`);
      const life = this.#life!;
      life.epoch = epoch;
      const modules = new Map(Array.from(storage.modules.keys(), (module) => [module, PLANS]));
      const recovered: Recovered = { epoch, ...found, leadership, modules, moduleUses: new Map(storage.modules) };
      life.core = new LviCore({ ...DEFAULT_CORE_OPTIONS, ...coreOptions }, recovered, this.#now, HASHER);
      this.#beHeard(life.updates);
      this.#wake();
    };
    if (leadership === null) return begin(recover());
    this.#ask(recover, begin, () => this.#end());
  }

  /** Each location finds out some time later that this server leads, and listens. */
  #beHeard(updates: Updates): void {
    const { clock, tell, locations } = this.#options;
    if (tell === null) return;
    for (let to = 0; to < locations; to++) {
      const listener = {
        tell: (line: string) => {
          tell(to, line);
          return true;
        },
        end: () => {},
      };
      this.#after(clock.random.between(0, LISTENS_WITHIN_MS), () => void updates.listen(nameOf(to), "", listener));
    }
  }

  /** The process ends by itself, and is started again. */
  #end(): void {
    this.kill(100);
  }

  /** Memory is lost; what was sent to storage may still arrive there. */
  kill(downMs: number): void {
    this.#write(() => "ends");
    this.#life = null;
    this.#stopped = null;
    this.#options.clock.after(downMs, () => this.start());
  }

  stop(ms: number): void {
    if (this.#stopped !== null) return;
    this.#write(() => "is stopped");
    const waiting: (() => void)[] = [];
    this.#stopped = waiting;
    this.#options.clock.after(ms, () => {
      if (this.#stopped !== waiting) return;
      this.#write(() => "goes on");
      this.#stopped = null;
      const { storage, counts } = this.#options;
      if (this.isServing && storage.lease.epoch !== this.#life?.epoch)
        counts.add("server goes on beside its successor");
      // Timers and answers that have come meanwhile are met in any order.
      for (const act of this.#options.clock.random.some(waiting, waiting.length)) act();
    });
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

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────────────────────

  receive(from: number, message: ToPrimary): void {
    this.#inThisLife(() => {
      const { callers, updates } = this.#life!;
      const caller = ++this.#callers;
      if (message.kind === "followup") {
        const { followup, sending } = message;
        const { executionId } = followup;
        const answer: Caller["answer"] = (reply) => this.#options.send({ to: from, executionId, sending, reply });
        callers.set(caller, { executionId: NO_EXECUTION, answer });
        return this.#step({ kind: "followup", caller, followup });
      }
      const { request, sending, signedAtMs } = message;
      const { coreOptions, storage, counts, send } = this.#options;
      const windowMs = coreOptions.replayWindowMs ?? DEFAULT_CORE_OPTIONS.replayWindowMs;
      if (Math.abs(signedAtMs - this.#now.wallMs) > windowMs) return;
      if (request.module === MODULES[0] && storage.modules.has(MODULES[1])) counts.add("module older than the newest");
      const { executionId } = request;
      callers.set(caller, { executionId, answer: (reply) => send({ to: from, executionId, sending, reply }) });
      if (request.units !== null) updates.read(request.location, request.units);
      this.#step({ kind: "lvi-request", caller, request });
    })();
  }

  register(module: ModuleHash): void {
    if (!this.isServing) return;
    this.#inThisLife(() => this.#step({ kind: "module-registered", module, plans: PLANS }))();
  }

  collect(): void {
    if (this.isServing) this.#inThisLife(() => this.#step({ kind: "collect" }))();
  }

  #step(event: Event): void {
    const { trace, clock, faults, counts } = this.#options;
    const life = this.#life;
    const core = life?.core ?? null;
    if (life === null || core === null) throw new Error("an event for a server that does not serve");
    trace.mix(event.kind.length * 31 + this.index);
    this.#write(() => describeEvent(event));
    // As the real driver: a reply that must wait for an operation leaves in the step that hears of its success.
    const durable = event.kind === "intent-stored" || event.kind === "completed" ? event.operation : null;
    for (const effect of core.step(this.#now, event)) {
      trace.mix(effect.kind.length);
      if (faults.end > 0 && clock.random.chance(faults.end)) {
        const ending = ENDINGS.get(effect.kind);
        if (ending !== undefined) {
          counts.add(ending);
          return this.kill(clock.random.between(1, 300));
        }
      }
      if (trace.lines !== null) trace.write(`    ${describeEffect(effect)}`);
      if ("after" in effect && effect.after !== null && effect.after !== durable)
        throw new Error(`a reply before operation ${effect.after} is durable`);
      this.#perform(life, effect);
      // It may have halted.
      if (this.#life !== life) return;
      const isWrite = effect.kind === "store-intent" || effect.kind === "complete";
      if (faults.freeze > 0 && isWrite && this.#stopped === null && clock.random.chance(faults.freeze)) {
        counts.add("server stopped and continued");
        this.stop(clock.random.between(1, 2 * this.#options.termMs));
      }
    }
    // What it hears without leadership it does not act upon.
    if (core.isLeading) {
      if (event.kind === "completed") life.completing.delete(event.operation);
      // A server that was stopped may hear first of a renewal that failed: then it has not looked at the clock yet.
      const isOfLeadership = event.kind === "storage-failed" && event.operation === life.renewal;
      if (ENDS.has(event.kind) && !isOfLeadership) this.#checkLocks(life, core);
    }
    this.#wake();
  }

  /** Whoever holds locks has somebody who waits for its answer, or an intent that is not known to be done. */
  #checkLocks({ callers, completing }: Life, core: LviCore): void {
    const { storage } = this.#options;
    for (const id of core.lockHolders) {
      if (storage.intents.get(id)?.state === "pending") continue;
      let isJustified = false;
      for (const caller of callers.values()) isJustified ||= caller.executionId === id;
      for (const executionId of completing.values()) isJustified ||= executionId === id;
      if (!isJustified) this.problems.push(`${shortId(id)} holds locks that nobody needs`);
    }
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

  // ── Effects ────────────────────────────────────────────────────────────────────────────────────────────────────

  #perform(life: Life, effect: Effect): void {
    const { epoch, callers, completing, updates } = life;
    const { trace, storage, counts, isAlone } = this.#options;
    switch (effect.kind) {
      case "reply":
      case "followup-reply": {
        const caller = callers.get(effect.caller);
        if (caller === undefined) throw new Error(`caller ${effect.caller} was answered twice`);
        callers.delete(effect.caller);
        if (effect.kind !== "reply") return caller.answer(effect.result);
        const { reply, location } = effect;
        if (reply.kind === "executed") updates.repaired(location, reply.repairs);
        if (reply.kind === "refused" && reply.code === "unknown_module") counts.add("module not known to the primary");
        return caller.answer(reply);
      }
      case "look-up": {
        const { operation, executionId } = effect;
        return this.#operate(
          operation,
          () => storage.lookUp(executionId),
          (record) => ({ kind: "looked-up", operation, record }),
        );
      }
      case "load": {
        const { operation, units } = effect;
        const early = storage.load(units);
        return this.#operate(
          operation,
          () => this.#torn(units, early, storage.load(units)),
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
            if (storage.ghosts > before) counts.add("intent arrived after a takeover");
            return result;
          },
          (result) => ({ kind: "intent-stored", operation, result }),
        );
      }
      case "complete": {
        const { operation, expects, completion, blind } = effect;
        completing.set(operation, completion.executionId);
        storage.expect(completion);
        return this.#operate(
          operation,
          () => storage.commit(epoch, commitOf(expects, completion)),
          (result) => {
            if (result.kind === "applied") updates.applied(completion.commitId, completion.writes, blind);
            return { kind: "completed", operation, result };
          },
        );
      }
      case "renew-leadership": {
        const { operation, termMs } = effect;
        life.renewal = operation;
        return this.#operate(
          operation,
          () => storage.renewLease(epoch, termMs),
          (isHeld) => ({ kind: "leadership-renewed", operation, isHeld }),
        );
      }
      case "execute": {
        // A module that an execution under way names must be there.
        if (!storage.modules.has(effect.task.invocation.module)) this.problems.push("a module that is named is gone");
        const { result, tookMs } = this.#run(effect.task);
        if (trace.lines !== null) trace.write(`    run ${effect.run}: ${result.kind}`);
        this.#after(tookMs, () => this.#step({ kind: "executed", run: effect.run, result, tookMs }));
        return;
      }
      case "collect": {
        for (const { module, usedAtMs } of effect.used) storage.useModule(module, usedAtMs);
        for (const { module, usedAtMs } of effect.unused)
          if (storage.removeModule(epoch, module, usedAtMs)) counts.add("module without use removed");
        const { intents, outcomes } = storage.collect(effect);
        if (intents > 0) counts.add("done intents collected");
        if (outcomes > 0) counts.add("outcomes collected");
        if (intents >= effect.limit || outcomes >= effect.limit) this.#step({ kind: "collect" });
        return;
      }
      case "sampled":
      case "sample-left-out":
        throw new Error("nobody takes samples");
      case "note":
        return this.#options.note(effect.note.name);
      case "resume":
        counts.add("leadership ran out and was regained");
        // The process may end, or be stopped, in the middle of them.
        for (const act of effect.events.map((event) => this.#inThisLife(() => this.#step(event)))) act();
        return;
      case "halt":
        if (isAlone === true) throw new Error(`the only server halted: ${effect.reason}`);
        return this.#end();
    }
  }

  /** Each unit is read at a time of its own, so a load may show a part of what was written meanwhile. */
  #torn(units: readonly UnitId[], early: StoredItems, late: StoredItems): StoredItems {
    const { clock, counts } = this.#options;
    const found = new Map(late);
    for (const unit of units) {
      const before = early.get(unit);
      if (before === late.get(unit) || !clock.random.chance(0.5)) continue;
      counts.add("load that misses a write beside it");
      if (before === undefined) found.delete(unit);
      else found.set(unit, before);
    }
    return found;
  }

  #run(task: ExecutionTask): { readonly result: ExecutionResult; readonly tookMs: number } {
    const result = this.#disturbedRun() ?? executeTask(primaryHost, task);
    const shortMs = this.#options.clock.random.between(0, 20);
    const { invocation, access, kills } = task;
    const neededMs = effortOf(invocation.handler, invocation.args).tookMs;
    if (neededMs === null || result.kind !== "completed") return { result, tookMs: shortMs };
    const limitMs = access.kind === "declared" ? RUN_LIMIT_MS * 2 ** kills : RUN_LIMIT_MS;
    if (neededMs <= limitMs) return { result, tookMs: neededMs };
    this.#options.counts.add(
      access.kind === "declared" ? "re-execution over its time" : "run near storage over its time",
    );
    return { result: { kind: "killed", reason: "too long" }, tookMs: limitMs };
  }

  #disturbedRun(): ExecutionResult | null {
    const { clock, faults, counts } = this.#options;
    if (faults.kill === 0 || !clock.random.chance(faults.kill)) return null;
    const isCrowdedOut = clock.random.chance(0.3);
    counts.add(isCrowdedOut ? "handler crowded out near storage" : "handler killed near storage");
    return isCrowdedOut ? { kind: "crowded-out" } : { kind: "killed", reason: "simulated" };
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
    const {
      clock,
      counts,
      faults: { storage },
    } = this.#options;
    const { random } = clock;
    if (storage.failure > 0 && random.chance(storage.failure)) {
      const effect = random.chance(0.5) ? "none" : "unknown";
      counts.add(effect === "none" ? "storage failed, nothing done" : "storage gave no answer, nothing done");
      clock.after(
        random.between(0, 10),
        this.#inThisLife(() => fail(effect)),
      );
      return;
    }
    const isLost = storage.lostAnswer > 0 && random.chance(storage.lostAnswer);
    if (isLost) counts.add("storage gave no answer, done");
    // Now and then an operation is on its way for long.
    const late = (): number => {
      if (storage.late === 0 || !random.chance(storage.late)) return 0;
      counts.add("storage slow");
      return random.between(100, storage.lateMs);
    };
    // Bound to the life that asked, not to the one that is there when storage acts.
    let value: T;
    const answer = this.#inThisLife(() => (isLost ? fail("unknown") : succeed(value)));
    clock.after(random.between(0, storage.maxDelayMs) + late(), () => {
      value = carryOut();
      clock.after(random.between(0, storage.maxDelayMs) + late(), answer);
    });
  }

  #write(text: () => string): void {
    const { trace } = this.#options;
    if (trace.lines !== null) trace.write(`server ${this.index} ${text()}`);
  }
}
