import { expect, test } from "vitest";
import { Draw } from "./random.ts";

const DRAWS = 20_000;

function counts(draw: () => number, kinds: number): readonly number[] {
  const found = Array.from({ length: kinds }, () => 0);
  for (let i = 0; i < DRAWS; i++) found[draw()]!++;
  return found;
}

test("by Zipf's law: the k-th is drawn in proportion to k to the power of −exponent", () => {
  const draw = new Draw(1, 0.99);
  const found = counts(() => draw.zipf(50), 50);
  const weights = Array.from({ length: 50 }, (_, index) => (index + 1) ** -0.99);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  for (const place of [0, 1, 5, 20]) expect(Math.abs(found[place]! / DRAWS - weights[place]! / sum)).toBeLessThan(0.01);
  expect(found.every((count) => count > 0)).toBe(true);
});

test("with exponent 0 all are as likely", () => {
  const draw = new Draw(2, 0);
  for (const count of counts(() => draw.zipf(10), 10)) expect(Math.abs(count / DRAWS - 0.1)).toBeLessThan(0.01);
});

test("weights", () => {
  const draw = new Draw(3, 0);
  const found = counts(() => draw.weighted([80, 15, 5]), 3);
  for (const [place, share] of [0.8, 0.15, 0.05].entries())
    expect(Math.abs(found[place]! / DRAWS - share)).toBeLessThan(0.01);
});

test("a seed gives the same again; names give draws of their own, whatever else was drawn", () => {
  const first = new Draw(7, 1);
  const numbers = Array.from({ length: 5 }, () => first.unit());
  const again = new Draw(7, 1);
  expect(Array.from({ length: 5 }, () => again.unit())).toEqual(numbers);
  const [a, b] = [new Draw(7, 1).fork("a"), new Draw(7, 1).fork("b")];
  expect(a.unit()).not.toBe(b.unit());
  expect(new Draw(8, 1).unit()).not.toBe(numbers[0]);
});
