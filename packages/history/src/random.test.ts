import { describe, expect, test } from "vitest";
import { Random } from "./random.ts";

const DRAWS = 20_000;

function counts(draw: () => number, kinds: number): readonly number[] {
  const found = Array.from({ length: kinds }, () => 0);
  for (let i = 0; i < DRAWS; i++) found[draw()]!++;
  return found;
}

function first(random: Random): readonly number[] {
  return Array.from({ length: 10 }, () => random.next());
}

test("a seed gives the same draws again", () => {
  expect(first(new Random(1))).toEqual(first(new Random(1)));
  expect(first(new Random(1))).not.toEqual(first(new Random(2)));
});

test("the draws of seed 1 are those that recorded histories rest on", () => {
  const random = new Random(1);
  expect([random.next(), random.next(), random.next()]).toEqual([393_288_148, 2_174_103_013, 3_814_759_091]);
});

test("names give draws of their own, whatever else was drawn", () => {
  const random = new Random(7);
  const before = first(random.fork("a"));
  random.next();
  expect(first(random.fork("a"))).toEqual(before);
  expect(first(random.fork("b"))).not.toEqual(before);
  expect(first(new Random(8).fork("a"))).not.toEqual(before);
  expect(first(random.fork("a").fork("b"))).not.toEqual(first(random.fork("ab")));
});

test("ten thousand names give ten thousand different generators", () => {
  const random = new Random(3);
  expect(new Set(Array.from({ length: 10_000 }, (_, index) => random.fork(`run ${index}`).next())).size).toBe(10_000);
});

describe("by Zipf's law", () => {
  test("the k-th number is drawn in proportion to k to the power of −exponent", () => {
    const random = new Random(1, 0.99);
    const found = counts(() => random.zipf(50), 50);
    const weights = Array.from({ length: 50 }, (_, index) => (index + 1) ** -0.99);
    const sum = weights.reduce((all, weight) => all + weight, 0);
    for (const place of [0, 1, 5, 20])
      expect(Math.abs(found[place]! / DRAWS - weights[place]! / sum)).toBeLessThan(0.01);
    expect(found.every((count) => count > 0)).toBe(true);
  });

  test("with exponent 0 each number is as likely", () => {
    const random = new Random(2, 0);
    for (const count of counts(() => random.zipf(10), 10)) expect(Math.abs(count / DRAWS - 0.1)).toBeLessThan(0.01);
  });
});

test("weights", () => {
  const random = new Random(3);
  const found = counts(() => random.weighted([80, 15, 5]), 3);
  for (const [place, share] of [0.8, 0.15, 0.05].entries())
    expect(Math.abs(found[place]! / DRAWS - share)).toBeLessThan(0.01);
});

test("some of a list are each there once, in any order", () => {
  const random = new Random(1);
  const orders = new Set(Array.from({ length: 100 }, () => random.some([1, 2, 3], 3).join("")));
  expect(orders.size).toBe(6);
  expect(random.some([1, 2, 3], 2)).toHaveLength(2);
});

test("an empty list can't be picked from", () => {
  expect(() => new Random(1).pick([])).toThrow(RangeError);
});
