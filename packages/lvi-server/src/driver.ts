/**
 * The driver of the server's core: it carries effects out over its ports, and hands back what comes of them as events. It decides
 * nothing. The server process and the simulation run this same driver, over ports of their own.
 *
 * Ports call back, perhaps before their call has returned. A promise would tell a turn later, and take as long as the whole step
 * that answers a hot request.
 */
import {
  encodeLine,
  type ExecutionId,
  type Followup,
  type FollowupVerdict,
  type Heard,
  type HeardReply,
  type Key,
  type LifeSpanName,
  type Line,
  type ListeningQuestion,
  type LviReply,
  type LviRequest,
  RadicalError,
  type TaskOrder,
  type TaskOrderAnswer,
  type ScheduleAnswer,
  type ScheduleQuestion,
  type UnitId,
  type WorkflowAction,
  type WorkflowOrderOutcome,
  type WorkflowQuestion,
} from "@radical/protocol";
import { toBase64 } from "./base64.ts";
import {
  type CallerId,
  type Effect,
  type Event,
  type ExpectedCompletion,
  type Fact,
  NO_FACTS,
  type Note,
  type OperationId,
} from "./core/events.ts";
import type { EndedRun, Run } from "./core/run.ts";
import { type IntentRecord, isRecordAfter, type RecordChange, recordIdOf } from "./core/intent.ts";
import type { ListenerId } from "./core/listeners.ts";
import type { Hole } from "./core/range-table.ts";
import type { Now } from "./core/lvi-core.ts";
import type { Sample, Sampling } from "./core/sampling.ts";
import { type CallAnswer, taskAfter } from "./core/services.ts";
import type { Task, TaskPlace } from "./core/task.ts";
import type { TaskNumbers } from "./core/task-count.ts";
import type { TaskAnswer, TaskQuestion } from "./core/task-table.ts";
import type { StoredItem } from "./core/version-table.ts";
import type { WorkflowPart } from "./core/workflow.ts";
import type { WorkflowsAnswer, WorkflowsQuestion } from "./core/workflow-table.ts";
import { Facts } from "./facts.ts";
import {
  type Collected,
  commitOf,
  commitOfChanges,
  type CommitResult,
  type KeyRange,
  type LanePage,
  type Storage,
  type StoredUnit,
  type TaskPage,
  type WorkflowPage,
} from "./storage/storage.ts";

/** The core, as its driver sees it. */
export interface Machine {
  readonly step: (now: Now, event: Event) => Iterable<Effect>;
  /** When the event `clock` is to come, by the monotonic clock; null: not until something else happens. */
  readonly wakeAtMs: number | null;
  /** No location may answer by a read lease. */
  readonly isClear: boolean;
  /** Tells whether an effect may name the task before storage is asked for it. Null: what the core has put off may bring some. */
  readonly namesTask: ((task: ExecutionId) => boolean) | null;
}

/** How an operation of storage ended. One of these is called, once. */
export interface Answer<T> {
  readonly succeeded: (value: T) => void;
  /** `none`: nothing was done and nothing will be. `unknown`: it may have been done. */
  readonly failed: (effect: "none" | "unknown", reason: string) => void;
}

type Called<Method> = Method extends (...args: infer Args) => Promise<infer Value>
  ? (...args: [...Args, answer: Answer<Value>]) => void
  : never;

type StorageOperation =
  | "lookUp"
  | "load"
  | "scan"
  | "storeIntent"
  | "commit"
  | "renewLeadership"
  | "nameReadLeases"
  | "useModule"
  | "removeModule"
  | "dueTasks"
  | "laneTasks"
  | "laneHeads"
  | "readTasks"
  | "countTasks"
  | "openWorkflows"
  | "partsOf"
  | "findTask"
  | "collect";

/** The operations of storage that effects ask for, by callbacks. */
export type StoragePort = { readonly [Name in StorageOperation]: Called<Storage[Name]> };

/** Those who only look on: logs, metrics, operators. */
export interface Observer {
  readonly replied: (reply: LviReply) => void;
  readonly followed: (result: FollowupVerdict) => void;
  readonly noted: (note: Note) => void;
  /** So many units were sent to a listener, or left out. */
  readonly updated: (isSent: boolean, units: number) => void;
  /** By which rule; null: one that had to be left out. */
  readonly sampled: (sampling: Sampling, sample: Sample | null, leftOut: number) => void;
  readonly collected: (collected: Collected) => void;
  readonly moduleRemoved: (module: string, usedAtMs: number) => void;
  readonly collectFailed: (reason: string) => void;
}

/** It tells the lives of executions. It hears of the work of the driver for them, and decides nothing. */
export interface LifeObserver {
  /** A part of the way has ended, which had begun at `sinceMs` of {@link Ports.now}. */
  readonly spent: (id: ExecutionId, span: LifeSpanName, sinceMs: number) => void;
  /** A run of these executions has ended that was asked for at `sinceMs`. */
  readonly ran: (ids: readonly ExecutionId[], run: Run, ended: EndedRun, sinceMs: number) => void;
  /** A commit of these executions has ended that had begun at `sinceMs`. */
  readonly applied: (completions: readonly ExpectedCompletion[], sinceMs: number) => void;
}

/** Why this driver does nothing any more. Nothing that it holds in memory is to be trusted. */
export type Halt =
  | { readonly kind: "taken-over"; readonly reason: string }
  /** An invariant is broken: what is durable is right, what is in memory may not be. */
  | { readonly kind: "broken"; readonly error: unknown };

/** The call of a service. */
export type OutgoingCall = Pick<Effect & { kind: "call-service" }, "task" | "service" | "key" | "args" | "timeoutMs">;

export interface Ports {
  readonly now: () => Now;
  /** {@link Driver.wake} is to be called at that time of the monotonic clock, or soon after, in place of what was asked before. */
  readonly wakeAt: (atMs: number) => void;
  /** Does it at once. A virtual process may be stopped between two calls. */
  readonly act: (act: () => void) => void;
  readonly storage: StoragePort;
  /** Runs of several locations take turns. */
  readonly execute: (run: Run, location: string, ended: (ended: EndedRun) => void) => void;
  /** Calls a service of the application's Worker, once. */
  readonly callService: (call: OutgoingCall, ended: (answer: CallAnswer) => void) => void;
  readonly observer: Observer;
  /** Null, or left out: nobody wants lives. */
  readonly lives?: () => LifeObserver | null;
  readonly halted: (halt: Halt) => void;
}

/** Someone who asks, and is told once, perhaps before the call has returned. Neither function throws. */
export interface Asker<T> {
  readonly answered: (answer: T) => void;
  readonly failed: (error: Error) => void;
}

/** A location that hears lines until either side ends them. */
export interface Listener {
  /** False: it does not read fast enough, and this line is lost to it. `bytes`: the length of the line in UTF-8. */
  readonly tell: (line: string, bytes: number) => boolean;
  readonly end: () => void;
}

interface Ended {
  /** The answer to requests under way. Only storage knows whether they had an effect. */
  readonly underWay: Error;
  /** The answer to later requests: nobody looked at them. */
  readonly later: Error;
}

export interface DriverOptions {
  readonly core: Machine;
  /** With so many tasks known, those are forgotten that the core does not need. Left out: many. */
  readonly lookAtOwed?: number;
  readonly epoch: number;
  readonly ports: Ports;
}

export class Driver {
  readonly #core: Machine;
  readonly #epoch: number;
  readonly #ports: Ports;
  readonly #facts: Facts;
  readonly #waiters = new Map<CallerId, Asker<never>>();
  readonly #listeners = new Map<ListenerId, Listener>();
  readonly #drained: (() => void)[] = [];
  readonly #onStep = new Set<() => void>();
  #callers = 0;
  #listened: ListenerId = 0;
  /** Of the step that is being carried out. */
  #nowMs = -Infinity;
  /** The steps that are being carried out, one within the other. */
  #steps = 0;
  /** When the port is to call; Infinity: it was not asked to. */
  #wakeAtMs = Infinity;
  #ended: Ended | null = null;

  constructor({ core, epoch, ports, lookAtOwed }: DriverOptions) {
    this.#facts = new Facts(lookAtOwed);
    this.#core = core;
    this.#epoch = epoch;
    this.#ports = ports;
    this.#askToBeWoken();
  }

  // ── From outside ───────────────────────────────────────────────────────────────────────────────────────────────────

  request(request: LviRequest, asker: Asker<LviReply>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "lvi-request", caller, request });
  }

  followup(followup: Followup, asker: Asker<FollowupVerdict>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "followup", caller, followup });
  }

  /** Asks for a workflow, or for its end. */
  workflow(question: WorkflowQuestion, asker: Asker<LviReply>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "workflow-question", caller, question });
  }

  /** Returns a function that ends it from the listener's side; null: too many listen. Throws if the driver has ended. */
  listen(question: ListeningQuestion, listener: Listener): (() => void) | null {
    if (this.#ended !== null) throw this.#ended.later;
    const { location, listener: name, session, heard, ends } = question;
    const id = ++this.#listened;
    this.#listeners.set(id, listener);
    if (session !== undefined && session !== null) this.#facts.heard(session, heard);
    // The isolate has dropped all that the session held.
    if (ends !== null) this.#facts.heard(ends, Infinity);
    this.#step({ kind: "listens", listener: id, location, name, session, heard, ends });
    if (!this.#listeners.has(id)) return null;
    return () => {
      if (this.#listeners.delete(id)) this.#step({ kind: "stopped-listening", listener: id });
    };
  }

  /** A session has processed its lines up to one. */
  heard({ session, n, served }: Heard, asker: Asker<HeardReply>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#facts.heard(session, n);
    this.#step({ kind: "heard", caller, session, n, served });
  }

  /** An operator's order about tasks. It is answered when what it changes is durable. */
  orderTasks(order: TaskOrder, asker: Asker<TaskOrderAnswer>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "task-order", caller, order });
  }

  /** An operator's order about a workflow. */
  orderWorkflow(action: WorkflowAction, workflow: ExecutionId, asker: Asker<WorkflowOrderOutcome>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "workflow-order", caller, action, workflow });
  }

  /** Null: no handler of the current module has such a schedule. */
  askSchedule({ handler, action }: ScheduleQuestion, asker: Asker<ScheduleAnswer | null>): void {
    if (this.#ended !== null) return asker.failed(this.#ended.later);
    const caller = this.#wait(asker);
    this.#step({ kind: "schedule-asked", caller, handler, action });
  }

  /** An event whose sender waits for no answer. */
  tell(event: Event & { kind: "module-registered" | "sampling" | "collect" | "shed" | "drain" }): void {
    this.#step(event);
  }

  /** The time has come that the port was asked for. */
  wake(): void {
    this.#wakeAtMs = Infinity;
    this.#step({ kind: "clock" });
  }

  /** Calls once nobody waits for an answer and no location may answer by a read lease; at once if that is so. */
  whenDrained(drained: () => void): void {
    this.#drained.push(drained);
    this.#tellDrained();
  }

  /** Calls after each step, and at the end of this driver. Returns how to stop. */
  onStep(stepped: () => void): () => void {
    this.#onStep.add(stepped);
    return () => void this.#onStep.delete(stepped);
  }

  #tellDrained(): void {
    if (this.#drained.length === 0 || this.#waiters.size > 0 || !this.#core.isClear) return;
    for (const drained of this.#drained.splice(0)) drained();
  }

  /** Why it does nothing any more, in the words for those that were under way and for later ones; null: it goes on. */
  get ended(): Ended | null {
    return this.#ended;
  }

  /** Askers that still wait are told to ask the next server. */
  close(): void {
    this.#end(endedBecause(STOPPED));
  }

  // ── Steps ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #wait(asker: Asker<never>): CallerId {
    const caller = ++this.#callers;
    this.#waiters.set(caller, asker);
    return caller;
  }

  #step(event: Event): void {
    if (this.#ended !== null) return;
    const now = this.#ports.now();
    this.#nowMs = now.monotonicMs;
    this.#steps++;
    try {
      for (const effect of this.#core.step(now, event)) {
        this.#perform(effect);
        if (this.#isOver()) return;
      }
      if (this.#isOver()) return;
      // The effects that are left of a step around this one may name the same successes.
      if (this.#steps === 1) this.#endStep();
      this.#askToBeWoken();
      this.#tellDrained();
      if (this.#steps === 1) for (const stepped of this.#onStep) stepped();
    } catch (error) {
      // A step within this one has found it broken before.
      if (this.#isOver()) throw error;
      const broken = error instanceof Error ? error : new Error(String(error));
      this.#halt({ underWay: broken, later: broken }, { kind: "broken", error });
    } finally {
      this.#steps--;
    }
  }

  /** As a call: an effect may have ended it. */
  #isOver(): boolean {
    return this.#ended !== null;
  }

  #askToBeWoken(): void {
    const atMs = this.#core.wakeAtMs;
    if (atMs === null || this.#wakeAtMs <= atMs) return;
    this.#wakeAtMs = atMs;
    this.#ports.wakeAt(atMs);
  }

  #perform(effect: Effect): void {
    const { storage, observer, execute, act } = this.#ports;
    const epoch = this.#epoch;
    switch (effect.kind) {
      case "reply":
        observer.replied(effect.reply);
        return this.#answer(effect.caller, effect.reply, effect.after);
      case "followup-reply":
        observer.followed(effect.result);
        return this.#answer(effect.caller, effect.result, effect.after);
      case "look-up": {
        const { operation } = effect;
        const lookedUp = (record: IntentRecord | null): Event => ({ kind: "looked-up", operation, record });
        const spent = this.#spending(effect.executionId, "look-up");
        return storage.lookUp(epoch, effect.executionId, this.#operating(operation, lookedUp, spent));
      }
      case "load": {
        const { operation, executionId, units, mostBytes } = effect;
        const loaded = (items: ReadonlyMap<UnitId, StoredItem> | null): Event =>
          items === null ? { kind: "too-much-to-load", operation } : { kind: "loaded", operation, items };
        const spent = this.#spending(executionId, "load");
        return storage.load(units, mostBytes, this.#operating(operation, loaded, spent));
      }
      case "scan": {
        const { operation, executionId, hole, limit } = effect;
        const scanned = (rows: readonly StoredUnit[]): Event => ({ kind: "scanned", operation, rows });
        const spent = this.#spending(executionId, "load");
        return storage.scan(rangeOf(hole), limit, this.#operating(operation, scanned, spent));
      }
      case "store-intent": {
        const { operation, intent } = effect;
        return storage.storeIntent(
          epoch,
          intent,
          this.#operating(
            operation,
            (result) => {
              const isStored =
                result.kind === "stored" || (result.kind === "exists" && commitIdIn(result.record) === intent.commitId);
              if (isStored) this.#facts.succeeded(operation);
              return { kind: "intent-stored", operation, result };
            },
            this.#spending(intent.executionId, "intent"),
          ),
        );
      }
      case "complete": {
        const { operation, completions } = effect;
        this.#facts.require(effect.after, this.#nowMs);
        return storage.commit(
          epoch,
          commitOf(completions),
          this.#operating(
            operation,
            (result) => {
              const isDone = result.kind === "applied" || (result.kind === "exists" && isOurs(result, completions));
              if (isDone) this.#done(operation, completions);
              return { kind: "completed", operation, result };
            },
            this.#applying(completions),
          ),
        );
      }
      case "read-tasks":
        return this.#readTasks(effect.operation, effect.question);
      case "advance": {
        const { operation, records } = effect;
        const advanced = (result: CommitResult): Event => {
          this.#advanced(operation, records, result);
          return { kind: "advanced", operation, result };
        };
        return storage.commit(epoch, { records, items: [] }, this.#operating(operation, advanced));
      }
      case "read-workflows":
        return this.#readWorkflows(effect.operation, effect.question);
      case "carry-out-order":
        return this.#carryOut(effect);
      case "task-order-reply":
        return this.#answer(effect.caller, effect.answer, effect.after);
      case "workflow-order-reply":
        return this.#answer(effect.caller, effect.outcome, effect.after);
      case "renew-leadership": {
        const { operation, termMs } = effect;
        const renewed = (isHeld: boolean): Event => ({ kind: "leadership-renewed", operation, isHeld });
        return storage.renewLeadership(epoch, termMs, this.#operating(operation, renewed));
      }
      case "name-read-leases": {
        const { operation, readLeaseMs } = effect;
        return storage.nameReadLeases(
          epoch,
          readLeaseMs,
          this.#operating(operation, (isHeld) => {
            if (isHeld) this.#facts.lasts(operation);
            return { kind: "read-leases-named", operation, isHeld };
          }),
        );
      }
      case "collect":
        return this.#collect(effect);
      case "execute": {
        const { run, location, executions } = effect;
        this.#facts.require(effect.after, this.#nowMs);
        const lives = this.#ports.lives?.() ?? null;
        const sinceMs = this.#nowMs;
        return execute(run, location, (ended) => {
          lives?.ran(executions, run, ended, sinceMs);
          this.#step({ kind: "executed", run: run.id, ...ended });
        });
      }
      case "change-task": {
        const { operation, change } = effect;
        const changed = (result: CommitResult): Event => {
          if (result.kind !== "fenced") this.#changed(change.id, taskAfter(change, result));
          return { kind: "task-changed", operation, result };
        };
        return storage.commit(epoch, commitOfChanges([change]), this.#operating(operation, changed));
      }
      case "call-service": {
        this.#facts.require(effect.after, this.#nowMs);
        const { call } = effect;
        return this.#ports.callService(effect, (answer) => this.#step({ kind: "called", call, answer }));
      }
      case "note":
        return observer.noted(effect.note);
      case "sampled":
        return observer.sampled(effect.sampling, effect.sample, 0);
      case "sample-left-out":
        return observer.sampled(effect.sampling, null, effect.count);
      case "tell":
        if (effect.after !== undefined) this.#facts.require(effect.after, this.#nowMs);
        return this.#tell(effect.listeners, effect.line);
      case "heard-reply":
        return this.#answer(effect.caller, effect.reply, NO_FACTS);
      case "schedule-reply":
        return this.#answer(effect.caller, effect.answer, effect.after);
      case "not-leading": {
        const waiter = this.#waiters.get(effect.caller);
        this.#waiters.delete(effect.caller);
        return waiter?.failed(new RadicalError("not_leading", RUN_OUT, NEXT));
      }
      case "session-over":
        return this.#facts.forget(effect.session);
      case "hints-left-out":
        return observer.updated(false, effect.units);
      case "end-listening": {
        const listener = this.#listeners.get(effect.listener);
        this.#listeners.delete(effect.listener);
        if (!effect.isRefused) listener?.end();
        return;
      }
      case "resume":
        for (const event of effect.events) act(() => this.#step(event));
        return;
      case "halt": {
        const { reason } = effect;
        return this.#halt(endedBecause(reason), { kind: "taken-over", reason });
      }
    }
  }

  #endStep(): void {
    this.#facts.endStep();
    if (!this.#facts.hasManyOwed) return;
    const { namesTask } = this.#core;
    if (namesTask !== null) this.#facts.keepOwed(namesTask);
  }

  /** From now on storage has what these completions leave. */
  #done(operation: OperationId, completions: readonly ExpectedCompletion[]): void {
    this.#facts.succeeded(operation);
    for (const { completion } of completions) {
      const { tasks = [], cancelled = [], settled, executionId } = completion;
      for (const task of tasks) this.#facts.owes(task);
      for (const { task } of cancelled) this.#facts.owesNoMore(task.id);
      if (settled === null) this.#facts.owesNoMore(executionId);
      else if (settled !== undefined) this.#facts.owes(settled);
    }
  }

  /** From now on storage has what these changes leave; or the record that is as an earlier attempt of them has left it. */
  #advanced(operation: OperationId, records: readonly RecordChange[], result: CommitResult): void {
    if (result.kind === "fenced") return;
    this.#facts.succeeded(operation);
    const isMade = result.kind === "applied" || isAdvanced(records, result.record);
    const kept = isMade ? records.map(({ becomes }) => becomes) : [result.record];
    for (const record of kept) {
      if (record?.state === "task") this.#facts.owes(record.task);
      if (record?.state !== "workflow") continue;
      const { id, changes, state } = record.workflow;
      if (state === "ended") this.#facts.journalsNoMore(id);
      else this.#facts.journaled(id, changes);
    }
  }

  #readWorkflows(operation: OperationId, question: WorkflowsQuestion): void {
    const { storage } = this.#ports;
    const read = (answer: WorkflowsAnswer): Event => ({ kind: "workflows-read", operation, answer });
    if (question.kind === "parts") {
      const answered = (parts: readonly WorkflowPart[]): Event => read({ kind: "parts", parts });
      return storage.partsOf(question.workflow, this.#operating(operation, answered));
    }
    const answered = (page: WorkflowPage): Event => {
      this.#facts.foundOpen(page.workflows, page.next === null);
      return read({ kind: "open", ...page });
    };
    storage.openWorkflows(question.after, question.limit, this.#operating(operation, answered));
  }

  #changed(id: ExecutionId, task: Task | null): void {
    if (task === null) this.#facts.owesNoMore(id);
    else this.#facts.owes(task);
  }

  #readTasks(operation: OperationId, question: TaskQuestion): void {
    const { storage } = this.#ports;
    const read = (answer: TaskAnswer): Event => {
      for (const task of tasksIn(answer)) this.#facts.owes(task);
      return { kind: "tasks-read", operation, answer };
    };
    const { kind } = question;
    switch (kind) {
      case "due": {
        const answered = (page: TaskPage<TaskPlace>): Event => read({ kind, ...page });
        return storage.dueTasks(question.after, question.limit, this.#operating(operation, answered));
      }
      case "lane": {
        const answered = (page: TaskPage<string>): Event => read({ kind, ...page });
        return storage.laneTasks(question.lane, question.limit, this.#operating(operation, answered));
      }
      case "heads": {
        const answered = ({ heads, next }: LanePage): Event => read({ kind, tasks: heads, next });
        return storage.laneHeads(question.after, question.limit, this.#operating(operation, answered));
      }
      case "tasks": {
        const answered = (tasks: readonly Task[]): Event => read({ kind, tasks });
        return storage.readTasks(question.tasks, this.#operating(operation, answered));
      }
      case "task":
        return storage.findTask(
          question.id,
          this.#operating(operation, (task: Task | null) => read({ kind, task })),
        );
      case "count":
        return storage.countTasks(this.#operating(operation, (numbers: TaskNumbers) => read({ kind, numbers })));
    }
  }

  #carryOut({ operation, changes, after }: Effect & { kind: "carry-out-order" }): void {
    this.#facts.require(after, this.#nowMs);
    const carriedOut = (result: CommitResult): Event => {
      if (result.kind !== "fenced") {
        this.#facts.succeeded(operation);
        for (const { id, becomes } of changes) this.#changed(id, becomes);
      }
      return { kind: "order-carried-out", operation, result };
    };
    this.#ports.storage.commit(this.#epoch, commitOfChanges(changes), this.#operating(operation, carriedOut));
  }

  /** Tells, when it is called, that this part of the way has ended; undefined: nobody wants to know. */
  #spending(id: ExecutionId, span: LifeSpanName): (() => void) | undefined {
    const lives = this.#ports.lives?.() ?? null;
    if (lives === null) return undefined;
    const { monotonicMs } = this.#ports.now();
    return () => lives.spent(id, span, monotonicMs);
  }

  #applying(completions: readonly ExpectedCompletion[]): (() => void) | undefined {
    const lives = this.#ports.lives?.() ?? null;
    if (lives === null) return undefined;
    const { monotonicMs } = this.#ports.now();
    return () => lives.applied(completions, monotonicMs);
  }

  #operating<T>(operation: OperationId, event: (value: T) => Event, ended?: () => void): Answer<T> {
    return {
      succeeded: (value) => {
        ended?.();
        if (this.#ended === null) this.#step(event(value));
      },
      failed: (effect, reason) => this.#step({ kind: "storage-failed", operation, effect, reason }),
    };
  }

  /** None of it is waited for by another: a module whose use is stored too late is removed all the same. */
  #collect({ doneBeforeMs, toldBeforeMs, limit, used, unused }: Effect & { kind: "collect" }): void {
    const { storage, observer } = this.#ports;
    const failed = (_effect: unknown, reason: string): void => observer.collectFailed(reason);
    for (const { module, usedAtMs } of used)
      storage.useModule(module, usedAtMs, { succeeded: () => undefined, failed });
    for (const { module, usedAtMs } of unused) {
      const succeeded = (isRemoved: boolean): void => {
        if (isRemoved) observer.moduleRemoved(module, usedAtMs);
      };
      storage.removeModule(this.#epoch, module, usedAtMs, { succeeded, failed });
    }
    const succeeded = (collected: Collected): void => {
      observer.collected(collected);
      this.#step({ kind: "collected", ...collected });
    };
    storage.collect({ doneBeforeMs, toldBeforeMs, limit }, { succeeded, failed });
  }

  #tell(listeners: readonly ListenerId[], line: Line): void {
    const text = encodeLine(line, { encode: toBase64 });
    const bytes = Buffer.byteLength(text);
    for (const id of listeners) {
      const listener = this.#listeners.get(id);
      const isSent = listener?.tell(text, bytes) === true;
      if (line.kind === "hint") this.#ports.observer.updated(isSent, line.entries.length);
      // A session must not miss a line. Lines that it has not heard follow again in its next stream.
      else if (!isSent) listener?.end();
    }
  }

  #answer(caller: CallerId, answer: unknown, after: readonly Fact[]): void {
    this.#facts.require(after, this.#nowMs);
    const waiter = this.#waiters.get(caller);
    if (waiter === undefined) throw new Error(`Caller ${caller} is answered twice.`);
    this.#waiters.delete(caller);
    waiter.answered(answer as never);
  }

  // ── The end ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #halt(ended: Ended, halt: Halt): void {
    if (this.#ended !== null) return;
    this.#end(ended);
    this.#ports.halted(halt);
  }

  #end(ended: Ended): void {
    if (this.#ended !== null) return;
    this.#ended = ended;
    for (const { end } of this.#listeners.values()) end();
    this.#listeners.clear();
    for (const { failed } of this.#waiters.values()) failed(ended.underWay);
    this.#waiters.clear();
    for (const drained of this.#drained.splice(0)) drained();
    for (const stepped of this.#onStep) stepped();
  }
}

/** Bounds are not keys, and storage compares them as it compares keys. */
function rangeOf({ table, lo, hi, isReversed }: Hole): KeyRange {
  return { table, from: lo === "" ? null : (lo as Key), to: hi === "" ? null : (hi as Key), isReversed };
}

/** Whether the record is that of a completion, so that an earlier attempt has made the whole commit. */
function isOurs(
  { id, record }: CommitResult & { readonly kind: "exists" },
  completions: readonly ExpectedCompletion[],
): boolean {
  const found = completions.find(({ completion }) => recordIdOf(completion) === id);
  return found !== undefined && isRecordAfter(found, record);
}

/** Whether the record of a workflow is as the first of these changes leaves it, or one after it. */
function isAdvanced([first]: readonly RecordChange[], record: IntentRecord | null): boolean {
  if (first?.becomes?.state !== "workflow" || record?.state !== "workflow") return false;
  return first.expects !== "new" && record.workflow.changes >= first.becomes.workflow.changes;
}

function commitIdIn(record: IntentRecord): string {
  switch (record.state) {
    case "pending":
      return record.intent.commitId;
    case "done":
      return record.done.commitId;
    case "task":
    case "workflow":
    case "part":
      return "";
  }
}

const STOPPED = "This server has stopped.";
const RUN_OUT = "The leadership of this server has run out.";
const NEXT = "Ask the next server, or this one later, under the same execution id.";

function endedBecause(reason: string): Ended {
  return {
    underWay: new RadicalError("primary_unreachable", reason, NEXT),
    later: new RadicalError("not_serving", reason, NEXT),
  };
}

/** Those with their arguments: their attempts are known too. */
function tasksIn(answer: TaskAnswer): readonly Task[] {
  switch (answer.kind) {
    case "due":
    case "lane":
    case "tasks":
      return answer.tasks;
    case "task":
      return answer.task === null ? [] : [answer.task];
    case "heads":
    case "count":
      return [];
  }
}
