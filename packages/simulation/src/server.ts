/**
 * An LVI server in the simulation: the real core in the driver that ships, over virtual ports. Its clock is virtual, its storage is a
 * model that is slow, fails, loses answers, and survives the crashes of the server. It decides nothing but when it dies.
 */
import {
  type Answer,
  type CallHasher,
  Candidate,
  type CandidateEffect,
  type CandidateEvent,
  type CoreOptions,
  DEFAULT_CORE_OPTIONS,
  Driver,
  type Effect,
  type Event,
  execute,
  type Fact,
  type Run,
  type Halt,
  type HeldLeadership,
  LviCore,
  type NoteName,
  type Now,
  type Observer,
  itemsReadBy,
  type Recovered,
  type Ended,
  type EndedRun,
  executeTrain,
  type Follower,
  type RunResult,
  type Sample,
  type Sampling,
  type StoragePort,
} from "@radical/lvi-server/core";
import {
  contentHash,
  decodeLine,
  entryOf,
  isSpan,
  type ExecutionId,
  type LviRequest,
  type ModuleHash,
  type Repair,
  type RulesByTable,
  sameVersion,
  type SessionId,
  tableOf,
  type UnitId,
} from "@radical/protocol";
import type { Account } from "./checkers/lease-agreement.ts";
import { OvertakingChecker } from "./checkers/overtaking.ts";
import type { Clock } from "./clock.ts";
import { rateOf } from "./edge-location.ts";
import { describeEffect, describeEvent, shortId } from "./describe.ts";
import { type FaultCounts, SERVER_EFFECTS } from "./faults.ts";
import { type ModelStorage, rowsIn } from "./model-storage.ts";
import type { ToLocation, ToPrimary } from "./network.ts";
import { effortOf, MODULES, PLANS, primaryHost, RUN_LIMIT_MS } from "./programs.ts";
import type { Stream } from "./streams.ts";
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

/** Faults of a server by itself. They change when all is to become quiet. */
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
  /** The rules of tables that the application's module states; left out: none. */
  readonly tableRules?: RulesByTable;
  /** Nobody else knows the storage: the leadership needs no renewal. */
  readonly isAlone?: boolean;
  /** Whether its clock says the epochs that it takes, as in the product. The others count, which is easier to read. */
  readonly takesTimeAsEpoch: boolean;
  readonly termMs: number;
  /** How far the rate of its clock is from the true one at most. */
  readonly drift: number;
  readonly faults: ServerFaults;
  readonly counts: FaultCounts;
  readonly trace: Trace;
  readonly send: (message: ToLocation) => void;
  /** The time after which it ends the answer to those who listen. */
  readonly updatesMs: number;
  readonly note: (name: NoteName) => void;
  /** This server leads, has answered the request, and knows its session. */
  readonly met: (request: LviRequest) => void;
  /** An operator's: a sample that has come, in the instant in which it was taken. */
  readonly sampled: (sample: Sample) => void;
}

type StoredItems = ReturnType<ModelStorage["load"]>;

/** One life of a server process. */
interface Life {
  /** Null: it does not serve yet. */
  serving: { readonly core: LviCore; readonly driver: Driver; readonly epoch: number } | null;
  /** Executions that somebody waits for the answer of, by the number of the request. */
  readonly awaited: Map<number, ExecutionId>;
  /** Executions whose completion is on its way to storage, by operation. */
  readonly completing: Map<number, readonly ExecutionId[]>;
  readonly overtaking: OvertakingChecker;
  /** Requests and followups that it got and has not answered. */
  unanswered: number;
  /** The operation that has last tried to renew the leadership. */
  renewal: number | null;
  /** When the driver is to be woken. */
  wakeAtMs: number;
  readonly streams: Set<Stream>;
  isDraining: boolean;
}

/** Most that a writer waits for read leases, in their time: those of an earlier server are waited for by another clock. */
const LONGEST_WAIT = 1.1;
const ENDINGS: ReadonlyMap<string, `server ends before ${(typeof SERVER_EFFECTS)[number]}`> = new Map(
  SERVER_EFFECTS.map((kind) => [kind, `server ends before ${kind}`]),
);
/** Events after which an execution may have ended. */
const ENDS: ReadonlySet<Event["kind"]> = new Set(["completed", "storage-failed", "clock"]);

function isStopped({ kind }: RunResult): boolean {
  return kind === "killed" || kind === "crowded-out";
}

export class Server {
  readonly index: number;
  readonly problems: string[] = [];
  readonly #options: ServerOptions;
  readonly #rate: number;
  /** Null between a crash and the restart. */
  #life: Life | null = null;
  #requests = 0;
  /** The actions for the time when the process runs again; null: it runs. */
  #stopped: (() => void)[] | null = null;
  wallOffsetMs = 0;
  #inheritedUntilMs = -Infinity;
  #namedReadLeaseMs = 0;
  #setBackEpoch: number | undefined;
  /** By the monotonic clock: when it has last gone on, after a stop or with its leadership regained. */
  #idleUntilMs = -Infinity;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.index = options.index;
    const { clock, drift, counts } = options;
    this.#rate = drift === 0 ? 1 : 1 + drift * rateOf(clock.random);
    if (this.#rate !== 1) counts.add("clock of a server runs at another rate");
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get isStopped(): boolean {
    return this.#stopped !== null;
  }

  get isServing(): boolean {
    return (this.#life?.serving ?? null) !== null;
  }

  get isIdle(): boolean {
    return this.#life?.serving?.core.isIdle === true;
  }

  /** The account of a session; undefined: this server knows none. */
  session(id: SessionId): Account | undefined {
    return this.#life?.serving?.core.session(id);
  }

  /** Requests and followups that this life of the server got and has not answered. */
  get unanswered(): number {
    return this.#life?.unanswered ?? 0;
  }

  get #now(): Now {
    const { nowMs } = this.#options.clock;
    return { monotonicMs: nowMs * this.#rate, wallMs: nowMs + this.wallOffsetMs };
  }

  // ── Its lives ──────────────────────────────────────────────────────────────────────────────────────────────────────

  start(): void {
    const { termMs } = this.#options;
    this.#write(() => "starts");
    this.#life = {
      serving: null,
      awaited: new Map(),
      completing: new Map(),
      overtaking: new OvertakingChecker(),
      unanswered: 0,
      renewal: null,
      wakeAtMs: Infinity,
      streams: new Set(),
      isDraining: false,
    };
    const candidate = new Candidate(termMs);
    this.#stand(candidate, candidate.start());
  }

  /** Waits for the leadership. */
  #stand(candidate: Candidate, effect: CandidateEffect): void {
    const { storage, counts, isAlone, takesTimeAsEpoch } = this.#options;
    const next = (event: CandidateEvent): void => this.#stand(candidate, candidate.step(this.#now.monotonicMs, event));
    const failed = (): void => next({ kind: "failed" });
    switch (effect.kind) {
      case "read":
        return this.#ask(
          // Nobody else has the storage open: the leader before it is known to be dead. One that is set back is nobody's.
          () => {
            const { leadership } = storage;
            const isSetBack = leadership.epoch === leadership.setBackEpoch;
            return isAlone === true && !isSetBack ? { ...leadership, termMs: 0 } : leadership;
          },
          (leadership) => next({ kind: "read", leadership }),
          failed,
        );
      case "acquire":
        return this.#ask(
          () => {
            const wallMs = takesTimeAsEpoch ? this.#now.wallMs : 0;
            return storage.acquireLeadership(effect.seen, effect.termMs, effect.readLeaseMs, wallMs);
          },
          (leadership) => next({ kind: "acquired", leadership }),
          failed,
        );
      case "wait":
        return this.#after(effect.ms, () => next({ kind: "waited" }));
      case "elected": {
        const { epoch, readLeasesUntilMs, readLeaseMs, setBackEpoch } = effect.leadership;
        this.#setBackEpoch = setBackEpoch;
        this.#inheritedUntilMs = readLeasesUntilMs;
        this.#namedReadLeaseMs = readLeaseMs;
        if (readLeasesUntilMs > this.#now.monotonicMs) counts.add("read leases inherited");
        if (isAlone === true) return this.#serve(epoch, null);
        counts.add("server elected");
        return this.#serve(epoch, effect.leadership);
      }
    }
  }

  #serve(epoch: number, leadership: HeldLeadership | null): void {
    const { coreOptions, storage, clock, tableRules = {} } = this.#options;
    // As the server does, or as one whose load has failed.
    const recover = (): Pick<Recovered, "pending" | "items"> | null => {
      const pending = storage.recover(epoch);
      if (pending === null || clock.random.chance(0.5)) return pending === null ? null : { pending };
      const units = pending.flatMap(itemsReadBy);
      const items = storage.load(units);
      return { pending, items: new Map(units.map((unit) => [unit, items.get(unit) ?? null])) };
    };
    const begin = (found: Pick<Recovered, "pending" | "items"> | null): void => {
      // Another one leads already: the process ends, and is started again.
      if (found === null) return this.#end();
      const { pending } = found;
      this.#write(() => `serves with epoch ${epoch}; pending intents adopted: ${pending.length}`);
      const life = this.#life!;
      const modules = new Map(Array.from(storage.modules.keys(), (module) => [module, PLANS]));
      const recovered: Recovered = {
        epoch,
        ...found,
        leadership,
        readLeasesUntilMs: this.#inheritedUntilMs,
        namedReadLeaseMs: this.#namedReadLeaseMs,
        ...(this.#setBackEpoch === undefined ? {} : { setBackEpoch: this.#setBackEpoch }),
        modules,
        moduleUses: new Map(storage.modules),
        ...(Object.keys(tableRules).length === 0 ? {} : { current: { module: MODULES[0], rules: {}, tableRules } }),
      };
      const served = new LviCore({ ...DEFAULT_CORE_OPTIONS, ...coreOptions }, recovered, this.#now, HASHER);
      const driver = new Driver({
        core: {
          step: (now, event) => this.#observed(life, served, now, event),
          get wakeAtMs() {
            return served.wakeAtMs;
          },
          get isClear() {
            return served.isClear;
          },
          get namesTask() {
            return served.namesTask;
          },
        },
        epoch,
        ports: {
          now: () => this.#now,
          wakeAt: (atMs) => this.#wakeAt(life, atMs),
          // The process may be stopped, or end, before each of them.
          act: (act) => this.#inThisLife(act)(),
          storage: this.#storage(),
          execute: (run, _location, ended) => this.#run(run, ended),
          callService: noServices,
          observer: this.#observer(),
          halted: (halt) => this.#halted(halt),
        },
      });
      life.serving = { core: served, driver, epoch };
    };
    if (leadership === null) return begin(recover());
    this.#ask(recover, begin, () => this.#end());
  }

  #checkLine(text: string): void {
    const line = decodeLine(text, { decode: (value) => Buffer.from(value, "base64") });
    if (line === null) return void this.problems.push(`a location is told ${text}`);
    if (line.kind !== "session")
      this.#checkPrivate((line.kind === "hint" ? line.entries : line.units).map((told) => unitTold(told)));
    switch (line.kind) {
      case "hint":
        return this.#checkHint(line.entries);
      case "lease":
        for (const { unit, version } of line.units) {
          const { storage } = this.#options;
          const item = storage.items.get(unit);
          const known = item === undefined ? null : entryOf(item.commitId, item.value).version;
          const stored = isSpan(unit) ? storage.versionOf(unit) : known;
          if (stored === null ? version.hash !== null : !sameVersion(unit, stored, version))
            this.problems.push(`a location is leased ${unit} as of ${version.commitId}, which storage does not have`);
        }
        return;
      case "session":
      case "revoke":
      case "changed":
    }
  }

  /** Nothing of a private table leaves, but that something of it has changed. */
  #checkPrivate(units: readonly UnitId[]): void {
    const { tableRules = {} } = this.#options;
    for (const unit of units)
      if (tableRules[tableOf(unit)]?.isPrivate === true && !unit.endsWith("/~"))
        this.problems.push(`a location is told of ${unit}, which is private`);
  }

  /** A hint brings only what storage has applied, as it was written. */
  #checkHint(entries: readonly Repair[]): void {
    for (const { unit, entry } of entries) {
      // Storage may have applied more by now. Digests say whether the number was right.
      if (isSpan(unit)) continue;
      const { commitId } = entry.version;
      const applied = this.#options.storage.applied.findLast((each) => each.commitId === commitId);
      const write = applied?.writes.find((each) => each.unit === unit);
      if (write === undefined || entryOf(commitId, write.value).version.hash !== entry.version.hash)
        this.problems.push(`a location is told of ${unit} as of ${commitId}, which storage does not have`);
    }
  }

  /** The process ends by itself, and is started again. */
  #end(): void {
    this.kill(100);
  }

  /** Memory is lost; what was sent to storage may still arrive there. */
  kill(downMs: number): void {
    this.#write(() => "ends");
    const life = this.#life;
    this.#life = null;
    this.#stopped = null;
    // A process that is gone ends nothing in order; a machine that is gone is silent.
    for (const stream of life?.streams ?? []) {
      if (this.#options.clock.random.chance(0.7)) stream.end(false);
      else stream.halfOpen();
    }
    life?.serving?.driver.close();
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
      this.#idleUntilMs = this.#now.monotonicMs;
      const { storage, counts } = this.#options;
      if (this.isServing && storage.leadership.epoch !== this.#life?.serving?.epoch)
        counts.add("server goes on beside its successor");
      // Timers and answers that have come meanwhile are met in any order.
      for (const act of this.#options.clock.random.some(waiting, waiting.length)) act();
    });
  }

  /** `SIGTERM`: it refuses what is new, answers what is under way, gives the leadership up, and is started again some time later. */
  drain(limitMs: number, downMs: number): void {
    this.#whileServing(({ driver, epoch }, life) => {
      if (life.isDraining) return;
      life.isDraining = true;
      this.#options.counts.add("server drained");
      const release = (): void => {
        if (driver.ended !== null) return;
        driver.close();
        const over = (): void => this.kill(downMs);
        const isClear = this.#now.monotonicMs >= this.#inheritedUntilMs && life.serving?.core.isClear === true;
        if (!isClear) return over();
        this.#ask(() => this.#options.storage.renewLeadership(epoch, 0), over, over);
      };
      driver.tell({ kind: "drain" });
      this.#after(limitMs, release);
      driver.whenDrained(this.#inThisLife(release));
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

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  receive(from: number, message: ToPrimary): void {
    this.#whileServing(({ driver }, life) => {
      const { awaited } = life;
      const { coreOptions, storage, counts, send, met } = this.#options;
      // A server that has ended breaks the connection, and the asker hears of that.
      const failed = (): void => void life.unanswered--;
      const { sending } = message;
      if (message.kind === "followup") {
        const { followup } = message;
        const { executionId } = followup;
        life.unanswered++;
        const answered = (reply: ToLocation["reply"]): void => {
          life.unanswered--;
          send({ to: from, executionId, sending, reply });
        };
        return driver.followup(followup, { answered, failed });
      }
      if (message.kind === "heard") {
        life.unanswered++;
        const answered = (reply: ToLocation["reply"]): void => {
          life.unanswered--;
          send({ to: from, executionId: null, sending, reply });
        };
        // A server without leadership refuses it; one that has ended says nothing.
        const refused = (): void => {
          if (driver.ended === null) answered("not leading");
        };
        return driver.heard(message.heard, { answered, failed: refused });
      }
      const { request, signedAtMs } = message;
      const windowMs = coreOptions.replayWindowMs ?? DEFAULT_CORE_OPTIONS.replayWindowMs;
      if (Math.abs(signedAtMs - this.#now.wallMs) > windowMs) return;
      if (request.module === MODULES[0] && storage.modules.has(MODULES[1])) counts.add("module older than the newest");
      const { executionId } = request;
      const number = ++this.#requests;
      awaited.set(number, executionId);
      life.unanswered++;
      driver.request(request, {
        failed,
        answered: (reply) => {
          awaited.delete(number);
          life.unanswered--;
          if (request.session !== null && this.session(request.session.id) !== undefined) met(request);
          if (reply.kind === "executed") this.#checkPrivate(reply.repairs.map(({ unit }) => unit));
          if (request.units !== null && (reply.kind === "valid" || reply.kind === "executed"))
            this.#checkPrivate(request.units.map(({ unit }) => unit));
          if (reply.kind === "refused" && reply.code === "outside_tables") counts.add("set with a private table");
          if (reply.kind === "refused" && reply.code === "unknown_module")
            counts.add("module not known to the primary");
          send({ to: from, executionId, sending, reply });
        },
      });
    });
  }

  /** A location listens. */
  listen(stream: Stream): void {
    const life = this.#life;
    if (life === null) return stream.end(false);
    this.#inThisLife(() => {
      const driver = life.serving?.driver ?? null;
      if (driver === null || driver.ended !== null) {
        this.#options.counts.add("listener refused");
        return stream.end(false);
      }
      const { streams } = life;
      let isOpen = true;
      const end = (isOver: boolean): void => {
        if (!isOpen || this.#life !== life) return;
        isOpen = false;
        streams.delete(stream);
        stream.end(isOver);
      };
      const stop = driver.listen(stream.question, {
        tell: (line) => {
          this.#checkLine(line);
          return isOpen && stream.tell(line);
        },
        end: () => end(true),
      });
      if (stop === null) return end(false);
      streams.add(stream);
      stream.accepted(
        this.#inThisLife(() => {
          isOpen = false;
          streams.delete(stream);
          stop();
        }),
      );
      this.#after(this.#options.updatesMs, () => {
        end(true);
        stop();
      });
    })();
  }

  register(module: ModuleHash): void {
    this.#whileServing(({ driver }) => driver.tell({ kind: "module-registered", module, plans: PLANS }));
  }

  collect(): void {
    this.#whileServing(({ driver }) => driver.tell({ kind: "collect" }));
  }

  /** An operator asks for samples, for as long as this server lives. */
  sample(sampling: Sampling): void {
    this.#whileServing(({ driver }) => driver.tell({ kind: "sampling", samplings: [sampling] }));
  }

  #whileServing(act: (serving: NonNullable<Life["serving"]>, life: Life) => void): void {
    const life = this.#life;
    const serving = life?.serving ?? null;
    if (life !== null && serving !== null) this.#inThisLife(() => act(serving, life))();
  }

  /** A step of the core, as it is seen from outside: the process may end before each effect, or be stopped after it. */
  *#observed(life: Life, core: LviCore, now: Now, event: Event): Generator<Effect> {
    const { trace, clock, faults, counts, storage, termMs } = this.#options;
    trace.mix(event.kind.length * 31 + this.index);
    this.#write(() => describeEvent(event));
    const effects = core.step(now, event);
    core.assertWellFormed();
    this.problems.push(...life.overtaking.check(core.lockWaits));
    for (const effect of effects) {
      trace.mix(effect.kind.length);
      const ending = ENDINGS.get(effect.kind);
      if (ending !== undefined && faults.end > 0 && clock.random.chance(faults.end)) {
        counts.add(ending);
        return this.kill(clock.random.between(1, 300));
      }
      if (trace.lines !== null) trace.write(`    ${describeEffect(effect)}`);
      if (effect.kind === "complete") {
        const ids = effect.completions.map(({ completion }) => completion.executionId);
        life.completing.set(effect.operation, ids);
        for (const { completion } of effect.completions) storage.expect(completion);
      }
      if (effect.kind === "reply" || effect.kind === "complete") this.#countWaits(effect.after);
      if (effect.kind === "renew-leadership") life.renewal = effect.operation;
      if (effect.kind === "resume") {
        counts.add("leadership ran out and was regained");
        this.#idleUntilMs = this.#now.monotonicMs;
      }
      yield effect;
      // It may have halted.
      if (this.#life !== life) return;
      const isWrite = effect.kind === "store-intent" || effect.kind === "complete";
      if (faults.freeze > 0 && isWrite && this.#stopped === null && clock.random.chance(faults.freeze)) {
        counts.add("server stopped and continued");
        this.stop(clock.random.between(1, 2 * termMs));
      }
    }
    // Without leadership it does not act on what it hears.
    if (!core.isLeading) return;
    if (event.kind === "completed") life.completing.delete(event.operation);
    // A server that was stopped may hear first of a renewal that failed: then it has not looked at the clock yet.
    const isOfLeadership = event.kind === "storage-failed" && event.operation === life.renewal;
    if (ENDS.has(event.kind) && !isOfLeadership) this.#checkLocks(life, core);
  }

  /** No location holds a writer up for longer than a read lease lasts. */
  #checkWait(executionId: ExecutionId, waitedMs: number): void {
    const { readLeaseMs = DEFAULT_CORE_OPTIONS.readLeaseMs } = this.#options.coreOptions;
    const mostMs = LONGEST_WAIT * readLeaseMs;
    // A server that did nothing for a while has not looked whether the time was over.
    if (waitedMs > mostMs && this.#now.monotonicMs - waitedMs > this.#idleUntilMs)
      this.problems.push(`${shortId(executionId)} has waited ${waitedMs} ms for read leases of ${readLeaseMs} ms`);
  }

  #countWaits(after: readonly Fact[]): void {
    const { counts } = this.#options;
    for (const { kind } of after) {
      if (kind === "heard") counts.add("writer waited for a location to hear");
      if (kind === "passed") counts.add("writer waited for a lease to run out");
    }
  }

  /** A lock has a holder with somebody who waits for its answer, or with an intent that is not known to be done. */
  #checkLocks({ awaited, completing }: Life, core: LviCore): void {
    const { storage } = this.#options;
    for (const id of core.lockHolders) {
      if (storage.intents.get(id)?.state === "pending") continue;
      let isJustified = false;
      for (const executionId of awaited.values()) isJustified ||= executionId === id;
      for (const ids of completing.values()) isJustified ||= ids.includes(id);
      if (!isJustified) this.problems.push(`${shortId(id)} holds locks that nobody needs`);
    }
  }

  // ── Ports ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #wakeAt(life: Life, atMs: number): void {
    life.wakeAtMs = atMs;
    this.#after(Math.max(0, atMs - this.#now.monotonicMs), () => {
      if (life.wakeAtMs !== atMs) return;
      life.wakeAtMs = Infinity;
      life.serving?.driver.wake();
    });
  }

  #storage(): StoragePort {
    const { storage, counts } = this.#options;
    const ask = <T>(carryOut: () => T, { succeeded, failed }: Answer<T>): void =>
      this.#ask(carryOut, succeeded, (effect) => failed(effect, "simulated"));
    return {
      lookUp: (_epoch, id, answer) => ask(() => storage.lookUp(id), answer),
      load: (units, _mostBytes, answer) => {
        const early = storage.load(units);
        ask(() => this.#torn(units, early, storage.load(units)), answer);
      },
      scan: (range, limit, answer) => {
        const early = new Map(storage.items);
        ask(() => {
          const items = this.#torn([...new Set([...early.keys(), ...storage.items.keys()])], early, storage.items);
          return rowsIn(items, range, limit);
        }, answer);
      },
      storeIntent: (epoch, intent, answer) =>
        ask(() => {
          const before = storage.ghosts;
          const result = storage.storeIntent(epoch, intent);
          if (storage.ghosts > before) counts.add("intent arrived after a takeover");
          return result;
        }, answer),
      commit: (epoch, commit, answer) => ask(() => storage.commit(epoch, commit), answer),
      renewLeadership: (epoch, termMs, answer) => ask(() => storage.renewLeadership(epoch, termMs), answer),
      nameReadLeases: (epoch, readLeaseMs, answer) => ask(() => storage.nameReadLeases(epoch, readLeaseMs), answer),
      useModule: (module, usedAtMs, answer) => ask(() => storage.useModule(module, usedAtMs), answer),
      removeModule: (epoch, module, usedAtMs, answer) =>
        ask(() => storage.removeModule(epoch, module, usedAtMs), answer),
      // These histories have no tasks: `task-histories.ts` has.
      dueTasks: (after, limit, { succeeded }) => succeeded(storage.dueTasks(after, limit)),
      laneTasks: (lane, limit, { succeeded }) => succeeded(storage.laneTasks(lane, limit)),
      laneHeads: (after, limit, { succeeded }) => succeeded(storage.laneHeads(after, limit)),
      readTasks: (tasks, { succeeded }) => succeeded(storage.readTasks(tasks)),
      countTasks: ({ succeeded }) => succeeded(storage.countTasks()),
      openWorkflows: (after, limit, { succeeded }) => succeeded(storage.openWorkflows(after, limit)),
      partsOf: (workflow, { succeeded }) => succeeded(storage.partsOf(workflow)),
      findTask: (id, { succeeded }) => succeeded(storage.findTask(id)),
      collect: (due, answer) => ask(() => storage.collect(due), answer),
    };
  }

  #observer(): Observer {
    const { counts, note, sampled } = this.#options;
    return {
      replied: () => {},
      followed: () => {},
      noted: ({ name, executionId, waitedMs = 0 }) => {
        if (name === "cleared" && executionId !== undefined) this.#checkWait(executionId, waitedMs);
        note(name);
      },
      updated: () => {},
      sampled: (_, sample) => {
        if (sample === null) return counts.add("sample left out");
        if (sample.path === "activation") throw new Error("Workflows have histories of their own");
        counts.add(`sample of ${sample.path}`);
        sampled(sample);
      },
      collected: ({ intents, outcomes }) => {
        if (intents > 0) counts.add("done intents collected");
        if (outcomes > 0) counts.add("outcomes collected");
      },
      moduleRemoved: () => counts.add("module without use removed"),
      collectFailed: () => counts.add("collection failed"),
    };
  }

  #halted(halt: Halt): void {
    if (halt.kind === "broken") throw halt.error;
    if (this.#options.isAlone === true) throw new Error(`the only server halted: ${halt.reason}`);
    this.#end();
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

  #run(run: Run, ended: (ended: EndedRun) => void): void {
    // A module that an execution under way names must be there.
    if (!this.#options.storage.modules.has(run.invocation.module)) this.problems.push("a module that is named is gone");
    const { followers } = run;
    const { result, tookMs } = followers === undefined ? this.#resultOf(run, run.kills) : this.#train(run, followers);
    this.#after(tookMs, () => ended(result));
  }

  /** A train is cut anywhere. If a member is stopped from outside, the results of those before are lost, as with a thread. */
  #train(head: Run, others: readonly Follower[]): { readonly result: EndedRun; readonly tookMs: number } {
    const { clock, counts } = this.#options;
    const most = clock.random.chance(0.2) ? clock.random.between(1, others.length + 1) : others.length + 1;
    const ended: Ended[] = [];
    let tookMs = 0;
    for (const completed of executeTrain(primaryHost, [head, ...others])) {
      const one = this.#endedOf([head, ...others][ended.length] ?? head, 0, completed);
      tookMs += one.tookMs;
      if (isStopped(one.result)) {
        counts.add("member of a train stopped");
        const lost = ended.map((): Ended => ({ result: { kind: "not-run" }, tookMs: 0 }));
        ended.splice(0, ended.length, ...lost, one);
        break;
      }
      ended.push(one);
      if (ended.length >= most && most <= others.length) {
        counts.add("train cut");
        break;
      }
    }
    const [first, ...followers] = ended;
    if (first === undefined) throw new Error("a train has a head");
    return { result: { ...first, followers }, tookMs };
  }

  #endedOf({ invocation, access }: Follower, kills: number, completed: RunResult): Ended {
    const result = this.#disturbedRun() ?? completed;
    const shortMs = this.#options.clock.random.between(0, 20);
    const neededMs = effortOf(invocation.handler, invocation.args).tookMs;
    if (neededMs === null || result.kind !== "completed") return { result, tookMs: shortMs };
    const limitMs = access.kind === "declared" ? RUN_LIMIT_MS * 2 ** kills : RUN_LIMIT_MS;
    if (neededMs <= limitMs) return { result, tookMs: neededMs };
    this.#options.counts.add(
      access.kind === "declared" ? "re-execution over its time" : "run near storage over its time",
    );
    return { result: { kind: "killed", reason: "too long" }, tookMs: limitMs };
  }

  #resultOf(run: Run, kills: number): { readonly result: EndedRun; readonly tookMs: number } {
    const result = this.#endedOf(run, kills, execute(primaryHost, run));
    return { result, tookMs: result.tookMs };
  }

  #disturbedRun(): RunResult | null {
    const { clock, faults, counts } = this.#options;
    if (faults.kill === 0 || !clock.random.chance(faults.kill)) return null;
    const isCrowdedOut = clock.random.chance(0.3);
    counts.add(isCrowdedOut ? "handler crowded out near storage" : "handler killed near storage");
    return isCrowdedOut ? { kind: "crowded-out" } : { kind: "killed", reason: "simulated" };
  }

  /** A storage operation takes effect some time after it was sent, if it does, and is answered some time later. */
  #ask<T>(carryOut: () => T, succeed: (value: T) => void, fail: (effect: "none" | "unknown") => void): void {
    const {
      clock,
      counts,
      storage: model,
      faults: { storage },
    } = this.#options;
    const { random } = clock;
    const { history } = model;
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
      // It reaches the storage that is gone.
      if (model.history !== history) return;
      value = carryOut();
      clock.after(random.between(0, storage.maxDelayMs) + late(), answer);
    });
  }

  #write(text: () => string): void {
    const { trace } = this.#options;
    if (trace.lines !== null) trace.write(`server ${this.index} ${text()}`);
  }
}

/** Services have histories of their own: `service-histories.ts`. */
export function noServices(): never {
  throw new Error("the modules of these histories have no services");
}

function unitTold(told: UnitId | { readonly unit: UnitId }): UnitId {
  return typeof told === "string" ? told : told.unit;
}
