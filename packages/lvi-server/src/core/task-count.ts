/**
 * How many tasks there are. Storage counts them when the server starts, and memory counts what changes from then on. A change that
 * was under way meanwhile may be among those that storage has counted, or not: then storage is asked again, after a pause.
 * A short pause is enough once nothing changes. A schedule that ticks as often as storage is asked would disturb each count else.
 *
 * Pure. Times are of the monotonic clock.
 */

/** As storage counts them. A dead task in a lane is its first one, and memory knows the first one of each lane. */
export interface TaskNumbers {
  readonly all: number;
  /** The dead ones in no lane. */
  readonly deadInNoLane: number;
}

const FIRST_PAUSE_MS = 2_000;
const FIRST_QUIET_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;
const NONE: TaskNumbers = { all: 0, deadInNoLane: 0 };

export class TaskCount {
  #stored: TaskNumbers | null = null;
  /** The changes since storage was asked, and their number. */
  #changed = NONE;
  #changes = 0;
  #isAsking = false;
  /** When storage is asked whatever happens, and when it is asked if nothing is changing. Infinity: the numbers are right. */
  #atMs = -Infinity;
  #quietAtMs = -Infinity;
  /** The pauses before it is asked again. */
  #pauseMs = FIRST_PAUSE_MS;
  #quietPauseMs = FIRST_QUIET_PAUSE_MS;

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
    return Math.min(...[this.#quietAtMs, this.#atMs].filter((atMs) => atMs > nowMs), Infinity);
  }

  /** Whether storage is to be asked now. `isChanging`: a commit is under way that changes the numbers. */
  takeQuestion(nowMs: number, isChanging: () => boolean): boolean {
    if (this.#isAsking || nowMs < this.#quietAtMs) return false;
    if (nowMs < this.#atMs && isChanging()) return false;
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
    // variant: task-count
    const isRight = !isChanging && this.#changes === 0;
    this.#quietAtMs = isRight ? Infinity : nowMs + this.#quietPauseMs;
    this.#atMs = isRight ? Infinity : nowMs + this.#pauseMs;
    this.#quietPauseMs = Math.min(this.#quietPauseMs + FIRST_QUIET_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  failed(): void {
    this.#isAsking = false;
  }
}

function sum(a: TaskNumbers, b: TaskNumbers): TaskNumbers {
  return { all: a.all + b.all, deadInNoLane: a.deadInNoLane + b.deadInNoLane };
}
