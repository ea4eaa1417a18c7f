/** Executions whose handlers ask for tasks. */
import {
  commitId,
  type Entry,
  entryOf,
  type ExecutionId,
  type LviAnswer,
  type ModuleHash,
  type Outcome,
  type RunEffect,
  sessionId,
  unitId,
  type UnitId,
} from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Effect, ExecutionEvent, Speculation } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionInput } from "./execution.ts";
import { Experience } from "./experience.ts";
import { PrimaryLink } from "./primary-link.ts";

const ann = unitId("users", "ann");
const known: Entry = entryOf(commitId(1, 5), Uint8Array.of(1));
const INPUT: ExecutionInput = {
  executionId: "0123456789abcdef0123456789abcdef" as ExecutionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "order",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_000, seed: new Uint8Array(16), caller: "ann" },
  location: "VA",
  plan: "sliced",
  retained: false,
  repeatKey: "execution-0123456789abcdef0123456789abcdef",
  mustNotWrite: false,
  mayEffect: true,
  prefersSpeculative: false,
  speculative: false,
  watches: false,
  takesLeases: true,
  undeclaredTables: [],
};
const outcome: Outcome = { kind: "result", value: Uint8Array.of(0xf6) };
const task: RunEffect = { kind: "enqueue", callee: "mail", args: Uint8Array.of(0xa0), delayMs: 0, key: "b" };
const asked: Speculation = { kind: "completed", outcome, writes: [], effects: [task] };
const times = { receivedAtMs: 0, sentAtMs: 0 };

function derived(writes: readonly UnitId[], lanes?: readonly string[], run: Speculation | null = null): ExecutionEvent {
  return {
    kind: "derived",
    derivation: {
      kind: "derived",
      set: {
        reads: new Set([ann]),
        writes: new Set(writes),
        ...(lanes === undefined ? {} : { lanes: new Set(lanes) }),
      },
      missing: [],
      captured: new Map([[ann, known]]),
      run: run?.kind === "completed" ? run : null,
      isExhausted: false,
      lacking: [],
      spans: new Map(),
    },
    atMs: 0,
  };
}

function play(execution: Execution, ...events: readonly ExecutionEvent[]): readonly Effect[] {
  let effects: readonly Effect[] = [];
  for (const event of events) effects = execution.step(event);
  return effects;
}

function only<Kind extends Effect["kind"]>(effects: readonly Effect[], kind: Kind): Extract<Effect, { kind: Kind }> {
  const found = effects.filter((effect) => effect.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as Extract<Effect, { kind: Kind }>;
}

const started: ExecutionEvent = { kind: "started", atMs: 0 };
const speculated = (speculation: Speculation): ExecutionEvent => ({ kind: "speculated", speculation, atMs: 0 });
const replied = (reply: LviAnswer): ExecutionEvent => ({ kind: "replied", reply: { ...reply, asOf: null }, atMs: 0 });
const valid = replied({ kind: "valid", commitId: commitId(1, 9), times });
const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);

describe("a handler that may ask for tasks", () => {
  test("says so in its request, with the lanes of its set in order; its followup has the effects", () => {
    const execution = new Execution(INPUT);
    const sent = play(execution, started, derived([], ["b", "a"]));
    expect(only(sent, "send").request).toMatchObject({ mayEffect: true, lanes: ["a", "b"] });
    expect(only(sent, "speculate").set.lanes).toEqual(new Set(["a", "b"]));
    expect(execution.step(speculated(asked))).toEqual([]);
    const joined = execution.step(valid);
    expect(only(joined, "follow").followup).toMatchObject({ writes: [], effects: [task], commitId: commitId(1, 9) });
  });

  test("names no lanes when it goes near storage", () => {
    const sent = new Execution({ ...INPUT, plan: "near-storage" }).step(started);
    expect(only(sent, "send").request).toMatchObject({ units: null, mayEffect: true, lanes: [] });
  });

  test.each([
    [true, ["send", "speculate"]],
    [false, ["speculate"]],
  ])("is answered by read leases only if it can't ask (%s)", (mayEffect, expected) => {
    const primary = new PrimaryLink();
    primary.leases.open(sessionId(1, 1), 0);
    primary.leases.take({ kind: "lease", n: 1, units: [{ unit: ann, version: known.version }] });
    primary.leases.renew(0, 3_000);
    const experience = new Experience();
    experience.confirmed(INPUT.module, true, 0);
    const execution = new Execution({ ...INPUT, mayEffect }, DEFAULT_BOUNDS, experience, primary);
    expect(kinds(play(execution, started, derived([])))).toEqual(expected);
  });

  test("is not confirmed without an intent", () => {
    const execution = new Execution(INPUT);
    play(execution, started, derived([]), speculated(asked));
    const effects = execution.step(replied({ kind: "valid", commitId: null, times }));
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "send").request.units).toBeNull();
  });

  test("that names another lane goes near storage", () => {
    const execution = new Execution(INPUT);
    play(execution, started, derived([], ["a"]), valid);
    const left = { kind: "stopped", reason: "a task with the key b", undeclared: "lane" } as const;
    expect(only(execution.step(speculated(left)), "send").request.units).toBeNull();
  });
});

describe("tasks that the manifest denies", () => {
  test.each(["before the reply", "after it"])("a run that asks for one does not count, %s", (when) => {
    const execution = new Execution({ ...INPUT, mayEffect: false });
    play(execution, started, derived([]));
    const effects =
      when === "after it"
        ? play(execution, replied({ kind: "valid", commitId: null, times }), speculated(asked))
        : play(execution, speculated(asked), replied({ kind: "valid", commitId: null, times }));
    expect(only(effects, "send").request).toMatchObject({ units: null });
    expect(effects.some(({ kind }) => kind === "answer")).toBe(false);
  });

  test("neither does one in record mode", () => {
    const execution = new Execution({ ...INPUT, mayEffect: false, plan: "recorded" });
    const effects = play(execution, started, derived([], [], asked));
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "send").request.units).toBeNull();
  });
});

test.each([
  ["sliced", false],
  ["recorded", true],
] as const)("a GET that asks for a task ends without effect (%s)", (plan, isRecorded) => {
  const execution = new Execution({ ...INPUT, plan, mustNotWrite: true });
  const events = isRecorded ? [derived([], [], asked)] : [derived([]), speculated(asked)];
  const effects = play(execution, started, ...events);
  expect(only(effects, "answer").answer).toMatchObject({ code: "wrote_on_get" });
});
