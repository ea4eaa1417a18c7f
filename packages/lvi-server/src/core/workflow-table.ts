/**
 * The workflows that memory knows: all that have not ended, once a starting server has found them. Of one that runs, memory has the
 * journal too. Storage has a record and the parts of each (`workflow.ts`).
 *
 *   starting ──── idle ── running ── committing ──┬── idle
 *   asleep ── reading ─┘                          ├── asleep   (it waits for time, a signal or others)
 *                                                 └── gone
 */
import { assert, type ExecutionId, type ModuleHash, present, type WorkflowState } from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import type { OperationId } from "./events.ts";
import type { Instant } from "./task-table.ts";
import { hasFailed, isCancellation, type Workflow, type WorkflowPart } from "./workflow.ts";
import type { WorkflowCaller, WorkflowsHost } from "./workflow-host.ts";
import { add, type Loaded, loadedOf } from "./workflow-journal.ts";

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

export interface WorkflowBounds {
  /** Records of one question, and questions for parts at once. */
  readonly page: number;
  readonly readsAtOnce: number;
  readonly retryMs: number;
}

export interface Entry {
  workflow: Workflow;
  phase: "starting" | "asleep" | "reading" | "idle" | "running" | "committing";
  loaded: Loaded | null;
  /** A part has come, or is to be looked for. */
  isBehind: boolean;
  isTimeOver: boolean;
  callers: WorkflowCaller[];
  /** Those who want to know whether it has started. */
  startWaits: (() => void)[];
  /** Storage was found to have it while it was about to start: an earlier server has started it. */
  found: Workflow | null;
  kills: number;
}

export class WorkflowTable {
  readonly #host: WorkflowsHost;
  readonly #bounds: WorkflowBounds;
  readonly #entries = new Map<ExecutionId, Entry>();
  readonly #questions = new Map<OperationId, WorkflowsQuestion>();
  /** Commits under way that bring parts, by the workflow that these are for. */
  readonly #coming = new Map<ExecutionId, number>();
  /** Where the walk over all of them goes on; null: memory knows all. Undefined: it has not begun. */
  #walk: string | null | undefined = undefined;
  #isWalking = false;
  /** Somebody waits for the end of the walk. */
  #isAwaited = false;
  /** Those that have ended during the walk: an answer may be older than that. */
  readonly #endedSince = new Set<ExecutionId>();
  readonly #toRead = new Set<Entry>();
  #reads = 0;
  /** Storage could not be asked: not before then. */
  #asksAtMs = -Infinity;
  readonly #timers = new Deadlines<{ readonly entry: Entry; readonly changes: number }>(
    ({ entry, changes }) => entry.workflow.changes !== changes,
  );

  constructor(bounds: WorkflowBounds, host: WorkflowsHost) {
    this.#bounds = bounds;
    this.#host = host;
  }

  get #now(): Instant {
    return this.#host.now();
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

  /** There is none, and storage knows of none. */
  get isIdle(): boolean {
    return this.#entries.size === 0 && this.#walk === null;
  }

  /** Storage has not answered yet. */
  get isAsking(): boolean {
    return this.#questions.size > 0;
  }

  /** When storage is asked again, after it has failed. Infinity: it is not waited for. */
  get asksAgainAtMs(): number {
    return this.#asksAtMs > this.#now.nowMs ? this.#asksAtMs : Infinity;
  }

  /** When the timer of one is over, by the time of tasks. Infinity: none is. */
  get timerAtMs(): number {
    return this.#timers.nextMs ?? Infinity;
  }

  get(id: ExecutionId): Entry | undefined {
    return this.#entries.get(id);
  }

  has(id: ExecutionId): boolean {
    return this.#entries.has(id);
  }

  /** Whether it may still take a part: it has not ended. Before all are known, each may be there. */
  isOpen(id: ExecutionId): boolean {
    // variant: workflow-known
    return this.#entries.has(id) || this.#walk !== null;
  }

  /** Whether it may be a workflow that is not known yet. Then storage is asked for all of them, even while the server stops. */
  awaits(id: ExecutionId): boolean {
    const isAwaited = this.#walk !== null && !this.#entries.has(id);
    this.#isAwaited ||= isAwaited;
    return isAwaited;
  }

  get all(): Iterable<Entry> {
    return this.#entries.values();
  }

  enter(workflow: Workflow, phase: Entry["phase"]): Entry {
    const entry: Entry = {
      workflow,
      phase,
      loaded: null,
      isBehind: false,
      isTimeOver: false,
      callers: [],
      startWaits: [],
      found: null,
      kills: 0,
    };
    this.#entries.set(workflow.id, entry);
    return entry;
  }

  /** It has ended, or has not become one. */
  remove({ workflow: { id } }: Entry, hasEnded: boolean): void {
    this.#entries.delete(id);
    if (hasEnded && this.#walk !== null) this.#endedSince.add(id);
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `mayWalk`: asks for all of them, also if nobody waits for that. */
  walkOn(mayWalk: boolean): void {
    if (!mayWalk && !this.#isAwaited) return;
    if (this.#now.nowMs < this.#asksAtMs || this.#walk === null || this.#isWalking) return;
    this.#isWalking = true;
    this.#question({ kind: "open", after: this.#walk ?? null, limit: this.#bounds.page });
  }

  /** Asks for the parts that memory lacks. */
  askForParts(): void {
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
    this.#questions.set(operation, question);
    this.#host.emit({ kind: "read-workflows", operation, question });
  }

  /** The answer of storage. Returns the workflow whose journal is in memory now; null: none. */
  read(operation: OperationId, answer: WorkflowsAnswer): Entry | null {
    const question = this.#take(operation);
    if (answer.kind === "open") {
      this.#isWalking = false;
      this.#walk = answer.next;
      for (const workflow of answer.workflows) {
        const known = this.#entries.get(workflow.id);
        if (known?.phase === "starting") known.found = workflow;
        // variant: workflow-stale
        if (known !== undefined || this.#endedSince.has(workflow.id)) continue;
        const entry = this.enter(workflow, "asleep");
        this.sleepUntil(entry);
        this.#toRead.add(entry);
      }
      if (this.#walk === null) this.#endedSince.clear();
      return null;
    }
    assert(question.kind === "parts", "the answer is that to the question");
    this.#reads--;
    const entry = this.#entries.get(question.workflow);
    if (entry?.phase !== "reading") return null;
    // A part that has come meanwhile may not be in the answer.
    if (entry.isBehind) {
      this.readAgain(entry);
      return null;
    }
    entry.phase = "idle";
    entry.loaded = loadedOf(entry.workflow, answer.parts);
    return entry;
  }

  readAgain(entry: Entry): void {
    entry.phase = "asleep";
    entry.loaded = null;
    this.#toRead.add(entry);
  }

  ownsOperation(operation: OperationId): boolean {
    return this.#questions.has(operation);
  }

  /** Storage could not be asked: the question comes again. */
  failed(operation: OperationId): void {
    const question = this.#take(operation);
    this.#asksAtMs = this.#now.nowMs + this.#bounds.retryMs;
    if (question.kind === "open") {
      this.#isWalking = false;
      return;
    }
    this.#reads--;
    const entry = this.#entries.get(question.workflow);
    if (entry?.phase === "reading") this.readAgain(entry);
  }

  #take(operation: OperationId): WorkflowsQuestion {
    const question = present(this.#questions.get(operation), `storage answers question ${operation} for workflows`);
    this.#questions.delete(operation);
    return question;
  }

  // ── Parts and time ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** A commit is on its way that brings these parts. */
  expect(parts: readonly WorkflowPart[]): void {
    for (const { workflow } of parts) this.#coming.set(workflow, (this.#coming.get(workflow) ?? 0) + 1);
  }

  /** That commit has ended. */
  expectNoMore({ workflow }: WorkflowPart): void {
    const left = (this.#coming.get(workflow) ?? 0) - 1;
    if (left > 0) this.#coming.set(workflow, left);
    else this.#coming.delete(workflow);
  }

  /** Whether a commit is on its way that brings a part of it. */
  isExpecting({ id }: Workflow): boolean {
    return this.#coming.has(id);
  }

  /** A part is durable. Returns whether its workflow may go on. */
  arrived(entry: Entry, part: WorkflowPart): boolean {
    const { loaded, phase, workflow } = entry;
    entry.isBehind = true;
    if (loaded !== null) {
      add(workflow, loaded, part);
      return true;
    }
    // variant: signal-wakes
    if (phase === "asleep" && (workflow.state !== "stuck" || isCancellation(part))) this.#toRead.add(entry);
    return false;
  }

  /** It only waits: memory may forget its journal. */
  sleep(entry: Entry): void {
    entry.phase = "asleep";
    entry.loaded = null;
    if (entry.isTimeOver) this.#toRead.add(entry);
  }

  sleepUntil(entry: Entry): void {
    const { untilMs, changes } = entry.workflow;
    entry.isTimeOver = false;
    if (untilMs === null) return;
    const { nowMs, wallMs } = this.#now;
    this.#timers.add(nowMs + Math.max(0, untilMs - wallMs), { entry, changes });
  }

  /** Those whose timers are over now. */
  *takeDue(nowMs: number): Generator<Entry> {
    for (let due = this.#timers.takeDue(nowMs); due !== undefined; due = this.#timers.takeDue(nowMs)) {
      const { entry, changes } = due;
      if (entry.workflow.changes !== changes || this.#entries.get(entry.workflow.id) !== entry) continue;
      entry.isTimeOver = true;
      if (entry.phase === "asleep") this.#toRead.add(entry);
      yield entry;
    }
  }
}

/** As it is told. */
export function stateOf({ workflow, phase, loaded }: Entry): WorkflowState {
  if (workflow.state === "stuck") return "stuck";
  if (workflow.state === "ending") return hasFailed(workflow) ? "undoing" : "running";
  if (phase === "asleep") return "waiting";
  return loaded?.arrivals.some(({ kind }) => kind === "cancelled") === true ? "cancelling" : "running";
}
