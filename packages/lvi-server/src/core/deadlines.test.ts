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
