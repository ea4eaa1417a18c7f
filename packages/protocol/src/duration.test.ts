import { expect, test } from "vitest";
import { durationMs, spokenDurationMs } from "./duration.ts";

test("a length of time is a number with a unit", () => {
  expect(["90s", "5m", "12h", "1d"].map(durationMs)).toEqual([90_000, 300_000, 43_200_000, 86_400_000]);
  const others = ["", "5", "m", "-5m", "1.5h", "5 m", "5ms", "1w", "3 days", "1234567890s"];
  expect(others.filter((text) => durationMs(text) !== null)).toEqual([]);
});

test("in words too", () => {
  expect(["1 second", "90 seconds", "1 minute", "2 hours", "3 days", "2 weeks", "5m"].map(spokenDurationMs)).toEqual([
    1_000, 90_000, 60_000, 7_200_000, 259_200_000, 1_209_600_000, 300_000,
  ]);
  const others = ["three days", "3 Days", "3  days", "3 months", "3 d", "-3 days", "1 day 2 hours", ""];
  expect(others.filter((text) => spokenDurationMs(text) !== null)).toEqual([]);
});
