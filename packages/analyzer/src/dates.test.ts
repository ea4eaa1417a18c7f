/** A text that is not a date ends a handler, and its read/write-set function, instead of giving a wrong time. */
import { expect, test } from "vitest";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call } from "./testing/run.ts";

const source = `
  import { Table } from "@radical/sdk";
  const items = new Table<string>("items");
  export function time(text: string): i64 { return Date.fromString(text).getTime(); }
  export function parsed(text: string): i64 { return Date.parse(text).getTime(); }
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
])("%j is not a date", (text) => {
  for (const handler of ["time", "parsed"])
    expect(call(built, new Map(), handler, { text }).outcome).toMatchObject({
      kind: "trap",
      code: "assertion_failed",
      message: expect.stringMatching(/^This text is not a date\. A date is written 2026-01-31/) as unknown,
    });
});

test("a read/write-set function has the times and the ends of its handler", () => {
  expect(built.handlers.find(({ name }) => name === "byDate")?.plan.kind).toBe("sliced");
  const strings = ["2026-11-22", "2026-02-31", "2026-11-22T16:30:59.5Z", "2026-13", "garbage"];
  const found = explore(built, { strings, runs: 40, callsPerRun: 6, handlers: ["byDate"] });
  expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
  expect(found.results).toBeGreaterThan(0);
  expect(found.traps).toBeGreaterThan(0);
});
