import { assert, type ExecutionId, type ModuleHash, present } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareDue, type Task, type TaskPlace } from "./task.ts";
import { type TaskQuestion, TaskTable, type UnderWay } from "./task-table.ts";

const START_MS = 1_700_000_000_000;
const NOTHING: UnderWay = { inserts: () => false, changesTheNumber: false };

function taskOf(number: number, handler: string, dueMs: number, bytes = 0): Task {
  return {
    id: `8${number.toString(16).padStart(31, "0")}` as ExecutionId,
    handler,
    args: new Uint8Array(bytes),
    seed: new Uint8Array(16),
    caller: null,
    parent: number.toString(16).padStart(32, "0") as ExecutionId,
    module: "a".repeat(64) as ModuleHash,
    lane: null,
    place: `00000001-${number.toString(16).padStart(12, "0")}-0000`,
    createdAtMs: dueMs,
    dueMs,
    sentAtMs: null,
    attempt: 0,
    failures: 0,
    state: "open",
    error: null,
  };
}

interface Bounds {
  readonly most: number;
  readonly mostBytes: number;
  readonly page: number;
  readonly inLane: number;
  readonly laneBytes: number;
}

/** A table over a storage that answers at once, or when it is told to. */
class World {
  readonly stored = new Map<ExecutionId, Task>();
  readonly begun: ExecutionId[] = [];
  readonly #table: TaskTable<object>;
  readonly #bounds: Bounds;
  readonly #running = new Set<ExecutionId>();
  readonly #asked: TaskQuestion[] = [];
  missing: ReadonlySet<string> = new Set();
  nowMs = 0;
  /** Tasks that storage has read for the table. */
  read = 0;

  constructor(bounds: Bounds, limits: ReadonlyMap<string, number> = new Map()) {
    this.#bounds = bounds;
    this.#table = new TaskTable(bounds, (handler) => {
      const running = limits.get(handler);
      return running === undefined ? null : { running, rate: null };
    });
  }

  get now(): { readonly nowMs: number; readonly wallMs: number } {
    return { nowMs: this.nowMs, wallMs: START_MS + this.nowMs };
  }

  get #inMemory(): number {
    const { ready, delayed } = this.#table.countsAt(this.nowMs);
    return ready + delayed;
  }

  add(task: Task): void {
    this.stored.set(task.id, task);
    this.#table.added(task, this.now);
  }

  /** As a step of the core does. */
  step(): void {
    this.#table.pass(this.now);
    while (this.#running.size < 4) {
      const task = this.#table.next((handler) => !this.missing.has(handler), this.now);
      if (task === null) break;
      assert(task.dueMs <= START_MS + this.nowMs, "a task begins when it is due");
      assert(!this.missing.has(task.handler), "a task begins when its handler is there");
      this.#running.add(task.id);
      this.begun.push(task.id);
    }
    this.#asked.push(...this.#table.takeQuestions(this.now, () => false));
    const handlers = new Set([...this.stored.values()].map(({ handler }) => handler));
    assert(this.#inMemory <= this.#bounds.most + handlers.size, "memory has no more tasks than it may");
  }

  answer(): boolean {
    const question = this.#asked.shift();
    if (question === undefined) return false;
    if (question.kind === "heads")
      this.#table.answered(question, { kind: "heads", tasks: [], next: null }, NOTHING, this.now);
    if (question.kind === "count") {
      const numbers = { all: this.stored.size, deadInNoLane: 0 };
      this.#table.answered(question, { kind: "count", numbers }, NOTHING, this.now);
    }
    if (question.kind === "due") this.#answerDue(question);
    return true;
  }

  #answerDue(question: TaskQuestion & { readonly kind: "due" }): void {
    const { after, limit } = question;
    const behind = [...this.stored.values()]
      .filter((task) => after === null || compareDue(task, after) > 0)
      .toSorted(compareDue);
    const tasks = behind.slice(0, limit);
    this.read += tasks.length;
    const last = behind.length > limit ? present(tasks.at(-1), "a page has tasks") : null;
    const upTo: TaskPlace | null = last === null ? null : { dueMs: last.dueMs, id: last.id };
    this.#table.answered(question, { kind: "due", tasks, upTo }, NOTHING, this.now);
  }

  fail(): void {
    const question = this.#asked.shift();
    if (question !== undefined) this.#table.failed(question);
  }

  /** The attempt that has run longest ends; with `pauseMs` it is tried again later. */
  end(pauseMs: number | null = null): boolean {
    const [id] = this.#running;
    if (id === undefined) return false;
    this.#running.delete(id);
    const task = present(this.stored.get(id), "a task that runs is stored");
    const next =
      pauseMs === null
        ? null
        : { ...task, attempt: task.attempt + 1, failures: task.failures + 1, dueMs: START_MS + this.nowMs + pauseMs };
    if (next === null) this.stored.delete(id);
    else this.stored.set(id, next);
    this.#table.settled(task, next, this.now);
    return true;
  }

  /** It has had no effect, and is tried again. */
  putBack(): void {
    const [id] = this.#running;
    if (id === undefined) return;
    this.#running.delete(id);
    this.#table.putBack(id, this.nowMs + 5, this.now);
  }

  /** Goes on until nothing happens any more. */
  run(): void {
    for (let steps = 0; steps < 100_000; steps++) {
      this.step();
      if (this.answer() || this.end()) continue;
      const atMs = this.#table.wakeAtMs(this.now);
      if (atMs === Infinity) return;
      this.nowMs = Math.max(this.nowMs + 1, atMs);
    }
    throw new Error("it does not end");
  }
}

const SMALL: Bounds = { most: 4, mostBytes: 1_000_000, page: 2, inLane: 4, laneBytes: 1_000_000 };

describe("tasks that may not begin", () => {
  test("hold up no others, however many there are", () => {
    const world = new World(SMALL);
    world.missing = new Set(["gone", "down"]);
    for (let n = 0; n < 50; n++) world.add(taskOf(n, n % 2 === 0 ? "gone" : "down", START_MS - 1_000 + n));
    world.add(taskOf(100, "mail", START_MS - 1));
    world.add(taskOf(101, "mail", START_MS + 60_000));
    world.run();
    expect(world.begun).toEqual([taskOf(100, "mail", 0).id, taskOf(101, "mail", 0).id]);
  });

  test("are all run when they may, each once, in the order in which they are due", () => {
    const world = new World(SMALL, new Map([["slow", 1]]));
    world.missing = new Set(["gone"]);
    for (let n = 0; n < 40; n++) world.add(taskOf(n, n % 2 === 0 ? "gone" : "slow", START_MS - 1_000 + n));
    world.run();
    const odd = Array.from({ length: 20 }, (_, n) => taskOf(2 * n + 1, "", 0).id);
    expect(world.begun).toEqual(odd);
    world.missing = new Set();
    world.run();
    const even = Array.from({ length: 20 }, (_, n) => taskOf(2 * n, "", 0).id);
    expect(world.begun).toEqual([...odd, ...even]);
  });

  test("are read twice at most, beside a handler that goes on", () => {
    const world = new World({ most: 100, mostBytes: 100_000_000, page: 10, inLane: 4, laneBytes: 1_000_000 });
    world.missing = new Set(["gone"]);
    for (let n = 0; n < 2_000; n++) {
      const task = taskOf(n, n % 2 === 0 ? "gone" : "mail", START_MS - 100_000 + n);
      world.stored.set(task.id, task);
    }
    world.run();
    expect(world.begun).toHaveLength(1_000);
    expect(world.read).toBeLessThan(3 * 2_000);
  });
});

test("each task that may begin does so once, when it is due", () => {
  const task = fc.record({
    kind: fc.constant("add" as const),
    handler: fc.constantFrom("a", "b", "c", "gone"),
    inMs: fc.integer({ min: -50, max: 200 }),
    bytes: fc.constantFrom(0, 0, 0, 400, 2_000),
  });
  const action = fc.oneof(
    { weight: 4, arbitrary: task },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("answer" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("put-back" as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("end" as const), pauseMs: fc.option(fc.nat(100)) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(40) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("miss" as const), handler: fc.option(fc.constantFrom("a", "b")) }),
    },
  );
  const bounds = fc.record({
    most: fc.constantFrom(1, 2, 5, 20),
    mostBytes: fc.constantFrom(600, 3_000, 1_000_000),
    page: fc.constantFrom(1, 2, 7, 100),
    inLane: fc.constant(4),
    laneBytes: fc.constant(1_000_000),
  });
  fc.assert(
    fc.property(
      bounds,
      fc.array(task, { maxLength: 30 }),
      fc.array(action, { maxLength: 80 }),
      (some, first, actions) => {
        const world = new World(some, new Map([["c", 1]]));
        world.missing = new Set(["gone"]);
        let count = 0;
        // Those that were there before the server began.
        for (const { handler, inMs, bytes } of first) {
          const stored = taskOf(++count, handler, START_MS + inMs, bytes);
          world.stored.set(stored.id, stored);
        }
        for (const act of actions) {
          if (act.kind === "add") world.add(taskOf(++count, act.handler, START_MS + world.nowMs + act.inMs, act.bytes));
          else if (act.kind === "answer") world.answer();
          else if (act.kind === "fail") world.fail();
          else if (act.kind === "put-back") world.putBack();
          else if (act.kind === "end") world.end(act.pauseMs);
          else if (act.kind === "pass") world.nowMs += act.ms;
          else world.missing = new Set(["gone", ...(act.handler === null ? [] : [act.handler])]);
          world.step();
        }
        world.missing = new Set(["gone"]);
        world.run();
        expect([...world.stored.values()].filter(({ handler }) => handler !== "gone")).toEqual([]);
        world.missing = new Set();
        world.run();
        expect(world.stored.size).toBe(0);
      },
    ),
    { numRuns: 1_000 },
  );
});
