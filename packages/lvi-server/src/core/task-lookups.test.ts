import type { ExecutionId, ModuleHash } from "@radical/protocol";
import { expect, test } from "vitest";
import type { Task } from "./task.ts";
import { TaskLookups } from "./task-lookups.ts";

const ID = "f".repeat(32) as ExecutionId;
const TASK: Task = {
  id: ID,
  handler: "tell",
  args: new Uint8Array(),
  seed: new Uint8Array(16),
  caller: null,
  parent: "0".repeat(32) as ExecutionId,
  module: "a".repeat(64) as ModuleHash,
  lane: null,
  place: "",
  createdAtMs: 0,
  dueMs: 0,
  attempt: 0,
  failures: 0,
  sentAtMs: null,
  state: "open",
  error: null,
};

test("storage is asked once for a task that several want, and again if it has failed", () => {
  const lookups = new TaskLookups<string>();
  expect([lookups.find(ID, "a"), lookups.find(ID, "b")]).toEqual([undefined, undefined]);
  const [first, ...others] = lookups.takeQuestions();
  expect([first, others, lookups.takeQuestions()]).toEqual([{ kind: "task", id: ID }, [], []]);
  lookups.failed(first!);
  const [second] = lookups.takeQuestions();
  lookups.answered(second!, TASK, false);
  expect([lookups.find(ID, "a"), lookups.find(ID, "b")]).toEqual([TASK, TASK]);
});

test("a task that its parent brings is not known by an answer, and storage is not asked for it again", () => {
  const lookups = new TaskLookups<string>();
  lookups.find(ID, "a");
  lookups.answered(lookups.takeQuestions()[0]!, TASK, true);
  expect([lookups.find(ID, "a"), lookups.find(ID, "b")]).toEqual([undefined, undefined]);
  for (let step = 0; step < 100; step++) expect(lookups.takeQuestions()).toEqual([]);
  lookups.changed(ID, TASK);
  expect([lookups.find(ID, "a"), lookups.find(ID, "b")]).toEqual([TASK, TASK]);
  lookups.changed(ID, null);
  expect(lookups.find(ID, "a")).toBe(null);
  // Nobody wants it any more: whoever comes later asks anew.
  for (const owner of ["a", "b"]) lookups.ended(owner);
  lookups.find(ID, "c");
  expect(lookups.takeQuestions().length).toBe(1);
});

test("a task has changed while storage looked: the older answer does not count", () => {
  const lookups = new TaskLookups<string>();
  lookups.find(ID, "a");
  const [question] = lookups.takeQuestions();
  lookups.changed(ID, null);
  lookups.answered(question!, TASK, false);
  expect(lookups.find(ID, "a")).toBe(null);
});

/** The simulation has found it: two executions that cancel one task, and answers that overtake each other. */
test("an answer to an earlier question says nothing to whoever has asked later", () => {
  const lookups = new TaskLookups<string>();
  lookups.find(ID, "a");
  const [earlier] = lookups.takeQuestions();
  lookups.changed(ID, null);
  lookups.ended("a");
  expect(lookups.find(ID, "b")).toBe(undefined);
  const [later] = lookups.takeQuestions();
  lookups.answered(earlier!, TASK, false);
  expect(lookups.find(ID, "b")).toBe(undefined);
  lookups.answered(later!, null, false);
  expect(lookups.find(ID, "b")).toBe(null);
});
