/** A thousand seats are sold from five locations: exactly so many, and how long a buyer waits beyond the round trip. */
import { PAPER_LOCATIONS } from "@radical/app";
import type { TestApp } from "../../src/testing.ts";
import { quantile } from "@radical/bench";
import { type Figure, figure } from "../bench-figure.ts";
import { answersOf, type Effort } from "./load.ts";

const SEATS = 1_000;
/** Calls beyond the last seat. */
const TOO_MANY = 50;

export async function measureSeats(app: TestApp, effort: Effort): Promise<readonly Figure[]> {
  const waits: number[] = [];
  const figures: Figure[] = [];
  for (let turn = 0; turn <= effort.turns && !effort.signal.aborted; turn++) {
    const night = `night-${turn}`;
    await app.result("open", { night, count: SEATS });
    let left = SEATS + TOO_MANY;
    const answers = await answersOf(app, effort, () => (left-- > 0 ? { handler: "take", args: { night } } : null));
    const sold = answers.filter(({ status }) => status === 200);
    if (!effort.signal.aborted && sold.length !== SEATS) throw new Error(`${sold.length} of ${SEATS} seats were sold`);
    const beyond = sold.map(({ location, ms }) => ms - roundTripOf(location));
    effort.tell(
      `seats, turn ${turn}: p99 ${quantile(
        beyond.toSorted((a, b) => a - b),
        0.99,
      ).toFixed(0)} ms`,
    );
    if (turn > 0) waits.push(...beyond);
  }
  const sorted = waits.toSorted((a, b) => a - b);
  figures.push(
    figure(`seat, beyond the round trip: p50 of ${effort.callers} callers a location`, quantile(sorted, 0.5), "ms"),
    figure("seat, beyond the round trip: p99", quantile(sorted, 0.99), "ms", { atMost: 50 }),
  );
  return figures;
}

function roundTripOf(location: string): number {
  return PAPER_LOCATIONS.find(({ name }) => name === location)!.roundTripMs;
}
