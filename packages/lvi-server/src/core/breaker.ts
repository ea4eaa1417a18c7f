/**
 * A breaker stands before a service that others have. After some failures in a row it is *open*: nothing is called for a pause.
 * Then one call is the *probe*, and all others wait for its end. A success closes the breaker, a failed probe makes the next pause
 * longer.
 *
 * Pure. Times are of the monotonic clock.
 */
import type { ServiceStatus } from "@radical/protocol";

export interface BreakerOptions {
  /** Failures in a row. */
  readonly opensAfter: number;
  readonly firstPauseMs: number;
  /** Pauses become twice as long each time, up to this one. */
  readonly longestPauseMs: number;
}

export type BreakerState = ServiceStatus["breaker"];

/** Names a probe; null: the call is none. */
export type Probe = number | null;

export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "closed";
  /** In a row. */
  #failures = 0;
  /** Since it was last closed. */
  #pauses = 0;
  #openUntilMs = -Infinity;
  #probes = 0;
  /** The one that is under way. A success may have closed the breaker since it began, and others may be probes now. */
  #probe: Probe = null;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    return this.#state;
  }

  get failures(): number {
    return this.#failures;
  }

  /** When a probe may begin; Infinity: none waits for a time. */
  wakeAtMs(nowMs: number): number {
    return this.#state === "open" && this.#openUntilMs > nowMs ? this.#openUntilMs : Infinity;
  }

  mayCall(nowMs: number): boolean {
    // variant: breaker-probe
    return this.#state === "closed" || (this.#state === "open" && nowMs >= this.#openUntilMs);
  }

  /** A call begins, as it may. */
  began(): Probe {
    if (this.#state === "closed") return null;
    this.#state = "probing";
    return (this.#probe = ++this.#probes);
  }

  /** The probe has found out nothing: another call is the probe. */
  gaveUp(probe: Probe): void {
    if (!this.#isPresent(probe)) return;
    this.#state = "open";
    this.#probe = null;
  }

  #isPresent(probe: Probe): boolean {
    return probe !== null && probe === this.#probe;
  }

  /** Returns whether it was open until now. */
  succeeded(): boolean {
    const wasOpen = this.#state !== "closed";
    this.#state = "closed";
    this.#failures = 0;
    this.#pauses = 0;
    this.#probe = null;
    return wasOpen;
  }

  /** `isDown`: nobody was there to call, so that one failure is enough. Returns whether it is open since now. */
  failed(probe: Probe, isDown: boolean, nowMs: number): boolean {
    this.#failures++;
    const wasClosed = this.#state === "closed";
    // The call began before others failed: the pause goes on.
    if (!wasClosed && !this.#isPresent(probe)) return false;
    if (wasClosed && !isDown && this.#failures < this.#options.opensAfter) return false;
    const { firstPauseMs, longestPauseMs } = this.#options;
    this.#state = "open";
    this.#probe = null;
    this.#openUntilMs = nowMs + Math.min(firstPauseMs * 2 ** this.#pauses, longestPauseMs);
    this.#pauses++;
    return wasClosed;
  }
}
