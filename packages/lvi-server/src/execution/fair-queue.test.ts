import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

test("locations take turns, and each is served in order", () => {
  const queue = new FairQueue<string>();
  for (const name of ["a1", "a2", "a3", "b1", "a4", "b2", "c1"]) queue.push(name[0]!, name);
  expect(queue.size).toBe(7);
  const order = Array.from({ length: 7 }, () => queue.shift());
  expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  expect([queue.shift(), queue.size]).toEqual([undefined, 0]);
});

test("who comes while others wait is next after one turn of each", () => {
  const queue = new FairQueue<string>();
  for (let i = 0; i < 100; i++) queue.push("a", `a${i}`);
  expect(queue.shift()).toBe("a0");
  queue.push("b", "b0");
  expect([queue.shift(), queue.shift()]).toEqual(["a1", "b0"]);
});

test("a line that has enough waits for all others, and goes on when there are none", () => {
  const queue = new FairQueue<string>();
  for (const name of ["t1", "t2", "a1", "a2", "b1"]) queue.push(name[0]!, name);
  const shift = (): string | undefined => queue.shift((location) => location === "t");
  expect([shift(), shift(), shift()]).toEqual(["a1", "b1", "a2"]);
  queue.push("b", "b2");
  expect([shift(), shift(), shift(), shift()]).toEqual(["b2", "t1", "t2", undefined]);
});
