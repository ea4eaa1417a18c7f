import { expect, test } from "vitest";
import { TaskCount } from "./task-count.ts";

const ADDED = { all: 1, deadInNoLane: 0 };

test("storage is asked once, and memory counts on", () => {
  const count = new TaskCount();
  expect([count.takeQuestion(0), count.takeQuestion(0), count.numbers]).toEqual([true, false, null]);
  count.answered({ all: 5, deadInNoLane: 2 }, false, 10);
  count.changed(ADDED);
  count.changed({ all: -1, deadInNoLane: -1 });
  expect(count.numbers).toEqual({ all: 5, deadInNoLane: 1 });
  expect([count.takeQuestion(1e9), count.wakeAtMs(10)]).toEqual([false, Infinity]);
});

test("it is asked again if something has changed meanwhile: a task that died, too", () => {
  for (const change of [ADDED, { all: 0, deadInNoLane: 1 }]) {
    const count = new TaskCount();
    count.takeQuestion(0);
    count.changed(change);
    count.answered({ all: 5, deadInNoLane: 2 }, false, 0);
    expect(count.wakeAtMs(0)).toBe(1_000);
    expect(count.takeQuestion(1_000)).toBe(true);
    count.answered({ all: 5, deadInNoLane: 2 }, false, 1_000);
    expect(count.numbers).toEqual({ all: 5, deadInNoLane: 2 });
    expect(count.wakeAtMs(1_000)).toBe(Infinity);
  }
});

test("it is asked again while a commit is under way, after longer and longer pauses, and at once after a failure", () => {
  const count = new TaskCount();
  let nowMs = 0;
  const pauses: number[] = [];
  for (let times = 0; times < 12; times++) {
    expect(count.takeQuestion(nowMs)).toBe(true);
    count.failed();
    expect(count.takeQuestion(nowMs)).toBe(true);
    count.answered({ all: 0, deadInNoLane: 0 }, true, nowMs);
    pauses.push(count.wakeAtMs(nowMs) - nowMs);
    nowMs = count.wakeAtMs(nowMs);
  }
  expect(pauses.slice(0, 3)).toEqual([1_000, 2_000, 4_000]);
  expect(pauses.at(-1)).toBe(600_000);
});

test("nothing that has not changed asks storage again", () => {
  const count = new TaskCount();
  count.takeQuestion(0);
  count.changed({ all: 0, deadInNoLane: 0 });
  count.answered({ all: 1, deadInNoLane: 0 }, false, 0);
  expect(count.wakeAtMs(0)).toBe(Infinity);
});
