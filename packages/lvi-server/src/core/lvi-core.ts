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
 * An execution is *told* when its success may have left the server and its writes are not in storage yet. From then on
 * nobody may see the values that it replaces.
 */
import {
  type AccessedUnit,
  assert,
  byUnit,
  type CommitId,
  commitId,
  commitParts,
  compareCommits,
  type ContentHash,
  countEntry,
  DEFAULT_TASK_ATTEMPTS,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  ERROR_KINDS,
  type ExecutedCause,
  type ExecutionId,
  type Followup,
  type FollowupVerdict,
  isSpan,
  lanesOf,
  type LoggedLine,
  type LviAnswer,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  overlaps,
  present,
  type Query,
  type IndexStatus,
  type RefusalCode,
  type RunEffect,
  type Repair,
  type SamplePath,
  type ScheduleStatus,
  type SenderSession,
  type ServicesStatus,
  type SessionId,
  type ReadLeaseStatus,
  type SetLeft,
  type TaskState,
  sameVersion,
  spanId,
  spanOf,
  tableOf,
  taskIdOf,
  tickIdOf,
  type UnitId,
  unitId,
  type Version,
  type WorkflowQuestion,
  type WorkflowState,
  type Write,
} from "@radical/protocol";
import { adoptionOrder } from "./adoption.ts";
import { AnsweredRequests } from "./answered-requests.ts";
import { type Audit, Audits, differences, hashOfEnded, judge, keepFollowup } from "./audits.ts";
import { withBlobNames } from "./blob-names.ts";
import { Budgets } from "./budgets.ts";
import { Cancellations } from "./cancellations.ts";
import { bytesOfCall, type CallHasher, callOf, hashOfResult, isHashedCall, isSameCall } from "./call-hash.ts";
import type { CoreOptions } from "./core-options.ts";
import { Deadlines } from "./deadlines.ts";
import type { Distribution } from "./distribution.ts";
import {
  type CallerId,
  type CompleteResult,
  type Effect,
  type Event,
  type Expectation,
  type Fact,
  type Load,
  type ModuleLoad,
  NO_FACTS,
  type Note,
  type NoteName,
  type OperationId,
  type ReExecutionCause,
  type RunId,
  type ShedReason,
  type StoreResult,
} from "./events.ts";
import type { EndedRun, Follower, Run, RunAccess, RunResult } from "./run.ts";
import {
  type Abandoned,
  abandonedOf,
  adopted,
  attemptOf,
  type Caller,
  type Capture,
  type Clearing,
  completes,
  type Completing,
  type Confirm,
  type Declared,
  type Ended,
  type Ending,
  type Execution,
  intentOf,
  isOwn,
  isTold,
  type NearStorage,
  type Pending,
  type Phase,
  pendingOn,
  type Ran,
  type RanNearStorage,
  isOwed,
  requested,
  sequenceOf,
  type Stage,
  stepAttemptOf,
  type Storing,
  type Tell,
  schedulingOf,
  turningOf,
  type Turning,
  usageOf,
  type Validate,
  type WaitedFor,
  writesOf,
} from "./execution.ts";
import { Listeners, type ListeningEffect } from "./listeners.ts";
import { FinishedExecutions } from "./finished-executions.ts";
import {
  type Completion,
  type DoneIntent,
  doneIntentOf,
  type Intent,
  type IntentRecord,
  type Invocation,
  isRecordAfter,
  type OutcomeKept,
  readsOf,
  recordIdOf,
} from "./intent.ts";
import { Leader } from "./leader.ts";
import { LeaseNaming } from "./lease-naming.ts";
import { rowsOf as rowsOfPage, turn } from "./index-pages.ts";
import type { IndexState } from "./index-state.ts";
import { IndexTable, type KnownIndex } from "./index-table.ts";
import { keptWrites, movesOf } from "./kept-entries.ts";
import type { HeldLeadership } from "./leadership.ts";
import { accessesOf, declaredLocks, GATE, GATE_SHARED } from "./lock-requests.ts";
import { type Access, type LockMode, LockTable, type Wait } from "./lock-table.ts";
import type { Hole, StoredRow } from "./range-table.ts";
import {
  addQuery,
  type CapturedSpan,
  countIn,
  itemsAmong,
  itemsOf,
  type Queries,
  withObserved,
} from "./captured-spans.ts";
import {
  type CurrentModule,
  ModuleTable,
  type ModuleUse,
  type Plans,
  type Registration,
  type Tables,
} from "./module-table.ts";
import type { LeaseCounts, Term } from "./read-leases.ts";
import { repairsOf } from "./repairs.ts";
import { veiled } from "./ruled-tables.ts";
import { type Ground, NO_SAMPLES, type Sampled, Sampler } from "./sampling.ts";
import { type ScheduleState, encodeScheduleState, scheduleUnit } from "./schedule-state.ts";
import { type ScheduleAsk, type ScheduleChange, Schedules } from "./schedules.ts";
import { Services } from "./services.ts";
import type { Revocation, Session } from "./sessions.ts";
import {
  failureOf,
  isMisfit,
  isPlaceOf,
  placeOf,
  settled,
  type Task,
  type TaskOutline,
  tasksOf,
  UNREADABLE_OUTCOME,
} from "./task.ts";
import { type OrderUnderWay, TaskOrders } from "./task-orders.ts";
import { type Instant, type TaskAnswer, type TaskQuestion, TaskTable } from "./task-table.ts";
import { type NextCron, tickTasks } from "./ticks.ts";
import {
  arrivalOf,
  type CompletingMember,
  lastWriters,
  mayTravel,
  mustLeaveTrace,
  type Member,
  MOST_MEMBERS,
  NO_FOLLOWERS,
} from "./train.ts";
import { alarmOf } from "./undo-failure.ts";
import { type StoredItem, VersionTable } from "./version-table.ts";
import { assertWellFormed } from "./well-formed.ts";
import { doneOf, settledOf, signalPart, stepPart, type Workflow, type WorkflowPart } from "./workflow.ts";
import type { OpenStep, Step } from "./workflow-journal.ts";
import type { NamedTask, WorkflowCaller, WorkflowsHost } from "./workflow-host.ts";
import { Workflows } from "./workflows.ts";
import type { WorkflowCounts } from "./workflow-table.ts";

/** The state that a starting server found in storage. */
export interface Recovered {
  /** Greater than that of every server before; durable. */
  readonly epoch: number;
  readonly pending: readonly Intent[];
  /** The items of units that those have read, null: absent. Items that are left out are loaded when they are wanted. */
  readonly items?: ReadonlyMap<UnitId, StoredItem | null>;
  /** Null: nobody else knows the storage. */
  readonly leadership: HeldLeadership | null;
  /** Until then, by the monotonic clock, locations may answer by read leases of an earlier server. Left out: they don't. */
  readonly readLeasesUntilMs?: number;
  /** The epoch at which the storage was set back: {@link Leadership}. Left out: it was not. */
  readonly setBackEpoch?: number;
  /** The time of read leases that the stored leadership names. Left out: none. */
  readonly namedReadLeaseMs?: number;
  readonly modules: ReadonlyMap<ModuleHash, Plans>;
  /** When each module was last used, by the wall clock; of those left out it is not known. */
  readonly moduleUses?: ReadonlyMap<ModuleHash, number>;
  /** The names of the indexes that each module's handlers keep; those that are left out keep none. */
  readonly moduleIndexes?: ReadonlyMap<ModuleHash, readonly string[]>;
  /** The tables that each module's handlers can access; those that are left out may access any. */
  readonly moduleTables?: ReadonlyMap<ModuleHash, Tables>;
  /** The module that was registered last, and the rules of its handlers' tasks. Left out: none. */
  readonly current?: CurrentModule;
  /** How far each index is built, by its name. Left out: none is known. */
  readonly indexes?: ReadonlyMap<string, IndexState>;
  /** How far each schedule has come, by its handler, and the tasks of latest ticks that are open. Left out: none is known. */
  readonly schedules?: {
    readonly states: ReadonlyMap<string, ScheduleState>;
    readonly open: readonly ExecutionId[];
  };
}

export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
  /**
   * By so much the time of tasks is ahead of this machine's. The wall time has it already, the monotonic time never: leadership, leases
   * and waits keep to the machine's. Left out: by nothing.
   */
  readonly aheadMs?: number;
}

export interface LockWait {
  readonly wait: Wait<Ticketed>;
  readonly inWay: readonly Ticketed[];
}

type Ticketed = Pick<Execution, "id" | "ticket">;

type Operation =
  | { readonly kind: "look-up"; readonly execution: Execution }
  /** `scan`: of rows; null: of items. */
  | {
      readonly kind: "load";
      readonly execution: Execution;
      readonly isReplay: boolean;
      readonly scan: { readonly limit: number; readonly keepsValues: boolean } | null;
    }
  /** Values that an execution will need when its wait for locks is over. */
  | { readonly kind: "warm"; readonly execution: Execution }
  /** `doubtful`: an earlier attempt may have been carried out, so that a later failure proves nothing. */
  | { readonly kind: "store"; readonly execution: Execution; readonly storing: Storing; doubtful: boolean }
  /** `execution`: of the first member. */
  | {
      readonly kind: "complete";
      readonly execution: Execution;
      readonly members: readonly CompletingMember[];
      readonly effect: Effect & { kind: "complete" };
      doubtful: boolean;
    };

/** How an execution asks for locks: see `#want`. */
type Asking =
  | "wait"
  | "now"
  | { readonly behind: ReadonlySet<Execution> }
  | { readonly following: ReadonlySet<Execution> };

/** A run of a handler in a worker. `followers`: the other members of its train. */
interface RunUnderWay {
  readonly execution: Execution;
  readonly isReplay: boolean;
  readonly followers: readonly Member[];
}

/** A page of an index that is on its way, in an execution of the server's own. */
interface Turned {
  readonly execution: Execution;
  readonly index: KnownIndex<Execution>;
  readonly sinceMs: number;
}

/** A member of a train that has let go, and waits for the same again. */
interface Again {
  readonly execution: Execution;
  readonly near: NearStorage;
  readonly accesses: readonly Access[];
}

type Due =
  | { readonly kind: "give-up"; readonly execution: Execution }
  | { readonly kind: "followup"; readonly execution: Execution }
  | { readonly kind: "replay"; readonly execution: Execution }
  | { readonly kind: "run-again"; readonly execution: Execution }
  /** Read leases that the execution waits for may be over; null: those that the end of the server waits for. */
  | { readonly kind: "clear"; readonly execution: Execution | null }
  /** The next page of an index. */
  | { readonly kind: "turn" }
  /** Tasks may begin, or storage be asked for some. */
  | { readonly kind: "tasks" }
  | { readonly kind: "retry"; readonly operation: OperationId; readonly effect: Effect };

export class LviCore {
  readonly #options: CoreOptions;
  readonly #hasher: CallHasher;
  readonly #epoch: number;
  readonly #setBackEpoch: number;
  #sequence = 0;
  /** The latest commit id as text: it is asked for more often than it changes. */
  #named = { sequence: Number.NaN, id: NO_COMMIT };
  readonly #modules: ModuleTable;
  readonly #audits: Audits;
  readonly #indexes: IndexTable<Execution>;
  /** The page of an index that is on its way. */
  #turning: Turned | null = null;
  /** Rows of the next page. */
  #pageItems: number;
  readonly #tasks: TaskTable<object>;
  readonly #taskQuestions = new Map<OperationId, TaskQuestion>();
  readonly #workflows: Workflows;
  readonly #cancellations: Cancellations;
  readonly #orders: TaskOrders<object>;
  /** Orders whose changes are on their way to storage. */
  readonly #ordered = new Map<OperationId, { readonly order: OrderUnderWay; readonly effect: Effect }>();
  /** Storage could not be asked for tasks: not before then. */
  #asksAtMs = -Infinity;
  readonly #schedules: Schedules;
  /** When the clock is to come for tasks. */
  #tasksAtMs = Infinity;
  readonly #services: Services;
  readonly #executions = new Map<ExecutionId, Execution>();
  readonly #finished: FinishedExecutions;
  readonly #listeners: Listeners;
  readonly #answered: AnsweredRequests;
  /** The first commit id of this server: who has seen it has heard of this server. */
  readonly #since: CommitId;
  readonly #locks = new LockTable<Execution>();
  readonly #budgets: Budgets;
  readonly #versions: VersionTable;
  readonly #operations = new Map<OperationId, Operation>();
  readonly #runs = new Map<RunId, RunUnderWay>();
  readonly #deadlines = new Deadlines<Due>(
    (due) => "execution" in due && due.execution?.phase.kind === "ended",
    (due) => ("execution" in due ? (due.execution?.usage.bytes ?? 0) : 0),
  );
  /** Executions that wait for read leases to end, or to know the tasks that they cancel. */
  readonly #clearing = new Set<Execution>();
  /** Something has happened in this step that one of those may wait for. */
  #mayBeClear = false;
  /** The end of an earlier server's read leases. */
  readonly #inherited: readonly (Fact & { kind: "passed" })[];
  readonly #naming: LeaseNaming;
  /** Executions whose wait ended in this step. */
  readonly #ready: Execution[] = [];
  /** Executions that nobody is ahead of since this step. */
  readonly #due: Execution[] = [];
  /** Told executions whose followup did not come, in line; and those of them that are being re-executed. */
  readonly #lost = new Set<Execution>();
  readonly #replaced = new Set<Execution>();
  /** The request of this step was valid at once: nothing has changed by which anything else could go on. */
  #changesNothing = false;
  #effects: Effect[] = [];
  /** Monotonic, for all that is due; and by the wall clock, for what others compare with theirs. */
  #nowMs: number;
  #wallMs: number;
  /** See {@link Now.aheadMs}. */
  #aheadMs: number;
  #names = 0;
  /** The order in which executions are given locks is that in which they have come. */
  #tickets = 0;
  readonly #leader: Leader;
  #draining = false;
  /** Why new executions are refused for now; null: they are not. */
  #shedding: ShedReason | null = null;
  #halted = false;
  readonly #sampler: Sampler;

  /** `nextCron` left out: no schedule is one of fields. */
  constructor(
    options: CoreOptions,
    recovered: Recovered,
    { monotonicMs, wallMs, aheadMs = 0 }: Now,
    hasher: CallHasher,
    nextCron: NextCron = () => null,
  ) {
    this.#options = options;
    this.#pageItems = options.indexPageItems;
    this.#hasher = hasher;
    this.#epoch = recovered.epoch;
    this.#setBackEpoch = recovered.setBackEpoch ?? 0;
    this.#nowMs = monotonicMs;
    this.#wallMs = wallMs;
    this.#aheadMs = aheadMs;
    const led = {
      nextOperation: () => ++this.#names,
      emit: (effect: Effect) => void this.#effects.push(effect),
      refuse: (event: Event) => this.#refuseWithoutLeadership(event),
      replaced: () => this.#halt(TAKEN_OVER),
    };
    this.#leader = new Leader(led, recovered.leadership, options.retryMs, monotonicMs);
    const { readLeasesUntilMs = monotonicMs } = recovered;
    // variant: inherited-leases
    this.#inherited = readLeasesUntilMs > monotonicMs ? [{ kind: "passed", atMs: readLeasesUntilMs }] : [];
    const { namedReadLeaseMs = 0 } = recovered;
    const isNamed = namedReadLeaseMs >= options.readLeaseMs;
    this.#naming = new LeaseNaming(() => this.#nameReadLeases(), options.retryMs, isNamed);
    this.#listeners = new Listeners({
      epoch: recovered.epoch,
      ground: {
        isWanted: (unit) => this.#locks.isWantedExclusively(unit),
        versionOf: (unit) => this.#versionNow(unit),
        areNamed: () => this.#naming.isNamed(this.#nowMs),
      },
      emit: (effect) => void this.#effects.push(this.#afterNaming(effect)),
      entryOfSpan: (span) => this.#spanNow(span, null),
      policy: options.leasePolicy,
      isPrivate: (unit) => this.#modules.ruled.isPrivate(unit),
      sessionNumber: options.sessionNumber,
    });
    const { moduleUses = new Map(), moduleIndexes = new Map(), moduleTables, indexes = new Map() } = recovered;
    const { current = null } = recovered;
    this.#modules = new ModuleTable(recovered.modules, moduleUses, wallMs, moduleIndexes, current, moduleTables);
    this.#audits = new Audits(options.auditedPart, hasher, () => this.#modules.ruled);
    this.#tasks = new TaskTable(options.tasks, (handler) => this.#modules.current?.rules[handler]?.limit ?? null);
    this.#workflows = new Workflows({ ...options.workflows, retryMs: options.retryMs }, this.#workflowsHost);
    this.#cancellations = new Cancellations(this.#tasks, this.#workflows, this.#executions);
    this.#orders = new TaskOrders(
      this.#tasks,
      (task) => this.#isDead(task),
      (task) => this.#workflows.commands.withdrawnAs(task),
    );
    const { states, open = [] } = recovered.schedules ?? {};
    // variant: schedule-open
    for (const task of open) this.#tasks.watch(task);
    this.#schedules = new Schedules(states ?? new Map(), nextCron, (task) => this.#tasks.isOpen(task));
    this.#services = new Services(options.services, {
      nextName: () => ++this.#names,
      emit: (effect) => void this.#effects.push(effect),
      retry: (operation, effect) =>
        this.#deadlines.add(this.#nowMs + options.retryMs, { kind: "retry", operation, effect }),
      rulesOf: (service) => this.#modules.serviceOf(service),
      attemptsOf: (service) => this.#modules.current?.rules[service]?.attempts ?? DEFAULT_TASK_ATTEMPTS,
      arrived: (part) => this.#workflows.taskArrived(part),
      settled: (task, next) =>
        this.#taskSettled({ id: task.id, invocation: { module: task.module } }, task, next, next?.error ?? null),
      note: (name, { id, module }, more) => this.#note(name, { id, invocation: { module } }, more),
      undoFailed: (failure) => void this.#effects.push(alarmOf(failure)),
      replaced: () => this.#halt(TAKEN_OVER),
    });
    this.#indexes = new IndexTable(indexes, (tables) => this.#writersOf(tables));
    this.#indexes.name(this.#modules.indexes);
    this.#versions = new VersionTable(options.hotBytes, options.hashSeed);
    for (const [unit, item] of recovered.items ?? []) this.#versions.found(unit, item);
    this.#sampler = new Sampler(this.#versions, () => this.#nowMs);
    this.#budgets = new Budgets(options.location, options.requestBytes);
    this.#finished = new FinishedExecutions(options.finishedBytes, options.forgottenIds, wallMs);
    this.#since = this.#latest;
    const { answeredIds: maxIds, replayWindowMs } = options;
    this.#answered = new AnsweredRequests({ maxIds, replayWindowMs }, this.#since, wallMs);
    const installed = new Map<CommitId, Execution>();
    // variant: intents-adopted
    for (const { intent, first } of adoptionOrder(recovered.pending)) this.#adopt(intent, first, installed);
    this.#deadlines.add(monotonicMs, { kind: "tasks" });
    this.#indexes.awaitAll();
    if (!this.#indexes.isEmpty) this.#deadlines.add(monotonicMs, { kind: "turn" });
  }

  hasModule(module: ModuleHash): boolean {
    return this.#modules.plansOf(module) !== undefined;
  }

  /** The modules that can be run here. */
  get modules(): readonly ModuleUse[] {
    return this.#modules.uses;
  }

  /** The module that tasks run on; null: none was registered yet. */
  get currentModule(): ModuleHash | null {
    return this.#modules.current?.module ?? null;
  }

  /** The schedules of the current module, and how far they have come. */
  schedules(wallMs: number): readonly ScheduleStatus[] {
    return this.#schedules.list(wallMs);
  }

  /** Handlers whose runs have left their read/write set here. */
  get setsLeft(): readonly SetLeft[] {
    return this.#modules.setsLeft;
  }

  /** The indexes that registered modules name, and those that are being dropped. */
  get indexes(): readonly IndexStatus[] {
    return this.#indexes.statuses;
  }

  /** The executions under way, by module. */
  get moduleLoads(): ReadonlyMap<ModuleHash, ModuleLoad> {
    const loads = new Map<ModuleHash, ModuleLoad>();
    for (const execution of this.#executions.values()) {
      if (execution.turning !== null || execution.schedule !== null) continue;
      const { module } = execution.invocation;
      const { executions, pending } = loads.get(module) ?? { executions: 0, pending: 0 };
      loads.set(module, { executions: executions + 1, pending: pending + (intentOf(execution) === null ? 0 : 1) });
    }
    return loads;
  }

  /** When to send the event `clock`, monotonic; null: not until something else happens. */
  get wakeAtMs(): number | null {
    const { isLeading, wakeAtMs } = this.#leader;
    const atMs = isLeading ? Math.min(this.#deadlines.nextMs ?? Infinity, wakeAtMs) : wakeAtMs;
    return this.#halted || atMs === Infinity ? null : atMs;
  }

  /** The number of isolates of locations that listen. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** The first tasks of lanes that are dead: those that memory has. */
  get deadHeads(): readonly TaskOutline[] {
    return this.#tasks.deadHeads;
  }

  /** The state of a task that storage has, as an operator sees it. */
  taskStateOf(task: Task): TaskState {
    return this.#isDead(task) ? "dead" : this.#tasks.stateOf(task, this.#instant);
  }

  /** Tells whether an effect may name the task before storage is asked for it. Null: events were put off that may bring some. */
  get namesTask(): ((task: ExecutionId) => boolean) | null {
    return this.#leader.isLeading ? this.#tasks.known : null;
  }

  /** The state of a workflow that storage has, as an operator sees it. */
  workflowStateOf(workflow: Workflow): WorkflowState | "ended" {
    return this.#workflows.stateOf(workflow);
  }

  openSteps(workflow: ExecutionId): readonly OpenStep[] {
    return this.#workflows.openSteps(workflow);
  }

  /** The number of workflows that have not ended; null: not all of them are known yet. */
  get openWorkflows(): number | null {
    return this.#workflows.table.areKnown ? this.#workflows.table.size : null;
  }

  /** Whether the current module has the handler, or the service, of a task. Before there is a module, nobody knows. */
  canRun(callee: string): boolean {
    const { current } = this.#modules;
    if (current === null) return true;
    return this.#modules.planOf(current.module, callee) !== undefined || current.services?.[callee] !== undefined;
  }

  /** After how many failures a task of the handler is dead. */
  taskAttemptsOf(handler: string): number {
    return this.#modules.current?.rules[handler]?.attempts ?? DEFAULT_TASK_ATTEMPTS;
  }

  /** The number of tasks in storage; null: they are not counted yet. */
  get openTasks(): number | null {
    return this.#tasks.all;
  }

  /** For how many seconds tasks that began might have begun before, since the server has started. */
  get taskStartDelays(): Distribution {
    return this.#tasks.startDelays;
  }

  /** Goes through all workflows that have not ended. */
  get workflowCounts(): WorkflowCounts {
    return this.#workflows.table.counts;
  }

  /** Goes through the executions under way. Tasks and workflows are counted as they change. */
  get load(): Load {
    let [pending, overdue, waiting, clearing, running] = [0, 0, 0, 0, 0];
    let oldestPendingMs = 0;
    for (const { followers } of this.#runs.values()) running += 1 + followers.length;
    for (const execution of this.#executions.values()) {
      const { phase } = execution;
      const intent = intentOf(execution);
      if (intent !== null) {
        pending++;
        oldestPendingMs = Math.max(oldestPendingMs, this.#instant.wallMs - intent.createdAtMs);
      }
      const told = completes(phase)?.of ?? phase;
      if (told.kind === "pending" && told.kills > 0) overdue++;
      if (phase.kind === "waiting" || phase.kind === "watching") waiting++;
      if (phase.kind === "clearing") clearing++;
    }
    return {
      executions: this.#executions.size,
      pending,
      oldestPendingMs,
      overdue,
      waiting,
      clearing,
      running,
      lockedUnits: this.#locks.size,
      hotUnits: this.#versions.size,
      hotBytes: this.#versions.bytes,
      finished: this.#finished.size,
      answered: this.#answered.size,
      tasks: this.#tasks.countsAt(this.#instant.nowMs),
      workflows: this.openWorkflows,
      sessions: this.#listeners.sessions,
      leasedUnits: this.#listeners.leases.size,
    };
  }

  /** The services that were called, and whether the current module has some. */
  get services(): Omit<ServicesStatus, "worker"> {
    const { services = {} } = this.#modules.current ?? {};
    return { areNeeded: Object.keys(services).length > 0, services: this.#services.statuses };
  }

  /** Of read leases, since the server has started. */
  get leaseCounts(): LeaseCounts {
    return this.#listeners.leases.counts;
  }

  readLeases(monotonicMs: number): ReadLeaseStatus {
    return { readLeaseMs: this.#options.readLeaseMs, locations: this.#listeners.leases.locations(monotonicMs) };
  }

  /** The locations that hold a read lease of the unit. */
  leasedTo(unit: UnitId): readonly string[] {
    return this.#listeners.leases.leasedTo(unit);
  }

  /** A session of an isolate that listens; undefined: it is over, or never was. */
  session(id: SessionId): Session | undefined {
    return this.#listeners.session(id);
  }

  /** No location may answer by a read lease of this server. */
  get isClear(): boolean {
    return this.#listeners.isClear;
  }

  /** The executions that hold locks. */
  get lockHolders(): readonly ExecutionId[] {
    const ids: ExecutionId[] = [];
    for (const { id } of this.#locks.owners()) ids.push(id);
    return ids;
  }

  /** The waits for locks, each with the executions that hold locks in its way. */
  get lockWaits(): readonly LockWait[] {
    return Array.from(this.#locks.waits(), (wait) => ({ wait, inWay: [...this.#locks.blockers(wait.owner)] }));
  }

  /** Nothing is under way, locked or waited for. */
  get isIdle(): boolean {
    const underWay = this.#taskQuestions.size + this.#ordered.size + this.#services.calling;
    const operations = this.#operations.size + underWay;
    const isUnderWay = operations > 0 || this.#workflows.isUnderWay || this.#naming.isUnderWay;
    return this.#executions.size === 0 && this.#locks.isEmpty && !isUnderWay && this.isLeading;
  }

  /** All tasks that may begin have ended, and so has all else that may bring some. Nothing more happens to them before {@link nextDueMs}. */
  get areTasksSettled(): boolean {
    return this.isIdle && this.#workflows.running === 0 && this.#nowMs >= this.#asksAtMs;
  }

  /** When the next task is due, a tick, a probe of a service, or a wait of a workflow, by the monotonic time of tasks. Infinity: nothing is. */
  get nextDueMs(): number {
    const now = this.#instant;
    const dueMs = Math.min(this.#tasks.wakeAtMs(now), this.#services.wakeAtMs(now.nowMs));
    return Math.min(dueMs, this.#schedules.dueAtMs(now), this.#workflows.wakeAtMs);
  }

  /** False: another server may lead, and this one does nothing. */
  get isLeading(): boolean {
    return this.#leader.isLeading;
  }

  /** Throws if the state breaks an invariant, between two steps. */
  assertWellFormed(): void {
    // A server that was replaced acts on nothing any more, and stops in the middle of a step.
    if (this.#halted) return;
    assert(this.#ready.length + this.#due.length === 0, "a step does everything that can be done");
    this.#tasks.assertWellFormed();
    assertWellFormed({
      executions: this.#executions,
      clearing: this.#clearing,
      leases: this.#listeners.leases,
      locks: this.#locks,
      operations: this.#operations.values(),
      runs: this.#runs.values(),
      lost: this.#lost,
      replaced: this.#replaced,
      used: this.#budgets.used,
    });
  }

  step({ monotonicMs, wallMs, aheadMs = 0 }: Now, event: Event): readonly Effect[] {
    this.#nowMs = monotonicMs;
    this.#wallMs = wallMs;
    this.#aheadMs = aheadMs;
    this.#effects = [];
    this.#changesNothing = false;
    // Listening needs no leadership, and is not put off.
    const isListening = event.kind === "listens" || event.kind === "stopped-listening";
    if (isListening || this.#leader.admits(monotonicMs, event)) this.#act(event);
    return this.#effects;
  }

  #act(event: Event): void {
    this.#handle(event);
    while (this.#mayBeClear || this.#ready.length > 0 || this.#due.length > 0 || this.#replaces) {
      if (this.#mayBeClear) this.#goOnClear();
      for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) this.#goOn(next);
      const next = this.#ready.shift();
      const phase = next?.phase;
      if (next !== undefined && (phase?.kind === "waiting" || phase?.kind === "watching")) {
        this.#noteWaited(next, phase);
        this.#proceed(next, phase.stage);
      }
      if (this.#replaces) this.#replaceNext();
    }
    // Most steps are of this kind. Schedules, tasks and workflows that wait for a time have deadlines of their own.
    if (!this.#changesNothing) {
      this.#goOnWithSchedules();
      this.#goOnWithTasks();
    }
    // variant: step-ends
    this.#versions.evict();
  }

  #handle(event: Event): void {
    switch (event.kind) {
      case "lvi-request":
        return this.#request(event.caller, event.request);
      case "followup":
        return this.#followup(event.caller, event.followup);
      case "workflow-question":
        return this.#workflowQuestion(event.caller, event.question);
      case "workflow-order":
        this.#workflows.callers.order(event.caller, event.action, event.workflow);
        return;
      case "module-registered":
        return this.#registered(event);
      case "looked-up":
        return this.#lookedUp(event.operation, event.record);
      case "loaded":
        return this.#loaded(event.operation, event.items);
      case "scanned":
        return this.#scanned(event.operation, event.rows);
      case "too-much-to-load":
        return this.#tooMuchToLoad(event.operation);
      case "intent-stored":
        return this.#intentStored(event.operation, event.result);
      case "tasks-read":
        return this.#tasksRead(event.operation, event.answer);
      case "workflows-read":
        this.#mayBeClear ||= event.answer.kind === "open" && this.#clearing.size > 0;
        return this.#workflows.read(event.operation, event.answer);
      case "advanced":
        return this.#advanced(event.operation, event.result);
      case "task-order":
        return this.#orders.add(event.caller, event.order);
      case "order-carried-out":
        return this.#orderDone(event.operation, event.result);
      case "schedule-asked":
        return this.#scheduleAsked(event);
      case "task-changed":
        return this.#services.changed(event.operation, event.result, this.#instant);
      case "called":
        return this.#services.answered(event.call, event.answer, this.#instant);
      case "completed":
        return this.#completed(event.operation, event.result);
      case "leadership-renewed":
        throw new Error("The answer to a renewal of the leadership names no renewal that is under way");
      case "read-leases-named":
        return event.isHeld ? this.#naming.named(event.operation) : this.#halt(TAKEN_OVER);
      case "storage-failed":
        return this.#storageFailed(event.operation, event.effect, event.reason);
      case "executed":
        return this.#executed(event.run, event);
      case "clock":
        return this.#clock();
      case "collect":
        return this.#collect();
      case "collected": {
        const { collectBatch } = this.#options;
        // A whole batch: there may be more.
        if (event.intents >= collectBatch || event.outcomes >= collectBatch) this.#collect();
        return;
      }
      case "sampling":
        this.#sampler.begin(event.samplings);
        return;
      case "heard":
        this.#listeners.step(event, this.#term);
        this.#mayBeClear = this.#clearing.size > 0;
        return;
      case "listens":
      case "stopped-listening":
        this.#listeners.step(event, this.#term);
        // These need no leadership, and going on does.
        if (this.#clearing.size > 0) this.#deadlines.add(this.#nowMs, { kind: "clear", execution: null });
        return;
      case "shed":
        this.#shedding = event.reason;
        return;
      case "drain":
        this.#draining = true;
        this.#workflows.callers.drain();
        for (const untilMs of this.#listeners.end(this.#nowMs))
          this.#deadlines.add(untilMs, { kind: "clear", execution: null });
    }
  }

  /** Records go when their time is over: done intents, their outcomes, and modules that nobody asks for. */
  #collect(): void {
    const { retentionMs, outcomeRetentionMs, moduleRetentionMs, collectBatch: limit } = this.#options;
    // variant: done-kept-for
    const doneBeforeMs = this.#wallMs - retentionMs;
    const toldBeforeMs = this.#wallMs - outcomeRetentionMs;
    this.#finished.collect(doneBeforeMs, toldBeforeMs, this.#wallMs);
    this.#listeners.lapse(this.#nowMs);
    const used = this.#modules.takeUsed();
    // Each workflow is pinned to one, also those that are not known yet.
    const keptMs = this.#workflows.table.modules === null ? Infinity : moduleRetentionMs;
    // variant: modules-unused
    const unused = this.#modules.takeUnused(keptMs, () => this.#namedModules());
    if (unused.length > 0) this.#nameIndexes();
    this.#effects.push({ kind: "collect", doneBeforeMs, toldBeforeMs, limit, used, unused });
  }

  /** Pending intents are among the executions, and so is whatever runs. A module may be all that names an index in storage. */
  #namedModules(): ReadonlySet<ModuleHash> {
    const run = [...this.#executions.values()].map(({ invocation }) => invocation.module);
    return new Set([...run, ...(this.#workflows.table.modules ?? []), ...this.#modules.naming(this.#indexes.unstored)]);
  }

  // ── The request ────────────────────────────────────────────────────────────────────────────────────────────────────

  #request(id: CallerId, request: LviRequest): void {
    const { executionId, module, handler, units, location } = request;
    const waitMs = Math.min(request.deadlineMs, this.#options.maxWaitMs);
    const caller: Caller = { id, request, receivedAtMs: this.#wallMs, deadlineMs: this.#nowMs + waitMs };
    const refuse = (code: RefusalCode, message: string, retryAfterMs: number | null): void => {
      this.#remember(request);
      this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, NO_FACTS);
    };

    this.#endOwnLeases(request);
    if (this.#halted) return refuse("draining", TAKEN_OVER, 1_000);
    const outside = units === null ? null : this.#modules.outside(module, handler, units);
    const forbidden = outside ?? (units === null ? null : this.#modules.privateIn(handler, units));
    if (forbidden !== null) {
      const detail = `${forbidden}; the location ${location} has sent it`;
      // A location with an older build does not know that a table has become private.
      if (outside !== null || module === this.#modules.current?.module)
        this.#note("outside_tables_alarm", { id: executionId, invocation: request }, { handler, detail });
      return refuse("outside_tables", forbidden, null);
    }
    if (units !== null && this.#modules.declares(module, handler)) this.#listeners.read(location, units);
    this.#modules.use(module, this.#wallMs);
    const known = this.#executions.get(executionId);
    if (known !== undefined) {
      // A task is nobody's to join.
      if (isOwed(known) || !isSameCall(callOf(known.invocation), callOf(request)))
        return refuse("idempotency_key_reused", REUSED, null);
      return this.#join(known, caller);
    }
    if (this.#workflows.table.has(executionId)) {
      if (!this.#workflows.join(this.#workflowCaller(caller), request))
        return refuse("idempotency_key_reused", REUSED, null);
      return;
    }
    const done = this.#finished.get(executionId);
    if (done !== undefined) return this.#replyStored(caller, done, NO_FACTS);
    const seen = this.#answered.look(request, this.#latest, this.#wallMs);
    if (seen !== "new") return refuse("in_doubt", seen === "answered" ? ANSWERED : IN_DOUBT, 0);

    if (this.#draining) return refuse("draining", "The server is shutting down.", 1_000);
    const plans = this.#modules.plansOf(module);
    if (plans === undefined) return refuse("unknown_module", `The module ${module} is not registered.`, 1_000);
    const plan = plans.get(handler);
    if (plan === undefined) return refuse("unknown_handler", `The module ${module} has no handler ${handler}.`, null);
    const unready = this.#indexes.unready(this.#modules.indexesOf(module));
    if (unready !== null) return refuse("index_building", wordsOfUnready(unready), 1_000);
    const behindMs = this.#wallMs - request.environment.timeMs;
    // A location hears of time that was moved later than this server.
    if (Math.max(-behindMs, behindMs - this.#aheadMs) > this.#options.maxClockSkewMs) {
      return refuse(
        "clock_skew",
        `The location's time ${request.environment.timeMs} is too far from the server's.`,
        null,
      );
    }
    if (units !== null && units.length > this.#options.maxUnits) {
      return refuse(
        "too_many_units",
        `The read/write set has ${units.length} units; at most ${this.#options.maxUnits} can be locked.`,
        null,
      );
    }
    if (request.mustNotWrite && units?.some(({ mode }) => mode !== "read") === true) {
      const message = wroteOnGet(handler, "its read/write set has units that it writes");
      this.#note("wrote_on_get_alarm", { id: executionId, invocation: request }, { handler, detail: message });
      return refuse("wrote_on_get", message, null);
    }
    const tasks = this.#tasks.all;
    // An execution that has an intent is never refused, so tasks are bounded here.
    if (request.mayEffect && tasks !== null && tasks >= this.#options.maxTasks)
      return refuse("busy", `${tasks} tasks wait. Try again later.`, 1_000);
    if (this.#shedding !== null) return this.#shed(caller, this.#shedding);
    if (this.#executions.size >= this.#options.maxExecutions) {
      return refuse("busy", `${this.#executions.size} executions are under way. Try again later.`, 1_000);
    }
    if (plan === "workflow") {
      if (this.#workflows.table.size >= this.#options.maxTasks)
        return refuse("busy", `${this.#workflows.table.size} workflows are under way. Try again later.`, 1_000);
      return this.#workflows.start(this.#workflowCaller(caller), request);
    }

    const usage = usageOf(request.args, units ?? []);
    const excess = this.#budgets.excess(location, usage);
    if (excess !== null) return refuse("over_budget", excess.words, excess.retryAfterMs);

    const isNew = !this.#finished.isForgotten(executionId, this.#isOurs(request), this.#wallMs);
    if (isNew && this.#modules.runsAtLocations(module, plan) && this.#validatesAtOnce(request)) {
      this.#changesNothing = true;
      this.#note("valid", { id: executionId, invocation: request });
      this.#remember(request);
      if (this.#sampler.isOn && units !== null)
        this.#sampleValid({ id: executionId, location, invocation: request }, units);
      this.#replyValid(caller, null, NO_FACTS);
      if (units !== null && this.#listeners.sessions > 0) this.#hasRead(location, units, request.session);
      return;
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

  /** The isolate has dropped its leases on what it is about to write. */
  #endOwnLeases({ location, units, session }: LviRequest): void {
    // variant: drops-told
    if (units !== null && session !== null) this.#listeners.leases.dropped(location, units, session);
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
    if (this.#workflows.ownsOperation(operation)) return this.#workflows.callers.lookedUp(operation, record);
    const { execution } = this.#takeOperation(operation, "look-up");
    if (record === null) this.#begin(execution);
    else this.#taken(execution, record);
  }

  #begin(execution: Execution): void {
    const { declared, retained, invocation } = execution;
    const { module, handler } = invocation;
    if (declared === null || !this.#modules.runsAtLocations(module, this.#modules.planOf(module, handler))) {
      return this.#runNearStorage(execution, "requested", null);
    }
    // variant: index-near-storage
    if (this.#lacksIndex(module, declared.units)) return this.#runNearStorage(execution, "requested", null);
    const { units } = declared;
    // Departure from the paper (section 3.6), where readers hold read locks to the end of the execution. Here a read-only
    // execution takes its place in the order in the one step that validates it, and holds nothing afterwards.
    const stage: Validate = { kind: "validate", declared };
    if (units.every(({ mode }) => mode === "read") && !retained && !declared.mayEffect)
      return this.#validate(execution, stage);
    if (this.#lockBehind(execution, units)) {
      this.#note("queued_behind", execution);
      return this.#validate(execution, stage);
    }
    this.#lock(execution, declaredLocks(units), stage);
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

  // ── Validation ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Whether the request is valid and over in this step. It only reads, no told execution will write what it reads, and all
   * versions are in memory and the same. Most requests are of this kind, and the core keeps nothing of them as an
   * execution.
   */
  #validatesAtOnce({ units, retained, mayEffect }: LviRequest): boolean {
    if (units === null || retained || mayEffect) return false;
    for (const accessed of units) {
      if (accessed.mode !== "read" || accessed.version === null) return false;
      if (this.#locks.isLocked(accessed.unit) && this.#toldHolder(null, accessed.unit) !== undefined) return false;
      if (!this.#versions.isCurrent(accessed.unit, accessed.version)) return false;
    }
    return true;
  }

  /** Compares versions: under locks if the execution writes, else in this one step. */
  #validate(execution: Execution, stage: Validate): void {
    const { speculator, units: all } = stage.declared;
    // Blind writes are locked and need no version.
    const declared = all.filter((accessed) => accessed.mode !== "write");
    const foreign = declared.filter(({ unit, version }) => !this.#isOwnWrite(execution, unit, version));
    const units = foreign.map(({ unit }) => unit);
    if (!this.#settled(execution, units, stage)) return;
    if (!this.#hot(execution, units, stage)) return;

    if (foreign.length < declared.length) this.#note("own_write", execution);
    const stale = foreign.filter(({ unit, version }) => version === null || !this.#versions.isCurrent(unit, version));
    if (stale.length > 0) {
      for (const { unit, version } of stale) if (!isSpan(unit)) this.#checkLostWrite(execution, unit, version);
      const [first] = stale;
      const version = first === undefined ? null : this.#versions.commitOf(first.unit);
      const old = stale.flatMap(({ unit, version: had }) => (had === null || had.hash === null ? [] : [unit]));
      this.#note("stale", execution, { units: stale.map(({ unit }) => unit), old, version });
      return this.#runInPlace(execution, "stale");
    }
    // An index may have become known while it waited.
    // variant: index-told
    if (this.#lacksIndex(execution.invocation.module, all)) return this.#runInPlace(execution, "requested");
    // variant: intent-needed
    if (execution.retained || stage.declared.mayEffect || all.some(({ mode }) => mode !== "read")) {
      if (!this.#isCrowded(execution)) return this.#storeIntent(execution, stage.declared);
      this.#note("contended", execution);
      return this.#runNearStorage(execution, "stale", null);
    }

    this.#note("valid", execution);
    if (this.#sampler.isOn) this.#sampleValid(execution, all);
    if (this.#listeners.sessions > 0) this.#hasRead(execution.location, all, execution.sender);
    const others = execution.callers.filter((caller) => caller !== speculator);
    this.#endWithoutTrace(execution, [speculator]);
    this.#replyValid(speculator, null, NO_FACTS);
    // No trace is left of it, so whoever joined starts anew.
    for (const { id, request } of others) this.#request(id, request);
  }

  /** It is not told. Near storage it may write at any time, so it must not hold what somebody ahead still reads. */
  #runInPlace(execution: Execution, cause: ExecutedCause): void {
    if (execution.ahead.size > 0) {
      this.#leaveQueue(execution);
      this.#unlock(execution);
    }
    this.#runNearStorage(execution, cause, null);
  }

  /** An execution that only reads has these units in their current versions: its location may get read leases on them. */
  #hasRead(location: string, units: readonly AccessedUnit[], sender: SenderSession | null): void {
    if (sender?.watches !== true) return this.#listeners.leases.validated(location, units, sender, this.#term);
    // It asks again after each change, so a lease would answer none of its reads, and its writers would wait for it.
    this.#watchFor(
      sender,
      units.map(({ unit }) => unit),
    );
  }

  #watchFor(sender: SenderSession, units: Iterable<UnitId>): void {
    // variant: watch-registered
    this.#listeners.watch(sender, units, this.#nowMs);
  }

  /**
   * Whether so many wait for its units that one durable write, near storage, is better for all of them than two. Once told,
   * it would be re-executed at once: an intent first, and then its writes. An execution behind own writes has to be told.
   */
  #isCrowded(execution: Execution): boolean {
    // variant: crowded-behind
    return execution.ahead.size === 0 && this.#locks.waitersBehind(execution, CROWD).length === CROWD;
  }

  /** A version that is newer than the primary's, with no pending intent behind it, is that of a write that was lost. */
  #checkLostWrite(execution: Execution, unit: UnitId, version: Version | null): void {
    const { version: current } = present(this.#versions.get(unit), VALIDATED);
    if (version === null || version.hash === null || current.hash === null) return;
    if (compareCommits(version.commitId, current.commitId) <= 0) return;
    // variant: set-back-known
    if (commitParts(version.commitId).epoch < this.#setBackEpoch) return;
    const detail = `${unit}: ${version.commitId} after ${current.commitId}`;
    this.#note("lost_write_alarm", execution, { detail });
  }

  /**
   * Whether no unit is held by a told execution; else waits until those are applied. A writer that was not told yet may
   * be passed: nobody can have seen it. Readers that were overtaken several times queue for locks like writers.
   */
  #settled(execution: Execution, units: readonly UnitId[], stage: Stage): boolean {
    const told = units.filter((unit) => this.#toldHolder(execution, unit) !== undefined);
    if (told.length === 0) return true;
    if (++execution.watches > this.#options.maxRounds && this.#locks.heldBy(execution).size === 0) {
      this.#lock(execution, accessesOf(new Map(units.map((unit) => [unit, "shared"]))), stage);
      return false;
    }
    this.#watch(execution, told, stage);
    // A span may have many of them inside.
    const holders = new Set(told.flatMap((unit) => this.#locks.exclusiveHolders(unit)));
    for (const holder of holders) if (holder !== execution && isTold(holder)) this.#replay(holder, "contention");
    return false;
  }

  /** The last told execution that is to write the unit, or an item in it. */
  #toldHolder(execution: Execution | null, unit: UnitId): Execution | undefined {
    // variant: told-holder
    return this.#locks.exclusiveHolders(unit).findLast((holder) => holder !== execution && isTold(holder));
  }

  /**
   * Whether the version of a unit is the commit id of an intent, from the location that ran the intent's handler. That
   * location holds exactly what will be applied, and no other location has the commit id before that. So it reads its own
   * write at once, and its place in the order is behind that intent.
   */
  #isOwnWrite(execution: Execution, unit: UnitId, version: Version | null): boolean {
    // The commit id of a span says as of when, and a span that has one write of an intent may lack another one.
    // variant: own-write-span
    if (isSpan(unit)) return false;
    const writer = this.#toldHolder(execution, unit);
    // variant: own-write-version
    if (version === null || writer === undefined || intentOf(writer)?.commitId !== version.commitId) return false;
    // The commit id of an absence says as of when, and may be that of an intent which an earlier server had abandoned.
    if (version.hash === null) return false;
    // variant: own-write-location
    if (writer.location !== execution.location) return false;
    if (writer.phase.kind !== "completing") return writer.phase.kind === "pending";
    const { completion } = writer.phase;
    const write = completion.writes.find((candidate) => candidate.unit === unit);
    // variant: own-write-content
    return write !== undefined && sameVersion(unit, version, entryOf(completion.commitId, write.value).version);
  }

  /** Whether the version table holds the units; else loads those it lacks. */
  #hot(execution: Execution, units: readonly UnitId[], stage: Stage): boolean {
    const hole = this.#versions.holeIn(units);
    if (hole !== null) {
      this.#fill(execution, hole, Number.POSITIVE_INFINITY, false, stage);
      return false;
    }
    const missing = this.#versions.missing(units);
    if (missing.length === 0) return true;
    // If others are evicted while some are loaded, all together will be there in one step.
    const wanted = ++execution.loads > 3 ? itemsAmong(units) : missing;
    const unsettled = wanted.filter((unit) => this.#versions.isUnsettled(unit));
    if (unsettled.length > 0) this.#watch(execution, unsettled, stage);
    else {
      execution.phase = { kind: "loading", stage };
      this.#load(execution, wanted, false);
    }
    return false;
  }

  /** Loads rows of a hole, as many as are wanted and as one turn takes, or waits until the hole's one row is applied. */
  #fill(execution: Execution, hole: Hole, wanted: number, keepsValues: boolean, stage: Stage): void {
    const { ranges } = this.#versions;
    if (execution.scanned > ranges.mostRows) return this.#failForRows(execution, stage);
    const applied = this.#versions.unsettledIn(hole);
    if (applied !== null) return this.#watch(execution, [applied], stage);
    execution.phase = { kind: "loading", stage };
    this.#scan(execution, hole, ranges.rowsToLoad(hole.table, wanted), keepsValues, false);
  }

  #scan(execution: Execution, hole: Hole, limit: number, keepsValues: boolean, isReplay: boolean): void {
    const operation = ++this.#names;
    this.#operations.set(operation, { kind: "load", execution, isReplay, scan: { limit, keepsValues } });
    this.#versions.ranges.keep(execution);
    this.#versions.scanStarted(operation, hole);
    this.#effects.push({ kind: "scan", operation, executionId: execution.id, hole, limit });
  }

  #scanned(operation: OperationId, rows: readonly StoredRow[]): void {
    const { execution, isReplay, scan } = this.#takeOperation(operation, "load");
    const { limit, keepsValues } = present(scan, "rows are the answer to a scan");
    this.#versions.scanEnded(operation, rows, limit, keepsValues);
    execution.scanned += rows.length;
    if (isReplay) return this.#replayLoaded(execution);
    this.#proceed(execution, stageLoaded(execution));
  }

  #load(execution: Execution, units: readonly UnitId[], isReplay: boolean): void {
    const operation = ++this.#names;
    this.#operations.set(operation, { kind: "load", execution, isReplay, scan: null });
    this.#versions.loadStarted(operation, units);
    // The reads of an intent were validated, and the values must be loaded again.
    const mostBytes = isReplay ? Number.POSITIVE_INFINITY : this.#options.maxReadBytes;
    this.#effects.push({ kind: "load", operation, executionId: execution.id, units, mostBytes });
  }

  /**
   * Asks for values that a waiter needs and that memory lacks, if nobody else wants their units. So its locks are not held
   * while storage is asked, and it can follow in a train.
   */
  #warm(execution: Execution, stage: Stage): void {
    const reads = stage.kind === "validate" ? declaredReads(execution, null) : stage.near.wanted;
    const units = this.#versions
      .missing(reads)
      .filter((unit) => this.#locks.isWantedBy(execution, unit) && !this.#versions.isUnsettled(unit));
    if (units.length === 0) return;
    const operation = ++this.#names;
    this.#operations.set(operation, { kind: "warm", execution });
    this.#versions.loadStarted(operation, units);
    const { maxReadBytes: mostBytes } = this.#options;
    this.#effects.push({ kind: "load", operation, executionId: execution.id, units, mostBytes });
  }

  /** Whether the operation was for a waiter, which does not wait for it. It has ended then. */
  #isWarm(operation: OperationId): boolean {
    return this.#operations.get(operation)?.kind === "warm" && this.#operations.delete(operation);
  }

  #loaded(operation: OperationId, items: Parameters<VersionTable["loadEnded"]>[1]): void {
    this.#versions.loadEnded(operation, items);
    if (this.#isWarm(operation)) return;
    const { execution, isReplay } = this.#takeOperation(operation, "load");
    if (isReplay) return this.#replayLoaded(execution);
    this.#proceed(execution, stageLoaded(execution));
  }

  #tooMuchToLoad(operation: OperationId): void {
    this.#versions.loadFailed(operation);
    if (this.#isWarm(operation)) return;
    const { execution } = this.#takeOperation(operation, "load");
    this.#failForBytes(execution, stageLoaded(execution));
  }

  #failForRows(execution: Execution, stage: Stage): void {
    const near = stage.kind === "validate" ? null : stage.near;
    const { mostRows } = this.#versions.ranges;
    const message = `The handler reads ranges of more than ${mostRows} items, which is more than the server keeps in memory.`;
    this.#fail(execution, near, "too_many_units", message);
  }

  #failForBytes(execution: Execution, stage: Stage): void {
    const near = stage.kind === "validate" ? null : stage.near;
    if (near !== null && near.recording && near.guessing) return this.#captureStrictly(execution, near);
    const { maxReadBytes } = this.#options;
    this.#fail(execution, near, "too_many_units", `The handler reads more than ${maxReadBytes} bytes of values.`);
  }

  // ── The write intent and its followup ──────────────────────────────────────────────────────────────────────────────

  #storeIntent(execution: Execution, declared: Declared): void {
    this.#versions.ranges.release(execution);
    // variant: intent-commit-id
    const commit = this.#takeCommitId();
    const intent: Intent = {
      ...execution.invocation,
      executionId: execution.id,
      commitId: commit,
      location: execution.location,
      units: declared.units
        .map((accessed) => ({
          unit: accessed.unit,
          mode: accessed.mode,
          version: accessed.mode === "write" ? null : accessed.version,
        }))
        .toSorted(byUnit),
      lanes: declared.lanes,
      retained: execution.retained,
      mustNotWrite: execution.mustNotWrite,
      createdAtMs: this.#wallMs,
    };
    const operation = ++this.#names;
    // variant: lanes-named
    this.#tasks.names(execution, intent.lanes, commit);
    const storing: Storing = { kind: "storing", intent, sequence: this.#sequence, speculator: declared.speculator };
    execution.phase = storing;
    this.#operations.set(operation, { kind: "store", execution, storing, doubtful: false });
    // variant: intent-stored-first
    this.#effects.push({ kind: "store-intent", operation, intent });
  }

  #intentStored(operation: OperationId, result: StoreResult): void {
    const { execution, storing } = this.#takeOperation(operation, "store");
    const { intent } = storing;
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    if (result.kind === "exists") {
      const { record } = result;
      // A storage answer may have been lost: then the intent that exists is this one.
      if (record.state !== "pending" || record.intent.commitId !== intent.commitId)
        return this.#taken(execution, record);
    }
    const next: Tell = { kind: "tell", storing, operation };
    // variant: clear-before-valid
    if (!this.#isClear(execution)) return this.#clear(execution, next);
    this.#tellValid(execution, next);
  }

  /** From here on the execution is told. */
  #tellValid(execution: Execution, { storing, operation }: Tell): void {
    const { intent, sequence, speculator } = storing;
    this.#note("valid", execution);
    execution.phase = pendingOn(intent, sequence);
    this.#deadlines.add(this.#nowMs + this.#options.followupTimeoutMs, { kind: "followup", execution });
    execution.callers = execution.callers.filter((caller) => caller !== speculator);
    // variant: valid-after-intent
    this.#replyValid(speculator, intent.commitId, [{ kind: "operation", operation }, ...this.#clearFacts(execution)]);
    // variant: joined-while-stored
    if (execution.callers.length > 0) this.#replay(execution, "asked_again");
    else if (this.#locks.isContended(execution)) this.#replay(execution, "contention");
  }

  /** The execution id belongs to an execution that memory has forgotten: the stored record decides. */
  #taken(execution: Execution, record: IntentRecord | null): void {
    const { callers } = execution;
    this.#end(execution, null);
    if (record?.state === "done") {
      this.#finished.add(record.done);
      for (const caller of callers) this.#replyStored(caller, record.done, NO_FACTS);
      return;
    }
    if (record?.state === "workflow" && record.workflow.state === "ended") {
      const done = doneOf(record.workflow, NO_COMMIT);
      this.#finished.add(done);
      for (const caller of callers) this.#replyStored(caller, done, NO_FACTS);
      return;
    }
    if (record !== null && record.state !== "pending") {
      const words = { kind: "refused", code: "idempotency_key_reused", message: REUSED, retryAfterMs: null } as const;
      for (const caller of callers) this.#reply(caller, words, NO_FACTS);
      return;
    }
    this.#note("intent_alarm", execution, {
      detail: "The execution id has a pending intent that this server has not adopted.",
    });
    for (const caller of callers) this.#replyPending(caller);
  }

  #followup(caller: CallerId, followup: Followup): void {
    const answer = (result: FollowupVerdict, note: NoteName): void => {
      this.#effects.push({ kind: "followup-reply", caller, result, after: NO_FACTS });
      this.#note(note, { id: followup.executionId });
    };
    if (this.#halted) return answer("unknown_intent", "followup_unknown");
    const execution = this.#executions.get(followup.executionId);
    const done = this.#finished.get(followup.executionId);
    if (execution === undefined && done !== undefined) {
      if (done.commitId === followup.commitId && done.call !== null) {
        const hash = hashOfResult(done.call, hashOfEnded(followup), this.#hasher);
        if (hash !== null) this.#compare(done, done.location, done.resultHash, hash);
      }
      return answer("completed_before", "followup_late");
    }
    const intent = execution === undefined ? null : intentOf(execution);
    if (execution === undefined || intent === null || intent.commitId !== followup.commitId) {
      return answer("unknown_intent", "followup_unknown");
    }
    const { phase } = execution;
    // variant: followup-late
    const completion = completes(phase);
    if (completion?.of.kind === "pending") {
      const hash = "hash" in completion ? completion.hash : hashOfEnded(completion.ended);
      const about = execution.invocation;
      this.#compare(about, execution.location, hash, hashOfEnded(followup));
      this.#note("followup_late", execution);
      completion.followups.push({ caller, result: "completed_before" });
      return;
    }
    if (phase.kind !== "pending") return answer("not_covered", "followup_not_covered");
    const writable = new Set(intent.units.filter(({ mode }) => mode !== "read").map(({ unit }) => unit));
    // variant: followup-lanes
    const isCovered =
      followup.writes.every(({ unit }) => writable.has(unit)) &&
      lanesOf(followup.effects).every((lane) => intent.lanes.includes(lane));
    // variant: followup-covered
    if (!isCovered) {
      answer("not_covered", "followup_not_covered");
      return this.#replay(execution, "followup_not_covered");
    }
    const { maxCallers } = this.#options;
    // variant: followup-behind
    if (execution.ahead.size > 0) {
      if (!keepFollowup(phase.early, { caller, followup }, maxCallers))
        return answer("not_covered", "followup_not_covered");
      for (const first of execution.ahead) this.#replay(first, "own_write");
      return;
    }
    // variant: followup-audited
    if (this.#audits.wants(phase)) {
      const { followups } = (phase.audit ??= { followups: [], first: null });
      if (!keepFollowup(followups, { caller, followup }, maxCallers))
        return answer("not_covered", "followup_not_covered");
      return this.#replay(execution, "audit");
    }
    this.#note("followup_applied", execution);
    this.#completePending(execution, phase, followup, "followup", [{ caller, result: "applied" }]);
  }

  // ── Re-execution (paper, section 3.4) ──────────────────────────────────────────────────────────────────────────────

  /**
   * Runs the handler in place of the followup. Departure from the paper, which waits for the timer: it happens at once when
   * somebody waits for units of the intent. So a lock is held for a run of the handler here, not for a round trip to the
   * other side of the world.
   */
  #replay(execution: Execution, cause: ReExecutionCause): void {
    const { phase } = execution;
    if (phase.kind !== "pending" || phase.replay !== null) return;
    // variant: re-execution-behind
    if (execution.ahead.size > 0) {
      phase.wanted = cause;
      for (const first of execution.ahead) this.#replay(first, cause);
      return;
    }
    this.#note("re_execution", execution, { cause });
    phase.replay = "loading";
    this.#replayLoaded(execution);
  }

  /** A server that adopted many intents is not to have all its workers and all of storage busy with them. */
  get #replaces(): boolean {
    return this.#lost.size > 0 && this.#replaced.size < this.#options.maxReplaced;
  }

  #replaceNext(): void {
    const [execution] = this.#lost;
    if (execution === undefined) return;
    this.#lost.delete(execution);
    if (execution.phase.kind !== "pending" || execution.phase.replay !== null) return;
    this.#note("followup_lost", execution);
    // The executions ahead of it run first, and end it when they have ended.
    if (execution.ahead.size === 0) this.#replaced.add(execution);
    this.#replay(execution, "followup_lost");
  }

  /** Runs the handler if memory has all that it reads; else loads it. */
  #replayLoaded(execution: Execution): void {
    const { phase } = execution;
    // The followup was faster.
    if (phase.kind !== "pending") return;
    const { intent } = phase;
    const reads = readsOf(intent);
    const hole = this.#versions.holeIn(reads);
    if (hole !== null) {
      const limit = this.#versions.ranges.rowsToLoad(hole.table, Number.POSITIVE_INFINITY);
      return this.#scan(execution, hole, limit, false, true);
    }
    // Its locks hold off every change of the rows of its spans.
    const rows = reads.flatMap((unit) => this.#itemsIn(unit));
    const items = [...new Set([...itemsAmong(reads), ...rows])];
    if (this.#versions.missing(items).length > 0) return this.#load(execution, items, true);
    const snapshot = new Map<UnitId, Entry>();
    for (const unit of rows) snapshot.set(unit, present(this.#versions.get(unit), VALIDATED));
    for (const { unit, mode, version } of intent.units) {
      if (mode === "write") continue;
      const entry = present(this.#spanNow(unit, execution) ?? this.#versions.get(unit), VALIDATED);
      // An intent that was abandoned before a crash holds nothing that was validated.
      // variant: re-execution-reads
      if (version === null || !sameVersion(unit, version, entry.version)) return this.#abandon(execution, phase, false);
      snapshot.set(unit, entry);
    }
    const writes = intent.units.filter(({ mode }) => mode !== "read").map(({ unit }) => unit);
    phase.replay = "running";
    const set = { reads: new Set(reads), writes: new Set(writes), lanes: new Set(intent.lanes) };
    this.#run(execution, snapshot, { kind: "declared", set }, phase.kills, true, NO_FOLLOWERS);
  }

  #replayed(execution: Execution, result: RunResult): void {
    const { phase } = execution;
    if (phase.kind !== "pending") {
      // The followup was faster.
      if (result.kind === "completed" && phase.kind === "ended" && phase.hash !== null) {
        const hash = hashOfEnded(result);
        this.#compare(execution.invocation, execution.location, phase.hash, hash);
      }
      return;
    }
    phase.replay = null;
    if (phase.audit !== null && this.#audited(execution, phase, phase.audit, result)) return;
    switch (result.kind) {
      case "completed":
        return this.#completePending(execution, phase, result, "re-execution", []);
      // variant: re-execution-tried-again
      case "crowded-out":
      case "killed": {
        // It may have ended at the location, and its success be known: it is never given up.
        const detail = result.kind === "killed" ? result.reason : CROWDED_OUT_WORDS;
        // variant: re-execution-killed
        this.#note("re_execution_killed", execution, { detail });
        phase.kills++;
        const words = wordsOfOverdue(execution.invocation, phase.kills, detail);
        this.#note("overdue_intent_alarm", execution, { detail: words });
        this.#pauseReplay(execution, phase, this.#pauseMs(phase));
        return;
      }
      case "undeclared":
        // Its reads were validated, and their values are the same still.
        return this.#abandon(execution, phase, this.#setLeft(execution, result.reason));
      // variant: re-execution-exhausted
      case "exhausted":
      case "needs":
      case "missing":
      case "no-set":
        return this.#abandon(execution, phase, false);
      case "not-run":
      case "activated":
        throw new Error("Broken invariant: a re-execution did not begin");
    }
  }

  /** True: the run has decided about the followup, or another one will. False: the run counts as if no followup had come. */
  #audited(execution: Execution, pending: Pending, audit: Audit, result: RunResult): boolean {
    const { followups } = audit;
    const [first] = followups;
    assert(first !== undefined, "an audit has a followup");
    // variant: audit-stopped
    if (result.kind === "killed" || result.kind === "crowded-out") {
      // A followup that differs from a run waits for another run: its location may lie, and have chosen what stops the runs.
      if (audit.first !== null || this.#audits.isMust(pending.intent)) return false;
      this.#note("audit_given_up", execution);
      pending.audit = null;
      pending.kills++;
      for (const { caller, followup } of followups) this.#followup(caller, followup);
      return true;
    }
    const verdict = judge(audit, result);
    if (verdict === "again") {
      this.#replay(execution, "audit");
      return true;
    }
    pending.audit = null;
    if (verdict === "same") {
      this.#note("audit_passed", execution);
      this.#note("followup_applied", execution);
      const applied = followups.map(({ caller }) => ({ caller, result: "applied" }) as const);
      this.#completePending(execution, pending, first.followup, "followup", applied);
      return true;
    }
    const { location, invocation } = execution;
    const found = followups.map(({ followup }) => differences(followup, result));
    // variant: forged-told
    if (verdict === "forged") {
      const words = found.find((each) => each !== null) ?? "";
      const detail = `A followup of the location ${location} was not applied: ${words}. Two runs of the handler here agree on something else.`;
      this.#note("forged_alarm", execution, { handler: invocation.handler, detail });
    } else this.#unlike(invocation, "two runs of one execution here differ");
    const refused = verdict === "forged" ? "forged" : "not_covered";
    const answers = followups.map(({ caller }, index) => {
      return { caller, result: found[index] === null ? "applied" : refused } as const;
    });
    if (result.kind === "completed") {
      // variant: forged-replaced
      this.#completePending(execution, pending, result, "re-execution", answers);
      return true;
    }
    for (const answer of answers) this.#effects.push({ kind: "followup-reply", ...answer, after: NO_FACTS });
    return false;
  }

  #pauseReplay(execution: Execution, pending: Pending, ms: number): void {
    pending.replay = "paused";
    this.#replaced.delete(execution);
    this.#deadlines.add(this.#nowMs + ms, { kind: "replay", execution });
  }

  /**
   * The handler left its declared set, or used up the fuel of a speculation. So the location's run stopped there too, and
   * nobody was told a success. The locks and the validated versions mean nothing, and the execution runs near storage. Its
   * intent stays pending meanwhile.
   */
  #abandon(execution: Execution, { intent, pauses, early, audit }: Pending, hasLeftSet: boolean): void {
    this.#note("abandoned_intent", execution);
    this.#lost.delete(execution);
    this.#replaced.delete(execution);
    const abandoned = abandonedOf(intent, pauses, hasLeftSet);
    execution.phase = abandoned;
    // The one ahead may have been abandoned in this step: these have been put off, and are not covered now.
    for (const { caller, followup } of [...early, ...(audit?.followups ?? [])]) this.#followup(caller, followup);
    this.#leaveQueue(execution);
    this.#unlock(execution);
    // It will commit under another id.
    this.#tasks.ended(execution, this.#instant);
    this.#runNearStorage(execution, "requested", abandoned);
  }

  /** `location`: one of the two is its followup. Memory may not have the values any more to tell whether it lies. */
  #compare(
    run: { executionId: ExecutionId; module: ModuleHash },
    location: string,
    first: string,
    second: string,
  ): void {
    if (first !== second)
      this.#unlike(run, `two runs of one execution differ: one is the followup of the location ${location}`);
  }

  #unlike(run: { executionId: ExecutionId; module: ModuleHash }, detail: string): void {
    this.#modules.suspect(run.module);
    const about = { id: run.executionId, invocation: run };
    this.#note("determinism_alarm", about, { detail });
  }

  // ── Near-storage execution ─────────────────────────────────────────────────────────────────────────────────────────

  #runNearStorage(execution: Execution, cause: ExecutedCause, abandoned: Abandoned | null): void {
    // A pending intent is a promise, whatever it costs.
    const excess = abandoned === null ? this.#budgets.excessOfRuns(execution.location, this.#nowMs) : null;
    if (excess !== null) return this.#refuse(execution, "over_budget", excess.words, excess.retryAfterMs);
    this.#note("near_storage", execution, { cause });
    this.#capture(execution, this.#nearStorage(execution, cause, abandoned));
  }

  #nearStorage(execution: Execution, cause: ExecutedCause, abandoned: Abandoned | null): NearStorage {
    const { module, handler } = execution.invocation;
    const plan = this.#modules.planOf(module, handler);
    return {
      cause,
      abandoned,
      recording: plan === "recorded" || plan === "near-storage",
      guessing: true,
      wanted: declaredReads(execution, abandoned),
      queries: declaredCounts(execution, abandoned),
      runs: 0,
      rounds: 0,
      gated: false,
    };
  }

  /**
   * Takes the values of all wanted units in one step, in which no told execution holds any of them, and runs the
   * handler on them. That step is the place in the order of an execution that turns out to write nothing.
   */
  #capture(execution: Execution, near: NearStorage): void {
    const stage: Capture = { kind: "capture", near };
    const spans = this.#walk(execution, near, stage);
    if (spans === null) return;
    const rows = spans.flatMap((walked) => itemsOf(walked.span, walked.rows));
    const wanted = [...new Set([...near.wanted, ...rows])];
    if (wanted.length > this.#options.maxUnits || near.runs > this.#options.maxUnits) {
      if (near.recording && near.guessing) return this.#captureStrictly(execution, near);
      return this.#fail(
        execution,
        near,
        "too_many_units",
        `The handler accesses more than ${this.#options.maxUnits} units.`,
      );
    }
    // A span stands for its rows.
    const units = [...near.wanted, ...spans.map(({ unit }) => unit)];
    if (!this.#settled(execution, units, stage)) return;
    if (!this.#hot(execution, wanted, stage)) return;
    const snapshot = new Map<UnitId, Entry>();
    let bytes = 0;
    for (const unit of wanted) {
      const entry = this.#current(unit);
      snapshot.set(unit, entry);
      bytes += entry.value?.length ?? 0;
    }
    for (const { unit } of spans) snapshot.set(unit, present(this.#spanNow(unit, execution), HOT));
    assert(
      spans.every(({ span, rows: found }) =>
        found.every((row) => isRowOf(snapshot.get(unitId(span.table, row.key)), row)),
      ),
      "the rows and the values in memory are of the same versions",
    );
    if (bytes > this.#options.maxReadBytes) return this.#failForBytes(execution, stage);
    if (execution.turning !== null) {
      const walked = spans.flatMap(({ rows: found }) => found);
      return this.#turnPage(execution, execution.turning, near, walked, snapshot);
    }
    const followers = this.#followersOf({ execution, near, snapshot }, bytes);
    near.runs++;
    if (execution.sender?.watches === true) this.#watchFor(execution.sender, units);
    execution.phase = { kind: "running", near, snapshot };
    this.#run(execution, snapshot, this.#accessOf(execution, near), near.abandoned?.kills ?? 0, false, followers);
  }

  /** The spans that the queries of a run walk over, in this step; null: they are being loaded. */
  #walk(execution: Execution, { queries }: NearStorage, stage: Capture): readonly CapturedSpan[] | null {
    const { ranges } = this.#versions;
    const spans: CapturedSpan[] = [];
    for (const query of queries.values()) {
      const found =
        query.kind === "rows" ? ranges.walk(query) : (ranges.holeIn(query, false) ?? { span: query, rows: [] });
      if ("isReversed" in found) {
        const [wanted, keepsValues] = query.kind === "rows" ? [query.limit, true] : [Number.POSITIVE_INFINITY, false];
        this.#fill(execution, found, wanted, keepsValues, stage);
        return null;
      }
      spans.push({ unit: spanId(found.span), ...found });
    }
    return spans;
  }

  #accessOf(execution: Execution, near: NearStorage): RunAccess {
    if (near.recording) return { kind: "record", guess: near.guessing };
    // variant: near-storage-run
    return { kind: "derive", writable: this.#writable(execution, near) };
  }

  /** The units that the execution may write as of now; null: all. */
  #writable(execution: Execution, near: NearStorage): ReadonlySet<UnitId> | null {
    if (near.gated) return null;
    const held = this.#locks.heldBy(execution);
    return new Set([...held].filter((unit) => this.#locks.modeOf(execution, unit) === "exclusive"));
  }

  // ── Trains ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * The members that follow an execution that is about to run: the next of those that wait for its units, whose values are
   * in memory. `bytes`: of the values that the head has captured.
   */
  #followersOf(head: Member, bytes: number): readonly Member[] {
    if (!mayTravel(head.execution, head.near)) return NO_FOLLOWERS;
    const waiters = this.#locks.waitersBehind(head.execution, MOST_MEMBERS - 1);
    if (waiters.length === 0) return NO_FOLLOWERS;
    const members = new Set([head.execution]);
    /** A value that several members read is sent to their worker once. */
    const captured = new Map(head.snapshot);
    let roomBytes = this.#options.maxReadBytes - bytes;
    const followers: Member[] = [];
    for (const execution of waiters) {
      const follower = this.#follow(execution, members, captured, roomBytes);
      if (follower === null) continue;
      for (const [unit, entry] of follower.snapshot) {
        if (captured.has(unit)) continue;
        captured.set(unit, entry);
        roomBytes -= entry.value?.length ?? 0;
      }
      members.add(execution);
      followers.push(follower);
    }
    if (followers.length > 0) this.#note("train", head.execution, { times: members.size });
    return followers;
  }

  /** Null: it goes on waiting. */
  #follow(
    execution: Execution,
    members: ReadonlySet<Execution>,
    captured: ReadonlyMap<UnitId, Entry>,
    roomBytes: number,
  ): Member | null {
    const { phase, invocation } = execution;
    if (phase.kind !== "waiting" || phase.stage.kind === "confirm") return null;
    const [head] = members;
    // The worker is sent one module.
    if (invocation.module !== head?.invocation.module) return null;
    const near = phase.stage.kind === "capture" ? phase.stage.near : this.#nearStorage(execution, "stale", null);
    if (!mayTravel(execution, near) || near.runs >= this.#options.maxUnits) return null;
    if (this.#budgets.excessOfRuns(execution.location, this.#nowMs) !== null) return null;
    const accesses = this.#locks.wantedBy(execution);
    const locked = new Set(accesses.map(({ unit }) => unit));
    const snapshot = new Map<UnitId, Entry>();
    let bytes = 0;
    for (const unit of near.wanted) {
      let entry = captured.get(unit);
      if (entry === undefined) {
        if (!locked.has(unit) || this.#versions.get(unit) === undefined) return null;
        entry = this.#current(unit);
        bytes += entry.value?.length ?? 0;
      }
      snapshot.set(unit, entry);
    }
    if (bytes > roomBytes || !this.#want(execution, accesses, { following: members })) return null;
    this.#noteWaited(execution, phase);
    if (phase.stage.kind === "validate") this.#note("near_storage", execution, { cause: near.cause });
    near.runs++;
    execution.phase = { kind: "running", near, snapshot };
    return { execution, near, snapshot };
  }

  /** Completes in one commit what was done; the others leave, or wait again under their tickets. */
  #arrived(members: readonly Member[], results: readonly RunResult[]): void {
    // variant: index-train
    const { done, left, again } = arrivalOf(
      members,
      results,
      (execution, { reads, writes }) =>
        reads.every((unit) => this.#locks.modeOf(execution, unit) !== undefined) &&
        writes.every(({ unit }) => this.#locks.modeOf(execution, unit) === "exclusive") &&
        // Alone it gets the entries that go with its writes.
        !writes.some(({ unit }) => this.#keptFor(execution, tableOf(unit)).length > 0),
      () => ({ id: this.#takeCommitId(), sequence: this.#sequence }),
    );
    const completing: Ending[] = [];
    for (const { execution, near, ran, commit } of done) {
      const of: RanNearStorage = { kind: "near-storage", near, ran };
      if (commit === null && execution.step !== null) this.#endStep(execution, execution.step, ran.result, of);
      else if (commit === null) this.#answer(execution, near, ran);
      else completing.push({ execution, of, commit, ended: ran.result, path: "near-storage", followups: [] });
    }
    // variant: train-commit
    if (completing.length > 0) this.#completeClear(completing);
    // All of them let go before one of them asks, so that the next train has them in order.
    const waits = again.map((member) => this.#letGo(member));
    // variant: train-left-unlocked
    for (const { member } of left) if (member !== members[0]) this.#unlock(member.execution);
    for (const wait of waits) this.#waitAgain(wait);
    for (const { member, result } of left) this.#leave(member, result, member === members[0]);
  }

  /** `isHead`: it has run on durable values, and holds its locks. */
  #leave({ execution, near, snapshot }: Member, result: RunResult, isHead: boolean): void {
    this.#note("train_left", execution);
    if (isHead || result.kind !== "completed") return this.#ran(execution, near, snapshot, result);
    // Its result rests on values that are not durable: only what it has touched is of use.
    const set = { reads: new Set(result.reads), writes: new Set(result.writes.map(({ unit }) => unit)) };
    this.#ran(execution, near, snapshot, { kind: "needs", set });
  }

  /** Gives up its locks, and says what to wait for. */
  #letGo({ execution, near }: Pick<Member, "execution" | "near">): Again {
    const accesses: Access[] = [];
    for (const unit of this.#locks.heldBy(execution)) {
      const mode = this.#locks.modeOf(execution, unit);
      if (mode !== undefined) accesses.push({ unit, mode });
    }
    near.runs--;
    this.#unlock(execution);
    return { execution, near, accesses };
  }

  /** It has waited in its place before: no queue is too long for it. */
  #waitAgain({ execution, near, accesses }: Again): void {
    if (this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
    const isHeld = this.#want(execution, accesses, "wait");
    execution.phase = {
      kind: "waiting",
      stage: { kind: "capture", near },
      sinceMs: this.#nowMs,
      on: this.#waitedFor(execution),
    };
    if (isHeld) this.#ready.push(execution);
  }

  #ran(execution: Execution, near: NearStorage, snapshot: Ran["snapshot"], result: RunResult): void {
    switch (result.kind) {
      case "missing":
        for (const unit of result.units) near.wanted.add(unit);
        for (const query of result.queries ?? NO_QUERIES) addQuery(near.queries, query);
        return this.#capture(execution, near);
      case "needs": {
        const { reads, writes } = result.set;
        for (const unit of itemsAmong(reads)) near.wanted.add(unit);
        const { queries = NO_QUERIES } = result;
        for (const query of queries) addQuery(near.queries, query);
        for (const unit of reads) {
          const count = countIn(unit);
          if (count !== null) addQuery(near.queries, count);
        }
        // The span that a query will observe is not known before it has its answer.
        if (queries.length > 0) return this.#capture(execution, near);
        if (writes.size === 0 && this.#locks.heldBy(execution).size === 0) return this.#capture(execution, near);
        return this.#cover(execution, [...reads], [...writes], { kind: "capture", near });
      }
      case "completed": {
        const ran = { snapshot: withObserved(snapshot, result.reads), result };
        if (execution.step !== null && !mustLeaveTrace(execution, result))
          return this.#endStep(execution, execution.step, result, { kind: "near-storage", near, ran });
        // variant: get-must-not-write
        if (execution.mustNotWrite && result.writes.length + (result.effects ?? []).length > 0)
          return this.#refuseWrites(execution, near);
        if (!mustLeaveTrace(execution, result) && near.abandoned === null) return this.#answer(execution, near, ran);
        // variant: near-storage-covered
        return this.#cover(
          execution,
          result.reads,
          result.writes.map(({ unit }) => unit),
          { kind: "confirm", near, ran },
        );
      }
      case "undeclared":
        if (near.recording) return this.#fail(execution, near, "execution_failed", result.reason);
        if (near.abandoned === null) this.#setLeft(execution, result.reason);
        else near.abandoned.hasLeftSet ||= this.#setLeft(execution, result.reason);
        near.recording = true;
        return this.#capture(execution, near);
      case "no-set":
        near.recording = true;
        return this.#capture(execution, near);
      case "killed":
        if (near.recording && near.guessing) return this.#captureStrictly(execution, near);
        return this.#fail(execution, near, "execution_failed", result.reason);
      case "crowded-out":
        if (isOwed(execution)) return this.#fail(execution, near, "execution_failed", CROWDED_OUT);
        if (near.abandoned === null) return this.#refuseBusy(execution, CROWDED_OUT);
        // The next one is not crowded out as soon.
        near.abandoned.kills++;
        return this.#pause(execution, near.abandoned);
      case "not-run":
        throw new Error("Broken invariant: a run that was asked for alone did not begin");
      case "exhausted":
        throw new Error("Broken invariant: a run near storage had the fuel of a speculation");
      case "activated":
        throw new Error("Broken invariant: a handler ran as a workflow");
    }
  }

  /**
   * The execution came as a GET and has written, so the manifest is wrong about the handler. Nothing of the execution
   * remains.
   */
  #refuseWrites(execution: Execution, near: NearStorage): void {
    const { handler } = execution.invocation;
    const message = wroteOnGet(handler, "its run near storage has written");
    this.#note("wrote_on_get_alarm", execution, { handler, detail: message });
    this.#fail(execution, near, "wrote_on_get", message);
  }

  /** Counts a run that has left its set, if the handler has f^rw. True: it was counted. An execution counts once. */
  #setLeft(execution: Execution, reason: string): boolean {
    const { module, handler } = execution.invocation;
    const plan = this.#modules.planOf(module, handler);
    if (plan !== "sliced" && plan !== "given") return false;
    const times = this.#modules.leftSet(module, handler);
    const words = plan === "given" ? GIVEN_SET_LEFT : DERIVED_SET_LEFT;
    this.#note("set_left", execution, { handler, times, detail: `${words} (${reason}).` });
    return true;
  }

  /** On values that never were there together a handler may run forever: once more, on values that are there. */
  #captureStrictly(execution: Execution, near: NearStorage): void {
    near.guessing = false;
    near.wanted = declaredReads(execution, near.abandoned);
    near.queries = declaredCounts(execution, near.abandoned);
    this.#capture(execution, near);
  }

  /** Goes on under locks of all these units: those it lacks are taken if they are free; else it starts over. */
  #cover(execution: Execution, reads: readonly UnitId[], writes: readonly UnitId[], stage: Capture | Confirm): void {
    if (stage.near.gated) return this.#proceed(execution, stage);
    const needed = new Map<UnitId, LockMode>();
    for (const unit of reads) needed.set(unit, "shared");
    for (const unit of writes) needed.set(unit, "exclusive");
    if (!this.#grow(execution, stage.near, needed.size)) return;
    const held = this.#locks.heldBy(execution);
    if (held.size === 0) return this.#lock(execution, accessesOf(needed), stage);

    const lacking = new Map(
      [...needed].filter(([unit, mode]) => {
        const has = this.#locks.modeOf(execution, unit);
        return has === undefined || (has === "shared" && mode === "exclusive");
      }),
    );
    if (this.#want(execution, accessesOf(lacking), "now")) return this.#proceed(execution, stage);
    // An execution that waited while it holds units could close a circle: it releases all, and asks for the union.
    for (const unit of held) {
      const mode = this.#locks.modeOf(execution, unit);
      if (unit !== GATE && mode !== undefined && !needed.has(unit)) needed.set(unit, mode);
    }
    this.#startOver(execution, accessesOf(needed), stage);
  }

  /** Whether the location's budget has room for so many units of the execution; else it is refused. */
  #grow(execution: Execution, near: NearStorage, units: number): boolean {
    const { location, usage } = execution;
    const more = units - usage.units;
    if (more <= 0) return true;
    const excess = near.abandoned === null ? this.#budgets.excessOfUnits(location, more) : null;
    if (excess !== null) {
      this.#refuse(execution, "over_budget", excess.words, excess.retryAfterMs);
      return false;
    }
    this.#budgets.grow(location, more);
    execution.usage = { ...usage, units };
    return true;
  }

  /** A round is lost to contention: after a few the execution runs alone, so that it ends. */
  #startOver(execution: Execution, accesses: readonly Access[], stage: Capture | Confirm): void {
    const { near } = stage;
    this.#unlock(execution);
    if (++near.rounds < this.#options.maxRounds) {
      this.#note("contention_round", execution);
      return this.#lock(execution, accesses, stage);
    }
    this.#note("gate", execution);
    near.gated = true;
    // variant: gate-taken
    this.#lock(execution, [{ unit: GATE, mode: "exclusive" }], stage);
  }

  /** Everything touched is locked now: does what was read still hold? */
  #confirm(execution: Execution, stage: Confirm): void {
    const { near, ran } = stage;
    const { reads } = ran.result;
    if (!this.#hot(execution, reads, stage)) return;
    const changed = reads.some(
      (unit) => !this.#versions.isCurrent(unit, present(ran.snapshot.get(unit), CAPTURED).version),
    );
    // variant: reads-confirmed
    if (!changed) return this.#completeKept(execution, stage);
    if (near.gated) return this.#capture(execution, near);
    if (near.rounds + 1 >= this.#options.maxRounds) return this.#startOver(execution, [], { kind: "capture", near });
    near.rounds++;
    this.#note("contention_round", execution);
    this.#capture(execution, near);
  }

  // ── Indexes ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #registered(registration: Registration): void {
    this.#modules.register(registration, this.#wallMs);
    this.#indexes.tryAgain(registration.indexes ?? []);
    this.#nameIndexes();
  }

  /** From this step on the indexes that the modules name are kept. */
  #nameIndexes(): void {
    this.#indexes.name(this.#modules.indexes);
    if (!this.#indexes.isEmpty) this.#deadlines.add(this.#nowMs, { kind: "turn" });
  }

  /** Told executions, and those whose writes are on their way to storage, that write any of the tables. */
  #writersOf(tables: ReadonlySet<string>): readonly Execution[] {
    return [...this.#executions.values()].filter(
      (execution) => writesOf(execution)?.some((unit) => tables.has(tableOf(unit))) === true,
    );
  }

  /** Indexes of the table that the primary keeps for the execution. */
  #keptFor({ invocation }: Execution, table: string): readonly KnownIndex<Execution>[] {
    return this.#indexes.keptFor(table, this.#modules.indexesOf(invocation.module));
  }

  /**
   * Whether the units are to be written by a module that lacks an index of their table. It is not told `valid`: its entries are
   * known only where it runs, and the primary adds them to its commit.
   */
  #lacksIndex(module: ModuleHash, units: readonly AccessedUnit[]): boolean {
    if (this.#indexes.isEmpty) return false;
    const own = this.#modules.indexesOf(module);
    return units.some(({ unit, mode }) => mode !== "read" && this.#indexes.keptFor(tableOf(unit), own).length > 0);
  }

  /** Completes with the entries of indexes that the module lacks, once those are locked as well. */
  #completeKept(execution: Execution, stage: Confirm): void {
    const { near, ran } = stage;
    const of: RanNearStorage = { kind: "near-storage", near, ran };
    const { reads, writes } = ran.result;
    const keptFor = (table: string): readonly KnownIndex<Execution>[] => this.#keptFor(execution, table);
    const items = writes.map(({ unit }) => unit).filter((unit) => keptFor(tableOf(unit)).length > 0);
    // variant: index-entries
    if (items.length === 0) return this.#completeRan(execution, of, ran.result);
    if (!this.#hot(execution, [...reads, ...items], stage)) return;
    const stored = (unit: UnitId): Uint8Array | null => present(this.#versions.get(unit), HOT).value;
    const refused = (outcome: Outcome): void =>
      this.#completeRan(execution, { ...of, ran: null }, { outcome, writes: [] });
    const found = movesOf(writes, keptFor, stored);
    if (found.kind === "refused") return refused(found.outcome);
    const { units } = found;
    const areHeld = near.gated || units.every((unit) => this.#locks.modeOf(execution, unit) === "exclusive");
    if (!areHeld) return this.#cover(execution, reads, [...writes.map(({ unit }) => unit), ...units], stage);
    if (!this.#hot(execution, [...reads, ...items, ...units], stage)) return;
    const kept = keptWrites(found.moves, stored);
    if (kept.kind === "refused") return refused(kept.outcome);
    this.#completeRan(execution, of, { ...ran.result, writes: [...writes, ...kept.writes].toSorted(byUnit) });
  }

  /** Begins the next page of an index, if none is on its way. */
  #turnNext(): void {
    if (this.#turning !== null || this.#draining) return;
    const index = this.#indexes.next();
    if (index === null) return;
    const { declaration, state } = index;
    const page = { index: declaration, state, isNamed: this.#indexes.isNamed(index), items: this.#pageItems };
    const id = `${hex(this.#epoch, 8)}${hex(++this.#names, 24)}` as ExecutionId;
    const execution = turningOf(page, id, ++this.#tickets, this.#wallMs);
    this.#executions.set(id, execution);
    this.#budgets.begin(execution.location, execution.usage, this.#nowMs);
    this.#turning = { execution, index, sinceMs: this.#nowMs };
    const near = this.#nearStorage(execution, "requested", null);
    const rows = rowsOfPage(page);
    if (rows !== null) addQuery(near.queries, rows);
    this.#capture(execution, near);
  }

  /** The page takes the place of a handler's run: it goes on and commits as such a run does. */
  #turnPage(
    execution: Execution,
    turning: Turning,
    near: NearStorage,
    rows: readonly DirectoryRow[],
    snapshot: ReadonlyMap<UnitId, Entry>,
  ): void {
    const turned = turn(turning.page, rows, snapshot);
    if (turned.kind === "needs") {
      for (const unit of turned.units) near.wanted.add(unit);
      return this.#capture(execution, near);
    }
    turning.next = turned.next;
    const { reads, writes } = turned;
    this.#ran(execution, near, snapshot, {
      kind: "completed",
      outcome: NO_RESULT,
      reads,
      writes: writes.toSorted(byUnit),
    });
  }

  /** Of the execution that turns a page: it is stored, or was given up. */
  #turnEnded({ turning }: Execution, isStored: boolean): void {
    const { index, sinceMs } = present(this.#turning, "a page that ends is the one on its way");
    this.#turning = null;
    const { page, next } = present(turning, "the execution turns a page");
    let pauseMs = this.#options.retryMs;
    if (isStored && next !== undefined) {
      this.#indexes.turned(index, page.state, next);
      this.#pageItems = Math.min(this.#options.indexPageItems, this.#pageItems * 2);
      // Half of the time is left to others.
      pauseMs = Math.min(this.#nowMs - sinceMs, pauseMs);
      if (next?.phase !== page.state.phase) {
        const detail = `${page.index.name}: ${next?.phase ?? "dropped"} after ${page.state.items} items`;
        this.#note("index_turned", null, { detail });
      }
      // Its items may have too many bytes for one execution.
    } else this.#pageItems = Math.max(1, Math.floor(this.#pageItems / 2));
    this.#deadlines.add(this.#nowMs + pauseMs, { kind: "turn" });
  }

  // ── Tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Asks storage for tasks that memory lacks, and begins those that may begin. */
  #goOnWithTasks(): void {
    if (this.#halted) return;
    this.#workflows.goOn(this.#options.tasksAtOnce, this.#draining);
    for (const order of this.#orders.takeReady(this.#instant)) this.#carryOut(order);
    const mayAsk = this.#nowMs >= this.#asksAtMs;
    if (mayAsk) for (const question of this.#tasks.takeLookups()) this.#askForTasks(question);
    if (this.#draining)
      return this.#wakeForTasks(Math.min(this.#machineAtMs, this.#workflows.wakeAtMs - this.#aheadMs));
    this.#tasks.pass(this.#instant);
    const current = this.#modules.current?.module;
    if (current !== undefined && this.#indexes.unready(this.#modules.indexesOf(current)) === null) {
      const plans = this.#modules.plansOf(current);
      const mayBegin = (callee: string): boolean =>
        plans?.has(callee) === true || this.#services.mayCall(callee, this.#instant.nowMs);
      // Calls of services wait for others, and take nobody's turn.
      while (this.#tasks.running - this.#services.calling < this.#options.tasksAtOnce) {
        const task = this.#tasks.next(mayBegin, this.#instant);
        if (task === null) break;
        const plan = plans?.get(task.handler);
        if (task.isUnreadable === true) this.#attempt(task, current);
        else if (plan === "workflow") this.#workflows.startTask(task, current);
        else if (plan !== undefined) this.#attempt(task, current);
        else this.#services.begin(task, this.#instant);
      }
    }
    const isChanging = (): boolean => this.#changesTasks;
    if (mayAsk)
      for (const question of this.#tasks.takeQuestions(this.#instant, isChanging)) this.#askForTasks(question);
    const { nowMs } = this.#instant;
    const dueMs = Math.min(this.#tasks.wakeAtMs(this.#instant), this.#services.wakeAtMs(nowMs));
    const others = Math.min(this.#schedules.wakeAtMs, this.#workflows.wakeAtMs);
    this.#wakeForTasks(Math.min(this.#machineAtMs, Math.min(dueMs, others) - this.#aheadMs));
  }

  #askForTasks(question: TaskQuestion): void {
    const operation = ++this.#names;
    this.#taskQuestions.set(operation, question);
    this.#effects.push({ kind: "read-tasks", operation, question });
  }

  #wakeForTasks(atMs: number): void {
    const wakeAtMs = Math.max(this.#nowMs + 1, atMs);
    if (wakeAtMs >= this.#tasksAtMs || wakeAtMs === Infinity) return;
    this.#tasksAtMs = wakeAtMs;
    this.#deadlines.add(wakeAtMs, { kind: "tasks" });
  }

  /** When storage is asked again, after it has failed, or a caller is told how a workflow stands. */
  get #machineAtMs(): number {
    const asksAtMs = this.#asksAtMs > this.#nowMs ? this.#asksAtMs : Infinity;
    return Math.min(asksAtMs, this.#workflows.tellsAtMs);
  }

  /** Nobody has asked for it, and no budget bounds it. */
  #attempt(task: Task, module: ModuleHash): void {
    const execution = attemptOf(task, module, ++this.#tickets, this.#wallMs);
    this.#executions.set(execution.id, execution);
    this.#budgets.begin(execution.location, execution.usage, this.#nowMs);
    const near = this.#nearStorage(execution, "requested", null);
    if (task.isUnreadable !== true) return this.#capture(execution, near);
    this.#ran(execution, near, new Map(), { kind: "completed", outcome: UNREADABLE_OUTCOME, reads: [], writes: [] });
  }

  #tasksRead(operation: OperationId, answer: TaskAnswer): void {
    const question = present(this.#taskQuestions.get(operation), `storage answers question ${operation} for tasks`);
    this.#taskQuestions.delete(operation);
    const inserts = ({ id, parent, place }: TaskOutline): boolean => {
      if (this.#workflows.isBringing(id)) return true;
      const phase = this.#executions.get(parent)?.phase;
      // A repeat of an execution that is done is under way too, and brings nothing.
      // variant: task-coming-now
      return phase?.kind === "completing" && isPlaceOf(place, phase.completion.commitId);
    };
    const changesTheNumber = answer.kind === "count" && this.#changesTasks;
    this.#tasks.answered(question, answer, { inserts, changesTheNumber }, this.#instant);
    if (question.kind === "task") this.#mayBeClear = this.#clearing.size > 0;
  }

  #carryOut(order: OrderUnderWay): void {
    const { changes } = order;
    if (changes.length === 0) return this.#answerOrder(order, NO_FACTS);
    const operation = ++this.#names;
    const after = changes.map(({ before }): Fact => ({ kind: "owed", task: before.id, attempt: before.attempt }));
    const effect: Effect = {
      kind: "carry-out-order",
      operation,
      changes: changes.map(({ before, after: becomes, leaves }) => {
        const { id, attempt, lane } = before;
        return { id, expects: { attempt, lane }, becomes, ...(leaves === null ? {} : { leaves }) };
      }),
      after,
    };
    this.#ordered.set(operation, { order, effect });
    this.#effects.push(effect);
  }

  #orderDone(operation: OperationId, result: CompleteResult): void {
    const { order } = present(this.#ordered.get(operation), `storage answers order ${operation}`);
    this.#ordered.delete(operation);
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    // Nobody else changes these records: if one is gone, an earlier attempt of this change has removed it, and all others.
    const isGone = result.kind === "applied" || result.record === null || result.record.state === "workflow";
    assert(isGone, "a task that an order changes is as it was");
    for (const { before, after } of order.changes) {
      this.#tasks.settled(before, after, this.#instant);
      this.#note("task_ordered", { id: before.id }, { handler: before.handler, detail: order.order.action });
    }
    this.#answerOrder(order, [{ kind: "operation", operation }]);
    this.#mayBeClear = this.#clearing.size > 0;
  }

  #answerOrder({ caller, order, left }: OrderUnderWay, after: readonly Fact[]): void {
    const results = order.ids.map((id) => ({ id, outcome: left.get(id) ?? "done" }) as const);
    if (typeof caller === "object") return caller.told(results[0]?.outcome ?? "unknown", after);
    this.#effects.push({ kind: "task-order-reply", caller, answer: { results }, after });
  }

  /** Its attempts are over, or there is no handler to run it. */
  #isDead({ state, handler }: Task): boolean {
    return state === "dead" || !this.canRun(handler);
  }

  /** Whether a commit is under way that inserts tasks, or settles some. */
  get #changesTasks(): boolean {
    if (this.#ordered.size > 0 || this.#services.isChanging || this.#workflows.changesTasks) return true;
    // Many steps ask, while thousands of executions may be under way.
    for (const { phase, task } of this.#executions.values()) {
      if (phase.kind !== "completing") continue;
      const { tasks = [], cancelled = [] } = phase.completion;
      if (task !== null || tasks.length > 0 || cancelled.length > 0) return true;
    }
    return false;
  }

  /** The record of a task after this outcome of an attempt. */
  #settlement({ task }: Execution, outcome: Outcome): { readonly settled?: Task | null } {
    if (task === null) return {};
    const failure = failureOf(outcome, this.#wallMs);
    const attempts = failure !== null && isMisfit(failure) ? 1 : this.taskAttemptsOf(task.handler);
    return { settled: settled(task, failure, attempts, this.#wallMs) };
  }

  /** The tasks of a completion are durable. */
  #tasksChanged(execution: Execution, { tasks = [], cancelled = [], settled: next, outcome }: Completion): void {
    for (const task of tasks) this.#tasks.added(task, this.#instant);
    for (const { task } of cancelled) this.#taskCancelled(task);
    const { task } = execution;
    if (task === null || next === undefined) return;
    this.#taskSettled(execution, task, next, outcome.kind === "result" ? null : outcome);
  }

  #taskCancelled(task: Task): void {
    this.#tasks.settled(task, null, this.#instant);
    this.#note("task_cancelled", { id: task.id }, { handler: task.handler });
  }

  /** An attempt has ended. `words`: of its outcome. */
  #taskSettled(
    about: { readonly id: ExecutionId; readonly invocation: { readonly module: ModuleHash } },
    task: Task,
    next: Task | null,
    words: { readonly code: string; readonly message: string } | null,
  ): void {
    this.#tasks.settled(task, next, this.#instant);
    const name = next === null ? "task_done" : next.state === "dead" ? "task_dead" : "task_failed";
    const detail = words === null ? {} : { detail: `${words.code}: ${words.message}` };
    this.#note(name, about, { handler: task.handler, times: task.attempt + 1, ...detail });
  }

  // ── Workflows ──────────────────────────────────────────────────────────────────────────────────────────────────────

  get #workflowsHost(): WorkflowsHost {
    return {
      now: () => this.#instant,
      machineMs: () => this.#nowMs,
      nextName: () => ++this.#names,
      takeCommit: () => this.#takeCommitId(),
      emit: (effect) => void this.#effects.push(effect),
      note: (name, { id, module, handler }, detail) =>
        this.#note(name, { id, invocation: { module } }, { handler, ...(detail === undefined ? {} : { detail }) }),
      undoFailed: (failure) => void this.#effects.push(alarmOf(failure)),
      tellLogged: ({ id, module, handler }, logged) =>
        this.#note(
          "handler_log",
          { id, invocation: { module } },
          { handler, location: "~tasks", logged, path: "near-storage" },
        ),
      sample: (workflow, activation, outcome) => this.#sampler.activation(workflow, activation, outcome),
      reply: ({ id }, answer, after) => this.#replyTo(id, answer, after),
      ordered: (caller, outcome, after) =>
        void this.#effects.push({ kind: "workflow-order-reply", caller, outcome, after }),
      times: (receivedAtMs) => this.#times(receivedAtMs),
      current: () => this.#modules.current,
      plansOf: (module) => this.#modules.plansOf(module),
      hasher: this.#hasher,
      attempt: (step) => this.#attemptStep(step),
      names: (owner, lanes, commit) => this.#tasks.names(owner, lanes, commit),
      namesNoMore: (owner) => this.#tasks.ended(owner, this.#instant),
      added: (task) => this.#tasks.added(task, this.#instant),
      taskOf: (id, owner) => this.#taskNamed(id, owner),
      hold: (task) => this.#tasks.hold(task),
      taskGone: (task) => this.#tasks.settled(task, null, this.#instant),
      taskCancelled: (task) => this.#taskCancelled(task),
      withdraw: (id, told) => this.#orders.add({ told }, { action: "cancel", ids: [id], callAgain: false }),
      ended: (workflow, commit) => this.#finished.add(doneOf(workflow, commit)),
    };
  }

  #workflowCaller({ id, request, receivedAtMs }: Caller): WorkflowCaller {
    return { id, receivedAtMs, untilMs: this.#nowMs + (request.waitMs ?? 0) };
  }

  #workflowQuestion(caller: CallerId, question: WorkflowQuestion): void {
    const untilMs = this.#nowMs + (this.#draining ? 0 : question.waitMs);
    this.#workflows.callers.ask({ id: caller, receivedAtMs: this.#wallMs, untilMs }, question);
  }

  #advanced(operation: OperationId, result: CompleteResult): void {
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    this.#workflows.advanced(operation, result.kind === "applied" ? undefined : result.record);
  }

  /** As an attempt of a task: nobody has asked for it, and no budget bounds it. */
  #attemptStep(step: Step): void {
    const { module } = present(this.#modules.current, "a step begins on the current module");
    const execution = stepAttemptOf(step, module, ++this.#tickets, this.#wallMs);
    this.#executions.set(execution.id, execution);
    this.#budgets.begin(execution.location, execution.usage, this.#nowMs);
    this.#capture(execution, this.#nearStorage(execution, "requested", null));
  }

  /** It has written nothing, so storage hears nothing of it. */
  #endStep(execution: Execution, step: Step, ended: Ended, of: RanNearStorage | null): void {
    const { invocation, location } = execution;
    const { outcome, logged = NO_LINES } = ended;
    if (of !== null) this.#effects.push(...this.#sampler.sample(execution, "near-storage", null, groundOf(of), ended));
    if (logged.length > 0)
      this.#note("handler_log", execution, { handler: invocation.handler, location, logged, path: "near-storage" });
    this.#workflows.stepEnded(step, outcome);
    this.#endWithoutTrace(execution, []);
  }

  /** A task that a workflow names. An execution that may bring it ends first. */
  #taskNamed(id: ExecutionId, owner: object): NamedTask | null | undefined {
    const found = this.#cancellations.find(id, owner);
    if (found === null || !("awaits" in found)) return found;
    if (found.awaits === null) return undefined;
    this.#replay(found.awaits, "cancelled");
    // This step may be too far to begin it.
    this.#wakeForTasks(this.#nowMs);
    return undefined;
  }

  /** Signals for workflows that have not ended, those that have not begun among them, and cancellations of some. */
  #signalsOf(
    { effects = NO_EFFECTS }: Ended,
    commit: CommitId,
    execution: Execution,
    own: readonly Task[],
  ): readonly WorkflowPart[] {
    return effects.flatMap((effect, ordinal) => {
      if (effect.kind === "cancel")
        return this.#workflows.commands.cancellationsOf(effect.task, placeOf(commit, ordinal));
      if (effect.kind !== "send" || !this.#cancellations.takesSignal(effect.workflow, execution, own)) return [];
      return [signalPart(effect.workflow, commit, ordinal, effect.name, effect.value)];
    });
  }

  /** The time of tasks, schedules, services and workflows. */
  get #instant(): Instant {
    return { nowMs: this.#nowMs + this.#aheadMs, wallMs: this.#wallMs };
  }

  // ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Commits the changes of schedules that are due. */
  #goOnWithSchedules(): void {
    const { current } = this.#modules;
    if (this.#halted || current === null) return;
    this.#schedules.name(current.rules);
    const mayTick = !this.#draining && (this.#tasks.all ?? 0) < this.#options.maxTasks;
    for (;;) {
      const change = this.#schedules.take(this.#instant, mayTick);
      if (change === null) return;
      this.#changeSchedule(change, current.module);
    }
  }

  /** As the run of a handler that has written the state: it goes on and commits as such a run does. */
  #changeSchedule(change: ScheduleChange, module: ModuleHash): void {
    const id = `${hex(this.#epoch, 8)}${hex(++this.#names, 24)}` as ExecutionId;
    const execution = schedulingOf(change, module, id, ++this.#tickets, this.#wallMs);
    this.#executions.set(id, execution);
    this.#budgets.begin(execution.location, execution.usage, this.#nowMs);
    // variant: schedule-stored
    const writes = [{ unit: scheduleUnit(change.handler), value: encodeScheduleState(change.becomes) }];
    const near = this.#nearStorage(execution, "requested", null);
    this.#ran(execution, near, new Map(), { kind: "completed", outcome: NO_RESULT, reads: [], writes });
  }

  #scheduleAsked(ask: ScheduleAsk): void {
    if (this.#schedules.ask(ask)) return;
    this.#effects.push({ kind: "schedule-reply", caller: ask.caller, answer: null, after: NO_FACTS });
  }

  #scheduleChanged(change: ScheduleChange, isStored: boolean): void {
    const { handler, ticks, missed } = change;
    if (isStored) {
      for (const tickMs of ticks) this.#tasks.watch(tickIdOf(handler, tickMs));
      if (ticks.length > 0) this.#note("ticks_made", null, { handler, times: ticks.length });
      if (missed > 0) this.#note("ticks_missed", null, { handler, times: missed });
    }
    this.#schedules.ended(change, isStored, this.#instant.nowMs + this.#options.retryMs);
  }

  /** The operator's wish is durable. */
  #tellChanged({ id, schedule }: Execution, after: readonly Fact[]): void {
    if (schedule === null || schedule.ask === null) return;
    const { action, caller } = schedule.ask;
    const answer = { task: action === "run" ? taskIdOf(id, 0) : null };
    this.#effects.push({ kind: "schedule-reply", caller, answer, after });
  }

  // ── The end of a run near storage ──────────────────────────────────────────────────────────────────────────────────

  /** An execution that leaves no trace. */
  #answer(execution: Execution, near: NearStorage, ran: Ran): void {
    const { outcome } = ran.result;
    const of: RanNearStorage = { kind: "near-storage", near, ran };
    this.#effects.push(...this.#sampler.sample(execution, "near-storage", null, groundOf(of), ran.result));
    this.#tellLogged(execution, ran.result.logged, of);
    const repairs = this.#repairs(execution, of, [], NOTHING_CHANGED);
    const { callers } = execution;
    this.#endWithoutTrace(execution, callers);
    callers.forEach((caller, index) => {
      const cause = causeFor(of, execution, caller, index);
      const times = this.#times(caller.receivedAtMs);
      this.#reply(caller, { kind: "executed", cause, outcome, repairs, times }, NO_FACTS);
    });
  }

  /**
   * The entries that the location's cache lacks, of all that the execution read and wrote. `changed`: what was applied in
   * this step. Of a unit that several members of a train have written, the last entry is the fresh one.
   */
  #repairs(
    execution: Execution,
    of: Pending | RanNearStorage,
    writes: readonly Write[],
    changed: ReadonlyMap<UnitId, CommitId>,
  ): readonly Repair[] {
    if (of.kind === "pending" || of.ran === null) return [];
    const { declared } = execution;
    const entries = new Map(of.ran.snapshot);
    const observed = new Set(of.ran.result.reads);
    for (const unit of of.ran.snapshot.keys()) {
      if (changed.has(unit)) entries.set(unit, present(this.#versions.get(unit), APPLIED));
      if (!isSpan(unit)) continue;
      const isChanged = writes.some((write) => overlaps(unit, write.unit));
      const entry = isChanged ? this.#spanNow(unit, execution) : entries.get(unit);
      if (entry !== null && entry !== undefined && observed.has(unit)) entries.set(unit, entry);
      else entries.delete(unit);
    }
    for (const { unit } of writes) entries.set(unit, present(this.#versions.get(unit), APPLIED));
    const { ruled } = this.#modules;
    // variant: private-repairs
    for (const unit of entries.keys()) if (ruled.isPrivate(unit)) entries.delete(unit);
    return repairsOf(declared?.units ?? [], entries, this.#options.maxRepairBytes);
  }

  /**
   * The unit's entry as a cache may take it. An absent one gets the latest commit id after which it was absent for sure. A
   * writer that holds the unit will create it under the id that it has already taken. Of a train the first such member does.
   */
  #current(unit: UnitId): Entry {
    const entry = present(this.#versions.get(unit), HOT);
    if (entry.value !== null) return entry;
    return { value: null, version: { commitId: this.#asOf(unit, null), hash: null } };
  }

  /** A commit id before those that holders of the unit, or of items in it, have taken already. `applied`: one whose writes are there. */
  #asOf(unit: UnitId, applied: Execution | null): CommitId {
    let asOf = this.#sequence;
    for (const holder of this.#locks.exclusiveHolders(unit)) {
      const sequence = holder === applied ? null : sequenceOf(holder);
      if (sequence !== null) asOf = Math.min(asOf, sequence - 1);
    }
    return commitId(this.#epoch, asOf);
  }

  /** The entry of a span as a cache may take it; null: memory lacks rows, or the unit is not a span. */
  #spanNow(unit: UnitId, applied: Execution | null): Entry | null {
    const span = isSpan(unit) ? spanOf(unit) : null;
    const { ranges } = this.#versions;
    if (span === null || ranges.holeIn(span, false) !== null) return null;
    const asOf = this.#asOf(unit, applied);
    return span.kind === "count" ? countEntry(asOf, ranges.countOf(span)) : directoryEntry(asOf, ranges.rowsOf(span));
  }

  /** The items of a span without holes whose values a run on it reads. */
  #itemsIn(unit: UnitId): readonly UnitId[] {
    const span = isSpan(unit) ? spanOf(unit) : null;
    return span?.kind === "rows" ? itemsOf(span, this.#versions.ranges.rowsOf(span)) : [];
  }

  /** The version of a unit in memory; null: it is not there. */
  #versionNow(unit: UnitId): Version | null {
    if (isSpan(unit)) return this.#spanNow(unit, null)?.version ?? null;
    return this.#versions.get(unit) === undefined ? null : this.#current(unit).version;
  }

  /** Of the run by which the execution has ended. A location that was told `valid` may have told the same lines. */
  #tellLogged(execution: Execution, logged: readonly LoggedLine[] | undefined, of: Pending | RanNearStorage): void {
    if (logged === undefined || logged.length === 0) return;
    const { location, invocation } = execution;
    const { handler } = invocation;
    const path = of.kind === "pending" ? "re-execution" : of.kind;
    this.#note("handler_log", execution, { handler, location, logged, path });
  }

  /** Takes a sample of a read-only execution in the step that validates it. Its result only its location knows. */
  #sampleValid(execution: Sampled, units: readonly AccessedUnit[]): void {
    this.#effects.push(...this.#sampler.sample(execution, "valid", null, { kind: "validated", units }, null));
  }

  // ── Completion ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #completePending(
    execution: Execution,
    pending: Pending,
    ended: Ended,
    path: "followup" | "re-execution",
    followups: Completing["followups"],
  ): void {
    const commit = { id: pending.intent.commitId, sequence: pending.sequence };
    this.#completeClear([{ execution, of: pending, commit, ended, path, followups }]);
  }

  #completeRan(execution: Execution, of: RanNearStorage, ended: Ended): void {
    if (of.near.gated) {
      // The gate stands for every unit; from here on readers must be able to see what exactly is being written.
      const written = ended.writes.map(({ unit }): Access => ({ unit, mode: "exclusive" }));
      const hasAll = this.#want(execution, written, "now");
      assert(hasAll, "the holder of the gate gets every unit at once");
    }
    // variant: completion-commit-id
    const commit = { id: this.#takeCommitId(), sequence: this.#sequence };
    const path = of.ran === null || (isOwn(execution) && !isOwed(execution)) ? null : "near-storage";
    this.#completeClear([{ execution, of, commit, ended, path, followups: [] }]);
  }

  /**
   * Completes them in one commit, once all are clear: what is applied is visible. An execution that was told was clear before,
   * unless an earlier server has told it.
   */
  #completeClear(members: readonly Ending[]): void {
    // Their commit ids are taken, and others may have later ones while these wait.
    // variant: lanes-named-clear
    for (const { execution, ended, commit } of members)
      this.#tasks.names(execution, lanesOf(ended.effects ?? NO_EFFECTS), commit.id);
    if (members.every((ending) => this.#mayComplete(ending)))
      return this.#commit(members.map((each) => this.#completing(each)));
    for (const ending of members) this.#clear(ending.execution, { kind: "complete", ending, members });
  }

  // variant: clear-before-complete
  #mayComplete(ending: Ending): boolean {
    const { execution, ended } = ending;
    if (ended.writes.length > 0 && !this.#isClear(execution)) return false;
    const awaited = this.#cancellations.awaits(ending);
    for (const before of awaited ?? []) this.#replay(before, "cancelled");
    return awaited === null;
  }

  /** The writes, and the intent done with its outcome. */
  #completing(ending: Ending): CompletingMember {
    const { execution, of, commit: taken, ended, path, followups } = ending;
    const { id: commit, sequence } = taken;
    const { outcome, writes: own, effects = NO_EFFECTS, logged = NO_LINES } = ended;
    const hash = hashOfEnded(ended);
    const { invocation, schedule } = execution;
    const tasks =
      schedule === null ? tasksOf(effects, invocation, commit) : tickTasks(schedule, invocation, commit, this.#hasher);
    const cancelled = this.#cancellations.take(ending);
    const signals = this.#signalsOf(ended, commit, execution, tasks);
    const writes = withBlobNames(own, (entry) => (this.#versions.get(entry)?.value ?? null) !== null);
    const call = this.#hasher.hash(bytesOfCall(callOf(execution.invocation)));
    const completion: Completion = {
      ...execution.invocation,
      executionId: execution.id,
      commitId: commit,
      location: execution.location,
      outcome,
      writes,
      resultHash: present(hashOfResult(call, hash, this.#hasher), "the key that has just hashed the call is there"),
      doneAtMs: this.#wallMs,
      call,
      keeps: outcomeKept(execution, path),
      tasks,
      cancelled,
      ...this.#settlement(execution, outcome),
      ...(signals.length === 0 ? {} : { signals }),
      ...(execution.step === null ? {} : { arrival: stepPart(execution.step, settledOf(outcome)) }),
    };
    this.#workflows.table.expect(signals);
    // Under its locks its reads are still what it ran on.
    const written = of.kind === "near-storage" ? (of.ran?.result.writes ?? own) : own;
    // variant: sample-taken
    const sampled =
      path === null || !this.#sampler.isOn
        ? NO_SAMPLES
        : this.#sampler.sample(execution, path, commit, groundOf(of), { ...ended, writes: written });
    const expects = expectationOf(execution);
    const completing: Completing = {
      kind: "completing",
      of,
      expects,
      completion,
      sequence,
      hash,
      sampled,
      logged,
      followups,
    };
    execution.phase = completing;
    // variant: completion-starts
    this.#versions.applyStarted(writes);
    return { execution, completing };
  }

  /** One conditional transaction. */
  #commit(members: readonly CompletingMember[]): void {
    const [first] = members;
    assert(first !== undefined, "a commit has a member");
    const operation = ++this.#names;
    const after: Fact[] = [];
    // variant: complete-when-clear
    for (const { execution, completing } of members)
      if (completing.completion.writes.length > 0) after.push(...this.#clearFacts(execution));
    for (const { completing } of members)
      for (const { task } of completing.completion.cancelled ?? [])
        after.push({ kind: "owed", task: task.id, attempt: task.attempt });
    const completions = members.map(({ completing: { expects, completion } }) => ({ expects, completion }));
    const effect = { kind: "complete", operation, completions, after } as const;
    const { execution } = first;
    this.#operations.set(operation, { kind: "complete", execution, members, effect, doubtful: false });
    // variant: completion-stored-first
    this.#effects.push(effect);
  }

  #completed(operation: OperationId, result: CompleteResult): void {
    const { members } = this.#takeOperation(operation, "complete");
    if (result.kind === "fenced") return this.#halt(TAKEN_OVER);
    if (result.kind === "exists") {
      const { id, record } = result;
      const found = present(
        members.find(({ completing: { completion } }) => recordIdOf(completion) === id),
        "storage names a record of the commit",
      );
      // A storage answer may have been lost: then the completion that exists is this one, and with it all of the commit.
      if (!isRecordAfter(found.completing, record)) return this.#notApplied(members, found.execution, record);
    }
    for (const { execution, completing } of members) {
      const { sampled, completion, logged, of } = completing;
      this.#effects.push(...sampled);
      this.#tellLogged(execution, logged, of);
      this.#versions.applied(completion.commitId, completion.writes);
      const { settled: next, arrival, signals = [] } = completion;
      if (next === undefined && arrival === undefined) this.#finished.add(doneIntentOf(completion));
      this.#tasksChanged(execution, completion);
      if (execution.step !== null && arrival !== undefined) this.#workflows.stepArrived(execution.step, arrival);
      this.#workflows.came(signals, true);
    }
    const changed = lastWriters(members);
    const after: readonly Fact[] = [{ kind: "operation", operation }];
    for (const { execution, completing } of members) {
      const { of, completion, hash, followups } = completing;
      const repairs = this.#repairs(execution, of, completion.writes, changed);
      const { callers } = execution;
      this.#end(execution, hash);
      this.#tellChanged(execution, after);
      callers.forEach((caller, index) => {
        const cause = causeFor(of, execution, caller, index);
        const times = this.#times(caller.receivedAtMs);
        this.#reply(caller, { kind: "executed", cause, outcome: completion.outcome, repairs, times }, after);
      });
      for (const { caller, result: answer } of followups)
        this.#effects.push({ kind: "followup-reply", caller, result: answer, after });
    }
    // Nobody waits for these.
    for (const { completing } of members) {
      const { of, completion } = completing;
      const { commitId: commit, writes } = completion;
      const lasting = writes.filter(({ unit }) => changed.get(unit) === commit);
      this.#listeners.applied(commit, lasting, () => blindOf(of, writes), this.#term);
    }
  }

  /** Nothing of a commit was done, since the id of one execution is taken. The others of its train run again. */
  #notApplied(members: readonly CompletingMember[], taken: Execution, record: IntentRecord | null): void {
    const waits: Again[] = [];
    for (const { execution, completing } of members) {
      const { of, completion } = completing;
      this.#notStored(completion);
      if (execution === taken) continue;
      assert(of.kind === "near-storage", "a member of a train has run near storage");
      waits.push(this.#letGo({ execution, near: of.near }));
    }
    this.#taken(taken, record);
    for (const wait of waits) this.#waitAgain(wait);
  }

  #notStored({ writes, cancelled = [], signals = [] }: Completion): void {
    this.#versions.applyFailed(writes);
    this.#workflows.came(signals, false);
    // variant: cancel-let-go
    for (const { task } of cancelled) this.#tasks.letGo(task.id, this.#instant);
  }

  /** `hash`: of the completion by which it ends; null: by none that this server knows. */
  #end(execution: Execution, hash: ContentHash | null): void {
    execution.phase = { kind: "ended", hash };
    this.#lost.delete(execution);
    // variant: replaced-ends
    this.#replaced.delete(execution);
    this.#executions.delete(execution.id);
    this.#budgets.end(execution.location, execution.usage, this.#nowMs);
    this.#versions.ranges.release(execution);
    this.#leaveQueue(execution);
    this.#unlock(execution);
    this.#tasks.ended(execution, this.#instant);
    // Others may wait for its tasks, or for those that it has cancelled.
    if (this.#clearing.size > 0) this.#mayBeClear = true;
    // variant: task-put-back
    if (execution.task !== null && hash === null)
      this.#tasks.putBack(execution.task.id, this.#instant.nowMs + RETRY_AFTER_MS, this.#instant);
    if (execution.step !== null && hash === null) this.#workflows.putBack(execution.step);
    if (execution.turning !== null) this.#turnEnded(execution, hash !== null);
    if (execution.schedule !== null) this.#scheduleChanged(execution.schedule, hash !== null);
    if (this.#indexes.ended(execution)) this.#deadlines.add(this.#nowMs, { kind: "turn" });
  }

  /** Its callers are answered, and storage knows nothing of it. */
  #endWithoutTrace(execution: Execution, answered: readonly Caller[]): void {
    for (const { request } of answered) this.#remember(request);
    this.#end(execution, null);
  }

  /** The handler can't be run near storage. */
  #fail(execution: Execution, near: NearStorage | null, code: RefusalCode, message: string): void {
    const mayFail = near !== null && (near.abandoned !== null || isOwed(execution));
    if (!mayFail) return this.#refuse(execution, code, message, null);
    // An abandoned intent: nobody was told a success, so it may end as a failure, once and for all. So may an attempt of a task.
    const told = code === "wrote_on_get" ? code : "execution_failed";
    const outcome: Outcome = { kind: "abort", status: ERROR_KINDS[told].status, code: told, message };
    if (execution.step !== null) return this.#endStep(execution, execution.step, { outcome, writes: [] }, null);
    this.#completeRan(execution, { kind: "near-storage", near, ran: null }, { outcome, writes: [] });
  }

  /** An abandoned intent whose values can't be read now is run again later. */
  #pause(execution: Execution, abandoned: Abandoned): void {
    this.#versions.ranges.release(execution);
    execution.phase = abandoned;
    this.#unlock(execution);
    this.#deadlines.add(this.#nowMs + this.#pauseMs(abandoned), { kind: "run-again", execution });
  }

  // ── Read leases ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** This instant, and the time up to which read leases may be promised in it. */
  get #term(): Term {
    const nowMs = this.#nowMs;
    const untilMs = Math.min(nowMs + this.#options.readLeaseMs, this.#leader.untilMs);
    return { nowMs, untilMs };
  }

  #nameReadLeases(): OperationId {
    const operation = ++this.#names;
    this.#effects.push({ kind: "name-read-leases", operation, readLeaseMs: this.#options.readLeaseMs });
    return operation;
  }

  /** No lease leaves before storage names its time. */
  #afterNaming(effect: ListeningEffect): ListeningEffect {
    if (effect.kind !== "tell" || effect.line.kind !== "lease") return effect;
    // variant: lease-after-naming
    const { after } = this.#naming;
    return { ...effect, after };
  }

  /** Whether every session that was sent a read lease on what the execution writes has heard the revocation or is past its time. */
  #isClear({ revocations }: Execution): boolean {
    for (const { atMs } of this.#inherited) if (this.#nowMs < atMs) return false;
    for (const { fact } of revocations) if (fact === null) return false;
    return true;
  }

  /** Waits until the execution is clear, at the latest when the last lease is over, and knows the tasks that it cancels. */
  #clear(execution: Execution, next: Clearing["next"]): void {
    execution.phase = { kind: "clearing", next, sinceMs: this.#nowMs };
    this.#clearing.add(execution);
    let clearAtMs = this.#nowMs;
    for (const { atMs } of this.#inherited) clearAtMs = Math.max(clearAtMs, atMs);
    for (const { fact, untilMs } of execution.revocations) if (fact === null) clearAtMs = Math.max(clearAtMs, untilMs);
    this.#deadlines.add(clearAtMs, { kind: "clear", execution });
  }

  #goOnClear(): void {
    this.#mayBeClear = false;
    for (const execution of this.#clearing) {
      // It has gone on with one before.
      if (!this.#clearing.has(execution)) continue;
      const { phase } = execution;
      assert(phase.kind === "clearing", "an execution that waits for read leases to end is in the phase for that");
      const { next, sinceMs } = phase;
      if (next.kind === "tell" ? !this.#isClear(execution) : !next.members.every((each) => this.#mayComplete(each)))
        continue;
      const together = next.kind === "tell" ? [execution] : next.members.map((each) => each.execution);
      for (const each of together) this.#clearing.delete(each);
      this.#note("cleared", execution, { waitedMs: this.#nowMs - sinceMs });
      if (next.kind === "tell") this.#tellValid(execution, next);
      else this.#completeClear(next.members);
    }
  }

  /** How the waits of the execution have ended. */
  #clearFacts({ revocations }: Execution): readonly Fact[] {
    if (revocations.length === 0) return this.#inherited;
    return [...this.#inherited, ...revocations.map((revocation) => revocation.fact ?? heardOf(revocation))];
  }

  // ── Locks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits for the gate and the units. */
  #lock(execution: Execution, accesses: readonly Access[], stage: Stage): void {
    const all = accesses[0]?.unit === GATE ? accesses : [GATE_SHARED, ...accesses];
    if (!isPromised(stage)) {
      if (this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
      for (const access of all) {
        const waiters = this.#locks.waitersInWay(access, execution.ticket);
        if (waiters >= this.#options.maxQueue) {
          const isPrivate = access.unit !== GATE && this.#modules.ruled.isPrivate(access.unit);
          return this.#refuseBusy(execution, queueIsFull(waiters, isPrivate ? veiled(access.unit) : access.unit));
        }
      }
    }
    if (this.#want(execution, all, "wait")) return this.#proceed(execution, stage);
    execution.phase = { kind: "waiting", stage, sinceMs: this.#nowMs, on: this.#waitedFor(execution) };
    this.#warm(execution, stage);
    // A lock is held no longer than a run here takes: every pending intent in its way is re-executed.
    for (const blocker of this.#locks.blockers(execution)) this.#replay(blocker, "contention");
  }

  /**
   * Every request for locks passes here, so this step knows each unit that the execution wants exclusively from now on. It
   * gets all units at once. With "wait" it may get them later. With "now" it gets them now or never. With `behind` too, but
   * it may be behind those executions. With `following` it may be behind the members of its train. True: it holds them.
   */
  #want(execution: Execution, accesses: readonly Access[], how: Asking): boolean {
    const isHeld = this.#ask(execution, accesses, how);
    const { leases } = this.#listeners;
    // Nobody else is leased the units from here on: the execution holds them, or waits for them.
    // variant: leases-revoked
    if ((isHeld || how === "wait") && !leases.isEmpty) {
      const revocations = leases.revoke(accesses, this.#nowMs);
      if (revocations.length > 0) execution.revocations = [...new Set([...execution.revocations, ...revocations])];
    }
    return isHeld;
  }

  #ask(execution: Execution, accesses: readonly Access[], how: Asking): boolean {
    const { ticket } = execution;
    if (how === "wait") return this.#locks.acquire(execution, accesses, ticket);
    if (how === "now") return this.#locks.tryAcquire(execution, accesses, ticket);
    // variant: train-followed
    if ("following" in how)
      return this.#locks.acquireBehind(execution, accesses, ticket, (holder) => how.following.has(holder)) !== null;
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
  #lockBehind(execution: Execution, units: readonly AccessedUnit[]): boolean {
    const first = new Set<Execution>();
    for (const accessed of units) {
      if (accessed.mode === "write") continue;
      const writer = this.#locks.exclusiveHolders(accessed.unit).at(-1);
      if (writer === undefined) continue;
      if (!isTold(writer) || !this.#isOwnWrite(execution, accessed.unit, accessed.version)) return false;
      first.add(writer);
    }
    if (first.size === 0) return false;
    // A set grows while it is gone through.
    for (const writer of first) for (const before of writer.ahead) first.add(before);
    return this.#want(execution, [GATE_SHARED, ...declaredLocks(units)], { behind: first });
  }

  /** Nobody is ahead of it or behind it any more; who was behind it alone goes on. */
  #leaveQueue(execution: Execution): void {
    for (const before of execution.ahead) before.behind.delete(execution);
    execution.ahead.clear();
    for (const next of execution.behind) {
      next.ahead.delete(execution);
      const { phase } = next;
      // variant: queue-left
      if (next.ahead.size === 0 && phase.kind === "pending" && (phase.wanted !== null || phase.early.length > 0))
        this.#due.push(next);
    }
    execution.behind.clear();
  }

  /** Does what was to be done when nobody is ahead any more. */
  #goOn(execution: Execution): void {
    const { phase } = execution;
    // Its reads are the writes of one ahead. If that one was abandoned, this one may be too, in the same step.
    if (phase.kind !== "pending") return;
    const { early, wanted } = phase;
    phase.early = [];
    phase.wanted = null;
    for (const { caller, followup } of early) this.#followup(caller, followup);
    if (wanted !== null) this.#replay(execution, wanted);
  }

  /** Waits until one of the units is released, and asks for no lock. */
  #watch(execution: Execution, units: readonly UnitId[], stage: Stage): void {
    if (!isPromised(stage) && this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
    const [unit] = units;
    const behind = unit === undefined ? undefined : this.#locks.exclusiveHolders(unit)[0];
    const on = unit === undefined ? null : { unit, behind: behind?.id ?? null };
    execution.phase = { kind: "watching", stage, sinceMs: this.#nowMs, on };
    this.#locks.onRelease(execution, units);
  }

  #unlock(execution: Execution): void {
    const { granted, notified } = this.#locks.release(execution);
    this.#ready.push(...granted, ...notified);
  }

  #proceed(execution: Execution, stage: Stage): void {
    switch (stage.kind) {
      case "validate":
        return this.#validate(execution, stage);
      case "capture":
        return this.#capture(execution, stage.near);
      case "confirm":
        return this.#confirm(execution, stage);
    }
  }

  // ── Time and failures ──────────────────────────────────────────────────────────────────────────────────────────────

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
        case "replay": {
          const { phase } = due.execution;
          if (phase.kind !== "pending" || phase.replay !== "paused") break;
          phase.replay = null;
          this.#replay(due.execution, "tried_again");
          break;
        }
        case "run-again": {
          const { phase } = due.execution;
          if (phase.kind === "abandoned") this.#runNearStorage(due.execution, "requested", phase);
          break;
        }
        case "clear":
          this.#listeners.lapse(this.#nowMs);
          this.#mayBeClear = this.#clearing.size > 0;
          break;
        case "turn":
          this.#turnNext();
          break;
        case "tasks":
          this.#tasksAtMs = Infinity;
          break;
        case "retry":
          this.#effects.push(due.effect);
      }
    }
  }

  /** Waiting is bounded. A run, or an operation on its way to storage, ends by itself. */
  #giveUp(execution: Execution): void {
    const { phase, callers } = execution;
    if (phase.kind === "ended") return;
    const overdue = callers.filter(({ deadlineMs }) => deadlineMs <= this.#nowMs);
    const waits = phase.kind === "waiting" || phase.kind === "watching";
    const isPending = intentOf(execution) !== null;
    if (!isPending && waits && this.#nowMs >= execution.giveUpAtMs) return this.#refuseBusy(execution, WAITED);
    if (!isPending && !waits) return;
    // The execution goes on; a caller that asks again will find its outcome.
    const speculator = execution.declared?.speculator;
    execution.callers = callers.filter((caller) => caller === speculator || !overdue.includes(caller));
    for (const caller of overdue) if (caller !== speculator) this.#replyPending(caller);
  }

  #refuseBusy(execution: Execution, message: string): void {
    this.#refuse(execution, "busy", message, RETRY_AFTER_MS);
  }

  /** Nothing was done, and nothing is held. */
  #refuse(execution: Execution, code: RefusalCode, message: string, retryAfterMs: number | null): void {
    const { callers } = execution;
    // variant: refusal-ends
    this.#endWithoutTrace(execution, callers);
    for (const caller of callers) this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, NO_FACTS);
  }

  #storageFailed(operation: OperationId, effect: "none" | "unknown", reason: string): void {
    if (this.#naming.failed(operation, this.#nowMs))
      return this.#note("storage_failed", null, { detail: `name read leases: ${reason}` });
    if (this.#workflows.ownsOperation(operation)) {
      this.#workflows.failed(operation, effect);
      return this.#note("storage_failed", null, { detail: `workflows: ${reason}` });
    }
    const ordered = this.#ordered.get(operation);
    if (ordered !== undefined) {
      this.#deadlines.add(this.#nowMs + this.#options.retryMs, { kind: "retry", operation, effect: ordered.effect });
      return this.#note("storage_failed", null, { detail: `change tasks: ${reason}` });
    }
    const question = this.#taskQuestions.get(operation);
    if (question !== undefined) {
      this.#taskQuestions.delete(operation);
      this.#tasks.failed(question);
      this.#asksAtMs = this.#nowMs + this.#options.retryMs;
      return this.#note("storage_failed", null, { detail: `read tasks: ${reason}` });
    }
    if (this.#services.isChange(operation)) {
      this.#services.failed(operation);
      return this.#note("storage_failed", null, { detail: `change a task: ${reason}` });
    }
    const failed = present(
      this.#operations.get(operation),
      `storage failed operation ${operation}, which is under way`,
    );
    const { execution } = failed;
    this.#note("storage_failed", execution, { detail: `${failed.kind}: ${reason}` });
    // Something may have been done, or must be done: the same conditional operation again finds out.
    const again = (retried: Effect): void =>
      this.#deadlines.add(this.#nowMs + this.#options.retryMs, { kind: "retry", operation, effect: retried });
    switch (failed.kind) {
      case "look-up":
        this.#operations.delete(operation);
        return this.#refuseBusy(execution, "Storage can't be read. Try again later.");
      case "load":
        this.#versions.loadFailed(operation);
        this.#operations.delete(operation);
        if (failed.isReplay) {
          if (execution.phase.kind === "pending") this.#pauseReplay(execution, execution.phase, this.#options.retryMs);
          return;
        }
        return this.#loadFailed(execution, stageLoaded(execution));
      case "warm":
        this.#versions.loadFailed(operation);
        this.#operations.delete(operation);
        return;
      case "store":
        // variant: store-doubtful
        failed.doubtful ||= effect === "unknown";
        if (failed.doubtful) return again({ kind: "store-intent", operation, intent: failed.storing.intent });
        this.#operations.delete(operation);
        return this.#refuseBusy(execution, "Storage can't be written. Try again later.");
      case "complete":
        failed.doubtful ||= effect === "unknown";
        // variant: completion-doubtful
        if (failed.doubtful || failed.effect.completions.some(({ expects }) => expects === "pending"))
          return again(failed.effect);
        this.#operations.delete(operation);
        for (const { completing } of failed.members) this.#notStored(completing.completion);
        for (const member of failed.members)
          this.#refuseBusy(member.execution, "Storage can't be written. Try again later.");
        return;
    }
  }

  #loadFailed(execution: Execution, stage: Stage): void {
    if (stage.kind !== "validate" && stage.near.abandoned !== null) return this.#pause(execution, stage.near.abandoned);
    this.#refuseBusy(execution, "Storage can't be read. Try again later.");
  }

  #executed(run: RunId, { result, tookMs, followers: ended = NO_FOLLOWERS }: EndedRun): void {
    if (this.#workflows.ownsRun(run)) return this.#workflows.executed(run, result);
    const { execution, isReplay, followers } = present(this.#runs.get(run), `run ${run} ended, which is under way`);
    this.#runs.delete(run);
    this.#budgets.ran(execution.location, tookMs, this.#nowMs);
    if (isReplay) return this.#replayed(execution, result);
    const { phase } = execution;
    assert(phase.kind === "running", "an execution near storage is in its run until that has ended");
    if (followers.length > 0) {
      const { near, snapshot } = phase;
      for (const [index, { execution: follower }] of followers.entries())
        this.#budgets.ran(follower.location, ended[index]?.tookMs ?? 0, this.#nowMs);
      const results = [result, ...ended.map((each) => each.result)];
      return this.#arrived([{ execution, near, snapshot }, ...followers], results);
    }
    this.#ran(execution, phase.near, phase.snapshot, result);
  }

  /**
   * Installs the locks of an intent that an earlier server left pending, behind the intents whose writes it has read.
   * `first` null: the intent was abandoned, and another one has its units.
   */
  #adopt(intent: Intent, first: ReadonlySet<CommitId> | null, installed: Map<CommitId, Execution>): void {
    const abandoned = first === null ? abandonedOf(intent, 0, false) : null;
    const execution = adopted(intent, ++this.#tickets, abandoned ?? pendingOn(intent, null));
    this.#executions.set(intent.executionId, execution);
    this.#budgets.begin(intent.location, execution.usage, this.#nowMs);
    if (first !== null) {
      installed.set(intent.commitId, execution);
      // variant: adopted-lanes
      this.#tasks.names(execution, intent.lanes, intent.commitId);
      const ahead = new Set([...first].flatMap((id) => installed.get(id) ?? []));
      // variant: adopted-locks
      if (!this.#want(execution, [GATE_SHARED, ...declaredLocks(intent.units)], { behind: ahead }))
        throw new Error(`the locks of intent ${intent.commitId} can't be installed`);
      // variant: adopted-followup
      this.#deadlines.add(this.#nowMs + this.#options.followupTimeoutMs, { kind: "followup", execution });
    } else {
      this.#deadlines.add(this.#nowMs, { kind: "run-again", execution });
    }
  }

  // ── Leadership ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Answers of storage and workers are kept in any case. */
  #refuseWithoutLeadership(event: Event): boolean {
    switch (event.kind) {
      case "lvi-request": {
        const { caller: id, request } = event;
        const caller = { id, request };
        this.#endOwnLeases(request);
        if (this.#executions.has(request.executionId) || this.#finished.get(request.executionId) !== undefined) {
          this.#replyPending(caller);
        } else {
          this.#remember(request);
          this.#reply(caller, { kind: "refused", code: "draining", message: RUN_OUT, retryAfterMs: 1_000 }, NO_FACTS);
        }
        return true;
      }
      case "followup":
        this.#note("followup_unknown", { id: event.followup.executionId });
        this.#effects.push({ kind: "followup-reply", caller: event.caller, result: "unknown_intent", after: NO_FACTS });
        return true;
      case "workflow-question": {
        const words = { kind: "refused", code: "draining", message: RUN_OUT, retryAfterMs: 1_000 } as const;
        this.#replyTo(event.caller, words, NO_FACTS);
        return true;
      }
      case "heard":
      case "task-order":
      case "workflow-order":
      case "schedule-asked":
        // A location says again each second what it has heard, for as long as storage does not answer.
        this.#effects.push({ kind: "not-leading", caller: event.caller });
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

  // ── Small things ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** The latest commit id taken. */
  get #latest(): CommitId {
    // variant: commit-id-of-epoch
    if (this.#named.sequence !== this.#sequence)
      this.#named = { sequence: this.#sequence, id: commitId(this.#epoch, this.#sequence) };
    return this.#named.id;
  }

  /** Commit ids are taken under the locks that they are about, so that they grow along every unit. */
  #takeCommitId(): CommitId {
    ++this.#sequence;
    return this.#latest;
  }

  /** Longer each time. */
  #pauseMs(paused: { pauses: number }): number {
    return Math.min(this.#options.retryMs * 2 ** paused.pauses++, 60_000);
  }

  #run(
    execution: Execution,
    snapshot: ReadonlyMap<UnitId, Entry>,
    access: RunAccess,
    kills: number,
    isReplay: boolean,
    followers: readonly Member[],
  ): void {
    const id = ++this.#names;
    this.#versions.ranges.release(execution);
    this.#runs.set(id, { execution, isReplay, followers });
    const { invocation, location } = execution;
    // variant: handler-run
    let run: Run = { id, invocation, snapshot, access, kills };
    if (followers.length > 0) run = { ...run, followers: followers.map((member) => this.#runOf(member)) };
    const all = [execution, ...followers.map((member) => member.execution)];
    const executions = all.map((each) => each.id);
    const after = all.flatMap(({ task, step }): readonly Fact[] => {
      if (step !== null) return [{ kind: "journaled", workflow: step.workflow, changes: step.changes }];
      return task === null ? NO_FACTS : [{ kind: "owed", task: task.id, attempt: task.attempt }];
    });
    this.#effects.push({ kind: "execute", run, location, executions, after });
  }

  #runOf({ execution, near, snapshot }: Member): Follower {
    return { invocation: execution.invocation, snapshot, access: this.#accessOf(execution, near) };
  }

  #takeOperation<Kind extends Operation["kind"]>(id: OperationId, kind: Kind): Operation & { kind: Kind } {
    const operation = this.#operations.get(id);
    if (operation?.kind !== kind) throw new Error(`Storage answered operation ${id}, which is not a ${kind}`);
    this.#operations.delete(id);
    return operation as Operation & { kind: Kind };
  }

  #reply({ id, request }: Pick<Caller, "id" | "request">, answer: LviAnswer, after: readonly Fact[]): void {
    if (answer.kind === "executed") this.#listeners.repaired(request.location, answer.repairs);
    this.#replyTo(id, answer, after);
  }

  #replyTo(id: CallerId, answer: LviAnswer, after: readonly Fact[]): void {
    if (answer.kind === "refused") this.#note("refused", null, { detail: `${answer.code}: ${answer.message}` });
    const reply = { ...answer, asOf: this.#latest };
    this.#effects.push({ kind: "reply", caller: id, reply, after });
  }

  /** Without a note of the refusal: there are many, and one line of log is about all of them. */
  #shed({ id, request }: Pick<Caller, "id" | "request">, reason: ShedReason): void {
    const { executionId } = request;
    this.#note("shed", { id: executionId, invocation: request }, { cause: reason });
    this.#remember(request);
    const words = { kind: "refused", code: "busy", message: SHED[reason], retryAfterMs: RETRY_AFTER_MS } as const;
    this.#effects.push({ kind: "reply", caller: id, reply: { ...words, asOf: this.#latest }, after: NO_FACTS });
  }

  /** Not a refusal of the execution: it goes on. */
  #replyPending(caller: Pick<Caller, "id" | "request">): void {
    const message = "The execution is pending.";
    this.#reply(caller, { kind: "refused", code: "pending", message, retryAfterMs: RETRY_AFTER_MS }, NO_FACTS);
  }

  #replyValid(caller: Caller, commit: CommitId | null, after: readonly Fact[]): void {
    this.#reply(caller, { kind: "valid", commitId: commit, times: this.#times(caller.receivedAtMs) }, after);
  }

  #replyStored(caller: Caller, done: DoneIntent, after: readonly Fact[]): void {
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

  /** The unit that it waits for, asked in the step in which the wait begins. */
  #waitedFor(execution: Execution): WaitedFor | null {
    const found = this.#locks.inWayOf(execution);
    return found === null ? null : { unit: found.unit, behind: found.inWay.id };
  }

  #noteWaited(execution: Execution, { sinceMs, on }: Phase & { kind: "waiting" | "watching" }): void {
    const waitedMs = this.#nowMs - sinceMs;
    const { location, invocation } = execution;
    const who = { location, handler: invocation.handler };
    if (on === null) this.#note("waited", execution, { waitedMs });
    else this.#note("waited", execution, { waitedMs, units: [on.unit], behind: on.behind, ...who });
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

/** The session has heard the line that the wait is about. */
function heardOf({ session, n }: Revocation): Fact {
  return { kind: "heard", session, n };
}

/** The values that it ran on: those that were validated, or those that its last run near storage has read. */
function groundOf(of: Pending | RanNearStorage): Ground {
  if (of.kind === "pending") return { kind: "validated", units: of.intent.units };
  const { snapshot, result } = present(of.ran, "an execution that is sampled has run");
  return { kind: "captured", snapshot, reads: result.reads };
}

/** The units that it has written without having read them. */
function blindOf(of: Pending | RanNearStorage, writes: readonly Write[]): ReadonlySet<UnitId> {
  const read = new Set(of.kind === "pending" ? readsOf(of.intent) : of.ran?.result.reads);
  return new Set(writes.flatMap(({ unit }) => (read.has(unit) ? [] : [unit])));
}

function declaredReads({ declared }: Execution, abandoned: Abandoned | null): Set<UnitId> {
  const units = declared?.units ?? abandoned?.intent.units ?? [];
  return new Set(units.filter(({ unit, mode }) => mode !== "write" && !isSpan(unit)).map(({ unit }) => unit));
}

/** A stale span of rows may have any number of rows by now. So the run says anew which rows it wants. */
function declaredCounts({ declared }: Execution, abandoned: Abandoned | null): Queries {
  const queries: Queries = new Map();
  for (const { unit } of declared?.units ?? abandoned?.intent.units ?? []) {
    const count = countIn(unit);
    if (count !== null) addQuery(queries, count);
  }
  return queries;
}

/** Whether an entry is that of the row. */
function isRowOf(entry: Entry | undefined, { commitId: commit, hash }: DirectoryRow): boolean {
  return entry?.version.commitId === commit && entry.version.hash === hash;
}

/** Whether the execution has an intent, so that it is never refused. */
function isPromised(stage: Stage): boolean {
  return stage.kind !== "validate" && stage.near.abandoned !== null;
}

/** The stage for which storage was asked for values. */
function stageLoaded({ phase }: Execution): Stage {
  assert(phase.kind === "loading", "an execution that storage is asked for values waits for them");
  return phase.stage;
}

/** For the operator, as the log has it. */
function wordsOfOverdue({ handler }: Invocation, kills: number, reason: string): string {
  return (
    `Run ${kills} of ${handler} in place of its followup did not end: ${reason}. ` +
    "What the intent holds stays locked until a run ends; the next one may last twice as long. " +
    "If this goes on, see what the reason says: docs/operations.md, Long-running handlers."
  );
}

/**
 * Why the outcome was found here, as this caller is told. A caller that has joined is told the outcome of another sending.
 * So is a caller that sent a set of its own, and is first in line because the location that began the execution has gone.
 */
function causeFor(of: Pending | RanNearStorage, { declared }: Execution, caller: Caller, index: number): ExecutedCause {
  const hasJoined = index > 0 || (caller.request.units !== null && caller !== declared?.speculator);
  return of.kind === "pending" || hasJoined ? "stored" : of.near.cause;
}

/** Why a module's handlers can't run, as the location tells it. */
function wordsOfUnready({ declaration, state }: KnownIndex<unknown>): string {
  if (state.phase === "stopped")
    return `The index ${declaration.name} could not be built, since some items of ${declaration.table} can't be indexed as they are.`;
  return `The index ${declaration.name} is being built, and is not complete yet.`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

function wroteOnGet(handler: string, how: string): string {
  return `the handler "${handler}" must not write, because the request is a GET, and ${how}`;
}

/**
 * How long the outcome of an ending execution is kept. A location that has sent the followup has the answer and has told
 * it, so it asks no more. A location that has asked again meanwhile has given that answer up.
 */
function outcomeKept(execution: Execution, path: SamplePath | null): OutcomeKept {
  const { clientMayAsk, callers } = execution;
  if (clientMayAsk) return "retained";
  if (isOwn(execution)) return "not";
  return path === "followup" && callers.length === 0 ? "not" : "briefly";
}

/** The record that the end of the execution is to find. */
function expectationOf(execution: Execution): Expectation {
  const { task, step } = execution;
  if (step !== null) return "new";
  if (task !== null) return { attempt: task.attempt, lane: task.lane };
  return intentOf(execution) === null ? "new" : "pending";
}

const NO_EFFECTS: readonly RunEffect[] = [];
const NO_LINES: readonly LoggedLine[] = [];
/** Of an execution that nobody has asked for. */
const NO_RESULT: Outcome = { kind: "result", value: new Uint8Array() };
const NO_QUERIES: readonly Query[] = [];
const NOTHING_CHANGED: ReadonlyMap<UnitId, CommitId> = new Map();
const RETRY_AFTER_MS = 1_000;
const SHED: Readonly<Record<ShedReason, string>> = {
  event_loop: "The server can't keep up with its requests. Try again later.",
  memory: "The memory of the server is nearly used up. Try again later.",
};
/**
 * So many waiters make an execution contended. It is answered later by the time of its run, and each waiter goes on earlier by
 * the time of a durable write. One waiter alone may win less than the execution loses.
 */
const CROWD = 2;
const HOT = "the version table holds all units of this step";
const VALIDATED = "the version table holds the units that are validated in this step";
const CAPTURED = "a run reads units that were captured";
const APPLIED = "the version table holds what was applied in this step";
const GIVEN_SET_LEFT = "The handler leaves the read/write set that its @readwrite gives: correct the set";
const DERIVED_SET_LEFT = "The handler leaves its read/write set, which is a fault of the analyzer: report it";
const CROWDED_OUT = "The handler ran for long while others waited for a worker.";
/** As a reason within a sentence. */
const CROWDED_OUT_WORDS = "it ran for long while others waited for a worker";
const WAITED = "The execution waited too long for units that others hold. Try again later.";

function queueIsFull(waiters: number, unit: UnitId): string {
  return `${waiters} executions wait for ${unit === GATE ? "their locks" : unit} already. Try again later.`;
}
const TAKEN_OVER = "Another server has taken over the storage.";
const RUN_OUT = "The leadership of this server has run out, and another server may lead.";
const ANSWERED = "The attempt, or a later one, was answered before.";
const IN_DOUBT = "An earlier server may have answered this attempt.";
const NOT_KEPT = "The execution was carried out before, once, and its answer is not kept any more.";
const UNVERIFIED =
  "The execution id was used before. The server no longer has the key by which it could tell whether the request is the same.";
const REUSED = "The execution id was used before with another handler, with other arguments or by another caller.";
