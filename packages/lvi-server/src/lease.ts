/** The driver of a candidate for the lease: `core/lease.ts` decides, storage answers, time passes. */
import { Candidate, type CandidateEvent, type HeldLease, heldUntilMs, type Lease, renewalMs } from "./core/lease.ts";
import type { Log } from "./log.ts";
import type { Storage } from "./storage/storage.ts";

export interface LeaseOptions {
  readonly storage: Storage;
  readonly termMs: number;
  /** Where others are to ask once it is acquired. */
  readonly leader: string | null;
  readonly log: Log;
  readonly clock: MonotonicClock;
  /** Told at each look at which another server has the lease. */
  readonly onStandby: (lease: Lease) => void;
}

export interface MonotonicClock {
  now(): number;
  sleep(ms: number): Promise<void>;
}

/** Time as this process counts it. */
export const PROCESS_CLOCK: MonotonicClock = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Resolves when this server has the lease. Rejects if storage can't be read at all. */
export async function acquireLease(options: LeaseOptions): Promise<HeldLease> {
  const { storage, termMs, log, clock, onStandby } = options;
  const leader = options.leader ?? undefined;
  const candidate = new Candidate(termMs);
  let effect = candidate.step(clock.now(), { kind: "read", lease: await storage.readLease() });
  let waitedFor = 0;
  const tell = (): void => {
    const { waitsFor } = candidate;
    if (waitsFor === null) return;
    onStandby(waitsFor);
    if (waitsFor.epoch === waitedFor) return;
    waitedFor = waitsFor.epoch;
    log.info("waiting_for_lease", { epoch: waitsFor.epoch, termMs: waitsFor.termMs, leader: waitsFor.leader });
  };
  tell();
  while (effect.kind !== "elected") {
    let event: CandidateEvent;
    try {
      switch (effect.kind) {
        case "read":
          event = { kind: "read", lease: await storage.readLease() };
          break;
        case "acquire":
          event = { kind: "acquired", lease: await storage.acquireLease(effect.seen, effect.termMs, leader) };
          break;
        case "wait":
          await clock.sleep(effect.ms);
          event = { kind: "waited" };
      }
    } catch (error) {
      log.warn("lease_not_acquired", { reason: String(error) });
      event = { kind: "failed" };
    }
    effect = candidate.step(clock.now(), event);
    tell();
  }
  log.info("lease_acquired", { epoch: effect.lease.epoch, termMs, looks: candidate.looks });
  return effect.lease;
}

/** Renews the lease while something is done that may take longer than its term; resolves with both. */
export async function holding<T>(
  { storage, clock, log }: LeaseOptions,
  lease: HeldLease,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly lease: HeldLease }> {
  const working = work();
  let isDone = false;
  let held = lease;
  const done = working.then(
    () => (isDone = true),
    () => (isDone = true),
  );
  for (;;) {
    await Promise.race([done, clock.sleep(renewalMs(lease.termMs))]);
    if (isDone) return { result: await working, lease: held };
    const sentAtMs = clock.now();
    try {
      if (await storage.renewLease(lease.epoch, lease.termMs))
        held = { ...held, untilMs: heldUntilMs(sentAtMs, lease.termMs) };
    } catch (error) {
      log.warn("lease_not_renewed", { reason: String(error) });
    }
  }
}
