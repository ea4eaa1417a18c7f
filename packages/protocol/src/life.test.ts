import { expect, test } from "vitest";
import { type Life, lifeIn, microseconds } from "./life.ts";

const LIFE = {
  v: 1,
  kind: "life",
  side: "location",
  execution: "a".repeat(32),
  attempt: 1,
  trace: null,
  place: "JP",
  handler: "like",
  module: "m",
  atMs: 1,
  tookUs: 2,
  path: "speculative",
  reason: "valid",
  code: null,
  commit: null,
  because: { unit: "posts/1", had: null, is: null },
  spans: [["run", 0, 1]],
  units: [["posts/1", "read", null]],
  unitsLeftOut: 0,
  waited: [["posts/1", null, 3]],
  fuel: 5,
} as unknown as Life;

test("a life is read as it was told", () => {
  expect(lifeIn(JSON.parse(JSON.stringify(LIFE)))).toEqual(LIFE);
});

test.each([
  ["another version", { v: 2 }],
  ["another kind", { kind: "state" }],
  ["no side", { side: "client" }],
  ["a number for a text", { handler: 1 }],
  ["a text for a number", { tookUs: "2" }],
  ["a malformed span", { spans: [["run", 0]] }],
  ["too many spans", { spans: Array.from({ length: 25 }, () => ["run", 0, 1]) }],
  ["no list of units", { units: {} }],
  ["a malformed wait", { waited: [[null, null, 1]] }],
  ["a reason of no unit", { because: {} }],
  ["text as fuel", { fuel: "5" }],
])("what has %s is none", (_what, change) => {
  expect(lifeIn({ ...LIFE, ...change })).toBeNull();
});

test.each([null, [], "life", undefined, 3])("%j is none", (value) => {
  expect(lifeIn(value)).toBeNull();
});

test("times are whole microseconds, and never negative", () => {
  expect([microseconds(1.2346), microseconds(-1)]).toEqual([1_235, 0]);
});
