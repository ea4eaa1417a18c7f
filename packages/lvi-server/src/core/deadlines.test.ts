import fc from "fast-check";
import { expect, test } from "vitest";
import { Deadlines } from "./deadlines.ts";

test("property: due in order of time, first in first out at the same time", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.nat(20), (times, nowMs) => {
      const deadlines = new Deadlines<readonly [number, number]>();
      times.forEach((atMs, index) => deadlines.add(atMs, [atMs, index]));
      expect(deadlines.nextMs).toBe(times.length === 0 ? null : Math.min(...times));
      const due: (readonly [number, number])[] = [];
      for (let next = deadlines.takeDue(nowMs); next !== undefined; next = deadlines.takeDue(nowMs)) due.push(next);
      const expected = times.map((atMs, index) => [atMs, index] as const).filter(([atMs]) => atMs <= nowMs);
      expect(due).toEqual(expected.toSorted(([a, i], [b, j]) => a - b || i - j));
    }),
  );
});

test("what is moot is not kept until its time", () => {
  const over = new Set<number>();
  const deadlines = new Deadlines<number>((what) => over.has(what));
  for (let what = 0; what < 100_000; what++) {
    deadlines.add(1_000 + (what % 7), what);
    if (what % 1_000 !== 0) over.add(what);
  }
  expect(deadlines.size).toBeLessThan(2_000);
  const due: number[] = [];
  for (let next = deadlines.takeDue(2_000); next !== undefined; next = deadlines.takeDue(2_000)) due.push(next);
  const live = Array.from({ length: 100 }, (_, index) => index * 1_000);
  const left = due.filter((what) => !over.has(what));
  expect(left).toEqual(live.toSorted((a, b) => (a % 7) - (b % 7) || a - b));
});

test("what is moot does not keep much memory from being freed, also where entries are few", () => {
  const MB = 1_048_576;
  const over = new Set<number>();
  const deadlines = new Deadlines<number>(
    (what) => over.has(what),
    () => MB,
  );
  for (let what = 0; what < 500; what++) {
    deadlines.add(1_000, what);
    // Ten are live at a time.
    over.add(what - 10);
    expect(deadlines.size).toBeLessThanOrEqual(10 + 5);
  }
  const due: number[] = [];
  for (let next = deadlines.takeDue(1_000); next !== undefined; next = deadlines.takeDue(1_000)) due.push(next);
  expect(due.slice(-10)).toEqual(Array.from({ length: 10 }, (_, index) => 490 + index));
});

test("property: the earliest one of a tidy heap is not moot", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean())), (entries) => {
      const deadlines = new Deadlines<boolean>((isMoot) => isMoot);
      for (const [atMs, isMoot] of entries) deadlines.add(atMs, isMoot);
      deadlines.tidy();
      const live = entries.flatMap(([atMs, isMoot]) => (isMoot ? [] : [atMs]));
      expect(deadlines.nextMs).toBe(live.length === 0 ? null : Math.min(...live));
      if (live.length === 0) expect(deadlines.size).toBe(0);
    }),
  );
});
