/** Virtual time: what is to happen when, in one deterministic order. */
import type { Random } from "./random.ts";

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class Clock {
  nowMs: number;
  readonly random: Random;
  readonly #heap: Entry[] = [];
  #order = 0;

  constructor(startMs: number, random: Random) {
    this.nowMs = startMs;
    this.random = random;
  }

  after(ms: number, run: () => void): void {
    const entry = { atMs: this.nowMs + ms, order: this.#order++, run };
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!earlier(entry, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Runs the next thing; false if there is none until then. */
  step(untilMs: number): boolean {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atMs > untilMs) return false;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && earlier(heap[child + 1]!, heap[child]!)) child++;
        if (!earlier(heap[child]!, last)) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
    }
    this.nowMs = first.atMs;
    first.run();
    return true;
  }
}

function earlier(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
