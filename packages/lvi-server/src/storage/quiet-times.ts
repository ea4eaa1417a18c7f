/**
 * The times at which nothing was being written to a storage. The copies that DynamoDB keeps of its tables are of no one instant: it
 * promises no order between two items, and none between two tables. So a transaction that was made about the time of a copy may be
 * there in part. A copy of a time in the middle of a quiet one has each transaction whole.
 *
 * The server that leads knows of all writes of its own, and nobody else writes.
 */
import type { Storage } from "./storage.ts";

/** From the end of the last write to the next one, by the wall clock. */
export interface QuietTime {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A copy this far from either end of a quiet time is whole. DynamoDB says that its copies are off by much less than a second. */
const QUIET_MARGIN_MS = 3_000;
/** Shorter ones are not kept. A copy is of a whole second. */
const SHORTEST_MS = 2 * QUIET_MARGIN_MS + 1_000;
/** A quiet time that goes on is kept so often, and no two of them begin sooner after one another. */
export const LOOK_MS = 60_000;
/** By more than this a clock is set, and does not go wrong. */
const SET_MS = 500;

/** These change nothing that a transaction changes too. */
const APART: readonly (keyof Storage)[] = ["readLeadership", "renewLeadership", "nameReadLeases", "useModule"];
const READS: readonly (keyof Storage)[] = [
  "lookUp",
  "load",
  "scan",
  "dueTasks",
  "laneTasks",
  "laneHeads",
  "readTasks",
  "readSchema",
  "countTasks",
  "openWorkflows",
  "partsOf",
  "listTasks",
  "findTask",
  "modules",
  "moduleContent",
  "close",
];
const SILENT: ReadonlySet<string> = new Set([...APART, ...READS]);

export interface QuietClock {
  monotonicMs(): number;
  wallMs(): number;
}

export class QuietTimes {
  readonly #clock: QuietClock;
  readonly #keep: (quiet: QuietTime) => void;
  /** Writes that storage has not answered. */
  #writes = 0;
  /** Null: a write is under way, or nobody has led from here yet. */
  #since: { readonly monotonicMs: number; readonly wallMs: number } | null = null;
  /** When the last quiet time began that is kept, by the monotonic clock. */
  #keptSinceMs = -Infinity;

  /** `keep` is called with the same beginning again while a quiet time goes on. */
  constructor(clock: QuietClock, keep: (quiet: QuietTime) => void) {
    this.#clock = clock;
    this.#keep = keep;
  }

  /** A storage that tells of its writes. */
  observing(storage: Storage): Storage {
    return new Proxy(storage, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        const method = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        return SILENT.has(String(name)) ? method : (...args: unknown[]) => this.#during(() => method(...args));
      },
    });
  }

  /** To be called from time to time: of a quiet time that goes on as much is kept as there was. */
  look(): void {
    if (this.#since !== null) this.#note(this.#since);
  }

  async #during(write: () => unknown): Promise<unknown> {
    if (this.#writes++ === 0 && this.#since !== null) {
      this.#note(this.#since);
      this.#since = null;
    }
    try {
      return await write();
    } finally {
      if (--this.#writes === 0) this.#since = this.#now;
    }
  }

  #note(since: { readonly monotonicMs: number; readonly wallMs: number }): void {
    const now = this.#now;
    const lastedMs = now.monotonicMs - since.monotonicMs;
    if (lastedMs < SHORTEST_MS) return;
    // By a clock that was set meanwhile nobody can tell which time it was.
    if (Math.abs(now.wallMs - since.wallMs - lastedMs) > SET_MS) return;
    const isNew = since.monotonicMs !== this.#keptSinceMs;
    if (isNew && since.monotonicMs - this.#keptSinceMs < LOOK_MS) return;
    this.#keptSinceMs = since.monotonicMs;
    this.#keep({ fromMs: since.wallMs, untilMs: now.wallMs });
  }

  get #now(): { readonly monotonicMs: number; readonly wallMs: number } {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }
}

/** The last whole second until then of which a copy is whole; null: there is none. */
export function wholeSecond(quiet: readonly QuietTime[], untilMs: number): number | null {
  const seconds = quiet.flatMap(({ fromMs, untilMs: endMs }) => {
    const last = Math.floor(Math.min(endMs - QUIET_MARGIN_MS, untilMs) / 1_000) * 1_000;
    return last >= fromMs + QUIET_MARGIN_MS ? [last] : [];
  });
  return seconds.length === 0 ? null : Math.max(...seconds);
}
