/**
 * How many tasks there are. Storage counts them when the server starts, and memory counts what changes from then on. A change that
 * was under way meanwhile may be among those that storage has counted, or not: then storage is asked again, after a pause.
 *
 * Pure. Times are of the monotonic clock.
 */

/** As storage counts them. A dead task in a lane is its first one, and memory knows the first one of each lane. */
export interface TaskNumbers {
  readonly all: number;
  /** The dead ones in no lane. */
  readonly deadInNoLane: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;
const NONE: TaskNumbers = { all: 0, deadInNoLane: 0 };

export class TaskCount {
  #stored: TaskNumbers | null = null;
  /** The changes since storage was asked, and their number. */
  #changed = NONE;
  #changes = 0;
  #isAsking = false;
  /** When storage is asked, and the pause before it is asked again. Infinity: the numbers are right. */
  #atMs = -Infinity;
  #pauseMs = FIRST_PAUSE_MS;

  /** Null: not counted yet. */
  get numbers(): TaskNumbers | null {
    if (this.#stored === null) return null;
    const { all, deadInNoLane } = sum(this.#stored, this.#changed);
    // Of two changes at once only the second one may have been counted.
    return { all: Math.max(0, all), deadInNoLane: Math.max(0, deadInNoLane) };
  }

  changed(by: TaskNumbers): void {
    if (by.all === 0 && by.deadInNoLane === 0) return;
    this.#changed = sum(this.#changed, by);
    this.#changes++;
  }

  /** When storage is asked again. Infinity: not by itself. */
  wakeAtMs(nowMs: number): number {
    return this.#atMs > nowMs ? this.#atMs : Infinity;
  }

  /** Whether storage is to be asked now. */
  takeQuestion(nowMs: number): boolean {
    if (nowMs < this.#atMs || this.#isAsking) return false;
    this.#isAsking = true;
    this.#changes = 0;
    if (this.#stored !== null) this.#stored = sum(this.#stored, this.#changed);
    this.#changed = NONE;
    return true;
  }

  /** `isChanging`: a commit is under way that changes the numbers. */
  answered(numbers: TaskNumbers, isChanging: boolean, nowMs: number): void {
    this.#stored = numbers;
    this.#isAsking = false;
    const isRight = !isChanging && this.#changes === 0;
    // variant: task-count
    this.#atMs = isRight ? Infinity : nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  failed(): void {
    this.#isAsking = false;
  }
}

function sum(a: TaskNumbers, b: TaskNumbers): TaskNumbers {
  return { all: a.all + b.all, deadInNoLane: a.deadInNoLane + b.deadInNoLane };
}
