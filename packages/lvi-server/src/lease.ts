/**
 * The lease by which one server at a time serves. Storage keeps it without a time, since the clocks of two servers can't
 * be compared; each counts by its own, of which only the rate must be nearly right:
 *
 *   The holder counts its term from *before* it sent the renewal that succeeded, and ends a little early.
 *   A successor sees the lease, waits until it has been unchanged for the whole term and a little more, and takes it.
 *
 * So whatever the holder has done under its lease was in storage before the successor looked.
 */
import type { Log } from "./log.ts";
import type { Lease, Storage } from "./storage/storage.ts";

/** Most by which the rates of two servers' clocks differ, each way. */
const DRIFT = 0.05;
/** Renewals and looks within one term. */
const PER_TERM = 4;

export interface LeaseOptions {
  readonly storage: Storage;
  readonly termMs: number;
  readonly log: Log;
  readonly clock: MonotonicClock;
}

export interface MonotonicClock {
  now(): number;
  /** Calls once, later; returns how to cancel that. */
  after(ms: number, call: () => void): () => void;
}

/** Time as this process counts it. */
export const PROCESS_CLOCK: MonotonicClock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timeout = setTimeout(call, ms);
    return () => clearTimeout(timeout);
  },
};

export class ServerLease {
  readonly epoch: number;
  readonly #options: LeaseOptions;
  #heldUntilMs: number;
  #cancelRenewal: () => void = () => {};
  #ended = false;

  private constructor(options: LeaseOptions, epoch: number, heldUntilMs: number) {
    this.#options = options;
    this.epoch = epoch;
    this.#heldUntilMs = heldUntilMs;
    this.#renewSoon();
  }

  /** Resolves when this server has the lease; as long as another one renews it, it waits. */
  static async acquire(options: LeaseOptions): Promise<ServerLease> {
    const { storage, termMs, log, clock } = options;
    let seen: Lease = await storage.readLease();
    let unchangedSinceMs = clock.now();
    if (seen.termMs > 0) log.info("waiting_for_lease", { epoch: seen.epoch, termMs: seen.termMs });
    for (;;) {
      if (seen.termMs === 0 || clock.now() >= unchangedSinceMs + seen.termMs * (1 + DRIFT)) {
        const sentAtMs = clock.now();
        const acquired = await storage.acquireLease(seen, termMs);
        if (acquired !== null) return new ServerLease(options, acquired.epoch, heldUntil(sentAtMs, termMs));
      } else {
        const leftMs = unchangedSinceMs + seen.termMs * (1 + DRIFT) - clock.now();
        await new Promise<void>((resolve) => clock.after(Math.min(seen.termMs / PER_TERM, leftMs), resolve));
      }
      const lease = await storage.readLease();
      if (lease.epoch !== seen.epoch || lease.beat !== seen.beat || lease.termMs !== seen.termMs) {
        seen = lease;
        unchangedSinceMs = clock.now();
      }
    }
  }

  get isHeld(): boolean {
    return !this.#ended && (this.#options.storage.isExclusive || this.#options.clock.now() < this.#heldUntilMs);
  }

  /** Gives the lease up, so that a successor need not wait it out. From now on it is not held. */
  async release(): Promise<void> {
    if (this.#ended) return;
    const wasHeld = this.isHeld;
    this.#end();
    if (!wasHeld) return;
    await this.#options.storage.renewLease(this.epoch, 0).catch((error: unknown) => {
      this.#options.log.warn("lease_not_released", { reason: String(error) });
    });
  }

  #end(): void {
    this.#ended = true;
    this.#cancelRenewal();
  }

  #renewSoon(): void {
    const { storage, termMs, clock } = this.#options;
    if (this.#ended || storage.isExclusive) return;
    this.#cancelRenewal = clock.after(termMs / PER_TERM, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { storage, termMs, log, clock } = this.#options;
    const sentAtMs = clock.now();
    try {
      if (await storage.renewLease(this.epoch, termMs)) this.#heldUntilMs = heldUntil(sentAtMs, termMs);
      else {
        log.error("lease_lost", { epoch: this.epoch });
        return this.#end();
      }
    } catch (error) {
      // The lease may run out; until then it is held.
      log.warn("lease_not_renewed", { reason: String(error) });
    }
    this.#renewSoon();
  }
}

function heldUntil(sentAtMs: number, termMs: number): number {
  return sentAtMs + termMs * (1 - DRIFT);
}
