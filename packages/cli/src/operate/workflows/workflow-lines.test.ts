import type { ExecutionId, ModuleHash, ShownCommand, WorkflowHistory } from "@radical/protocol";
import { expect, test } from "vitest";
import { describeWorkflow } from "./workflow-lines.ts";

function historyOf(commands: readonly ShownCommand[]): WorkflowHistory {
  const workflow = {
    id: "a".repeat(32) as ExecutionId,
    handler: "buy",
    state: "undoing",
    module: "b".repeat(64) as ModuleHash,
    createdAtMs: 0,
    untilMs: null,
    round: 0,
    entries: 1,
    bytes: 10,
    parent: null,
    error: null,
    endedAtMs: null,
  } as const;
  const entries = [{ timeMs: 0, arrivals: [], commands, wait: null }];
  return { workflow, timeMs: 0, entries, arrived: [] };
}

test("a call that has not ended shows its attempts, and what the last one has failed with", () => {
  const error = { code: "down", message: "The bank is closed." };
  const lines = describeWorkflow(
    historyOf([
      { number: 0, kind: "start", name: "hold" },
      { number: 1, kind: "undo", name: "release", attempts: { state: "delayed", failures: 7, error } },
      { number: 2, kind: "start", name: "charge", attempts: { state: "running", failures: 0, error: null } },
      { number: 3, kind: "start", name: "mail", attempts: { state: "ready", failures: 1, error } },
    ]),
  );
  expect(lines.filter((line) => line.includes("→"))).toEqual([
    "  → 0 start hold",
    "  → 1 undo release  (delayed, has failed 7 times: down: The bank is closed.)",
    "  → 2 start charge  (running)",
    "  → 3 start mail  (ready, has failed once: down: The bank is closed.)",
  ]);
});
