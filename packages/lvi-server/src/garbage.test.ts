import { expect, test } from "vitest";
import { Garbage } from "./garbage.ts";

test("garbage is collected while much of the memory is in use, once a second at most", () => {
  let times = 0;
  const garbage = new Garbage(1_000, () => times++);
  const timesAfter = (memoryBytes: number, nowMs: number): number => {
    garbage.look(memoryBytes, nowMs);
    return times;
  };
  expect(timesAfter(600, 0)).toBe(0);
  expect(timesAfter(601, 1)).toBe(1);
  expect(timesAfter(999, 1_000)).toBe(1);
  expect(timesAfter(999, 1_001)).toBe(2);
  expect(timesAfter(600, 9_000)).toBe(2);
});

test("V8 collects", () => {
  const garbage = new Garbage(1);
  expect(() => garbage.look(2, 0)).not.toThrow();
});
