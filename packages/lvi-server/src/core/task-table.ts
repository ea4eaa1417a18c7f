/**
 * The tasks that the server runs next. Storage has all of them; memory has those that are due first, and the first ones of each
 * lane. So a start reads a part, however many wait. Of tasks in lanes memory has arguments as far as there is room: the others are
 * read again before they begin.
 *
 * Pure: it says what to ask storage for, and which task may begin. Times are of the monotonic clock, but for `dueMs` of a task.
 */
import { assert, type CommitId, type ExecutionId, present, type TaskLimit, type TaskState } from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import { Distribution } from "./distribution.ts";
import type { CallerId } from "./events.ts";
import { READ_AHEAD, ReadyTasks } from "./ready-tasks.ts";
import {
  argumentBytesOf,
  hasArguments,
  outlineOf,
  type Task,
  type TaskName,
  type TaskOutline,
  type TaskPlace,
} from "./task.ts";
import { TaskCount, type TaskNumbers } from "./task-count.ts";
import { type TaskLookup, TaskLookups } from "./task-lookups.ts";
import { type DueQuestion, TaskWindow, type WindowBounds } from "./task-window.ts";

/** Something that memory lacks. */
export type TaskQuestion =
  | DueQuestion
  | { readonly kind: "lane"; readonly lane: string; readonly limit: number }
  | { readonly kind: "heads"; readonly after: string | null; readonly limit: number }
  /** The arguments of tasks that may begin. */
  | { readonly kind: "tasks"; readonly tasks: readonly TaskName[] }
  | TaskLookup
  | { readonly kind: "count" };

export type TaskAnswer =
  /** It has the tasks up to a place; null: all of them. */
  | { readonly kind: "due"; readonly tasks: readonly Task[]; readonly upTo: TaskPlace | null }
  | { readonly kind: "lane"; readonly tasks: readonly Task[]; readonly upTo: string | null }
  | { readonly kind: "heads"; readonly tasks: readonly TaskOutline[]; readonly next: string | null }
  /** Without those that are gone. */
  | { readonly kind: "tasks"; readonly tasks: readonly Task[] }
  /** Null: there is none. */
  | { readonly kind: "task"; readonly task: Task | null }
  | { readonly kind: "count"; readonly numbers: TaskNumbers };

/** Commits that storage has been asked for, and whose answers have not been heard. */
export interface UnderWay {
  /** The commit that inserts the task. It brings the task itself, once it is known to be durable. */
  readonly inserts: (task: TaskOutline) => boolean;
  /** One that inserts or removes any. */
  readonly changesTheNumber: boolean;
}

/** Of memory: {@link WindowBounds} for tasks without a lane. */
export interface TaskBounds extends WindowBounds {
  /** Most tasks of one lane that memory has. */
  readonly inLane: number;
  /** Most bytes of their arguments, over all lanes. Those that were read for their turn, and those that run, may be more. */
  readonly laneBytes: number;
}

export interface TaskCounts {
  /** All of them in storage; null: not counted yet. */
  readonly all: number | null;
  /** In memory. */
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
  /** All of them in storage; null: not all of them are known yet. */
  readonly dead: number | null;
  /** Lanes whose first task is dead, or waits for its next attempt. */
  readonly blockedLanes: number;
  /** For so long the one has waited that might begin first; 0: none waits. */
  readonly oldestReadyMs: number;
  /** Of the arguments of tasks in memory. */
  readonly argumentBytes: number;
}

export interface Instant {
  readonly nowMs: number;
  readonly wallMs: number;
}

interface Entry {
  /** A task without a lane has its arguments. */
  task: Task | TaskOutline;
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

/** From a task that begins at once to one that has waited through an outage. */
export const START_DELAYS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600,
];
/** Lanes for which storage is asked at once. Each answer may have many large arguments. */
const LANES_AT_ONCE = 16;

export class TaskTable<Owner> {
  readonly #bounds: TaskBounds;
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
  readonly #ready: ReadyTasks<Entry>;
  #readyNumber = 0;
  /** The same tasks, by the time since which they might begin. */
  readonly #readySince = new Deadlines<Entry>((entry) => entry.state !== "ready", bytesIn);
  /** Those whose arguments storage is asked for. */
  readonly #reading = new Map<TaskQuestion, readonly Entry[]>();
  /** Bytes of arguments of tasks, in lanes and beside them. */
  #laneBytes = 0;
  #otherBytes = 0;
  readonly #delays = new Deadlines<Entry>((entry) => entry.state !== "delayed", bytesIn);
  /** Executions that may still enqueue in a lane, under a commit id that they have taken. */
  readonly #naming = new Map<string, Map<Owner, CommitId>>();
  readonly #named = new Map<Owner, readonly string[]>();
  /** Lanes that may lack their first task. */
  readonly #wanting = new Set<Lane>();
  #lanesAsked = 0;
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
    this.#ready = new ReadyTasks(limitOf);
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
      // Those in lanes are known when all lanes are.
      dead: numbers === null || this.#heads !== null ? null : numbers.deadInNoLane + this.#dead,
      blockedLanes: this.#blockedLanes,
      oldestReadyMs: sinceMs === null ? 0 : nowMs - sinceMs,
      argumentBytes: this.#laneBytes + this.#otherBytes,
    };
  }

  get #blockedLanes(): number {
    for (const name of this.#blocked) {
      const first = this.#lanes.get(name)?.entries[0];
      if (first === undefined || !isBlocked(first)) this.#blocked.delete(name);
    }
    return this.#blocked.size;
  }

  /** Throws if memory has more arguments of lanes than it may, or counts them wrongly. */
  assertWellFormed(): void {
    let [bytes, kept] = [0, 0];
    const read = new Map<string, number>();
    for (const { entries } of this.#lanes.values())
      for (const entry of entries) {
        const its = argumentBytesOf(entry.task);
        bytes += its;
        const { handler } = entry.task;
        if (this.#ready.isRead(entry)) read.set(handler, (read.get(handler) ?? 0) + 1);
        else if (entry.state !== "running") kept += its;
      }
    assert(bytes === this.#laneBytes, "the bytes of arguments in lanes are counted");
    assert(kept <= this.#bounds.laneBytes, "the arguments that memory keeps of lanes have room");
    assert(Math.max(0, ...read.values()) <= READ_AHEAD, "some tasks of a handler are read before their turn");
  }

  /** The first tasks of lanes, of those that are dead. A dead task that is in a lane is its first one. */
  get deadHeads(): readonly TaskOutline[] {
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
    const atMs = Math.min(this.#delays.nextMs ?? Infinity, nowMs + this.#window.nextDueMs(wallMs) - wallMs);
    return Math.min(atMs, this.#count.wakeAtMs(nowMs), this.#ready.wakeAtMs(nowMs));
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Questions about tasks that memory lacks, after all have begun that may. `isChanging`: a commit is under way that changes the
   * number of tasks.
   */
  takeQuestions({ nowMs, wallMs }: Instant, isChanging: () => boolean): readonly TaskQuestion[] {
    const questions: TaskQuestion[] = [];
    const { page } = this.#bounds;
    const due = this.#window.takeQuestion(wallMs, this.#isIdle);
    if (due !== null) {
      this.#coming = [];
      questions.push(due);
    }
    if (this.#heads !== null && !this.#isWalking) {
      this.#isWalking = true;
      questions.push({ kind: "heads", after: this.#heads ?? null, limit: page });
    }
    if (this.#count.takeQuestion(nowMs, isChanging)) questions.push({ kind: "count" });
    questions.push(...this.#laneQuestions());
    for (const question of questions) this.#asked.set(question, ++this.#order);
    const toRead = this.#ready.takeToRead();
    if (toRead.length === 0) return questions;
    const tasks = toRead.map(({ task: { id, lane } }): TaskName => ({ id, lane }));
    const reading: TaskQuestion = { kind: "tasks", tasks };
    this.#reading.set(reading, toRead);
    return [...questions, reading];
  }

  #laneQuestions(): readonly TaskQuestion[] {
    const questions: TaskQuestion[] = [];
    const { inLane, laneBytes } = this.#bounds;
    // Without room, the others would be read again.
    const limit = this.#laneBytes < laneBytes ? inLane : 1;
    for (const lane of this.#wanting) {
      if (this.#lanesAsked >= LANES_AT_ONCE) break;
      this.#wanting.delete(lane);
      if (lane.entries.length > 0 || lane.isWhole || lane.coming !== null) continue;
      lane.coming = [];
      this.#lanesAsked++;
      questions.push({ kind: "lane", lane: lane.name, limit });
    }
    return questions;
  }

  /** Those about tasks that are wanted by their ids. */
  takeLookups(): readonly TaskQuestion[] {
    return this.lookups.takeQuestions();
  }

  /** Whether an answer of storage is the last word on the task. */
  #isNews(task: TaskOutline, question: TaskQuestion, underWay: UnderWay): boolean {
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
    if (question.kind === "tasks") {
      assert(answer.kind === "tasks", "the answer is that to the question");
      return this.#wereRead(question, answer.tasks);
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
    const isNews = (task: TaskOutline): boolean => this.#isNews(task, question, underWay);
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
      case "tasks":
        throw new Error("Broken invariant: questions about single tasks are answered elsewhere");
    }
  }

  #dueRead({ tasks, upTo }: TaskAnswer & { kind: "due" }, isNews: (task: TaskOutline) => boolean, now: Instant): void {
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
    isNews: (task: TaskOutline) => boolean,
    now: Instant,
  ): void {
    const lane = present(this.#lanes.get(name), "a lane is there while storage is asked for it");
    const coming = present(lane.coming, "storage was asked");
    lane.coming = null;
    this.#lanesAsked--;
    lane.isWhole = upTo === null;
    // variant: task-coming
    for (const task of coming) if (upTo === null || task.place <= upTo) this.#insertInLane(lane, task, now);
    for (const task of tasks) if (isNews(task)) this.#insertInLane(lane, task, now);
    this.#goOn(lane, now);
  }

  /** Arguments never change. A task that is not asked for any more has changed since, or somebody else is changing it. */
  #wereRead(question: TaskQuestion, tasks: readonly Task[]): void {
    const found = new Map(tasks.map((task) => [task.id, task]));
    for (const entry of this.#takeReading(question)) {
      // variant: task-read-stale
      if (!this.#ready.isAsked(entry)) continue;
      const task = found.get(entry.task.id);
      // Another server leads, and has done it. This one hears of that with its next commit, and nothing of the task begins here.
      if (task === undefined) continue;
      entry.task = task;
      this.#countBytes(entry, 1);
      this.#ready.wasRead(entry);
    }
  }

  #takeReading(question: TaskQuestion): readonly Entry[] {
    const entries = present(this.#reading.get(question), "storage was asked for tasks that may begin");
    this.#reading.delete(question);
    return entries;
  }

  /** Storage could not be asked: the question comes again. */
  failed(question: TaskQuestion): void {
    if (question.kind === "task") return this.lookups.failed(question);
    if (question.kind === "tasks") {
      // variant: task-read-failed
      for (const entry of this.#takeReading(question)) this.#ready.wasNotRead(entry);
      return;
    }
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
        this.#lanesAsked--;
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
    if (task.lane === null) return;
    this.#countBytes(entry, -1);
    entry.task = outlineOf(task);
  }

  /** Its record was not changed. */
  letGo(id: ExecutionId, now: Instant): void {
    const task = present(this.#held.get(id), "a task that is let go was held");
    this.#held.delete(id);
    const entry = this.#entries.get(id);
    if (entry === undefined) this.#add(task, now);
    else this.#renew(entry, task, entry.atMs, now);
  }

  /** An attempt of it has had no effect: it is tried again from then on. */
  putBack(id: ExecutionId, atMs: number, now: Instant): void {
    const entry = present(this.#entries.get(id), "a task that runs is in memory");
    this.#renew(entry, entry.task, Math.max(atMs, now.nowMs), now);
  }

  /** It waits again in its place. */
  #renew(entry: Entry, task: Entry["task"], atMs: number, now: Instant): void {
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
  stateOf({ id, lane, dueMs }: TaskOutline, { wallMs }: Instant): Exclude<TaskState, "dead"> {
    const entry = this.#entries.get(id);
    if (entry?.state === "running") return "running";
    const first = lane === null ? undefined : this.#lanes.get(lane)?.entries[0];
    if (first !== undefined && first.task.id !== id) return "waiting";
    return dueMs > wallMs ? "delayed" : "ready";
  }

  /** `held`: somebody else is changing its record. Null: memory does not have it, or lacks its arguments. */
  find(id: ExecutionId): { readonly task: Task; readonly state: "waits" | "running" | "held" } | null {
    const held = this.#held.get(id);
    if (held !== undefined) return { task: held, state: "held" };
    const entry = this.#entries.get(id);
    if (entry === undefined || !hasArguments(entry.task)) return null;
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

  #insertInLane(lane: Lane, task: Task | TaskOutline, now: Instant): void {
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
  next(canRun: (handler: string) => boolean, { nowMs }: Instant): Task | null {
    const entry = this.#ready.next(canRun, nowMs);
    // The next ones may be on their way from storage.
    this.#isIdle = entry === null && !this.#ready.isReading;
    if (entry === null) return null;
    if (entry.task.lane === null) this.#window.leave(entry);
    entry.state = "running";
    this.#readyNumber--;
    this.#running++;
    // It keeps no arguments of tasks that have begun.
    this.#readySince.tidy();
    this.startDelays.observe((nowMs - entry.sinceMs) / 1_000);
    assert(hasArguments(entry.task), "a task that begins has its arguments");
    return entry.task;
  }

  #delay(entry: Entry): void {
    if (entry.isTimed) return;
    entry.isTimed = true;
    this.#delays.add(entry.atMs, entry);
  }

  #makeReady(entry: Entry, { nowMs, wallMs }: Instant): void {
    const { lane, dueMs } = entry.task;
    entry.state = "ready";
    // Others of its lane came first.
    entry.sinceMs = nowMs - (lane === null ? Math.max(0, wallMs - dueMs) : 0);
    this.#readySince.add(entry.sinceMs, entry);
    this.#readyNumber++;
    this.#ready.add(entry);
  }

  #enter(task: Task | TaskOutline, { nowMs, wallMs }: Instant): Entry {
    // variant: task-due
    const atMs = nowMs + Math.max(0, task.dueMs - wallMs);
    // variant: task-dead
    const state = this.#held.has(task.id) ? "held" : task.state === "dead" ? "dead" : "delayed";
    const entry: Entry = { task: this.#asKept(task), atMs, sinceMs: atMs, state, isTimed: false };
    if (state === "dead") this.#dead++;
    if (task.lane !== null && isBlocked(entry)) this.#blocked.add(task.lane);
    this.#entries.set(task.id, entry);
    this.#countBytes(entry, 1);
    return entry;
  }

  /** Of a lane, with its arguments if there is room and it may begin some day. */
  #asKept(task: Task | TaskOutline): Task | TaskOutline {
    if (task.lane === null || !hasArguments(task)) return task;
    // variant: lane-room
    const hasRoom = this.#laneBytes + task.args.length <= this.#bounds.laneBytes;
    return hasRoom && task.state !== "dead" ? task : outlineOf(task);
  }

  #countBytes({ task }: Entry, sign: 1 | -1): void {
    const bytes = sign * argumentBytesOf(task);
    if (task.lane === null) this.#otherBytes += bytes;
    else this.#laneBytes += bytes;
  }

  #remove(entry: Entry): void {
    const { task, state } = entry;
    this.#entries.delete(task.id);
    this.#countBytes(entry, -1);
    if (task.lane === null && state !== "running") this.#window.leave(entry);
    this.#leaveState(entry);
    entry.state = "gone";
    // Queues by time may have it until they look.
    if (hasArguments(task)) entry.task = outlineOf(task);
  }

  #leaveState(entry: Entry): void {
    const { task, state } = entry;
    if (state === "dead") this.#dead--;
    if (state === "running") {
      this.#running--;
      this.#ready.ended(task.handler);
    }
    if (state === "ready") {
      this.#readyNumber--;
      this.#ready.delete(entry);
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

function bytesIn({ task }: Entry): number {
  return argumentBytesOf(task);
}
