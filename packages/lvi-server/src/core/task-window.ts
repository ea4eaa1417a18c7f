/**
 * The tasks in no lane that memory has, and up to which place it has all of them.
 *
 * A handler may be at its limit, or missing, or a service that is down. Its tasks wait, and those of others may not wait behind
 * them. So the handler with most tasks gives way when memory is full: it is *parked* at its last task that stays. A walk over all
 * tasks goes on behind the parked ones while nothing in memory may begin. Each parked handler has a walk of its own, which begins
 * where it was parked. One walk at a time asks storage.
 */
import { assert, type ExecutionId, present } from "@radical/protocol";
import { argumentBytesOf, compareDue, type TaskOutline, type TaskPlace } from "./task.ts";

export interface WindowBounds {
  /** Most tasks, and most bytes of their arguments. Each handler keeps one task, even if these are more. */
  readonly most: number;
  readonly mostBytes: number;
  /** Of one question. */
  readonly page: number;
}

/** Storage is asked for tasks behind a place; null: for the first ones. */
export interface DueQuestion {
  readonly kind: "due";
  readonly after: TaskPlace | null;
  readonly limit: number;
}

interface Queue<Entry> {
  /** In the order in which they are due. */
  readonly entries: Entry[];
  bytes: number;
  /** Memory has all of the handler's tasks up to this place; null: as far as the walk over all tasks has come. */
  parkedAt: TaskPlace | null;
}

export class TaskWindow<Entry extends { readonly task: TaskOutline }> {
  readonly #bounds: WindowBounds;
  /** By handler. */
  readonly #queues = new Map<string, Queue<Entry>>();
  #size = 0;
  #bytes = 0;
  /** One had to leave it for another: it has no room until one of them begins. */
  #isFull = false;
  /** The walk over all tasks has come to this place; null: to the end. */
  #bound: TaskPlace | null = FIRST;
  /** The walk that storage is asked for. `handler`: null for the one over all tasks. */
  #asked: { readonly handler: string | null; readonly after: TaskPlace } | null = null;

  constructor(bounds: WindowBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether memory has all tasks of its handler up to this one. */
  reaches(task: TaskOutline): boolean {
    const bound = this.#queues.get(task.handler)?.parkedAt ?? this.#bound;
    return bound === null || compareDue(task, bound) <= 0;
  }

  insert(entry: Entry): void {
    const { handler } = entry.task;
    let queue = this.#queues.get(handler);
    if (queue === undefined) this.#queues.set(handler, (queue = { entries: [], bytes: 0, parkedAt: null }));
    queue.entries.splice(indexIn(queue, entry), 0, entry);
    this.#grow(queue, 1, bytesOf(entry.task));
  }

  /** It begins, or goes. Nothing happens if it is not there. */
  leave(entry: Entry): void {
    const { handler } = entry.task;
    const queue = this.#queues.get(handler);
    if (queue === undefined) return;
    const index = indexIn(queue, entry);
    if (queue.entries[index] !== entry) return;
    queue.entries.splice(index, 1);
    this.#grow(queue, -1, -bytesOf(entry.task));
    this.#isFull = false;
    this.#tidy(handler, queue);
  }

  #grow(queue: Queue<Entry>, number: number, bytes: number): void {
    queue.bytes += bytes;
    this.#size += number;
    this.#bytes += bytes;
  }

  #tidy(handler: string, { entries, parkedAt }: Queue<Entry>): void {
    if (entries.length === 0 && parkedAt === null) this.#queues.delete(handler);
  }

  /** Takes the last task of the handler that has most of them, if memory has too many. It is read again when there is room. */
  takeSurplus(): Entry | null {
    const isMany = this.#size > this.#bounds.most;
    if (!isMany && this.#bytes <= this.#bounds.mostBytes) return null;
    let [largest, most]: [Queue<Entry> | null, number] = [null, 0];
    for (const queue of this.#queues.values()) {
      const its = isMany ? queue.entries.length : queue.bytes;
      if (queue.entries.length > 1 && its > most) [largest, most] = [queue, its];
    }
    if (largest === null) return null;
    const surplus = present(largest.entries.pop(), IN_WINDOW);
    this.#grow(largest, -1, -bytesOf(surplus.task));
    this.#isFull = true;
    const last = present(largest.entries.at(-1), IN_WINDOW).task;
    // One that was put back may stand behind the place already.
    if (largest.parkedAt === null || compareDue(last, largest.parkedAt) < 0)
      // variant: task-bound
      largest.parkedAt = { dueMs: last.dueMs, id: last.id };
    return surplus;
  }

  // ── Walks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Null: storage is asked already, or there is nothing to ask for. `isIdle`: no task in memory may begin. */
  takeQuestion(wallMs: number, isIdle: boolean): DueQuestion | null {
    if (this.#asked !== null) return null;
    const asked = this.#nextWalk(wallMs, isIdle);
    if (asked === null) return null;
    this.#asked = asked;
    return { kind: "due", after: asked.after.dueMs < 0 ? null : asked.after, limit: this.#bounds.page };
  }

  #nextWalk(wallMs: number, isIdle: boolean): { readonly handler: string | null; readonly after: TaskPlace } | null {
    let [next, fewest]: [{ readonly handler: string; readonly after: TaskPlace } | null, number] = [null, Infinity];
    for (const [handler, { entries, parkedAt: after }] of this.#queues) {
      if (after === null) continue;
      // It gets one, whatever room there is.
      // variant: task-parked
      if (entries.length === 0 && after.dueMs <= wallMs) return { handler, after };
      if (entries.length < fewest && this.#hasRoom(after, wallMs))
        [next, fewest] = [{ handler, after }, entries.length];
    }
    const after = this.#bound;
    // variant: task-blocked
    if (after !== null && isIdle && after.dueMs <= wallMs) return { handler: null, after };
    if (next !== null || after === null || !this.#hasRoom(after, wallMs)) return next;
    return { handler: null, after };
  }

  /** For tasks behind the place: it is not worth a question to have room for a few. */
  #hasRoom({ dueMs }: TaskPlace, wallMs: number): boolean {
    const { most, mostBytes, page } = this.#bounds;
    if (this.#isFull || 2 * this.#bytes > mostBytes) return false;
    if (dueMs > wallMs) return this.#size < Math.min(page, most);
    return this.#size + Math.min(page, most / 2) <= most;
  }

  /** Returns whether the answer counts: it does not if others have gone meanwhile, so that some are lacking between. */
  answered(upTo: TaskPlace | null): boolean {
    const { handler, after } = present(this.#asked, "storage was asked");
    this.#asked = null;
    if (handler === null) {
      assert(after === this.#bound, "only an answer moves the walk over all tasks");
      this.#bound = upTo;
      return true;
    }
    const queue = this.#queues.get(handler);
    if (queue === undefined || queue.parkedAt !== after) return false;
    const isOver = upTo === null || (this.#bound !== null && compareDue(upTo, this.#bound) >= 0);
    queue.parkedAt = isOver ? null : upTo;
    return true;
  }

  /** The tasks of an answer that counts are in memory. */
  tidy(): void {
    for (const [handler, queue] of this.#queues) this.#tidy(handler, queue);
  }

  failed(): void {
    this.#asked = null;
  }

  /** When the next task becomes due that memory may not have, by the wall clock. Infinity: memory has all that are not due yet. */
  nextDueMs(wallMs: number): number {
    let dueMs = Infinity;
    const name = (bound: TaskPlace | null): void => {
      if (bound !== null && bound.dueMs > wallMs) dueMs = Math.min(dueMs, bound.dueMs);
    };
    name(this.#bound);
    for (const { parkedAt } of this.#queues.values()) name(parkedAt);
    return dueMs;
  }
}

const IN_WINDOW = "the place is in the window";
const FIRST: TaskPlace = { dueMs: -1, id: "" as ExecutionId };

function indexIn({ entries }: Queue<{ readonly task: TaskOutline }>, { task }: { readonly task: TaskOutline }): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareDue(present(entries[middle], IN_WINDOW).task, task) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rough memory of a task. */
function bytesOf(task: TaskOutline): number {
  return 500 + argumentBytesOf(task);
}
