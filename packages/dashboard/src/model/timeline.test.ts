import type {
  DashboardListedWorkflow,
  DashboardWorkflow,
  ExecutionId,
  ListedWorkflow,
  ModuleHash,
  ShownArrival,
  ShownCommand,
  ShownEntry,
  Wait,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { effectOf, kindWords, spanBetween, timelineOf, waitWords, workflowActionsOf } from "./timeline.ts";

const ID = "0123456789abcdef0123456789abcdef" as ExecutionId;
const START = 1_000_000;
const WORKFLOW: ListedWorkflow = {
  id: ID,
  handler: "buy",
  state: "waiting",
  module: "m" as ModuleHash,
  createdAtMs: START,
  untilMs: null,
  round: 0,
  entries: 1,
  bytes: 10,
  parent: null,
  error: null,
  endedAtMs: null,
};

const step = (number: number, name: string, more: Partial<ShownCommand> = {}): ShownCommand => ({
  number,
  kind: "start",
  name,
  callee: "handler",
  execution: ID,
  ...more,
});
const undo = (number: number, name: string, more: Partial<ShownCommand> = {}): ShownCommand =>
  step(number, name, { kind: "undo", ...more });
const waitFor = (...commands: number[]): Wait => ({ mode: "all", commands, untilMs: null });
const entry = (
  afterMs: number,
  arrivals: readonly ShownArrival[],
  commands: readonly ShownCommand[],
  wait: Wait | null,
): ShownEntry => ({ timeMs: START + afterMs, arrivals, commands, wait });

function timeline(
  entries: readonly ShownEntry[],
  workflow: Partial<ListedWorkflow> = {},
  arrived: readonly ShownArrival[] = [],
) {
  const history: DashboardWorkflow = {
    workflow: { ...WORKFLOW, ...workflow },
    timeMs: START + 60_000,
    entries,
    arrived,
  };
  return timelineOf(history);
}

const HELD = entry(0, [], [step(0, "hold", { args: '{"seat":"A1"}' })], waitFor(0));
const SIGNALLED = entry(
  40,
  [{ kind: "value", command: 0, value: "200000" }],
  [undo(1, "release"), { number: 2, kind: "signal", name: "approved" }],
  waitFor(2),
);

test("a step has the time at which a run asked for it, and the time at which a run saw its result", () => {
  const { steps, mode } = timeline([HELD, SIGNALLED]);
  expect(steps.map(({ name, state, beganMs, endedMs }) => [name, state, beganMs - START, endedMs])).toEqual([
    ["hold", "done", 0, START + 40],
    ["release", "kept", 40, null],
    ["approved", "open", 40, null],
  ]);
  expect(steps[0]).toMatchObject({ args: '{"seat":"A1"}', value: "200000", execution: ID });
  expect(steps.filter(({ isAwaited }) => isAwaited).map(({ name }) => name)).toEqual(["approved"]);
  expect(mode).toBeNull();
});

test("a result that has come counts before a run has seen it, and nobody waits for it any more", () => {
  const { steps } = timeline([HELD], {}, [{ kind: "value", command: 0 }]);
  expect(steps).toMatchObject([{ state: "done", endedMs: null, isAwaited: false }]);
});

test("a wait whose time is over is no failure, and a sleep is done by it", () => {
  const { steps } = timeline([
    HELD,
    SIGNALLED,
    entry(90, [{ kind: "timer", command: 2 }], [{ number: 3, kind: "sleep", name: "" }], waitFor(3)),
    entry(99, [{ kind: "timer", command: 3 }], [], null),
  ]);
  expect(steps.map(({ state }) => state)).toEqual(["done", "kept", "over", "done"]);
});

test("a failure tells its words, and an unknown one that nobody knows", () => {
  const { steps } = timeline([
    entry(0, [], [step(0, "charge", { callee: "service" }), step(1, "ship", { callee: "service" })], waitFor(0, 1)),
    entry(
      50,
      [
        { kind: "failed", command: 0, words: "402 declined: no" },
        { kind: "unknown", command: 1, words: "lost" },
      ],
      [],
      null,
    ),
  ]);
  expect(steps.map(({ state, failure }) => [state, failure])).toEqual([
    ["failed", "402 declined: no"],
    ["unknown", "lost"],
  ]);
});

test("undos are made the newest first; of one that leaves no trace the older one that is under way tells", () => {
  const failed = { code: "declined", message: "no" };
  const entries = [entry(0, [], [undo(0, "a"), undo(1, "b"), undo(2, "c"), undo(3, "d")], null)];
  const states = (workflow: Partial<ListedWorkflow>, of = entries, arrived: readonly ShownArrival[] = []) =>
    timeline(of, workflow, arrived).undos.map(({ name, state }) => `${name} ${state}`);
  expect(states({ state: "undoing", error: failed })).toEqual(["d kept", "c kept", "b kept", "a kept"]);
  expect(states({ state: "undoing", error: failed }, entries, [{ kind: "value", command: 2 }])).toEqual([
    "d undone",
    "c undone",
    "b kept",
    "a kept",
  ]);
  const underWay = { state: "delayed", failures: 2, error: failed } as const;
  const trying = [entry(0, [], [undo(0, "a"), undo(1, "b", { attempts: underWay }), undo(2, "c"), undo(3, "d")], null)];
  expect(states({ state: "undoing", error: failed }, trying)).toEqual(["d undone", "c undone", "b undoing", "a kept"]);
  expect(states({ state: "ended", error: failed, endedAtMs: START })).toEqual([
    "d undone",
    "c undone",
    "b undone",
    "a undone",
  ]);
  const { undos, steps } = timeline(entries, { state: "ended", endedAtMs: START });
  expect([undos, steps[0]!.state]).toEqual([[], "dropped"]);
  // Of a stuck one nothing is undone.
  expect(states({ state: "stuck", error: failed })).toEqual([]);
});

test("a cancellation is told with the run that has seen it, or as one that none has", () => {
  expect(timeline([HELD]).cancelled).toBeNull();
  expect(timeline([HELD], {}, [{ kind: "cancelled", command: null }]).cancelled).toEqual({ seenMs: null });
  const seen = timeline([HELD, entry(70, [{ kind: "cancelled", command: null }], [], null)]);
  expect([seen.cancelled, seen.endedRunMs]).toEqual([{ seenMs: START + 70 }, START + 70]);
});

test("signals that nothing has taken stand apart", () => {
  const { unseen } = timeline([HELD], {}, [{ kind: "signal", command: null, words: "approved", value: "true" }]);
  expect(unseen).toEqual([{ name: "approved", value: "true" }]);
});

test("a list says what each waits for", () => {
  const words = (more: Partial<DashboardListedWorkflow>): string | null =>
    waitWords({ ...WORKFLOW, waitsFor: null, ...more }, START);
  const untilMs = START + 2 * 86_400_000;
  expect(words({})).toBeNull();
  expect(words({ untilMs })).toBe("time, in 2 d");
  expect(words({ untilMs, waitsFor: { mode: "all", commands: 1, kind: "sleep", name: "" } })).toBe("time, in 2 d");
  expect(words({ untilMs, waitsFor: { mode: "all", commands: 1, kind: "signal", name: "approved" } })).toBe(
    "signal approved, in 2 d at the latest",
  );
  expect(words({ waitsFor: { mode: "all", commands: 1, kind: "start", name: "charge" } })).toBe("charge");
  expect(words({ waitsFor: { mode: "any", commands: 7, kind: "start", name: "charge" } })).toBe("one of 7 steps");
});

test("orders are those that do something", () => {
  const actions = (state: ListedWorkflow["state"]) => workflowActionsOf({ ...WORKFLOW, state });
  expect(actions("waiting")).toEqual(["cancel"]);
  expect(actions("stuck")).toEqual(["retry", "cancel"]);
  expect(effectOf("cancel", { ...WORKFLOW, state: "stuck" })).toContain("409 cancelled at once");
  for (const state of ["undoing", "cancelling", "ended"] as const) expect(actions(state)).toEqual([]);
});

test("kinds and spans have short words", () => {
  expect(kindWords({ kind: "start", callee: "service" })).toBe("service");
  expect(kindWords({ kind: "undo", callee: "service" })).toBe("undo");
  expect([0, 340, 2_100, 90_000, 3 * 86_400_000].map((ms) => spanBetween(0, ms))).toEqual([
    "0 ms",
    "340 ms",
    "2.1 s",
    "90 s",
    "3 d",
  ]);
});
