/** Ends that are asked for: of workflows that wait, that are stuck, that have children, and that have not begun. One core after the other. */
import {
  type Answer,
  DEFAULT_CORE_OPTIONS,
  type Driver,
  type EndedRun,
  LviCore,
  type Now,
  type Run,
  type Task,
  type Workflow,
} from "@radical/lvi-server/core";
import {
  CANCELLED,
  type CommitId,
  contentHash,
  type ExecutionId,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  present,
  type RunEffect,
  stepIdOf,
  type TaskOrderAnswer,
  taskIdOf,
  type WorkflowAction,
  type WorkflowOrderOutcome,
  type WorkflowRun,
} from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { modelDriver } from "./model-driver.ts";
import { portOf } from "./model-port.ts";
import { ModelStorage } from "./model-storage.ts";
import { decode, encode, type Program, runProgram } from "./workflow-programs.ts";

const MODULE = "a".repeat(64) as ModuleHash;
const PLANS = new Map([
  ["flow", "workflow"],
  ["traps", "workflow"],
  ["hire", "near-storage"],
  ["step", "near-storage"],
] as const);
const HASHER = {
  hash: (bytes: Uint8Array) => ({ key: "test", hash: contentHash(bytes) }),
  hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
};
const DAY = 86_400_000;
const WAITS: Program = [{ kind: "signal", name: "go", ms: null }];
const UNDO = { kind: "undo", by: "flow", fails: 0, writes: true } as const;

/** A handler that enqueues workflows. */
interface Hiring {
  readonly handler: string;
  readonly delayMs: number;
}

/** An answer of storage that is on its way. */
interface OnItsWay {
  readonly value: unknown;
  readonly arrives: () => void;
  readonly isLost: () => void;
}

class World {
  readonly storage = new ModelStorage(true);
  /** Storage and workers are about to do it. */
  readonly #next: (() => void)[] = [];
  /** They do nothing by themselves. */
  isHeld = false;
  /** Answers of storage that nobody has heard; null: they arrive at once. */
  onTheirWay: OnItsWay[] | null = null;
  nowMs = 1_000;
  aheadMs = 0;
  /** From now on workflows trap, which waited before. */
  trapping = false;
  core!: LviCore;
  driver!: Driver;
  /** To requests. */
  readonly replies: string[] = [];
  #names = 0;

  constructor() {
    this.start();
  }

  start(): void {
    this.#next.length = 0;
    const { storage } = this;
    const { epoch } = present(storage.acquireLeadership(storage.leadership, 0, 0), "nobody else leads");
    const pending = present(storage.recover(epoch), "nobody else leads");
    const recovered = {
      epoch,
      pending,
      leadership: null,
      modules: new Map([[MODULE, PLANS]]),
      current: { module: MODULE, rules: {}, services: {} },
    };
    const options = { ...DEFAULT_CORE_OPTIONS, readLeaseMs: 0, maxClockSkewMs: Infinity };
    const core = new LviCore(options, recovered, this.#now, HASHER);
    this.core = core;
    this.driver = modelDriver({
      core,
      epoch,
      step: (now, event) => {
        const effects = core.step(now, event);
        for (const effect of effects)
          if (effect.kind === "complete") for (const { completion } of effect.completions) storage.expect(completion);
        return effects;
      },
      now: () => this.#now,
      wakeAt: () => undefined,
      storage: portOf(storage, (act, answer) => this.#ask(act, answer)),
      execute: (run, _location, ended) => void this.#next.push(() => ended(this.#execute(run))),
    });
    this.settle();
  }

  get #now(): Now {
    return { monotonicMs: this.nowMs, wallMs: 1_700_000_000_000 + this.nowMs + this.aheadMs, aheadMs: this.aheadMs };
  }

  #ask<T>(act: () => T, answer: Answer<T>): void {
    this.#next.push(() => {
      const value = act();
      const arrives = (): void => answer.succeeded(value);
      if (this.onTheirWay === null) return arrives();
      this.onTheirWay.push({ value, arrives, isLost: () => answer.failed("none", "simulated") });
    });
  }

  /** Until nothing is left to do at this time. */
  settle(): void {
    for (let steps = 0; !this.isHeld && this.#next.length > 0; steps++) {
      if (steps > 10_000) throw new Error("it does not come to rest");
      this.doNext();
    }
  }

  /** The answers arrive, until those are left that stay on their way. */
  hear(stays: (value: unknown) => boolean): void {
    for (;;) {
      const at = this.onTheirWay?.findIndex(({ value }) => !stays(value)) ?? -1;
      const [next] = at < 0 ? [] : (this.onTheirWay?.splice(at, 1) ?? []);
      if (next === undefined) return;
      next.arrives();
      this.settle();
    }
  }

  doNext(): void {
    present(this.#next.shift(), "something is left to do")();
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.driver.wake();
    this.settle();
  }

  #execute({ invocation, access }: Run): EndedRun {
    const { executionId: id, handler, args } = invocation;
    const run = access.kind === "workflow" ? this.#activate(id, handler, args, access) : null;
    if (run !== null) return { result: { kind: "activated", run }, tookMs: 0 };
    const hiring = handler === "hire" ? decode<Hiring>(args) : null;
    const effects: readonly RunEffect[] =
      hiring === null
        ? []
        : [{ kind: "enqueue", callee: hiring.handler, args: encode(WAITS), delayMs: hiring.delayMs, key: "lane" }];
    const outcome = { kind: "result", value: encode("done") } as const;
    return { result: { kind: "completed", outcome, reads: [], writes: [], effects }, tookMs: 0 };
  }

  #activate(
    id: ExecutionId,
    handler: string,
    args: Uint8Array,
    { activation, round }: Run["access"] & { kind: "workflow" },
  ): WorkflowRun {
    // At its second run, after a wait.
    if (handler === "traps" && this.trapping && activation.journal.length > 0)
      return { kind: "trap", code: "unreachable", message: "it trapped" };
    return runProgram(`${id.slice(-4)}r${round}`, decode<Program>(args), activation, (command) =>
      stepIdOf({ workflow: id, round }, command),
    );
  }

  #idOf(): ExecutionId {
    return (++this.#names).toString(16).padStart(32, "0") as ExecutionId;
  }

  /** As storage tells it from now on, to a server that starts. */
  becomes(id: ExecutionId, more: { readonly task?: Partial<Task>; readonly workflow?: Partial<Workflow> }): void {
    const record = present(this.storage.intents.get(id), "it is there");
    if (record.state === "task") this.storage.intents.set(id, { ...record, task: { ...record.task, ...more.task } });
    if (record.state === "workflow")
      this.storage.intents.set(id, { ...record, workflow: { ...record.workflow, ...more.workflow } });
    this.start();
  }

  /** A request for it. */
  ask(handler: string, args: Uint8Array, more: Partial<LviRequest> = {}): ExecutionId {
    const executionId = more.executionId ?? this.#idOf();
    const request: LviRequest = {
      module: MODULE,
      handler,
      args,
      environment: { timeMs: 1_700_000_000_000, seed: new Uint8Array(16), caller: null },
      location: "va",
      units: null,
      retained: true,
      mustNotWrite: false,
      mayEffect: handler === "hire",
      lanes: [],
      session: null,
      waitMs: 0,
      deadlineMs: 60_000,
      attempt: 1,
      seen: null,
      ...more,
      executionId,
    };
    const send = (attempt: number, seen: CommitId | null): void =>
      this.driver.request(
        { ...request, attempt, seen },
        {
          answered: (reply) => {
            this.replies.push(wordsOf(reply));
            if (reply.kind === "refused" && reply.code === "in_doubt") send(attempt + 1, reply.asOf);
          },
          failed: () => undefined,
        },
      );
    send(1, null);
    this.settle();
    return executionId;
  }

  /** Enqueues a workflow. Its id. */
  hire(handler: string, delayMs: number): ExecutionId {
    return taskIdOf(this.ask("hire", encode({ handler, delayMs })), 0);
  }

  /** Asks for a workflow, or for its end. The reply is there when all has come to rest. */
  question(workflow: ExecutionId, cancels: boolean, more: { handler?: string; waitMs?: number } = {}): () => string {
    const { handler = "flow", waitMs = 0 } = more;
    let words = "no answer";
    this.driver.workflow(
      { workflow, handler, caller: null, cancels, waitMs, seen: null },
      { answered: (reply) => (words = wordsOf(reply)), failed: () => (words = "failed") },
    );
    this.settle();
    return () => words;
  }

  order(action: WorkflowAction, id: ExecutionId): () => WorkflowOrderOutcome | null {
    let outcome: WorkflowOrderOutcome | null = null;
    this.driver.orderWorkflow(action, id, { answered: (told) => (outcome = told), failed: () => undefined });
    this.settle();
    return () => outcome;
  }

  /** How each workflow has ended, or stands. */
  get states(): readonly string[] {
    const records = [...this.storage.intents.values()].flatMap((record) =>
      record.state === "workflow" ? [record.workflow] : [],
    );
    return records.map(({ state, outcome }) => (state === "ended" ? endOf(outcome) : state)).toSorted();
  }
}

function endOf(outcome: { readonly kind: string; readonly code?: string } | null): string {
  return outcome?.code ?? outcome?.kind ?? "";
}

function wordsOf(reply: LviReply): string {
  if (reply.kind === "executed") return endOf(reply.outcome);
  if (reply.kind === "working") return reply.state;
  return reply.kind === "refused" ? reply.code : reply.kind;
}

let world: World;

beforeEach(() => {
  world = new World();
});

describe("a stuck workflow", () => {
  const stuck = (): ExecutionId => {
    const id = world.ask("traps", encode([UNDO, { kind: "sleep", ms: 1_000 }, ...WAITS] satisfies Program));
    world.trapping = true;
    world.pass(2_000);
    expect(world.states).toEqual(["stuck"]);
    return id;
  };

  test("that its caller cancels ends as cancelled, and undoes what it has done", () => {
    const id = stuck();
    const told = world.question(id, true, { handler: "traps", waitMs: 60_000 });
    expect(told()).toBe(CANCELLED.code);
    // The other one is the workflow that undoes.
    expect(world.states).toEqual([CANCELLED.code, "result"]);
  });

  test("that an operator cancels does so too, also if the server dies before it has heard of that", () => {
    const id = stuck();
    const told = world.order("cancel", id);
    expect([told(), world.states]).toEqual(["done", [CANCELLED.code, "result"]]);

    world = new World();
    const other = stuck();
    world.isHeld = true;
    world.order("cancel", other);
    world.doNext();
    world.isHeld = false;
    // Storage has the cancellation, and nobody has done anything about it.
    expect(world.states).toEqual(["stuck"]);
    world.start();
    world.pass(1);
    expect([world.question(other, false, { handler: "traps" })(), world.states]).toEqual([
      CANCELLED.code,
      [CANCELLED.code, "result"],
    ]);
  });

  test("goes on if an operator lets it try again", () => {
    const id = stuck();
    world.trapping = false;
    expect([world.order("retry", id)(), world.states]).toEqual(["done", ["open"]]);
    expect(world.order("retry", id)()).toBe("not-stuck");
  });

  test("among the children of a workflow that was cancelled holds nobody up", () => {
    world.trapping = true;
    const traps: Program = [{ kind: "sleep", ms: 1_000 }, ...WAITS];
    const parent = world.ask("flow", encode([{ kind: "child", program: traps, callee: "traps" }]));
    world.pass(2_000);
    expect(world.states).toEqual(["open", "stuck"]);
    expect(world.question(parent, true, { waitMs: 60_000 })()).toBe(CANCELLED.code);
    expect(world.states).toEqual([CANCELLED.code, CANCELLED.code]);
  });
});

describe("a workflow that was cancelled", () => {
  const family: Program = [UNDO, { kind: "child", program: [{ kind: "child", program: WAITS }] }];

  test("ends its children, and theirs, and then undoes", () => {
    const id = world.ask("flow", encode(family));
    expect(world.states).toEqual(["open", "open", "open"]);
    expect(world.question(id, true, { waitMs: 60_000 })()).toBe(CANCELLED.code);
    expect(world.states).toEqual([CANCELLED.code, CANCELLED.code, CANCELLED.code, "result"]);
  });

  test("does so at the next server, if its own one dies", () => {
    const id = world.ask("flow", encode(family));
    world.question(id, true);
    world.start();
    expect(world.question(id, false)()).toBe(CANCELLED.code);
    expect(world.states).toEqual([CANCELLED.code, CANCELLED.code, CANCELLED.code, "result"]);
  });
});

test("somebody who asks for a child is told how it stands, also while the commit that begins it is on its way", () => {
  world.isHeld = true;
  const parent = world.ask("flow", encode([{ kind: "child", program: WAITS }]));
  const child = stepIdOf({ workflow: parent, round: 0 }, 0);
  const asked: (() => string)[] = [];
  // Before each thing that storage and workers do, until the child is durable.
  while (!world.storage.intents.has(child)) {
    asked.push(world.question(child, false, { waitMs: 10 }));
    world.doNext();
  }
  world.isHeld = false;
  world.settle();
  world.pass(20);
  const told = asked.map((answer) => answer());
  expect(new Set(told)).toEqual(new Set(["unknown_workflow", "waiting"]));
  expect(told.at(-1)).toBe("waiting");
});

test("a workflow that fails by itself ends its children", () => {
  world.ask("flow", encode([{ kind: "child", program: WAITS, isLone: true }, { kind: "abort" }]));
  expect(world.states).toEqual(["aborted", CANCELLED.code]);
});

describe("a workflow that has not begun", () => {
  test("is cancelled by its caller, who finds it as such afterwards", () => {
    const id = world.hire("flow", DAY);
    expect(world.question(id, false)()).toBe("waiting");
    expect(world.question(id, true)()).toBe(CANCELLED.code);
    expect([world.question(id, false)(), world.question(id, true)()]).toEqual([CANCELLED.code, CANCELLED.code]);
    world.pass(2 * DAY);
    expect(world.states).toEqual([CANCELLED.code]);
    world.start();
    expect(world.question(id, false)()).toBe(CANCELLED.code);
  });

  test("is cancelled by an operator, as a workflow and as a task", () => {
    const [first, second] = [world.hire("flow", DAY), world.hire("flow", DAY)];
    expect(world.order("cancel", first)()).toBe("done");
    expect(world.order("cancel", first)()).toBe("unknown");
    let answer: TaskOrderAnswer | null = null;
    const order = { action: "cancel", ids: [second], callAgain: false } as const;
    world.driver.orderTasks(order, { answered: (told) => (answer = told), failed: () => undefined });
    world.settle();
    expect(answer).toEqual({ results: [{ id: second, outcome: "done" }] });
    expect([world.question(first, false)(), world.question(second, false)()]).toEqual([CANCELLED.code, CANCELLED.code]);
  });

  test("is asked for by others in vain", () => {
    const id = world.hire("flow", DAY);
    expect(world.question(id, true, { handler: "traps" })()).toBe("unknown_workflow");
    // A task that becomes no workflow is none.
    const task = world.hire("step", DAY);
    expect(world.order("cancel", task)()).toBe("unknown");
    for (const cancels of [false, true])
      expect(world.question(task, cancels, { handler: "step" })()).toBe("unknown_workflow");
    expect(world.question(id, false)()).toBe("waiting");
  });

  test("is cancelled while it begins", () => {
    const id = world.hire("flow", 1_000);
    world.isHeld = true;
    world.pass(2_000);
    const [told, ordered] = [world.question(id, true, { waitMs: 60_000 }), world.order("cancel", id)];
    expect([told(), ordered()]).toEqual(["no answer", null]);
    world.isHeld = false;
    world.settle();
    expect([told(), ordered()]).toEqual([CANCELLED.code, "done"]);
    expect(world.states).toEqual([CANCELLED.code]);
  });
});

test("a workflow takes back a task that it has enqueued", () => {
  const hire = { kind: "hire", program: WAITS, delayMs: DAY, pauseMs: 500, acts: ["cancel"] } as const;
  world.ask("flow", encode([hire]));
  expect(world.core.load.tasks.delayed).toBe(1);
  world.pass(1_000);
  expect(world.states).toEqual([CANCELLED.code, "result"]);
  expect(world.core.load.tasks.all).toBe(0);
});

test("tasks are counted again if a task became a workflow meanwhile", () => {
  world.hire("flow", 2_000);
  world.hire("flow", DAY);
  const isCount = (value: unknown): boolean => typeof value === "object" && value !== null && "deadInNoLane" in value;
  const isCommit = (value: unknown): boolean => typeof value === "object" && value !== null && "kind" in value;
  world.onTheirWay = [];
  world.start();
  world.pass(2_000);
  world.hear((value) => isCount(value) || isCommit(value));
  // Storage has the workflow. Now it counts once more, and the primary hears of the number first.
  present(
    world.onTheirWay.find(({ value }) => isCount(value)),
    "a starting server counts",
  ).isLost();
  world.onTheirWay = world.onTheirWay.filter(({ value }) => !isCount(value));
  world.pass(1_000);
  expect(world.onTheirWay.map(({ value }) => isCount(value))).toEqual([false, true]);
  world.hear(isCommit);
  world.hear(() => false);
  world.onTheirWay = null;
  world.pass(1_000);
  expect(world.states).toEqual(["open"]);
  expect(world.core.load.tasks.all).toBe(1);
});

test("somebody who waits for a workflow waits by the machine's time, however far the time of tasks moves", () => {
  const id = world.ask("flow", encode([{ kind: "sleep", ms: 10 * DAY }]));
  const told = world.question(id, false, { waitMs: 20_000 });
  world.aheadMs += 3 * DAY;
  world.pass(1);
  // A move of the time goes to the end of the sleep, and stops nowhere before.
  expect([told(), world.core.nextDueMs - world.nowMs - world.aheadMs]).toEqual(["no answer", 7 * DAY - 1]);
  world.pass(20_000);
  expect(told()).toBe("waiting");
  const last = world.question(id, false, { waitMs: 20_000 });
  world.aheadMs += 8 * DAY;
  world.pass(1);
  expect(last()).toBe("result");
});

describe("what storage can't open", () => {
  test("a task whose arguments are unreadable begins no workflow, is dead at once, and begins it when they are back", () => {
    const id = world.hire("flow", 5_000);
    world.becomes(id, { task: { isUnreadable: true } });
    world.pass(6_000);
    expect(world.storage.intents.get(id)).toMatchObject({
      state: "task",
      task: { state: "dead", failures: 1, error: { code: "arguments" } },
    });
    // Nobody can tell whose it is.
    expect(world.question(id, true)()).toBe("busy");
    const { isUnreadable: _, ...task } = present(world.storage.findTask(id), "it is there");
    world.storage.intents.set(id, { state: "task", task });
    world.start();
    world.driver.orderTasks(
      { action: "retry", ids: [id], callAgain: false },
      { answered: () => undefined, failed: () => undefined },
    );
    world.settle();
    world.pass(1_000);
    expect(world.states).toEqual(["open"]);
  });

  test("the answer of a workflow that has ended is refused as not kept", () => {
    const args = encode([] satisfies Program);
    const id = world.ask("flow", args);
    expect(world.states).toEqual(["result"]);
    world.becomes(id, { workflow: { outcome: null, caller: null } });
    expect(world.question(id, false)()).toBe("answer_not_kept");
    expect(world.question(id, true)()).toBe("answer_not_kept");
    expect(world.question(id, false, { handler: "traps" })()).toBe("unknown_workflow");
    world.ask("flow", args, { executionId: id, attempt: 2 });
    world.ask("flow", encode(WAITS), { executionId: id, attempt: 2 });
    const told = world.replies.filter((words) => words !== "in_doubt");
    expect(told.slice(-2)).toEqual(["answer_not_kept", "idempotency_key_reused"]);
  });
});
