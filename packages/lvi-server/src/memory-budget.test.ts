import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
import { type MemoryBudget, memoryBudget, MemoryBudgetError, processMemory } from "./memory-budget.ts";

const MB = 1_048_576;

/** A plain sum of what the process may keep at once, made without the code that divides. */
function sumOf(budget: MemoryBudget): number {
  const { hotBytes, finishedBytes, requestBytes, taskBytes, laneBytes, receivingBytes, unreadBytes } = budget;
  const threads = budget.workers * 2 + 1;
  return (
    128 * MB +
    // Questions of listeners.
    110_000 * 72 +
    hotBytes +
    finishedBytes +
    requestBytes +
    taskBytes +
    laneBytes +
    receivingBytes +
    unreadBytes +
    threads * (64 * MB + budget.heapBytes + budget.sentBytes)
  );
}

function divided(mb: number, wishes: Partial<Parameters<typeof memoryBudget>[1]> = {}): MemoryBudget {
  return memoryBudget(
    { bytes: mb * MB, origin: "option" },
    { workers: null, coreWorkers: 2, locationBytes: null, ...wishes },
  );
}

test("the sum of all bounds is within three quarters of the budget, or the budget is refused", () => {
  const workers = fc.option(fc.integer({ min: 1, max: 64 }));
  const locationBytes = fc.option(fc.integer({ min: 1_000_000, max: 2_000 * MB }));
  let refused = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 256, max: 65_536 }),
      fc.integer({ min: 2, max: 127 }),
      workers,
      locationBytes,
      (mb, coreWorkers, given, location) => {
        let budget: MemoryBudget;
        try {
          budget = divided(mb, { coreWorkers, workers: given, locationBytes: location });
        } catch (error) {
          expect(error).toBeInstanceOf(MemoryBudgetError);
          // Never without a wish that is too large.
          expect(mb < 700 || given !== null || location !== null).toBe(true);
          refused++;
          return;
        }
        expect(sumOf(budget)).toBeLessThanOrEqual(0.75 * mb * MB);
        expect(budget.boundBytes).toBe(sumOf(budget));
        // Decisions of the operator win.
        if (given !== null) expect(budget.workers).toBe(given);
        if (location !== null) expect(budget.locationBytes).toBe(location);
        expect(budget.locationBytes).toBeLessThanOrEqual(budget.requestBytes);
        for (const value of Object.values(budget)) expect(value).toBeGreaterThan(0);
      },
    ),
    { numRuns: 2_000 },
  );
  expect(refused).toBeGreaterThan(0);
});

test("with more memory no bound is smaller", () => {
  let before = divided(700, { workers: 1 });
  for (let mb = 700; mb <= 8_192; mb += 8) {
    const budget = divided(mb, { workers: 1 });
    for (const [name, value] of Object.entries(budget))
      expect(value).toBeGreaterThanOrEqual(before[name as keyof MemoryBudget]);
    before = budget;
  }
});

test.each([4_096, 16_384, 65_536])("where memory is plenty the defaults hold: %i MiB", (mb) => {
  const { location, tasks, hotBytes, finishedBytes, requestBytes } = DEFAULT_CORE_OPTIONS;
  expect(divided(mb)).toMatchObject({
    hotBytes,
    finishedBytes,
    requestBytes,
    locationBytes: location.bytes,
    taskBytes: tasks.mostBytes,
    laneBytes: tasks.laneBytes,
    receivingBytes: 256 * MB,
    unreadBytes: 256 * MB,
    sentBytes: 32 * MB,
    workers: 2,
  });
});

test.each([
  [4_096, 184],
  [8_192, 512],
  [16_384, 512],
  [65_536, 512],
])("memory beyond the defaults goes to the heaps of workers, up to a bound: %i MiB", (mb, heapMb) => {
  expect(Math.floor(divided(mb).heapBytes / MB)).toBe(heapMb);
});

test("fewer workers where memory is short, and never less than one", () => {
  expect([divided(700).workers, divided(1_024).workers, divided(2_048).workers]).toEqual([1, 1, 2]);
  expect(divided(4_096, { coreWorkers: 63 }).workers).toBeLessThan(63);
  expect(divided(65_536, { coreWorkers: 63 }).workers).toBe(63);
});

test("the least memory with one worker: operations.md and the sizes at AWS rely on it", () => {
  expect(divided(699).workers).toBe(1);
  expect(() => divided(698)).toThrow("--memory-mb gives 698 MiB, and 699 MiB are needed with 1 worker.");
});

test("a budget that is too small says what it needs", () => {
  expect(() => divided(256)).toThrow(/^--memory-mb gives 256 MiB, and 6\d\d MiB are needed with 1 worker\. Give /);
  expect(() => divided(1_024, { workers: 16 })).toThrow(/are needed with 16 workers/);
});

test("the memory of the process is that of the option, or of its group, or of its machine", () => {
  expect(processMemory(7)).toEqual({ bytes: 7, origin: "option" });
  const { bytes, origin } = processMemory(null);
  expect(["control group", "machine"]).toContain(origin);
  expect(bytes).toBeGreaterThan(0);
});

/** The rows of the table for operators. */
const ROWS: readonly (readonly [name: string, bound: Exclude<keyof MemoryBudget, "boundBytes">])[] = [
  ["values and versions of items in memory", "hotBytes"],
  ["outcomes of done executions", "finishedBytes"],
  ["requests under way, of all locations", "requestBytes"],
  ["requests under way, of one location", "locationBytes"],
  ["arguments of tasks", "taskBytes"],
  ["arguments of tasks that wait in lanes", "laneBytes"],
  ["bodies that are being received", "receivingBytes"],
  ["updates and log that were not read", "unreadBytes"],
  ["values of a worker thread, between rounds", "sentBytes"],
  ["heap of a worker thread", "heapBytes"],
  ["workers, unless `--workers` says", "workers"],
];

test("the table for operators has the bounds", async () => {
  const page = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  for (const [name, bound] of ROWS) {
    const values = [700, 1_024, 2_048, 4_096, 8_192].map((mb) => {
      const value = divided(mb)[bound];
      return bound === "workers" ? value : Math.floor(value / MB);
    });
    expect(page).toContain(`| ${name} | ${values.join(" | ")} |`);
  }
});
