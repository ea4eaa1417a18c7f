import { expect, test } from "vitest";
import { scheduleLines } from "./schedule-lines.ts";

const at = (text: string): number => Date.parse(text);
const COMMON = { catchUp: 1, overlap: "wait", lastMs: null, isPaused: false, isOpen: false } as const;

test("a schedule is told as its tag says it, with its last tick and its next one", () => {
  const lines = scheduleLines({
    timeMs: at("2026-11-27T22:59:30Z"),
    schedules: [
      {
        ...COMMON,
        handler: "nightly",
        kind: "cron",
        fields: "0 3 * * *",
        zone: "Europe/Berlin",
        lastMs: at("2026-11-27T02:00:00Z"),
        nextMs: at("2026-11-28T02:00:00Z"),
        isOpen: true,
      },
      {
        ...COMMON,
        handler: "sweep",
        kind: "every",
        everyMs: 90_000,
        nextMs: at("2026-11-27T23:00:00Z"),
        catchUp: 0,
        overlap: "skip",
      },
      { ...COMMON, handler: "weekly", kind: "every", everyMs: 7 * 86_400_000, nextMs: null, isPaused: true },
    ],
  });
  expect(lines).toEqual([
    "handler  schedule                             last tick                          next tick",
    "nightly  0 3 * * * Europe/Berlin              2026-11-27 02:00:00 UTC, not done  2026-11-28 02:00:00 UTC, in 3h",
    "sweep    every 1m 30s catchUp=0 overlap=skip  never                              2026-11-27 23:00:00 UTC, in 30s",
    "weekly   every 7d                             never                              paused",
  ]);
});
