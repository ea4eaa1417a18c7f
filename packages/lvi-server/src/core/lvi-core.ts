/**
 * The LVI server as a state machine (paper, section 3.2, Figure 3, steps 4 to 10): `step(event) → effects`, synchronous
 * and pure. The life of an execution reads from top to bottom:
 *
 *   request ─┬─ read-only ── validate ──────────────────────────────────────────── reply `valid`
 *            │                  └ stale ┐
 *            ├─ writes ── lock ── validate ── store intent ── reply `valid` ── followup ─┐
 *            │                  └ stale ┐                         └ lost ── re-execute ──┤
 *            └─ no set ────────── near storage ── capture ── run ── confirm ────────────── complete ── release
 *
 * An execution is *told* when its success may have left the server and its writes are not in storage yet: from then on
 * nobody may see the values it replaces.
 */
import {
  type AccessedUnit,
  byUnit,
  type CommitId,
  commitId,
  compareCommits,
  type Entry,
  entryOf,
  ERROR_KINDS,
  type ExecutedCause,
  type ExecutionId,
  type Followup,
  type FollowupResult,
  type LviAnswer,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  type RefusalCode,
  type Repair,
  type SamplePath,
  type SetLeft,
  sameVersion,
  type UnitId,
  type Version,
  type Write,
} from "@radical/protocol";
import { adoptionOrder } from "./adoption.ts";
import { AnsweredRequests } from "./answered-requests.ts";
import { Budgets } from "./budgets.ts";
import { bytesOfCall, type CallHasher, callOf, hashOfResult, isHashedCall, isSameCall } from "./call-hash.ts";
import type { CoreOptions } from "./core-options.ts";
import { Deadlines } from "./deadlines.ts";
import type {
  CallerId,
  CompleteResult,
  Effect,
  Event,
  Load,
  ModuleLoad,
  Note,
  NoteName,
  OperationId,
  ReExecutionCause,
  RunId,
  StoreResult,
} from "./events.ts";
import type { ExecutionResult, TaskAccess } from "./execution-task.ts";
import { adopted, type Caller, type Execution, requested, type Step, usageOf } from "./execution.ts";
import { FinishedExecutions } from "./finished-executions.ts";
import {
  type Completion,
  completionHash,
  type DoneIntent,
  doneIntentOf,
  type Intent,
  type IntentRecord,
  type OutcomeKept,
  readsOf,
} from "./intent.ts";
import { Leader } from "./leader.ts";
import type { HeldLeadership } from "./leadership.ts";
import { accessesOf, declaredLocks, GATE, GATE_SHARED } from "./lock-requests.ts";
import { type Access, type LockMode, LockTable } from "./lock-table.ts";
import { ModuleTable, type ModuleUse, type Plans } from "./module-table.ts";
import { repairsOf } from "./repairs.ts";
import { type Ground, type Sampled, Sampler } from "./sampling.ts";
import { type StoredItem, VersionTable } from "./version-table.ts";

/** What a starting server found in storage. */
export interface Recovered {
  /** One more than the last server's; durable. */
  readonly epoch: number;
  readonly pending: readonly Intent[];
  /** What units hold that those have read, null: nothing. Whatever is left out is loaded when it is wanted. */
  readonly items?: ReadonlyMap<UnitId, StoredItem | null>;
  /** Null: nobody else knows the storage. */
  readonly leadership: HeldLeadership | null;
  readonly modules: ReadonlyMap<ModuleHash, Plans>;
  /** When each module was last used, by the wall clock; of those left out it is not known. */
  readonly moduleUses?: ReadonlyMap<ModuleHash, number>;
}

export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

type Operation =
  | { readonly kind: "look-up"; readonly execution: Execution }
  | { readonly kind: "load"; readonly execution: Execution; readonly next: Step | "replay" }
  /** `doubtful`: an earlier attempt may have been carried out, so that a later failure proves nothing. */
  | { readonly kind: "store"; readonly execution: Execution; readonly intent: Intent; doubtful: boolean }
  | {
      readonly kind: "complete";
      readonly execution: Execution;
      readonly effect: Effect & { kind: "complete" };
      doubtful: boolean;
    };

type Due =
  | { readonly kind: "give-up"; readonly execution: Execution }
  | { readonly kind: "followup"; readonly execution: Execution }
  | { readonly kind: "replay"; readonly execution: Execution }
  | { readonly kind: "run-again"; readonly execution: Execution }
  | { readonly kind: "retry"; readonly operation: OperationId; readonly effect: Effect };

export class LviCore {
  readonly #options: CoreOptions;
  readonly #hasher: CallHasher;
  readonly #epoch: number;
  #sequence = 0;
  /** The latest commit id as text: it is asked for more often than it changes. */
  #named = { sequence: Number.NaN, id: NO_COMMIT };
  readonly #modules: ModuleTable;
  readonly #executions = new Map<ExecutionId, Execution>();
  readonly #finished: FinishedExecutions;
  readonly #answered: AnsweredRequests;
  /** The first commit id of this server: who has seen it has heard of this server. */
  readonly #since: CommitId;
  readonly #locks = new LockTable<Execution>();
  readonly #budgets: Budgets;
  readonly #versions: VersionTable;
  readonly #operations = new Map<OperationId, Operation>();
  readonly #runs = new Map<RunId, { readonly execution: Execution; readonly replay: boolean }>();
  readonly #deadlines = new Deadlines<Due>((due) => "execution" in due && due.execution.phase.kind === "ended");
  /** Executions whose wait ended in this step. */
  readonly #ready: Execution[] = [];
  /** Executions that nobody is ahead of since this step. */
  readonly #due: Execution[] = [];
  /** Told executions whose followup did not come, in line; and those of them that are being re-executed. */
  readonly #lost = new Set<Execution>();
  readonly #replaced = new Set<Execution>();
  #effects: Effect[] = [];
  /** Monotonic, for all that is due; and by the wall clock, for what others compare with theirs. */
  #nowMs: number;
  #wallMs: number;
  #names = 0;
  /** The order in which executions are given locks is that in which they have come. */
  #tickets = 0;
  readonly #leader: Leader;
  #draining = false;
  #halted = false;
  readonly #sampler: Sampler;

  constructor(options: CoreOptions, recovered: Recovered, { monotonicMs, wallMs }: Now, hasher: CallHasher) {
    this.#options = options;
    this.#hasher = hasher;
    this.#epoch = recovered.epoch;
    this.#nowMs = monotonicMs;
    this.#wallMs = wallMs;
    const led = {
      nextOperation: () => ++this.#names,
      emit: (effect: Effect) => void this.#effects.push(effect),
      refuse: (event: Event) => this.#refuseWithoutLeadership(event),
      replaced: () => this.#halt(TAKEN_OVER),
    };
    this.#leader = new Leader(led, recovered.leadership, options.retryMs, monotonicMs);
    this.#modules = new ModuleTable(recovered.modules, recovered.moduleUses ?? new Map(), wallMs);
    this.#versions = new VersionTable(options.hotBytes, options.hashSeed);
    for (const [unit, item] of recovered.items ?? []) this.#versions.found(unit, item);
    this.#sampler = new Sampler(this.#versions);
    this.#budgets = new Budgets(options.location);
    this.#finished = new FinishedExecutions(options.finishedBytes, options.forgottenIds, wallMs);
    this.#since = this.#latest;
    const { answeredIds: maxIds, replayWindowMs } = options;
    this.#answered = new AnsweredRequests({ maxIds, replayWindowMs }, this.#since, wallMs);
    const installed = new Map<CommitId, Execution>();
    // variant: intents-adopted
    for (const { intent, first } of adoptionOrder(recovered.pending)) this.#adopt(intent, first, installed);
  }

  hasModule(module: ModuleHash): boolean {
    return this.#modules.plansOf(module) !== undefined;
  }

  /** The modules that can be run here. */
  get modules(): readonly ModuleUse[] {
    return this.#modules.uses;
  }

  /** Handlers whose runs have left their read/write set here. */
  get setsLeft(): readonly SetLeft[] {
    return this.#modules.setsLeft;
  }

  /** What is under way, by module. */
  get moduleLoads(): ReadonlyMap<ModuleHash, ModuleLoad> {
    const loads = new Map<ModuleHash, ModuleLoad>();
    for (const { invocation, intent } of this.#executions.values()) {
      const { executions, pending } = loads.get(invocation.module) ?? { executions: 0, pending: 0 };
      loads.set(invocation.module, { executions: executions + 1, pending: pending + (intent === null ? 0 : 1) });
    }
    return loads;
  }

  /** When to send the event `clock`, monotonic; null: not until something else happens. */
  get wakeAtMs(): number | null {
    const { isLeading, wakeAtMs } = this.#leader;
    const atMs = isLeading ? Math.min(this.#deadlines.nextMs ?? Infinity, wakeAtMs) : wakeAtMs;
    return this.#halted || atMs === Infinity ? null : atMs;
  }

  /** Goes through all that is under way. */
  get load(): Load {
    let [pending, overdue, waiting] = [0, 0, 0];
    for (const { intent, phase, told, kills } of this.#executions.values()) {
      if (intent !== null) pending++;
      if (told && kills > 0) overdue++;
      if (phase.kind === "waiting" || phase.kind === "watching") waiting++;
    }
    return {
      executions: this.#executions.size,
      pending,
      overdue,
      waiting,
      running: this.#runs.size,
      lockedUnits: this.#locks.size,
      hotUnits: this.#versions.size,
      hotBytes: this.#versions.bytes,
      finished: this.#finished.size,
      answered: this.#answered.size,
    };
  }

  /** The executions that hold locks. */
  get lockHolders(): readonly ExecutionId[] {
    const ids: ExecutionId[] = [];
    for (const { id } of this.#locks.owners()) ids.push(id);
    return ids;
  }

  /** Nothing is under way, locked or waited for. */
  get isIdle(): boolean {
    return this.#executions.size === 0 && this.#locks.isEmpty && this.#operations.size === 0 && this.isLeading;
  }

  /** False: another server may lead, and this one does nothing. */
  get isLeading(): boolean {
    return this.#leader.isLeading;
  }

  step({ monotonicMs, wallMs }: Now, event: Event): readonly Effect[] {
    this.#nowMs = monotonicMs;
    this.#wallMs = wallMs;
    this.#effects = [];
    if (this.#leader.admits(monotonicMs, event)) this.#act(event);
    return this.#effects;
  }

  #act(event: Event): void {
    this.#handle(event);
    while (this.#ready.length > 0 || this.#due.length > 0 || this.#replaces) {
      for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) this.#goOn(next);
      const next = this.#ready.shift();
      const phase = next?.phase;
      if (next !== undefined && (phase?.kind === "waiting" || phase?.kind === "watching")) {
        this.#note("waited", next, { waitedMs: this.#nowMs - phase.sinceMs });
        this.#proceed(next, phase.next);
      }
      if (this.#replaces) this.#replaceNext();
    }
    this.#versions.evict();
  }

  #handle(event: Event): void {
    switch (event.kind) {
      case "lvi-request":
        return this.#request(event.caller, event.request);
      case "followup":
        return this.#followup(event.caller, event.followup);
      case "module-registered":
        this.#modules.register(event.module, event.plans, this.#wallMs);
        return;
      case "looked-up":
        return this.#lookedUp(event.operation, event.record);
      case "loaded":
        return this.#loaded(event.operation, event.items);
      case "too-much-to-load":
        return this.#tooMuchToLoad(event.operation);
      case "intent-stored":
        return this.#intentStored(event.operation, event.result);
      case "completed":
        return this.#completed(event.operation, event.result);
      case "leadership-renewed":
        throw new Error("The answer to a renewal of the leadership names no renewal that is under way");
      case "storage-failed":
        return this.#storageFailed(event.operation, event.effect, event.reason);
      case "executed":
        return this.#executed(event.run, event.result, event.tookMs);
      case "clock":
        return this.#clock();
      case "collect":
        return this.#collect();
      case "sampling":
        this.#sampler.begin(event.sampling);
        return;
      case "drain":
        this.#draining = true;
    }
  }

  /** What is kept for a time goes when it is over: done intents, their outcomes, and modules that nobody asks for. */
  #collect(): void {
    const { retentionMs, outcomeRetentionMs, moduleRetentionMs, collectBatch: limit } = this.#options;
    // variant: done-kept-for
    const doneBeforeMs = this.#wallMs - retentionMs;
    const toldBeforeMs = this.#wallMs - outcomeRetentionMs;
    this.#finished.collect(doneBeforeMs, toldBeforeMs, this.#wallMs);
    const used = this.#modules.takeUsed();
    // variant: modules-unused
    const unused = this.#modules.takeUnused(moduleRetentionMs, () => this.#namedModules());
    this.#effects.push({ kind: "collect", doneBeforeMs, toldBeforeMs, limit, used, unused });
  }

  /** Pending intents are among the executions, and so is whatever runs. */
  #namedModules(): ReadonlySet<ModuleHash> {
    return new Set([...this.#executions.values()].map(({ invocation }) => invocation.module));
  }

  // ── The request ────────────────────────────────────────────────────────────────────────────────────────────────

  #request(id: CallerId, request: LviRequest): void {
    const { executionId, module, handler, units, location } = request;
    const waitMs = Math.min(request.deadlineMs, this.#options.maxWaitMs);
    const caller: Caller = { id, request, receivedAtMs: this.#wallMs, deadlineMs: this.#nowMs + waitMs };
    const refuse = (code: RefusalCode, message: string, retryAfterMs: number | null): void => {
      this.#remember(request);
      this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, null);
    };

    if (this.#halted) return refuse("draining", TAKEN_OVER, 1_000);
    this.#modules.use(module, this.#wallMs);
    const known = this.#executions.get(executionId);
    if (known !== undefined) {
      if (!isSameCall(callOf(known.invocation), callOf(request))) return refuse("idempotency_key_reused", REUSED, null);
      return this.#join(known, caller);
    }
    const done = this.#finished.get(executionId);
    if (done !== undefined) return this.#replyStored(caller, done, null);
    const seen = this.#answered.look(request, this.#latest, this.#wallMs);
    if (seen !== "new") return refuse("in_doubt", seen === "answered" ? ANSWERED : IN_DOUBT, 0);

    if (this.#draining) return refuse("draining", "the server is shutting down", 1_000);
    const plans = this.#modules.plansOf(module);
    if (plans === undefined) return refuse("unknown_module", `module ${module} is not registered`, 1_000);
    const plan = plans.get(handler);
    if (plan === undefined) return refuse("unknown_handler", `module ${module} has no handler ${handler}`, null);
    if (Math.abs(request.environment.timeMs - this.#wallMs) > this.#options.maxClockSkewMs) {
      return refuse(
        "clock_skew",
        `the location's time ${request.environment.timeMs} is too far from the server's`,
        null,
      );
    }
    if (units !== null && units.length > this.#options.maxUnits) {
      return refuse("too_many_units", `${units.length} units; at most ${this.#options.maxUnits}`, null);
    }
    if (request.mustNotWrite && units?.some(({ mode }) => mode !== "read") === true) {
      const message = wroteOnGet(handler, "its read/write set has units that it writes");
      this.#note("wrote_on_get_alarm", { id: executionId, invocation: request }, { handler, detail: message });
      return refuse("wrote_on_get", message, null);
    }
    if (this.#executions.size >= this.#options.maxExecutions) {
      return refuse("busy", `${this.#executions.size} executions are under way`, 1_000);
    }

    const usage = usageOf(request.args, units ?? []);
    const excess = this.#budgets.excess(location, usage);
    if (excess !== null) return refuse("over_budget", excess.words, excess.retryAfterMs);

    const isNew = !this.#finished.isForgotten(executionId, this.#isOurs(request), this.#wallMs);
    if (isNew && this.#modules.runsAtLocations(module, plan) && this.#validatesAtOnce(request)) {
      this.#note("valid", { id: executionId, invocation: request });
      this.#remember(request);
      if (this.#sampler.isOn && units !== null)
        this.#sampleValid({ id: executionId, location, invocation: request }, units);
      return this.#replyValid(caller, null, null);
    }

    const execution = requested(caller, usage, ++this.#tickets);
    this.#executions.set(executionId, execution);
    this.#budgets.begin(location, usage, this.#nowMs);
    this.#deadlines.add(caller.deadlineMs, { kind: "give-up", execution });
    if (isNew) return this.#begin(execution);
    // The conditional insert of an intent would find out too, but a repeat may find nothing to write any more.
    const operation = ++this.#names;
    execution.phase = { kind: "looking-up" };
    this.#operations.set(operation, { kind: "look-up", execution });
    this.#effects.push({ kind: "look-up", operation, executionId });
  }

  #remember(request: LviRequest): void {
    this.#answered.add(request, () => commitId(this.#epoch, ++this.#sequence), this.#wallMs);
  }

  /** Whether no earlier server can have met the execution: its first sending left after this one had started. */
  #isOurs({ attempt, retained, seen }: LviRequest): boolean {
    if (attempt !== 1 || retained || seen === null) return false;
    return compareCommits(seen, this.#since) >= 0 && compareCommits(seen, this.#latest) <= 0;
  }

  #lookedUp(operation: OperationId, record: IntentRecord | null): void {
    const { execution } = this.#takeOperation(operation, "look-up");
    if (record === null) this.#begin(execution);
    else this.#taken(execution, record);
  }

  #begin(execution: Execution): void {
    const { declared: units, retained, invocation } = execution;
    const { module, handler } = invocation;
    if (units === null || !this.#modules.runsAtLocations(module, this.#modules.planOf(module, handler))) {
      return this.#runNearStorage(execution, "requested");
    }
    // Departure from the paper (section 3.6), where readers hold read locks to the end of the execution: a read-only
    // execution takes its place in the order in the one step that validates it, and holds nothing afterwards.
    if (units.every(({ mode }) => mode === "read") && !retained) return this.#validate(execution);
    if (this.#lockBehind(execution, declaredLocks(units))) {
      this.#note("queued_behind", execution);
      return this.#validate(execution);
    }
    this.#lock(execution, declaredLocks(units), "validate");
  }

  /** The same execution again: it waits for the outcome of the first. */
  #join(execution: Execution, caller: Caller): void {
    execution.clientMayAsk ||= caller.request.retained;
    if (execution.callers.length >= this.#options.maxCallers) return this.#replyPending(caller);
    this.#note("joined", execution);
    execution.callers.push(caller);
    this.#deadlines.add(caller.deadlineMs, { kind: "give-up", execution });
    // The location may have lost our reply or given its speculation up: no followup may ever come.
    this.#replay(execution, "asked_again");
  }

  // ── Validation ─────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Whether the request is valid and over in this step: it only reads, nobody who was told is to write what it reads, and
   * all versions are in memory and the same. Most requests are of this kind, and nothing is kept of them as an execution.
   */
  #validatesAtOnce({ units, retained }: LviRequest): boolean {
    if (units === null || retained) return false;
    for (const accessed of units) {
      if (accessed.mode !== "read" || accessed.version === null) return false;
      if (this.#locks.isLocked(accessed.unit) && this.#toldHolder(null, accessed.unit) !== undefined) return false;
      if (!this.#versions.isCurrent(accessed.unit, accessed.version)) return false;
    }
    return true;
  }

  /** Compares versions: under locks if the execution writes, else in this one step. */
  #validate(execution: Execution): void {
    // Blind writes are locked and need no version.
    const declared = execution.declared!.filter((accessed) => accessed.mode !== "write");
    const foreign = declared.filter(({ unit, version }) => !this.#isOwnWrite(execution, unit, version));
    const units = foreign.map(({ unit }) => unit);
    if (!this.#settled(execution, units, "validate")) return;
    if (!this.#hot(execution, units, "validate")) return;

    if (foreign.length < declared.length) this.#note("own_write", execution);
    const stale = foreign.filter(({ unit, version }) => version === null || !this.#versions.isCurrent(unit, version));
    if (stale.length > 0) {
      for (const { unit, version } of stale) this.#checkLostWrite(execution, unit, version);
      this.#note("stale", execution, { units: stale.map(({ unit }) => unit) });
      // Near storage it may write at any time, so it must not hold what somebody ahead still reads.
      if (execution.ahead.size > 0) {
        this.#leaveQueue(execution);
        this.#unlock(execution);
      }
      return this.#runNearStorage(execution, "stale");
    }
    // variant: intent-needed
    if (execution.retained || execution.declared!.some(({ mode }) => mode !== "read"))
      return this.#storeIntent(execution);

    this.#note("valid", execution);
    if (this.#sampler.isOn) this.#sampleValid(execution, execution.declared!);
    const [speculator, ...others] = execution.callers;
    this.#endWithoutTrace(execution, [speculator!]);
    this.#replyValid(speculator!, null, null);
    // No trace is left of it, so whoever joined starts anew.
    for (const { id, request } of others) this.#request(id, request);
  }

  /** A version that is newer than the primary's, with no pending intent behind it, is that of a write that was lost. */
  #checkLostWrite(execution: Execution, unit: UnitId, version: Version | null): void {
    const current = this.#versions.get(unit)!.version;
    if (version === null || version.hash === null || current.hash === null) return;
    if (compareCommits(version.commitId, current.commitId) <= 0) return;
    const detail = `${unit}: ${version.commitId} after ${current.commitId}`;
    this.#note("lost_write_alarm", execution, { detail });
  }

  /**
   * Whether no unit is held by a told execution; else waits until those are applied. A writer that was not told yet may
   * be passed: nobody can have seen it. Readers that were overtaken several times queue for locks like writers.
   */
  #settled(execution: Execution, units: readonly UnitId[], next: Step): boolean {
    const told = units.filter((unit) => this.#toldHolder(execution, unit) !== undefined);
    if (told.length === 0) return true;
    if (++execution.watches > this.#options.maxRounds && this.#locks.heldBy(execution).size === 0) {
      this.#lock(execution, accessesOf(new Map(units.map((unit) => [unit, "shared"]))), next);
      return false;
    }
    this.#watch(execution, told, next);
    for (const unit of told) this.#replay(this.#toldHolder(execution, unit)!, "contention");
    return false;
  }

  /** The last told execution that is to write the unit. */
  #toldHolder(execution: Execution | null, unit: UnitId): Execution | undefined {
    // variant: told-holder
    return this.#locks.exclusiveHolders(unit).findLast((holder) => holder !== execution && holder.told);
  }

  /**
   * Whether the location that ran an intent's handler sends, as the version of a unit, the commit id of that intent: it
   * holds exactly what will be applied, and no other location has the commit id before that. So it reads its own write at
   * once, and its place in the order is behind that intent.
   */
  #isOwnWrite(execution: Execution, unit: UnitId, version: Version | null): boolean {
    const writer = this.#toldHolder(execution, unit);
    // variant: own-write-version
    if (version === null || writer === undefined || writer.intent?.commitId !== version.commitId) return false;
    // variant: own-write-location
    if (writer.location !== execution.location) return false;
    if (writer.phase.kind !== "completing") return writer.phase.kind === "pending";
    const { completion } = writer.phase;
    const write = completion.writes.find((candidate) => candidate.unit === unit);
    // variant: own-write-content
    return write !== undefined && sameVersion(version, entryOf(completion.commitId, write.value).version);
  }

  /** Whether the version table holds the units; else loads those it lacks. */
  #hot(execution: Execution, units: readonly UnitId[], next: Step): boolean {
    const missing = this.#versions.missing(units);
    if (missing.length === 0) return true;
    // If others are evicted while some are loaded, all together will be there in one step.
    const wanted = ++execution.loads > 3 ? units : missing;
    const unsettled = wanted.filter((unit) => this.#versions.isUnsettled(unit));
    if (unsettled.length > 0) this.#watch(execution, unsettled, next);
    else {
      execution.phase = { kind: "loading", next };
      this.#load(execution, wanted, next);
    }
    return false;
  }

  #load(execution: Execution, units: readonly UnitId[], next: Step | "replay"): void {
    const operation = ++this.#names;
    this.#operations.set(operation, { kind: "load", execution, next });
    this.#versions.loadStarted(operation, units);
    // What an intent reads was validated, and must be had again.
    const mostBytes = next === "replay" ? Number.POSITIVE_INFINITY : this.#options.maxReadBytes;
    this.#effects.push({ kind: "load", operation, units, mostBytes });
  }

  #loaded(operation: OperationId, items: Parameters<VersionTable["loadEnded"]>[1]): void {
    this.#versions.loadEnded(operation, items);
    const load = this.#takeOperation(operation, "load");
    if (load.next === "replay") this.#replayLoaded(load.execution);
    else if (load.execution.phase.kind === "loading") this.#proceed(load.execution, load.next);
  }

  #tooMuchToLoad(operation: OperationId): void {
    this.#versions.loadFailed(operation);
    const { execution } = this.#takeOperation(operation, "load");
    if (execution.phase.kind === "loading") this.#failForBytes(execution);
  }

  #failForBytes(execution: Execution): void {
    const { near } = execution;
    if (near !== null && near.recording && near.guessing) return this.#captureStrictly(execution);
    const { maxReadBytes } = this.#options;
    this.#fail(execution, "too_many_units", `the handler reads more than ${maxReadBytes} bytes of values`);
  }

  // ── The write intent and its followup ──────────────────────────────────────────────────────────────────────────

  #storeIntent(execution: Execution): void {
    const intent: Intent = {
      ...execution.invocation,
      executionId: execution.id,
      commitId: this.#takeCommitId(execution),
      location: execution.location,
      units: execution
        .declared!.map((accessed) => ({
          unit: accessed.unit,
          mode: accessed.mode,
          version: accessed.mode === "write" ? null : accessed.version,
        }))
        .toSorted(byUnit),
      retained: execution.retained,
      mustNotWrite: execution.mustNotWrite,
      createdAtMs: this.#wallMs,
    };
    const operation = ++this.#names;
    execution.phase = { kind: "storing" };
    this.#operations.set(operation, { kind: "store", execution, intent, doubtful: false });
    // variant: intent-stored-first
    this.#effects.push({ kind: "store-intent", operation, intent });
  }

  #intentStored(operation: OperationId, result: StoreResult): void {
    const { execution, intent } = this.#takeOperation(operation, "store");
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    if (result.kind === "exists") {
      const { record } = result;
      // A storage answer may have been lost: then the intent that exists is this one.
      if (record.state === "done" || record.intent.commitId !== intent.commitId) return this.#taken(execution, record);
    }
    this.#note("valid", execution);
    execution.intent = intent;
    execution.told = true;
    execution.phase = { kind: "pending" };
    this.#deadlines.add(this.#nowMs + this.#options.followupTimeoutMs, { kind: "followup", execution });
    const speculator = execution.callers.find(({ id }) => id === execution.speculator)!;
    execution.callers = execution.callers.filter((caller) => caller !== speculator);
    // variant: valid-after-intent
    this.#replyValid(speculator, intent.commitId, operation);
    // variant: joined-while-stored
    if (execution.callers.length > 0) this.#replay(execution, "asked_again");
    else if (this.#locks.isContended(execution)) this.#replay(execution, "contention");
  }

  /** The execution id belongs to an execution that memory has forgotten: the stored record decides. */
  #taken(execution: Execution, record: IntentRecord | null): void {
    const { callers } = execution;
    this.#end(execution);
    if (record?.state === "done") {
      this.#finished.add(record.done);
      for (const caller of callers) this.#replyStored(caller, record.done, null);
      return;
    }
    this.#note("intent_alarm", execution, {
      detail: "the execution id has a pending intent that this server has not adopted",
    });
    for (const caller of callers) this.#replyPending(caller);
  }

  #followup(caller: CallerId, followup: Followup): void {
    const answer = (result: FollowupResult, note: NoteName): void => {
      this.#effects.push({ kind: "followup-reply", caller, result, after: null });
      this.#note(note, { id: followup.executionId });
    };
    if (this.#halted) return answer("unknown_intent", "followup_unknown");
    const execution = this.#executions.get(followup.executionId);
    const done = this.#finished.get(followup.executionId);
    if (execution === undefined && done !== undefined) {
      if (done.commitId === followup.commitId && done.call !== null) {
        const hash = hashOfResult(done.call, completionHash(followup.outcome, followup.writes), this.#hasher);
        if (hash !== null) this.#compare(done, done.resultHash, hash);
      }
      return answer("completed_before", "followup_late");
    }
    const intent = execution?.intent ?? null;
    if (execution === undefined || intent === null || intent.commitId !== followup.commitId) {
      return answer("unknown_intent", "followup_unknown");
    }
    // variant: followup-late
    if (execution.phase.kind === "completing" && execution.told) {
      const { completion, run } = execution.phase;
      this.#compare(completion, run.hash, completionHash(followup.outcome, followup.writes));
      this.#note("followup_late", execution);
      execution.followups.push({ caller, result: "completed_before" });
      return;
    }
    // variant: followup-awaited
    if (execution.phase.kind !== "pending") return answer("not_covered", "followup_not_covered");
    const writable = new Set(intent.units.filter(({ mode }) => mode !== "read").map(({ unit }) => unit));
    // variant: followup-covered
    if (!followup.writes.every(({ unit }) => writable.has(unit))) {
      answer("not_covered", "followup_not_covered");
      return this.#replay(execution, "followup_not_covered");
    }
    // variant: followup-behind
    if (execution.ahead.size > 0) {
      execution.early.push({ caller, followup });
      for (const first of execution.ahead) this.#replay(first, "own_write");
      return;
    }
    this.#note("followup_applied", execution);
    execution.followups.push({ caller, result: "applied" });
    this.#complete(execution, intent.commitId, followup, "followup");
  }

  // ── Re-execution (paper, section 3.4) ──────────────────────────────────────────────────────────────────────────

  /**
   * Runs the handler in place of the followup. Departure from the paper, which waits for the timer: it happens at once
   * when somebody waits for what the intent holds, so that a lock is held as long as the handler runs here, not as long
   * as a round trip to the other side of the world takes.
   */
  #replay(execution: Execution, cause: ReExecutionCause): void {
    if (execution.phase.kind !== "pending" || execution.replay !== null) return;
    // variant: re-execution-behind
    if (execution.ahead.size > 0) {
      execution.wanted = cause;
      for (const first of execution.ahead) this.#replay(first, cause);
      return;
    }
    this.#note("re_execution", execution, { cause });
    execution.replay = "loading";
    const reads = readsOf(execution.intent!);
    if (this.#versions.missing(reads).length > 0) this.#load(execution, reads, "replay");
    else this.#replayLoaded(execution);
  }

  /** A server that adopted many intents is not to have all its workers and all of storage busy with them. */
  get #replaces(): boolean {
    return this.#lost.size > 0 && this.#replaced.size < this.#options.maxReplaced;
  }

  #replaceNext(): void {
    const [execution] = this.#lost;
    this.#lost.delete(execution!);
    if (execution!.phase.kind !== "pending" || execution!.replay !== null) return;
    this.#note("followup_lost", execution!);
    // What is ahead of it is run first, and ends it when it has ended.
    if (execution!.ahead.size === 0) this.#replaced.add(execution!);
    this.#replay(execution!, "followup_lost");
  }

  #replayLoaded(execution: Execution): void {
    const { intent } = execution;
    if (execution.phase.kind !== "pending" || intent === null) return;
    const snapshot = new Map<UnitId, Entry>();
    for (const { unit, mode, version } of intent.units) {
      if (mode === "write") continue;
      const entry = this.#versions.get(unit)!;
      // An intent that was abandoned before a crash holds nothing that was validated.
      // variant: re-execution-reads
      if (version === null || !sameVersion(version, entry.version)) return this.#abandon(execution);
      snapshot.set(unit, entry);
    }
    const writes = intent.units.filter(({ mode }) => mode !== "read").map(({ unit }) => unit);
    execution.replay = "running";
    this.#run(
      execution,
      snapshot,
      { kind: "declared", set: { reads: new Set(readsOf(intent)), writes: new Set(writes) } },
      true,
    );
  }

  #replayed(execution: Execution, result: ExecutionResult): void {
    execution.replay = null;
    const { intent, phase } = execution;
    if (phase.kind !== "pending" || intent === null) {
      // The followup was faster.
      if (result.kind === "completed" && execution.completionHash !== null) {
        const hash = completionHash(result.outcome, result.writes);
        this.#compare({ executionId: execution.id, ...execution.invocation }, execution.completionHash, hash);
      }
      return;
    }
    switch (result.kind) {
      case "completed":
        return this.#complete(execution, intent.commitId, result, "re-execution");
      // variant: re-execution-tried-again
      case "crowded-out":
      case "killed": {
        // It may have ended at the location, and its success be known: it is never given up.
        const detail = result.kind === "killed" ? result.reason : CROWDED_OUT;
        // variant: re-execution-killed
        this.#note("re_execution_killed", execution, { detail });
        execution.kills++;
        this.#note("overdue_intent_alarm", execution, { detail: wordsOfOverdue(execution, detail) });
        this.#pauseReplay(execution, this.#pauseMs(execution));
        return;
      }
      case "undeclared":
        // What it read was validated, and is the same still.
        this.#setLeft(execution, result.reason);
        return this.#abandon(execution);
      // variant: re-execution-exhausted
      case "exhausted":
      case "needs":
      case "missing":
      case "no-set":
        return this.#abandon(execution);
    }
  }

  #pauseReplay(execution: Execution, ms: number): void {
    execution.replay = "paused";
    this.#replaced.delete(execution);
    this.#deadlines.add(this.#nowMs + ms, { kind: "replay", execution });
  }

  /**
   * The handler left its declared set, or used up the fuel of a speculation, so the location's run stopped there too and
   * nobody was told a success: what was locked and validated means nothing, and the execution runs near storage. Its intent
   * stays pending meanwhile.
   */
  #abandon(execution: Execution): void {
    this.#note("abandoned_intent", execution);
    execution.replay = null;
    this.#replaced.delete(execution);
    execution.told = false;
    execution.kills = 0;
    execution.sequence = null;
    this.#leaveQueue(execution);
    this.#unlock(execution);
    this.#runNearStorage(execution, "requested");
  }

  #compare(run: { executionId: ExecutionId; module: ModuleHash }, first: string, second: string): void {
    if (first === second) return;
    this.#modules.suspect(run.module);
    const about = { id: run.executionId, invocation: run };
    this.#note("determinism_alarm", about, { detail: "two runs of one execution differ" });
  }

  // ── Near-storage execution ─────────────────────────────────────────────────────────────────────────────────────

  #runNearStorage(execution: Execution, cause: ExecutedCause): void {
    // A pending intent is a promise, whatever it costs.
    const excess = execution.intent === null ? this.#budgets.excessOfRuns(execution.location, this.#nowMs) : null;
    if (excess !== null) return this.#refuse(execution, "over_budget", excess.words, excess.retryAfterMs);
    this.#note("near_storage", execution, { cause });
    const { module, handler } = execution.invocation;
    const plan = this.#modules.planOf(module, handler);
    execution.near = {
      cause,
      recording: plan === "recorded" || plan === "near-storage",
      guessing: true,
      wanted: this.#declaredReads(execution),
      snapshot: new Map(),
      result: null,
      runs: 0,
      rounds: 0,
      gated: false,
    };
    this.#capture(execution);
  }

  /**
   * Takes the values of all wanted units in one step, in which no told execution holds any of them, and runs the
   * handler on them. That step is the place in the order of an execution that turns out to write nothing.
   */
  #capture(execution: Execution): void {
    const near = execution.near!;
    const wanted = [...near.wanted];
    if (wanted.length > this.#options.maxUnits || near.runs > this.#options.maxUnits) {
      if (near.recording && near.guessing) return this.#captureStrictly(execution);
      return this.#fail(execution, "too_many_units", `the handler accesses more than ${this.#options.maxUnits} units`);
    }
    if (!this.#settled(execution, wanted, "capture")) return;
    if (!this.#hot(execution, wanted, "capture")) return;
    const snapshot = new Map<UnitId, Entry>();
    let bytes = 0;
    for (const unit of wanted) {
      const entry = this.#current(unit);
      snapshot.set(unit, entry);
      bytes += entry.value?.length ?? 0;
    }
    if (bytes > this.#options.maxReadBytes) return this.#failForBytes(execution);
    near.snapshot = snapshot;
    near.result = null;
    near.runs++;
    execution.phase = { kind: "running" };
    // variant: near-storage-run
    this.#run(
      execution,
      snapshot,
      near.recording
        ? { kind: "record", guess: near.guessing }
        : { kind: "derive", writable: this.#writable(execution) },
      false,
    );
  }

  #declaredReads(execution: Execution): Set<UnitId> {
    const declared = execution.declared ?? execution.intent?.units ?? [];
    return new Set(declared.filter(({ mode }) => mode !== "write").map(({ unit }) => unit));
  }

  /** The units that the execution may write as of now; null: all. */
  #writable(execution: Execution): ReadonlySet<UnitId> | null {
    if (execution.near!.gated) return null;
    const held = this.#locks.heldBy(execution);
    return new Set([...held].filter((unit) => this.#locks.modeOf(execution, unit) === "exclusive"));
  }

  #ran(execution: Execution, result: ExecutionResult): void {
    const near = execution.near!;
    switch (result.kind) {
      case "missing":
        for (const unit of result.units) near.wanted.add(unit);
        return this.#capture(execution);
      case "needs": {
        const { reads, writes } = result.set;
        for (const unit of reads) near.wanted.add(unit);
        if (writes.size === 0 && this.#locks.heldBy(execution).size === 0) return this.#capture(execution);
        return this.#cover(execution, [...reads], [...writes], "capture");
      }
      case "completed":
        near.result = result;
        // variant: get-must-not-write
        if (execution.mustNotWrite && result.writes.length > 0) return this.#refuseWrites(execution);
        // variant: trace-needed
        if (result.writes.length === 0 && !execution.retained && execution.intent === null)
          return this.#answer(execution);
        // variant: near-storage-covered
        return this.#cover(
          execution,
          result.reads,
          result.writes.map(({ unit }) => unit),
          "confirm",
        );
      case "undeclared":
        if (near.recording) return this.#fail(execution, "execution_failed", result.reason);
        this.#setLeft(execution, result.reason);
        near.recording = true;
        return this.#capture(execution);
      case "no-set":
        near.recording = true;
        return this.#capture(execution);
      case "killed":
        if (near.recording && near.guessing) return this.#captureStrictly(execution);
        return this.#fail(execution, "execution_failed", result.reason);
      case "crowded-out":
        if (execution.intent === null) return this.#refuseBusy(execution, CROWDED_OUT);
        // The next one is not crowded out as soon.
        execution.kills++;
        return this.#pause(execution);
      case "exhausted":
        throw new Error("a run near storage had the fuel of a speculation");
    }
  }

  /** Whatever the manifest says of the handler, it came as a GET and has written: nothing of it remains. */
  #refuseWrites(execution: Execution): void {
    const { handler } = execution.invocation;
    const message = wroteOnGet(handler, "its run near storage has written");
    this.#note("wrote_on_get_alarm", execution, { handler, detail: message });
    this.#fail(execution, "wrote_on_get", message);
  }

  /** Counted once for an execution, and only of handlers that have f^rw. */
  #setLeft(execution: Execution, reason: string): void {
    const { module, handler } = execution.invocation;
    const plan = this.#modules.planOf(module, handler);
    if (execution.hasLeftSet || (plan !== "sliced" && plan !== "given")) return;
    execution.hasLeftSet = true;
    const times = this.#modules.leftSet(module, handler);
    const words = plan === "given" ? GIVEN_SET_LEFT : DERIVED_SET_LEFT;
    this.#note("set_left", execution, { handler, times, detail: `${words} (${reason})` });
  }

  /** On values that never were there together a handler may run for ever: once more, on nothing but what is there. */
  #captureStrictly(execution: Execution): void {
    const near = execution.near!;
    near.guessing = false;
    near.wanted = this.#declaredReads(execution);
    this.#capture(execution);
  }

  /** Goes on under locks of all these units: those it lacks are taken if they are free; else it starts over. */
  #cover(execution: Execution, reads: readonly UnitId[], writes: readonly UnitId[], next: Step): void {
    const near = execution.near!;
    if (near.gated) return this.#proceed(execution, next);
    const needed = new Map<UnitId, LockMode>();
    for (const unit of reads) needed.set(unit, "shared");
    for (const unit of writes) needed.set(unit, "exclusive");
    if (!this.#grow(execution, needed.size)) return;
    const held = this.#locks.heldBy(execution);
    if (held.size === 0) return this.#lock(execution, accessesOf(needed), next);

    const lacking = new Map(
      [...needed].filter(([unit, mode]) => {
        const has = this.#locks.modeOf(execution, unit);
        return has === undefined || (has === "shared" && mode === "exclusive");
      }),
    );
    if (this.#want(execution, accessesOf(lacking), "now")) return this.#proceed(execution, next);
    // An execution that waited while it holds units could close a circle: it releases all, and asks for the union.
    for (const unit of held) {
      if (unit !== GATE && needed.get(unit) === undefined) needed.set(unit, this.#locks.modeOf(execution, unit)!);
    }
    this.#startOver(execution, accessesOf(needed), next);
  }

  /** Whether the location's budget has room for so many units of the execution; else it is refused. */
  #grow(execution: Execution, units: number): boolean {
    const { location, usage, intent } = execution;
    const more = units - usage.units;
    if (more <= 0) return true;
    const excess = intent === null ? this.#budgets.excessOfUnits(location, more) : null;
    if (excess !== null) {
      this.#refuse(execution, "over_budget", excess.words, excess.retryAfterMs);
      return false;
    }
    this.#budgets.grow(location, more);
    execution.usage = { ...usage, units };
    return true;
  }

  /** A round is lost to contention: after a few the execution runs alone, so that it ends. */
  #startOver(execution: Execution, accesses: readonly Access[], next: Step): void {
    const near = execution.near!;
    this.#unlock(execution);
    if (++near.rounds < this.#options.maxRounds) {
      this.#note("contention_round", execution);
      return this.#lock(execution, accesses, next);
    }
    this.#note("gate", execution);
    near.gated = true;
    // variant: gate-taken
    this.#lock(execution, [{ unit: GATE, mode: "exclusive" }], next);
  }

  /** Everything touched is locked now: does what was read still hold? */
  #confirm(execution: Execution): void {
    const near = execution.near!;
    const { reads } = near.result!;
    if (!this.#hot(execution, reads, "confirm")) return;
    const changed = reads.some((unit) => !this.#versions.isCurrent(unit, near.snapshot.get(unit)!.version));
    // variant: reads-confirmed
    if (!changed) return this.#complete(execution, this.#takeCommitId(execution), near.result!, "near-storage");
    if (near.gated) return this.#capture(execution);
    if (near.rounds + 1 >= this.#options.maxRounds) return this.#startOver(execution, [], "capture");
    near.rounds++;
    this.#note("contention_round", execution);
    this.#capture(execution);
  }

  /** An execution that leaves no trace. */
  #answer(execution: Execution): void {
    const { outcome, writes } = execution.near!.result!;
    const ended = { outcome, writes };
    const sampled = this.#sampler.sample(execution, "near-storage", null, groundOf(execution), ended);
    if (sampled !== null) this.#effects.push(sampled);
    const repairs = this.#repairs(execution, null);
    const { callers } = execution;
    this.#endWithoutTrace(execution, callers);
    callers.forEach((caller, index) => {
      const cause = causeFor(execution, caller, index);
      const times = this.#times(caller.receivedAtMs);
      this.#reply(caller, { kind: "executed", cause, outcome, repairs, times }, null);
    });
  }

  /** What the location's cache lacks of all that the execution read and wrote. */
  #repairs({ near, declared }: Execution, completion: Completion | null): readonly Repair[] {
    if (near === null || near.result === null) return [];
    const entries = new Map(near.snapshot);
    for (const { unit } of completion?.writes ?? []) entries.set(unit, this.#versions.get(unit)!);
    return repairsOf(declared ?? [], entries, this.#options.maxRepairBytes);
  }

  /**
   * The unit's entry as a cache may take it. Absent, it gets the latest commit id after which it was absent for sure: a
   * writer that holds it will create it under the id that it has already taken.
   */
  #current(unit: UnitId): Entry {
    const entry = this.#versions.get(unit)!;
    if (entry.value !== null) return entry;
    const sequence = this.#locks.exclusiveHolders(unit).at(-1)?.sequence;
    const asOf = sequence === null || sequence === undefined ? this.#sequence : sequence - 1;
    return { value: null, version: { commitId: commitId(this.#epoch, asOf), hash: null } };
  }

  /** Takes a sample of a read-only execution in the step that validates it. Its result only its location knows. */
  #sampleValid(execution: Sampled, units: readonly AccessedUnit[]): void {
    const sampled = this.#sampler.sample(execution, "valid", null, { kind: "validated", units }, null);
    if (sampled !== null) this.#effects.push(sampled);
  }

  // ── Completion ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** One conditional transaction: the writes, and the intent done with its outcome. `path`: null, it has failed. */
  #complete(
    execution: Execution,
    commit: CommitId,
    { outcome, writes }: { readonly outcome: Outcome; readonly writes: readonly Write[] },
    path: SamplePath | null,
  ): void {
    if (execution.near?.gated === true) {
      // The gate stands for every unit; from here on readers must be able to see what exactly is being written.
      const written = writes.map(({ unit }): Access => ({ unit, mode: "exclusive" }));
      if (!this.#want(execution, written, "now")) throw new Error("the gate is held, and a unit is locked elsewhere");
    }
    const hash = completionHash(outcome, writes);
    const call = this.#hasher.hash(bytesOfCall(callOf(execution.invocation)));
    const completion: Completion = {
      ...execution.invocation,
      executionId: execution.id,
      commitId: commit,
      location: execution.location,
      outcome,
      writes,
      resultHash: hashOfResult(call, hash, this.#hasher)!,
      doneAtMs: this.#wallMs,
      call,
      keeps: outcomeKept(execution, path),
    };
    // Under its locks its reads are still what it ran on.
    const sampled =
      path === null ? null : this.#sampler.sample(execution, path, commit, groundOf(execution), { outcome, writes });
    execution.phase = { kind: "completing", completion, run: { hash, sampled } };
    // variant: completion-starts
    this.#versions.applyStarted(writes);
    const operation = ++this.#names;
    const expects = execution.intent === null ? "new" : "pending";
    const effect = { kind: "complete", operation, expects, completion, blind: blindOf(execution, writes) } as const;
    this.#operations.set(operation, { kind: "complete", execution, effect, doubtful: false });
    // variant: completion-stored-first
    this.#effects.push(effect);
  }

  #completed(operation: OperationId, result: CompleteResult): void {
    const { execution, effect } = this.#takeOperation(operation, "complete");
    const { completion } = effect;
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    if (result.kind === "exists") {
      const { record } = result;
      // A storage answer may have been lost: then the completion that exists is this one.
      if (record?.state !== "done" || record.done.commitId !== completion.commitId) {
        this.#versions.applyFailed(completion.writes);
        return this.#taken(execution, record);
      }
    }
    if (execution.phase.kind === "completing") {
      const { hash, sampled } = execution.phase.run;
      if (sampled !== null) this.#effects.push(sampled);
      execution.completionHash = hash;
    }
    this.#versions.applied(completion.commitId, completion.writes);
    this.#finished.add(doneIntentOf(completion));
    const repairs = this.#repairs(execution, completion);
    const { callers, followups } = execution;
    this.#end(execution);
    callers.forEach((caller, index) => {
      const cause = causeFor(execution, caller, index);
      const times = this.#times(caller.receivedAtMs);
      this.#reply(caller, { kind: "executed", cause, outcome: completion.outcome, repairs, times }, operation);
    });
    for (const { caller, result: answer } of followups) {
      this.#effects.push({ kind: "followup-reply", caller, result: answer, after: operation });
    }
  }

  #end(execution: Execution): void {
    execution.phase = { kind: "ended" };
    execution.told = false;
    this.#lost.delete(execution);
    // variant: replaced-ends
    this.#replaced.delete(execution);
    this.#executions.delete(execution.id);
    this.#budgets.end(execution.location, execution.usage, this.#nowMs);
    this.#leaveQueue(execution);
    this.#unlock(execution);
  }

  /** Its callers are answered, and storage knows nothing of it. */
  #endWithoutTrace(execution: Execution, answered: readonly Caller[]): void {
    for (const { request } of answered) this.#remember(request);
    this.#end(execution);
  }

  /** The handler can't be run near storage. */
  #fail(execution: Execution, code: RefusalCode, message: string): void {
    if (execution.intent === null) return this.#refuse(execution, code, message, null);
    // An abandoned intent: nobody was told a success, so it may end as a failure, once and for all.
    execution.near!.result = null;
    const told = code === "wrote_on_get" ? code : "execution_failed";
    const outcome: Outcome = { kind: "abort", status: ERROR_KINDS[told].status, code: told, message };
    this.#complete(execution, this.#takeCommitId(execution), { outcome, writes: [] }, null);
  }

  /** An abandoned intent whose values can't be read now is run again later. */
  #pause(execution: Execution): void {
    this.#unlock(execution);
    execution.phase = { kind: "paused" };
    this.#deadlines.add(this.#nowMs + this.#pauseMs(execution), { kind: "run-again", execution });
  }

  // ── Locks ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits for the gate and the units. */
  #lock(execution: Execution, accesses: readonly Access[], next: Step): void {
    const all = accesses[0]?.unit === GATE ? accesses : [GATE_SHARED, ...accesses];
    if (execution.intent === null) {
      if (this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
      const full = all.find((access) => this.#locks.queueLength(access) >= this.#options.maxQueue);
      if (full !== undefined)
        return this.#refuseBusy(execution, `${this.#options.maxQueue} executions wait for ${full.unit}`);
    }
    execution.phase = { kind: "waiting", next, sinceMs: this.#nowMs };
    if (this.#want(execution, all, "wait")) return this.#proceed(execution, next);
    // A lock is held no longer than a run here takes: every pending intent in its way is re-executed.
    for (const blocker of this.#locks.blockers(execution)) this.#replay(blocker, "contention");
  }

  /**
   * Every request for locks passes here, so this step knows each unit that the execution wants exclusively from now on. It
   * gets all units at once. With "wait" it may get them later. With "now" it gets them now or never. With `behind` too, but
   * it may be behind those executions. True: it holds them.
   */
  #want(
    execution: Execution,
    accesses: readonly Access[],
    how: "wait" | "now" | { readonly behind: ReadonlySet<Execution> },
  ): boolean {
    const { ticket } = execution;
    if (how === "wait") return this.#locks.acquire(execution, accesses, ticket);
    if (how === "now") return this.#locks.tryAcquire(execution, accesses, ticket);
    const ahead = this.#locks.acquireBehind(execution, accesses, ticket, (holder) => how.behind.has(holder));
    if (ahead === null) return false;
    execution.ahead = new Set(ahead);
    for (const before of ahead) before.behind.add(execution);
    return true;
  }

  /**
   * Own writes: an execution that read the coming writes of pending intents takes its units behind them at once. Nobody may
   * be in its way but those intents and the ones ahead of them. It is applied, and re-executed, after them.
   */
  #lockBehind(execution: Execution, accesses: readonly Access[]): boolean {
    const first = new Set<Execution>();
    for (const accessed of execution.declared!) {
      if (accessed.mode === "write") continue;
      const writer = this.#locks.exclusiveHolders(accessed.unit).at(-1);
      if (writer === undefined) continue;
      if (!writer.told || !this.#isOwnWrite(execution, accessed.unit, accessed.version)) return false;
      first.add(writer);
    }
    if (first.size === 0) return false;
    // A set grows while it is gone through.
    for (const writer of first) for (const before of writer.ahead) first.add(before);
    return this.#want(execution, [GATE_SHARED, ...accesses], { behind: first });
  }

  /** Nobody is ahead of it or behind it any more; who was behind it alone goes on. */
  #leaveQueue(execution: Execution): void {
    for (const before of execution.ahead) before.behind.delete(execution);
    execution.ahead.clear();
    for (const next of execution.behind) {
      next.ahead.delete(execution);
      // variant: queue-left
      if (next.ahead.size === 0 && (next.wanted !== null || next.early.length > 0)) this.#due.push(next);
    }
    execution.behind.clear();
  }

  /** Does what was to be done when nobody is ahead any more. */
  #goOn(execution: Execution): void {
    const { early, wanted } = execution;
    execution.early = [];
    execution.wanted = null;
    for (const { caller, followup } of early) this.#followup(caller, followup);
    if (wanted !== null) this.#replay(execution, wanted);
  }

  /** Waits until one of the units is released, and asks for no lock. */
  #watch(execution: Execution, units: readonly UnitId[], next: Step): void {
    if (execution.intent === null && this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
    execution.phase = { kind: "watching", next, sinceMs: this.#nowMs };
    this.#locks.onRelease(execution, units);
  }

  #unlock(execution: Execution): void {
    const { granted, notified } = this.#locks.release(execution);
    this.#ready.push(...granted, ...notified);
  }

  #proceed(execution: Execution, step: Step): void {
    switch (step) {
      case "validate":
        return this.#validate(execution);
      case "capture":
        return this.#capture(execution);
      case "confirm":
        return this.#confirm(execution);
    }
  }

  // ── Time and failures ──────────────────────────────────────────────────────────────────────────────────────────

  #clock(): void {
    for (
      let due = this.#deadlines.takeDue(this.#nowMs);
      due !== undefined;
      due = this.#deadlines.takeDue(this.#nowMs)
    ) {
      switch (due.kind) {
        case "give-up":
          this.#giveUp(due.execution);
          break;
        case "followup":
          // variant: followup-lost
          if (due.execution.phase.kind === "pending") this.#lost.add(due.execution);
          break;
        case "replay":
          if (due.execution.replay === "paused") {
            due.execution.replay = null;
            this.#replay(due.execution, "tried_again");
          }
          break;
        case "run-again":
          if (due.execution.phase.kind === "paused") this.#runNearStorage(due.execution, "requested");
          break;
        case "retry":
          this.#effects.push(due.effect);
      }
    }
  }

  /** Waiting is bounded. What runs or is on its way to storage ends by itself. */
  #giveUp(execution: Execution): void {
    const { phase, callers } = execution;
    if (phase.kind === "ended") return;
    const overdue = callers.filter(({ deadlineMs }) => deadlineMs <= this.#nowMs);
    const waits = phase.kind === "waiting" || phase.kind === "watching";
    if (execution.intent === null && waits && this.#nowMs >= execution.giveUpAtMs)
      return this.#refuseBusy(execution, WAITED);
    if (execution.intent === null && !waits) return;
    // The execution goes on; who asks again will find its outcome.
    execution.callers = callers.filter((caller) => caller.id === execution.speculator || !overdue.includes(caller));
    for (const caller of overdue) {
      if (caller.id === execution.speculator) continue;
      this.#replyPending(caller);
    }
  }

  #refuseBusy(execution: Execution, message: string): void {
    this.#refuse(execution, "busy", message, RETRY_AFTER_MS);
  }

  /** Nothing was done, and nothing is held. */
  #refuse(execution: Execution, code: RefusalCode, message: string, retryAfterMs: number | null): void {
    const { callers } = execution;
    // variant: refusal-ends
    this.#endWithoutTrace(execution, callers);
    for (const caller of callers) this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, null);
  }

  #storageFailed(operation: OperationId, effect: "none" | "unknown", reason: string): void {
    const failed = this.#operations.get(operation)!;
    const { execution } = failed;
    this.#note("storage_failed", execution, { detail: `${failed.kind}: ${reason}` });
    // Something may have been done, or must be done: the same conditional operation again finds out.
    const again = (retried: Effect): void =>
      this.#deadlines.add(this.#nowMs + this.#options.retryMs, { kind: "retry", operation, effect: retried });
    switch (failed.kind) {
      case "look-up":
        this.#operations.delete(operation);
        return this.#refuseBusy(execution, "storage can't be read");
      case "load":
        this.#versions.loadFailed(operation);
        this.#operations.delete(operation);
        if (failed.next === "replay") {
          this.#pauseReplay(execution, this.#options.retryMs);
        } else if (execution.intent !== null) this.#pause(execution);
        else this.#refuseBusy(execution, "storage can't be read");
        return;
      case "store":
        // variant: store-doubtful
        failed.doubtful ||= effect === "unknown";
        if (failed.doubtful) return again({ kind: "store-intent", operation, intent: failed.intent });
        this.#operations.delete(operation);
        return this.#refuseBusy(execution, "storage can't be written");
      case "complete":
        failed.doubtful ||= effect === "unknown";
        // variant: completion-doubtful
        if (failed.doubtful || execution.intent !== null) return again(failed.effect);
        this.#operations.delete(operation);
        this.#versions.applyFailed(failed.effect.completion.writes);
        return this.#refuseBusy(execution, "storage can't be written");
    }
  }

  #executed(run: RunId, result: ExecutionResult, tookMs: number): void {
    const { execution, replay } = this.#runs.get(run)!;
    this.#runs.delete(run);
    this.#budgets.ran(execution.location, tookMs, this.#nowMs);
    if (replay) this.#replayed(execution, result);
    else if (execution.phase.kind === "running") this.#ran(execution, result);
  }

  /**
   * Installs the locks of an intent that an earlier server left pending, behind those of others whose writes it has read;
   * `first` null: it was abandoned, and somebody else has its units.
   */
  #adopt(intent: Intent, first: ReadonlySet<CommitId> | null, installed: Map<CommitId, Execution>): void {
    const execution = adopted(intent, ++this.#tickets);
    this.#executions.set(intent.executionId, execution);
    this.#budgets.begin(intent.location, execution.usage, this.#nowMs);
    if (first !== null) {
      installed.set(intent.commitId, execution);
      const ahead = new Set([...first].flatMap((id) => installed.get(id) ?? []));
      // variant: adopted-locks
      if (!this.#want(execution, [GATE_SHARED, ...declaredLocks(intent.units)], { behind: ahead }))
        throw new Error(`the locks of intent ${intent.commitId} can't be installed`);
      // variant: adopted-followup
      this.#deadlines.add(this.#nowMs + this.#options.followupTimeoutMs, { kind: "followup", execution });
    } else {
      execution.told = false;
      execution.phase = { kind: "paused" };
      this.#deadlines.add(this.#nowMs, { kind: "run-again", execution });
    }
  }

  // ── Leadership ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Answers of storage and workers are kept in any case. */
  #refuseWithoutLeadership(event: Event): boolean {
    switch (event.kind) {
      case "lvi-request": {
        const { caller: id, request } = event;
        const caller = { id, request };
        if (this.#executions.has(request.executionId) || this.#finished.get(request.executionId) !== undefined) {
          this.#replyPending(caller);
        } else {
          this.#remember(request);
          this.#reply(caller, { kind: "refused", code: "draining", message: RUN_OUT, retryAfterMs: 1_000 }, null);
        }
        return true;
      }
      case "followup":
        this.#note("followup_unknown", { id: event.followup.executionId });
        this.#effects.push({ kind: "followup-reply", caller: event.caller, result: "unknown_intent", after: null });
        return true;
      case "clock":
        return true;
      default:
        return false;
    }
  }

  #halt(reason: string): void {
    if (this.#halted) return;
    this.#halted = true;
    this.#effects.push({ kind: "halt", reason });
  }

  // ── Small things ───────────────────────────────────────────────────────────────────────────────────────────────

  /** The latest commit id taken. */
  get #latest(): CommitId {
    // variant: commit-id-of-epoch
    if (this.#named.sequence !== this.#sequence)
      this.#named = { sequence: this.#sequence, id: commitId(this.#epoch, this.#sequence) };
    return this.#named.id;
  }

  /** Commit ids are taken under the locks that they are about, so that they grow along every unit. */
  #takeCommitId(execution: Execution): CommitId {
    execution.sequence = ++this.#sequence;
    // variant: commit-id-taken
    return this.#latest;
  }

  /** Longer each time. */
  #pauseMs(execution: Execution): number {
    return Math.min(this.#options.retryMs * 2 ** execution.pauses++, 60_000);
  }

  #run(execution: Execution, snapshot: ReadonlyMap<UnitId, Entry>, access: TaskAccess, replay: boolean): void {
    const run = ++this.#names;
    this.#runs.set(run, { execution, replay });
    const { invocation, location, kills } = execution;
    // variant: handler-run
    this.#effects.push({ kind: "execute", run, task: { invocation, snapshot, access, kills }, location });
  }

  #takeOperation<Kind extends Operation["kind"]>(id: OperationId, kind: Kind): Operation & { kind: Kind } {
    const operation = this.#operations.get(id);
    if (operation?.kind !== kind) throw new Error(`storage answered operation ${id}, which is no ${kind}`);
    this.#operations.delete(id);
    return operation as Operation & { kind: Kind };
  }

  #reply({ id, request }: Pick<Caller, "id" | "request">, answer: LviAnswer, after: OperationId | null): void {
    if (answer.kind === "refused") this.#note("refused", null, { detail: `${answer.code}: ${answer.message}` });
    const reply = { ...answer, asOf: this.#latest };
    this.#effects.push({ kind: "reply", caller: id, location: request.location, reply, after });
  }

  /** Not a refusal of the execution: it goes on. */
  #replyPending(caller: Pick<Caller, "id" | "request">): void {
    const message = "the execution is pending";
    this.#reply(caller, { kind: "refused", code: "pending", message, retryAfterMs: RETRY_AFTER_MS }, null);
  }

  #replyValid(caller: Caller, commit: CommitId | null, after: OperationId | null): void {
    this.#reply(caller, { kind: "valid", commitId: commit, times: this.#times(caller.receivedAtMs) }, after);
  }

  #replyStored(caller: Caller, done: DoneIntent, after: OperationId | null): void {
    const refuse = (code: RefusalCode, message: string): void =>
      this.#reply(caller, { kind: "refused", code, message, retryAfterMs: null }, after);
    const isSame = isHashedCall(done.call, callOf(caller.request), this.#hasher);
    if (isSame === null) return refuse("idempotency_key_unverified", UNVERIFIED);
    if (!isSame) return refuse("idempotency_key_reused", REUSED);
    if (done.outcome === null) return refuse("answer_not_kept", NOT_KEPT);
    this.#note("stored_outcome", { id: done.executionId });
    const times = this.#times(caller.receivedAtMs);
    this.#reply(caller, { kind: "executed", cause: "stored", outcome: done.outcome.value, repairs: [], times }, after);
  }

  #times(receivedAtMs: number): { receivedAtMs: number; sentAtMs: number } {
    return { receivedAtMs, sentAtMs: this.#wallMs };
  }

  #note(
    name: NoteName,
    about: { id: ExecutionId; invocation?: { module: ModuleHash } } | null,
    more: Omit<Note, "name" | "executionId" | "module"> = {},
  ): void {
    const note: Note = { name, executionId: about?.id, module: about?.invocation?.module, ...more };
    this.#effects.push({ kind: "note", note });
  }
}

function groundOf({ near, intent }: Execution): Ground {
  if (near === null) return { kind: "validated", units: intent!.units };
  return { kind: "captured", snapshot: near.snapshot, reads: near.result!.reads };
}

/** What it has written without having read it. */
function blindOf({ near, intent }: Execution, writes: readonly Write[]): ReadonlySet<UnitId> {
  const declared = (intent?.units ?? []).flatMap(({ unit, mode }) => (mode === "write" ? [] : [unit]));
  const read = new Set(near?.result?.reads ?? declared);
  return new Set(writes.flatMap(({ unit }) => (read.has(unit) ? [] : [unit])));
}

/** For the operator, as the log has it. */
function wordsOfOverdue({ invocation, kills }: Execution, reason: string): string {
  return (
    `run ${kills} of ${invocation.handler} in place of its followup did not end: ${reason}. ` +
    "What the intent holds stays locked until a run ends; the next one may last twice as long. " +
    "If this goes on, see what the reason says: docs/operations.md, Handlers that last"
  );
}

/**
 * Why the outcome was found here, as this caller is told. Whoever has joined is told the outcome of another sending, and so
 * is one who sent a set of its own and is first in line because the location that began the execution has gone.
 */
function causeFor({ near, speculator }: Execution, { id, request }: Caller, index: number): ExecutedCause {
  const hasJoined = index > 0 || (request.units !== null && id !== speculator);
  return near === null || hasJoined ? "stored" : near.cause;
}

function wroteOnGet(handler: string, how: string): string {
  return `the handler "${handler}" must not write, because the request is a GET, and ${how}`;
}

/**
 * Of an execution that ends. A location that has sent the followup has the answer and has told it, so it asks no more; one
 * that has asked again meanwhile has given that answer up.
 */
function outcomeKept({ clientMayAsk, callers }: Execution, path: SamplePath | null): OutcomeKept {
  if (clientMayAsk) return "retained";
  return path === "followup" && callers.length === 0 ? "not" : "briefly";
}

const RETRY_AFTER_MS = 1_000;
const GIVEN_SET_LEFT = "the handler leaves the read/write set that its @readwrite gives: correct the set";
const DERIVED_SET_LEFT = "the handler leaves its read/write set, which is a fault of the analyzer: report it";
const CROWDED_OUT = "the handler ran for long while others waited for a worker";
const WAITED = "waited too long for units that other executions hold";
const TAKEN_OVER = "another server has taken over the storage";
const RUN_OUT = "the leadership of this server has run out, and another server may lead";
const ANSWERED = "the attempt, or a later one, was answered before";
const IN_DOUBT = "an earlier server may have answered this attempt";
const NOT_KEPT = "the execution was carried out before, once, and its answer is not kept any more";
const UNVERIFIED =
  "the execution id was used before, and the server no longer has the key by which it could tell whether for the same request";
const REUSED = "the execution id was used before with another handler, with other arguments or by another caller";
