/** The duties of every implementation of the storage port about tasks: a part of `storage-conformance.ts`. */
import {
  byUnit,
  commitId,
  type ExecutionId,
  type ModuleHash,
  SCHEDULE_STATES,
  tickIdOf,
  type UnitId,
  unitId,
} from "@radical/protocol";
import type { Completion, RecordChange } from "../core/intent.ts";
import { encodeScheduleState, scheduleStates, type ScheduleState, scheduleUnit } from "../core/schedule-state.ts";
import { compareDue, outlineOf, placeOf, settled, type Task, type TaskOutline, type TaskPlace } from "../core/task.ts";
import {
  commitOf,
  commitOfChanges,
  type Storage,
  type TaskListPage,
  type TaskPage,
  type TaskSelection,
} from "./storage.ts";

interface Suite {
  readonly test: (
    name: string,
    run: (storage: Storage, reopen: (() => Promise<Storage>) | null) => Promise<void>,
  ) => void;
  readonly expect: (value: unknown) => { toEqual(expected: unknown): void; toMatchObject(expected: object): void };
  readonly takeOver: (storage: Storage) => Promise<{ readonly epoch: number }>;
  /** The end of an execution with this number. */
  readonly completionOf: (number: number, writes: Completion["writes"]) => Completion;
}

const MODULE = "a".repeat(64) as ModuleHash;
const FAILURE = { code: "down", message: "It is down", atMs: 5_000 };

function taskOf(number: number, lane: string | null = null, dueMs = 1_000 + number): Task {
  return {
    id: (0x80000000 + number).toString(16).padEnd(32, "0") as ExecutionId,
    handler: "mail",
    args: Uint8Array.of(0xa1, 0x61, 0x6e, number % 24),
    seed: new Uint8Array(16).fill(number),
    caller: number % 2 === 0 ? null : `caller ${number}`,
    parent: number.toString(16).padStart(32, "0") as ExecutionId,
    module: MODULE,
    lane,
    place: placeOf(commitId(1, number), 0),
    createdAtMs: 1_000,
    dueMs,
    attempt: 0,
    failures: 0,
    sentAtMs: null,
    state: "open",
    error: null,
  };
}

export function describeTasks({ test, expect, takeOver, completionOf }: Suite): void {
  const enqueue = (
    storage: Storage,
    epoch: number,
    number: number,
    tasks: readonly Task[],
    writes: Completion["writes"] = [],
  ) => storage.commit(epoch, commitOf([{ expects: "new", completion: { ...completionOf(number, writes), tasks } }]));
  /** As the attempt of a task ends. */
  const settle = (
    storage: Storage,
    epoch: number,
    task: Task,
    becomes: Task | null,
    more: { readonly tasks?: readonly Task[]; readonly writes?: Completion["writes"] } = {},
  ) => {
    const { attempt, lane } = task;
    const { tasks = [], writes = [] } = more;
    const completion = { ...completionOf(77, writes), executionId: task.id, tasks, settled: becomes };
    return storage.commit(epoch, commitOf([{ expects: { attempt, lane }, completion }]));
  };
  /** All of them: a page may have fewer than were asked for, and not be the last. */
  const dueIn = async (storage: Storage, limit = 1_000): Promise<readonly Task[]> => {
    const found: Task[] = [];
    for (let after: TaskPlace | null = null; ;) {
      // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
      const page: TaskPage<TaskPlace> = await storage.dueTasks(after, limit);
      if (page.tasks.length > limit) throw new Error("a page has more than was asked for");
      found.push(...page.tasks);
      if (page.upTo === null) return found;
      if (after !== null && compareDue(page.upTo, after) <= 0) throw new Error("a page ends where it has begun");
      after = page.upTo;
    }
  };

  test("the tasks of an execution are there with its writes, as they were enqueued", async (storage, reopen) => {
    const { epoch } = await takeOver(storage);
    const tasks = [
      taskOf(2),
      taskOf(1),
      { ...taskOf(3), args: new Uint8Array(380_000).fill(7), caller: "c".repeat(500) },
    ];
    const x = unitId("t", "x");
    expect(await enqueue(storage, epoch, 1, tasks, [{ unit: x, value: Uint8Array.of(1) }])).toEqual({
      kind: "applied",
    });
    expect(await storage.lookUp(epoch, tasks[0]!.id)).toEqual({ state: "task", task: tasks[0] });
    expect(await storage.dueTasks(null, 10)).toEqual({ tasks: tasks.toSorted(compareDue), upTo: null });
    expect(await storage.countTasks()).toEqual(3);
    const opened = reopen === null ? storage : await reopen();
    if (reopen !== null) expect((await takeOver(opened)).epoch).toEqual(epoch + 1);
    expect(await storage.countTasks().catch(() => opened.countTasks())).toEqual(3);
  });

  test("tasks of a commit that did not happen are not there", async (storage) => {
    const { epoch } = await takeOver(storage);
    await enqueue(storage, epoch, 1, []);
    expect(await enqueue(storage, epoch, 1, [taskOf(1)])).toMatchObject({ kind: "exists" });
    const { epoch: next } = await takeOver(storage);
    expect(await enqueue(storage, epoch, 2, [taskOf(2)])).toEqual({ kind: "fenced" });
    expect(await dueIn(storage)).toEqual([]);
    expect(await enqueue(storage, next, 3, [taskOf(3)])).toEqual({ kind: "applied" });
  });

  test("a task is gone with the writes of its attempt, and what it has enqueued is there", async (storage) => {
    const { epoch } = await takeOver(storage);
    const [task, child] = [taskOf(1), taskOf(2)];
    await enqueue(storage, epoch, 1, [task]);
    const unit = unitId("t", "y");
    const more = { tasks: [child], writes: [{ unit, value: Uint8Array.of(2) }] };
    expect(await settle(storage, epoch, task, null, more)).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, task.id)).toEqual(null);
    expect(await dueIn(storage)).toEqual([child]);
    // Again it finds nothing, and does nothing.
    const again = { tasks: [taskOf(3)], writes: [{ unit, value: Uint8Array.of(3) }] };
    expect(await settle(storage, epoch, task, null, again)).toEqual({ kind: "exists", id: task.id, record: null });
    expect(await dueIn(storage)).toEqual([child]);
    expect((await storage.load([unit], 100))?.get(unit)?.value).toEqual(Uint8Array.of(2));
  });

  test("the mark that its service is called stays, until a record says otherwise", async (storage, reopen) => {
    const { epoch } = await takeOver(storage);
    const [task, inLane] = [taskOf(1), taskOf(2, "lane")];
    await enqueue(storage, epoch, 1, [task, inLane]);
    let opened = storage;
    const change = (of: number, one: Task, becomes: Task | null) => {
      const { id, attempt, lane } = one;
      return opened.commit(of, commitOfChanges([{ id, expects: { attempt, lane }, becomes }]));
    };
    const [marked, markedInLane] = [
      { ...task, sentAtMs: 4_000 },
      { ...inLane, sentAtMs: 4_001 },
    ];
    expect(await change(epoch, task, marked)).toEqual({ kind: "applied" });
    // Its answer may have been lost: the same again finds the same.
    expect(await change(epoch, task, marked)).toEqual({ kind: "applied" });
    expect(await change(epoch, inLane, markedInLane)).toEqual({ kind: "applied" });
    expect(await dueIn(storage)).toEqual([marked]);
    expect((await storage.laneTasks("lane", 10)).tasks).toEqual([markedInLane]);
    const next = settled(marked, FAILURE, 2, 5_000)!;
    expect(next.sentAtMs).toEqual(4_000);
    expect(await change(epoch, marked, next)).toEqual({ kind: "applied" });
    expect(await change(epoch, marked, { ...marked, sentAtMs: 9_000 })).toMatchObject({ kind: "exists" });
    if (reopen !== null) opened = await reopen();
    const { epoch: second } = await takeOver(opened);
    expect(await change(epoch, next, { ...next, sentAtMs: 9_000 })).toEqual({ kind: "fenced" });
    expect(await opened.lookUp(second, task.id)).toEqual({ state: "task", task: next });
    expect(await change(second, next, { ...next, attempt: 2, sentAtMs: null })).toEqual({ kind: "applied" });
    expect(await opened.lookUp(second, task.id)).toMatchObject({ task: { sentAtMs: null } });
  });

  test("a failed attempt leaves the next one, and a dead task is in no list of due ones", async (storage) => {
    const { epoch } = await takeOver(storage);
    const task = taskOf(1);
    await enqueue(storage, epoch, 1, [task]);
    const next = settled(task, FAILURE, 2, 5_000)!;
    expect(await settle(storage, epoch, task, next)).toEqual({ kind: "applied" });
    expect(await dueIn(storage)).toEqual([next]);
    expect(await settle(storage, epoch, task, null)).toEqual({
      kind: "exists",
      id: task.id,
      record: { state: "task", task: next },
    });
    const dead = settled(next, FAILURE, 2, 6_000)!;
    expect(dead.state).toEqual("dead");
    expect(await settle(storage, epoch, next, dead)).toEqual({ kind: "applied" });
    expect(await dueIn(storage)).toEqual([]);
    expect(await storage.lookUp(epoch, task.id)).toEqual({ state: "task", task: dead });
    expect(await storage.countTasks()).toEqual(1);
    // An operator lets it try again.
    const open: Task = { ...dead, state: "open", failures: 0, dueMs: 7_000 };
    expect(await settle(storage, epoch, dead, open)).toEqual({ kind: "applied" });
    expect(await dueIn(storage)).toEqual([open]);
  });

  test("a server that was replaced settles nothing", async (storage) => {
    const { epoch } = await takeOver(storage);
    const task = taskOf(1);
    await enqueue(storage, epoch, 1, [task]);
    const { epoch: next } = await takeOver(storage);
    expect(await settle(storage, epoch, task, null)).toEqual({ kind: "fenced" });
    expect(await settle(storage, next, task, null)).toEqual({ kind: "applied" });
  });

  test("due tasks come in pages, in order, however they are spread", async (storage) => {
    const { epoch } = await takeOver(storage);
    // Some are due at the same time, and ids differ in their last bytes.
    const tasks = Array.from({ length: 60 }, (_, n): Task => {
      const id =
        `8${n.toString(16).padStart(15, "0")}${((n * 37) % 256).toString(16).padStart(16, "0")}` as ExecutionId;
      return { ...taskOf(n + 1), id, dueMs: 1_000 + Math.floor(n / 7) * 10 };
    });
    for (let n = 0; n < 60; n += 20) await enqueue(storage, epoch, n + 1, tasks.slice(n, n + 20).toReversed());
    expect(await dueIn(storage, 13)).toEqual(tasks.toSorted(compareDue));
  });

  test("a lane has its tasks in the order of their places, dead ones too, and no due list has them", async (storage) => {
    const { epoch } = await takeOver(storage);
    // Names that are the beginning of others, and bytes with a meaning elsewhere.
    const longest = ["x", "\0", "\u0001", "\u{10FFFF}"].map((character) =>
      character.repeat(512 / Buffer.byteLength(character)),
    );
    const lanes = ["a", "a\0", "a\u0001", "ab", "\u{10FFFF}", "z z", "", ...longest];
    const tasks = lanes.flatMap((lane, n) => [3, 1, 2].map((k) => taskOf(n * 10 + k, lane)));
    await enqueue(storage, epoch, 1, tasks);
    for (const [n, lane] of lanes.entries()) {
      const { tasks: all, upTo } = await storage.laneTasks(lane, 3);
      const places = [1, 2, 3].map((k) => placeOf(commitId(1, n * 10 + k), 0));
      expect([all.map(({ place }) => place), upTo]).toEqual([places, null]);
      const some = await storage.laneTasks(lane, 2);
      expect([some.tasks.map(({ place }) => place), some.upTo]).toEqual([places.slice(0, 2), places[1]]);
    }
    expect(await dueIn(storage)).toEqual([]);
    const heads: TaskOutline[] = [];
    for (let cursor: string | null = null; ;) {
      const page = await storage.laneHeads(cursor, 3);
      heads.push(...page.heads);
      cursor = page.next;
      if (cursor === null) break;
    }
    const firsts = lanes.map((lane, n) => taskOf(n * 10 + 1, lane));
    const byId = (a: TaskOutline, b: TaskOutline): number => (a.id < b.id ? -1 : 1);
    // Without their arguments.
    expect(heads.toSorted(byId)).toEqual(firsts.map(outlineOf).toSorted(byId));
    const read = await storage.readTasks(firsts);
    expect(read.toSorted(byId)).toEqual(firsts.toSorted(byId));

    const headOf = async (lane: string): Promise<Task | undefined> => (await storage.laneTasks(lane, 1)).tasks[0];
    const head = await headOf("a");
    const dead = settled(head!, FAILURE, 1, 5_000)!;
    expect(await settle(storage, epoch, head!, dead)).toEqual({ kind: "applied" });
    expect(await headOf("a")).toEqual(dead);
    expect(await settle(storage, epoch, dead, null)).toEqual({ kind: "applied" });
    expect(await headOf("a")).toEqual(taskOf(2, "a"));
    expect(await storage.laneTasks("nothing", 10)).toEqual({ tasks: [], upTo: null });
  });

  test("tasks are read with all of their arguments, those that are gone are left out", async (storage) => {
    const { epoch } = await takeOver(storage);
    const large = (number: number, lane: string | null): Task => ({
      ...taskOf(number, lane),
      args: new Uint8Array(300_000).fill(number),
    });
    const [first, second, other] = [large(1, "lane"), large(2, "lane"), large(3, null)];
    await enqueue(storage, epoch, 1, [first, second, other]);
    const byId = (a: Task, b: Task): number => (a.id < b.id ? -1 : 1);
    const gone = taskOf(4, "lane");
    const read = await storage.readTasks([other, gone, second, first]);
    expect(read.toSorted(byId)).toEqual([first, second, other]);
    const next = settled(first, FAILURE, 3, 5_000)!;
    expect(await settle(storage, epoch, first, next)).toEqual({ kind: "applied" });
    expect((await storage.laneHeads(null, 10)).heads).toEqual([outlineOf(next)]);
    expect(await storage.readTasks([first])).toEqual([next]);
    expect(await storage.readTasks([])).toEqual([]);
  });

  test("an execution enqueues more than one transaction takes, in a lane too; nothing of it is lost", async (storage) => {
    const { epoch } = await takeOver(storage);
    const tasks = Array.from({ length: 260 }, (_, n) => taskOf(n + 1, n % 2 === 0 ? null : "many"));
    const writes = Array.from({ length: 20 }, (_, n) => ({ unit: unitId("t", `k${n}`), value: Uint8Array.of(n) }));
    const sorted = writes.toSorted(byUnit);
    expect(await enqueue(storage, epoch, 1, tasks, sorted)).toEqual({ kind: "applied" });
    expect(await dueIn(storage)).toEqual(tasks.filter(({ lane }) => lane === null).toSorted(compareDue));
    expect((await storage.laneTasks("many", 500)).tasks.length).toEqual(130);
    // A task does so too: alone, and with others in one commit.
    const {
      tasks: [first, second],
    } = await storage.laneTasks("many", 2);
    const children = Array.from({ length: 150 }, (_, n) => taskOf(1_000 + n));
    expect(await settle(storage, epoch, first!, null, { tasks: children, writes: sorted })).toEqual({
      kind: "applied",
    });
    expect(await storage.countTasks()).toEqual(260 - 1 + 150);
    expect((await storage.laneTasks("many", 1)).tasks).toEqual([second]);
    const settlements = children
      .slice(0, 30)
      .map((task): RecordChange => ({ id: task.id, expects: { attempt: 0, lane: null }, becomes: null }));
    const more = Array.from({ length: 90 }, (_, n) => taskOf(2_000 + n, `lane ${n}`));
    const inserts = more.map((task): RecordChange => ({
      id: task.id,
      expects: "new",
      becomes: { state: "task", task },
    }));
    expect(await storage.commit(epoch, { records: [...settlements, ...inserts], items: [] })).toEqual({
      kind: "applied",
    });
    expect(await storage.countTasks()).toEqual(409 - 30 + 90);
  });

  test("the canceller of tasks takes them away with its writes, in lanes too, also more than one transaction takes", async (storage) => {
    const { epoch } = await takeOver(storage);
    const tasks = Array.from({ length: 130 }, (_, n) => taskOf(n + 1, n % 3 === 0 ? "lane" : null));
    await enqueue(storage, epoch, 1, tasks);
    const [first, second, third] = [tasks[0]!, tasks[1]!, tasks[2]!];
    const dead = settled(second, FAILURE, 1, 5_000)!;
    await settle(storage, epoch, second, dead);
    const cancel = (number: number, taken: readonly Task[], writes: Completion["writes"] = []) => {
      const cancelled = taken.map((task) => ({ task, leaves: null }));
      return storage.commit(
        epoch,
        commitOf([{ expects: "new", completion: { ...completionOf(number, writes), cancelled } }]),
      );
    };
    const unit = unitId("t", "z");
    const write = { unit, value: Uint8Array.of(4) };
    expect(await cancel(2, [first, dead], [write])).toEqual({ kind: "applied" });
    expect(await storage.findTask(first.id)).toEqual(null);
    expect(await storage.findTask(dead.id)).toEqual(null);
    expect(await storage.findTask(third.id)).toEqual(third);
    expect((await storage.laneTasks("lane", 1)).tasks[0]).toEqual(tasks[3]);
    expect((await storage.load([unit], 100))?.get(unit)?.value).toEqual(Uint8Array.of(4));
    // Nothing of it happens twice, or if its canceller has ended before.
    expect(await cancel(2, [third])).toMatchObject({ kind: "exists" });
    expect(await storage.findTask(third.id)).toEqual(third);
    expect(await cancel(3, [first])).toEqual({ kind: "applied" });
    expect(await storage.countTasks()).toEqual(128);
    expect(await cancel(4, tasks.slice(2), [write])).toEqual({ kind: "applied" });
    expect(await storage.countTasks()).toEqual(0);
    // A server that was replaced cancels nothing.
    const last = taskOf(500, "lane");
    await enqueue(storage, epoch, 5, [last]);
    await takeOver(storage);
    expect(await cancel(6, [last])).toEqual({ kind: "fenced" });
    expect(await storage.findTask(last.id)).toEqual(last);
  });

  test("all tasks are listed in pages, each once, by state and by lane", async (storage) => {
    const { epoch } = await takeOver(storage);
    const tasks = Array.from({ length: 60 }, (_, n): Task => {
      const id =
        `9${n.toString(16).padStart(15, "0")}${((n * 37) % 256).toString(16).padStart(16, "0")}` as ExecutionId;
      return { ...taskOf(n + 1, n % 4 === 0 ? "lane" : n % 4 === 1 ? `lane ${n}` : null), id, dueMs: 1_000 };
    });
    await enqueue(storage, epoch, 1, tasks.slice(0, 30));
    await enqueue(storage, epoch, 2, tasks.slice(30));
    const dead = new Map<ExecutionId, Task>();
    // At the same time, so that nothing but their ids tells them apart.
    for (const task of tasks.filter((_, n) => n % 3 === 0)) {
      dead.set(task.id, settled(task, FAILURE, 1, 5_000)!);
      // oxlint-disable-next-line no-await-in-loop -- one after another, as attempts end
      await settle(storage, epoch, task, dead.get(task.id)!);
    }
    const now = tasks.map((task) => dead.get(task.id) ?? task);
    const byId = (a: Task, b: Task): number => (a.id < b.id ? -1 : 1);
    const listed = async (selection: TaskSelection, limit: number): Promise<readonly Task[]> => {
      const found: Task[] = [];
      for (let after: string | null = null; ;) {
        // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
        const page: TaskListPage = await storage.listTasks(selection, after, limit);
        if (page.tasks.length > limit) throw new Error("a page has more than was asked for");
        found.push(...page.tasks);
        if (page.next === null) return found;
        after = page.next;
      }
    };
    for (const limit of [1, 7, 1_000]) {
      // oxlint-disable-next-line no-await-in-loop -- of one storage
      const [all, dying, open, lane, inNone, dyingInNone] = await Promise.all([
        listed({}, limit),
        listed({ state: "dead" }, limit),
        listed({ state: "open" }, limit),
        listed({ lane: "lane" }, limit),
        listed({ lane: null }, limit),
        listed({ state: "dead", lane: null }, limit),
      ]);
      expect(all.toSorted(byId)).toEqual(now.toSorted(byId));
      expect(dying.toSorted(byId)).toEqual([...dead.values()].toSorted(byId));
      expect(open.toSorted(byId)).toEqual(now.filter(({ state }) => state === "open").toSorted(byId));
      expect(lane).toEqual(now.filter((task) => task.lane === "lane"));
      const free = now.filter((task) => task.lane === null).toSorted(byId);
      expect(inNone.toSorted(byId)).toEqual(free);
      expect(dyingInNone.toSorted(byId)).toEqual(free.filter(({ state }) => state === "dead"));
    }
    expect(await storage.listTasks({ lane: "nothing" }, null, 10)).toEqual({ tasks: [], next: null });
  });

  test("a task is found by its id, whatever its lane", async (storage) => {
    const { epoch } = await takeOver(storage);
    const tasks = [taskOf(1), taskOf(2, "a"), taskOf(3, "b/ü")];
    await enqueue(storage, epoch, 1, tasks);
    for (const task of tasks) expect(await storage.findTask(task.id)).toEqual(task);
    expect(await storage.findTask(taskOf(4).id)).toEqual(null);
    // An execution is not a task.
    expect(await storage.findTask(completionOf(1, []).executionId)).toEqual(null);
  });

  test("the id of a task is taken", async (storage) => {
    const { epoch } = await takeOver(storage);
    const task = taskOf(1);
    await enqueue(storage, epoch, 1, [task]);
    const completion = { ...completionOf(2, []), executionId: task.id };
    expect(await storage.commit(epoch, commitOf([{ expects: "new", completion }]))).toEqual({
      kind: "exists",
      id: task.id,
      record: { state: "task", task },
    });
  });

  test("the ticks of a schedule and its state are one commit, and the state is found by a server that starts", async (storage) => {
    const { epoch } = await takeOver(storage);
    const at = (lastMs: number): ScheduleState => ({ due: "@every 1000", lastMs, firedMs: lastMs, isPaused: false });
    const unit = scheduleUnit("sweep");
    const fire = (by: number, number: number, lastMs: number) => {
      const task = { ...taskOf(number), id: tickIdOf("sweep", lastMs), caller: null };
      return enqueue(storage, by, number, [task], [{ unit, value: encodeScheduleState(at(lastMs)) }]);
    };
    const found = async () => scheduleStates(await storage.scan({ table: SCHEDULE_STATES, from: null, to: null }, 100));
    expect(await found()).toEqual(new Map());
    expect(await fire(epoch, 1, 1_000)).toEqual({ kind: "applied" });
    expect(await found()).toEqual(new Map([["sweep", at(1_000)]]));
    expect((await storage.findTask(tickIdOf("sweep", 1_000)))?.state).toEqual("open");
    // A server that was replaced makes no tick, and moves nothing.
    const { epoch: next } = await takeOver(storage);
    expect(await fire(epoch, 2, 2_000)).toEqual({ kind: "fenced" });
    expect(await found()).toEqual(new Map([["sweep", at(1_000)]]));
    expect(await storage.findTask(tickIdOf("sweep", 2_000))).toEqual(null);
    expect(await fire(next, 3, 2_000)).toEqual({ kind: "applied" });
    expect(await found()).toEqual(new Map([["sweep", at(2_000)]]));
    expect(await storage.countTasks()).toEqual(2);
  });

  test("an intent keeps the lanes that it names", async (storage) => {
    const { epoch } = await takeOver(storage);
    const { executionId, module, handler, args, environment, location } = completionOf(5, []);
    const intent = {
      executionId,
      module,
      handler,
      args,
      environment,
      location,
      commitId: commitId(epoch, 5),
      units: [{ unit: "t/x" as UnitId, mode: "write" as const, version: null }],
      lanes: ["a", "b/ü"],
      retained: false,
      mustNotWrite: false,
      createdAtMs: 1,
    };
    await storage.storeIntent(epoch, intent);
    expect(await storage.lookUp(epoch, executionId)).toEqual({ state: "pending", intent });
  });
}
