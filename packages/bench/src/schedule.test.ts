import { expect, test } from "vitest";
import { defineBenchmark } from "@radical/app";
import { Random } from "@radical/history";
import { schedule } from "./schedule.ts";

const benchmark = defineBenchmark({
  requests: [
    { handler: "look", share: 3, args: (draw) => ({ key: draw.zipf(100) }) },
    { handler: "change", share: 1 },
  ],
});
const loads = [
  { system: "radical", arrivalsPerSecond: 10, requests: 2_000 },
  { system: "central", arrivalsPerSecond: 5, requests: 1_000 },
] as const;
const planned = schedule(benchmark, ["near", "far"], loads, new Random(5, 0.99));
const of = (system: string, location: string) =>
  planned.filter((one) => one.system === system && one.location === location);

test("so many requests of each system at each location, in the order of their times, so often", () => {
  expect(planned).toHaveLength(6_000);
  expect(planned.every((one, index) => index === 0 || planned[index - 1]!.atMs <= one.atMs)).toBe(true);
  // The standard deviation is 45 and 63 of 2000 seconds' worth of arrivals.
  expect(of("radical", "near").at(-1).atMs / 1_000).toBeCloseTo(200, -1.5);
  expect(of("central", "far").at(-1).atMs / 1_000).toBeCloseTo(200, -1.5);
});

test("arrivals are a Poisson process: counts of intervals have the variance of their mean", () => {
  const perSecond = Array.from({ length: 150 }, () => 0);
  for (const { atMs } of of("radical", "near")) {
    const second = Math.trunc(atMs / 1_000);
    if (second < perSecond.length) perSecond[second]!++;
  }
  const mean = perSecond.reduce((sum, count) => sum + count, 0) / perSecond.length;
  const variance = perSecond.reduce((sum, count) => sum + (count - mean) ** 2, 0) / perSecond.length;
  expect(mean).toBeGreaterThan(9);
  expect(mean).toBeLessThan(11);
  expect(variance / mean).toBeGreaterThan(0.7);
  expect(variance / mean).toBeLessThan(1.4);
});

test("what is asked for at a location is the same in all systems, and another at other locations", () => {
  const calls = (system: string, location: string) =>
    of(system, location).map(({ handler, args }) => ({ handler, args }));
  expect(calls("central", "near")).toEqual(calls("radical", "near").slice(0, 1_000));
  expect(calls("radical", "far")).not.toEqual(calls("radical", "near"));
  const looks = calls("radical", "near").filter(({ handler }) => handler === "look");
  expect(looks.length / 2_000).toBeCloseTo(0.75, 1);
});
