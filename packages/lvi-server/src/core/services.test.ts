/** Calls of services in virtual time: what leaves when, and what becomes of the task. */
import { commitId, type ExecutionId, type ModuleHash, serviceKeyOf, type ServiceRules } from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_CORE_OPTIONS } from "./core-options.ts";
import type { Effect, NoteName } from "./events.ts";
import { type CallAnswer, Services } from "./services.ts";
import { placeOf, type Task } from "./task.ts";
import { decodePart } from "./workflow.ts";

const HOUR = 3_600_000;
const OPTIONS = DEFAULT_CORE_OPTIONS.services;
const VALUE: CallAnswer = { kind: "value", bytes: Uint8Array.of(1) };
const REFUSED: CallAnswer = { kind: "refused", code: "declined", message: "the card is blocked" };
const FAILED: CallAnswer = { kind: "failed", code: "Error", message: "the bank is down" };
const LOST: CallAnswer = { kind: "lost", message: "connection reset" };
const DOWN: CallAnswer = { kind: "not-called", code: "worker_unreachable", message: "connection refused" };

function taskOf(number: number, handler = "charge"): Task {
  return {
    id: (0x80000000 + number).toString(16).padEnd(32, "0") as ExecutionId,
    handler,
    args: Uint8Array.of(0xa0),
    seed: new Uint8Array(16),
    caller: null,
    parent: "0".repeat(32) as ExecutionId,
    module: "a".repeat(64) as ModuleHash,
    lane: null,
    place: placeOf(commitId(1, number), 0),
    createdAtMs: 0,
    dueMs: 0,
    attempt: 0,
    failures: 0,
    sentAtMs: null,
    state: "open",
    error: null,
  };
}

let effects: Effect[] = [];
let notes: NoteName[] = [];
let details: string[] = [];
let undoFailures: string[] = [];
let settled: { readonly task: Task; readonly next: Task | null }[] = [];
let retried: number[] = [];
let now = { nowMs: 0, wallMs: 1_000_000 };
let rules: Record<string, ServiceRules> = {};
let services: Services;
let names = 0;

beforeEach(() => {
  [effects, notes, details, undoFailures, settled, retried, names] = [[], [], [], [], [], [], 0];
  now = { nowMs: 0, wallMs: 1_000_000 };
  rules = { charge: { keyWindowMs: HOUR, once: false }, mail: { keyWindowMs: HOUR, once: true } };
  services = new Services(OPTIONS, {
    nextName: () => ++names,
    emit: (effect) => void effects.push(effect),
    retry: (operation, effect) => {
      retried.push(operation);
      effects.push(effect);
    },
    arrived: () => {},
    rulesOf: (name) => rules[name] ?? null,
    attemptsOf: () => 3,
    settled: (task, next) => void settled.push({ task, next }),
    note: (name, _task, { detail = "" }) => {
      notes.push(name);
      details.push(detail);
    },
    undoFailed: ({ callee, reason }) => void undoFailures.push(`${callee}: ${reason}`),
    replaced: () => void notes.push("intent_alarm"),
  });
});

function pass(ms: number): void {
  now = { nowMs: now.nowMs + ms, wallMs: now.wallMs + ms };
}

function taken<Kind extends Effect["kind"]>(kind: Kind): Effect & { readonly kind: Kind } {
  const effect = effects.shift();
  expect(effect?.kind).toBe(kind);
  return effect as Effect & { readonly kind: Kind };
}

/** Storage makes the change. */
function stored(): Task | null {
  const { operation, change } = taken("change-task");
  services.changed(operation, { kind: "applied" }, now);
  return change.becomes;
}

/** An attempt from its mark to its settlement; the record after it. */
function attempt(task: Task, answer: CallAnswer): Task | null {
  services.begin(task, now);
  if (task.sentAtMs === null) stored();
  services.answered(taken("call-service").call, answer, now);
  const next = stored();
  expect(effects).toEqual([]);
  return next;
}

test("a call leaves when its mark is durable, and its task is gone with the answer", () => {
  const task = taskOf(1);
  services.begin(task, now);
  const { operation, change } = taken("change-task");
  expect(change).toEqual({
    id: task.id,
    expects: { attempt: 0, lane: null },
    becomes: { ...task, sentAtMs: now.wallMs },
  });
  expect(effects).toEqual([]);
  services.changed(operation, { kind: "applied" }, now);
  const { call, ...called } = taken("call-service");
  expect(called).toEqual({
    kind: "call-service",
    task: task.id,
    service: "charge",
    key: serviceKeyOf(task.id),
    args: task.args,
    timeoutMs: OPTIONS.timeoutMs,
    after: [
      { kind: "owed", task: task.id, attempt: 0 },
      { kind: "marked", task: task.id, sentAtMs: now.wallMs },
    ],
  });
  services.answered(call, VALUE, now);
  expect(settled).toEqual([]);
  expect(stored()).toBeNull();
  expect(settled).toMatchObject([{ next: null }]);
  expect(services.calling).toBe(0);
});

test("a refusal is final, and is told", () => {
  expect(attempt(taskOf(1), REFUSED)).toBeNull();
  expect(notes).toContain("service_refused");
});

test.each([
  ["thrown", FAILED, "Error"],
  ["lost", LOST, "service_unanswered"],
])("what was %s is tried again under the same mark, until the attempts are over", (_what, answer, code) => {
  const first = attempt(taskOf(1), answer)!;
  expect(first).toMatchObject({ attempt: 1, failures: 1, sentAtMs: 1_000_000, state: "open", error: { code } });
  pass(60_000);
  const second = attempt(first, answer)!;
  expect(second).toMatchObject({ attempt: 2, sentAtMs: 1_000_000, state: "open" });
  expect(attempt(second, answer)).toMatchObject({ attempt: 3, state: "dead", error: { code } });
});

test("an undo has no last attempt, and the alarm tells once that it has failed as often as makes a task dead", () => {
  const step = { workflow: "c".repeat(32) as ExecutionId, round: 0, command: 2, isUndo: true };
  let task: Task = { ...taskOf(1), step };
  const told: number[] = [];
  for (let failures = 1; failures <= 5; failures++) {
    task = attempt(task, FAILED)!;
    expect(task).toMatchObject({ failures, state: "open" });
    told.push(undoFailures.length);
    pass(60_000);
  }
  expect(told).toEqual([0, 0, 1, 1, 1]);
  expect(undoFailures).toEqual(["charge: it has failed 3 times, and is tried again: Error: the bank is down"]);
});

test("nothing is sent after the key window, not even by a call that would only arrive too late", () => {
  const next = attempt(taskOf(1), LOST)!;
  pass(HOUR - OPTIONS.timeoutMs + 1);
  services.begin(next, now);
  expect(stored()).toMatchObject({ state: "dead", error: { code: "unknown" }, attempt: 2 });
  expect(effects).toEqual([]);
  expect(notes).toContain("service_unknown");
});

test("a mark that took longer than the window is made again, since nothing was sent", () => {
  services.begin(taskOf(1), now);
  pass(2 * HOUR);
  expect(stored()).toMatchObject({ sentAtMs: 1_000_000 });
  expect(stored()).toMatchObject({ sentAtMs: 1_000_000 + 2 * HOUR });
  taken("call-service");
});

describe("@service once", () => {
  test("is never sent twice: without an answer it is unknown", () => {
    expect(attempt(taskOf(1, "mail"), LOST)).toMatchObject({ state: "dead", error: { code: "unknown" } });
  });

  test("a later server does not send what an earlier one may have sent", () => {
    services.begin({ ...taskOf(1, "mail"), sentAtMs: 999_000 }, now);
    expect(stored()).toMatchObject({ state: "dead", error: { code: "unknown" } });
    expect(effects).toEqual([]);
  });

  test("a step's end names no key, since the workflow may tell its caller; the log has the key and the workflow", () => {
    const workflow = "c".repeat(32) as ExecutionId;
    const step = { workflow, round: 0, command: 2, isUndo: false };
    const task = { ...taskOf(1, "mail"), step };
    services.begin(task, now);
    stored();
    services.answered(taken("call-service").call, LOST, now);
    const { change } = taken("change-task");
    expect(decodePart(change.arrival!.content)).toEqual({
      kind: "settled",
      command: 2,
      settled: { kind: "unknown", message: "Nobody knows whether mail was done, and it is not called again." },
    });
    const detail = details[notes.indexOf("service_unknown")];
    expect(detail).toContain(serviceKeyOf(task.id));
    expect(detail).toContain(workflow);
    expect(detail).not.toContain("discard");
  });

  test("what the service has thrown is its end too, under its own code", () => {
    expect(attempt(taskOf(1, "mail"), FAILED)).toMatchObject({ state: "dead", error: { code: "Error" } });
  });

  test("what was not called was not sent", () => {
    const next = attempt(taskOf(1, "mail"), DOWN)!;
    expect(next).toMatchObject({ state: "open", failures: 0, sentAtMs: null });
    expect(attempt(next, VALUE)).toBeNull();
  });
});

test("what was not called uses no attempt, and the mark of an earlier call stays", () => {
  const first = attempt(taskOf(1), DOWN)!;
  expect(first).toMatchObject({ attempt: 1, failures: 0, sentAtMs: null, dueMs: now.wallMs });
  const sent = attempt(first, LOST)!;
  expect(sent).toMatchObject({ attempt: 2, failures: 1, sentAtMs: now.wallMs });
  const mark = sent.sentAtMs;
  pass(1_000);
  expect(attempt(sent, DOWN)).toMatchObject({ attempt: 3, failures: 1, sentAtMs: mark });
});

test("storage that fails is asked for the same change again, and the service is not called again", () => {
  services.begin(taskOf(1), now);
  const mark = taken("change-task");
  services.failed(mark.operation);
  expect(taken("change-task")).toEqual(mark);
  services.changed(mark.operation, { kind: "applied" }, now);
  services.answered(taken("call-service").call, VALUE, now);
  const settlement = taken("change-task");
  services.failed(settlement.operation);
  expect(retried).toEqual([mark.operation, settlement.operation]);
  expect(taken("change-task")).toEqual(settlement);
  // The first one was made, and its answer was lost.
  services.changed(settlement.operation, { kind: "exists", id: taskOf(1).id, record: null }, now);
  expect(effects).toEqual([]);
  expect(settled).toMatchObject([{ next: null }]);
});

test("a task that somebody has settled before its mark is not called", () => {
  services.begin(taskOf(1), now);
  const { operation } = taken("change-task");
  services.changed(operation, { kind: "exists", id: taskOf(1).id, record: null }, now);
  expect([effects, services.calling]).toEqual([[], 0]);
  expect(settled).toMatchObject([{ next: null }]);
});

test("an open breaker holds the other tasks back, for nothing was tried of them", () => {
  const begun = (number: number): number => {
    services.begin(taskOf(number), now);
    stored();
    return taken("call-service").call;
  };
  const calls = [1, 2, 3, 4, 5, 6].map(begun);
  for (const call of calls.slice(0, 5)) {
    services.answered(call, FAILED, now);
    stored();
  }
  expect(notes.filter((name) => name === "service_down")).toHaveLength(1);
  expect([services.mayCall("charge", now.nowMs), services.mayCall("mail", now.nowMs)]).toEqual([false, true]);
  expect(services.wakeAtMs(now.nowMs)).toBe(now.nowMs + OPTIONS.firstPauseMs);
  pass(OPTIONS.firstPauseMs);
  expect(services.mayCall("charge", now.nowMs)).toBe(true);
  const probe = begun(7);
  expect(services.mayCall("charge", now.nowMs)).toBe(false);
  expect(services.statuses).toMatchObject([{ name: "charge", breaker: "probing", failures: 5, calling: 2 }]);
  services.answered(probe, VALUE, now);
  expect(notes).toContain("service_up");
  expect(services.mayCall("charge", now.nowMs)).toBe(true);
});

test("a probe that finds its window over leaves the place of the probe to another", () => {
  attempt(taskOf(1), DOWN);
  pass(OPTIONS.firstPauseMs);
  services.begin({ ...taskOf(2), sentAtMs: 0, attempt: 1 }, { ...now, wallMs: 2 * HOUR });
  expect(services.mayCall("charge", now.nowMs)).toBe(true);
});

test("a service is called so often at once, and none without its declaration", () => {
  for (let n = 0; n < OPTIONS.atOnce; n++) services.begin(taskOf(n), now);
  expect([services.mayCall("charge", 0), services.mayCall("mail", 0), services.mayCall("fax", 0)]).toEqual([
    false,
    true,
    false,
  ]);
});
