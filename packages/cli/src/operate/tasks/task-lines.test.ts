import type { ExecutionId, ListedTask, ModuleHash } from "@radical/protocol";
import { expect, test } from "vitest";
import { describeTask, linesOfTasks } from "./task-lines.ts";

const TASK: ListedTask = {
  id: "a".repeat(32) as ExecutionId,
  handler: "refund",
  state: "delayed",
  lane: null,
  createdAtMs: 0,
  dueMs: 1_000,
  attempts: 3,
  failures: 3,
  mostFailures: 12,
  parent: "c".repeat(32) as ExecutionId,
  module: "b".repeat(64) as ModuleHash,
  error: null,
  argumentBytes: 1,
};

test("failures of a task have a limit, and those of an undo have none", () => {
  const lines = linesOfTasks([TASK, { ...TASK, mostFailures: null }], 0);
  expect(lines[1]).toContain(" refund   3/12 ");
  expect(lines[2]).toContain(" refund   3  ");
  expect(describeTask(TASK, 0).join("\n")).toContain("3, 3 of 12 failures before it is dead");
  const undo = describeTask({ ...TASK, mostFailures: null }, 0).join("\n");
  expect(undo).toContain("3, 3 failures. It undoes, so it is tried until it is done");
});
