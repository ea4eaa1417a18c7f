/** What the driver does with faults of ours; the rest of it is seen at locations, in `e2e`. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Answer, Effect, ExecutionEvent } from "./core/effects.ts";
import type { Execution } from "./core/execution.ts";
import { drive, type Surroundings } from "./driver.ts";

const ANSWER: Answer = { kind: "failed", code: "internal_error", message: "", hint: "", retryAfterMs: null };

/** An execution of which the first step has these effects, and a cache that breaks every put. */
function driven(
  effects: readonly Effect[],
  getMany: () => Promise<unknown> = () => Promise.reject(new Error("broken too")),
): { readonly run: ReturnType<typeof drive>; readonly faults: unknown[] } {
  const faults: unknown[] = [];
  const step = ({ kind }: ExecutionEvent): readonly Effect[] => (kind === "started" ? effects : []);
  const surroundings = {
    cache: { putMany: () => Promise.reject(new Error("broken")), getMany },
    failpoint: null,
    timings: { add: () => undefined },
    now: () => 0,
    fault: (error: unknown) => faults.push(error),
  };
  return { run: drive({ step } as unknown as Execution, surroundings as unknown as Surroundings), faults };
}

const put: Effect = { kind: "put", entries: [] };

test("a fault before the answer is the answer", async () => {
  const { run, faults } = driven([put]);
  await expect(run.answered).rejects.toThrow("broken");
  await run.finished;
  expect(faults).toEqual([]);
});

test("a fault after the answer is told: nobody waits for it", async () => {
  const { run, faults } = driven([{ kind: "answer", answer: ANSWER }, put]);
  expect(await run.answered).toBe(ANSWER);
  await run.finished;
  expect(faults).toEqual([new Error("broken")]);
});

test("of two faults one is the answer, the other is told", async () => {
  const { run, faults } = driven([put, { kind: "fetch", units: [] }]);
  await expect(run.answered).rejects.toThrow("broken");
  await run.finished;
  expect(faults).toEqual([new Error("broken too")]);
});

test("a fault does not end what else is under way", async () => {
  let isDone = false;
  const { run, faults } = driven([{ kind: "answer", answer: ANSWER }, put, { kind: "fetch", units: [] }], async () => {
    for (let turns = 0; turns < 10; turns++) await turn();
    isDone = true;
    return new Map();
  });
  await run.finished;
  expect([faults, isDone]).toEqual([[new Error("broken")], true]);
});
