/**
 * When the caches of this Worker were purged last, as far as its isolate has heard. The time is by the clock of the cache behind. It
 * begins a generation of caches: memory and puts of an earlier one count for nothing. The orders of a purge belong to no request of an isolate, so
 * the mark is one for all.
 */

export class PurgeMark {
  #atMs = 0;
  #lookedAtMs = -Infinity;

  get atMs(): number {
    return this.#atMs;
  }

  /** A mark that was heard; an earlier one changes nothing. */
  hear(atMs: number): void {
    if (atMs > this.#atMs) this.#atMs = atMs;
  }

  /** Whether to look at the cache behind for a later mark. It is so once in a while. */
  isDue(nowMs: number): boolean {
    // The clock may have been set back.
    if (Math.abs(nowMs - this.#lookedAtMs) < LOOK_MS) return false;
    this.#lookedAtMs = nowMs;
    return true;
  }
}

/** An isolate in use hears of a purge within this time. */
const LOOK_MS = 60_000;

export const PURGE_MARK = new PurgeMark();
