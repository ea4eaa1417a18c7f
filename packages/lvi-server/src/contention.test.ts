import {
  CONTENTION_WINDOW_MS,
  type ExecutionId,
  type LviRequest,
  MAX_CONTENDED_UNITS,
  MAX_LAST_WAITS,
  type UnitId,
} from "@radical/protocol";
import { beforeEach, expect, test } from "vitest";
import { ContentionTally } from "./contention.ts";

const ID = "a".repeat(32) as ExecutionId;
const OTHER = "b".repeat(32) as ExecutionId;
const POST = "posts/1" as UnitId;

let monotonicMs: number;
let tally: ContentionTally;

beforeEach(() => {
  monotonicMs = 10_000;
  tally = new ContentionTally(() => ({ monotonicMs, wallMs: 1_000_000 + monotonicMs }));
});

const waited = (unit: UnitId, waitedMs: number): void =>
  tally.noted({
    name: "waited",
    executionId: ID,
    units: [unit],
    behind: OTHER,
    waitedMs,
    handler: "like",
    location: "JP",
  });
const requested = (unit: UnitId): void =>
  tally.requested({ units: [{ unit, mode: "write", version: null }] } as unknown as LviRequest);

test("waits add up, with who waited for whom; requests count for units that are tallied", () => {
  requested(POST);
  waited(POST, 5);
  waited(POST, 20);
  requested(POST);
  tally.noted({ name: "stale", executionId: ID, units: ["t/cold" as UnitId], old: [POST, "posts/2" as UnitId] });
  expect(tally.units).toEqual([
    {
      unit: POST,
      calls: 1,
      waits: 2,
      waitedMs: 25,
      longestMs: 20,
      stale: 1,
      last: [5, 20].map((ms) => ({
        execution: ID,
        behind: OTHER,
        handler: "like",
        location: "JP",
        waitedMs: ms,
        endedAtMs: 101e4,
      })),
    },
    { unit: "posts/2", calls: 0, waits: 0, waitedMs: 0, longestMs: 0, stale: 1, last: [] },
  ]);
});

test("a wait without a unit, and other notes, count for nothing", () => {
  tally.noted({ name: "waited", executionId: ID, waitedMs: 5 });
  tally.noted({ name: "valid", executionId: ID, units: [POST] });
  expect(tally.units).toEqual([]);
});

test("the last two windows count", () => {
  waited(POST, 5);
  monotonicMs += CONTENTION_WINDOW_MS;
  waited(POST, 7);
  expect(tally.units).toMatchObject([{ waits: 2, longestMs: 7 }]);
  monotonicMs += CONTENTION_WINDOW_MS;
  expect(tally.units).toMatchObject([{ waits: 1, longestMs: 7 }]);
  monotonicMs += CONTENTION_WINDOW_MS;
  expect(tally.units).toEqual([]);
});

test("memory is bounded, and the units that are met most stay", () => {
  for (let round = 0; round < 20; round++) waited(POST, 1);
  for (let at = 0; at < 5 * MAX_CONTENDED_UNITS; at++) waited(`seats/${at}` as UnitId, 1);
  expect(tally.units).toHaveLength(MAX_CONTENDED_UNITS);
  expect(tally.units[0]).toMatchObject({ unit: POST, waits: 20 });
  expect(tally.units[0]?.last).toHaveLength(MAX_LAST_WAITS);
  expect(tally.hasLeftOut).toBe(true);
});
