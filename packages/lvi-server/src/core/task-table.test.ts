import { type ExecutionId, type ModuleHash, present } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { outlineOf, type Task } from "./task.ts";
import { type TaskAnswer, type TaskQuestion, TaskTable, type UnderWay } from "./task-table.ts";

const NOW = { nowMs: 1_000, wallMs: 1_700_000_000_000 };
const NOTHING: UnderWay = { inserts: () => false, changesTheNumber: false };
const nothingChanges = (): boolean => false;

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
  const table = new TaskTable<object>(
    { most: 10, mostBytes: 1_000_000, page: 10, inLane: 4, laneBytes: 1_000_000 },
    () => null,
  );
  const questions = table.takeQuestions(NOW, nothingChanges);
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
    const next = table.takeQuestions(NOW, nothingChanges);
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

describe("the arguments of tasks in lanes", () => {
  const MiB = 1024 * 1024;
  const inLane = (number: number): Task => taskOf(number, { lane: `lane ${number}`, args: new Uint8Array(MiB) });

  /** Answers all questions about tasks, from what storage has, until there are none. The bytes in memory at most. */
  function answerAll(table: TaskTable<object>, stored: Map<ExecutionId, Task>): number {
    let most = 0;
    for (
      let questions = table.takeQuestions(NOW, nothingChanges);
      questions.length > 0;
      questions = table.takeQuestions(NOW, nothingChanges)
    ) {
      for (const question of questions) table.answered(question, answerTo(question, stored), NOTHING, NOW);
      most = Math.max(most, table.countsAt(NOW.nowMs).argumentBytes);
      table.assertWellFormed();
      table.pass(NOW);
      expect(table.next(() => false, NOW)).toBeNull();
    }
    return most;
  }

  function answerTo(question: TaskQuestion, stored: ReadonlyMap<ExecutionId, Task>): TaskAnswer {
    const all = [...stored.values()].toSorted((a, b) => (a.place < b.place ? -1 : 1));
    switch (question.kind) {
      case "due":
        return { kind: "due", tasks: all.filter(({ lane }) => lane === null), upTo: null };
      case "heads":
        return { kind: "heads", tasks: all.map(outlineOf), next: null };
      case "lane":
        return { kind: "lane", tasks: all.filter(({ lane }) => lane === question.lane), upTo: null };
      case "tasks":
        return { kind: "tasks", tasks: question.tasks.flatMap(({ id }) => stored.get(id) ?? []) };
      case "task":
        return { kind: "task", task: stored.get(question.id) ?? null };
      case "count":
        return { kind: "count", numbers: { all: stored.size, deadInNoLane: 0 } };
    }
  }

  const BOUNDS = { most: 10, mostBytes: MiB, page: 1_000, inLane: 4, laneBytes: 2 * MiB };
  /** Read before their turn, of one handler. */
  const AHEAD = 16;

  test("of a start with many lanes memory has those of a few, and each task begins with its own", () => {
    const stored = new Map(Array.from({ length: 60 }, (_, n) => inLane(n + 1)).map((task) => [task.id, task]));
    const table = new TaskTable<object>(BOUNDS, () => null);
    // No handler can run: nothing is read but the outlines.
    expect(answerAll(table, stored)).toBe(0);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ ready: 60, argumentBytes: 0 });

    let done = 0;
    for (let rounds = 0; stored.size > 0; rounds++) {
      expect(rounds).toBeLessThan(1_000);
      for (const question of table.takeQuestions(NOW, nothingChanges))
        table.answered(question, answerTo(question, stored), NOTHING, NOW);
      table.pass(NOW);
      const task = table.next(() => true, NOW);
      expect(table.countsAt(NOW.nowMs).argumentBytes).toBeLessThanOrEqual((AHEAD + 1) * MiB);
      table.assertWellFormed();
      if (task === null) continue;
      expect(task).toBe(stored.get(task.id));
      stored.delete(task.id);
      table.settled(task, null, NOW);
      done++;
    }
    expect(done).toBe(60);
  });

  test("those of new tasks are dropped when there is no room, and read again", () => {
    const table = new TaskTable<object>(BOUNDS, () => null);
    const stored = new Map<ExecutionId, Task>();
    answerAll(table, stored);
    for (let n = 1; n <= 5; n++) {
      const task = inLane(n);
      stored.set(task.id, task);
      table.added(task, NOW);
    }
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ argumentBytes: 2 * MiB });
    table.pass(NOW);
    const first = present(
      table.next(() => true, NOW),
      "two have their arguments",
    );
    const [question] = table.takeQuestions(NOW, nothingChanges);
    expect(question).toMatchObject({ kind: "tasks", tasks: [3, 4, 5].map((n) => ({ id: inLane(n).id })) });
    expect(table.find(inLane(2).id)).toMatchObject({ state: "waits" });
    // Memory does not have all of it, as if it had none of it: storage is asked.
    expect(table.find(inLane(3).id)).toBeNull();
    table.answered(question!, answerTo(question!, stored), NOTHING, NOW);
    const others = Array.from({ length: 4 }, () =>
      present(
        table.next(() => true, NOW),
        "all have their arguments",
      ),
    );
    expect([first, ...others].map(({ id }) => id)).toEqual([1, 2, 3, 4, 5].map((n) => inLane(n).id));
    table.assertWellFormed();
  });

  test("a task that is taken back while it is read does not begin; one that could not be read is read again", () => {
    const table = new TaskTable<object>({ ...BOUNDS, laneBytes: 0 }, () => null);
    answerAll(table, new Map());
    const [taken, failed] = [inLane(1), inLane(2)];
    const stored = new Map([taken, failed].map((task) => [task.id, task]));
    for (const task of stored.values()) table.added(task, NOW);
    table.pass(NOW);
    expect(table.next(() => true, NOW)).toBeNull();
    const [question] = table.takeQuestions(NOW, nothingChanges);
    table.hold(taken);
    table.settled(taken, null, NOW);
    table.failed(question!);
    expect(table.next(() => true, NOW)).toBeNull();
    const [again] = table.takeQuestions(NOW, nothingChanges);
    expect(again).toEqual({ kind: "tasks", tasks: [{ id: failed.id, lane: failed.lane }] });
    table.answered(again!, answerTo(again!, stored), NOTHING, NOW);
    expect(begun(table)).toEqual([failed.id]);
  });

  test("a task whose arguments are read again has waited since it might begin, and is one that may begin meanwhile", () => {
    const table = new TaskTable<object>({ ...BOUNDS, laneBytes: 0 }, () => null);
    answerAll(table, new Map());
    const task = inLane(1);
    table.added(task, NOW);
    const later = { nowMs: NOW.nowMs + 3_000, wallMs: NOW.wallMs + 3_000 };
    expect(table.next(() => true, later)).toBeNull();
    const [question] = table.takeQuestions(later, nothingChanges);
    expect(table.countsAt(later.nowMs)).toMatchObject({ ready: 1, oldestReadyMs: 3_000 });
    table.answered(question!, { kind: "tasks", tasks: [task] }, NOTHING, later);
    expect(table.countsAt(later.nowMs)).toMatchObject({ ready: 1, oldestReadyMs: 3_000 });
    expect(table.next(() => true, later)).toBe(task);
    expect(table.countsAt(later.nowMs)).toMatchObject({ ready: 0, running: 1, oldestReadyMs: 0 });
    expect(table.startDelays.sum).toBe(3);
    expect(table.startDelays.counts.filter((count) => count > 0)).toEqual([1]);
  });

  test("a task that storage has no more does not begin: another server leads, and has done it", () => {
    const table = new TaskTable<object>({ ...BOUNDS, laneBytes: 0 }, () => null);
    answerAll(table, new Map());
    table.added(inLane(1), NOW);
    table.pass(NOW);
    expect(table.next(() => true, NOW)).toBeNull();
    const [question] = table.takeQuestions(NOW, nothingChanges);
    table.answered(question!, { kind: "tasks", tasks: [] }, NOTHING, NOW);
    expect(begun(table)).toEqual([]);
    table.assertWellFormed();
  });

  test("a dead task has none in memory, and a task that is put back keeps them only if there is room", () => {
    const table = new TaskTable<object>({ ...BOUNDS, laneBytes: MiB }, () => null);
    answerAll(table, new Map());
    const dead: Task = { ...inLane(1), state: "dead" };
    table.added(dead, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ dead: 1, argumentBytes: 0 });
    expect(table.deadHeads).toEqual([outlineOf(dead)]);

    const [large, small] = [
      taskOf(2, { lane: "a", args: new Uint8Array(MiB) }),
      taskOf(3, { lane: "b", args: new Uint8Array(9) }),
    ];
    for (const task of [large, small]) table.added(task, NOW);
    table.pass(NOW);
    expect(table.next(() => true, NOW)).toBe(large);
    expect(table.next(() => true, NOW)).toBeNull();
    const [question] = table.takeQuestions(NOW, nothingChanges);
    table.answered(question!, { kind: "tasks", tasks: [small] }, NOTHING, NOW);
    expect(table.next(() => true, NOW)).toBe(small);
    expect(table.countsAt(NOW.nowMs).argumentBytes).toBe(MiB + 9);
    table.putBack(small.id, NOW.nowMs + 10, NOW);
    expect(table.countsAt(NOW.nowMs)).toMatchObject({ delayed: 1, argumentBytes: MiB });
    table.assertWellFormed();
  });
});

describe("storage is asked for some lanes at once", () => {
  test("and for the others when it has answered", () => {
    const table = new TaskTable<object>(
      { most: 10, mostBytes: 1_000, page: 1_000, inLane: 4, laneBytes: 0 },
      () => null,
    );
    const tasks = Array.from({ length: 40 }, (_, n) => taskOf(n + 1, { lane: `lane ${n}` }));
    // Before the lanes are known, each is asked for.
    for (const task of tasks) table.added(task, NOW);
    const lanes: string[] = [];
    for (
      let questions = table.takeQuestions(NOW, nothingChanges);
      questions.length > 0;
      questions = table.takeQuestions(NOW, nothingChanges)
    ) {
      const asked = questions.filter((question) => question.kind === "lane");
      expect(asked.length).toBeLessThanOrEqual(16);
      lanes.push(...asked.map(({ lane }) => lane));
      for (const question of asked) {
        const its = tasks.filter(({ lane }) => lane === question.lane);
        table.answered(question, { kind: "lane", tasks: its, upTo: null }, NOTHING, NOW);
      }
    }
    expect(lanes.toSorted()).toEqual(tasks.map(({ lane }) => lane!).toSorted());
    expect(begun(table)).toEqual(tasks.map(({ id }) => id));
  });
});
