/**
 * The workflows that have not ended: their states, their steps, and all that they wait for. Storage has a record and the parts of each
 * (`workflow.ts`); memory has what runs.
 *
 *   starting ──── idle ── running ── committing ──┬── idle
 *   asleep ── reading ─┘                          ├── asleep   (it waits for time or a signal)
 *                                                 └── gone
 *
 * An activation is a run on the journal and on what has arrived since. Its commit expects the record as it was when the run began, so
 * one activation at a time writes the journal. A step begins when the entry with its command is durable. A step that has written
 * arrives by the commit of its writes. The result of another one stands in memory only: until an entry has it, nobody has seen it.
 *
 * Pure: it says what to store, what to ask storage for, and what may begin.
 */
import {
  type Activation,
  assert,
  CANCELLED,
  type CommandTrace,
  type CommitId,
  DEFAULT_TASK_ATTEMPTS,
  type ExecutionId,
  type IssuedCommand,
  type JournalEntry,
  lanesOf,
  type LoggedLine,
  type LviAnswer,
  type LviRequest,
  MAX_JOURNAL_BYTES,
  MAX_JOURNAL_ENTRIES,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  type RunEffect,
  stepIdOf,
  stepSeedOf,
  type WorkflowAction,
  type WorkflowCommand,
  type WorkflowOrderOutcome,
  type WorkflowQuestion,
  type WorkflowRun,
  type WorkflowState,
} from "@radical/protocol";
import { bytesOfCall, type CallHasher, callOf, isHashedCall } from "./call-hash.ts";
import { Deadlines } from "./deadlines.ts";
import { type CallerId, type Effect, type Fact, NO_FACTS, type NoteName } from "./events.ts";
import type { OperationId, RunId } from "./events.ts";
import type { IntentRecord, RecordChange } from "./intent.ts";
import type { CurrentModule, Plans } from "./module-table.ts";
import type { RunResult } from "./run.ts";
import { NO_SAMPLES, type SampledActivation, type SampleEffect } from "./sampling.ts";
import { failureOf, isMisfit, pauseMs, placeOf, type Task, type TaskError } from "./task.ts";
import type { Instant } from "./task-table.ts";
import { type Call, cancellationPart, entryPart, invocationOf, settledOf, signalPart } from "./workflow.ts";
import { type StepName, stepPart, type Workflow, type WorkflowPart } from "./workflow.ts";
import { add, append, isQuiet, type Loaded, loadedOf, needsRun, nextUndo, openStep } from "./workflow-journal.ts";
import { type OpenStep, settle, type Step, undoesByOthers, waitOf } from "./workflow-journal.ts";

/** Something that memory lacks. */
export type WorkflowsQuestion =
  | { readonly kind: "open"; readonly after: string | null; readonly limit: number }
  | { readonly kind: "parts"; readonly workflow: ExecutionId };

export type WorkflowsAnswer =
  /** In any order. `next`: null, these were the last ones. */
  | { readonly kind: "open"; readonly workflows: readonly Workflow[]; readonly next: string | null }
  /** In the order of their places. */
  | { readonly kind: "parts"; readonly parts: readonly WorkflowPart[] };

export interface WorkflowCounts {
  readonly running: number;
  readonly waiting: number;
  readonly undoing: number;
  readonly stuck: number;
  /** When the oldest one that has not ended was started, by the wall clock; null: there is none. */
  readonly oldestMs: number | null;
}

/** The rest of the core, as workflows see it. */
export interface WorkflowsHost {
  /** In the step that is under way. */
  readonly now: () => Instant;
  readonly nextName: () => number;
  readonly takeCommit: () => CommitId;
  readonly emit: (effect: Effect) => void;
  readonly note: (name: NoteName, workflow: Workflow, detail?: string) => void;
  readonly tellLogged: (workflow: Workflow, logged: readonly LoggedLine[]) => void;
  /** The samples of a run, which leave when it is durable. `outcome` null: the workflow goes on. */
  readonly sample: (
    workflow: Workflow,
    activation: SampledActivation,
    outcome: Outcome | null,
  ) => readonly SampleEffect[];
  readonly reply: (caller: WorkflowCaller, answer: LviAnswer, after: readonly Fact[]) => void;
  /** The answer to an operator. */
  readonly ordered: (caller: CallerId, outcome: WorkflowOrderOutcome, after: readonly Fact[]) => void;
  readonly times: (receivedAtMs: number) => { readonly receivedAtMs: number; readonly sentAtMs: number };
  readonly current: () => CurrentModule | null;
  readonly plansOf: (module: ModuleHash) => Plans | undefined;
  readonly hasher: CallHasher;
  /** Makes an attempt of a step. It ends by `stepEnded`, `putBack`, or a part. */
  readonly attempt: (step: Step) => void;
  readonly names: (owner: object, lanes: readonly string[], commit: CommitId) => void;
  readonly namesNoMore: (owner: object) => void;
  readonly added: (task: Task) => void;
  /** The task has become a workflow. */
  readonly taskGone: (task: Task) => void;
  readonly ended: (workflow: Workflow, commit: CommitId) => void;
}

export interface WorkflowBounds {
  /** Records of one question, and questions for parts at once. */
  readonly page: number;
  readonly readsAtOnce: number;
  readonly retryMs: number;
}

/** Somebody who asks for the end of a workflow. */
export interface WorkflowCaller {
  readonly id: CallerId;
  readonly receivedAtMs: number;
  /** By the monotonic clock: then it is told how the workflow stands. */
  readonly untilMs: number;
}

interface Entry {
  workflow: Workflow;
  phase: "starting" | "asleep" | "reading" | "idle" | "running" | "committing";
  loaded: Loaded | null;
  /** A part has come, or is to be looked for. */
  isBehind: boolean;
  isTimeOver: boolean;
  callers: WorkflowCaller[];
  /** Storage was found to have it while it was about to start: an earlier server has started it. */
  found: Workflow | null;
  kills: number;
}

type Operation =
  | { readonly kind: "question"; readonly question: WorkflowsQuestion }
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
    }
  | { readonly kind: "look-up"; readonly question: WorkflowQuestion; readonly caller: WorkflowCaller };

/** The changes of one commit of a workflow. */
interface Made {
  readonly commit: CommitId;
  readonly next: Workflow;
  readonly entry: JournalEntry | null;
  readonly part: WorkflowPart | null;
  readonly commands: readonly IssuedCommand[];
  /** By the place among the commands. */
  readonly calls: readonly (Call | null)[];
  readonly children: readonly Workflow[];
  readonly tasks: readonly Task[];
  /** For other workflows, or this one. */
  readonly parts: readonly WorkflowPart[];
  readonly logged: readonly LoggedLine[];
  readonly sampled: readonly SampleEffect[];
  /** It goes on with an empty journal. */
  readonly isAgain: boolean;
  /** The operator who has ordered it. */
  readonly orderedBy: CallerId | null;
}

export class Workflows {
  readonly #host: WorkflowsHost;
  readonly #bounds: WorkflowBounds;
  readonly #entries = new Map<ExecutionId, Entry>();
  readonly #operations = new Map<OperationId, Operation>();
  readonly #runs = new Map<RunId, { readonly entry: Entry; readonly activation: Activation }>();
  /** Commits under way that bring parts, by the workflow that these are for. */
  readonly #coming = new Map<ExecutionId, number>();
  /** Tasks that they bring. */
  readonly #tasks = new Set<ExecutionId>();
  /** Where the walk over all of them goes on; null: memory knows all. Undefined: it has not begun. */
  #walk: string | null | undefined = undefined;
  #isWalking = false;
  /** Somebody waits for the end of the walk. */
  #isAwaited = false;
  /** Those that have ended during the walk: an answer may be older than that. */
  readonly #endedSince = new Set<ExecutionId>();
  /** Of operators, about workflows that are not known yet, or change at the moment. */
  readonly #orders: { readonly caller: CallerId; readonly action: WorkflowAction; readonly id: ExecutionId }[] = [];
  readonly #toRead = new Set<Entry>();
  #reads = 0;
  /** Storage could not be asked: not before then. */
  #asksAtMs = -Infinity;
  readonly #ready = new Set<Entry>();
  readonly #readySteps = new Set<OpenStep>();
  /** Attempts under way. */
  readonly #attempts = new Set<ExecutionId>();
  readonly #timers = new Deadlines<{ readonly entry: Entry; readonly changes: number }>(
    ({ entry, changes }) => entry.workflow.changes !== changes,
  );
  readonly #delays = new Deadlines<OpenStep>((open) => open.state !== "delayed");
  readonly #pauses = new Deadlines<Entry>((entry) => entry.phase !== "idle");
  readonly #retries = new Deadlines<{ readonly operation: OperationId; readonly effect: Effect }>(() => false);
  readonly #askers = new Deadlines<{ readonly entry: Entry; readonly caller: WorkflowCaller }>(
    ({ entry, caller }) => !entry.callers.includes(caller),
  );

  constructor(bounds: WorkflowBounds, host: WorkflowsHost) {
    this.#bounds = bounds;
    this.#host = host;
  }

  get #now(): Instant {
    return this.#host.now();
  }

  // ── From outside ───────────────────────────────────────────────────────────────────────────────────────────────────

  get isUnderWay(): boolean {
    return this.#operations.size > 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  get counts(): WorkflowCounts {
    const counts = { running: 0, waiting: 0, undoing: 0, stuck: 0 };
    let oldestMs: number | null = null;
    for (const entry of this.#entries.values()) {
      const state = stateOf(entry);
      counts[state === "cancelling" ? "running" : state]++;
      oldestMs = Math.min(oldestMs ?? Infinity, entry.workflow.createdAtMs);
    }
    return { ...counts, oldestMs };
  }

  /** Whether memory has all of them. */
  get areKnown(): boolean {
    return this.#walk === null;
  }

  /** Modules that they are pinned to; null: not all of them are known yet. */
  get modules(): ReadonlySet<ModuleHash> | null {
    if (this.#walk !== null) return null;
    return new Set(Array.from(this.#entries.values(), ({ workflow }) => workflow.module));
  }

  /** Activations and steps under way. */
  get running(): number {
    return this.#runs.size + this.#attempts.size;
  }

  #isDraining = false;

  /** When something becomes due. Infinity: not by itself. */
  get wakeAtMs(): number {
    if (this.#isIdle) return Infinity;
    // Nothing begins any more while the server drains.
    const begins = this.#isDraining ? [] : [this.#timers, this.#delays, this.#pauses];
    const all = [...begins, this.#retries, this.#askers];
    const asksAtMs = this.#asksAtMs > this.#now.nowMs ? this.#asksAtMs : Infinity;
    return Math.min(asksAtMs, ...all.map(({ nextMs }) => nextMs ?? Infinity));
  }

  /** There is none, and storage knows of none. Most servers are so, and each of their steps asks. */
  get #isIdle(): boolean {
    return this.#entries.size + this.#operations.size + this.#orders.length === 0 && this.#walk === null;
  }

  ownsOperation(operation: OperationId): boolean {
    return this.#operations.has(operation);
  }

  ownsRun(run: RunId): boolean {
    return this.#runs.has(run);
  }

  /** Whether it may still take a part: it has not ended. Before all are known, each may be there. */
  isOpen(id: ExecutionId): boolean {
    // variant: workflow-known
    return this.#entries.has(id) || this.#walk !== null;
  }

  has(id: ExecutionId): boolean {
    return this.#entries.has(id);
  }

  /** Whether it may be a workflow that is not known yet. Then storage is asked for all of them, even while the server stops. */
  awaits(id: ExecutionId): boolean {
    const isAwaited = this.#walk !== null && !this.#entries.has(id);
    this.#isAwaited ||= isAwaited;
    return isAwaited;
  }

  /** Whether a commit under way brings tasks. */
  get bringsTasks(): boolean {
    return this.#tasks.size > 0;
  }

  /** Whether a commit under way brings the task. */
  isBringing(task: ExecutionId): boolean {
    return this.#tasks.has(task);
  }

  /** A request under the id of an open workflow asks for it. False: another call has started it. */
  join(caller: WorkflowCaller, request: LviRequest): boolean {
    const entry = present(this.#entries.get(request.executionId), "the workflow that is asked for is open");
    if (isHashedCall(entry.workflow.call, callOf(request), this.#host.hasher) !== true) return false;
    this.#wait(entry, caller);
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
    const entry = this.#enter(workflow, "starting");
    entry.callers.push(caller);
    const records: readonly RecordChange[] = [{ id, expects: "new", becomes: { state: "workflow", workflow } }];
    this.#advance(records, (effect) => ({ kind: "start", entry, effect, task: null, isDoubtful: false }));
  }

  /** A task that calls a workflow becomes that workflow, under its id. */
  startTask(task: Task, module: ModuleHash): void {
    const { id, handler, args, seed, caller, attempt, lane } = task;
    const workflow = this.#workflowOf({ id, handler, args, seed, caller, parent: null }, module);
    const entry = this.#enter(workflow, "starting");
    const records: readonly RecordChange[] = [
      { id, expects: { attempt, lane }, becomes: { state: "workflow", workflow } },
    ];
    this.#advance(records, (effect) => ({ kind: "start", entry, effect, task, isDoubtful: true }));
  }

  /** The end of a task that is a step is durable. */
  taskArrived(part: WorkflowPart): void {
    const entry = this.#entries.get(part.workflow);
    if (entry !== undefined) this.#came(entry, part);
  }

  /** A location asks for a workflow, or for its end. */
  ask(caller: WorkflowCaller, question: WorkflowQuestion): void {
    const entry = this.#entries.get(question.workflow);
    if (entry === undefined || entry.phase === "starting") {
      const operation = this.#host.nextName();
      this.#operations.set(operation, { kind: "look-up", question, caller });
      return this.#host.emit({ kind: "look-up", operation, executionId: question.workflow });
    }
    if (!isAskedBy(entry.workflow, question)) return this.#unknown(caller);
    if (!question.cancels || isOver(entry.workflow)) return this.#wait(entry, caller);
    this.#cancel(entry, (after) => {
      const isOpen = this.#entries.get(question.workflow) === entry;
      return isOpen ? this.#wait(entry, caller) : this.#tell(entry, caller, after);
    });
  }

  #unknown(caller: WorkflowCaller): void {
    const message = "there is no such workflow, or somebody else has started it";
    this.#host.reply(caller, { kind: "refused", code: "unknown_workflow", message, retryAfterMs: null }, []);
  }

  #cancel(entry: Entry, told: (after: readonly Fact[]) => void): void {
    const part = cancellationPart(entry.workflow, "");
    this.expect([part]);
    const records: readonly RecordChange[] = [{ id: part.id, expects: "new", becomes: { state: "part", part } }];
    this.#advance(records, (effect) => ({ kind: "cancel", part, effect, told }));
  }

  /** The part by which an effect asks for the end of a workflow; none, if it is not one that has to be asked. */
  cancellationsOf(id: ExecutionId, by: string): readonly WorkflowPart[] {
    const workflow = this.#entries.get(id)?.workflow;
    return workflow === undefined || isOver(workflow) ? [] : [cancellationPart(workflow, by)];
  }

  /** An operator lets a stuck workflow try again, or asks one to end. The order waits until all workflows are known. */
  order(caller: CallerId, action: WorkflowAction, id: ExecutionId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined ? this.awaits(id) : entry.phase === "starting" || entry.phase === "committing")
      return void this.#orders.push({ caller, action, id });
    if (entry === undefined) return this.#host.ordered(caller, "unknown", NO_FACTS);
    const { workflow } = entry;
    if (action === "cancel" && isOver(workflow)) return this.#host.ordered(caller, "ending", NO_FACTS);
    if (action === "cancel" && workflow.state !== "stuck")
      return this.#cancel(entry, (after) => this.#host.ordered(caller, "done", after));
    if (workflow.state !== "stuck") return this.#host.ordered(caller, "not-stuck", NO_FACTS);
    // One that is stuck can't run to the wait at which it would see the cancellation.
    const next: Workflow =
      action === "retry"
        ? { ...changed(workflow), state: "open", error: null }
        : { ...changed(workflow), state: "ending", error: null, outcome: { kind: "abort", ...CANCELLED } };
    this.#commit(entry, { ...NOTHING_MADE, next, orderedBy: caller });
  }

  /** As it is told. */
  stateOf(workflow: Workflow): WorkflowState | "ended" {
    const entry = this.#entries.get(workflow.id);
    if (entry !== undefined) return stateOf(entry);
    if (workflow.state === "ended" || workflow.state === "stuck") return workflow.state;
    return "waiting";
  }

  /** The server stops: nobody waits for it any more. */
  drain(): void {
    for (const entry of this.#entries.values()) {
      if (entry.phase === "starting") continue;
      for (const caller of entry.callers.splice(0)) this.#tell(entry, caller, []);
    }
  }

  /** Waits for its end, if the caller has time for that. */
  #wait(entry: Entry, caller: WorkflowCaller): void {
    if (entry.phase === "starting") return void entry.callers.push(caller);
    const kept: Fact = { kind: "journaled", workflow: entry.workflow.id, changes: 0 };
    if (caller.untilMs <= this.#now.nowMs) return this.#tell(entry, caller, [kept]);
    entry.callers.push(caller);
    this.#askers.add(caller.untilMs, { entry, caller });
  }

  #tell(entry: Entry, caller: WorkflowCaller, after: readonly Fact[]): void {
    const { id: workflow } = entry.workflow;
    const state = stateOf(entry);
    const retryAfterMs = state === "running" ? RETRY_SOON_MS : RETRY_LATER_MS;
    this.#host.reply(caller, { kind: "working", workflow, state, retryAfterMs }, after);
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #walkOn(): void {
    if (this.#now.nowMs < this.#asksAtMs || this.#walk === null || this.#isWalking) return;
    this.#isWalking = true;
    this.#question({ kind: "open", after: this.#walk ?? null, limit: this.#bounds.page });
  }

  /** Asks for the parts that memory lacks. */
  #askForParts(): void {
    if (this.#now.nowMs < this.#asksAtMs) return;
    const { readsAtOnce } = this.#bounds;
    for (const entry of this.#toRead) {
      if (this.#reads >= readsAtOnce) return;
      this.#toRead.delete(entry);
      if (entry.phase !== "asleep") continue;
      this.#reads++;
      entry.phase = "reading";
      entry.isBehind = false;
      this.#question({ kind: "parts", workflow: entry.workflow.id });
    }
  }

  #question(question: WorkflowsQuestion): void {
    const operation = this.#host.nextName();
    this.#operations.set(operation, { kind: "question", question });
    this.#host.emit({ kind: "read-workflows", operation, question });
  }

  read(operation: OperationId, answer: WorkflowsAnswer): void {
    const { question } = this.#take(operation, "question");
    if (answer.kind === "open") {
      this.#isWalking = false;
      this.#walk = answer.next;
      for (const workflow of answer.workflows) {
        const known = this.#entries.get(workflow.id);
        if (known?.phase === "starting") known.found = workflow;
        // variant: workflow-stale
        if (known !== undefined || this.#endedSince.has(workflow.id)) continue;
        const entry = this.#enter(workflow, "asleep");
        this.#sleepUntil(entry);
        if (workflow.state !== "stuck") this.#toRead.add(entry);
      }
      if (this.#walk === null) this.#endedSince.clear();
      return;
    }
    assert(question.kind === "parts", "the answer is that to the question");
    this.#reads--;
    const entry = this.#entries.get(question.workflow);
    if (entry?.phase !== "reading") return;
    // A part that has come meanwhile may not be in the answer.
    if (entry.isBehind) return this.#readAgain(entry);
    entry.phase = "idle";
    entry.loaded = loadedOf(entry.workflow, answer.parts);
    for (const open of entry.loaded.open.values()) if (open.kind === "step") this.#begin(entry.loaded, open);
    this.#goOn(entry);
  }

  #readAgain(entry: Entry): void {
    entry.phase = "asleep";
    entry.loaded = null;
    this.#toRead.add(entry);
  }

  lookedUp(operation: OperationId, record: IntentRecord | null): void {
    const { question, caller } = this.#take(operation, "look-up");
    const entry = this.#entries.get(question.workflow);
    // It is known by now.
    if (entry !== undefined && entry.phase !== "starting") return this.ask(caller, question);
    // It begins as a task: until then, the task can be cancelled, as every task.
    if (record?.state === "task" && isAskedBy(record.task, question) && !question.cancels) {
      const { id } = record.task;
      const later = { kind: "working", workflow: id, state: "waiting", retryAfterMs: RETRY_LATER_MS } as const;
      return this.#host.reply(caller, later, []);
    }
    const workflow = record?.state === "workflow" ? record.workflow : null;
    if (workflow === null || !isAskedBy(workflow, question)) return this.#unknown(caller);
    const { id, outcome, state } = workflow;
    if (state !== "ended" || outcome === null) {
      // A starting server has not read it yet.
      const told = state === "stuck" ? "stuck" : "waiting";
      return this.#host.reply(caller, { kind: "working", workflow: id, state: told, retryAfterMs: RETRY_SOON_MS }, []);
    }
    const times = this.#host.times(caller.receivedAtMs);
    this.#host.reply(caller, { kind: "executed", cause: "stored", outcome, repairs: [], times }, []);
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
      default:
        throw new Error(`Broken invariant: ${found.kind} is no change of a workflow`);
    }
  }

  #started(entry: Entry, record: IntentRecord | null | undefined, after: readonly Fact[]): void {
    const { workflow } = entry;
    const stored = record === undefined ? workflow : record?.state === "workflow" ? record.workflow : null;
    const isSame = stored !== null && stored.call.hash === workflow.call.hash && stored.call.key === workflow.call.key;
    if (!isSame || stored.state === "ended") {
      this.#entries.delete(workflow.id);
      for (const caller of entry.callers) this.#replyTaken(caller, stored, isSame, after);
      return;
    }
    entry.workflow = stored;
    entry.phase = "asleep";
    if (record === undefined) this.#host.note("workflow_started", workflow);
    for (const caller of entry.callers.splice(0)) {
      if (caller.untilMs <= this.#now.nowMs) this.#tell(entry, caller, after);
      else this.#wait(entry, caller);
    }
    // A part that has come meanwhile is in storage.
    if (record !== undefined || entry.isBehind) {
      this.#sleepUntil(entry);
      return this.#readAgain(entry);
    }
    entry.phase = "idle";
    entry.loaded = loadedOf(stored, []);
    this.#goOn(entry);
  }

  #replyTaken(caller: WorkflowCaller, stored: Workflow | null, isSame: boolean, after: readonly Fact[]): void {
    const outcome = stored?.outcome ?? null;
    if (isSame && outcome !== null) {
      const times = this.#host.times(caller.receivedAtMs);
      return this.#host.reply(caller, { kind: "executed", cause: "stored", outcome, repairs: [], times }, []);
    }
    const message = "the execution id was used before with another handler, with other arguments or by another caller";
    const answer = { kind: "refused", code: "idempotency_key_reused", message, retryAfterMs: null } as const;
    this.#host.reply(caller, answer, stored === null ? [] : after);
  }

  failed(operation: OperationId, effect: "none" | "unknown"): void {
    const failed = present(this.#operations.get(operation), `storage failed operation ${operation} for workflows`);
    const { retryMs } = this.#bounds;
    switch (failed.kind) {
      case "question": {
        this.#operations.delete(operation);
        this.#asksAtMs = this.#now.nowMs + retryMs;
        if (failed.question.kind === "open") this.#isWalking = false;
        else {
          this.#reads--;
          const entry = this.#entries.get(failed.question.workflow);
          if (entry?.phase === "reading") this.#readAgain(entry);
        }
        return;
      }
      case "look-up":
        this.#operations.delete(operation);
        return this.#refuseBusy([failed.caller], "storage can't be read");
      case "start":
        failed.isDoubtful ||= effect === "unknown";
        if (failed.isDoubtful) break;
        this.#operations.delete(operation);
        if (failed.entry.found !== null)
          return this.#started(failed.entry, { state: "workflow", workflow: failed.entry.found }, NO_FACTS);
        this.#entries.delete(failed.entry.workflow.id);
        return this.#refuseBusy(failed.entry.callers, "storage can't be written");
      case "advance":
      case "cancel":
    }
    // The same conditional change again finds out.
    this.#retries.add(this.#now.nowMs + retryMs, { operation, effect: failed.effect });
  }

  #refuseBusy(callers: readonly WorkflowCaller[], message: string): void {
    for (const caller of callers)
      this.#host.reply(caller, { kind: "refused", code: "busy", message, retryAfterMs: RETRY_SOON_MS }, []);
  }

  #take<Kind extends Operation["kind"]>(id: OperationId, kind: Kind): Operation & { kind: Kind } {
    const operation = this.#operations.get(id);
    if (operation?.kind !== kind) throw new Error(`Storage answered operation ${id}, which is not a ${kind}`);
    this.#operations.delete(id);
    return operation as Operation & { kind: Kind };
  }

  // ── What arrives ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** A commit is on its way that brings these parts. */
  expect(parts: readonly WorkflowPart[]): void {
    for (const { workflow } of parts) this.#coming.set(workflow, (this.#coming.get(workflow) ?? 0) + 1);
  }

  /** That commit is done, or was not. */
  came(parts: readonly WorkflowPart[], isDurable: boolean): void {
    for (const part of parts) {
      const left = (this.#coming.get(part.workflow) ?? 0) - 1;
      if (left > 0) this.#coming.set(part.workflow, left);
      else this.#coming.delete(part.workflow);
      const entry = this.#entries.get(part.workflow);
      if (entry === undefined) continue;
      if (isDurable) this.#came(entry, part);
      else this.#goOn(entry);
    }
  }

  /** It is durable. */
  #came(entry: Entry, part: WorkflowPart): void {
    const { loaded, phase, workflow } = entry;
    entry.isBehind = true;
    if (loaded !== null) {
      add(workflow, loaded, part);
      return this.#goOn(entry);
    }
    // variant: signal-wakes
    if (phase === "asleep" && workflow.state !== "stuck") this.#toRead.add(entry);
  }

  /** A step that has written nothing has ended. */
  stepEnded(step: Step, outcome: Outcome): void {
    this.#attempts.delete(step.id);
    const found = this.#openStep(step);
    if (found?.open.state !== "running") return;
    const { entry, open, loaded } = found;
    const failure = failureOf(outcome, this.#now.wallMs);
    if (failure !== null) {
      open.failures++;
      const known = this.#host.current()?.rules[step.handler]?.attempts ?? DEFAULT_TASK_ATTEMPTS;
      const attempts = isMisfit(failure) ? 1 : known;
      // variant: step-attempts
      if (step.isUndo || open.failures < attempts) return this.#delay(open, pauseMs(step.id, open.failures));
      this.#host.note("workflow_step_failed", entry.workflow, `${step.handler}: ${failure.code}: ${failure.message}`);
    }
    if (step.isUndo) {
      loaded.open.delete(step.command);
      loaded.undone.add(step.command);
    } else settle(loaded, step.command, settledOf(outcome));
    this.#goOn(entry);
  }

  /** An attempt of it has had no effect: it is tried again. */
  putBack(step: Step): void {
    // It has ended before.
    if (!this.#attempts.delete(step.id)) return;
    const found = this.#openStep(step);
    if (found?.open.state !== "running") return;
    this.#delay(found.open, this.#bounds.retryMs);
  }

  /** The part by which a step that has written arrives. */
  partOf(step: Step, outcome: Outcome): WorkflowPart {
    return stepPart(step, settledOf(outcome));
  }

  /** The commit of a step's writes is done. */
  stepArrived(step: Step, part: WorkflowPart): void {
    this.#attempts.delete(step.id);
    const entry = this.#entries.get(step.workflow);
    if (entry !== undefined) this.#came(entry, part);
  }

  #openStep(step: Step): { readonly entry: Entry; readonly loaded: Loaded; readonly open: OpenStep } | null {
    const entry = this.#entries.get(step.workflow);
    const loaded = entry?.loaded ?? null;
    const open = loaded?.open.get(step.command);
    if (entry === undefined || loaded === null || open?.kind !== "step" || open.step.id !== step.id) return null;
    return { entry, loaded, open };
  }

  #delay(open: OpenStep, ms: number): void {
    open.state = "delayed";
    this.#delays.add(this.#now.nowMs + ms, open);
  }

  // ── What begins ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All that is due by now; and then what may begin, up to so many at once. */
  goOn(atOnce: number, isDraining: boolean): void {
    this.#isDraining = isDraining;
    if (this.#isIdle) return;
    const { nowMs } = this.#now;
    for (let due = this.#askers.takeDue(nowMs); due !== undefined; due = this.#askers.takeDue(nowMs)) {
      const { entry, caller } = due;
      if (!entry.callers.includes(caller)) continue;
      entry.callers = entry.callers.filter((each) => each !== caller);
      this.#tell(entry, caller, [{ kind: "journaled", workflow: entry.workflow.id, changes: 0 }]);
    }
    for (let due = this.#retries.takeDue(nowMs); due !== undefined; due = this.#retries.takeDue(nowMs))
      if (this.#operations.has(due.operation)) this.#host.emit(due.effect);
    for (const { caller, action, id } of this.#orders.splice(0)) this.order(caller, action, id);
    if (!isDraining || this.#isAwaited) this.#walkOn();
    if (isDraining) return;
    for (let due = this.#timers.takeDue(nowMs); due !== undefined; due = this.#timers.takeDue(nowMs)) {
      const { entry, changes } = due;
      if (entry.workflow.changes !== changes || this.#entries.get(entry.workflow.id) !== entry) continue;
      entry.isTimeOver = true;
      if (entry.phase === "asleep") this.#toRead.add(entry);
      this.#goOn(entry);
    }
    for (let due = this.#delays.takeDue(nowMs); due !== undefined; due = this.#delays.takeDue(nowMs)) {
      if (due.state !== "delayed") continue;
      due.state = "ready";
      this.#readySteps.add(due);
    }
    for (let due = this.#pauses.takeDue(nowMs); due !== undefined; due = this.#pauses.takeDue(nowMs)) this.#goOn(due);
    this.#askForParts();
    this.#beginSome(atOnce);
  }

  #beginSome(atOnce: number): void {
    const current = this.#host.current();
    const plans = current === null ? undefined : this.#host.plansOf(current.module);
    for (const open of this.#readySteps) {
      if (this.running >= atOnce) return;
      const plan = plans?.get(open.step.handler);
      // As a task, it waits for a module that can run it.
      if (plan === undefined || plan === "workflow") continue;
      this.#readySteps.delete(open);
      if (open.state !== "ready") continue;
      open.state = "running";
      this.#attempts.add(open.step.id);
      this.#host.attempt(open.step);
    }
    for (const entry of this.#ready) {
      if (this.running >= atOnce) return;
      this.#ready.delete(entry);
      // variant: one-run
      if (entry.phase === "idle" && entry.loaded !== null && needsRun(entry.loaded)) this.#activate(entry);
    }
  }

  /** After anything that concerns it, if nothing of it is under way. */
  #goOn(entry: Entry): void {
    const { workflow, loaded, phase } = entry;
    // variant: one-activation
    if (phase !== "idle" || loaded === null) return;
    if (workflow.state === "ending") return this.#goOnEnding(entry, loaded);
    const isStill = ![...loaded.open.values()].some(({ kind }) => kind === "step") && !this.#coming.has(workflow.id);
    if (workflow.state !== "open") return isStill ? this.#sleep(entry) : undefined;
    const wait = waitOf(loaded);
    if (entry.isTimeOver && wait !== null && wait.untilMs !== null)
      settle(loaded, present(wait.commands[0], "a wait is for a command"), { kind: "timer" });
    if (needsRun(loaded)) return void this.#ready.add(entry);
    if (isStill && loaded.arrivals.length === 0) this.#sleep(entry);
  }

  /** It only waits: memory may forget its journal. */
  #sleep(entry: Entry): void {
    entry.phase = "asleep";
    entry.loaded = null;
    if (entry.isTimeOver) this.#toRead.add(entry);
  }

  #sleepUntil(entry: Entry): void {
    const { untilMs, changes } = entry.workflow;
    entry.isTimeOver = false;
    if (untilMs === null) return;
    const { nowMs, wallMs } = this.#now;
    this.#timers.add(nowMs + Math.max(0, untilMs - wallMs), { entry, changes });
  }

  #enter(workflow: Workflow, phase: Entry["phase"]): Entry {
    const entry: Entry = {
      workflow,
      phase,
      loaded: null,
      isBehind: false,
      isTimeOver: false,
      callers: [],
      found: null,
      kills: 0,
    };
    this.#entries.set(workflow.id, entry);
    return entry;
  }

  #isWorkflow(callee: string): boolean {
    const current = this.#host.current();
    return current !== null && this.#host.plansOf(current.module)?.get(callee) === "workflow";
  }

  // ── Activations ────────────────────────────────────────────────────────────────────────────────────────────────────

  #activate(entry: Entry): void {
    const { workflow } = entry;
    const loaded = present(entry.loaded, LOADED);
    if (this.#host.plansOf(workflow.module)?.get(workflow.handler) !== "workflow")
      return this.#stuck(entry, "module_missing", `its module ${workflow.module} has no workflow ${workflow.handler}`);
    const last = loaded.entries.at(-1);
    // Its time never goes back, and a timer is not early.
    // variant: workflow-time
    const timeMs = Math.max(this.#now.wallMs, last?.timeMs ?? 0, entry.isTimeOver ? (last?.wait?.untilMs ?? 0) : 0);
    const id = this.#host.nextName();
    entry.phase = "running";
    // variant: activation-module
    const invocation = invocationOf(workflow, timeMs);
    const activation = { journal: [...loaded.entries], arrivals: [...loaded.arrivals], timeMs };
    this.#runs.set(id, { entry, activation });
    this.#host.emit({
      kind: "execute",
      run: {
        id,
        invocation,
        snapshot: NO_SNAPSHOT,
        access: { kind: "workflow", round: workflow.round, activation },
        kills: entry.kills,
      },
      location: "~tasks",
      executions: [workflow.id],
      after: [{ kind: "journaled", workflow: workflow.id, changes: workflow.changes }],
    });
  }

  executed(run: RunId, result: RunResult): void {
    const { entry, activation } = present(this.#runs.get(run), `run ${run} of a workflow is under way`);
    this.#runs.delete(run);
    entry.phase = "idle";
    switch (result.kind) {
      case "activated":
        entry.kills = 0;
        return this.#activated(entry, activation, result.run);
      case "crowded-out":
      case "killed":
        entry.kills++;
        this.#pauses.add(this.#now.nowMs + this.#bounds.retryMs * 2 ** Math.min(entry.kills, 9), entry);
        return;
      default:
        throw new Error(`Broken invariant: the run of a workflow is ${result.kind}`);
    }
  }

  #stuck(entry: Entry, code: string, message: string, sampled = NO_SAMPLES): void {
    const error: TaskError = { code, message, atMs: this.#now.wallMs };
    const next: Workflow = { ...changed(entry.workflow), state: "stuck", untilMs: null, error };
    this.#commit(entry, { ...NOTHING_MADE, next, sampled });
  }

  #activated(entry: Entry, activation: Activation, run: WorkflowRun): void {
    const { workflow } = entry;
    const { round } = workflow;
    if (run.kind === "differs") return this.#stuck(entry, "command_differs", wordsOfDifference(run));
    if (run.kind === "trap")
      return this.#stuck(
        entry,
        run.code,
        run.message,
        this.#host.sample(workflow, { round, ...activation, entry: null }, run),
      );
    const loaded = present(entry.loaded, LOADED);
    const { commands } = run;
    const calls = commands.map(({ command }) => this.#callOf(command));
    const taken = takenBy(loaded, run.entry);
    // variant: entry-as-seen
    const content = { kind: "entry", entry: run.entry, calls, taken } as const;
    const part = entryPart(workflow, workflow.entries, content);
    const grown: Workflow = {
      ...changed(workflow),
      entries: workflow.entries + 1,
      bytes: workflow.bytes + part.content.length,
      untilMs: run.entry.wait?.untilMs ?? null,
    };
    if (grown.entries > MAX_JOURNAL_ENTRIES || grown.bytes > MAX_JOURNAL_BYTES)
      return this.#stuck(entry, "journal_full", JOURNAL_FULL);
    const commit = this.#host.takeCommit();
    const asked = this.#asked(workflow, loaded.commands, commands, calls, commit);
    const made = {
      ...NOTHING_MADE,
      commit,
      entry: run.entry,
      part,
      commands,
      calls,
      logged: run.logged ?? [],
      sampled: this.#host.sample(
        workflow,
        { round, ...activation, entry: run.entry },
        run.kind === "ended" ? run.outcome : null,
      ),
      ...asked,
    };
    switch (run.kind) {
      case "waiting":
        return this.#commit(entry, { ...made, next: grown });
      case "again":
        return this.#end(entry, { ...made, next: { ...grown, state: "ending", again: run.args } });
      case "ended":
        return this.#end(entry, { ...made, next: { ...grown, state: "ending", outcome: run.outcome } });
    }
  }

  /** On the current code, if that has the workflow. */
  #nextRound(workflow: Workflow, args: Uint8Array): Workflow {
    const { module, handler, round } = workflow;
    const current = this.#host.current()?.module ?? module;
    const next = this.#isWorkflow(handler) ? current : module;
    const state = { state: "open", again: null, untilMs: null } as const;
    return { ...workflow, ...state, module: next, args, round: round + 1, entries: 0, bytes: 0 };
  }

  /** The records that new commands ask for. */
  #asked(
    workflow: Workflow,
    first: number,
    commands: readonly IssuedCommand[],
    calls: readonly (Call | null)[],
    commit: CommitId,
  ): Pick<Made, "children" | "tasks" | "parts"> {
    const { id, round } = workflow;
    const children: Workflow[] = [];
    const tasks: Task[] = [];
    const parts: WorkflowPart[] = [];
    const isOpen = (other: ExecutionId): boolean => this.isOpen(other) || children.some((child) => child.id === other);
    for (const [at, { command }] of commands.entries()) {
      const name: StepName = { workflow: id, round, command: first + at };
      switch (command.kind) {
        case "start": {
          const kind = calls[at]?.kind;
          if (kind === "workflow") children.push(this.#childOf(workflow, name, command.callee, command.args));
          if (kind === "service") tasks.push(this.#serviceTask(workflow, name, command, placeOf(commit, at), false));
          break;
        }
        case "enqueue":
          tasks.push(taskOf(workflow, name, command, placeOf(commit, at), this.#now.wallMs));
          break;
        case "send":
          if (isOpen(command.workflow))
            parts.push(signalPart(command.workflow, commit, at, command.name, command.value));
          break;
        case "cancel":
          parts.push(...this.cancellationsOf(command.task, placeOf(commit, at)));
          break;
        case "undo":
        case "sleep":
        case "signal":
      }
    }
    return { children, tasks, parts };
  }

  /** The call of a command; null: it calls nothing by itself. */
  #callOf(command: WorkflowCommand): Call | null {
    if (command.kind !== "start" && command.kind !== "undo") return null;
    const { callee, args } = command;
    const current = this.#host.current();
    const isHandler = current === null || this.#host.plansOf(current.module)?.has(callee) === true;
    if (this.#isWorkflow(callee)) return { kind: "workflow", args };
    return { kind: !isHandler && current.services?.[callee] !== undefined ? "service" : "handler", args };
  }

  #serviceTask(
    workflow: Workflow,
    name: StepName,
    { callee, args }: { readonly callee: string; readonly args: Uint8Array },
    place: string,
    isUndo: boolean,
  ): Task {
    const enqueued = { kind: "enqueue", callee, args, delayMs: 0, key: null } as const;
    return { ...taskOf(workflow, name, enqueued, place, this.#now.wallMs), step: { ...name, isUndo } };
  }

  /** On the current code. */
  #childOf(
    { id, module, seed, caller, round }: Workflow,
    parent: StepName,
    callee: string,
    args: Uint8Array,
  ): Workflow {
    const child = stepIdOf({ workflow: id, round }, parent.command);
    const drawn = stepSeedOf(seed, round, parent.command);
    return this.#workflowOf(
      { id: child, handler: callee, args, seed: drawn, caller, parent },
      this.#host.current()?.module ?? module,
    );
  }

  /** One that no request has asked for. */
  #workflowOf(named: Omit<Named, "module" | "call">, module: ModuleHash): Workflow {
    const { id, handler, args, seed, caller } = named;
    const environment = { timeMs: 0, seed, caller };
    const call = this.#host.hasher.hash(bytesOfCall(callOf({ executionId: id, module, handler, args, environment })));
    return begun({ ...named, module, call }, this.#now.wallMs);
  }

  // ── Commits ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One conditional transaction. Nothing of it begins before it is durable. */
  #commit(entry: Entry, made: Made): void {
    const { workflow, loaded } = entry;
    const { next, part, children, tasks, parts, isAgain } = made;
    assert(next.changes === workflow.changes + 1, "each change counts");
    entry.phase = "committing";
    const records: RecordChange[] = [
      { id: workflow.id, expects: { changes: workflow.changes }, becomes: { state: "workflow", workflow: next } },
    ];
    if (part !== null && !isAgain) records.push(insertion(part.id, { state: "part", part }));
    for (const child of children) {
      records.push(insertion(child.id, { state: "workflow", workflow: child }));
      if (!this.#entries.has(child.id)) this.#enter(child, "starting");
    }
    for (const task of tasks) {
      records.push(insertion(task.id, { state: "task", task }));
      this.#tasks.add(task.id);
    }
    for (const each of parts) records.push(insertion(each.id, { state: "part", part: each }));
    // Nothing of a round is needed after it, but for the signals that it has not taken.
    if (isAgain && loaded !== null) {
      const taken = made.entry === null ? [] : takenBy(loaded, made.entry);
      for (const id of new Set([...loaded.ids, ...taken]))
        records.push({ id, expects: { partOf: workflow.id }, becomes: null });
    }
    const lanes = lanesOf(made.commands.flatMap(({ command }) => (command.kind === "enqueue" ? [command] : [])));
    this.#host.names(entry, lanes, made.commit);
    this.expect(parts);
    // variant: entry-stored-first
    this.#advance(records, (effect) => ({ kind: "advance", entry, made, effect }));
  }

  #committed(entry: Entry, made: Made, after: readonly Fact[]): void {
    const { next, children, tasks, parts } = made;
    const before = entry.workflow;
    entry.workflow = next;
    entry.phase = "idle";
    this.#host.namesNoMore(entry);
    for (const effect of made.sampled) this.#host.emit(effect);
    if (made.logged.length > 0) this.#host.tellLogged(next, made.logged);
    if (made.orderedBy !== null) this.#host.ordered(made.orderedBy, "done", after);
    if (next.state === "ended") this.#gone(entry, made.commit, after);
    else {
      this.#sleepUntil(entry);
      if (next.state !== before.state) this.#noteState(next);
      this.#journaled(entry, made);
    }
    for (const child of children) {
      const begins = present(this.#entries.get(child.id), "a child is known before it is durable");
      begins.phase = "idle";
      if (begins.isBehind) {
        this.#readAgain(begins);
        continue;
      }
      begins.loaded = loadedOf(child, []);
      this.#host.note("workflow_started", child);
      this.#goOn(begins);
    }
    for (const task of tasks) {
      this.#tasks.delete(task.id);
      this.#host.added(task);
    }
    this.came(parts, true);
    if (this.#entries.get(next.id) === entry) this.#goOn(entry);
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
    if (loaded === null || isAgain) return next.state === "stuck" ? this.#sleep(entry) : this.#readAgain(entry);
    if (added === null || part === null) return undoesByOthers(next, loaded);
    for (const id of [part.id, ...takenBy(loaded, added)]) loaded.ids.add(id);
    const issued = added.commands.map((trace, at) => ({ ...trace, call: calls[at] ?? null }));
    for (const open of append(next, loaded, added, issued)) this.#begin(loaded, open);
  }

  #begin(loaded: Loaded, open: OpenStep): void {
    if (loaded.open.get(open.step.command) !== open) return;
    open.state = "ready";
    this.#readySteps.add(open);
  }

  // ── The end ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Its last run has ended. It has ended too, unless steps are under way or something is to be undone. */
  #end(entry: Entry, made: Made): void {
    const loaded = present(entry.loaded, LOADED);
    const issues = (kind: WorkflowCommand["kind"]): boolean =>
      made.commands.some(({ command }) => command.kind === kind);
    const undoes = hasFailed(made.next) && (loaded.undos.length > 0 || issues("undo"));
    const isOverAtOnce = isQuiet(loaded) && !this.#coming.has(entry.workflow.id) && !issues("start") && !undoes;
    this.#commit(entry, isOverAtOnce ? this.#ended(made) : made);
  }

  #ended(made: Made): Made {
    const { next } = made;
    if (next.again !== null) return { ...made, next: this.#nextRound(next, next.again), isAgain: true };
    const endedAtMs = this.#now.wallMs;
    const { parent, outcome } = next;
    const parts = [...made.parts];
    // variant: child-arrival
    if (parent !== null && this.isOpen(parent.workflow))
      parts.push(stepPart(parent, settledOf(present(outcome, "a workflow that has ended has an outcome"))));
    return { ...made, next: { ...next, state: "ended", untilMs: null, endedAtMs }, parts };
  }

  /** Steps under way end first; then the undos, the newest first. */
  #goOnEnding(entry: Entry, loaded: Loaded): void {
    if (!isQuiet(loaded) || this.#coming.has(entry.workflow.id)) return;
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
    this.#begin(loaded, open);
  }

  /** By a record of its own: a task, or another workflow. */
  #undoByOthers(entry: Entry, command: number, callee: string, { kind, args }: Call): void {
    const { workflow } = entry;
    const name: StepName = { workflow: workflow.id, round: workflow.round, command };
    const commit = this.#host.takeCommit();
    const next = { ...changed(workflow), undoing: command };
    const asked =
      kind === "workflow"
        ? { children: [this.#childOf(workflow, name, callee, args)] }
        : { tasks: [this.#serviceTask(workflow, name, { callee, args }, placeOf(commit, 0), true)] };
    this.#commit(entry, { ...NOTHING_MADE, commit, next, ...asked });
  }

  #gone(entry: Entry, commit: CommitId, after: readonly Fact[]): void {
    const { workflow } = entry;
    this.#entries.delete(workflow.id);
    if (this.#walk !== null) this.#endedSince.add(workflow.id);
    this.#host.ended(workflow, commit);
    this.#host.note("workflow_ended", workflow);
    const outcome = present(workflow.outcome, "a workflow that has ended has an outcome");
    for (const caller of entry.callers.splice(0)) {
      const times = this.#host.times(caller.receivedAtMs);
      this.#host.reply(caller, { kind: "executed", cause: "requested", outcome, repairs: [], times }, after);
    }
  }
}

const LOADED = "a workflow that runs has its journal in memory";
const RETRY_SOON_MS = 1_000;
const RETRY_LATER_MS = 5_000;
const NO_SNAPSHOT = new Map<never, never>();
const JOURNAL_FULL =
  `its journal has more than ${MAX_JOURNAL_ENTRIES} entries, or more than ${MAX_JOURNAL_BYTES} bytes. ` +
  "A workflow that goes on for long goes on with an empty journal: again(…)";
const NOTHING_MADE: Omit<Made, "next"> = {
  commit: NO_COMMIT,
  entry: null,
  part: null,
  commands: [],
  calls: [],
  logged: [],
  sampled: NO_SAMPLES,
  children: [],
  tasks: [],
  parts: [],
  isAgain: false,
  orderedBy: null,
};

function insertion(id: ExecutionId, becomes: IntentRecord): RecordChange {
  return { id, expects: "new", becomes };
}

function isAskedBy(workflow: Pick<Workflow, "handler" | "caller">, { handler, caller }: WorkflowQuestion): boolean {
  return workflow.handler === handler && workflow.caller === caller;
}

type Named = Pick<Workflow, "id" | "module" | "handler" | "args" | "seed" | "caller" | "parent" | "call">;

function begun(named: Named, createdAtMs: number): Workflow {
  return {
    ...named,
    createdAtMs,
    round: 0,
    changes: 0,
    entries: 0,
    bytes: 0,
    state: "open",
    untilMs: null,
    outcome: null,
    again: null,
    undoing: null,
    error: null,
    endedAtMs: null,
  };
}

/** Its last run has ended: it can't be cancelled any more. */
function isOver({ state, again }: Workflow): boolean {
  return state === "ended" || (state === "ending" && again === null);
}

/** Its last run has ended, and not with a result. */
function hasFailed({ outcome }: Workflow): boolean {
  return outcome !== null && outcome.kind !== "result";
}

function changed(workflow: Workflow): Workflow {
  return { ...workflow, changes: workflow.changes + 1 };
}

function stateOf({ workflow, phase, loaded }: Entry): WorkflowState {
  if (workflow.state === "stuck") return "stuck";
  if (workflow.state === "ending") return hasFailed(workflow) ? "undoing" : "running";
  if (phase === "asleep") return "waiting";
  return loaded?.arrivals.some(({ kind }) => kind === "cancelled") === true ? "cancelling" : "running";
}

/** The signals that an entry has taken. */
function takenBy(loaded: Loaded, { arrivals }: JournalEntry): readonly ExecutionId[] {
  return arrivals.flatMap((arrival) => {
    const id = arrival.kind === "settled" ? loaded.taken.get(arrival.command) : undefined;
    return id === undefined ? [] : [id];
  });
}

function wordsOfDifference({ command, expected, found, place }: WorkflowRun & { kind: "differs" }): string {
  const words = (trace: CommandTrace | null): string =>
    trace === null ? "none" : `${trace.kind} ${trace.name}`.trim();
  const at = place === "" ? "" : ` at ${place}`;
  return `command ${command} was ${words(expected)}, and is ${words(found)}${at} now: its code is not a function of its journal`;
}

function taskOf(
  { id, module, caller, seed }: Workflow,
  { workflow, round, command }: StepName,
  { callee, args, delayMs, key }: RunEffect & { kind: "enqueue" },
  place: string,
  wallMs: number,
): Task {
  return {
    id: stepIdOf({ workflow, round }, command),
    handler: callee,
    args,
    seed: stepSeedOf(seed, round, command),
    caller,
    parent: id,
    module,
    lane: key,
    place,
    createdAtMs: wallMs,
    dueMs: wallMs + delayMs,
    attempt: 0,
    failures: 0,
    state: "open",
    error: null,
    sentAtMs: null,
  };
}
