/**
 * Requests that were answered without leaving a trace in storage: read-only executions and refusals.
 *
 * Such an execution may write if it runs again, because it finds other values. That is right for a location that sends
 * the same execution again: it has given up the answers to its earlier requests. It would be wrong for a duplicate, or
 * for a request that was overtaken by its own repeat: their answer was used, or their location is gone. The time at
 * which a location signed a request tells them apart, since every sending is signed anew.
 *
 * A server does not know what the one before it answered, so what was signed before it started is in doubt.
 */
import type { ExecutionId } from "@radical/protocol";

export class AnsweredRequests {
  readonly #maxIds: number;
  /** When the last request that was answered was signed, by location and execution; oldest first. */
  readonly #answered = new Map<string, { readonly location: string; readonly sentAtMs: number }>();
  /** By location: what was signed up to then may have been answered and forgotten. */
  readonly #forgottenMs = new Map<string, number>();

  /** When this server started; earlier if its clock was set back since. */
  #startedAtMs: number;

  constructor(maxIds: number, startedAtMs: number) {
    this.#maxIds = maxIds;
    this.#startedAtMs = startedAtMs;
  }

  add(id: ExecutionId, location: string, sentAtMs: number): void {
    const key = `${id} ${location}`;
    const known = this.#answered.get(key)?.sentAtMs ?? Number.NEGATIVE_INFINITY;
    this.#answered.delete(key);
    this.#answered.set(key, { location, sentAtMs: Math.max(known, sentAtMs) });
    for (const [oldest, forgotten] of this.#answered) {
      if (this.#answered.size <= this.#maxIds) break;
      this.#answered.delete(oldest);
      this.#forgottenMs.set(
        forgotten.location,
        Math.max(this.#forgottenMs.get(forgotten.location) ?? 0, forgotten.sentAtMs),
      );
    }
  }

  /** Whether the request, or a later one of the same execution and location, was answered; in doubt, yes. */
  includes(id: ExecutionId, location: string, sentAtMs: number, nowMs: number): boolean {
    this.#startedAtMs = Math.min(this.#startedAtMs, nowMs);
    const known = this.#answered.get(`${id} ${location}`);
    if (known !== undefined) return sentAtMs <= known.sentAtMs;
    return sentAtMs < this.#startedAtMs || sentAtMs <= (this.#forgottenMs.get(location) ?? Number.NEGATIVE_INFINITY);
  }
}
