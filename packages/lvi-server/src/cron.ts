/**
 * The times that fit five fields on the clock of a time zone, found by the library croner, of which no timer is used. `docs/how-to/effects.md`
 * says what becomes of the hours of a change of the clock; `cron.test.ts` holds the library to that.
 */
import { Cron } from "croner";
import type { NextCron } from "./core/ticks.ts";

/** Patterns that were parsed. Null: this machine can't tell their times. */
const known = new Map<string, Cron | null>();
const MOST_KNOWN = 10_000;

export const nextCron: NextCron = (fields, zone, afterMs) =>
  cronOf(fields, zone)?.nextRun(new Date(afterMs))?.getTime() ?? null;

/** Whether this machine knows the zone, and the fields are five that fit some time. */
export function isCron(fields: string, zone: string): boolean {
  return cronOf(fields, zone) !== null;
}

function cronOf(fields: string, zone: string): Cron | null {
  const name = `${fields} ${zone}`;
  let cron = known.get(name);
  if (cron === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    try {
      // Without a function it is only a pattern.
      cron = new Cron(fields, { mode: "5-part", timezone: zone });
      cron.nextRun(new Date(0));
    } catch {
      cron = null;
    }
    known.set(name, cron);
  }
  return cron;
}
