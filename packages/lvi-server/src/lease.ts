/** The driver of a candidate for the lease: `core/lease.ts` decides, storage answers, time passes. */
import { Candidate, type CandidateEvent, type HeldLease, heldUntilMs, renewalMs } from "./core/lease.ts";
import type { Log } from "./log.ts";
import type { Storage } from "./storage/storage.ts";

export interface LeaseOptions {
  readonly storage: Storage;
  readonly termMs: number;
  readonly log: Log;
  readonly clock: MonotonicClock;
  /** Told when another server turns out to have the lease. */
  readonly onStandby: () => void;
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
export async function acquireLease({ storage, termMs, log, clock, onStandby }: LeaseOptions): Promise<HeldLease> {
  const candidate = new Candidate(termMs);
  let effect = candidate.step(clock.now(), { kind: "read", lease: await storage.readLease() });
  const { waitsFor } = candidate;
  if (waitsFor !== null) {
    onStandby();
    log.info("waiting_for_lease", { epoch: waitsFor.epoch, termMs: waitsFor.termMs });
  }
  while (effect.kind !== "elected") {
    let event: CandidateEvent;
    try {
      switch (effect.kind) {
        case "read":
          event = { kind: "read", lease: await storage.readLease() };
          break;
        case "acquire":
          event = { kind: "acquired", lease: await storage.acquireLease(effect.seen, effect.termMs) };
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
  }
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
