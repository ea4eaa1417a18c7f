import { expect, test } from "vitest";
import { encodeScheduleState, scheduleUnit } from "./core/schedule-state.ts";
import { readSchedules } from "./schedules-read.ts";

test("a start asks storage for the latest ticks of all schedules, and for a few of them at once", async () => {
  const state = { due: "@every 60000", lastMs: 60_000, firedMs: 60_000, isPaused: false };
  const rows = Array.from({ length: 1_000 }, (_, n) => ({
    unit: scheduleUnit(`handler${n}`),
    value: encodeScheduleState(state),
    commitId: "" as never,
  }));
  let [underWay, most, asked] = [0, 0, 0];
  const { states, open } = await readSchedules({
    scan: () => Promise.resolve(rows),
    findTask: async () => {
      asked++;
      most = Math.max(most, ++underWay);
      await Promise.resolve();
      underWay--;
      return null;
    },
  });
  expect([states.size, open.length, asked]).toEqual([1_000, 0, 1_000]);
  expect(most).toBeLessThanOrEqual(16);
});
