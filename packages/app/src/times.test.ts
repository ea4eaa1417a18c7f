import { expect, test } from "vitest";
import { fromNowText, spanText, timeText } from "./times.ts";

test("a span has its two largest units, if they stand beside each other", () => {
  expect([0, -5, 999, 59_999, 60_000, 90_000, 86_400_000, 97_200_000, 86_460_000].map(spanText)).toEqual([
    "0s",
    "0s",
    "0s",
    "59s",
    "1m",
    "1m 30s",
    "1d",
    "1d 3h",
    "1d",
  ]);
});

test("a time is told to the second, and from now", () => {
  expect(timeText(Date.parse("2026-11-27T22:59:30.999Z"))).toBe("2026-11-27 22:59:30 UTC");
  expect([fromNowText(5_000), fromNowText(-5_000), fromNowText(0)]).toEqual(["in 5s", "5s ago", "in 0s"]);
});
