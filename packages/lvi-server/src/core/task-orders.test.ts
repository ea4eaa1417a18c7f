/** Orders about tasks, tasks that the current module can't run, and when tasks begin, at the core alone. `simulation` has histories of them. */
import {
  commitId,
  contentHash,
  type ExecutionId,
  type HandlerPlan,
  type LviRequest,
  type ModuleHash,
  type TaskAction,
  UNKNOWN,
} from "@radical/protocol";
import { beforeEach, expect, test } from "vitest";
import { DEFAULT_CORE_OPTIONS } from "./core-options.ts";
import type { Effect, Event } from "./events.ts";
import { LviCore } from "./lvi-core.ts";
import { outlineOf, type Task } from "./task.ts";

const [OLD, NEW] = ["a", "b"].map((letter) => letter.repeat(64) as ModuleHash) as [ModuleHash, ModuleHash];
const NOW = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "test", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};
const plansOf = (...names: readonly string[]): ReadonlyMap<string, HandlerPlan> =>
  new Map(names.map((name) => [name, "near-storage"]));

function taskOf(number: number, more: Partial<Task> = {}): Task {
  return {
    id: `f${number.toString(16).padStart(31, "0")}` as ExecutionId,
    handler: "send",
    args: new Uint8Array(),
    seed: new Uint8Array(16),
    caller: null,
    parent: "0".repeat(32) as ExecutionId,
    module: OLD,
    lane: null,
    place: `00000001-00000000000${number}-0000`,
    createdAtMs: NOW.wallMs,
    dueMs: NOW.wallMs,
    attempt: 0,
    failures: 0,
    sentAtMs: null,
    state: "open",
    error: null,
    ...more,
  };
}

function requestOf(number: number): LviRequest {
  return {
    executionId: number.toString(16).padStart(32, "0") as ExecutionId,
    module: OLD,
    handler: "send",
    args: new Uint8Array(),
    environment: { timeMs: NOW.wallMs, seed: new Uint8Array(16), caller: null },
    location: "va",
    units: null,
    retained: false,
    mustNotWrite: false,
    mayEffect: false,
    lanes: [],
    session: null,
    deadlineMs: 1_000,
    attempt: 1,
    seen: commitId(1, 0),
  };
}

let core: LviCore;
let stored: Task[];
let effects: Effect[];
let callers: number;

/** Storage answers at once. */
function tell(event: Event, now = NOW): void {
  for (const effect of core.step(now, event)) {
    effects.push(effect);
    if (effect.kind === "read-tasks") {
      const { question, operation } = effect;
      const open = stored.filter(({ lane, state }) => lane === null && state === "open");
      switch (question.kind) {
        case "due":
          tell({ kind: "tasks-read", operation, answer: { kind: "due", tasks: open, upTo: null } });
          break;
        case "heads": {
          const heads = stored.filter(
            ({ lane }, at) => lane !== null && stored.findIndex((each) => each.lane === lane) === at,
          );
          tell({ kind: "tasks-read", operation, answer: { kind: "heads", tasks: heads.map(outlineOf), next: null } });
          break;
        }
        case "lane": {
          const tasks = stored.filter(({ lane }) => lane === question.lane);
          tell({ kind: "tasks-read", operation, answer: { kind: "lane", tasks, upTo: null } });
          break;
        }
        case "tasks": {
          const ids = new Set(question.tasks.map(({ id }) => id));
          const tasks = stored.filter(({ id }) => ids.has(id));
          tell({ kind: "tasks-read", operation, answer: { kind: "tasks", tasks } });
          break;
        }
        case "task": {
          const task = stored.find(({ id }) => id === question.id) ?? null;
          tell({ kind: "tasks-read", operation, answer: { kind: "task", task } });
          break;
        }
        case "count": {
          const dead = stored.filter(({ lane, state }) => lane === null && state === "dead");
          const numbers = { all: stored.length, deadInNoLane: dead.length };
          tell({ kind: "tasks-read", operation, answer: { kind: "count", numbers } });
        }
      }
    }
    if (effect.kind === "carry-out-order") {
      for (const { id, becomes } of effect.changes)
        stored = stored.flatMap((task) => (task.id !== id ? [task] : becomes === null ? [] : [becomes]));
      tell({ kind: "order-carried-out", operation: effect.operation, result: { kind: "applied" } });
    }
  }
}

function start(tasks: readonly Task[], maxTasks = 1_000): void {
  const recovered = {
    epoch: 1,
    pending: [],
    leadership: null,
    modules: new Map([[OLD, plansOf("send")]]),
    current: { module: OLD, rules: {} },
  };
  stored = [...tasks];
  core = new LviCore({ ...DEFAULT_CORE_OPTIONS, maxTasks }, recovered, NOW, HASHER);
  tell({ kind: "clock" });
}

function order(action: TaskAction, task: Task, callAgain = false): string {
  tell({ kind: "task-order", caller: ++callers, order: { action, ids: [task.id], callAgain } });
  const reply = effects.findLast((effect) => effect.kind === "task-order-reply");
  return reply?.kind === "task-order-reply" && reply.caller === callers ? reply.answer.results[0]!.outcome : "none";
}

const begun = (): readonly ExecutionId[] =>
  effects.flatMap((effect) => (effect.kind === "execute" ? [...effect.executions] : []));

beforeEach(() => {
  effects = [];
  callers = 0;
});

test("a task whose handler the current module lacks is dead, and begins when a module has it", () => {
  const task = taskOf(1, { handler: "sendMail", lane: "ann" });
  start([task]);
  expect([core.taskStateOf(task), begun()]).toEqual(["dead", []]);
  expect(order("retry", task)).toBe("not-failed");
  tell({ kind: "module-registered", module: NEW, plans: plansOf("sendMail") });
  expect([core.taskStateOf(task), begun()]).toEqual(["running", [task.id]]);
});

test("a task whose handler is missing can be discarded, and the next one of its lane is there", () => {
  const [first, second] = [taskOf(1, { handler: "gone", lane: "ann" }), taskOf(2, { lane: "ann" })];
  start([first, second]);
  expect(core.taskStateOf(second)).toBe("waiting");
  expect(order("discard", first)).toBe("done");
  expect([stored, begun()]).toEqual([[second], [second.id]]);
});

test("a step whose handler is missing is not discarded: its workflow would wait for its end for ever", () => {
  const step = { workflow: "e".repeat(32) as ExecutionId, round: 0, command: 0, isUndo: true };
  const undo = taskOf(1, { handler: "gone", step });
  start([undo]);
  expect([core.taskStateOf(undo), order("discard", undo), stored]).toEqual(["dead", "running", [undo]]);
});

test("a dead task that is tried again keeps its place, and its failures count anew", () => {
  const error = { code: "down", message: "It is down", atMs: NOW.wallMs };
  const dead = taskOf(1, { lane: "ann", state: "dead", attempt: 3, failures: 3, error });
  start([dead, taskOf(2, { lane: "ann" })]);
  expect(begun()).toEqual([]);
  expect(order("retry", dead)).toBe("done");
  expect(stored[0]).toEqual({ ...dead, state: "open", failures: 0 });
  expect(begun()).toEqual([dead.id]);
  // It runs now.
  expect([order("cancel", dead), order("retry", dead)]).toEqual(["running", "running"]);
});

test("a service that may have acted is called again only if the operator says so", () => {
  const error = { code: UNKNOWN, message: "No answer came", atMs: NOW.wallMs };
  const dead = taskOf(1, { state: "dead", failures: 1, sentAtMs: 5, error });
  start([dead]);
  expect([order("retry", dead), stored]).toEqual(["may-have-acted", [dead]]);
  expect([order("retry", dead, true), stored[0]?.sentAtMs]).toEqual(["done", null]);
});

test("a task that waits begins before its time, or is removed, and one that never was is told", () => {
  const [first, second] = [1, 2].map((n) => taskOf(n, { dueMs: NOW.wallMs + 1_000 })) as [Task, Task];
  start([first, second]);
  expect([core.taskStateOf(first), order("discard", first), order("retry", first)]).toEqual([
    "delayed",
    "not-dead",
    "not-failed",
  ]);
  expect([order("run", first), begun()]).toEqual(["done", [first.id]]);
  expect([order("cancel", second), stored.length]).toEqual(["done", 1]);
  expect(order("cancel", taskOf(3))).toBe("unknown");
});

test("over the most tasks a request that may enqueue is refused before anything is kept, and others are not", () => {
  start([taskOf(1, { dueMs: NOW.wallMs + 1_000 }), taskOf(2, { dueMs: NOW.wallMs + 1_000 })], 2);
  const ask = (number: number, mayEffect: boolean): void => {
    effects = [];
    tell({ kind: "lvi-request", caller: ++callers, request: { ...requestOf(number), mayEffect } });
  };
  ask(1, true);
  const refused = effects.find((effect) => effect.kind === "reply");
  expect(refused?.kind === "reply" && refused.reply).toMatchObject({ kind: "refused", code: "busy" });
  expect(effects.some(({ kind }) => kind === "store-intent" || kind === "look-up")).toBe(false);
  ask(2, false);
  expect(effects.some(({ kind }) => kind === "reply")).toBe(false);
});

test("a task begins by the clock when it is due, and a read that is valid at once looks for none", () => {
  const task = taskOf(1, { dueMs: NOW.wallMs + 1_000 });
  start([task]);
  tell({ kind: "module-registered", module: NEW, plans: new Map([...plansOf("send"), ["list", "sliced"]]) });
  const due = { monotonicMs: NOW.monotonicMs + 1_000, wallMs: task.dueMs };
  expect(core.wakeAtMs).toBe(due.monotonicMs);
  const request: LviRequest = { ...requestOf(1), module: NEW, handler: "list", units: [] };
  effects = [];
  tell({ kind: "lvi-request", caller: ++callers, request }, due);
  expect(effects.map(({ kind }) => kind)).toEqual(["note", "reply"]);
  expect(core.wakeAtMs).toBe(due.monotonicMs);
  tell({ kind: "clock" }, due);
  expect(begun()).toEqual([task.id]);
});
