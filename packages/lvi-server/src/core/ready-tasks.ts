/**
 * The tasks that may begin, and the next one among them. Handlers take turns, and each keeps its limit.
 *
 * Memory may have a task of a lane without its arguments. Such a task is read from storage when a handler could carry it out. Some
 * of each handler are read at a time: enough that workers need not wait for storage, and few enough that memory is bounded.
 */
import { assert, type TaskLimit } from "@radical/protocol";
import { hasArguments, type Task, type TaskOutline } from "./task.ts";

/** Of each handler, tasks that are read before their turn. */
export const READ_AHEAD = 16;

export interface ReadyTask {
  readonly task: Task | TaskOutline;
  /** When it was due, by the monotonic clock. */
  readonly atMs: number;
}

interface Queue<Entry> {
  /** Those that can begin. */
  readonly whole: Set<Entry>;
  /** Those of them that were read for their turn. */
  readonly read: Set<Entry>;
  /** Those without arguments. */
  readonly bare: Set<Entry>;
  /** The same, if storage is asked for them. */
  readonly asked: Set<Entry>;
}

/** Attempts of a handler. */
interface Pace {
  running: number;
  /** Those that may begin at once, as of then. */
  tokens: number;
  atMs: number;
}

export class ReadyTasks<Entry extends ReadyTask> {
  readonly #limitOf: (handler: string) => TaskLimit | null;
  /** By handler. The one that is next stands first. */
  readonly #queues = new Map<string, Queue<Entry>>();
  readonly #paces = new Map<string, Pace>();
  /** Among those that storage is asked for, the ones that no question names yet. */
  #toRead: Entry[] = [];

  constructor(limitOf: (handler: string) => TaskLimit | null) {
    this.#limitOf = limitOf;
  }

  /** Their number, and for how long the oldest one has been due; 0: there is none. */
  countsAt(nowMs: number): { readonly number: number; readonly oldestMs: number } {
    let [number, oldestMs] = [0, 0];
    for (const { whole, bare, asked } of this.#queues.values())
      for (const entries of [whole, bare, asked]) {
        number += entries.size;
        for (const { atMs } of entries) oldestMs = Math.max(oldestMs, nowMs - atMs);
      }
    return { number, oldestMs };
  }

  /** Storage is asked for some of them. */
  get isReading(): boolean {
    return [...this.#queues.values()].some(({ asked }) => asked.size > 0);
  }

  add(entry: Entry): void {
    const { handler } = entry.task;
    let queue = this.#queues.get(handler);
    if (queue === undefined)
      this.#queues.set(handler, (queue = { whole: new Set(), read: new Set(), bare: new Set(), asked: new Set() }));
    (hasArguments(entry.task) ? queue.whole : queue.bare).add(entry);
  }

  /** It may not begin any more. Nothing happens if it is not there. */
  delete(entry: Entry): void {
    const { handler } = entry.task;
    const queue = this.#queues.get(handler);
    if (queue === undefined) return;
    const { whole, read, bare, asked } = queue;
    for (const entries of [whole, read, bare, asked]) entries.delete(entry);
    if (whole.size + bare.size + asked.size === 0) this.#queues.delete(handler);
  }

  /** The next one, which is under way from then on; null: none can begin. */
  next(canRun: (handler: string) => boolean, nowMs: number): Entry | null {
    for (const [handler, queue] of this.#queues) {
      if (!canRun(handler)) continue;
      this.#readAhead(queue);
      const [entry] = queue.whole;
      // variant: task-limit
      if (entry === undefined || !this.#takeToken(handler, nowMs)) continue;
      this.delete(entry);
      // The other handlers are next.
      if (this.#queues.delete(handler)) this.#queues.set(handler, queue);
      return entry;
    }
    return null;
  }

  /** An attempt is over. */
  ended(handler: string): void {
    const pace = this.#paces.get(handler);
    if (pace !== undefined) pace.running--;
  }

  // ── Arguments ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Several at a time: a question for each one that begins would be as many. */
  #readAhead({ read, bare, asked }: Queue<Entry>): void {
    if (read.size + asked.size > READ_AHEAD / 2) return;
    for (const entry of bare) {
      if (read.size + asked.size >= READ_AHEAD) return;
      bare.delete(entry);
      asked.add(entry);
      // variant: task-unread
      this.#toRead.push(entry);
    }
  }

  /** Those that storage is to be asked for. */
  takeToRead(): readonly Entry[] {
    const toRead = this.#toRead.filter((entry) => this.isAsked(entry));
    this.#toRead = [];
    return toRead;
  }

  /** Whether storage is asked for its arguments, and it still waits for them. */
  isAsked(entry: Entry): boolean {
    return this.#queues.get(entry.task.handler)?.asked.has(entry) === true;
  }

  /** Memory has its arguments. */
  wasRead(entry: Entry): void {
    assert(hasArguments(entry.task), "a task that was read has its arguments");
    const queue = this.#queues.get(entry.task.handler);
    queue?.asked.delete(entry);
    queue?.read.add(entry);
    this.add(entry);
  }

  /** Storage could not give its arguments: it is asked again. */
  wasNotRead(entry: Entry): void {
    const queue = this.#queues.get(entry.task.handler);
    if (queue?.asked.delete(entry) === true) queue.bare.add(entry);
  }

  /** Whether its arguments were read for its turn. */
  isRead(entry: Entry): boolean {
    return this.#queues.get(entry.task.handler)?.read.has(entry) === true;
  }

  // ── Limits ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** When one may begin by the limit of its handler. Infinity: time changes nothing. */
  wakeAtMs(nowMs: number): number {
    let wakeAtMs = Infinity;
    for (const handler of this.#queues.keys()) {
      const pace = this.#paces.get(handler);
      const limit = this.#limitOf(handler);
      if (pace === undefined || limit === null || limit.rate === null || isFull(pace, limit)) continue;
      const lacking = 1 - tokensOf(pace, limit.rate, nowMs);
      if (lacking > 0)
        wakeAtMs = Math.min(wakeAtMs, nowMs + Math.ceil((lacking * limit.rate.perMs) / limit.rate.count));
    }
    return wakeAtMs;
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
}

function isFull({ running }: Pace, limit: TaskLimit): boolean {
  return limit.running !== null && running >= limit.running;
}

function tokensOf({ tokens, atMs }: Pace, { count, perMs }: NonNullable<TaskLimit["rate"]>, nowMs: number): number {
  return Math.min(count, tokens + ((nowMs - atMs) * count) / perMs);
}
