/** A text that is not a date ends a handler, and its read/write-set function, instead of giving a wrong time. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call } from "./testing/run.ts";

const source = `
  import { Table, abort, parseTime } from "@radical/sdk";
  const items = new Table<string>("items");
  export function time(text: string): i64 { return Date.fromString(text).getTime(); }
  export function parsed(text: string): i64 { return Date.parse(text).getTime(); }
  export function found(texts: string[]): (i64 | null)[] { return texts.map((text) => parseTime(text)); }
  export function byTime(text: string): i32 {
    const time = parseTime(text) ?? abort(400, "bad_date", text + " is not a date.");
    items.put(time.toString(), text);
    const end = parseTime(items.get("end") ?? "");
    if (end == null || end > time) items.put("early", text);
    return 1;
  }
  export function byDate(text: string): i32 {
    items.get(text);
    const date = Date.fromString(text);
    items.put(date.toISOString(), text);
    const other = Date.parse(text);
    other.setUTCDate(3);
    items.put(other.toISOString(), text);
    return 1;
  }`;
const built = buildWith({ ...buildInput({ "handlers/a.ts": source }), optimize: false }, slicer);

test.each([
  "2026",
  "2026-11",
  "2026-11-22",
  "2024-02-29",
  "2000-02-29",
  "2026-04-30",
  "2026-12-31",
  "1969-12-31T23:59:59.999Z",
  "2026-11-22T16:30Z",
  "2026-11-22T16:30:59Z",
  "2026-11-22T16:30:59.5Z",
  "2026-11-22T16:30:59.123456Z",
  "2026-11-22T24:00:00.000Z",
  "2026-11-22T00:00:00+05:30",
  "2026-11-22T00:00:00.250-11:00",
])("%s is the time that JavaScript has for it", (text) => {
  expect(call(built, new Map(), "time", { text }).result).toBe(Date.parse(text));
  expect(call(built, new Map(), "parsed", { text }).result).toBe(Date.parse(text));
  expect(call(built, new Map(), "found", { texts: [text] }).result).toEqual([Date.parse(text)]);
});

test("without an offset a time is UTC; an offset may be of whole hours", () => {
  const timeOf = (text: string): unknown => call(built, new Map(), "time", { text }).result;
  expect(timeOf("2026-11-22T16:30")).toBe(Date.parse("2026-11-22T16:30Z"));
  expect(timeOf("2026-11-22T16:30+02")).toBe(Date.parse("2026-11-22T16:30+02:00"));
});

test.each([
  "",
  "tomorrow",
  "2026-",
  "2026-13",
  "2026-00-10",
  "2026-13-01",
  "2026-02-31",
  "2026-02-29",
  "1900-02-29",
  "2026-04-31",
  "2026-11-00",
  "2026-11-32",
  "2026-11-22x",
  "2026-11-22 16:30",
  "2026-11-22T",
  "2026-11-22T16",
  "2026-11-22T25:00",
  "2026-11-22T24:00:01",
  "2026-11-22T24:30",
  "2026-11-22T16:60",
  "2026-11-22T16:30:60",
  "2026-11-22T16:30:59.",
  "2026-11-22T16:30+",
  "2026-11-22T16:30+0530",
  "2026-11-22T16:30+24:00",
  "2026-11-22T16:30ZZ",
  "22.11.2026",
  "11/22/2026",
  "-000001-01-01",
  "2026-1١-01",
  " 2026",
  "1700000000000",
  "2026-1-3",
  "26-01-03",
  "02026-01-03",
])("%j is not a date", (text) => {
  expect(call(built, new Map(), "found", { texts: [text] }).result).toEqual([null]);
  for (const handler of ["time", "parsed"])
    expect(call(built, new Map(), handler, { text }).outcome).toMatchObject({
      kind: "trap",
      code: "assertion_failed",
      message: expect.stringMatching(/^This text is not a date\. A date is written 2026-01-31/) as unknown,
    });
});

const DATE =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(?:Z|([+-]\d{2})(?::(\d{2}))?)?)?$/;

/** The time that JavaScript has for a date of ISO 8601; null: the text is another. */
function ecmaScriptTime(text: string): number | null {
  const found = DATE.exec(text);
  if (found === null) return null;
  const [year, month = 1, day = 1, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part))) as [number, ...(number | undefined)[]];
  const [fraction = "", zoneHour = "+00", zoneMinute = "00"] = found.slice(7);
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate())
    return null;
  const isEnd = hour === 24 && minute === 0 && second === 0 && Number(fraction) === 0;
  if ((hour > 23 && !isEnd) || minute > 59 || second > 59) return null;
  if (Math.abs(Number(zoneHour)) > 23 || Number(zoneMinute) > 59) return null;
  const two = (part: number): string => String(part).padStart(2, "0");
  const date = `${found[1]!}-${two(month)}-${two(day)}`;
  const time = `${two(hour)}:${two(minute)}:${two(second)}.${fraction.slice(0, 3).padEnd(3, "0")}`;
  return Date.parse(`${date}T${time}${zoneHour}:${zoneMinute}`);
}

test("random texts are dates where JavaScript has a time for them, and then have its time", () => {
  const number = (most: number, size: number): fc.Arbitrary<string> =>
    fc.integer({ min: 0, max: most }).map((value) => String(value).padStart(size, "0"));
  const some = (part: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(""), part);
  const after = (mark: string, part: fc.Arbitrary<string>): fc.Arbitrary<string> => part.map((text) => mark + text);
  const joined = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.tuple(...parts).map((texts) => texts.join(""));
  const zone = fc.oneof(
    fc.constantFrom("", "Z"),
    joined(fc.constantFrom("+", "-"), number(24, 2), some(after(":", number(60, 2)))),
  );
  const fraction = after(".", fc.stringMatching(/^\d{1,12}$/));
  const clock = joined(
    number(25, 2),
    after(":", number(60, 2)),
    some(joined(after(":", number(60, 2)), some(fraction))),
  );
  const day = joined(number(9999, 4), some(joined(after("-", number(13, 2)), some(after("-", number(32, 2))))));
  const whole = joined(day, some(after("T", joined(clock, zone))));
  const mutated = fc.tuple(whole, fc.nat(), fc.constantFrom("", "0", "9", "-", ":", "T", "Z", "+", ".", " ", "x", "٣"));
  const changed = mutated.map(([text, at, by]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + by + text.slice(place + (at % 2));
  });
  const texts = fc.array(fc.oneof(whole, changed), { minLength: 50, maxLength: 50 });
  let dates = 0;
  fc.assert(
    fc.property(texts, (all) => {
      const times = all.map(ecmaScriptTime);
      dates += times.filter((time) => time !== null).length;
      expect(call(built, new Map(), "found", { texts: all }).result).toEqual(times);
    }),
    { numRuns: 40 },
  );
  expect(dates).toBeGreaterThan(300);
});

test("a read/write-set function has the times and the ends of its handler", () => {
  expect(built.handlers.find(({ name }) => name === "byDate")?.plan.kind).toBe("sliced");
  const strings = ["2026-11-22", "2026-02-31", "2026-11-22T16:30:59.5Z", "2026-13", "garbage"];
  const found = explore(built, { strings, runs: 40, callsPerRun: 6, handlers: ["byDate"] });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
  expect(found.results).toBeGreaterThan(0);
  expect(found.traps).toBeGreaterThan(0);
});

test("the times of a handler's texts decide what it writes, and its read/write-set function knows", () => {
  expect(built.handlers.find(({ name }) => name === "byTime")?.plan.kind).toBe("sliced");
  const strings = ["2026-11-22", "2026-02-31", "2026-11-22T16:30:59.5Z", "garbage"];
  const found = explore(built, { strings, keys: { items: ["end"] }, runs: 40, callsPerRun: 6, handlers: ["byTime"] });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
  expect(found.results).toBeGreaterThan(0);
});
