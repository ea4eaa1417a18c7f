import fc from "fast-check";
import { expect, test } from "vitest";
import { quantileOf } from "./quantile.ts";

const BOUNDS = [1, 2, 5];

test("a quantile lies in its bucket, as far as its part of it", () => {
  expect(quantileOf(BOUNDS, [0, 0, 0, 0], 0.5)).toBe(null);
  expect(quantileOf(BOUNDS, [4, 0, 0, 0], 0.5)).toBe(0.5);
  expect(quantileOf(BOUNDS, [0, 4, 0, 0], 1)).toBe(2);
  expect(quantileOf(BOUNDS, [50, 0, 50, 0], 0.99)).toBeCloseTo(4.94);
  // Above all bounds nothing is known but that.
  expect(quantileOf(BOUNDS, [1, 0, 0, 99], 0.99)).toBe(5);
});

test("it is in the bucket of the observation with that rank", () => {
  const values = fc.array(fc.double({ min: 0.001, max: 4.999, noNaN: true }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(values, fc.double({ min: 0.01, max: 1, noNaN: true }), (observed, part) => {
      const bucketOf = (value: number): number => BOUNDS.findIndex((bound) => value <= bound);
      const counts = BOUNDS.map((_, at) => observed.filter((value) => bucketOf(value) === at).length);
      const ranked = observed.toSorted((a, b) => a - b);
      const exact = ranked[Math.max(0, Math.ceil(part * observed.length - 1e-9) - 1)]!;
      const found = quantileOf(BOUNDS, [...counts, 0], part)!;
      const at = bucketOf(exact);
      expect(found).toBeGreaterThanOrEqual(BOUNDS[at - 1] ?? 0);
      expect(found).toBeLessThanOrEqual(BOUNDS[at]!);
    }),
  );
});
