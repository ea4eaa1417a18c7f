/**
 * The times at which nothing was being written to a storage. The copies that DynamoDB keeps of its tables are of no one instant: it
 * promises no order between two items, and none between two tables. So a transaction that was made about the time of a copy may be
 * there in part. A copy of a time in the middle of a quiet one has each transaction whole.
 *
 * The server that leads knows of all writes of its own, and nobody else writes.
 */
import { type Storage, StorageError } from "./storage.ts";

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
/** Writes that are under way may take so long before a pause is given up. With a quiet time it is less than requests wait for locks. */
const DRAIN_MS = 2_000;

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
  /** Resolves after that time. Rejects when it is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export class QuietTimes {
  readonly #clock: QuietClock;
  readonly #keep: (quiet: QuietTime) => Promise<boolean>;
  /** Writes that storage has not answered. */
  #writes = 0;
  /** Null: a write is under way, or nobody has led from here yet. */
  #since: Instant | null = null;
  /** The pause that is under way, and its second; null: nobody has asked for one. */
  #pause: Promise<number> | null = null;
  /** Until then no write begins; null: they begin. */
  #hold: Promise<void> | null = null;
  readonly #stopped = new AbortController();
  /** Of a pause that waits until no write is under way. */
  #drained: (() => void) | null = null;
  /** When the last quiet time began that is kept, by the monotonic clock. */
  #keptSinceMs = -Infinity;

  /** `keep` is called with the same beginning again while a quiet time goes on. It resolves to whether the time is kept, and never rejects. */
  constructor(clock: QuietClock, keep: (quiet: QuietTime) => Promise<boolean>) {
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

  /**
   * Has writes wait until a quiet time is long enough, and keeps it. Resolves to a whole second of it, in milliseconds since the epoch.
   * A question that comes meanwhile gets the same one. Rejects with a StorageError if none came about.
   */
  pause(): Promise<number> {
    this.#pause ??= this.#paused().finally(() => (this.#pause = null));
    return this.#pause;
  }

  /** The server ends: a pause is given up, so that writes that wait are done. */
  stop(): void {
    this.#stopped.abort();
  }

  async #paused(): Promise<number> {
    const made = this.#made();
    const hold = made.then(
      () => {},
      () => {},
    );
    this.#hold = hold;
    await hold;
    this.#hold = null;
    const quiet = await made;
    const second = wholeSecond([quiet], quiet.untilMs);
    if (second === null) throw setMeanwhile();
    // Writes go on meanwhile: the time is over.
    if (await this.#keep(quiet)) return second;
    throw new StorageError("none", "The quiet time was not kept: storage has failed, or another server leads.");
  }

  /** A quiet time that is long enough. */
  async #made(): Promise<QuietTime> {
    await this.#drain();
    if (this.#since === null || this.#isSetSince(this.#since)) this.#since = this.#now;
    const since = this.#since;
    const leftMs = (): number => SHORTEST_MS - (this.#now.monotonicMs - since.monotonicMs);
    // oxlint-disable-next-line no-await-in-loop -- a timer may ring a little early
    while (leftMs() > 0) await this.#wait(Math.ceil(leftMs()));
    const quiet = this.#quietSince(since);
    if (quiet === null) throw setMeanwhile();
    this.#keptSinceMs = since.monotonicMs;
    return quiet;
  }

  /** Until no write is under way. None begins meanwhile. */
  async #drain(): Promise<void> {
    if (this.#writes === 0) return;
    const drained = new Promise<void>((resolve) => (this.#drained = resolve));
    const timer = new AbortController();
    const signal = AbortSignal.any([timer.signal, this.#stopped.signal]);
    await Promise.race([drained, this.#clock.wait(DRAIN_MS, signal).catch(() => {})]);
    this.#drained = null;
    timer.abort();
    if (this.#stopped.signal.aborted) throw stopped();
    if (this.#writes > 0)
      throw new StorageError(
        "none",
        `A write takes longer than ${DRAIN_MS / 1_000} s, and others don't wait longer for it.`,
      );
  }

  async #wait(ms: number): Promise<void> {
    const { signal } = this.#stopped;
    await this.#clock.wait(ms, signal).catch(() => {});
    if (signal.aborted) throw stopped();
  }

  async #during(write: () => unknown): Promise<unknown> {
    // oxlint-disable-next-line no-await-in-loop -- one pause may follow another
    while (this.#hold !== null) await this.#hold;
    if (this.#writes++ === 0 && this.#since !== null) {
      this.#note(this.#since);
      this.#since = null;
    }
    try {
      return await write();
    } finally {
      if (--this.#writes === 0) {
        this.#since = this.#now;
        this.#drained?.();
      }
    }
  }

  #note(since: Instant): void {
    const quiet = this.#quietSince(since);
    if (quiet === null) return;
    const isNew = since.monotonicMs !== this.#keptSinceMs;
    if (isNew && since.monotonicMs - this.#keptSinceMs < LOOK_MS) return;
    this.#keptSinceMs = since.monotonicMs;
    void this.#keep(quiet);
  }

  /** Until now; null: it is too short, or nobody can tell which time it was. */
  #quietSince(since: Instant): QuietTime | null {
    const now = this.#now;
    const isLong = now.monotonicMs - since.monotonicMs >= SHORTEST_MS;
    return isLong && !this.#isSetSince(since) ? { fromMs: since.wallMs, untilMs: now.wallMs } : null;
  }

  #isSetSince(since: Instant): boolean {
    const now = this.#now;
    return Math.abs(now.wallMs - since.wallMs - (now.monotonicMs - since.monotonicMs)) > SET_MS;
  }

  get #now(): Instant {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }
}

function setMeanwhile(): StorageError {
  return new StorageError("none", "The clock of the server was set meanwhile, so nobody knows which time it was.");
}

function stopped(): StorageError {
  return new StorageError("none", "The server is being stopped.");
}

/** The last whole second until then of which a copy is whole; null: there is none. */
export function wholeSecond(quiet: readonly QuietTime[], untilMs: number): number | null {
  const seconds = quiet.flatMap(({ fromMs, untilMs: endMs }) => {
    const last = Math.floor(Math.min(endMs - QUIET_MARGIN_MS, untilMs) / 1_000) * 1_000;
    return last >= fromMs + QUIET_MARGIN_MS ? [last] : [];
  });
  return seconds.length === 0 ? null : Math.max(...seconds);
}
