import { type ExecutionId, type ModuleHash, present } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Task } from "./task.ts";
import { type TaskAnswer, type TaskQuestion, TaskTable, type UnderWay } from "./task-table.ts";

const NOW = { nowMs: 1_000, wallMs: 1_700_000_000_000 };
const NOTHING: UnderWay = { inserts: () => false, changesTheNumber: false };

function taskOf(number: number, more: Partial<Task> = {}): Task {
  return {
    id: number.toString(16).padStart(32, "8") as ExecutionId,
    handler: "mail",
    args: new Uint8Array(),
    seed: new Uint8Array(16),
    caller: null,
    parent: number.toString(16).padStart(32, "0") as ExecutionId,
    module: "a".repeat(64) as ModuleHash,
    lane: null,
    place: `00000001-00000000000${number}-0000`,
    createdAtMs: NOW.wallMs,
    dueMs: NOW.wallMs - 100 + number,
    sentAtMs: null,
    attempt: 0,
    failures: 0,
    state: "open",
    error: null,
    ...more,
  };
}

/** A table that has asked storage for tasks that are due. */
function asking(): { readonly table: TaskTable<object>; readonly due: TaskQuestion } {
  const table = new TaskTable<object>({ most: 10, mostBytes: 1_000_000, page: 10, inLane: 4 }, () => null);
  const questions = table.takeQuestions(NOW);
  const due = present(
    questions.find(({ kind }) => kind === "due"),
    "a new table asks for tasks that are due",
  );
  for (const question of questions)
    if (question.kind === "heads") table.answered(question, { kind: "heads", tasks: [], next: null }, NOTHING, NOW);
  return { table, due };
}

function begun(table: TaskTable<object>): readonly ExecutionId[] {
  const ids: ExecutionId[] = [];
  table.pass(NOW);
  for (let task = table.next(() => true, NOW); task !== null; task = table.next(() => true, NOW)) ids.push(task.id);
  return ids;
}

const answerOf = (...tasks: readonly Task[]): TaskAnswer => ({ kind: "due", tasks, upTo: null });

describe("while storage is asked for tasks", () => {
  const task = taskOf(1);

  test("one that comes begins once, whether the answer has it or not", () => {
    for (const answer of [answerOf(), answerOf(task)]) {
      const { table, due } = asking();
      table.added(task, NOW);
      expect(begun(table)).toEqual([]);
      table.answered(due, answer, NOTHING, NOW);
      expect(begun(table)).toEqual([task.id]);
    }
  });

  test("one that was held and let go begins once", () => {
    const { table, due } = asking();
    table.added(task, NOW);
    table.hold(task);
    table.letGo(task.id, NOW);
    table.answered(due, answerOf(task), NOTHING, NOW);
    expect(begun(table)).toEqual([task.id]);
  });

  // Minimized: a canceller in a train that was not applied, which has cancelled the task in its next commit.
  test("one that was held, let go and then taken back does not begin", () => {
    const { table, due } = asking();
    table.added(task, NOW);
    table.hold(task);
    table.letGo(task.id, NOW);
    table.hold(task);
    table.settled(task, null, NOW);
    table.answered(due, answerOf(task), NOTHING, NOW);
    expect(begun(table)).toEqual([]);
  });

  test("an answer without the last tasks of its page does not end the search", () => {
    const { table, due } = asking();
    table.answered(due, { kind: "due", tasks: [], upTo: { dueMs: task.dueMs, id: task.id } }, NOTHING, NOW);
    const next = table.takeQuestions(NOW);
    expect(next).toMatchObject([{ kind: "due", after: { dueMs: task.dueMs, id: task.id } }]);
    table.answered(next[0]!, answerOf(taskOf(2)), NOTHING, NOW);
    expect(begun(table)).toEqual([taskOf(2).id]);
  });
});

describe("what is told of tasks without a look at each", () => {
  const after = (ms: number) => ({ nowMs: NOW.nowMs + ms, wallMs: NOW.wallMs + ms });
  const inLane = (number: number, more: Partial<Task> = {}): Task =>
    taskOf(number, { lane: "ann", dueMs: NOW.wallMs - 5_000, ...more });

  test("a task has waited since it was due, and one in a lane since it was the first one there", () => {
    const { table, due } = asking();
    table.answered(due, answerOf(), NOTHING, NOW);
    const [free, head, second] = [taskOf(1, { dueMs: NOW.wallMs - 2_000 }), inLane(2), inLane(3)];
    for (const task of [free, head, second]) table.added(task, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ ready: 2, delayed: 1, oldestReadyMs: 2_000 });
    expect(begun(table)).toHaveLength(2);
    expect(table.startDelays.sum).toBe(2);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ ready: 0, running: 2, oldestReadyMs: 0 });

    table.settled(head, null, after(3_000));
    expect(table.countsAt(after(4_000).nowMs)).toMatchObject({ ready: 1, running: 1, oldestReadyMs: 1_000 });
    table.hold(second);
    expect(table.countsAt(after(4_000).nowMs)).toMatchObject({ ready: 0, oldestReadyMs: 0 });
  });

  test("the time that a task has waited survives its server", () => {
    const { table, due } = asking();
    table.answered(due, answerOf(taskOf(1, { dueMs: NOW.wallMs - 3_600_000 })), NOTHING, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ ready: 1, oldestReadyMs: 3_600_000 });
  });

  test("dead tasks: those that storage has counted, those that died since, and the first ones of lanes", () => {
    const { table, due } = asking();
    table.answered(due, answerOf(), NOTHING, NOW);
    expect(table.countsAt(NOW.nowMs).dead).toBe(null);
    table.answered({ kind: "count" }, { kind: "count", numbers: { all: 7, deadInNoLane: 2 } }, NOTHING, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ all: 7, dead: 2 });

    const [free, head] = [taskOf(1), inLane(2)];
    for (const task of [free, head]) table.added(task, NOW);
    begun(table);
    table.settled(free, { ...free, state: "dead" }, NOW);
    table.settled(head, { ...head, state: "dead" }, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ all: 9, dead: 4, blockedLanes: 1 });

    // An operator retries the one, and discards one that memory does not have.
    table.settled({ ...free, state: "dead" }, free, NOW);
    table.settled({ ...taskOf(5), state: "dead" }, null, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ all: 8, dead: 2 });
    table.settled({ ...head, state: "dead" }, null, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ all: 7, dead: 1, blockedLanes: 0 });
  });

  test("a lane is blocked while its first task waits for the next attempt", () => {
    const { table, due } = asking();
    table.answered(due, answerOf(), NOTHING, NOW);
    const head = inLane(1);
    table.added(head, NOW);
    begun(table);
    table.settled(head, { ...head, failures: 1, attempt: 1, dueMs: NOW.wallMs + 1_000 }, NOW);
    expect(table.countsAt(NOW.nowMs).blockedLanes).toBe(1);
    table.pass(after(1_000));
    expect(table.countsAt(after(1_000).nowMs)).toMatchObject({ ready: 1, blockedLanes: 0 });
  });
});
