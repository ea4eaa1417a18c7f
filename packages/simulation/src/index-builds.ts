/**
 * Histories of an index that is added to live data, and dropped. Builds with and without it write, the server is killed, and
 * storage answers in any order. The real core runs over the storage of the simulation. Wherever storage says that the
 * index is ready, an entry exists exactly if its item has the fields.
 */
import {
  commitOf,
  DEFAULT_CORE_OPTIONS,
  type Effect,
  type Event,
  type IndexState,
  indexStates,
  LviCore,
  type Run,
  type RunAccess,
  type RunResult,
  type TaskAnswer,
} from "@radical/lvi-server/core";
import { Random } from "@radical/history";
import {
  type AccessedUnit,
  byUnit,
  CborWriter,
  type CommitId,
  commitId,
  contentHash,
  type Entry,
  entryOf,
  type ExecutionId,
  INDEX_STATES,
  type IndexDeclaration,
  indexEntryOf,
  indexOf,
  itemOfEntry,
  type Key,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  splitUnit,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { ModelStorage, rowsIn } from "./model-storage.ts";

const OLD = "a".repeat(64) as ModuleHash;
const NEW = "b".repeat(64) as ModuleHash;
const PLANS = new Map([
  ["put", "sliced"],
  ["copy", "recorded"],
] as const);
const TABLE = "users";
const LOCATION = "va";
const RETENTION_MS = 1_000_000;
const OPTIONS = {
  ...DEFAULT_CORE_OPTIONS,
  readLeaseMs: 0,
  followupTimeoutMs: 50,
  moduleRetentionMs: RETENTION_MS,
  maxClockSkewMs: Infinity,
  hotBytes: 4_000,
  indexPageItems: 3,
};
/** Nobody asks what was called. */
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "simulation", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};

/** The handler `put` stores a record under a key; `copy` stores that of another key. */
interface Call {
  readonly handler: "put" | "copy";
  readonly key: string;
  /** Of `put`: the field, null: it lacks it, undefined: the item is deleted. Of `copy`: the other key. */
  readonly field: string | null | undefined;
}

/** An execution of a location. */
interface Sent {
  readonly request: LviRequest;
  readonly call: Call;
  /** The values on which the location has speculated. */
  readonly view: ReadonlyMap<UnitId, Entry>;
}

interface IndexHistory {
  readonly problems: readonly string[];
  /** Replies to locations other than refusals, and executions in storage, those of pages too. */
  readonly answered: number;
  readonly applied: number;
}

export function simulateIndexBuilds({ seed }: { readonly seed: number }): IndexHistory {
  const world = new World(seed);
  const problems = world.run();
  const { answered, applied } = world;
  return { problems, answered, applied };
}

class World {
  answered = 0;
  readonly #random: Random;
  readonly #storage = new ModelStorage(true);
  readonly #index: IndexDeclaration;
  /** The modules that are registered: storage knows them. */
  readonly #modules = new Map<ModuleHash, number>([[OLD, 0]]);
  readonly #problems: string[] = [];
  /** Things that may happen next, in any order. */
  readonly #tasks: (() => void)[] = [];
  /** Things that take long. */
  readonly #slow: (() => void)[] = [];
  readonly #sent = new Map<number, Sent>();
  /** The latest commit id that locations have heard of. */
  #seen: CommitId | null = null;
  #core!: LviCore;
  #life = 0;
  #epoch = 0;
  #nowMs = 1_000;
  #names = 0;
  #left: number;
  /**
   * Most writes are inserts, few at a time, and storage takes long to store their intents. A page waits for executions that were told,
   * and passes others. So an index is ready while a location has yet to hear that its write by earlier rules is valid.
   */
  readonly #hasSlowIntents: boolean;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#hasSlowIntents = this.#random.chance(0.25);
    this.#index = present(indexOf(this.#random.chance(0.5) ? "users=email" : "users.email"), "it is a name");
    this.#left = this.#random.between(20, 100);
    // Two of the items that are written again have the same field.
    const isTwice = this.#random.chance(0.3);
    const most = this.#hasSlowIntents ? 3 : this.#random.chance(0.1) ? 60 : 12;
    for (let n = this.#random.below(most); n > 0; n--) {
      const unit = unitId(TABLE, `k${n}`);
      const isTwin = isTwice && (n === 1 || n === 6);
      const field = isTwin ? "twice" : this.#random.chance(0.1) ? null : `old${n}`;
      this.#storage.items.set(unit, { commitId: commitId(0, n), value: recordOf(field) });
    }
  }

  get applied(): number {
    return this.#storage.applied.length;
  }

  run(): readonly string[] {
    this.#start();
    const random = this.#random;
    let registers = random.between(1, 4);
    const slowly = this.#hasSlowIntents ? 0.002 : 0.03;
    for (let steps = 0; steps < 20_000 && this.#problems.length === 0; steps++) {
      if (this.#slow.length > 0 && (this.#tasks.length === 0 || random.chance(slowly)))
        this.#tasks.push(...this.#slow.splice(random.below(this.#slow.length), 1));
      const isBusy = this.#tasks.length > 0;
      if (this.#left > 0 && random.chance(isBusy ? 0.06 : 0.7)) this.#begin();
      else if (registers > 0 && random.chance(this.#modules.has(NEW) ? 0.002 : this.#chanceToBegin)) {
        registers--;
        this.#register();
      } else if (this.#left > 0 && random.chance(0.003)) this.#crash();
      else if (this.#left > 0 && random.chance(0.0006)) this.#forget();
      else if (isBusy) this.#tasks.splice(random.below(this.#tasks.length), 1)[0]!();
      else if (registers > 0) {
        registers--;
        this.#register();
      } else if (this.#isOver()) return this.#problems;
      else if (this.#left > 0) this.#begin();
      else if (!this.#wake()) return [`nothing happens any more: ${this.#words()}`];
      if (isBusy && random.chance(0.2)) this.#wake();
    }
    return this.#problems.length > 0 ? this.#problems : [`it does not end: ${this.#words()}`];
  }

  /** That the index is made known now: best while intents are on their way. */
  get #chanceToBegin(): number {
    if (!this.#hasSlowIntents) return 0.02;
    return this.#slow.length > 1 ? 0.2 : 0.001;
  }

  #words(): string {
    return JSON.stringify([this.#core.load.executions, this.#core.indexes, this.#index.name]);
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    const storage = this.#storage;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else leads");
    this.#epoch = epoch;
    const states = rowsIn(storage.items, { table: INDEX_STATES, from: null, to: null }, Infinity);
    const modules = [...this.#modules.keys()];
    const recovered = {
      epoch,
      pending: storage.recover(epoch)!,
      leadership: null,
      modules: new Map(modules.map((module) => [module, PLANS])),
      moduleUses: new Map(this.#modules),
      moduleIndexes: new Map(modules.map((module) => [module, this.#indexesOf(module)])),
      indexes: indexStates(states),
    };
    this.#core = new LviCore(OPTIONS, recovered, this.#now, HASHER);
  }

  /** Operations that were sent to storage may still arrive there. */
  #crash(): void {
    this.#life++;
    this.#sent.clear();
    this.#start();
  }

  get #now(): { monotonicMs: number; wallMs: number } {
    return { monotonicMs: this.#nowMs, wallMs: this.#nowMs };
  }

  #step(event: Event): void {
    for (const effect of this.#core.step(this.#now, event)) this.#perform(effect);
    this.#core.assertWellFormed();
  }

  #wake(): boolean {
    const { wakeAtMs } = this.#core;
    if (wakeAtMs === null) return false;
    this.#nowMs = Math.max(this.#nowMs, wakeAtMs);
    this.#step({ kind: "clock" });
    return true;
  }

  /** Something that this life of the server is told later. */
  #later(act: () => void, tasks = this.#tasks): void {
    const life = this.#life;
    tasks.push(() => {
      if (life === this.#life) act();
    });
  }

  #asked<T>(ask: () => T, event: (answer: T) => Event, slow = 0.15): void {
    const life = this.#life;
    const tasks = this.#random.chance(slow) ? this.#slow : this.#tasks;
    tasks.push(() => {
      const answer = ask();
      if (life === this.#life) this.#later(() => this.#step(event(answer)));
    });
  }

  #perform(effect: Effect): void {
    const storage = this.#storage;
    const epoch = this.#epoch;
    switch (effect.kind) {
      case "look-up": {
        const { operation, executionId } = effect;
        return this.#asked(
          () => storage.lookUp(executionId),
          (record) => ({ kind: "looked-up", operation, record }),
        );
      }
      case "load": {
        const { operation, units } = effect;
        return this.#asked(
          () => storage.load(units),
          (items) => ({ kind: "loaded", operation, items }),
        );
      }
      case "scan": {
        const { operation, hole, limit } = effect;
        const { table, lo, hi, isReversed } = hole;
        const range = { table, from: lo as Key, to: hi === "" ? null : (hi as Key), isReversed };
        return this.#asked(
          () => rowsIn(storage.items, range, limit),
          (rows) => ({ kind: "scanned", operation, rows }),
        );
      }
      case "store-intent": {
        const { operation, intent } = effect;
        return this.#asked(
          () => storage.storeIntent(epoch, intent),
          (result) => ({ kind: "intent-stored", operation, result }),
          this.#hasSlowIntents ? 0.8 : 0.15,
        );
      }
      case "complete": {
        const { operation, completions } = effect;
        for (const { completion } of completions) storage.expect(completion);
        return this.#asked(
          () => {
            const result = storage.commit(epoch, commitOf(completions));
            this.#check(completions.map(({ completion }) => completion.executionId).join());
            return result;
          },
          (result) => ({ kind: "completed", operation, result }),
        );
      }
      case "collect":
        for (const { module, usedAtMs } of effect.unused)
          if (this.#modules.get(module)! <= usedAtMs) this.#modules.delete(module);
        return this.#later(() => this.#step({ kind: "collected", intents: 0, outcomes: 0 }));
      case "execute": {
        const { run } = effect;
        return this.#later(() => this.#step({ kind: "executed", run: run.id, ...this.#ran(run) }));
      }
      case "read-tasks":
        return this.#later(() =>
          this.#step({ kind: "tasks-read", operation: effect.operation, answer: NO_TASKS[effect.question.kind] }),
        );
      case "read-workflows": {
        const { operation } = effect;
        const answer = { kind: "open", workflows: [], next: null } as const;
        return this.#later(() => this.#step({ kind: "workflows-read", operation, answer }));
      }
      case "reply":
        return this.#replied(effect.caller, effect.reply);
      case "halt":
        throw new Error(`the server has halted: ${effect.reason}`);
      default:
    }
  }

  // ── Handlers ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #indexesOf(module: ModuleHash): readonly string[] {
    return module === NEW ? [this.#index.name] : [];
  }

  /** Each member of a train on what those before it have written. */
  #ran({ invocation, snapshot, access, followers = [] }: Run): {
    readonly result: RunResult;
    readonly tookMs: number;
    readonly followers: readonly { readonly result: RunResult; readonly tookMs: number }[];
  } {
    const coming = new Map<UnitId, Entry>();
    const results = [{ invocation, snapshot, access }, ...followers].map((member) => {
      const view = new Map(member.snapshot);
      for (const [unit, entry] of coming) if (view.has(unit)) view.set(unit, entry);
      const result = within(
        member.access,
        this.#handle(member.invocation.module, callIn(member.invocation.args), view),
      );
      if (result.kind === "completed")
        for (const { unit, value } of result.writes) coming.set(unit, entryOf(NO_COMMIT, value));
      return { result, tookMs: 0 };
    });
    return { ...results[0]!, followers: results.slice(1) };
  }

  #handle(module: ModuleHash, { handler, key, field }: Call, view: ReadonlyMap<UnitId, Entry>): RunResult {
    const reads = new Set<UnitId>();
    const missing = new Set<UnitId>();
    const writes = new Map<UnitId, Uint8Array | null>();
    const get = (unit: UnitId): Uint8Array | null => {
      if (writes.has(unit)) return writes.get(unit)!;
      reads.add(unit);
      if (!view.has(unit)) missing.add(unit);
      return view.get(unit)?.value ?? null;
    };
    const unit = unitId(TABLE, key);
    const value = handler === "put" ? (field === undefined ? null : recordOf(field)) : get(unitId(TABLE, field!));
    let outcome: Outcome = { kind: "result", value: new Uint8Array() };
    if (module === NEW) {
      const [before, after] = [get(unit), value].map((item) => indexEntryOf(this.#index, key as Key, item));
      if (before?.key !== after?.key) {
        const { name } = this.#index;
        const taken = after === null || after === undefined ? null : get(unitId(name, after.key));
        if (taken !== null && itemOfEntry(taken) !== key)
          outcome = { kind: "abort", status: 409, code: "not_unique", message: "" };
        if (before) writes.set(unitId(name, before.key), null);
        if (after) writes.set(unitId(name, after.key), after.value);
      }
    }
    writes.set(unit, value);
    if (missing.size > 0) return { kind: "missing", units: [...missing] };
    const written = Array.from(writes, ([each, content]): Write => ({ unit: each, value: content }));
    return {
      kind: "completed",
      outcome,
      reads: [...reads],
      writes: outcome.kind === "abort" ? [] : written.toSorted(byUnit),
    };
  }

  // ── Locations ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin(): void {
    this.#left--;
    const random = this.#random;
    const module = this.#modules.has(NEW) && random.chance(0.4) ? NEW : OLD;
    const key = (): string => `k${random.between(1, this.#hasSlowIntents ? 40 : 6)}`;
    // Before a unique index is ready, items with the same field would stop it.
    const isReady = this.#state()?.phase === "ready";
    const field = `v${random.between(1, !this.#index.unique || isReady || random.chance(0.1) ? 5 : 500)}`;
    const value = random.chance(0.2) ? undefined : random.chance(0.2) ? null : field;
    const isCopy = random.chance(this.#index.unique && !isReady ? 0.02 : 0.3);
    const call: Call = { handler: isCopy ? "copy" : "put", key: key(), field: isCopy ? key() : value };
    const id = (++this.#names).toString(16).padStart(32, "f") as ExecutionId;
    const view = new Map<UnitId, Entry>();
    let ran = this.#handle(module, call, view);
    for (; ran.kind === "missing"; ran = this.#handle(module, call, view))
      for (const unit of ran.units) view.set(unit, this.#stored(unit));
    const isNear = ran.kind !== "completed" || random.chance(this.#hasSlowIntents ? 0.2 : 0.5);
    const units = ran.kind === "completed" ? accessesOf(ran.reads, ran.writes, view) : [];
    const request: LviRequest = {
      executionId: id,
      module,
      handler: call.handler,
      args: new TextEncoder().encode(JSON.stringify(call)),
      environment: { timeMs: this.#nowMs, seed: new Uint8Array(16), caller: null },
      location: LOCATION,
      units: isNear ? null : units,
      retained: false,
      mustNotWrite: false,
      mayEffect: false,
      lanes: [],
      session: null,
      deadlineMs: 60_000,
      attempt: 1,
      seen: this.#seen,
    };
    this.#send({ request, call, view });
  }

  #send(sent: Sent): void {
    const caller = ++this.#names;
    this.#sent.set(caller, sent);
    this.#step({ kind: "lvi-request", caller, request: sent.request });
  }

  #stored(unit: UnitId): Entry {
    const item = this.#storage.items.get(unit);
    return item === undefined ? entryOf(NO_COMMIT, null) : entryOf(item.commitId, item.value);
  }

  #replied(caller: number, reply: LviReply): void {
    const sent = this.#sent.get(caller);
    this.#sent.delete(caller);
    this.#seen = reply.asOf;
    if (sent === undefined) return;
    if (reply.kind !== "refused") this.answered++;
    const { request, call, view } = sent;
    const { executionId: id, attempt } = request;
    // An earlier server may have answered it.
    if (reply.kind === "refused" && reply.code === "in_doubt") {
      const again = { ...sent, request: { ...request, attempt: attempt + 1, seen: reply.asOf } };
      return this.#later(() => this.#send(again));
    }
    if (reply.kind !== "valid" || reply.commitId === null) return;
    const ran = this.#handle(request.module, call, view);
    if (ran.kind !== "completed") throw new Error("a location runs on what it has captured");
    const { commitId: commit } = reply;
    const followup = { executionId: id, commitId: commit, outcome: ran.outcome, writes: ran.writes, effects: [] };
    // Some followups are on their way while an index is built.
    const tasks = this.#random.chance(0.3) ? this.#slow : this.#tasks;
    if (this.#random.chance(0.6))
      this.#later(() => this.#step({ kind: "followup", caller: ++this.#names, followup }), tasks);
  }

  /** As a deployment does: durable first. */
  #register(): void {
    this.#modules.set(NEW, this.#nowMs);
    const indexes = this.#indexesOf(NEW);
    this.#later(() => this.#step({ kind: "module-registered", module: NEW, plans: PLANS, indexes }));
  }

  /** The build with the index was not asked for for long, and the other one was. */
  #forget(): void {
    this.#nowMs += 2 * RETENTION_MS;
    this.#modules.set(OLD, this.#nowMs);
    this.#left++;
    this.#begin();
    this.#step({ kind: "collect" });
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────

  #state(): IndexState | null {
    const states = rowsIn(this.#storage.items, { table: INDEX_STATES, from: null, to: null }, 1);
    return indexStates(states).get(this.#index.name) ?? null;
  }

  /** An entry exists exactly if its item has the fields. */
  #check(after: string): void {
    const state = this.#state();
    if (state === null || this.#problems.length > 0) return;
    if (state.phase !== "ready") return;
    const wanted = new Map<UnitId, UnitId>();
    for (const [unit, { value }] of this.#storage.items) {
      const { table, key } = splitUnit(unit);
      const entry = table === TABLE ? indexEntryOf(this.#index, key, value) : null;
      if (entry === null) continue;
      const at = unitId(this.#index.name, entry.key);
      if (wanted.has(at)) this.#problems.push(`${unit} has the same fields as ${wanted.get(at)} (after ${after})`);
      wanted.set(at, unit);
      const found = this.#storage.items.get(at);
      if (found === undefined) this.#problems.push(`${unit} lacks its entry (after ${after})`);
      else if (itemOfEntry(found.value) !== key)
        this.#problems.push(`the entry of ${unit} is that of another item (after ${after})`);
    }
    for (const unit of this.#storage.items.keys())
      if (splitUnit(unit).table === this.#index.name && !wanted.has(unit))
        this.#problems.push(`the entry ${JSON.stringify(unit)} is that of no item (after ${after})`);
  }

  /** All executions have ended, and the index is built, stopped or gone. */
  #isOver(): boolean {
    if (this.#core.load.executions > 0 || this.#left > 0) return false;
    const known = this.#core.indexes.find(({ name }) => name === this.#index.name);
    if (known === undefined) {
      for (const unit of this.#storage.items.keys())
        if (splitUnit(unit).table === this.#index.name) this.#problems.push(`a dropped index has left ${unit}`);
      return true;
    }
    if (known.phase === "stopped" && !this.#index.unique) this.#problems.push("an index without faults has stopped");
    return known.phase === "ready" || known.phase === "stopped";
  }
}

/** As a handler with f^rw says: it lacks values, or locks of what it writes. */
function within(access: RunAccess, result: RunResult): RunResult {
  if (access.kind !== "derive") return result;
  if (result.kind === "missing") return { kind: "needs", set: { reads: new Set(result.units), writes: new Set() } };
  if (result.kind !== "completed") return result;
  const writes = new Set(result.writes.map(({ unit }) => unit));
  const { writable } = access;
  if (writable === null || [...writes].every((unit) => writable.has(unit))) return result;
  return { kind: "needs", set: { reads: new Set(result.reads), writes } };
}

function recordOf(field: string | null): Uint8Array {
  const writer = new CborWriter().map(field === null ? 1 : 2);
  if (field !== null) writer.text("email").text(field);
  return writer.text("n").integer(1).finish();
}

function callIn(args: Uint8Array): Call {
  return JSON.parse(new TextDecoder().decode(args)) as Call;
}

function accessesOf(
  reads: readonly UnitId[],
  writes: readonly Write[],
  view: ReadonlyMap<UnitId, Entry>,
): readonly AccessedUnit[] {
  const written = new Set(writes.map(({ unit }) => unit));
  const all = [...new Set([...reads, ...written])].map((unit) => ({ unit })).toSorted(byUnit);
  return all.map(({ unit }): AccessedUnit => {
    const isRead = reads.includes(unit);
    const mode = written.has(unit) ? (isRead ? "read-write" : "write") : "read";
    return { unit, mode, version: isRead ? present(view.get(unit), "it was read").version : null };
  });
}

/** Nothing is enqueued here. */
const NO_TASKS: Readonly<Record<TaskAnswer["kind"], TaskAnswer>> = {
  due: { kind: "due", tasks: [], upTo: null },
  lane: { kind: "lane", tasks: [], upTo: null },
  heads: { kind: "heads", tasks: [], next: null },
  tasks: { kind: "tasks", tasks: [] },
  task: { kind: "task", task: null },
  count: { kind: "count", count: 0 },
};
