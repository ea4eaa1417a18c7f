/**
 * The workflows that have not ended: their commits, and their ends. The files beside this one have the rest of the work. `WorkflowTable`
 * knows them all. `WorkflowCallers` answers those who ask. `WorkflowActivations` and `WorkflowSteps` have what runs. `WorkflowCommands`
 * makes the records that commands ask for.
 *
 * An activation is a run on the journal and on what has arrived since. Its commit expects the record as it was when the run began, so
 * one activation at a time writes the journal. A step begins when the entry with its command is durable. A step that has written
 * arrives by the commit of its writes. The result of another one stands in memory only: until an entry has it, nobody has seen it.
 *
 * Pure: it says what to store, what to ask storage for, and what may begin.
 */
import {
  assert,
  CANCELLED,
  type CommitId,
  type ExecutionId,
  lanesOf,
  type LviRequest,
  type ModuleHash,
  type Outcome,
  present,
  stepIdOf,
  type WorkflowCommand,
  type WorkflowState,
} from "@radical/protocol";
import { bytesOfCall, callOf, isHashedCall } from "./call-hash.ts";
import { Deadlines } from "./deadlines.ts";
import { type CallerId, type Effect, type Fact, NO_FACTS, type OperationId, type RunId } from "./events.ts";
import type { IntentRecord, RecordChange } from "./intent.ts";
import type { RunResult } from "./run.ts";
import { placeOf, type Task } from "./task.ts";
import type { Instant } from "./task-table.ts";
import { begun, type Call, cancellationPart, changed, hasFailed, isOver } from "./workflow.ts";
import { settledOf, type StepName, stepPart, type Workflow, type WorkflowPart } from "./workflow.ts";
import { wordsOfNotDone } from "./undo-failure.ts";
import { WorkflowActivations } from "./workflow-activations.ts";
import { WorkflowCallers } from "./workflow-callers.ts";
import { WorkflowCommands } from "./workflow-commands.ts";
import { type Made, NOTHING_MADE, recordsOf } from "./workflow-commit.ts";
import type { WorkflowCaller, WorkflowsHost } from "./workflow-host.ts";
import {
  append,
  isCancelled,
  isQuiet,
  type Loaded,
  LOADED,
  loadedOf,
  needsRun,
  nextUndo,
  type OpenStep,
} from "./workflow-journal.ts";
import { openStep, settle, type Step, takenBy, type Undo, undoesByOthers, waitOf } from "./workflow-journal.ts";
import { WorkflowSteps } from "./workflow-steps.ts";
import { type Entry, stateOf, type WorkflowBounds, type WorkflowsAnswer, WorkflowTable } from "./workflow-table.ts";

/** A commit that storage has not answered. */
type Operation =
  | {
      readonly kind: "start";
      readonly entry: Entry;
      readonly effect: Effect & { kind: "advance" };
      /** That it was; null: a request starts it. */
      readonly task: Task | null;
      /** An earlier attempt may have been carried out, or it is owed. */
      isDoubtful: boolean;
    }
  | {
      readonly kind: "advance";
      readonly entry: Entry;
      readonly made: Made;
      readonly effect: Effect & { kind: "advance" };
    }
  | {
      readonly kind: "cancel";
      readonly part: WorkflowPart;
      readonly effect: Effect & { kind: "advance" };
      /** Hears that the cancellation is durable. */
      readonly told: (after: readonly Fact[]) => void;
    };

function takesTasks(operation: Operation): boolean {
  if (operation.kind === "start") return operation.task !== null;
  return operation.kind === "advance" && operation.made.cancelled.length > 0;
}

export class Workflows {
  readonly #host: WorkflowsHost;
  readonly #bounds: WorkflowBounds;
  /** The rest of the core asks these by itself. */
  readonly table: WorkflowTable;
  readonly callers: WorkflowCallers;
  readonly commands: WorkflowCommands;
  readonly #steps: WorkflowSteps;
  readonly #activations: WorkflowActivations;
  readonly #operations = new Map<OperationId, Operation>();
  /** Tasks that commits under way bring. */
  readonly #tasks = new Set<ExecutionId>();
  readonly #ready = new Set<Entry>();
  readonly #retries = new Deadlines<{ readonly operation: OperationId; readonly effect: Effect }>(() => false);

  constructor(bounds: WorkflowBounds, host: WorkflowsHost) {
    this.#bounds = bounds;
    this.#host = host;
    this.table = new WorkflowTable(bounds, host);
    this.commands = new WorkflowCommands(host, this.table);
    this.#steps = new WorkflowSteps(host, this.table, bounds.retryMs);
    this.#activations = new WorkflowActivations(host, this.commands, bounds.retryMs, {
      commit: (entry, made) => this.#commit(entry, made),
      end: (entry, made) => this.#end(entry, made),
    });
    this.callers = new WorkflowCallers(host, this.table, {
      cancel: (entry, told) => this.#cancel(entry, told),
      retry: (entry, caller) => this.#retry(entry, caller),
      isToBe: (task) => this.commands.isToBe(task),
    });
  }

  get #now(): Instant {
    return this.#host.now();
  }

  // ── From outside ───────────────────────────────────────────────────────────────────────────────────────────────────

  get isUnderWay(): boolean {
    return this.#operations.size > 0 || this.table.isAsking || this.callers.isAsking;
  }

  /** Activations and steps under way. */
  get running(): number {
    return this.#activations.running + this.#steps.running;
  }

  #isDraining = false;

  /** When something becomes due, by the time of tasks. Infinity: not by itself. */
  get wakeAtMs(): number {
    if (this.#isIdle) return Infinity;
    // Nothing begins any more while the server drains.
    const duesMs = [this.table.timerAtMs, this.#steps.dueAtMs, this.#activations.dueAtMs];
    const beginsAtMs = this.#isDraining ? Infinity : Math.min(...duesMs);
    return Math.min(this.table.asksAgainAtMs, beginsAtMs, this.#retries.nextMs ?? Infinity);
  }

  /** When somebody is to be told how a workflow stands, by the machine's monotonic time. Infinity: nobody is. */
  get tellsAtMs(): number {
    return this.#isIdle ? Infinity : this.callers.tellsAtMs;
  }

  /** There is none, and nobody asks for one. Most servers are so, and each of their steps asks. */
  get #isIdle(): boolean {
    return this.table.isIdle && !this.isUnderWay && !this.callers.haveOrders;
  }

  ownsOperation(operation: OperationId): boolean {
    const isAsked = this.table.ownsOperation(operation) || this.callers.ownsOperation(operation);
    return isAsked || this.#operations.has(operation);
  }

  ownsRun(run: RunId): boolean {
    return this.#activations.owns(run);
  }

  /** Whether a commit under way brings tasks, or takes some away. */
  get changesTasks(): boolean {
    return this.#tasks.size > 0 || [...this.#operations.values()].some(takesTasks);
  }

  /** Whether a commit under way brings the task. */
  isBringing(task: ExecutionId): boolean {
    return this.#tasks.has(task);
  }

  /** A request under the id of an open workflow asks for it. False: another call has started it. */
  join(caller: WorkflowCaller, request: LviRequest): boolean {
    const entry = present(this.table.get(request.executionId), "the workflow that is asked for is open");
    if (isHashedCall(entry.workflow.call, callOf(request), this.#host.hasher) !== true) return false;
    this.callers.wait(entry, caller);
    return true;
  }

  start(caller: WorkflowCaller, request: LviRequest): void {
    const { executionId: id, module, handler, args, environment } = request;
    const call = this.#host.hasher.hash(bytesOfCall(callOf(request)));
    const { seed, caller: principal } = environment;
    const workflow = begun(
      { id, module, handler, args, seed, caller: principal, parent: null, call },
      this.#now.wallMs,
    );
    const entry = this.table.enter(workflow, "starting");
    entry.callers.push(caller);
    const records: readonly RecordChange[] = [{ id, expects: "new", becomes: { state: "workflow", workflow } }];
    this.#advance(records, (effect) => ({ kind: "start", entry, effect, task: null, isDoubtful: false }));
  }

  /** A task that calls a workflow becomes that workflow, under its id. */
  startTask(task: Task, module: ModuleHash): void {
    const { id, handler, args, seed, caller, attempt, lane } = task;
    const workflow = this.commands.workflowOf({ id, handler, args, seed, caller, parent: null }, module);
    const entry = this.table.enter(workflow, "starting");
    const records: readonly RecordChange[] = [
      { id, expects: { attempt, lane }, becomes: { state: "workflow", workflow } },
    ];
    this.#advance(records, (effect) => ({ kind: "start", entry, effect, task, isDoubtful: true }));
  }

  /** The end of a task that is a step is durable. */
  taskArrived(part: WorkflowPart): void {
    const entry = this.table.get(part.workflow);
    if (entry !== undefined) this.#came(entry, part);
  }

  #cancel({ workflow }: Entry, told: (after: readonly Fact[]) => void): void {
    this.#askToEnd(cancellationPart(workflow.id, ""), told);
  }

  #askToEnd(part: WorkflowPart, told: (after: readonly Fact[]) => void): void {
    this.table.expect([part]);
    const records: readonly RecordChange[] = [{ id: part.id, expects: "new", becomes: { state: "part", part } }];
    this.#advance(records, (effect) => ({ kind: "cancel", part, effect, told }));
  }

  #retry(entry: Entry, caller: CallerId): void {
    const next: Workflow = { ...changed(entry.workflow), state: "open", error: null };
    this.#commit(entry, { ...NOTHING_MADE, next, orderedBy: caller });
  }

  /** As it is told. */
  stateOf(workflow: Workflow): WorkflowState | "ended" {
    const entry = this.table.get(workflow.id);
    if (entry !== undefined) return stateOf(entry);
    if (workflow.state === "ended" || workflow.state === "stuck") return workflow.state;
    return "waiting";
  }

  /** The steps of a workflow that memory has under way. */
  openSteps(id: ExecutionId): readonly OpenStep[] {
    const open = this.table.get(id)?.loaded?.open.values() ?? [];
    return [...open].filter((each) => each.kind === "step");
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  read(operation: OperationId, answer: WorkflowsAnswer): void {
    const entry = this.table.read(operation, answer);
    if (entry === null) return;
    const loaded = present(entry.loaded, LOADED);
    for (const open of loaded.open.values()) if (open.kind === "step") this.#steps.begin(loaded, open);
    this.#goOn(entry);
  }

  #advance(records: readonly RecordChange[], operationOf: (effect: Effect & { kind: "advance" }) => Operation): void {
    const operation = this.#host.nextName();
    const effect = { kind: "advance", operation, records } as const;
    this.#operations.set(operation, operationOf(effect));
    this.#host.emit(effect);
  }

  /** The answer to an `advance`. `record`: the one that is not as expected; undefined: it was done. */
  advanced(operation: OperationId, record: IntentRecord | null | undefined): void {
    const found = present(this.#operations.get(operation), `storage answers operation ${operation} for workflows`);
    this.#operations.delete(operation);
    const after: readonly Fact[] = [{ kind: "operation", operation }];
    switch (found.kind) {
      case "start":
        if (found.task !== null) this.#host.taskGone(found.task);
        // Signals may have come before it, also to an earlier server.
        // variant: signal-before-start
        found.entry.isBehind ||= found.task !== null;
        return this.#started(found.entry, record, after);
      case "advance": {
        const { entry, made } = found;
        // A storage answer may have been lost: then an earlier attempt has made the change. Nobody else changes the record.
        const isMade =
          record === undefined || (record?.state === "workflow" && record.workflow.changes >= made.next.changes);
        assert(isMade, `the record of workflow ${entry.workflow.id} is as this server has left it`);
        return this.#committed(entry, made, after);
      }
      case "cancel": {
        // Now, or before: somebody else may have asked for the same.
        this.came([found.part], true);
        return found.told(after);
      }
    }
  }

  #started(entry: Entry, record: IntentRecord | null | undefined, after: readonly Fact[]): void {
    const { workflow } = entry;
    const stored = record === undefined ? workflow : record?.state === "workflow" ? record.workflow : null;
    const isSame = stored !== null && stored.call.hash === workflow.call.hash && stored.call.key === workflow.call.key;
    if (!isSame || stored.state === "ended") {
      this.table.remove(entry, false);
      for (const caller of entry.callers) this.callers.replyTaken(caller, stored, isSame, after);
      return this.#tellStarted(entry);
    }
    entry.workflow = stored;
    entry.phase = "asleep";
    if (record === undefined) this.#host.note("workflow_started", workflow);
    for (const caller of entry.callers.splice(0)) {
      if (caller.untilMs <= this.#host.machineMs()) this.callers.tell(entry, caller, after);
      else this.callers.wait(entry, caller);
    }
    this.#tellStarted(entry);
    // A part that has come meanwhile is in storage.
    if (record !== undefined || entry.isBehind) {
      this.table.sleepUntil(entry);
      return this.table.readAgain(entry);
    }
    entry.phase = "idle";
    entry.loaded = loadedOf(stored, []);
    this.#goOn(entry);
  }

  #tellStarted(entry: Entry): void {
    for (const hear of entry.startWaits.splice(0)) hear();
  }

  failed(operation: OperationId, effect: "none" | "unknown"): void {
    if (this.table.ownsOperation(operation)) return this.table.failed(operation);
    if (this.callers.ownsOperation(operation)) return this.callers.failed(operation);
    const failed = present(this.#operations.get(operation), `storage failed operation ${operation} for workflows`);
    if (failed.kind === "start") failed.isDoubtful ||= effect === "unknown";
    if (failed.kind === "start" && !failed.isDoubtful) return this.#notStarted(operation, failed.entry);
    // The same conditional change again finds out.
    this.#retries.add(this.#now.nowMs + this.#bounds.retryMs, { operation, effect: failed.effect });
  }

  #notStarted(operation: OperationId, entry: Entry): void {
    this.#operations.delete(operation);
    if (entry.found !== null) return this.#started(entry, { state: "workflow", workflow: entry.found }, NO_FACTS);
    this.table.remove(entry, false);
    this.callers.refuseBusy(entry.callers, "Storage can't be written. Try again later.");
    this.#tellStarted(entry);
  }

  // ── What arrives ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** That commit is done, or was not. */
  came(parts: readonly WorkflowPart[], isDurable: boolean): void {
    for (const part of parts) {
      this.table.expectNoMore(part);
      const entry = this.table.get(part.workflow);
      if (entry === undefined) continue;
      if (isDurable) this.#came(entry, part);
      else this.#goOn(entry);
    }
  }

  /** It is durable. */
  #came(entry: Entry, part: WorkflowPart): void {
    if (this.table.arrived(entry, part)) this.#goOn(entry);
  }

  /** A step that has written nothing has ended. */
  stepEnded(step: Step, outcome: Outcome): void {
    const entry = this.#steps.ended(step, outcome);
    if (entry !== null) this.#goOn(entry);
  }

  /** An attempt of it has had no effect: it is tried again. */
  putBack(step: Step): void {
    this.#steps.putBack(step);
  }

  /** The commit of a step's writes is done. */
  stepArrived(step: Step, part: WorkflowPart): void {
    this.#steps.arrived(step);
    this.taskArrived(part);
  }

  // ── What begins ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All that is due by now; and then what may begin, up to so many at once. */
  goOn(atOnce: number, isDraining: boolean): void {
    this.#isDraining = isDraining;
    if (this.#isIdle) return;
    const { nowMs } = this.#now;
    this.callers.goOn();
    for (let due = this.#retries.takeDue(nowMs); due !== undefined; due = this.#retries.takeDue(nowMs))
      if (this.#operations.has(due.operation)) this.#host.emit(due.effect);
    this.callers.orderAgain();
    this.#activations.goOn();
    this.table.walkOn(!isDraining);
    if (isDraining) return;
    for (const entry of this.table.takeDue(nowMs)) this.#goOn(entry);
    this.#steps.pass(nowMs);
    for (const entry of this.#activations.takeDue(nowMs)) this.#goOn(entry);
    this.table.askForParts();
    this.#beginSome(atOnce);
  }

  #beginSome(atOnce: number): void {
    const current = this.#host.current();
    const plans = current === null ? undefined : this.#host.plansOf(current.module);
    const hasRoom = (): boolean => this.running < atOnce;
    this.#steps.beginSome(plans, hasRoom);
    for (const entry of this.#ready) {
      if (!hasRoom()) return;
      this.#ready.delete(entry);
      // variant: one-run
      if (entry.phase === "idle" && entry.loaded !== null && needsRun(entry.loaded)) this.#activations.begin(entry);
    }
  }

  /** After anything that concerns it, if nothing of it is under way. */
  #goOn(entry: Entry): void {
    const { workflow, loaded, phase } = entry;
    // variant: one-activation
    if (phase !== "idle" || loaded === null) return;
    if (workflow.state === "ending") return this.#goOnEnding(entry, loaded);
    // It can't run to the wait at which it would see the cancellation.
    if (workflow.state === "stuck" && isCancelled(loaded)) return this.#giveUp(entry);
    const isStill = ![...loaded.open.values()].some(({ kind }) => kind === "step") && !this.table.isExpecting(workflow);
    if (workflow.state !== "open") return isStill ? this.table.sleep(entry) : undefined;
    const wait = waitOf(loaded);
    if (entry.isTimeOver && wait !== null && wait.untilMs !== null)
      settle(loaded, present(wait.commands[0], "a wait is for a command"), { kind: "timer" });
    if (needsRun(loaded)) return void this.#ready.add(entry);
    if (isStill && loaded.arrivals.length === 0) this.table.sleep(entry);
  }

  executed(run: RunId, result: RunResult): void {
    this.#activations.executed(run, result);
  }

  /** A stuck workflow that was asked to end goes on as one that was cancelled. */
  #giveUp(entry: Entry): void {
    const outcome: Outcome = { kind: "abort", ...CANCELLED };
    this.#commit(entry, {
      ...NOTHING_MADE,
      next: { ...changed(entry.workflow), state: "ending", error: null, outcome },
    });
  }

  // ── Commits ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One conditional transaction. Nothing of it begins before it is durable. */
  #commit(entry: Entry, made: Made): void {
    const { workflow, loaded } = entry;
    const { next, children, tasks, cancelled, parts } = made;
    assert(next.changes === workflow.changes + 1, "each change counts");
    entry.phase = "committing";
    for (const child of children) if (!this.table.has(child.id)) this.table.enter(child, "starting");
    for (const { id } of tasks) this.#tasks.add(id);
    for (const { task } of cancelled) this.#host.hold(task);
    const lanes = lanesOf(made.commands.flatMap(({ command }) => (command.kind === "enqueue" ? [command] : [])));
    this.#host.names(entry, lanes, made.commit);
    this.table.expect(parts);
    // variant: entry-stored-first
    this.#advance(recordsOf(workflow, loaded, made), (effect) => ({ kind: "advance", entry, made, effect }));
  }

  #committed(entry: Entry, made: Made, after: readonly Fact[]): void {
    const { next, children, tasks, cancelled, parts } = made;
    const before = entry.workflow;
    entry.workflow = next;
    entry.phase = "idle";
    this.#host.namesNoMore(entry);
    for (const effect of made.sampled) this.#host.emit(effect);
    if (made.logged.length > 0) this.#host.tellLogged(next, made.logged);
    if (made.orderedBy !== null) this.#host.ordered(made.orderedBy, "done", after);
    if (next.state === "ended") this.#gone(entry, made.commit, after);
    else {
      this.table.sleepUntil(entry);
      if (next.state !== before.state) this.#noteState(next);
      this.#journaled(entry, made);
    }
    for (const child of children) {
      const begins = present(this.table.get(child.id), "a child is known before it is durable");
      begins.phase = "idle";
      this.#host.note("workflow_started", child);
      for (const caller of begins.callers.splice(0)) this.callers.wait(begins, caller);
      this.#tellStarted(begins);
      if (begins.isBehind) {
        this.table.readAgain(begins);
        continue;
      }
      begins.loaded = loadedOf(child, []);
      this.#goOn(begins);
    }
    for (const task of tasks) {
      this.#tasks.delete(task.id);
      this.#host.added(task);
    }
    for (const { task } of cancelled) this.#host.taskCancelled(task);
    this.came(parts, true);
    if (this.table.get(next.id) === entry) this.#goOn(entry);
  }

  #noteState(workflow: Workflow): void {
    if (workflow.state === "stuck")
      this.#host.note("workflow_stuck_alarm", workflow, `${workflow.error?.code}: ${workflow.error?.message}`);
    if (workflow.state === "ending" && hasFailed(workflow)) this.#host.note("workflow_undoing", workflow);
  }

  /** The entry is durable: its commands begin. */
  #journaled(entry: Entry, { next, entry: added, part, calls, isAgain }: Made): void {
    const { loaded } = entry;
    // Storage has the signals that the round has not taken.
    if (loaded === null || isAgain)
      return next.state === "stuck" ? this.table.sleep(entry) : this.table.readAgain(entry);
    if (added === null || part === null) return undoesByOthers(next, loaded);
    for (const id of [part.id, ...takenBy(loaded, added)]) loaded.ids.add(id);
    const issued = added.commands.map((trace, at) => ({ ...trace, call: calls[at] ?? null }));
    for (const open of append(next, loaded, added, issued)) this.#steps.begin(loaded, open);
  }

  // ── The end ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Its last run has ended. It has ended too, unless steps are under way or something is to be undone. */
  #end(entry: Entry, made: Made): void {
    const loaded = present(entry.loaded, LOADED);
    const issues = (kind: WorkflowCommand["kind"]): boolean =>
      made.commands.some(({ command }) => command.kind === kind);
    const undoes = hasFailed(made.next) && (loaded.undos.length > 0 || issues("undo"));
    const isOverAtOnce = isQuiet(loaded) && !this.table.isExpecting(entry.workflow) && !issues("start") && !undoes;
    this.#commit(entry, isOverAtOnce ? this.#ended(made) : made);
  }

  #ended(made: Made): Made {
    const { next } = made;
    if (next.again !== null) return { ...made, next: this.commands.nextRound(next, next.again), isAgain: true };
    const endedAtMs = this.#now.wallMs;
    const { parent, outcome } = next;
    const parts = [...made.parts];
    // variant: child-arrival
    if (parent !== null && this.table.isOpen(parent.workflow))
      parts.push(stepPart(parent, settledOf(present(outcome, "a workflow that has ended has an outcome"))));
    return { ...made, next: { ...next, state: "ended", untilMs: null, endedAtMs }, parts };
  }

  /** Steps under way end first; then the undos, the newest first. */
  #goOnEnding(entry: Entry, loaded: Loaded): void {
    this.#cancelChildren(entry.workflow, loaded);
    // Before the next one begins, so a later server need not look back further than that.
    // variant: undo-told
    for (const { undo, end } of loaded.notDone.splice(0)) this.#tellNotDone(entry.workflow, undo, wordsOfNotDone(end));
    if (!isQuiet(loaded) || this.table.isExpecting(entry.workflow)) return;
    const { workflow } = entry;
    // variant: workflow-undo
    const undo = hasFailed(workflow) ? nextUndo(loaded) : undefined;
    if (undo === undefined) {
      const commit = this.#host.takeCommit();
      return this.#commit(entry, this.#ended({ ...NOTHING_MADE, commit, next: changed(workflow) }));
    }
    const { command, callee, call } = undo;
    if (call.kind !== "handler") return this.#undoByOthers(entry, command, callee, call);
    const open = openStep(workflow, command, callee, call.args, true);
    loaded.open.set(command, open);
    this.#steps.begin(loaded, open);
  }

  #tellNotDone({ id, round, module }: Workflow, { command, callee, call }: Undo, reason: string): void {
    this.#host.undoFailed({ step: { workflow: id, round, command }, module, callee, kind: call.kind, reason });
  }

  /** Workflows that a failed one has started, and whose end it would have to wait for, are asked to end too. */
  #cancelChildren(workflow: Workflow, loaded: Loaded): void {
    // variant: children-cancelled
    if (!hasFailed(workflow) && !isCancelled(loaded)) return;
    for (const [command, open] of loaded.open) {
      if (open.kind !== "child" || open.isCancelled) continue;
      const id = stepIdOf({ workflow: workflow.id, round: workflow.round }, command);
      const child = this.table.get(id);
      // One that is not known has ended, unless a starting server has not found it yet.
      if (child === undefined ? this.table.areKnown : isOver(child.workflow)) continue;
      open.isCancelled = true;
      this.#askToEnd(cancellationPart(id, "parent"), () => undefined);
    }
  }

  /** By a record of its own: a task, or another workflow. */
  #undoByOthers(entry: Entry, command: number, callee: string, { kind, args }: Call): void {
    const { workflow } = entry;
    const name: StepName = { workflow: workflow.id, round: workflow.round, command };
    const commit = this.#host.takeCommit();
    const next = { ...changed(workflow), undoing: command };
    const asked =
      kind === "workflow"
        ? { children: [this.commands.childOf(workflow, name, callee, args)] }
        : { tasks: [this.commands.serviceTask(workflow, name, { callee, args }, placeOf(commit, 0), true)] };
    this.#commit(entry, { ...NOTHING_MADE, commit, next, ...asked });
  }

  #gone(entry: Entry, commit: CommitId, after: readonly Fact[]): void {
    const { workflow } = entry;
    this.table.remove(entry, true);
    this.#host.ended(workflow, commit);
    this.#host.note("workflow_ended", workflow);
    const outcome = present(workflow.outcome, "a workflow that has ended has an outcome");
    for (const caller of entry.callers.splice(0)) this.callers.tellEnd(caller, "requested", outcome, after);
  }
}
