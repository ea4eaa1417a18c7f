import { beforeEach, describe, expect, test } from "vitest";
import { type ExecutionId, type SessionId, sessionId } from "@radical/protocol";
import type { Fact } from "./core/events.ts";
import type { Task } from "./core/task.ts";
import { Facts } from "./facts.ts";

const SECOND = 1_000;
const operation = (id: number): Fact => ({ kind: "operation", operation: id });
const ONE = sessionId(1, 1);
const TWO = sessionId(1, 2);
const heard = (session: SessionId, n: number): Fact => ({ kind: "heard", session, n });
const passed = (atMs: number): Fact => ({ kind: "passed", atMs });

let facts: Facts;

beforeEach(() => {
  facts = new Facts();
});

test("an effect that has waited for nothing may go", () => {
  expect(() => facts.require([], 0)).not.toThrow();
});

describe("an operation", () => {
  test("that has not succeeded holds its effect back, and so does another one's success", () => {
    expect(() => facts.require([operation(1)], 0)).toThrow("An effect leaves before operation 1 has succeeded.");
    facts.succeeded(2);
    expect(() => facts.require([operation(1)], 0)).toThrow("operation 1");
  });

  test("that has succeeded is known to all effects of the step that name it, and to none of a later step", () => {
    facts.succeeded(1);
    facts.require([operation(1)], 0);
    facts.require([operation(1)], 0);
    facts.endStep();
    expect(facts.size).toBe(0);
    expect(() => facts.require([operation(1)], 0)).toThrow("operation 1");
  });

  test("that no effect names is remembered from step to step, however long the core puts its answer off", () => {
    facts.succeeded(1);
    facts.endStep();
    expect(() => facts.require([operation(1)], 24 * 3600 * SECOND)).not.toThrow();
  });

  test("that lasts is known for good, whoever names it", () => {
    facts.lasts(1);
    for (let step = 0; step < 3; step++) {
      facts.require([operation(1)], 0);
      facts.endStep();
    }
    expect(() => facts.require([operation(2)], 0)).toThrow("operation 2");
  });

  test("that no effect names is remembered in bounded memory", () => {
    for (let id = 1; id <= 200_000; id++) facts.succeeded(id);
    expect(facts.size).toBe(100_000);
    facts.require([operation(100_001)], 0);
    expect(() => facts.require([operation(100_000)], 0)).toThrow("operation 100000");
  });
});

describe("a message", () => {
  test("that its session has not heard holds the effect back; a later one that it has heard lets it go", () => {
    expect(() => facts.require([heard(ONE, 1)], 0)).toThrow("session 1.1 has heard message 1");
    facts.heard(ONE, 3);
    facts.require([heard(ONE, 3)], 0);
    facts.require([heard(ONE, 2)], 0);
    expect(() => facts.require([heard(ONE, 4)], 0)).toThrow("message 4");
    expect(() => facts.require([heard(TWO, 1)], 0)).toThrow("session 1.2");
  });

  test("stays heard when an earlier one is heard again, and when its session is over, until many others are", () => {
    facts.heard(ONE, 3);
    facts.heard(ONE, 1);
    facts.require([heard(ONE, 3)], 0);
    facts.forget(ONE);
    facts.require([heard(ONE, 3)], 0);
    expect(() => facts.require([heard(ONE, 4)], 0)).toThrow("message 4");
    facts.heard(ONE, 1);
    facts.forget(ONE);
    facts.require([heard(ONE, 3)], 0);
    for (let id = 10; id < 100_010; id++) {
      facts.heard(sessionId(1, id), 1);
      facts.forget(sessionId(1, id));
    }
    expect(() => facts.require([heard(ONE, 1)], 0)).toThrow("message 1");
  });
});

test("a time that has not come holds its effect back", () => {
  expect(() => facts.require([passed(10)], 9)).toThrow("the time 10 has passed");
  facts.require([passed(10)], 10);
});

test("one fact that is not true holds an effect back among others that are", () => {
  facts.succeeded(1);
  facts.heard(ONE, 1);
  const all = [operation(1), heard(ONE, 1), passed(5)];
  facts.require(all, 5);
  expect(() => facts.require(all, 4)).toThrow("the time 5");
  expect(() => facts.require([...all, operation(2)], 5)).toThrow("operation 2");
});

describe("the mark of a task", () => {
  const task = { id: "8".repeat(32) as ExecutionId, attempt: 1, sentAtMs: null } as Task;
  const marked = (sentAtMs: number): Fact => ({ kind: "marked", task: task.id, sentAtMs });

  test("is true when storage has it, and an answer from before does not take it away", () => {
    facts.owes(task);
    expect(() => facts.require([marked(500)], 0)).toThrow("has the mark of task");
    facts.owes({ ...task, sentAtMs: 500 });
    facts.owes(task);
    facts.owes({ ...task, attempt: 0 });
    facts.require([marked(500)], 0);
    expect(() => facts.require([marked(400)], 0)).toThrow("400");
  });

  test("goes with a later record, and with the task", () => {
    facts.owes({ ...task, sentAtMs: 500 });
    facts.owes({ ...task, attempt: 2 });
    expect(() => facts.require([marked(500)], 0)).toThrow("500");
    facts.owes({ ...task, attempt: 3, sentAtMs: 600 });
    facts.owesNoMore(task.id);
    expect(() => facts.require([marked(600)], 0)).toThrow("600");
  });
});

describe("the records of tasks", () => {
  const taskOf = (number: number): Task => ({
    ...({ attempt: 0, sentAtMs: null } as Task),
    id: `8${number.toString(16).padStart(31, "0")}` as ExecutionId,
  });
  const owed = ({ id }: Task): Fact => ({ kind: "owed", task: id, attempt: 0 });

  test("of a later attempt are enough for an earlier one: the server that leads by now has stored it", () => {
    facts.owes(taskOf(1));
    // A read tells so, before this server knows that it leads no more.
    facts.owes({ ...taskOf(1), attempt: 1 });
    facts.require([owed(taskOf(1))], 0);
    const next: Fact = { kind: "owed", task: taskOf(1).id, attempt: 2 };
    expect(() => facts.require([next], 0)).toThrow("storage owes attempt 3");
    facts.owesNoMore(taskOf(1).id);
    expect(() => facts.require([owed(taskOf(1))], 0)).toThrow("storage owes attempt 1");
  });

  test("that the core does not need go when there are many, and the others stay", () => {
    facts = new Facts(100);
    const isNeeded = (id: ExecutionId): boolean => id.endsWith("0");
    for (let n = 0; n < 10_000; n++) {
      facts.owes(taskOf(n));
      if (facts.hasManyOwed) facts.keepOwed(isNeeded);
    }
    // Twice as many as were needed when somebody looked.
    expect(facts.owed).toBeLessThanOrEqual(2 * 625);
    for (let n = 0; n < 10_000; n += 16) facts.require([owed(taskOf(n))], 0);
    facts.keepOwed(isNeeded);
    expect(() => facts.require([owed(taskOf(1))], 0)).toThrow("storage owes attempt 1, or a later one, of task");
  });
});

describe("a workflow", () => {
  const journaled = (workflow: ExecutionId, changes: number): Fact => ({ kind: "journaled", workflow, changes });
  const idOf = (number: number): ExecutionId => number.toString(16).padStart(32, "0") as ExecutionId;

  test("is remembered until it has ended, also if an older answer of storage brings it once more", () => {
    for (let number = 0; number < 1_000; number++) {
      facts.journaled(idOf(number), 1);
      facts.require([journaled(idOf(number), 1)], 0);
      facts.journalsNoMore(idOf(number));
    }
    // Storage was asked before they ended.
    const found = Array.from({ length: 1_001 }, (_, number) => ({ id: idOf(number), changes: 1 }));
    facts.foundOpen(found.slice(0, 500), false);
    facts.foundOpen(found.slice(500), true);
    expect(facts.journals).toBe(1);
    facts.require([journaled(idOf(1_000), 1)], 0);
    expect(() => facts.require([journaled(idOf(999), 1)], 0)).toThrow("change 1 of workflow");
    facts.journalsNoMore(idOf(1_000));
    expect(facts.journals).toBe(0);
  });
});
