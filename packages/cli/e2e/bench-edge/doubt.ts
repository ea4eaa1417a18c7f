/** What waiting in doubt saves and costs, by the real `Experience` of a location on drawn validations. Nothing is timed. */
import type { Random } from "@radical/history";
import type { UnitId } from "@radical/protocol";
import { Experience } from "@radical/runtime/core";

export interface DoubtRow {
  readonly what: string;
  /** How often validation succeeds, or a guess comes true. */
  readonly likelihood: number;
  /** Shares of all requests: f ran and its run was dropped; f waited though it could have run at once. */
  readonly wasted: number;
  readonly late: number;
  /** Share of runs in vain if f never waited. */
  readonly wastedAlways: number;
}

const REQUESTS = 20_000;
const BETWEEN_MS = 200;

export function replayDoubt(random: Random): readonly DoubtRow[] {
  const rows: DoubtRow[] = [];
  for (const likelihood of [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]) {
    const experience = new Experience();
    const unit = "items/hot" as UnitId;
    rows.push(
      replay("a unit is valid", likelihood, random, {
        waits: (atMs) => experience.doubt("change", [], [unit], atMs) !== null,
        learn: (valid, atMs) => experience.compared(unit, !valid, atMs),
      }),
    );
  }
  for (const written of [true, false]) {
    for (const likelihood of [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]) {
      const experience = new Experience();
      const read = { unit: "items/cold" as UnitId, written };
      rows.push(
        replay(`what the cache lacks is absent, ${written ? "written" : "only read"}`, likelihood, random, {
          waits: (atMs) => experience.doubt("mark", [read], [], atMs) !== null,
          learn: (right) => experience.guessed("mark", read, right),
        }),
      );
    }
  }
  return rows;
}

interface Rule {
  readonly waits: (atMs: number) => boolean;
  readonly learn: (confirmed: boolean, atMs: number) => void;
}

function replay(what: string, likelihood: number, random: Random, { waits, learn }: Rule): DoubtRow {
  let wasted = 0;
  let late = 0;
  for (let index = 0; index < REQUESTS; index++) {
    const atMs = index * BETWEEN_MS;
    const confirmed = random.chance(likelihood);
    if (waits(atMs)) late += Number(confirmed);
    else wasted += Number(!confirmed);
    learn(confirmed, atMs);
  }
  return { what, likelihood, wasted: wasted / REQUESTS, late: late / REQUESTS, wastedAlways: 1 - likelihood };
}
