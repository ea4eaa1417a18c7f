/**
 * The tasks that the server runs next. Storage has all of them; memory has those that are due first, and the first ones of each
 * lane. So a start reads a part, however many wait.
 *
 * Pure: it says what to ask storage for, and which task may begin. Times are of the monotonic clock, but for `dueMs` of a task.
 */
import { assert, type CommitId, type ExecutionId, present, type TaskLimit, type TaskState } from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import { Distribution } from "./distribution.ts";
import type { CallerId } from "./events.ts";
import type { Task, TaskPlace } from "./task.ts";
import { TaskCount, type TaskNumbers } from "./task-count.ts";
import { type TaskLookup, TaskLookups } from "./task-lookups.ts";
import { type DueQuestion, TaskWindow, type WindowBounds } from "./task-window.ts";

/** Something that memory lacks. */
export type TaskQuestion =
  | DueQuestion
  | { readonly kind: "lane"; readonly lane: string; readonly limit: number }
  | { readonly kind: "heads"; readonly after: string | null; readonly limit: number }
  | TaskLookup
  | { readonly kind: "count" };

export type TaskAnswer =
  /** It has the tasks up to a place; null: all of them. */
  | { readonly kind: "due"; readonly tasks: readonly Task[]; readonly upTo: TaskPlace | null }
  | { readonly kind: "lane"; readonly tasks: readonly Task[]; readonly upTo: string | null }
  | { readonly kind: "heads"; readonly tasks: readonly Task[]; readonly next: string | null }
  /** Null: there is none. */
  | { readonly kind: "task"; readonly task: Task | null }
  | { readonly kind: "count"; readonly numbers: TaskNumbers };

/** Commits that storage has been asked for, and whose answers have not been heard. */
export interface UnderWay {
  /** The commit that inserts the task. It brings the task itself, once it is known to be durable. */
  readonly inserts: (task: Task) => boolean;
  /** One that inserts or removes any. */
  readonly changesTheNumber: boolean;
}

/** Of memory: {@link WindowBounds} for tasks without a lane. */
export interface TaskBounds extends WindowBounds {
  /** Most tasks of one lane that memory has. */
  readonly inLane: number;
}

export interface TaskCounts {
  /** All of them in storage; null: not counted yet. */
  readonly all: number | null;
  /** In memory. */
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
  /** All of them in storage; null: not counted yet. */
  readonly dead: number | null;
  /** Lanes whose first task is dead, or waits for its next attempt. */
  readonly blockedLanes: number;
  /** For so long the one has waited that might begin first; 0: none waits. */
  readonly oldestReadyMs: number;
}

export interface Instant {
  readonly nowMs: number;
  readonly wallMs: number;
}

interface Entry {
  readonly task: Task;
  /** When it is due, by the monotonic clock. */
  readonly atMs: number;
  /** Of one that is ready or runs: since when it might begin, by the monotonic clock. */
  sinceMs: number;
  /** `held`: somebody else is changing its record. */
  state: "delayed" | "ready" | "running" | "dead" | "held" | "gone";
  /** It is among the delays. */
  isTimed: boolean;
}

interface Lane {
  readonly name: string;
  /** The first ones, in order. */
  entries: Entry[];
  /** Storage has no others. */
  isWhole: boolean;
  /** Those that came while storage was asked; null: it was not. */
  coming: Task[] | null;
}

interface Pace {
  running: number;
  /** Those that may begin at once, as of then. */
  tokens: number;
  atMs: number;
}

/** From a task that begins at once to one that has waited through an outage. */
export const START_DELAYS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600,
];

export class TaskTable<Owner> {
  readonly #bounds: TaskBounds;
  readonly #limitOf: (handler: string) => TaskLimit | null;
  readonly #entries = new Map<ExecutionId, Entry>();
  /** Those in no lane that don't run. */
  readonly #window: TaskWindow<Entry>;
  /** No task in memory may begin, as far as is known. */
  #isIdle = false;
  /** Those that the window does not reach, and that came while storage was asked; null: it was not. */
  #coming: Task[] | null = null;
  readonly #lanes = new Map<string, Lane>();
  /** Where the walk over all lanes goes on; null: memory knows all lanes. Undefined: it has not begun. */
  #heads: string | null | undefined = undefined;
  #isWalking = false;
  /** Of each handler, those that may begin. The handler that is next stands first. */
  readonly #ready = new Map<string, Set<Entry>>();
  #readyNumber = 0;
  /** The same tasks, by the time since which they might begin. */
  readonly #readySince = new Deadlines<Entry>((entry) => entry.state !== "ready");
  readonly #delays = new Deadlines<Entry>((entry) => entry.state !== "delayed");
  readonly #paces = new Map<string, Pace>();
  /** Executions that may still enqueue in a lane, under a commit id that they have taken. */
  readonly #naming = new Map<string, Map<Owner, CommitId>>();
  readonly #named = new Map<Owner, readonly string[]>();
  /** Lanes that may lack their first task. */
  readonly #wanting = new Set<Lane>();
  /** Questions that storage has not answered, and tasks that have changed meanwhile, each with its place among all these. */
  readonly #asked = new Map<TaskQuestion, number>();
  readonly #changed = new Map<ExecutionId, number>();
  #order = 0;
  readonly #count = new TaskCount();
  #running = 0;
  /** In memory. Those are first ones of lanes. */
  #dead = 0;
  /** Lanes that were blocked, and may be still. */
  readonly #blocked = new Set<string>();
  /** Tasks whose record somebody else is changing, as they were. Not all of them have an entry. */
  readonly #held = new Map<ExecutionId, Task>();
  /** For how many seconds tasks that began might have begun before. A task in a lane might not before it was the first one. */
  readonly startDelays = new Distribution(START_DELAYS_SECONDS);
  /** Tasks that are wanted by their ids. */
  readonly lookups = new TaskLookups<Owner | CallerId>();
  /** Tasks that are neither done nor dead, of those that were watched. */
  readonly #watched = new Set<ExecutionId>();

  constructor(bounds: TaskBounds, limitOf: (handler: string) => TaskLimit | null) {
    this.#bounds = bounds;
    this.#window = new TaskWindow(bounds);
    this.#limitOf = limitOf;
  }

  countsAt(nowMs: number): TaskCounts {
    const { numbers } = this.#count;
    const [ready, running] = [this.#readyNumber, this.#running];
    this.#readySince.tidy();
    const sinceMs = this.#readySince.nextMs;
    return {
      all: this.all,
      ready,
      running,
      delayed: this.#entries.size - ready - running - this.#dead,
      dead: numbers === null ? null : numbers.deadInNoLane + this.#dead,
      blockedLanes: this.#blockedLanes,
      oldestReadyMs: sinceMs === null ? 0 : nowMs - sinceMs,
    };
  }

  get #blockedLanes(): number {
    for (const name of this.#blocked) {
      const first = this.#lanes.get(name)?.entries[0];
      if (first === undefined || !isBlocked(first)) this.#blocked.delete(name);
    }
    return this.#blocked.size;
  }

  /** The first tasks of lanes, of those that are dead. A dead task that is in a lane is its first one. */
  get deadHeads(): readonly Task[] {
    return Array.from(this.#lanes.values(), ({ entries }) => entries[0]).flatMap((first) =>
      first?.state === "dead" ? [first.task] : [],
    );
  }

  /** The number of tasks; null: not known yet. */
  get all(): number | null {
    return this.#count.numbers?.all ?? null;
  }

  get running(): number {
    return this.#running;
  }

  /** When a task becomes due, or may begin by its limit. Infinity: not by itself. */
  wakeAtMs({ nowMs, wallMs }: Instant): number {
    let atMs = Math.min(this.#delays.nextMs ?? Infinity, nowMs + this.#window.nextDueMs(wallMs) - wallMs);
    atMs = Math.min(atMs, this.#count.wakeAtMs(nowMs));
    for (const handler of this.#ready.keys()) {
      const pace = this.#paces.get(handler);
      const limit = this.#limitOf(handler);
      if (pace === undefined || limit === null || limit.rate === null || isFull(pace, limit)) continue;
      const lacking = 1 - tokensOf(pace, limit.rate, nowMs);
      if (lacking > 0) atMs = Math.min(atMs, nowMs + Math.ceil((lacking * limit.rate.perMs) / limit.rate.count));
    }
    return atMs;
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Questions about tasks that memory lacks, after all have begun that may. */
  takeQuestions({ nowMs, wallMs }: Instant): readonly TaskQuestion[] {
    const questions: TaskQuestion[] = [];
    const { page, inLane } = this.#bounds;
    const due = this.#window.takeQuestion(wallMs, this.#isIdle);
    if (due !== null) {
      this.#coming = [];
      questions.push(due);
    }
    if (this.#heads !== null && !this.#isWalking) {
      this.#isWalking = true;
      questions.push({ kind: "heads", after: this.#heads ?? null, limit: page });
    }
    if (this.#count.takeQuestion(nowMs)) questions.push({ kind: "count" });
    for (const lane of this.#wanting) {
      if (lane.entries.length > 0 || lane.isWhole || lane.coming !== null) continue;
      lane.coming = [];
      questions.push({ kind: "lane", lane: lane.name, limit: inLane });
    }
    this.#wanting.clear();
    for (const question of questions) this.#asked.set(question, ++this.#order);
    return questions;
  }

  /** Those about tasks that are wanted by their ids. */
  takeLookups(): readonly TaskQuestion[] {
    return this.lookups.takeQuestions();
  }

  /** Whether an answer of storage is the last word on the task. */
  #isNews(task: Task, question: TaskQuestion, underWay: UnderWay): boolean {
    const isOlder = (this.#changed.get(task.id) ?? 0) > (this.#asked.get(question) ?? 0);
    // variant: task-parent
    return !this.#entries.has(task.id) && !isOlder && !underWay.inserts(task);
  }

  answered(question: TaskQuestion, answer: TaskAnswer, underWay: UnderWay, now: Instant): void {
    if (question.kind === "task") {
      assert(answer.kind === "task", "the answer is that to the question");
      const { task } = answer;
      return this.lookups.answered(question, task, task !== null && underWay.inserts(task));
    }
    this.#take(question, answer, underWay, now);
    this.#isAnswered(question);
  }

  #isAnswered(question: TaskQuestion): void {
    this.#asked.delete(question);
    // Both are in order: only questions before a change can be answered without it.
    const [oldest = Infinity] = this.#asked.values();
    for (const [id, order] of this.#changed) {
      if (order > oldest) break;
      this.#changed.delete(id);
    }
  }

  #take(question: TaskQuestion, answer: TaskAnswer, underWay: UnderWay, now: Instant): void {
    const isNews = (task: Task): boolean => this.#isNews(task, question, underWay);
    switch (answer.kind) {
      case "due":
        assert(question.kind === "due", "the answer is that to the question");
        return this.#dueRead(answer, isNews, now);
      case "lane":
        assert(question.kind === "lane", "the answer is that to the question");
        return this.#laneRead(question, answer, isNews, now);
      case "heads":
        this.#isWalking = false;
        this.#heads = answer.next;
        for (const task of answer.tasks) {
          const name = present(task.lane, "the head of a lane is in one");
          // variant: task-heads
          if (this.#lanes.has(name)) continue;
          const lane = this.#addLane(name, false);
          if (isNews(task)) this.#insertInLane(lane, task, now);
          this.#goOn(lane, now);
        }
        return;
      case "count":
        return this.#count.answered(answer.numbers, underWay.changesTheNumber, now.nowMs);
      case "task":
        throw new Error("Broken invariant: lookups are answered elsewhere");
    }
  }

  #dueRead({ tasks, upTo }: TaskAnswer & { kind: "due" }, isNews: (task: Task) => boolean, now: Instant): void {
    const coming = present(this.#coming, "storage was asked");
    this.#coming = null;
    // Not the place of the last task: one that has changed since storage looked may be left out, or stand elsewhere.
    // variant: task-page
    if (!this.#window.answered(upTo)) return;
    for (const task of coming) this.#addDue(task, now);
    for (const task of tasks) if (isNews(task)) this.#addDue(task, now);
    this.#window.tidy();
  }

  #laneRead(
    { lane: name }: TaskQuestion & { kind: "lane" },
    { tasks, upTo }: TaskAnswer & { kind: "lane" },
    isNews: (task: Task) => boolean,
    now: Instant,
  ): void {
    const lane = present(this.#lanes.get(name), "a lane is there while storage is asked for it");
    const coming = present(lane.coming, "storage was asked");
    lane.coming = null;
    lane.isWhole = upTo === null;
    // variant: task-coming
    for (const task of coming) if (upTo === null || task.place <= upTo) this.#insertInLane(lane, task, now);
    for (const task of tasks) if (isNews(task)) this.#insertInLane(lane, task, now);
    this.#goOn(lane, now);
  }

  /** Storage could not be asked: the question comes again. */
  failed(question: TaskQuestion): void {
    if (question.kind === "task") return this.lookups.failed(question);
    this.#isAnswered(question);
    switch (question.kind) {
      case "due":
        this.#coming = null;
        return this.#window.failed();
      case "heads":
        this.#isWalking = false;
        return;
      case "count":
        return this.#count.failed();
      case "lane": {
        const lane = present(this.#lanes.get(question.lane), "a lane is there while storage is asked for it");
        lane.coming = null;
        this.#want(lane);
      }
    }
  }

  // ── What becomes of tasks ──────────────────────────────────────────────────────────────────────────────────────────

  /** The task is open as of now, whether memory has it or not. */
  watch(id: ExecutionId): void {
    this.#watched.add(id);
  }

  /** Whether a task that was watched is neither done nor dead. */
  isOpen(id: ExecutionId): boolean {
    return this.#watched.has(id);
  }

  /** It is durable since now. */
  added(task: Task, now: Instant): void {
    this.#count.changed({ all: 1, deadInNoLane: 0 });
    this.lookups.changed(task.id, task);
    this.#add(task, now);
  }

  /** An attempt has ended, or somebody else has decided. `next`: its record from now on, null: it is gone. */
  settled(before: Pick<Task, "id" | "lane" | "state">, next: Task | null, now: Instant): void {
    const { id, lane: laneName } = before;
    // variant: task-stale
    if (this.#asked.size > 0) {
      this.#changed.delete(id);
      this.#changed.set(id, ++this.#order);
    }
    this.#count.changed({ all: next === null ? -1 : 0, deadInNoLane: deadInNoLane(next) - deadInNoLane(before) });
    if (next === null || next.state === "dead") this.#watched.delete(id);
    this.lookups.changed(id, next);
    this.#held.delete(id);
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#remove(entry);
    const lane = laneName === null ? null : (this.#lanes.get(laneName) ?? null);
    // variant: task-coming-changed
    for (const coming of [this.#coming, lane?.coming ?? null]) dropFrom(coming, id);
    if (lane !== null) {
      lane.entries = lane.entries.filter((each) => each !== entry);
      if (next !== null) {
        if (entry !== undefined) this.#insertInLane(lane, next, now);
        // The answer that is on its way may be older.
        else putInto(lane.coming, next);
      }
      return this.#goOn(lane, now);
    }
    if (next !== null) this.#add(next, now);
  }

  /** Somebody else changes its record from now on: no attempt of it begins until that is settled, or let go. */
  hold(task: Task): void {
    this.#held.set(task.id, task);
    const entry = this.#entries.get(task.id);
    if (entry === undefined) return;
    assert(entry.state !== "running", "nobody changes the record of a task that runs");
    this.#leaveState(entry);
    entry.state = "held";
  }

  /** Its record was not changed. */
  letGo(id: ExecutionId, now: Instant): void {
    const task = present(this.#held.get(id), "a task that is let go was held");
    this.#held.delete(id);
    const entry = this.#entries.get(id);
    if (entry === undefined) this.#add(task, now);
    else this.#renew(entry, entry.atMs, now);
  }

  /** An attempt of it has had no effect: it is tried again from then on. */
  putBack(id: ExecutionId, atMs: number, now: Instant): void {
    this.#renew(present(this.#entries.get(id), "a task that runs is in memory"), Math.max(atMs, now.nowMs), now);
  }

  /** It waits again in its place. */
  #renew(entry: Entry, atMs: number, now: Instant): void {
    const { task } = entry;
    this.#remove(entry);
    const again: Entry = { ...this.#enter(task, now), atMs };
    this.#entries.set(task.id, again);
    if (task.lane === null) this.#window.insert(again);
    else {
      const lane = present(this.#lanes.get(task.lane), "the lane of a task in memory is there");
      lane.entries = lane.entries.map((each) => (each === entry ? again : each));
    }
    if (again.state === "delayed") this.#delay(again);
  }

  /** As an operator sees a task that is not dead. */
  stateOf({ id, lane, dueMs }: Task, { wallMs }: Instant): Exclude<TaskState, "dead"> {
    const entry = this.#entries.get(id);
    if (entry?.state === "running") return "running";
    const first = lane === null ? undefined : this.#lanes.get(lane)?.entries[0];
    if (first !== undefined && first.task.id !== id) return "waiting";
    return dueMs > wallMs ? "delayed" : "ready";
  }

  /** `held`: somebody else is changing its record. Null: memory does not have it. */
  find(id: ExecutionId): { readonly task: Task; readonly state: "waits" | "running" | "held" } | null {
    const held = this.#held.get(id);
    if (held !== undefined) return { task: held, state: "held" };
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    return { task: entry.task, state: entry.state === "running" ? "running" : "waits" };
  }

  /** Tells whether memory has the task. */
  get known(): (id: ExecutionId) => boolean {
    const lists = [this.#coming, ...Array.from(this.#lanes.values(), ({ coming }) => coming)];
    const coming = new Set(lists.flatMap((tasks) => tasks ?? []).map(({ id }) => id));
    return (id) => this.#entries.has(id) || this.#held.has(id) || this.lookups.has(id) || coming.has(id);
  }

  #add(task: Task, now: Instant): void {
    if (this.#entries.has(task.id)) return;
    if (task.lane === null) return this.#addDue(task, now);
    const lane = this.#lanes.get(task.lane) ?? this.#addLane(task.lane, this.#heads === null);
    if (lane.coming !== null) return putInto(lane.coming, task);
    const last = lane.entries.at(-1);
    const isNext = lane.isWhole || (last !== undefined && task.place < last.task.place);
    if (!isNext) return this.#want(lane);
    this.#insertInLane(lane, task, now);
    if (lane.entries.length > this.#bounds.inLane) {
      const dropped = present(lane.entries.pop(), "the lane has entries");
      this.#remove(dropped);
      lane.isWhole = false;
    }
    this.#goOn(lane, now);
  }

  // ── Tasks in no lane ───────────────────────────────────────────────────────────────────────────────────────────────

  #addDue(task: Task, now: Instant): void {
    if (task.state === "dead") return;
    if (!this.#window.reaches(task)) return putInto(this.#coming, task);
    const entry = this.#enter(task, now);
    this.#window.insert(entry);
    if (entry.state === "delayed") {
      if (entry.atMs <= now.nowMs) this.#makeReady(entry, now);
      else this.#delay(entry);
    }
    for (let surplus = this.#window.takeSurplus(); surplus !== null; surplus = this.#window.takeSurplus())
      this.#remove(surplus);
  }

  // ── Lanes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #addLane(name: string, isWhole: boolean): Lane {
    const lane: Lane = { name, entries: [], isWhole, coming: null };
    this.#lanes.set(name, lane);
    return lane;
  }

  #want(lane: Lane): void {
    this.#wanting.add(lane);
  }

  #insertInLane(lane: Lane, task: Task, now: Instant): void {
    const entry = this.#enter(task, now);
    const at = lane.entries.findIndex((each) => each.task.place > task.place);
    if (at < 0) lane.entries.push(entry);
    else lane.entries.splice(at, 0, entry);
  }

  /** The first one may begin if it is due, and nobody may still come before it. */
  #goOn(lane: Lane, now: Instant): void {
    const [first] = lane.entries;
    if (first === undefined) {
      if (lane.isWhole && lane.coming === null) this.#lanes.delete(lane.name);
      else this.#want(lane);
      return;
    }
    if (first.state !== "delayed") return;
    // variant: lane-named
    if (this.#isNamedBefore(first)) return;
    if (first.atMs <= now.nowMs) this.#makeReady(first, now);
    else this.#delay(first);
  }

  #isNamedBefore({ task }: Entry): boolean {
    const naming = this.#naming.get(present(task.lane, "the task is in a lane"));
    if (naming === undefined) return false;
    // The place of a task begins with the commit id of its parent.
    for (const commit of naming.values()) if (task.place > `${commit}-~`) return true;
    return false;
  }

  /** The execution may enqueue in these lanes under this commit id, and in those that it has named before. */
  names(owner: Owner, lanes: readonly string[], commit: CommitId): void {
    if (lanes.length === 0) return;
    this.#named.set(owner, [...new Set([...(this.#named.get(owner) ?? []), ...lanes])]);
    for (const name of lanes) {
      const naming = this.#naming.get(name);
      if (naming === undefined) this.#naming.set(name, new Map([[owner, commit]]));
      else naming.set(owner, commit);
    }
  }

  /** The execution enqueues and cancels no more. */
  ended(owner: Owner, now: Instant): void {
    this.lookups.ended(owner);
    const lanes = this.#named.get(owner);
    if (lanes === undefined) return;
    this.#named.delete(owner);
    for (const name of lanes) {
      this.#unname(owner, name);
      const lane = this.#lanes.get(name);
      if (lane !== undefined) this.#goOn(lane, now);
    }
  }

  #unname(owner: Owner, name: string): void {
    const naming = this.#naming.get(name);
    naming?.delete(owner);
    if (naming?.size === 0) this.#naming.delete(name);
  }

  // ── What begins ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tasks become due. */
  pass(now: Instant): void {
    for (let due = this.#delays.takeDue(now.nowMs); due !== undefined; due = this.#delays.takeDue(now.nowMs)) {
      due.isTimed = false;
      if (due.state !== "delayed") continue;
      if (due.task.lane === null) this.#makeReady(due, now);
      else this.#goOn(present(this.#lanes.get(due.task.lane), "the lane of a task in memory is there"), now);
    }
  }

  /** The next task that may begin; null: none. It runs from then on. `canRun`: whether there is such a handler at present. */
  next(canRun: (handler: string) => boolean, now: Instant): Task | null {
    this.#isIdle = false;
    for (const [handler, entries] of this.#ready) {
      const [entry] = entries;
      // variant: task-limit
      if (entry === undefined || !canRun(handler) || !this.#takeToken(handler, now.nowMs)) continue;
      entries.delete(entry);
      this.#readyNumber--;
      // The other handlers are next.
      this.#ready.delete(handler);
      if (entries.size > 0) this.#ready.set(handler, entries);
      if (entry.task.lane === null) this.#window.leave(entry);
      entry.state = "running";
      this.#running++;
      // It keeps no arguments of tasks that have begun.
      this.#readySince.tidy();
      this.startDelays.observe((now.nowMs - entry.sinceMs) / 1_000);
      return entry.task;
    }
    this.#isIdle = true;
    return null;
  }

  #takeToken(handler: string, nowMs: number): boolean {
    const limit = this.#limitOf(handler);
    let pace = this.#paces.get(handler);
    if (pace === undefined)
      this.#paces.set(handler, (pace = { running: 0, tokens: limit?.rate?.count ?? 0, atMs: nowMs }));
    if (limit !== null && isFull(pace, limit)) return false;
    if (limit !== null && limit.rate !== null) {
      const tokens = tokensOf(pace, limit.rate, nowMs);
      if (tokens < 1) return false;
      pace.tokens = tokens - 1;
      pace.atMs = nowMs;
    }
    pace.running++;
    return true;
  }

  #delay(entry: Entry): void {
    if (entry.isTimed) return;
    entry.isTimed = true;
    this.#delays.add(entry.atMs, entry);
  }

  #makeReady(entry: Entry, { nowMs, wallMs }: Instant): void {
    const { handler, lane, dueMs } = entry.task;
    entry.state = "ready";
    // Others of its lane came first.
    entry.sinceMs = nowMs - (lane === null ? Math.max(0, wallMs - dueMs) : 0);
    this.#readySince.add(entry.sinceMs, entry);
    this.#readyNumber++;
    const ready = this.#ready.get(handler);
    if (ready === undefined) this.#ready.set(handler, new Set([entry]));
    else ready.add(entry);
  }

  #enter(task: Task, { nowMs, wallMs }: Instant): Entry {
    // variant: task-due
    const atMs = nowMs + Math.max(0, task.dueMs - wallMs);
    // variant: task-dead
    const state = this.#held.has(task.id) ? "held" : task.state === "dead" ? "dead" : "delayed";
    const entry: Entry = { task, atMs, sinceMs: atMs, state, isTimed: false };
    if (state === "dead") this.#dead++;
    if (task.lane !== null && isBlocked(entry)) this.#blocked.add(task.lane);
    this.#entries.set(task.id, entry);
    return entry;
  }

  #remove(entry: Entry): void {
    const { task, state } = entry;
    this.#entries.delete(task.id);
    if (task.lane === null && state !== "running") this.#window.leave(entry);
    this.#leaveState(entry);
    entry.state = "gone";
  }

  #leaveState(entry: Entry): void {
    const { task, state } = entry;
    const { handler } = task;
    if (state === "dead") this.#dead--;
    if (state === "running") {
      this.#running--;
      const pace = this.#paces.get(handler);
      if (pace !== undefined) pace.running--;
    }
    if (state === "ready") {
      this.#readyNumber--;
      const ready = this.#ready.get(handler);
      ready?.delete(entry);
      if (ready?.size === 0) this.#ready.delete(handler);
    }
  }
}

/** One that blocks its lane, if it is the first one there. */
function isBlocked({ state, task }: Entry): boolean {
  return state === "dead" || (state === "delayed" && task.failures > 0);
}

function deadInNoLane(task: Pick<Task, "lane" | "state"> | null): number {
  return task !== null && task.lane === null && task.state === "dead" ? 1 : 0;
}

/** Once, as it is now: a task that was held comes a second time. */
function putInto(coming: Task[] | null, task: Task): void {
  dropFrom(coming, task.id);
  coming?.push(task);
}

function dropFrom(coming: Task[] | null, id: ExecutionId): void {
  const at = coming?.findIndex((task) => task.id === id) ?? -1;
  if (at >= 0) coming?.splice(at, 1);
}

function isFull({ running }: Pace, limit: TaskLimit): boolean {
  return limit.running !== null && running >= limit.running;
}

function tokensOf({ tokens, atMs }: Pace, { count, perMs }: NonNullable<TaskLimit["rate"]>, nowMs: number): number {
  return Math.min(count, tokens + ((nowMs - atMs) * count) / perMs);
}
