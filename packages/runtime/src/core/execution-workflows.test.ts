/** Executions that start workflows: the primary does all, and may answer before the workflow has ended. */
import {
  commitId,
  type ExecutionId,
  type LviAnswer,
  type LviRequest,
  type ModuleHash,
  type Outcome,
} from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Effect } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionInput } from "./execution.ts";

const ID = "8123456789abcdef0123456789abcdef" as ExecutionId;
const INPUT: ExecutionInput = {
  executionId: ID,
  module: "ab".repeat(32) as ModuleHash,
  handler: "buy",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_000, seed: new Uint8Array(16), caller: "ann" },
  location: "JP",
  plan: "workflow",
  retained: false,
  repeatKey: `execution-${ID}`,
  mustNotWrite: false,
  mayEffect: true,
  prefersSpeculative: false,
  speculative: false,
  waitMs: 10_000,
  watches: false,
  takesLeases: true,
  undeclaredTables: [],
};
const outcome: Outcome = { kind: "result", value: Uint8Array.of(0x61, 0x61) };
const times = { receivedAtMs: 0, sentAtMs: 0 };
const working: LviAnswer = { kind: "working", workflow: ID, state: "waiting", retryAfterMs: 5_000 };

function sentBy(effects: readonly Effect[]): { readonly request: LviRequest; readonly timeoutMs: number } {
  const [effect] = effects;
  if (effects.length !== 1 || effect?.kind !== "send") throw new Error(JSON.stringify(effects.map(({ kind }) => kind)));
  return effect;
}

function started(input: Partial<ExecutionInput> = {}): [execution: Execution, sent: ReturnType<typeof sentBy>] {
  const execution = new Execution({ ...INPUT, ...input });
  return [execution, sentBy(execution.step({ kind: "started", atMs: 0 }))];
}

function answerTo(execution: Execution, answer: LviAnswer): readonly Effect[] {
  return execution.step({ kind: "replied", reply: { ...answer, asOf: commitId(1, 1) }, atMs: 5 });
}

test("its request has no set, says how long it may wait, and its outcome is kept", () => {
  const [, { request, timeoutMs }] = started();
  expect(request).toMatchObject({ units: null, lanes: [], waitMs: 10_000, retained: true, mayEffect: true });
  expect(request.deadlineMs).toBe(DEFAULT_BOUNDS.totalMs + 10_000);
  expect(timeoutMs).toBe(DEFAULT_BOUNDS.attemptMs + 10_000);
  expect(started({ waitMs: 0 })[1].request.waitMs).toBeUndefined();
});

test("is answered with its outcome if it has ended by then", () => {
  const [execution] = started();
  const answer: LviAnswer = { kind: "executed", cause: "requested", outcome, repairs: [], times };
  expect(answerTo(execution, answer)).toEqual([
    { kind: "answer", answer: { kind: "outcome", outcome, path: "near-storage", reason: "plan" } },
  ]);
  expect(execution.answered).toBe(true);
});

test("is answered with its state if not, and nothing is left to do", () => {
  const [execution] = started();
  expect(answerTo(execution, working)).toEqual([
    { kind: "answer", answer: { kind: "working", workflow: ID, state: "waiting", retryAfterMs: 5_000 } },
  ]);
  expect(execution.phase).toEqual({ kind: "ended" });
});

test("a sending after one without an answer waits for what is left of the time", () => {
  const [execution, { request }] = started();
  const totalMs = DEFAULT_BOUNDS.totalMs + 10_000;
  const at = totalMs - DEFAULT_BOUNDS.attemptMs - 3_000;
  expect(execution.step({ kind: "unanswered", reason: "lost", atMs: at })).toContainEqual(
    expect.objectContaining({ kind: "wait", before: "lvi" }),
  );
  const again = sentBy(execution.step({ kind: "waited", before: "lvi", atMs: at + 1_000 }));
  expect(again.request).toMatchObject({ executionId: request.executionId, attempt: 2, waitMs: 2_000 });
  expect(at + 1_000 + again.timeoutMs).toBeLessThanOrEqual(totalMs);
});

describe("an answer that can't be", () => {
  test.each<[string, Partial<ExecutionInput>, LviAnswer]>([
    ["works at another workflow", {}, { ...working, workflow: "0".repeat(32) as ExecutionId }],
    ["works at a handler that is none", { plan: "near-storage" }, working],
    [
      "does not know what it is to start",
      {},
      { kind: "refused", code: "unknown_workflow", message: "no", retryAfterMs: null },
    ],
  ])("%s", (_what, input, answer) => {
    const [execution] = started(input);
    expect(answerTo(execution, answer)).toMatchObject([
      { kind: "warn", code: "impossible_reply" },
      { kind: "answer", answer: { kind: "failed", code: "internal_error" } },
    ]);
  });
});
