/**
 * Calls somebody when the storage keeps the server from its work for long, as a full disk does. Each failure alone is a warning.
 * An *episode* begins with a failure, and ends with the next success of the same work. One that lasts has one line at level `error`,
 * and a line when it is over. A standby that waits in good order has no failures.
 */
import type { Log } from "./log.ts";

/** `lead`: to take the leadership, or to renew it. `write`: to store what calls promise and do. */
export type StorageWork = "lead" | "write";

export interface StorageWatchOptions {
  readonly log: Log;
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** How long the storage may fail before somebody is called. */
  readonly patienceMs: number;
}

/** A failover of DynamoDB and a restart of a disk's host are shorter. */
export const STORAGE_PATIENCE_MS = 30_000;
/** A process that was stopped between two failures has not seen what the storage did meanwhile. */
const LEAST_FAILURES = 3;

const HINT =
  "Free space on the disk, or see whether DynamoDB is up and lets this server read and write its tables. The server tries again by itself.";

interface Episode {
  readonly sinceMs: number;
  failures: number;
}

export class StorageWatch {
  readonly #options: StorageWatchOptions;
  readonly #episodes = new Map<StorageWork, Episode>();
  /** When the first of the episodes began that somebody was called for; null: nobody was. */
  #toldSinceMs: number | null = null;

  constructor(options: StorageWatchOptions) {
    this.#options = options;
  }

  failed(work: StorageWork, reason: string): void {
    const { log, now, patienceMs } = this.#options;
    const nowMs = now();
    const episode = this.#episodes.get(work) ?? { sinceMs: nowMs, failures: 0 };
    this.#episodes.set(work, episode);
    episode.failures++;
    const lastedMs = nowMs - episode.sinceMs;
    if (this.#toldSinceMs !== null || lastedMs < patienceMs || episode.failures < LEAST_FAILURES) return;
    this.#toldSinceMs = episode.sinceMs;
    log.error("storage_unusable", { work, seconds: seconds(lastedMs), reason, hint: HINT });
  }

  succeeded(work: StorageWork): void {
    if (!this.#episodes.delete(work) || this.#toldSinceMs === null || this.#episodes.size > 0) return;
    const { log, now } = this.#options;
    log.info("storage_usable", { seconds: seconds(now() - this.#toldSinceMs) });
    this.#toldSinceMs = null;
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
