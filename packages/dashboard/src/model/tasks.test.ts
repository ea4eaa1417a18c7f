import type { ScheduleStatus, TaskState } from "@radical/protocol";
import { expect, test } from "vitest";
import { actionsOf, fromNow, scheduleWords, stateCounts, taskGroups } from "./tasks.ts";

const task = (handler: string, lane: string | null, state: TaskState) => ({ handler, lane, state });
const ERROR = { code: "closed", message: "", atMs: null };

test("tasks are counted by state, and by handler and lane: those with dead ones first", () => {
  const tasks = [
    task("tell", "ada", "ready"),
    task("tell", "ada", "waiting"),
    task("tell", null, "delayed"),
    task("lose", null, "dead"),
    task("tell", "ada", "running"),
  ];
  expect(stateCounts(tasks)).toEqual({ ready: 1, running: 1, delayed: 1, waiting: 1, dead: 1 });
  expect(taskGroups(tasks).map(({ handler, lane, all, counts }) => [handler, lane, all, counts.dead])).toEqual([
    ["lose", null, 1, 1],
    ["tell", "ada", 3, 0],
    ["tell", null, 1, 0],
  ]);
});

test("each state has the orders that do something to it", () => {
  expect(actionsOf({ state: "running", error: ERROR })).toEqual([]);
  expect(actionsOf({ state: "dead", error: ERROR })).toEqual(["retry", "discard"]);
  expect(actionsOf({ state: "delayed", error: null })).toEqual(["run", "cancel"]);
  expect(actionsOf({ state: "delayed", error: ERROR })).toEqual(["retry", "run", "cancel"]);
  expect(actionsOf({ state: "ready", error: null })).toEqual(["cancel"]);
});

test("times and schedules in words", () => {
  expect([500, 12_000, 90_000, 120_000, -3_600_000, 3 * 86_400_000].map((ms) => fromNow(1e6 + ms, 1e6))).toEqual([
    "now",
    "in 12 s",
    "in 90 s",
    "in 2 min",
    "1 h ago",
    "in 3 d",
  ]);
  const known = { handler: "f", lastMs: null, nextMs: null, isPaused: false, isOpen: false };
  const rest = { ...known, catchUp: 1, overlap: "wait" } as const;
  expect(scheduleWords({ ...rest, kind: "every", everyMs: 300_000 } satisfies ScheduleStatus)).toBe("every 5 min");
  const cron = { ...rest, kind: "cron", fields: "0 6 * * 1" } as const;
  expect(scheduleWords({ ...cron, zone: "UTC" })).toBe("0 6 * * 1");
  expect(scheduleWords({ ...cron, zone: "Asia/Tokyo" })).toBe("0 6 * * 1 (Asia/Tokyo)");
});
