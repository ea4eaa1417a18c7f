/**
 * The driver of the protocol core: carries its effects out with real storage, workers and time, and hands what comes
 * of them back as events. It decides nothing.
 */
import {
  type Followup,
  type FollowupResult,
  type ListedModule,
  type LocationAlarm,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  RadicalError,
  type SetLeft,
} from "@radical/protocol";
import type { Sample, Sampling } from "./core/sampling.ts";
import type { CallerId, Effect, Event, Load, Note, NoteName, OperationId, StoreResult } from "./core/events.ts";
import type { Intent } from "./core/intent.ts";
import type { LviCore, Now } from "./core/lvi-core.ts";
import type { Executor } from "./execution/worker-pool.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { RequestTimes } from "./request-times.ts";
import { commitOf, type Storage, StorageError, type StoredModule } from "./storage/storage.ts";
import { Updates } from "./updates.ts";

export interface EngineOptions {
  readonly core: LviCore;
  readonly epoch: number;
  readonly storage: Storage;
  readonly executor: Executor;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Now;
  /** How often what was kept long enough is collected. */
  readonly collectIntervalMs: number;
  readonly onHalt: OnHalt;
}

/** This server may serve no more: another one has taken over, or it found itself broken. Nothing it holds in memory is to be trusted. */
export type OnHalt = (reason: string, cause: "taken-over" | "broken") => void;

/** Notes that somebody should look at. */
const ALARMS: ReadonlySet<NoteName> = new Set([
  "determinism_alarm",
  "lost_write_alarm",
  "intent_alarm",
  "overdue_intent_alarm",
  "wrote_on_get_alarm",
]);
const WARNINGS: ReadonlySet<NoteName> = new Set([
  "storage_failed",
  "re_execution_killed",
  "followup_not_covered",
  "refused",
  "leadership_run_out",
  "leadership_regained",
]);

interface Halted {
  /** What requests under way are told: whether they had an effect, only storage knows. */
  readonly underWay: Error;
  /** What later ones are told: nobody looked at them. */
  readonly later: Error;
}

/** Most units that one line of log names. */
const LOGGED_UNITS = 5;

/** Whoever takes samples; one at a time. */
export interface SampleTaker {
  /** Null: one that had to be left out. */
  readonly take: (sample: Sample | null) => void;
  /** There will be no more. */
  readonly end: (reason: string) => void;
}

/**
 * Who asks: told once, perhaps before the call has returned. A promise would be told a turn later, and take as long as the
 * whole step that answers a hot request. Neither function throws.
 */
export interface Asker<T> {
  readonly answered: (answer: T) => void;
  readonly failed: (error: Error) => void;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly updates: Updates;
  readonly #waiters = new Map<CallerId, Asker<never>>();
  readonly #collector: NodeJS.Timeout;
  #timer: { readonly atMs: number; readonly timeout: NodeJS.Timeout } | null = null;
  #callers = 0;
  /** The storage operation whose success is being handled. */
  #durable: OperationId | null = null;
  #halted: Halted | null = null;
  readonly #drained: (() => void)[] = [];
  readonly #moduleChanges = new Map<ModuleHash, Promise<void>>();
  #sampleTaker: SampleTaker | null = null;
  /** Null: nobody would see them. */
  readonly #times: RequestTimes | null;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#times = options.log.writes("debug") ? new RequestTimes() : null;
    this.updates = new Updates((isSent, units) => options.metrics.updated(isSent, units));
    this.#collector = setInterval(() => this.#step({ kind: "collect" }), options.collectIntervalMs);
    this.#collector.unref();
    // Not only after the interval: a server may be started again more often than that.
    setImmediate(() => this.#step({ kind: "collect" }));
    this.#wake();
  }

  /** Of a location: the primary has not seen it. */
  alarm({ execution, module, handler, location }: LocationAlarm): void {
    const detail = `the handler "${handler}" must not write, because the request is a GET; the location ${location} has ended it before it wrote`;
    this.#note({ name: "wrote_on_get_alarm", executionId: execution, module, handler, detail });
  }

  get load(): Load {
    return this.#options.core.load;
  }

  get isLeading(): boolean {
    return this.#options.core.isLeading;
  }

  get setsLeft(): readonly SetLeft[] {
    return this.#options.core.setsLeft;
  }

  request(request: LviRequest, asker: Asker<LviReply>): void {
    if (this.#halted !== null) return asker.failed(this.#halted.later);
    const caller = this.#wait(this.#times === null ? asker : this.#timed(this.#times, request, asker));
    if (request.units !== null) this.updates.read(request.location, request.units);
    this.#step({ kind: "lvi-request", caller, request });
  }

  followup(followup: Followup, asker: Asker<FollowupResult>): void {
    if (this.#halted !== null) return asker.failed(this.#halted.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "followup", caller, followup });
  }

  hasModule(hash: ModuleHash): boolean {
    return this.#options.core.hasModule(hash);
  }

  async registerModule(module: StoredModule, content: Uint8Array): Promise<void> {
    await this.#asking(() => this.#changeModule(module.hash, () => this.#options.storage.storeModule(module, content)));
    this.#step({ kind: "module-registered", module: module.hash, plans: module.plans });
  }

  /** One change of a module at a time: it stands in several items. */
  async #changeModule<T>(hash: ModuleHash, change: () => Promise<T>): Promise<T> {
    const changed = (this.#moduleChanges.get(hash) ?? Promise.resolve()).then(change);
    const settled = changed.then(
      () => undefined,
      () => undefined,
    );
    this.#moduleChanges.set(hash, settled);
    try {
      return await changed;
    } finally {
      if (this.#moduleChanges.get(hash) === settled) this.#moduleChanges.delete(hash);
    }
  }

  /** By the last use, the last one first. */
  async listModules(): Promise<readonly ListedModule[]> {
    const stored = new Map(
      (await this.#asking(() => this.#options.storage.modules())).map((module) => [module.hash, module]),
    );
    const { modules, moduleLoads } = this.#options.core;
    const known = new Map(modules.map(({ module, usedAtMs }) => [module, usedAtMs]));
    const listed = [...new Set([...known.keys(), ...moduleLoads.keys()])].map((module): ListedModule => {
      const { executions = 0, pending = 0 } = moduleLoads.get(module) ?? {};
      const { registeredAtMs = null, plans } = stored.get(module) ?? {};
      const usedAtMs = known.get(module) ?? null;
      const handlers = [...(plans?.keys() ?? [])].toSorted();
      return { module, registered: known.has(module), registeredAtMs, usedAtMs, handlers, pending, executions };
    });
    return listed.toSorted((a, b) => (b.usedAtMs ?? 0) - (a.usedAtMs ?? 0));
  }

  moduleContent(hash: ModuleHash): Promise<Uint8Array | null> {
    return this.#asking(() => this.#options.storage.moduleContent(hash));
  }

  /** Storage that is closed, or another server's, is no fault of this one. */
  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#halted !== null) throw this.#halted.later;
    try {
      return await ask();
    } catch (error) {
      throw this.#isHalted()?.underWay ?? error;
    }
  }

  /** As a call: it may have happened since it was last looked at. */
  #isHalted(): Halted | null {
    return this.#halted;
  }

  /** Samples executions from now on, in place of whom samples were taken by before. Returns how to stop. */
  sample(sampling: Sampling, taker: SampleTaker): () => void {
    this.#endSampling("another sampling has begun");
    this.#sampleTaker = taker;
    this.#step({ kind: "sampling", sampling });
    return () => {
      if (this.#sampleTaker !== taker) return;
      this.#sampleTaker = null;
      this.#step({ kind: "sampling", sampling: null });
    };
  }

  #endSampling(reason: string): void {
    const taker = this.#sampleTaker;
    this.#sampleTaker = null;
    taker?.end(reason);
  }

  async #collect({ doneBeforeMs, toldBeforeMs, limit, used, unused }: Effect & { kind: "collect" }): Promise<void> {
    const { storage, epoch, log } = this.#options;
    for (const { module, usedAtMs } of used) await storage.useModule(module, usedAtMs);
    for (const { module, usedAtMs } of unused) {
      if (await this.#changeModule(module, () => storage.removeModule(epoch, module, usedAtMs)))
        log.info("module_removed", { module, usedAtMs });
    }
    const { intents, outcomes } = await storage.collect({ doneBeforeMs, toldBeforeMs, limit });
    log.debug("intents_collected", { count: intents, outcomes });
    if (intents >= limit || outcomes >= limit) this.#step({ kind: "collect" });
  }

  /** Refuses new executions; resolves when all callers have their answers, or after the time. */
  async drain(limitMs: number): Promise<void> {
    this.#step({ kind: "drain" });
    this.updates.close();
    if (this.#waiters.size === 0) return;
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, limitMs);
      this.#drained.push(() => {
        clearTimeout(timeout);
        resolve();
      });
    });
  }

  /** Who still waits is told to ask the next server. */
  close(): void {
    this.#halt(endedBecause(STOPPED));
  }

  #wait(asker: Asker<never>): CallerId {
    const caller = ++this.#callers;
    this.#waiters.set(caller, asker);
    return caller;
  }

  #step(event: Event): void {
    if (this.#halted !== null) return;
    this.#durable = "operation" in event && event.kind !== "storage-failed" ? event.operation : null;
    try {
      for (const effect of this.#options.core.step(this.#options.now(), event)) this.#perform(effect);
      this.#wake();
    } catch (error) {
      // A broken invariant: what is durable is right, what is in memory may not be.
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.log.error("invariant_broken", { reason });
      const broken = new Error(reason);
      this.#giveUp({ underWay: broken, later: broken }, reason, "broken");
    }
  }

  #perform(effect: Effect): void {
    const { storage, executor, epoch, log } = this.#options;
    switch (effect.kind) {
      case "reply":
        this.#options.metrics.replied(effect.reply);
        if (effect.reply.kind === "executed") this.updates.repaired(effect.location, effect.reply.repairs);
        return this.#answer(effect.caller, effect.reply, effect.after);
      case "followup-reply":
        this.#options.metrics.followed(effect.result);
        return this.#answer(effect.caller, effect.result, effect.after);
      case "look-up":
        return this.#operate(effect.operation, storage.lookUp(epoch, effect.executionId), (record) => ({
          kind: "looked-up",
          operation: effect.operation,
          record,
        }));
      case "load":
        return this.#operate(effect.operation, storage.load(effect.units, effect.mostBytes), (items) =>
          items === null
            ? { kind: "too-much-to-load", operation: effect.operation }
            : { kind: "loaded", operation: effect.operation, items },
        );
      case "store-intent":
        return this.#operate(effect.operation, this.#storeIntent(effect.intent), (result) => ({
          kind: "intent-stored",
          operation: effect.operation,
          result,
        }));
      case "complete":
        return this.#operate(
          effect.operation,
          storage.commit(epoch, commitOf(effect.expects, effect.completion)),
          (result) => {
            const { commitId, writes } = effect.completion;
            if (result.kind === "applied") this.updates.applied(commitId, writes, effect.blind);
            return { kind: "completed", operation: effect.operation, result };
          },
        );
      case "renew-leadership":
        return this.#operate(effect.operation, storage.renewLease(epoch, effect.termMs), (isHeld) => ({
          kind: "leadership-renewed",
          operation: effect.operation,
          isHeld,
        }));
      case "collect":
        void this.#collect(effect).catch((error: unknown) => log.warn("collect_failed", { reason: String(error) }));
        return;
      case "execute":
        void executor
          .execute(effect.task, effect.location)
          .then(({ result, tookMs }) => this.#step({ kind: "executed", run: effect.run, result, tookMs }));
        return;
      case "note":
        return this.#note(effect.note);
      case "sampled":
        return this.#sampleTaker?.take(effect.sample);
      case "sample-left-out":
        return this.#sampleTaker?.take(null);
      case "resume":
        for (const event of effect.events) this.#step(event);
        return;
      case "halt":
        return this.#giveUp(endedBecause(effect.reason), effect.reason, "taken-over");
    }
  }

  /** The same asker, with a line of log for the answer. */
  #timed(times: RequestTimes, { executionId }: LviRequest, { answered, failed }: Asker<LviReply>): Asker<LviReply> {
    times.begin(executionId);
    return {
      failed,
      answered: (reply) => {
        this.#options.log.debug("request_times", times.answered(executionId, reply));
        answered(reply);
      },
    };
  }

  #storeIntent(intent: Intent): Promise<StoreResult> {
    const { storage, epoch } = this.#options;
    const stored = storage.storeIntent(epoch, intent);
    return this.#times?.during(intent.executionId, "intentMs", stored) ?? stored;
  }

  #operate<T>(operation: OperationId, answer: Promise<T>, event: (value: T) => Event): void {
    void answer.then(
      (value) => this.#step(event(value)),
      (error: unknown) => {
        const effect = error instanceof StorageError ? error.effect : "unknown";
        const reason = error instanceof Error ? error.message : String(error);
        this.#step({ kind: "storage-failed", operation, effect, reason });
      },
    );
  }

  #answer(caller: CallerId, answer: unknown, after: OperationId | null): void {
    if (after !== null && after !== this.#durable) throw new Error(`reply before operation ${after} is durable`);
    const waiter = this.#waiters.get(caller);
    if (waiter === undefined) throw new Error(`caller ${caller} was answered twice`);
    this.#waiters.delete(caller);
    waiter.answered(answer as never);
    if (this.#waiters.size === 0) for (const drained of this.#drained.splice(0)) drained();
  }

  #note(note: Note): void {
    const { log, metrics } = this.#options;
    metrics.note(note);
    const { name, executionId, module, handler, detail, cause, units, waitedMs, times } = note;
    // A handler that leaves its set does so call after call: one line says it.
    const isWarning = name === "set_left" ? times === 1 : WARNINGS.has(name);
    const level = ALARMS.has(name) ? "error" : isWarning ? "warn" : "debug";
    if (!log.writes(level)) return;
    const named = units?.slice(0, LOGGED_UNITS).join(" ");
    if (waitedMs !== undefined) this.#times?.spent(executionId, "lockWaitMs", waitedMs);
    const followupMs = name === "followup_applied" ? (this.#times?.followed(executionId) ?? undefined) : undefined;
    log[level](name, { execution: executionId, module, handler, detail, cause, units: named, waitedMs, followupMs });
  }

  /** One timer for all that the core waits for. */
  #wake(): void {
    const atMs = this.#options.core.wakeAtMs;
    if (atMs === null || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    if (this.#timer !== null) clearTimeout(this.#timer.timeout);
    const timeout = setTimeout(
      () => {
        this.#timer = null;
        this.#step({ kind: "clock" });
        this.#wake();
      },
      Math.max(0, Math.min(Math.ceil(atMs - this.#options.now().monotonicMs), 2 ** 31 - 1)),
    );
    this.#timer = { atMs, timeout };
  }

  #giveUp(halted: Halted, reason: string, cause: "taken-over" | "broken"): void {
    this.#halt(halted);
    this.#options.onHalt(reason, cause);
  }

  #halt(halted: Halted): void {
    if (this.#halted !== null) return;
    this.#halted = halted;
    clearInterval(this.#collector);
    if (this.#timer !== null) clearTimeout(this.#timer.timeout);
    this.#endSampling(halted.later.message);
    this.updates.close();
    for (const { failed } of this.#waiters.values()) failed(halted.underWay);
    this.#waiters.clear();
    for (const drained of this.#drained.splice(0)) drained();
  }
}

const STOPPED = "this server has stopped";
const NEXT = "Ask the next server, or this one later, under the same execution id.";

function endedBecause(reason: string): Halted {
  return {
    underWay: new RadicalError("primary_unreachable", reason, NEXT),
    later: new RadicalError("not_serving", reason, NEXT),
  };
}
