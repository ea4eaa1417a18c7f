import { expect, test } from "vitest";
import { type Budget, Budgets } from "./budgets.ts";

const BUDGET: Budget = { executions: 2, units: 10, bytes: 1_000, workers: 0.5, burstMs: 1_000 };
const ALL_BYTES = 1_500;
const SMALL = { units: 1, bytes: 10 };

test("each budget is told when it is used up, and is free again when executions end", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  budgets.begin("va", SMALL, 0);
  expect(budgets.excess("va", { units: 10, bytes: 0 })?.words).toMatch(/1 units held .* wants 10 more; at most 10/);
  expect(budgets.excess("va", { units: 9, bytes: 991 })?.words).toMatch(/10 bytes under way.*991; at most 1000/);
  expect(budgets.excess("va", { units: 9, bytes: 990 })).toBe(null);
  budgets.begin("va", SMALL, 0);
  expect(budgets.excess("va", SMALL)).toMatchObject({ words: expect.stringMatching(/2 executions/) as string });
  expect(budgets.excess("jp", { units: 10, bytes: 1_000 })).toBe(null);
  budgets.end("va", SMALL, 0);
  expect(budgets.excess("va", SMALL)).toBe(null);
});

test("an execution that needs more units than it asked for", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  budgets.begin("va", SMALL, 0);
  expect(budgets.excessOfUnits("va", 10)).not.toBe(null);
  budgets.grow("va", 9);
  expect(budgets.excessOfUnits("va", 1)).not.toBe(null);
  budgets.end("va", { units: 10, bytes: 10 }, 0);
  expect(budgets.excess("va", { units: 10, bytes: 0 })).toBe(null);
});

test("run time leaks out at the rate of the share, and the hint says when", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  budgets.ran("va", 500, 0);
  expect(budgets.excessOfRuns("va", 0)).toBe(null);
  budgets.ran("va", 200, 0);
  const excess = budgets.excessOfRuns("va", 0)!;
  expect(excess.retryAfterMs).toBe(400);
  expect(budgets.excessOfRuns("va", 399)).not.toBe(null);
  expect(budgets.excessOfRuns("va", 400)).toBe(null);
  expect(budgets.excessOfRuns("jp", 0)).toBe(null);
});

test("a location that uses its share and no more is never refused", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  for (let nowMs = 0; nowMs < 100_000; nowMs += 100) {
    budgets.ran("va", 50, nowMs);
    expect(budgets.excessOfRuns("va", nowMs)).toBe(null);
  }
});

test("nothing is known of a location that uses nothing, however many there were", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  budgets.begin("va", SMALL, 0);
  budgets.end("va", SMALL, 0);
  expect(budgets.size).toBe(0);
  for (let i = 0; i < 5_000; i++) {
    budgets.begin(`location ${i}`, SMALL, i * 100);
    budgets.ran(`location ${i}`, 10, i * 100);
    budgets.end(`location ${i}`, SMALL, i * 100);
  }
  expect(budgets.size).toBeLessThanOrEqual(1_000);
});

test("all locations together have a bound of bytes", () => {
  const budgets = new Budgets(BUDGET, ALL_BYTES);
  const large = { units: 1, bytes: 700 };
  budgets.begin("va", large, 0);
  budgets.begin("jp", large, 0);
  expect(budgets.excess("ie", { units: 1, bytes: 101 })).toEqual({
    words: "Requests of 1400 bytes are under way, and this one has 101; at most 1500.",
    retryAfterMs: 1_000,
  });
  expect(budgets.excess("ie", { units: 1, bytes: 100 })).toBe(null);
  budgets.end("va", large, 0);
  expect(budgets.excess("ie", large)).toBe(null);
});
