/**
 * The leadership: one server at a time has the right to serve. Storage keeps it without a time, because the clocks of two
 * servers can't be compared. Each server counts by its own clock, of which only the rate must be nearly right:
 *
 *   The leader counts its term from *before* it sent the renewal that succeeded, and ends a little early.
 *   A candidate waits until the leadership has been unchanged for the whole term and a little more, and takes it.
 *
 * So everything that the leader has done under its leadership was in storage before its successor looked. All times are
 * monotonic, but for that of an epoch.
 *
 * An epoch is the time at which its leadership was taken. So a storage that was set back, by whatever means, takes no epoch
 * again that it had before. A commit id names one commit of one history, and caches may outlive the history.
 */
import { MAX_READ_LEASE_MS } from "@radical/protocol";

/** The right to serve, as storage has it. */
export interface Leadership {
  readonly epoch: number;
  /** Each renewal adds one: as long as the beat changes, the leader lives. */
  readonly beat: number;
  /** How long the leader may serve after a renewal; 0: no server leads. */
  readonly termMs: number;
  /** How long read leases may last that the leader has given, or one before it; 0: there are none. */
  readonly readLeaseMs: number;
  /** The address that the leader advertises. */
  readonly leader?: string;
  /** The epoch at which the storage was set back to an earlier state. Earlier commit ids may be of a history that never was. */
  readonly setBackEpoch?: number;
}

/** The leadership as its leader counts it. */
export interface HeldLeadership {
  readonly epoch: number;
  readonly termMs: number;
  readonly untilMs: number;
  /** Until then locations may answer by read leases of earlier leaders. */
  readonly readLeasesUntilMs: number;
  /** How long read leases may last, as the leadership names it in storage. */
  readonly readLeaseMs: number;
  /** As storage has it: {@link Leadership}. */
  readonly setBackEpoch?: number;
}

/** Most by which the rates of two servers' clocks differ from the true one, each way. */
const DRIFT = 0.05;
/** Renewals and looks within one term. */
const PER_TERM = 4;

/** The first epoch that a clock gives, in seconds. Commit ids have 32 bits for epochs: they last until 2156. */
const FIRST_SECOND = Date.UTC(2020, 0, 1) / 1_000;

/** The epoch after one, if the wall clock shows this time. It is greater than all of earlier seconds, in any history of the storage. */
export function nextEpoch(epoch: number, wallMs: number): number {
  // variant: epoch-of-time
  return Math.max(epoch + 1, Math.floor(wallMs / 1_000) - FIRST_SECOND);
}

/**
 * The leadership of a storage that is set back, from `lost`, which may lead or have led until now. It is nobody's. The next server waits
 * out its term before it says anything. So long the last one may lead, and locations may answer by read leases of the lost time.
 * After a takeover the values of such leases are still true, here they are not. Null: the lost state can't be read.
 */
export function setBackLeadership(backup: Leadership, lost: Leadership | null, wallMs: number): Leadership {
  const epoch = nextEpoch(Math.max(backup.epoch, lost?.epoch ?? 0), wallMs);
  const readLeaseMs = Math.max(backup.readLeaseMs, lost === null ? MAX_READ_LEASE_MS : lost.readLeaseMs);
  // variant: set-back-read-leases
  const termMs = Math.max(lost?.termMs ?? 0, readLeaseMs);
  return { epoch, beat: 0, termMs, readLeaseMs, setBackEpoch: epoch };
}

/** The time until which a leader may serve that sent its last renewal at `sentAtMs`. */
export function heldUntilMs(sentAtMs: number, termMs: number): number {
  return sentAtMs + termMs * (1 - DRIFT);
}

export function renewalMs(termMs: number): number {
  return termMs / PER_TERM;
}

export type CandidateEvent =
  | { readonly kind: "read"; readonly leadership: Leadership }
  /** Null: the leadership was not the one that the candidate had seen. */
  | { readonly kind: "acquired"; readonly leadership: Leadership | null }
  | { readonly kind: "failed" }
  | { readonly kind: "waited" };

export type CandidateEffect =
  | { readonly kind: "read" }
  /** `readLeaseMs`: of leases that the candidate inherits; it has given none of its own. */
  | { readonly kind: "acquire"; readonly seen: Leadership; readonly termMs: number; readonly readLeaseMs: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "elected"; readonly leadership: HeldLeadership };

/** A server that wants to lead. Each step has one effect, and the next event brings the answer to it. */
export class Candidate {
  readonly #termMs: number;
  #seen: Leadership | null = null;
  #unchangedSinceMs = 0;
  #sentAtMs = 0;
  #readLeasesUntilMs = -Infinity;
  #looks = 0;

  constructor(termMs: number) {
    this.#termMs = termMs;
  }

  /** Another server's leadership as the candidate last saw it; null: no server leads. */
  get waitsFor(): Leadership | null {
    return this.#seen !== null && this.#seen.termMs > 0 ? this.#seen : null;
  }

  /** The number of looks at which the leadership was the same. */
  get looks(): number {
    return this.#looks;
  }

  start(): CandidateEffect {
    return { kind: "read" };
  }

  step(nowMs: number, event: CandidateEvent): CandidateEffect {
    switch (event.kind) {
      case "read":
        return this.#look(nowMs, event.leadership);
      case "acquired": {
        // Another candidate has won; or this one has, and the answer was lost: then it waits its own term out.
        if (event.leadership === null) return { kind: "read" };
        const { epoch, termMs, readLeaseMs, setBackEpoch } = event.leadership;
        const untilMs = heldUntilMs(this.#sentAtMs, termMs);
        const readLeasesUntilMs = this.#readLeasesUntilMs;
        const held = { epoch, termMs, untilMs, readLeasesUntilMs, readLeaseMs };
        return { kind: "elected", leadership: setBackEpoch === undefined ? held : { ...held, setBackEpoch } };
      }
      case "failed":
        return { kind: "wait", ms: renewalMs(this.#termMs) };
      case "waited":
        return { kind: "read" };
    }
  }

  #look(nowMs: number, leadership: Leadership): CandidateEffect {
    const seen = this.#seen;
    if (
      seen === null ||
      leadership.epoch !== seen.epoch ||
      leadership.beat !== seen.beat ||
      leadership.termMs !== seen.termMs
    ) {
      this.#seen = leadership;
      this.#unchangedSinceMs = nowMs;
      this.#looks = 0;
    }
    this.#looks++;
    // variant: leadership-waited-out
    const leftMs = this.#unchangedSinceMs + leadership.termMs * (1 + DRIFT) - nowMs;
    if (leadership.termMs > 0 && leftMs > 0)
      return { kind: "wait", ms: Math.min(renewalMs(leadership.termMs), leftMs) };
    this.#sentAtMs = nowMs;
    // Read leases end with the leadership that has run out. Those of a leader that is known to be dead live on, and so may those
    // that such a leader has inherited.
    const sinceMs = leadership.termMs > 0 ? this.#unchangedSinceMs : nowMs;
    this.#readLeasesUntilMs = sinceMs + leadership.readLeaseMs * (1 + DRIFT);
    const areOver = this.#readLeasesUntilMs <= nowMs;
    return {
      kind: "acquire",
      seen: leadership,
      termMs: this.#termMs,
      readLeaseMs: areOver ? 0 : leadership.readLeaseMs,
    };
  }
}
