import { expect, test } from "vitest";
import { TaskCount } from "./task-count.ts";

const ADDED = { all: 1, deadInNoLane: 0 };
const always = (): boolean => true;
const never = (): boolean => false;

test("storage is asked once, and memory counts on", () => {
  const count = new TaskCount();
  expect([count.takeQuestion(0, always), count.takeQuestion(0, never), count.numbers]).toEqual([true, false, null]);
  count.answered({ all: 5, deadInNoLane: 2 }, false, 10);
  count.changed(ADDED);
  count.changed({ all: -1, deadInNoLane: -1 });
  expect(count.numbers).toEqual({ all: 5, deadInNoLane: 1 });
  expect([count.takeQuestion(1e9, never), count.wakeAtMs(10)]).toEqual([false, Infinity]);
});

test("it is asked again if something has changed meanwhile: a task that died, too", () => {
  for (const change of [ADDED, { all: 0, deadInNoLane: 1 }]) {
    const count = new TaskCount();
    count.takeQuestion(0, never);
    count.changed(change);
    count.answered({ all: 5, deadInNoLane: 2 }, false, 0);
    expect(count.wakeAtMs(0)).toBe(1_000);
    expect(count.takeQuestion(1_000, never)).toBe(true);
    count.answered({ all: 5, deadInNoLane: 2 }, false, 1_000);
    expect(count.numbers).toEqual({ all: 5, deadInNoLane: 2 });
    expect(count.wakeAtMs(1_000)).toBe(Infinity);
  }
});

/** The pauses between 15 answers, each of which a change has disturbed. A question at another time gets `isChanging`. */
function pausesOf(isChanging: () => boolean): readonly number[] {
  const count = new TaskCount();
  let [nowMs, askedAtMs] = [0, 0];
  const pauses: number[] = [];
  while (pauses.length < 15) {
    if (count.takeQuestion(nowMs, isChanging)) {
      count.failed();
      expect(count.takeQuestion(nowMs, isChanging)).toBe(true);
      count.answered({ all: 0, deadInNoLane: 0 }, true, nowMs);
      pauses.push(nowMs - askedAtMs);
      askedAtMs = nowMs;
    }
    nowMs = count.wakeAtMs(nowMs);
  }
  return pauses.slice(1);
}

test("it is asked again while a commit is under way, after longer and longer pauses, and at once after a failure", () => {
  const pauses = pausesOf(always);
  expect(pauses.slice(0, 3)).toEqual([2_000, 4_000, 8_000]);
  expect(pauses.at(-1)).toBe(600_000);
});

test("the pauses are short if nothing changes at their end", () => {
  const pauses = pausesOf(never);
  expect(pauses.slice(0, 3)).toEqual([1_000, 2_000, 3_000]);
  expect(Math.max(...pauses)).toBe(14_000);
});

test("a schedule that ticks each second, just when storage is asked, does not keep the number from being right", () => {
  const count = new TaskCount();
  let [asked, answersAtMs] = [0, Infinity];
  // A task comes with each tick, and is gone 200 ms later; storage takes 30 ms.
  const isChangingAt = (nowMs: number): boolean => nowMs % 1_000 < 50 || (nowMs + 800) % 1_000 < 50;
  for (let nowMs = 0; nowMs < 60_000; nowMs += 10) {
    if (nowMs % 1_000 === 40) count.changed(ADDED);
    if (nowMs % 1_000 === 240) count.changed({ all: -1, deadInNoLane: 0 });
    if (nowMs === answersAtMs) count.answered({ all: 9, deadInNoLane: 8 }, isChangingAt(nowMs), nowMs);
    if (!count.takeQuestion(nowMs, () => isChangingAt(nowMs))) continue;
    asked++;
    answersAtMs = nowMs + 30;
  }
  expect([asked, count.wakeAtMs(60_000)]).toEqual([2, Infinity]);
});

test("nothing that has not changed asks storage again", () => {
  const count = new TaskCount();
  count.takeQuestion(0, never);
  count.changed({ all: 0, deadInNoLane: 0 });
  count.answered({ all: 1, deadInNoLane: 0 }, false, 0);
  expect(count.wakeAtMs(0)).toBe(Infinity);
});
