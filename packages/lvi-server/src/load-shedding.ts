/**
 * Decides when new requests are refused, because the process can't keep up: its event loop is late, or its memory is nearly used up.
 * Executions under way go on, since their end frees memory and locks. A bound is left at another value than it is entered, so that
 * the server does not change its mind at each look.
 */
import type { ShedReason } from "./core/events.ts";
import type { Garbage } from "./garbage.ts";
import type { Log } from "./log.ts";

export interface Gauge {
  /** How much later than it should the event loop has looked. */
  readonly lateMs: number;
  readonly memoryBytes: number;
}

export interface LoadSheddingOptions {
  /** Lateness of the event loop, smoothed, beyond which new requests are refused. 0: never. */
  readonly mostLateMs: number;
  /** The memory that the process may take. */
  readonly memoryBytes: number;
  readonly log: Log;
  /** Why new requests are refused from now on; null: they are taken again. */
  readonly changed: (reason: ShedReason | null) => void;
}

/** How much one look counts: three in a row that are very late are over the bound, and one is not. */
const WEIGHT = 0.25;
/** Of the bound: what a look counts at most, so that one long turn is none. */
const MOST_OF_LOOK = 2;
/** Of the bound: the lateness at which requests are taken again. */
const CALM = 0.5;

/** Parts of the memory. */
const FULL = 0.95;
const ROOMY = 0.9;

export class LoadShedding {
  readonly #options: LoadSheddingOptions;
  #lateMs = 0;
  #isLate = false;
  #isFull = false;
  #reason: ShedReason | null = null;

  constructor(options: LoadSheddingOptions) {
    this.#options = options;
  }

  get reason(): ShedReason | null {
    return this.#reason;
  }

  look({ lateMs, memoryBytes }: Gauge): void {
    const { mostLateMs, memoryBytes: most, log, changed } = this.#options;
    if (mostLateMs > 0) {
      this.#lateMs += (Math.min(lateMs, mostLateMs * MOST_OF_LOOK) - this.#lateMs) * WEIGHT;
      this.#isLate = this.#lateMs > mostLateMs * (this.#isLate ? CALM : 1);
    }
    this.#isFull = memoryBytes > most * (this.#isFull ? ROOMY : FULL);
    const reason = this.#isFull ? "memory" : this.#isLate ? "event_loop" : null;
    if (reason === this.#reason) return;
    this.#reason = reason;
    const fields = { lateMs: Math.round(this.#lateMs), memoryBytes, boundBytes: most };
    if (reason === null) log.info("shedding_ended", fields);
    else log.warn("shedding_load", { reason, ...fields });
    changed(reason);
  }
}

/** How often the loop is looked at. */
const LOOK_MS = 100;

/** Looks by a timer, which the event loop calls as late as it calls all else. Returns how to stop. */
export function watchLoad(
  shedding: LoadShedding,
  garbage: Garbage,
  now: () => number,
  memoryBytes: () => number,
): () => void {
  let dueMs = now() + LOOK_MS;
  const timer = setInterval(() => {
    const atMs = now();
    garbage.look(memoryBytes(), shedding.reason === "memory");
    shedding.look({ lateMs: Math.max(0, atMs - dueMs), memoryBytes: memoryBytes() });
    dueMs = now() + LOOK_MS;
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
