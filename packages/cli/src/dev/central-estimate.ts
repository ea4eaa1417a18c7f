/**
 * Reckons how long the same caller, at the same place, would have waited for a server beside the primary. It is the round trip of
 * the place, and the run there. Calls of the handler at the location `central` show how long it takes there. Without one, the fuel
 * of the run at the location tells it, at the speed at which this machine runs handlers. A message to the server and back then
 * counts as the quickest that the place has seen.
 */
import type { Location } from "@radical/app";
import type { RequestLine } from "./dev-events.ts";
import { CENTRAL } from "./dev-options.ts";

/** The last measured runs of a handler that count. */
const KEPT_RUNS = 20;
/** The last messages of a place that count. */
const KEPT_MESSAGES = 100;
/** Until runs here have shown another speed. A run of 65 ms in workerd, on a server of 2024, used 1.31 billion. */
const DEFAULT_FUEL_PER_MS = 20_000_000;
/** A shorter run says nothing of the speed: a location's clock has whole milliseconds. */
const MIN_TIMED_MS = 5;

export class CentralEstimate {
  readonly #roundTrips: ReadonlyMap<string, number>;
  /** Milliseconds of the last calls at `central`, by handler. */
  readonly #measured = new Map<string, number[]>();
  /** Milliseconds of the last messages to the primary that started no run, by location. */
  readonly #messages = new Map<string, number[]>();
  #timedFuel = 0;
  #timedMs = 0;

  constructor(locations: readonly Location[]) {
    this.#roundTrips = new Map(locations.map(({ name, roundTripMs }) => [name, roundTripMs]));
  }

  /** Milliseconds until the answer; null: the call is one of `central` itself, or nothing is known of its run. */
  of(line: RequestLine): number | null {
    const { handler, location, path, ms, fuel } = line;
    if (handler === null || path === null) return null;
    if (location === CENTRAL) {
      keep(this.#measured, handler, ms["total"], KEPT_RUNS);
      return null;
    }
    const roundTripMs = this.#roundTrips.get(location);
    if (roundTripMs === undefined) return null;
    this.#time(fuel, ms["f"]);
    if (path === "speculative") keep(this.#messages, location, ms["lvi"], KEPT_MESSAGES);
    const measured = this.#measured.get(handler);
    if (measured !== undefined) return roundTripMs + medianOf(measured);
    // The call has waited for exactly that.
    if (path === "near-storage") return ms["lvi"] ?? null;
    if (fuel === null) return null;
    const messageMs = Math.max(roundTripMs, Math.min(...(this.#messages.get(location) ?? [roundTripMs])));
    return messageMs + fuel / (this.#timedMs === 0 ? DEFAULT_FUEL_PER_MS : this.#timedFuel / this.#timedMs);
  }

  #time(fuel: number | null, runMs: number | undefined): void {
    if (fuel === null || runMs === undefined || runMs < MIN_TIMED_MS) return;
    this.#timedFuel += fuel;
    this.#timedMs += runMs;
  }
}

/** Adds a value to the last ones under this name. */
function keep(all: Map<string, number[]>, name: string, value: number | undefined, most: number): void {
  if (value === undefined) return;
  const kept = all.get(name) ?? [];
  kept.push(value);
  if (kept.length > most) kept.shift();
  all.set(name, kept);
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
