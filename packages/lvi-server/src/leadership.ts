/** The driver of a candidate for the leadership: `core/leadership.ts` decides, storage answers, time passes. */
import {
  Candidate,
  type CandidateEvent,
  type HeldLeadership,
  heldUntilMs,
  type Leadership,
  nextEpoch,
  renewalMs,
} from "./core/leadership.ts";
import type { Log } from "./log.ts";
import type { StorageWatch } from "./storage-watch.ts";
import { WrongSchemaError } from "./storage/schema.ts";
import type { Storage } from "./storage/storage.ts";

export interface LeadershipOptions {
  readonly storage: Storage;
  readonly termMs: number;
  /** The address that others ask once this server leads. */
  readonly leader: string | null;
  readonly log: Log;
  readonly clock: MonotonicClock;
  /** Milliseconds by the wall clock. */
  readonly wallMs: () => number;
  readonly watch: StorageWatch;
  /** Called at each look at which another server leads. */
  readonly onStandby: (leadership: Leadership) => void;
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

/** Resolves when this server leads. Rejects if storage can't be read at all, and with a WrongSchemaError if it can't be served. */
export async function acquireLeadership(options: LeadershipOptions): Promise<HeldLeadership> {
  const { storage, termMs, log, clock, wallMs, watch, onStandby } = options;
  const leader = options.leader ?? undefined;
  const candidate = new Candidate(termMs);
  let effect = candidate.step(clock.now(), { kind: "read", leadership: await storage.readLeadership() });
  let waitedFor = 0;
  const tell = (): void => {
    const { waitsFor } = candidate;
    if (waitsFor === null) return;
    onStandby(waitsFor);
    if (waitsFor.epoch === waitedFor) return;
    waitedFor = waitsFor.epoch;
    log.info("waiting_for_leadership", { epoch: waitsFor.epoch, termMs: waitsFor.termMs, leader: waitsFor.leader });
  };
  tell();
  while (effect.kind !== "elected") {
    let event: CandidateEvent;
    try {
      switch (effect.kind) {
        case "read":
          event = { kind: "read", leadership: await storage.readLeadership() };
          break;
        case "acquire": {
          const { seen, readLeaseMs } = effect;
          const epoch = nextEpoch(seen.epoch, wallMs());
          const leadership = await storage.acquireLeadership(seen, effect.termMs, readLeaseMs, leader, epoch);
          event = { kind: "acquired", leadership };
          break;
        }
        case "wait":
          await clock.sleep(effect.ms);
          event = { kind: "waited" };
      }
    } catch (error) {
      // A later release has finished its upgrade: this server can't serve the storage any more.
      if (error instanceof WrongSchemaError) throw error;
      log.warn("leadership_not_acquired", { reason: String(error) });
      watch.failed("lead", String(error));
      event = { kind: "failed" };
    }
    effect = candidate.step(clock.now(), event);
    // Another server leads, or this one does.
    if ((event.kind === "read" && effect.kind === "wait") || effect.kind === "elected") watch.succeeded("lead");
    tell();
  }
  log.info("leadership_acquired", { epoch: effect.leadership.epoch, termMs, looks: candidate.looks });
  return effect.leadership;
}

/** Renews the leadership while something is done that may take longer than its term; resolves with both. */
export async function holding<T>(
  { storage, clock, log }: LeadershipOptions,
  leadership: HeldLeadership,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly leadership: HeldLeadership }> {
  const working = work();
  let isDone = false;
  let held = leadership;
  const done = working.then(
    () => (isDone = true),
    () => (isDone = true),
  );
  for (;;) {
    await Promise.race([done, clock.sleep(renewalMs(leadership.termMs))]);
    if (isDone) return { result: await working, leadership: held };
    const sentAtMs = clock.now();
    try {
      if (await storage.renewLeadership(leadership.epoch, leadership.termMs))
        held = { ...held, untilMs: heldUntilMs(sentAtMs, leadership.termMs) };
    } catch (error) {
      log.warn("leadership_not_renewed", { reason: String(error) });
    }
  }
}
