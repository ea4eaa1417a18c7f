/**
 * The lease by which one server at a time serves. Storage keeps it without a time, since the clocks of two servers can't
 * be compared; each counts by its own, of which only the rate must be nearly right:
 *
 *   The holder counts its term from *before* it sent the renewal that succeeded, and ends a little early.
 *   A candidate sees the lease, waits until it has been unchanged for the whole term and a little more, and takes it.
 *
 * So whatever the holder has done under its lease was in storage before its successor looked. All times are monotonic.
 */

/** The right to serve, as storage has it. */
export interface Lease {
  readonly epoch: number;
  /** One more with each renewal: as long as it changes, its holder lives. */
  readonly beat: number;
  /** For how long after a renewal its holder may serve; 0: nobody holds it. */
  readonly termMs: number;
  /** Where its holder says that it can be asked. */
  readonly leader?: string;
}

/** The lease in the hands of its holder. */
export interface HeldLease {
  readonly epoch: number;
  readonly termMs: number;
  readonly untilMs: number;
}

/** Most by which the rates of two servers' clocks differ from the true one, each way. */
const DRIFT = 0.05;
/** Renewals and looks within one term. */
const PER_TERM = 4;

/** Until when the holder may serve after a renewal that it sent then. */
export function heldUntilMs(sentAtMs: number, termMs: number): number {
  return sentAtMs + termMs * (1 - DRIFT);
}

export function renewalMs(termMs: number): number {
  return termMs / PER_TERM;
}

export type CandidateEvent =
  | { readonly kind: "read"; readonly lease: Lease }
  /** Null: the lease was not as it had been seen. */
  | { readonly kind: "acquired"; readonly lease: Lease | null }
  | { readonly kind: "failed" }
  | { readonly kind: "waited" };

export type CandidateEffect =
  | { readonly kind: "read" }
  | { readonly kind: "acquire"; readonly seen: Lease; readonly termMs: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "elected"; readonly lease: HeldLease };

/** A server that wants to serve. Each step has one effect, of which the next event tells what came. */
export class Candidate {
  readonly #termMs: number;
  #seen: Lease | null = null;
  #unchangedSinceMs = 0;
  #sentAtMs = 0;
  #looks = 0;

  constructor(termMs: number) {
    this.#termMs = termMs;
  }

  /** Another server's lease, as it was last seen. */
  get waitsFor(): Lease | null {
    return this.#seen !== null && this.#seen.termMs > 0 ? this.#seen : null;
  }

  /** How often the lease has been found as it is. */
  get looks(): number {
    return this.#looks;
  }

  start(): CandidateEffect {
    return { kind: "read" };
  }

  step(nowMs: number, event: CandidateEvent): CandidateEffect {
    switch (event.kind) {
      case "read":
        return this.#look(nowMs, event.lease);
      case "acquired": {
        // Lost to another one; or won by an attempt whose answer was lost, and then it is waited out.
        if (event.lease === null) return { kind: "read" };
        const { epoch, termMs } = event.lease;
        return { kind: "elected", lease: { epoch, termMs, untilMs: heldUntilMs(this.#sentAtMs, termMs) } };
      }
      case "failed":
        return { kind: "wait", ms: renewalMs(this.#termMs) };
      case "waited":
        return { kind: "read" };
    }
  }

  #look(nowMs: number, lease: Lease): CandidateEffect {
    const seen = this.#seen;
    if (seen === null || lease.epoch !== seen.epoch || lease.beat !== seen.beat || lease.termMs !== seen.termMs) {
      this.#seen = lease;
      this.#unchangedSinceMs = nowMs;
      this.#looks = 0;
    }
    this.#looks++;
    // variant: lease-waited-out
    const leftMs = this.#unchangedSinceMs + lease.termMs * (1 + DRIFT) - nowMs;
    if (lease.termMs > 0 && leftMs > 0) return { kind: "wait", ms: Math.min(renewalMs(lease.termMs), leftMs) };
    this.#sentAtMs = nowMs;
    return { kind: "acquire", seen: lease, termMs: this.#termMs };
  }
}
