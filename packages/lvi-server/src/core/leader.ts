/**
 * The gate of a serving server to its core: an event reaches the core only under the server's leadership, by its own clock.
 * That holds for an answer of storage too. The intent may have been stored after the leadership had run out, and the
 * successor of the server may not have found it.
 *
 * When the leadership runs out, events are *put off* until a renewal succeeds or fails. A renewal that succeeds proves that
 * no other server has led meanwhile, and the driver hands the events back. A renewal that fails halts the server.
 */
import type { Effect, Event, Note, NoteName, OperationId } from "./events.ts";
import { type HeldLeadership, heldUntilMs, renewalMs } from "./leadership.ts";

/** The core's part of its leadership. */
export interface Led {
  readonly nextOperation: () => OperationId;
  readonly emit: (effect: Effect) => void;
  /** Answers an event whose sender must not wait until the leadership is regained. False: the event is kept instead. */
  readonly refuse: (event: Event) => boolean;
  /** Another server has taken over. */
  readonly replaced: () => void;
}

type Renewal = Event & { kind: "leadership-renewed" | "storage-failed" };

interface PutOff {
  readonly events: Event[];
  /** From then on the core refuses requests instead of keeping them; null: it refuses them already. */
  readonly refusesAtMs: number | null;
}

/** Most events that are put off before the core refuses those that it can refuse. */
const MOST_PUT_OFF = 1_000;

export class Leader {
  readonly #led: Led;
  readonly #retryMs: number;
  readonly #termMs: number;
  #untilMs: number;
  /** When to renew it; Infinity: a renewal is under way, or none is needed. */
  #renewAtMs: number;
  #renewal: { readonly operation: OperationId; readonly sentAtMs: number } | null = null;
  /** The events that have come since the leadership ran out; null: it is held. */
  #putOff: PutOff | null = null;

  /** `held` null: no other server knows the storage, so that the leadership needs no renewal. */
  constructor(led: Led, held: HeldLeadership | null, retryMs: number, nowMs: number) {
    this.#led = led;
    this.#retryMs = retryMs;
    this.#termMs = held?.termMs ?? Infinity;
    this.#untilMs = held?.untilMs ?? Infinity;
    this.#renewAtMs = held === null ? Infinity : nowMs;
  }

  get isLeading(): boolean {
    return this.#putOff === null;
  }

  /** The time up to which the server leads without another renewal. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** When the leader must hear of the time; Infinity: not until something else happens. */
  get wakeAtMs(): number {
    const nextMs = this.#putOff === null ? this.#untilMs : (this.#putOff.refusesAtMs ?? Infinity);
    // variant: wake-for-leadership
    return Math.min(this.#renewAtMs, nextMs);
  }

  /** Whether the core may act on the event now. False: the event is put off, refused, or about the leadership itself. */
  admits(nowMs: number, event: Event): boolean {
    if (nowMs >= this.#renewAtMs) this.#renew(nowMs);
    if (this.#renewal !== null && "operation" in event && event.operation === this.#renewal.operation) {
      this.#hear(nowMs, event as Renewal, this.#renewal.sentAtMs);
      return false;
    }
    // variant: leadership-held
    if (nowMs < this.#untilMs) return true;
    this.#withhold(nowMs, event);
    return false;
  }

  #renew(nowMs: number): void {
    const operation = this.#led.nextOperation();
    this.#renewal = { operation, sentAtMs: nowMs };
    this.#renewAtMs = Infinity;
    this.#led.emit({ kind: "renew-leadership", operation, termMs: this.#termMs });
  }

  #hear(nowMs: number, event: Renewal, sentAtMs: number): void {
    this.#renewal = null;
    if (event.kind === "storage-failed") {
      this.#note("storage_failed", { detail: `renew: ${event.reason}` });
      // The renewal may have been stored. Until the term is over the server leads in either case.
      this.#renewAtMs = nowMs + Math.min(this.#retryMs, renewalMs(this.#termMs));
      return;
    }
    if (!event.isHeld) return this.#led.replaced();
    // variant: leadership-renewed
    this.#untilMs = heldUntilMs(sentAtMs, this.#termMs);
    if (nowMs >= this.#untilMs) return this.#renew(nowMs);
    this.#renewAtMs = nowMs + renewalMs(this.#termMs);
    if (this.#putOff === null) return;
    // No other server has led meanwhile, else the epoch would be another: the events are met as if they came now.
    const { events } = this.#putOff;
    this.#putOff = null;
    this.#note("leadership_regained");
    // variant: put-off-resumed
    this.#led.emit({ kind: "resume", events });
  }

  /**
   * Puts the event off, or has the core refuse it. Storage alone can tell whether another server leads. A sender that waits for
   * a reply waits for a short time only, and is then refused as by a server that was replaced.
   */
  #withhold(nowMs: number, event: Event): void {
    if (this.#renewal === null) this.#renew(nowMs);
    if (this.#putOff === null) {
      this.#note("leadership_run_out");
      this.#putOff = { events: [], refusesAtMs: nowMs + renewalMs(this.#termMs) };
    }
    const { events, refusesAtMs } = this.#putOff;
    if (refusesAtMs === null) {
      if (!this.#led.refuse(event)) events.push(event);
      return;
    }
    events.push(event);
    if (nowMs < refusesAtMs && events.length <= MOST_PUT_OFF) return;
    this.#putOff = { events: events.filter((late) => !this.#led.refuse(late)), refusesAtMs: null };
  }

  #note(name: NoteName, more: Pick<Note, "detail"> = {}): void {
    this.#led.emit({ kind: "note", note: { name, ...more } });
  }
}
