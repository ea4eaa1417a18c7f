import { type ExecutionId, type LviReply, type LviRequest, NO_COMMIT } from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { type Effect, type Event, type Fact, NO_FACTS } from "./core/events.ts";
import type { Completion, DoneIntent, Intent } from "./core/intent.ts";
import { type Answer, Driver, type Halt, type Ports, type StoragePort } from "./driver.ts";

const COMMIT = "00000001-000000000001" as Intent["commitId"];
const EARLIER = "00000001-000000000000" as Intent["commitId"];
const OTHER = "00000001-000000000002" as Intent["commitId"];
const INTENT = { executionId: "a" as ExecutionId, commitId: COMMIT } as Intent;
const COMPLETION = { executionId: "a" as ExecutionId, commitId: COMMIT, writes: [] as const } as unknown as Completion;
const REPLY: LviReply = { kind: "refused", code: "busy", message: "", retryAfterMs: 1, asOf: NO_COMMIT };
const REQUEST = { location: "VA", units: null } as unknown as LviRequest;

type Call = { readonly name: string; readonly answer: Answer<never> };

/** Of the scripted core: what it does when it hears an event. */
let reactions: Map<Event["kind"], (event: never) => readonly Effect[]>;
let heard: Event["kind"][];
let wakeAtMs: number | null;
let calls: Call[];
let told: string[];
let halts: Halt[];
let nowMs: number;
let driver: Driver;
let act: Ports["act"];

function on<Kind extends Event["kind"]>(kind: Kind, react: (event: Event & { kind: Kind }) => readonly Effect[]): void {
  reactions.set(kind, react);
}

function reply(caller: number, after: readonly Fact[] = NO_FACTS): Effect {
  return { kind: "reply", caller, reply: REPLY, after };
}

const note: Effect = { kind: "note", note: { name: "gate" } };

function ask(name: string): void {
  driver.request(REQUEST, {
    answered: () => told.push(`${name} answered`),
    failed: ({ message }) => told.push(`${name} failed: ${message}`),
  });
}

function takeCall(name: string): Answer<unknown> {
  const at = calls.findIndex((call) => call.name === name);
  expect(calls.map((call) => call.name)).toContain(name);
  return calls.splice(at, 1)[0]!.answer as Answer<unknown>;
}

let isClear: boolean;

beforeEach(() => {
  isClear = true;
  reactions = new Map();
  [heard, calls, told, halts] = [[], [], [], []];
  [nowMs, wakeAtMs] = [0, null];
  act = (run) => run();
  const storage = new Proxy({} as StoragePort, {
    get:
      (_, name: string) =>
      (...args: readonly unknown[]) =>
        void calls.push({ name, answer: args.at(-1) as Answer<never> }),
  });
  driver = new Driver({
    core: {
      step: (_now, event) => {
        heard.push(event.kind);
        return (reactions.get(event.kind) as ((event: Event) => readonly Effect[]) | undefined)?.(event) ?? [];
      },
      get isClear() {
        return isClear;
      },
      get wakeAtMs() {
        return wakeAtMs;
      },
      namesTask: null,
    },
    epoch: 1,
    ports: {
      now: () => ({ monotonicMs: nowMs, wallMs: nowMs }),
      wakeAt: (atMs) => void told.push(`wake at ${atMs}`),
      act: (run) => act(run),
      storage,
      execute: (_task, _location, ended) =>
        void calls.push({ name: "execute", answer: { succeeded: ended, failed: () => {} } }),
      callService: (_call, ended) =>
        void calls.push({ name: "callService", answer: { succeeded: ended, failed: () => {} } }),
      observer: {
        replied: () => {},
        followed: () => {},
        noted: ({ name }) => void told.push(`note ${name}`),
        updated: () => {},
        sampled: (_, sample, leftOut) => void told.push(sample === null ? `${leftOut} samples left out` : "sample"),
        collected: ({ intents }) => void told.push(`collected ${intents}`),
        moduleRemoved: (module) => void told.push(`removed ${module}`),
        collectFailed: (reason) => void told.push(`not collected: ${reason}`),
      },
      halted: (halt) => void halts.push(halt),
    },
  });
});

describe("a line that leases", () => {
  const tell = (operation: number): Effect => ({
    kind: "tell",
    listeners: [],
    line: { kind: "lease", n: 1, units: [] },
    after: [{ kind: "operation", operation }],
  });

  test("leaves when storage names the time of leases, and so do all later ones", () => {
    on("clock", () => [{ kind: "name-read-leases", operation: 7, readLeaseMs: 3_000 }]);
    driver.wake();
    on("read-leases-named", () => [tell(7)]);
    takeCall("nameReadLeases").succeeded(true);
    on("clock", () => [tell(7)]);
    driver.wake();
    expect(halts).toEqual([]);
  });

  test.each([
    ["storage names the time", undefined],
    ["storage has said that this server leads", false],
  ])("never leaves before %s", (_, isHeld) => {
    on("clock", () => [{ kind: "name-read-leases", operation: 7, readLeaseMs: 3_000 }]);
    driver.wake();
    if (isHeld !== undefined) takeCall("nameReadLeases").succeeded(isHeld);
    on("clock", () => [tell(7)]);
    expect(() => driver.wake()).not.toThrow();
    expect(halts).toMatchObject([
      { kind: "broken", error: { message: expect.stringContaining("before operation 7") } },
    ]);
  });
});

describe("an answer", () => {
  test("goes to the one who asked, once, perhaps before the call has returned", () => {
    on("lvi-request", ({ caller }) => [reply(caller)]);
    ask("A");
    ask("B");
    expect(told).toEqual(["A answered", "B answered"]);
  });

  test("that is given twice is a broken invariant", () => {
    on("lvi-request", ({ caller }) => [reply(caller), reply(caller)]);
    ask("A");
    expect(halts).toMatchObject([{ kind: "broken", error: { message: "Caller 1 is answered twice." } }]);
  });

  test("that waits for an operation leaves with the success of it, to all who wait", () => {
    const after = [{ kind: "operation", operation: 7 }] as const;
    on("lvi-request", () => []);
    ask("A");
    ask("B");
    on("clock", () => [{ kind: "store-intent", operation: 7, intent: INTENT }]);
    on("intent-stored", () => [reply(1, after), reply(2, after)]);
    driver.wake();
    takeCall("storeIntent").succeeded({ kind: "stored" });
    expect(told).toEqual(["A answered", "B answered"]);
    expect(halts).toEqual([]);
  });

  test.each([
    ["before it was sent", () => {}],
    ["before it has ended", () => driver.wake()],
    [
      "after it has failed",
      () => {
        driver.wake();
        takeCall("storeIntent").failed("unknown", "no answer");
      },
    ],
    [
      "after another server has taken over",
      () => {
        driver.wake();
        takeCall("storeIntent").succeeded({ kind: "fenced" });
      },
    ],
    [
      "after another intent was found in its place",
      () => {
        driver.wake();
        const other = { ...INTENT, commitId: NO_COMMIT };
        takeCall("storeIntent").succeeded({ kind: "exists", record: { state: "pending", intent: other } });
      },
    ],
  ])("that waits for an operation is not sent %s", (_when, happen) => {
    on("lvi-request", () => []);
    on("clock", () => [{ kind: "store-intent", operation: 7, intent: INTENT }]);
    on("drain", () => [reply(1, [{ kind: "operation", operation: 7 }])]);
    ask("A");
    happen();
    driver.tell({ kind: "drain" });
    expect(told).toEqual(["A failed: An effect leaves before operation 7 has succeeded."]);
    expect(halts).toMatchObject([{ kind: "broken" }]);
  });

  test("may wait for an operation of which only a repeat has said that it was done", () => {
    on("lvi-request", () => []);
    on("clock", () => [
      { kind: "complete", operation: 8, completions: [{ expects: "new", completion: COMPLETION }], after: [] },
    ]);
    on("completed", () => [reply(1, [{ kind: "operation", operation: 8 }])]);
    ask("A");
    driver.wake();
    const done = { commitId: COMMIT } as DoneIntent;
    takeCall("commit").succeeded({ kind: "exists", id: COMPLETION.executionId, record: { state: "done", done } });
    expect(told).toEqual(["A answered"]);
  });

  test.each([
    [
      "of another execution of the train under its own commit id: the train was done",
      COMPLETION.executionId,
      COMMIT,
      true,
    ],
    ["of another execution of the train under an earlier commit id", COMPLETION.executionId, EARLIER, false],
    ["of an execution that is not in the train", "c" as ExecutionId, COMMIT, false],
  ])("may wait for the commit of a train of which a repeat has found the record %s", (_, id, commitId, isDone) => {
    const first = { executionId: "b" as ExecutionId, commitId: OTHER, writes: [] as const } as unknown as Completion;
    const completions = [first, COMPLETION].map((completion) => ({ expects: "new", completion }) as const);
    on("lvi-request", () => []);
    on("clock", () => [{ kind: "complete", operation: 8, completions, after: [] }]);
    on("completed", () => [reply(1, [{ kind: "operation", operation: 8 }])]);
    ask("A");
    driver.wake();
    const done = { commitId } as DoneIntent;
    takeCall("commit").succeeded({ kind: "exists", id, record: { state: "done", done } });
    expect(told).toEqual([isDone ? "A answered" : "A failed: An effect leaves before operation 8 has succeeded."]);
  });

  test("may wait for a success of an earlier step, and for a time", () => {
    on("clock", () => [{ kind: "store-intent", operation: 7, intent: INTENT }]);
    on("drain", () => [
      reply(1, [
        { kind: "operation", operation: 7 },
        { kind: "passed", atMs: 50 },
      ]),
    ]);
    ask("A");
    driver.wake();
    takeCall("storeIntent").succeeded({ kind: "stored" });
    nowMs = 50;
    driver.tell({ kind: "drain" });
    expect(told).toEqual(["A answered"]);
  });

  test("may wait for a success whose event the core has put off for an hour", () => {
    on("clock", () => [{ kind: "store-intent", operation: 7, intent: INTENT }]);
    on("intent-stored", () => []);
    ask("A");
    driver.wake();
    takeCall("storeIntent").succeeded({ kind: "stored" });
    nowMs = 3_600_000;
    on("intent-stored", () => [reply(1, [{ kind: "operation", operation: 7 }])]);
    const putOff = { kind: "intent-stored", operation: 7, result: { kind: "stored" } } as const;
    on("drain", () => [{ kind: "resume", events: [putOff] }]);
    driver.tell({ kind: "drain" });
    expect([told, halts]).toEqual([["A answered"], []]);
  });

  test("may make its asker ask again at once, while others wait for the same success", () => {
    const after = [{ kind: "operation", operation: 7 }] as const;
    on("lvi-request", ({ caller }) => (caller > 2 ? [reply(caller)] : []));
    driver.request(REQUEST, { answered: () => ask("C"), failed: () => {} });
    ask("B");
    on("clock", () => [{ kind: "store-intent", operation: 7, intent: INTENT }]);
    on("intent-stored", () => [reply(1, after), reply(2, after)]);
    driver.wake();
    takeCall("storeIntent").succeeded({ kind: "stored" });
    expect([told, halts]).toEqual([["C answered", "B answered"], []]);
  });
});

describe("the end", () => {
  test("a halt ends the step: nothing that comes after it is done, and nothing is heard any more", () => {
    on("clock", () => [
      { kind: "execute", run: { id: 1 } as never, location: "VA", executions: [], after: [] },
      { kind: "halt", reason: "taken over" },
      note,
    ]);
    ask("A");
    driver.wake();
    expect(halts).toEqual([{ kind: "taken-over", reason: "taken over" }]);
    expect(told).toEqual(["A failed: taken over"]);
    takeCall("execute").succeeded({ result: { kind: "crowded-out" }, tookMs: 1 });
    ask("B");
    driver.wake();
    expect(heard).toEqual(["lvi-request", "clock"]);
    expect(told).toEqual(["A failed: taken over", "B failed: taken over"]);
  });

  test("a core that throws has ended, and is woken no more", () => {
    on("clock", () => {
      wakeAtMs = 5;
      throw new Error("broken");
    });
    ask("A");
    driver.wake();
    expect(told).toEqual(["A failed: broken"]);
    expect(halts).toHaveLength(1);
  });

  test("a step that ends the driver within another one ends that too", () => {
    on("clock", () => [{ kind: "resume", events: [{ kind: "drain" }, { kind: "collect" }] }, note]);
    on("drain", () => [{ kind: "halt", reason: "taken over" }]);
    driver.wake();
    expect(heard).toEqual(["clock", "drain"]);
    expect(told).toEqual([]);
    expect(halts).toHaveLength(1);
  });

  test("whoever waits for all answers is told when the last one is given, or there will be none", () => {
    on("drain", () => [reply(1)]);
    driver.whenDrained(() => told.push("none waits"));
    ask("A");
    ask("B");
    driver.whenDrained(() => told.push("all answered"));
    driver.tell({ kind: "drain" });
    expect(told).toEqual(["none waits", "A answered"]);
    driver.close();
    expect(told.slice(2)).toEqual(["B failed: This server has stopped.", "all answered"]);
    expect(halts).toEqual([]);
  });
});

test("events that were put off come back in their order, each in a step of its own, when the process goes on", () => {
  const waiting: (() => void)[] = [];
  act = (run) => void waiting.push(run);
  on("clock", () => [{ kind: "resume", events: [{ kind: "drain" }, { kind: "collect" }] }]);
  driver.wake();
  expect(heard).toEqual(["clock"]);
  for (const run of waiting) run();
  expect(heard).toEqual(["clock", "drain", "collect"]);
});

test("the port is asked to wake the driver as soon as anything is due, and not again for what is due later", () => {
  wakeAtMs = 100;
  driver.tell({ kind: "drain" });
  driver.tell({ kind: "drain" });
  wakeAtMs = 200;
  driver.tell({ kind: "drain" });
  wakeAtMs = 50;
  driver.tell({ kind: "drain" });
  expect(told).toEqual(["wake at 100", "wake at 50"]);
  nowMs = 50;
  wakeAtMs = 200;
  driver.wake();
  expect(told).toEqual(["wake at 100", "wake at 50", "wake at 200"]);
  expect(heard.at(-1)).toBe("clock");
});

test("a collection says what came of each part of it, whatever fails", () => {
  on("collect", () => [
    {
      kind: "collect",
      doneBeforeMs: 1,
      toldBeforeMs: 2,
      limit: 3,
      used: [{ module: "u" as never, usedAtMs: 1 }],
      unused: [
        { module: "v" as never, usedAtMs: 1 },
        { module: "w" as never, usedAtMs: 1 },
      ],
    },
  ]);
  driver.tell({ kind: "collect" });
  expect(calls.map(({ name }) => name)).toEqual(["useModule", "removeModule", "removeModule", "collect"]);
  takeCall("useModule").failed("none", "broken");
  takeCall("removeModule").succeeded(true);
  takeCall("removeModule").succeeded(false);
  takeCall("collect").succeeded({ intents: 3, outcomes: 0 });
  expect(told).toEqual(["not collected: broken", "removed v", "collected 3"]);
  expect(heard).toEqual(["collect", "collected"]);
});

test("samples go to those who look on", () => {
  const sampling = { every: 1, handlers: null, values: true, perSecond: null };
  on("clock", () => [
    { kind: "sampled", sampling, sample: {} as never },
    { kind: "sample-left-out", sampling, count: 3 },
  ]);
  driver.wake();
  expect(told).toEqual(["sample", "3 samples left out"]);
});
