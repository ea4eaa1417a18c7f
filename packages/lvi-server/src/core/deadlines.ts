/**
 * Deadlines: a heap by time, first in first out at the same time. Nothing is cancelled: a due entry looks again. Moot
 * entries are dropped when there may be more of them than of all others, and whenever entries of a few megabytes have come. So they
 * do not stay in memory until their time.
 */
interface Entry<T> {
  readonly atMs: number;
  readonly order: number;
  readonly what: T;
}

/** Below this size a sweep is not worthwhile. */
const FEW = 1_000;
/** A sweep is worthwhile for so much memory, since no budget counts what moot entries keep from being freed. */
const MANY_BYTES = 4 * 1_048_576;

export class Deadlines<T> {
  #heap: Entry<T>[] = [];
  #order = 0;
  readonly #isMoot: (what: T) => boolean;
  readonly #bytesOf: (what: T) => number;
  #sweepAt = FEW;
  /** Bytes of the entries that have come since the last sweep. */
  #comeBytes = 0;

  /** `bytesOf`: memory that an entry keeps from being freed, if that may be much. */
  constructor(isMoot: (what: T) => boolean = () => false, bytesOf: (what: T) => number = () => 0) {
    this.#isMoot = isMoot;
    this.#bytesOf = bytesOf;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** The earliest time at which something is due; null if nothing is. */
  get nextMs(): number | null {
    return this.#heap[0]?.atMs ?? null;
  }

  /** Drops moot entries that are earlier than all others. */
  tidy(): void {
    for (let first = this.#heap[0]; first !== undefined && this.#isMoot(first.what); first = this.#heap[0])
      this.takeDue(Infinity);
  }

  add(atMs: number, what: T): void {
    this.#comeBytes += this.#bytesOf(what);
    if (this.#heap.length >= this.#sweepAt || this.#comeBytes > MANY_BYTES) this.#sweep();
    const heap = this.#heap;
    const entry = { atMs, order: this.#order++, what };
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Removes and returns the earliest, if it is due. */
  takeDue(nowMs: number): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
        if (!before(heap[child]!, last)) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
    }
    return first.what;
  }

  #sweep(): void {
    const live = this.#heap.filter(({ what }) => !this.#isMoot(what));
    // A sorted array is a heap.
    this.#heap = live.toSorted((a, b) => (before(a, b) ? -1 : 1));
    this.#sweepAt = Math.max(FEW, 2 * live.length);
    this.#comeBytes = 0;
  }
}

function before<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
