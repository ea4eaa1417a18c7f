/**
 * The primary in the simulation: the real protocol core, driven with virtual time, over a modelled storage that is
 * slow, fails, loses answers, and survives the crashes of the server.
 */
import {
  type Completion,
  type CompleteResult,
  type CoreOptions,
  DEFAULT_CORE_OPTIONS,
  type Effect,
  type Event,
  executeTask,
  type Intent,
  type IntentRecord,
  type LviCore,
  type NoteName,
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
}

class ModelStorage {
  epoch = 0;
  readonly items = new Map<UnitId, StoredItem>();
  readonly intents = new Map<ExecutionId, IntentRecord>();
  readonly applied: Applied[] = [];

  storeIntent(epoch: number, intent: Intent): StoreResult {
    if (epoch !== this.epoch) return { kind: "fenced" };
    const record = this.intents.get(intent.executionId);
    if (record !== undefined) return { kind: "exists", record };
    this.intents.set(intent.executionId, { state: "pending", intent });
    return { kind: "stored" };
  }

  complete(epoch: number, expects: "pending" | "new", completion: Completion): CompleteResult {
    if (epoch !== this.epoch) return { kind: "fenced" };
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

export type CoreClass = new (options: CoreOptions, recovered: Recovered, nowMs: number) => LviCore;

export interface PrimaryOptions {
  readonly core: CoreClass;
  readonly coreOptions: Partial<CoreOptions>;
  readonly clock: Clock;
  readonly faults: StorageFaults;
  /** Hands a message to the network. */
  readonly send: (message: ToLocation) => void;
  readonly trace: (line: string) => void;
}

export class Primary {
  readonly storage = new ModelStorage();
  readonly notes = new Map<NoteName, number>();
  readonly #options: PrimaryOptions;
  /** One life of the server process; null between a crash and the restart. */
  #life: {
    readonly core: LviCore;
    readonly callers: Map<number, (answer: LviReply | ToLocation) => void>;
    wakeAtMs: number | null;
  } | null = null;
  #callers = 0;
  /** How often the server was killed: requests on the way die with their connections. */
  crashes = 0;

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.start();
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isIdle(): boolean {
    return this.#life?.core.isIdle === true;
  }

  start(): void {
    const { core, coreOptions, clock, trace } = this.#options;
    const { storage } = this;
    storage.epoch++;
    trace(`start epoch ${storage.epoch}`);
    const records = [...storage.intents.values()];
    const recovered: Recovered = {
      epoch: storage.epoch,
      pending: records.filter((record) => record.state === "pending").map(({ intent }) => intent),
      modules: new Map([[MODULE, PLANS]]),
    };
    this.#life = {
      core: new core({ ...DEFAULT_CORE_OPTIONS, ...coreOptions }, recovered, clock.nowMs),
      callers: new Map(),
      wakeAtMs: null,
    };
    this.#wake();
  }

  /** `kill -9`: memory is lost; what was sent to storage may still arrive there. */
  crash(): void {
    this.#options.trace("crash");
    this.crashes++;
    this.#life = null;
  }

  receive(message: ToPrimary): void {
    const life = this.#life;
    if (life === null) return;
    const { send } = this.#options;
    const caller = ++this.#callers;
    if (message.kind === "lvi-request") {
      const { from, request, sending, signedAtMs } = message;
      const windowMs = this.#options.coreOptions.replayWindowMs ?? DEFAULT_CORE_OPTIONS.replayWindowMs;
      if (Math.abs(signedAtMs - this.#options.clock.nowMs) > windowMs) return;
      life.callers.set(caller, (reply) =>
        send({ kind: "lvi-reply", to: from, executionId: request.executionId, sending, reply: reply as LviReply }),
      );
      this.#step({ kind: "lvi-request", caller, request });
    } else {
      life.callers.set(caller, () => {});
      this.#step({ kind: "followup", caller, followup: message.followup });
    }
  }

  #step(event: Event): void {
    const life = this.#life;
    if (life === null) return;
    const { clock, trace } = this.#options;
    trace(describeEvent(event));
    for (const effect of life.core.step(clock.nowMs, event)) {
      trace(`  ${describeEffect(effect)}`);
      this.#perform(effect);
    }
    this.#wake();
  }

  /** Does something in this life only. */
  #inThisLife<T = void>(run: (value: T) => void): (value: T) => void {
    const life = this.#life;
    return (value) => {
      if (this.#life === life) run(value);
    };
  }

  #wake(): void {
    const life = this.#life;
    if (life === null) return;
    const { clock } = this.#options;
    const atMs = life.core.wakeAtMs;
    if (atMs === null || (life.wakeAtMs !== null && life.wakeAtMs <= atMs)) return;
    life.wakeAtMs = atMs;
    clock.after(
      Math.max(0, atMs - clock.nowMs),
      this.#inThisLife(() => {
        life.wakeAtMs = null;
        this.#step({ kind: "clock" });
      }),
    );
  }

  #perform(effect: Effect): void {
    const { clock, trace } = this.#options;
    const { random } = clock;
    const { storage } = this;
    switch (effect.kind) {
      case "reply":
      case "followup-reply": {
        const { callers } = this.#life!;
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
        const { epoch } = storage;
        return this.#operate(
          operation,
          () => storage.storeIntent(epoch, intent),
          (result) => ({ kind: "intent-stored", operation, result }),
        );
      }
      case "complete": {
        const { operation, expects, completion } = effect;
        const { epoch } = storage;
        return this.#operate(
          operation,
          () => storage.complete(epoch, expects, completion),
          (result) => ({ kind: "completed", operation, result }),
        );
      }
      case "execute": {
        const result = random.chance(0.01)
          ? ({ kind: "killed", reason: "simulated" } as const)
          : executeTask(primaryHost, effect.task);
        trace(`run ${effect.run} ${effect.task.access.kind} ${result.kind}`);
        clock.after(
          random.between(0, 20),
          this.#inThisLife(() => this.#step({ kind: "executed", run: effect.run, result })),
        );
        return;
      }
      case "note":
        this.notes.set(effect.note.name, (this.notes.get(effect.note.name) ?? 0) + 1);
        return;
      case "halt":
        throw new Error(`the server halted: ${effect.reason}`);
      case "collect":
    }
  }

  /** A storage operation takes effect some time after it was sent, if it does, and is answered some time later. */
  #operate<T>(operation: number, carryOut: () => T, event: (value: T) => Event): void {
    const { clock, faults } = this.#options;
    const { random } = clock;
    const fail = this.#inThisLife((effect: "none" | "unknown") =>
      this.#step({ kind: "storage-failed", operation, effect, reason: "simulated" }),
    );
    const succeed = this.#inThisLife((value: T) => this.#step(event(value)));
    if (random.chance(faults.failure)) {
      clock.after(random.between(0, 10), () => fail(random.chance(0.5) ? "none" : "unknown"));
      return;
    }
    const lost = random.chance(faults.lostAnswer);
    clock.after(random.between(0, faults.maxDelayMs), () => {
      const value = carryOut();
      clock.after(random.between(0, faults.maxDelayMs), () => (lost ? fail("unknown") : succeed(value)));
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
    case "halt":
    case "collect":
      return effect.kind;
  }
}

/** Executions are numbered like operations. */
function shortId(id: ExecutionId): string {
  return `op${Number.parseInt(id, 16)}`;
}
