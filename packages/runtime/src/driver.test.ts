/** Faults of ours in the driver of a location, and its end. The simulation and the tests in `e2e` show the rest. */
import { expect, test } from "vitest";
import type { Answer, Effect, ExecutionEvent } from "./core/effects.ts";
import { ExecutionDriver, type ExecutionPorts, type Settled } from "./driver.ts";

const ANSWER: Answer = { kind: "failed", code: "internal_error", message: "", hint: "", retryAfterMs: null };
const put: Effect = { kind: "put", entries: [] };
const fetch: Effect = { kind: "fetch", units: [] };
const answer: Effect = { kind: "answer", answer: ANSWER };

/** An execution that wants these effects first, over ports that settle nothing by themselves. */
function driven(effects: readonly Effect[], more: Partial<ExecutionPorts> = {}) {
  const told: unknown[] = [];
  const open: Settled<never>[] = [];
  const heard: ExecutionEvent["kind"][] = [];
  const ports = {
    now: () => 0,
    getMany: (_units: unknown, settled: Settled<never>) => open.push(settled),
    putMany: (_entries: unknown, settled: Settled<never>) => open.push(settled),
    answer: (_answer: Answer, _verdict: unknown, settled: Settled<void>) => {
      told.push("answer");
      settled.done();
    },
    failed: (error: unknown, isAnswer: boolean) => told.push([error, isAnswer]),
    finished: () => told.push("finished"),
    endsBeforeEvent: () => false,
    endsBeforeEffect: () => false,
    ...more,
  } as unknown as ExecutionPorts;
  const step = ({ kind }: ExecutionEvent): readonly Effect[] => {
    heard.push(kind);
    return kind === "started" ? effects : [];
  };
  const driver = new ExecutionDriver({ step, answered: false }, ports);
  driver.start();
  return { told, open, heard, driver };
}

test("a fault before the answer is the answer", () => {
  const { told, open } = driven([put]);
  open[0]!.failed("broken");
  expect(told).toEqual([["broken", true], "finished"]);
});

test("a fault after the answer is told: nobody waits for it", () => {
  const { told, open } = driven([answer, put]);
  open[0]!.failed("broken");
  expect(told).toEqual(["answer", ["broken", false], "finished"]);
});

test("of two faults one is the answer, the other is told, and neither ends what else is under way", () => {
  const { told, open, heard } = driven([put, put, fetch]);
  open[0]!.failed("broken");
  open[1]!.failed("broken too");
  expect(told).toEqual([
    ["broken", true],
    ["broken too", false],
  ]);
  open[2]!.done(new Map() as never);
  expect(heard).toEqual(["started", "fetched"]);
  expect(told.at(-1)).toBe("finished");
});

test("a port that throws is a fault, and the effects after it are carried out", () => {
  const error = new Error("broken");
  const { told } = driven([put, answer], {
    putMany: () => {
      throw error;
    },
  });
  expect(told.slice(0, 2)).toEqual([[error, true], "answer"]);
});

test("at the end of a location nothing more is carried out or heard, and nothing is finished", () => {
  const { told, open, heard } = driven([fetch, put, answer], { endsBeforeEffect: ({ kind }) => kind === "put" });
  expect(open).toHaveLength(1);
  open[0]!.done(new Map() as never);
  expect([heard, told]).toEqual([["started"], []]);

  const killed = driven([fetch]);
  killed.driver.end();
  killed.open[0]!.done(new Map() as never);
  expect([killed.heard, killed.told]).toEqual([["started"], []]);
});
