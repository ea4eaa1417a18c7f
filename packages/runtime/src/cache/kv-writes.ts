/**
 * Workers KV takes one write a second for a key. An isolate puts more frequent writes together. The first write leaves at
 * once. The newest one of those that come within the second leaves at its end. All of it happens after the client was
 * answered.
 */
import type { Entry, Version } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { takes } from "./cache.ts";

const INTERVAL_MS = 1_000;

interface Clock {
  nowMs(): number;
  wait(ms: number): Promise<unknown>;
}

const platformClock: Clock = { nowMs: () => performance.now(), wait: (ms) => scheduler.wait(ms) };

interface Slot {
  /** The newest that was written or waits. */
  latest: Version;
  freeAtMs: number;
  waiting: Entry | null;
}

/** Shared by the requests of an isolate; other isolates have their own, so that KV may refuse all the same. */
export class KvWrites {
  readonly #clock: Clock;
  /** By key, in the order in which they become free. */
  readonly #slots = new Map<string, Slot>();

  constructor(clock: Clock = platformClock) {
    this.#clock = clock;
  }

  /** Resolves when the put was written, by this call or with a later one of the same key that takes its place. */
  async write(key: string, put: CachePut, send: (entry: Entry) => Promise<void>): Promise<void> {
    this.#forget();
    const slot = this.#slots.get(key);
    if (slot === undefined) {
      this.#occupy(key, put.entry);
      return send(put.entry);
    }
    if (!takes(slot.latest, put)) return;
    slot.latest = put.entry.version;
    const first = slot.waiting === null;
    slot.waiting = put.entry;
    if (!first) return;
    await this.#clock.wait(slot.freeAtMs - this.#clock.nowMs());
    const { waiting } = slot;
    slot.waiting = null;
    if (waiting === null) return;
    this.#occupy(key, waiting);
    await send(waiting);
  }

  #occupy(key: string, { version }: Entry): void {
    this.#slots.delete(key);
    this.#slots.set(key, { latest: version, freeAtMs: this.#clock.nowMs() + INTERVAL_MS, waiting: null });
  }

  /** Those that are free; and those whose waiting request the platform has ended, which would wait forever. */
  #forget(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { freeAtMs, waiting }] of this.#slots) {
      if (freeAtMs > nowMs) break;
      if (waiting === null || freeAtMs + INTERVAL_MS < nowMs) this.#slots.delete(key);
    }
  }
}
