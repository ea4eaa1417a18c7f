import fc from "fast-check";
import { expect, test } from "vitest";
import { isCron, nextCron } from "./cron.ts";

/** The ticks between two times, as text. */
function ticks(fields: string, zone: string, from: string, to: string): readonly string[] {
  const found: string[] = [];
  for (let tick = nextCron(fields, zone, Date.parse(from)); tick !== null && tick < Date.parse(to);) {
    found.push(new Date(tick).toISOString().slice(5, 16));
    tick = nextCron(fields, zone, tick);
  }
  return found;
}

const BERLIN = "Europe/Berlin";
const LORD_HOWE = "Australia/Lord_Howe";

test("in Berlin the clock is put forward from 2:00 to 3:00", () => {
  const night = (fields: string): readonly string[] =>
    ticks(fields, BERLIN, "2026-03-29T00:00:00Z", "2026-03-29T02:30:00Z");
  // A time that the clock does not show comes when the clock has gone on.
  expect(night("30 2 * * *")).toEqual(["03-29T01:00"]);
  expect(night("0 3 * * *")).toEqual(["03-29T01:00"]);
  // Steps go on in equal distances of real time.
  expect(night("*/30 * * * *")).toEqual(["03-29T00:30", "03-29T01:00", "03-29T01:30", "03-29T02:00"]);
  expect(ticks("30 2 * * *", BERLIN, "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z")).toEqual([
    "03-28T01:30",
    "03-29T01:00",
    "03-30T00:30",
  ]);
});

test("in Berlin the clock is put back from 3:00 to 2:00", () => {
  const night = (fields: string): readonly string[] =>
    ticks(fields, BERLIN, "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z");
  // A time that the clock shows twice comes once, when it is shown first.
  expect(night("30 2 * * *")).toEqual(["10-25T00:30"]);
  expect(night("0 3 * * *")).toEqual(["10-25T02:00"]);
  expect(night("*/30 * * * *")).toEqual(["10-25T00:00", "10-25T00:30", "10-25T01:00", "10-25T01:30", "10-25T02:00"]);
});

test("at Lord Howe the clock is put forward by half an hour, from 2:00 to 2:30", () => {
  const night = (fields: string): readonly string[] =>
    ticks(fields, LORD_HOWE, "2026-10-03T15:05:00Z", "2026-10-03T16:05:00Z");
  expect(night("15 2 * * *")).toEqual(["10-03T15:30"]);
  expect(night("45 2 * * *")).toEqual(["10-03T15:45"]);
  expect(night("*/10 * * * *")).toEqual(
    ["15:10", "15:20", "15:30", "15:40", "15:50", "16:00"].map((t) => `10-03T${t}`),
  );
});

test("at Lord Howe the clock is put back by half an hour, from 2:00 to 1:30", () => {
  const night = (fields: string): readonly string[] =>
    ticks(fields, LORD_HOWE, "2026-04-04T14:05:00Z", "2026-04-04T15:35:00Z");
  expect(night("45 1 * * *")).toEqual(["04-04T14:45"]);
  expect(night("0 2 * * *")).toEqual(["04-04T15:30"]);
  expect(night("*/30 * * * *")).toEqual(["04-04T14:30", "04-04T15:00", "04-04T15:30"]);
});

test("fields mean what they mean in crontab", () => {
  // A day of the month or a day of the week, if both are named.
  expect(ticks("0 0 13 * FRI", "UTC", "2026-11-01T00:00:00Z", "2026-11-16T00:00:00Z")).toEqual([
    "11-06T00:00",
    "11-13T00:00",
  ]);
  expect(ticks("0 0 10 * FRI", "UTC", "2026-11-01T00:00:00Z", "2026-11-14T00:00:00Z")).toEqual([
    "11-06T00:00",
    "11-10T00:00",
    "11-13T00:00",
  ]);
  for (const sunday of ["0", "7", "SUN"])
    expect(ticks(`0 12 * * ${sunday}`, "UTC", "2026-11-01T00:00:00Z", "2026-11-09T00:00:00Z")).toEqual([
      "11-01T12:00",
      "11-08T12:00",
    ]);
  expect(ticks("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2033-01-01T00:00:00Z")).toEqual([
    "02-29T00:00",
    "02-29T00:00",
  ]);
  expect(nextCron("0 0 31 2 *", "UTC", 0)).toBe(null);
});

test("fields and zones that are not known here have no ticks, and stop nobody", () => {
  for (const [fields, zone] of [
    ["0 3 * * *", "Europe/Atlantis"],
    ["0 0 3 * * *", "UTC"],
    ["61 3 * * *", "UTC"],
    ["", "UTC"],
  ] as const) {
    expect(isCron(fields, zone)).toBe(false);
    expect(nextCron(fields, zone, 0)).toBe(null);
  }
  expect(isCron("0 3 * * *", BERLIN)).toBe(true);
});

test("the ticks do not depend on the time from which they are looked for", () => {
  const zone = fc.constantFrom(BERLIN, LORD_HOWE, "UTC", "America/St_Johns");
  const field = (most: number, least = 0): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant("*"),
      fc.integer({ min: least, max: most }).map(String),
      fc.integer({ min: 1, max: most }).map((step) => `${least}-${most}/${step}`),
    );
  const fields = fc.tuple(field(59), field(23)).map(([minute, hour]) => `${minute} ${hour} * * *`);
  // Around the changes of the clocks, and elsewhere.
  const start = fc.constantFrom(
    "2026-03-28T22:00:00Z",
    "2026-10-24T22:00:00Z",
    "2026-10-03T12:00:00Z",
    "2026-04-04T12:00:00Z",
    "2026-06-01T00:00:00Z",
  );
  const minutes = fc.array(fc.integer({ min: 0, max: 8 * 60 }), { minLength: 5, maxLength: 20 });
  fc.assert(
    fc.property(zone, fields, start, minutes, (zoneName, pattern, from, after) => {
      const fromMs = Date.parse(from);
      const endMs = fromMs + 9 * 3_600_000;
      const all: number[] = [];
      for (let tick = nextCron(pattern, zoneName, fromMs); tick !== null && tick <= endMs;) {
        all.push(tick);
        tick = nextCron(pattern, zoneName, tick);
      }
      for (const minute of after) {
        const atMs = fromMs + minute * 60_000 + 12_345;
        const next = nextCron(pattern, zoneName, atMs);
        const known = all.find((tick) => tick > atMs);
        if (known !== undefined) expect(next).toBe(known);
        else expect(next === null || next > endMs).toBe(true);
      }
      expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
    }),
    { numRuns: 300 },
  );
});
