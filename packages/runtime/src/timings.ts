import type { LifeNotes } from "./life-notes.ts";

/**
 * Where the time of a request went, in milliseconds. The platform's clock may stand still while code runs, so what no
 * input or output ended may show as 0.
 */
export const PHASES = ["rw", "cache", "lvi", "f"] as const;
export type Phase = (typeof PHASES)[number];

export class Timings {
  readonly #now: () => number;
  readonly #startedAtMs: number;
  readonly #spentMs = new Map<Phase, number>();
  /** The fuel that the last run of f here has used; null: none has come to its end. */
  fuel: number | null = null;
  /** Null: nobody wants the life of the execution. */
  life: LifeNotes | null = null;
  /** How many the request has made, of the number that the platform lets it. */
  subrequests = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#startedAtMs = now();
  }

  /** Adds to the phase what has passed since `sinceMs`. */
  add(phase: Phase, sinceMs: number): void {
    const tookMs = this.#now() - sinceMs;
    this.#spentMs.set(phase, (this.#spentMs.get(phase) ?? 0) + tookMs);
    this.life?.spent(phase, sinceMs - this.#startedAtMs, tookMs);
  }

  /** Phases that took place, and the total so far. */
  toRecord(): Readonly<Record<string, number>> {
    const record: Record<string, number> = {};
    for (const phase of PHASES) {
      const ms = this.#spentMs.get(phase);
      if (ms !== undefined) record[phase] = round(ms);
    }
    record["total"] = round(this.#now() - this.#startedAtMs);
    return record;
  }

  /** A record as a `server-timing` header. */
  toHeader(record: Readonly<Record<string, number>>): string {
    const fuel = this.fuel === null ? "" : `;desc="${this.fuel} fuel"`;
    return Object.entries(record)
      .map(([name, ms]) => `${name};dur=${ms}${name === "f" ? fuel : ""}`)
      .join(", ");
  }
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
