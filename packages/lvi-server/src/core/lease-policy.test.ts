import { describe, expect, test } from "vitest";
import { FadingCount, keepMost, leaseDistance } from "./lease-policy.ts";

const NEAR = { rttMs: 10, reads: 10 };
const FAR = { rttMs: 100, reads: 10 };

describe("the distance within which leases are worth it", () => {
  test("is that of the farthest reader of a unit that nobody writes", () => {
    expect(leaseDistance([FAR, NEAR], 0)).toBe(100);
    expect(leaseDistance([], 0)).toBe(0);
  });

  test("leaves out a far reader that costs writers more than it saves, and keeps the near one", () => {
    expect(leaseDistance([{ ...FAR, reads: 2 }, NEAR], 5)).toBe(10);
    expect(leaseDistance([{ ...FAR, reads: 6 }, NEAR], 5)).toBe(100);
  });

  test("is none where more is written than read", () => {
    expect(leaseDistance([NEAR, FAR], 21)).toBe(0);
  });
});

describe("a count of late events", () => {
  test("halves in a minute", () => {
    const count = new FadingCount();
    count.add(8, 1_000);
    count.add(8, 1_000);
    expect(count.at(1_000)).toBe(16);
    expect(count.at(61_000)).toBeCloseTo(8);
    expect(count.at(181_000)).toBeCloseTo(2);
  });

  test("keeps its ratio to another when both have had more events than are to count", () => {
    const [reads, writes, others] = [new FadingCount(), new FadingCount(), new FadingCount()];
    reads.add(30, 0);
    writes.add(10, 0);
    others.add(4, 0);
    keepMost(40, 0, [reads, writes], () => [others]);
    expect([reads.at(0), writes.at(0), others.at(0)]).toEqual([30, 10, 4]);
    reads.add(40, 0);
    keepMost(40, 0, [reads, writes], () => [others]);
    expect([reads.at(0), writes.at(0), others.at(0)]).toEqual([17.5, 2.5, 1]);
  });
});
