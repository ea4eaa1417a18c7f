import { expect, test } from "vitest";
import { Random } from "@radical/history";
import { differenceOfMedians, statisticsOf } from "./statistics.ts";

test("quantiles by the nearest rank", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(statisticsOf(hundred)).toEqual({
    samples: 100,
    meanMs: 50.5,
    p5Ms: 5,
    p25Ms: 25,
    p50Ms: 50,
    p75Ms: 75,
    p90Ms: 90,
    p95Ms: 95,
    p99Ms: 99,
    p50LowMs: 40,
    p50HighMs: 61,
  });
  expect(statisticsOf([3]).p99Ms).toBe(3);
  expect(statisticsOf([])).toMatchObject({ samples: 0, meanMs: null, p50Ms: null, p50LowMs: null });
});

test("the interval of a difference holds it", () => {
  const draw = new Random(1, 0);
  const a = Array.from({ length: 200 }, () => 20 + draw.unit());
  const b = Array.from({ length: 200 }, () => 15 + draw.unit());
  const { low, high } = differenceOfMedians(a, b, draw);
  expect(low).toBeGreaterThan(4.7);
  expect(low).toBeLessThan(5);
  expect(high).toBeGreaterThan(5);
  expect(high).toBeLessThan(5.3);
});
