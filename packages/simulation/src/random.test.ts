import { expect, test } from "vitest";
import { Random } from "./random.ts";

test("a seed says everything", () => {
  const draw = (seed: number): readonly number[] => {
    const random = new Random(seed);
    return Array.from({ length: 10 }, () => random.next());
  };
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
});

test("zipf takes the first twice as often as the second, and each now and then", () => {
  const random = new Random(1);
  const counts = new Map<string, number>();
  for (let i = 0; i < 11_000; i++) {
    const each = random.zipf(["a", "b", "c"]);
    counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  expect(counts.get("a")! / 1_000).toBeCloseTo(6, 0);
  expect(counts.get("b")! / 1_000).toBeCloseTo(3, 0);
  expect(counts.get("c")! / 1_000).toBeCloseTo(2, 0);
});

test("some of a list are each there once, in any order", () => {
  const random = new Random(1);
  const orders = new Set(Array.from({ length: 100 }, () => random.some([1, 2, 3], 3).join("")));
  expect(orders.size).toBe(6);
  expect(random.some([1, 2, 3], 2)).toHaveLength(2);
});
