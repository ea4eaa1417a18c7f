/**
 * The driver in a server process: its ports over real storage, workers and time. A process offers more than ports: the
 * registration of modules, samples for operators, and the words of the log.
 */
import {
  type ContentionReport,
  type ExecutionId,
  type ListedModule,
  type Heard,
  type HeardReply,
  type IndexStatus,
  type ListeningQuestion,
  type LocationAlarm,
  type Followup,
  type FollowupVerdict,
  type LviReply,
  type LviRequest,
  MAX_ORDERED_TASKS,
  type ModuleHash,
  type ReadLeaseStatus,
  type ScheduleAnswer,
  type ScheduleList,
  type ScheduleQuestion,
  type RulesByTable,
  type SecretNames,
  type ServicesStatus,
  type SetLeft,
  type WorkflowQuestion,
  type TaskList,
  type TaskListQuestion,
  type TaskOrder,
  type TraceContext,
  type TaskOrderAnswer,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  type WorkflowOrder,
  type WorkflowOrderAnswer,
} from "@radical/protocol";
import { ContentionTally } from "./contention.ts";
import type { Distribution } from "./core/distribution.ts";
import type { Load, Note, NoteName, ShedReason } from "./core/events.ts";
import type { LviCore, Now } from "./core/lvi-core.ts";
import type { Rules, ServiceTable } from "./core/module-table.ts";
import type { LeaseCounts } from "./core/read-leases.ts";
import type { Sample, Sampling } from "./core/sampling.ts";
import { isMisfit, type Task } from "./core/task.ts";
import type { WorkflowCounts } from "./core/workflow-table.ts";
import {
  type Answer,
  type Asker,
  Driver,
  type Halt,
  type Listener,
  type Observer,
  type StoragePort,
} from "./driver.ts";
import { type Effects, EffectsWatch } from "./effects-watch.ts";
import type { Executor } from "./execution/worker-pool.ts";
import type { Log } from "./log.ts";
import { KnownSecrets } from "./known-secrets.ts";
import { Lives, type LifeTaker } from "./lives.ts";
import type { Metrics } from "./metrics.ts";
import { RequestTimes } from "./request-times.ts";
import type { ServiceCaller } from "./service-caller.ts";
import { type Storage, StorageError, type StoredModule } from "./storage/storage.ts";
import { listTasks } from "./task-list.ts";
import { listWorkflows, workflowHistory } from "./workflow-list.ts";
import { orderEach } from "./workflow-orders.ts";
import type { Traces } from "./traces.ts";
import { type Ahead, VirtualTime } from "./virtual-time.ts";

export interface EngineOptions {
  readonly core: LviCore;
  readonly epoch: number;
  readonly storage: Storage;
  readonly executor: Executor;
  readonly services: ServiceCaller;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => Now;
  /** Its way ahead is in `now`. Null: nobody moves time. */
  readonly ahead: Ahead | null;
  /** How often what was kept long enough is collected. */
  readonly collectIntervalMs: number;
  readonly onHalt: OnHalt;
  /** Left out: executions have no spans. */
  readonly traces?: Traces | null;
}

/** This server may serve no more: another one has taken over, or it found itself broken. Nothing it holds in memory is to be trusted. */
export type OnHalt = (reason: string, cause: Halt["kind"]) => void;

/** Notes that somebody should look at. */
const ALARMS: ReadonlySet<NoteName> = new Set([
  "determinism_alarm",
  "lost_write_alarm",
  "intent_alarm",
  "overdue_intent_alarm",
  "wrote_on_get_alarm",
  "outside_tables_alarm",
  "forged_alarm",
  "workflow_stuck_alarm",
  "workflow_undo_failed",
  "task_dead",
]);
const WARNINGS: ReadonlySet<NoteName> = new Set([
  "storage_failed",
  "re_execution_killed",
  "followup_not_covered",
  "refused",
  "leadership_run_out",
  "leadership_regained",
  "service_down",
  "service_unknown",
]);
/** Notes that nobody has to look at, and somebody may want to read. */
const NEWS: ReadonlySet<NoteName> = new Set(["index_turned", "service_up", "service_refused"]);

/** Most units that one line of log names. */
const LOGGED_UNITS = 5;
/** Dead tasks that are read at once, to find those whose arguments did not fit. */
const MISFIT_PAGE = 1_000;
/** Most who are told lives at once. */
const MAX_LIFE_TAKERS = 4;
/** Longest that a timer lasts. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Most who take samples at once. */
const MAX_SAMPLE_TAKERS = 4;

/** Most executions that are remembered as those that an alarm was given for. */
const MOST_ALARMED = 10_000;

/** An operator's command that takes samples. */
export interface SampleTaker {
  /** Null: so many had to be left out. */
  readonly take: (sample: Sample | null, leftOut: number) => void;
  /** There will be no more. */
  readonly end: (reason: string) => void;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #driver: Driver;
  readonly #collector: NodeJS.Timeout;
  readonly #effectsWatch: EffectsWatch;
  /** Executions that a location has given the alarm for, in the order in which it came. */
  readonly #alarmed = new Set<ExecutionId>();
  #timer: NodeJS.Timeout | undefined = undefined;
  readonly #moduleChanges = new Map<ModuleHash, Promise<void>>();
  /** The walk over dead tasks that is under way, or the last one. */
  #misfitWalk: Promise<void> = Promise.resolve();
  /** Another one follows. */
  #isMisfitWalkNext = false;
  readonly #sampleTakers = new Map<Sampling, SampleTaker>();
  readonly #contention: ContentionTally;
  readonly #secrets: KnownSecrets;
  /** Null: nobody would see them. */
  readonly #times: RequestTimes | null;
  readonly #virtualTime: VirtualTime | null;
  /** Null: nobody wants them. */
  #lives: Lives | null;

  constructor(options: EngineOptions) {
    const { core, epoch, now, executor, services, log, collectIntervalMs } = options;
    this.#options = options;
    this.#lives = this.#traces === null ? null : new Lives(() => this.#machineTime, this.#traces);
    this.#contention = new ContentionTally(now);
    this.#secrets = new KnownSecrets((hash) => options.storage.moduleContent(hash));
    this.#times = log.writes("debug") ? new RequestTimes() : null;
    this.#driver = new Driver({
      core,
      epoch,
      ports: {
        now,
        wakeAt: (atMs) => this.#wakeAt(atMs),
        act: (act) => act(),
        storage: this.#storage(),
        execute: (run, location, ended) => void executor.execute(run, location).then(ended),
        callService: (call, ended) => void services.call(call).then(ended),
        observer: this.#observer(),
        lives: () => this.#lives,
        halted: (halt) => this.#halted(halt),
      },
    });
    const { ahead } = options;
    const machineMs = (): number => now().monotonicMs;
    this.#virtualTime = ahead && new VirtualTime({ core, driver: this.#driver, machineMs, ahead });
    const collect = (): void => this.#driver.tell({ kind: "collect" });
    this.#collector = setInterval(collect, collectIntervalMs);
    this.#collector.unref();
    // Not only after the interval: a server may be started again more often than that.
    setImmediate(collect);
    this.#effectsWatch = new EffectsWatch(() => this.#effects, log);
  }

  /** The number of isolates of locations that listen. */
  get listeners(): number {
    return this.#options.core.listeners;
  }

  get load(): Load {
    return this.#options.core.load;
  }

  get #effects(): Effects {
    const { tasks } = this.load;
    return { tasks, workflows: this.workflowCounts, services: this.services.services };
  }

  get workflowCounts(): WorkflowCounts {
    return this.#options.core.workflowCounts;
  }

  get taskStartDelays(): Distribution {
    return this.#options.core.taskStartDelays;
  }

  get isLeading(): boolean {
    return this.#options.core.isLeading;
  }

  /** No location may answer by a read lease. */
  get isClear(): boolean {
    return this.#options.core.isClear;
  }

  get leaseCounts(): LeaseCounts {
    return this.#options.core.leaseCounts;
  }

  get readLeases(): ReadLeaseStatus {
    return this.#options.core.readLeases(this.#options.now().monotonicMs);
  }

  /** The units that executions contend for. */
  get contention(): ContentionReport {
    const { units, hasLeftOut } = this.#contention;
    const { core } = this.#options;
    return { units: units.map((one) => ({ ...one, leasedTo: core.leasedTo(one.unit) })), hasLeftOut };
  }

  get indexes(): readonly IndexStatus[] {
    return this.#options.core.indexes;
  }

  get schedules(): ScheduleList {
    const timeMs = this.#wallMs;
    return { schedules: this.#options.core.schedules(timeMs), timeMs };
  }

  /** See {@link Driver.askSchedule}. */
  askSchedule(question: ScheduleQuestion, asker: Asker<ScheduleAnswer | null>): void {
    this.#driver.askSchedule(question, asker);
  }

  get services(): ServicesStatus {
    return { worker: this.#options.services.origin, ...this.#options.core.services };
  }

  /** The application's Worker is there from now on. */
  callServicesAt(origin: string): void {
    this.#options.services.origin = origin;
  }

  get setsLeft(): readonly SetLeft[] {
    return this.#options.core.setsLeft;
  }

  /** `contextOf`: of the request; nobody asks for it unless executions have spans. */
  request(request: LviRequest, asker: Asker<LviReply>, contextOf: () => TraceContext | null = () => null): void {
    let asking = asker;
    this.#contention.requested(request);
    if (this.#lives !== null) asking = this.#told(this.#lives, request, asking, contextOf);
    if (this.#times !== null) asking = this.#timed(this.#times, request, asking);
    this.#driver.request(request, asking);
  }

  /** See {@link Driver.workflow}. */
  workflow(question: WorkflowQuestion, asker: Asker<LviReply>): void {
    this.#driver.workflow(question, asker);
  }

  followup(followup: Followup, asker: Asker<FollowupVerdict>): void {
    this.#lives?.followed(followup.executionId);
    this.#driver.followup(followup, asker);
  }

  /** See {@link Driver.listen}. */
  listen(question: ListeningQuestion, listener: Listener): (() => void) | null {
    return this.#driver.listen(question, listener);
  }

  heard(heard: Heard, asker: Asker<HeardReply>): void {
    this.#driver.heard(heard, asker);
  }

  /** Of a location: the primary has not seen it. The same one that is sent again changes nothing. */
  alarm({ execution, module, handler, location }: LocationAlarm): void {
    if (this.#alarmed.has(execution)) return;
    this.#alarmed.add(execution);
    const [oldest] = this.#alarmed;
    if (this.#alarmed.size > MOST_ALARMED && oldest !== undefined) this.#alarmed.delete(oldest);
    const detail = `the handler "${handler}" must not write, because the request is a GET; the location ${location} has ended it before it wrote`;
    this.#note({ name: "wrote_on_get_alarm", executionId: execution, module, handler, detail });
  }

  /** Refuses new executions for this reason from now on; null: takes them again. */
  shed(reason: ShedReason | null): void {
    this.#driver.tell({ kind: "shed", reason });
  }

  /** Refuses new executions; resolves when all callers have their answers and read leases have ended, or after the time. */
  async drain(limitMs: number): Promise<void> {
    this.#driver.tell({ kind: "drain" });
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, limitMs);
      this.#driver.whenDrained(() => {
        clearTimeout(timeout);
        resolve();
      });
    });
  }

  /** Callers that still wait are told to ask the next server. */
  close(): void {
    this.#driver.close();
    this.#stop();
  }

  // ── Tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  listTasks(question: TaskListQuestion): Promise<TaskList> {
    const { storage, core } = this.#options;
    return this.#asking(() => listTasks(storage, core, { secrets: this.#secrets, wallMs: this.#wallMs }, question));
  }

  orderTasks(order: TaskOrder, asker: Asker<TaskOrderAnswer>): void {
    this.#driver.orderTasks(order, asker);
  }

  // ── Workflows ──────────────────────────────────────────────────────────────────────────────────────────────────────

  listWorkflows(question: WorkflowListQuestion): Promise<WorkflowList> {
    const { storage, core } = this.#options;
    return this.#asking(() => listWorkflows(storage, core, this.#wallMs, question));
  }

  /** Null: there is no such workflow. */
  workflowHistory(question: WorkflowHistoryQuestion): Promise<WorkflowHistory | null> {
    const { storage, core, epoch } = this.#options;
    const context = { secrets: this.#secrets, epoch, wallMs: this.#wallMs };
    return this.#asking(() => workflowHistory(storage, core, context, question));
  }

  /** See {@link orderEach}. */
  orderWorkflows({ action, ids }: WorkflowOrder): Promise<WorkflowOrderAnswer> {
    return orderEach(ids, (id, asker) => this.#driver.orderWorkflow(action, id, asker));
  }

  /**
   * Tries dead tasks again whose arguments did not fit their handlers: those of the current module may fit. Without storage they stay dead,
   * and an operator can do the same. One walk at a time: of several registrations during a walk the last one counts.
   */
  retryMisfits(): Promise<void> {
    if (this.#isMisfitWalkNext) return this.#misfitWalk;
    this.#isMisfitWalkNext = true;
    return (this.#misfitWalk = this.#misfitWalk.then(() => {
      this.#isMisfitWalkNext = false;
      return this.#retryMisfits();
    }));
  }

  async #retryMisfits(): Promise<void> {
    const { storage, core, log } = this.#options;
    // One that is dead again stands further back in the list.
    const tried = new Set<ExecutionId>();
    const retry = async (tasks: readonly Pick<Task, "id" | "error">[]): Promise<void> => {
      const misfits = tasks.filter(({ id, error }) => error !== null && isMisfit(error) && !tried.has(id));
      const ids = misfits.map(({ id }) => id);
      for (const id of ids) tried.add(id);
      for (let at = 0; at < ids.length; at += MAX_ORDERED_TASKS)
        // oxlint-disable-next-line no-await-in-loop -- an order has some tasks at most
        await this.#ordered({ action: "retry", ids: ids.slice(at, at + MAX_ORDERED_TASKS), callAgain: false });
    };
    try {
      await retry(core.deadHeads);
      for (let after: string | null = null; ;) {
        // oxlint-disable-next-line no-await-in-loop -- page after page
        const { tasks, next } = await this.#asking(() =>
          storage.listTasks({ state: "dead", lane: null }, after, MISFIT_PAGE),
        );
        // oxlint-disable-next-line no-await-in-loop -- page after page
        await retry(tasks);
        if (next === null) return;
        after = next;
      }
    } catch (error) {
      log.warn("misfits_not_retried", { reason: error instanceof Error ? error.message : String(error) });
    }
  }

  #ordered(order: TaskOrder): Promise<TaskOrderAnswer> {
    return new Promise((answered, failed) => this.orderTasks(order, { answered, failed }));
  }

  /** See {@link VirtualTime.moveTo}. Null: this server's time is not to be moved. */
  async moveTime(aheadMs: number): Promise<number | null> {
    if (this.#virtualTime === null) return null;
    const reachedMs = await this.#virtualTime.moveTo(aheadMs);
    // As it would have been done meanwhile.
    this.#driver.tell({ kind: "collect" });
    this.#effectsWatch.look();
    return reachedMs;
  }

  // ── Modules ────────────────────────────────────────────────────────────────────────────────────────────────────────

  hasModule(hash: ModuleHash): boolean {
    return this.#options.core.hasModule(hash);
  }

  async registerModule(
    module: StoredModule,
    content: Uint8Array,
    {
      secrets,
      ...described
    }: {
      readonly rules?: Rules;
      readonly services?: ServiceTable;
      readonly isAside?: boolean;
      readonly secrets?: SecretNames | undefined;
      readonly tableRules?: RulesByTable | undefined;
    } = {},
  ): Promise<void> {
    await this.#asking(() => this.#changeModule(module.hash, () => this.#options.storage.storeModule(module, content)));
    const { hash, plans, tables = new Map(), indexes = [] } = module;
    this.#secrets.remember(hash, secrets);
    this.#driver.tell({ kind: "module-registered", module: hash, plans, tables, indexes, ...described });
    if (described.isAside !== true) void this.retryMisfits();
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

  /** Storage that is closed, or another server's, is not a fault of this one. */
  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    const { ended } = this.#driver;
    if (ended !== null) throw ended.later;
    try {
      return await ask();
    } catch (error) {
      throw this.#driver.ended?.underWay ?? error;
    }
  }

  /** Secrets of all modules that run here are known then, which samples need. */
  learnSecrets(): Promise<void> {
    return this.#asking(() => this.#secrets.learn(this.#options.core.modules.map(({ module }) => module)));
  }

  /** The arguments of the handler that are secrets; null: they are not known. */
  secretsOf(module: ModuleHash, handler: string): readonly string[] | null {
    return this.#secrets.of(module, handler);
  }

  // ── Samples ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Samples executions from now on, for several at once. Returns how to stop; null: too many take samples already. */
  sample(sampling: Sampling, taker: SampleTaker): (() => void) | null {
    if (this.#sampleTakers.size >= MAX_SAMPLE_TAKERS) return null;
    const own = { ...sampling };
    const tell = (): void => this.#driver.tell({ kind: "sampling", samplings: [...this.#sampleTakers.keys()] });
    this.#sampleTakers.set(own, taker);
    tell();
    return () => {
      if (this.#sampleTakers.delete(own)) tell();
    };
  }

  // ── Lives ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tells the life of one of `every` executions from now on, to several at once. Returns how to stop; null: too many listen. */
  live(every: number, taker: LifeTaker): (() => void) | null {
    const lives = (this.#lives ??= new Lives(() => this.#machineTime));
    if (lives.takers >= MAX_LIFE_TAKERS) return null;
    const stop = lives.take(taker, every);
    return () => {
      stop();
      if (lives.takers === 0 && this.#traces === null) this.#lives = null;
    };
  }

  get #traces(): Traces | null {
    return this.#options.traces ?? null;
  }

  /** The time of tasks, schedules and workflows. */
  get #wallMs(): number {
    return this.#options.now().wallMs;
  }

  /** Locations tell their halves of lives by it. */
  get #machineTime(): Now {
    const { monotonicMs, wallMs, aheadMs = 0 } = this.#options.now();
    return { monotonicMs, wallMs: wallMs - aheadMs };
  }

  /** An asker whose answer ends the life; the same one, if the execution tells none. */
  #told(
    lives: Lives,
    request: LviRequest,
    asker: Asker<LviReply>,
    contextOf: () => TraceContext | null,
  ): Asker<LviReply> {
    if (!lives.begin(request, this.#traces === null ? null : contextOf())) return asker;
    const { answered, failed } = asker;
    return {
      failed,
      answered: (reply) => {
        lives.replied(request, reply);
        answered(reply);
      },
    };
  }

  #endSampling(reason: string): void {
    const takers = [...this.#sampleTakers.values()];
    this.#sampleTakers.clear();
    for (const taker of takers) taker.end(reason);
  }

  // ── Ports ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #storage(): StoragePort {
    const { storage } = this.#options;
    const times = this.#times;
    return {
      lookUp: (epoch, id, answer) => settle(storage.lookUp(epoch, id), answer),
      load: (units, mostBytes, answer) => settle(storage.load(units, mostBytes), answer),
      scan: (range, limit, answer) => settle(storage.scan(range, limit), answer),
      storeIntent: (epoch, intent, answer) => {
        const stored = storage.storeIntent(epoch, intent);
        settle(times?.during(intent.executionId, "intentMs", stored) ?? stored, answer);
      },
      commit: (epoch, commit, answer) => settle(storage.commit(epoch, commit), answer),
      renewLeadership: (epoch, termMs, answer) => settle(storage.renewLeadership(epoch, termMs), answer),
      nameReadLeases: (epoch, readLeaseMs, answer) => settle(storage.nameReadLeases(epoch, readLeaseMs), answer),
      useModule: (hash, usedAtMs, answer) => settle(storage.useModule(hash, usedAtMs), answer),
      removeModule: (epoch, hash, usedAtMs, answer) =>
        settle(
          this.#changeModule(hash, () => storage.removeModule(epoch, hash, usedAtMs)),
          answer,
        ),
      dueTasks: (after, limit, answer) => settle(storage.dueTasks(after, limit), answer),
      laneTasks: (lane, limit, answer) => settle(storage.laneTasks(lane, limit), answer),
      laneHeads: (after, limit, answer) => settle(storage.laneHeads(after, limit), answer),
      readTasks: (tasks, answer) => settle(storage.readTasks(tasks), answer),
      countTasks: (answer) => settle(storage.countTasks(), answer),
      openWorkflows: (after, limit, answer) => settle(storage.openWorkflows(after, limit), answer),
      partsOf: (workflow, answer) => settle(storage.partsOf(workflow), answer),
      findTask: (id, answer) => settle(storage.findTask(id), answer),
      collect: (due, answer) => settle(storage.collect(due), answer),
    };
  }

  #observer(): Observer {
    const { log, metrics } = this.#options;
    return {
      replied: (reply) => metrics.replied(reply),
      followed: (result) => metrics.followed(result),
      noted: (note) => this.#note(note),
      updated: (isSent, units) => metrics.updated(isSent, units),
      sampled: (sampling, sample, leftOut) => this.#sampleTakers.get(sampling)?.take(sample, leftOut),
      collected: ({ intents, outcomes }) => log.debug("intents_collected", { count: intents, outcomes }),
      moduleRemoved: (module, usedAtMs) => log.info("module_removed", { module, usedAtMs }),
      collectFailed: (reason) => log.warn("collect_failed", { reason }),
    };
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

  #note(note: Note): void {
    const { log, metrics } = this.#options;
    metrics.note(note);
    this.#lives?.noted(note);
    this.#contention.noted(note);
    if (note.name === "handler_log") return this.#tellLines(note);
    const { name, executionId, module, handler, key, detail, cause, units, waitedMs, times } = note;
    // A handler that leaves its set does so call after call: one line says it.
    const isWarning = name === "set_left" ? times === 1 : WARNINGS.has(name);
    const level = ALARMS.has(name) ? "error" : isWarning ? "warn" : NEWS.has(name) ? "info" : "debug";
    if (!log.writes(level)) return;
    const named = units?.slice(0, LOGGED_UNITS).join(" ");
    if (waitedMs !== undefined) this.#times?.spent(executionId, "lockWaitMs", waitedMs);
    const followupMs = name === "followup_applied" ? (this.#times?.followed(executionId) ?? undefined) : undefined;
    log[level](name, {
      execution: executionId,
      module,
      handler,
      key,
      detail,
      cause,
      units: named,
      waitedMs,
      followupMs,
    });
  }

  /** One line of log for each of the handler's. */
  #tellLines({ executionId: execution, handler, location, path, logged = [] }: Note): void {
    const lines = logged.length;
    for (const [index, { level, text: message }] of logged.entries()) {
      const line = index + 1;
      this.#options.log.handlerLine(level, { location, handler, execution, path, line, lines, message });
    }
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#timer);
    const ms = Math.max(0, Math.min(Math.ceil(atMs - this.#options.now().monotonicMs), MAX_TIMER_MS));
    this.#timer = setTimeout(() => this.#driver.wake(), ms);
  }

  #halted(halt: Halt): void {
    const { log, onHalt } = this.#options;
    const reason = halt.kind === "taken-over" ? halt.reason : wordsOf(halt.error);
    if (halt.kind === "broken") log.error("invariant_broken", { reason });
    this.#stop();
    onHalt(reason, halt.kind);
  }

  #stop(): void {
    clearInterval(this.#collector);
    this.#effectsWatch.stop();
    clearTimeout(this.#timer);
    this.#endSampling(this.#driver.ended?.later.message ?? "");
  }
}

function settle<T>(operation: Promise<T>, { succeeded, failed }: Answer<T>): void {
  void operation.then(succeeded, (error: unknown) => {
    const effect = error instanceof StorageError ? error.effect : "unknown";
    failed(effect, error instanceof Error ? error.message : String(error));
  });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
