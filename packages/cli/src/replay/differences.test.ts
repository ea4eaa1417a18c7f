import {
  CborWriter,
  type ExecutionId,
  type RunEffect,
  traceOf,
  type Wait,
  type WorkflowCommand,
} from "@radical/protocol";
import type { FollowedEntry } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import { activationDifferences, differencesOf, endOf } from "./differences.ts";
import type { RecordedActivation, RecordedExecution } from "./record-line.ts";
import type { RecordedEnd } from "./recorded-activation.ts";
import type { FollowedAgain, RunAgain } from "./run-again.ts";

const ID = "9".repeat(32) as ExecutionId;
const NULL = new CborWriter().null().finish();
const args = (fields: Readonly<Record<string, string>>): Uint8Array => {
  const writer = new CborWriter().map(Object.keys(fields).length);
  for (const [name, value] of Object.entries(fields)) writer.text(name).text(value);
  return writer.finish();
};
const task = (to: string, more: Partial<RunEffect & { kind: "enqueue" }> = {}): RunEffect => ({
  kind: "enqueue",
  callee: "tell",
  args: args({ to }),
  delayMs: 0,
  key: null,
  ...more,
});
const CALL = {
  execution: ID,
  path: "followup",
  location: "VA",
  module: "a".repeat(64),
  handler: "f",
  args: NULL,
  timeMs: 1,
  seed: new Uint8Array(16),
  caller: null,
  task: null,
  step: null,
  drawSites: [],
  logged: [],
  redacted: [],
};

describe("effects", () => {
  const outcome = { kind: "result", value: NULL } as const;
  const [reads, writes] = [new Map(), new Map()];
  const recorded = (effects: readonly RunEffect[] | null, redacted: readonly string[] = []): RecordedExecution => ({
    ...CALL,
    kind: "execution",
    reads,
    outcome,
    writes,
    effects,
    fuel: 1,
    redacted,
  });
  const did = (...effects: readonly RunEffect[]): RunAgain => ({
    kind: "ended",
    outcome,
    reads: [],
    writes,
    effects,
    fuel: 1,
    drawSites: [],
    logged: [],
  });
  const cancel: RunEffect = { kind: "cancel", task: ID };

  test.each<[string, readonly RunEffect[], readonly RunEffect[], readonly unknown[]]>([
    ["the same", [task("ann"), cancel], [task("ann"), cancel], []],
    ["an argument", [task("ann")], [task("bob")], [["effects[0].args.to", '"ann"', '"bob"']]],
    ["a delay", [cancel, task("ann")], [cancel, task("ann", { delayMs: 7 })], [["effects[1].delayMs", "0", "7"]]],
    ["a key", [task("ann")], [task("ann", { key: "k" })], [["effects[0].key", "null", '"k"']]],
    ["a handler", [task("ann")], [task("ann", { callee: "t" })], [["effects[0].callee", '"tell"', '"t"']]],
    ["one less", [task("ann"), cancel], [task("ann")], [["effects[1]", `{"kind":"cancel","task":"${ID}"}`, null]]],
    ["one more", [], [cancel], [["effects[0]", null, `{"kind":"cancel","task":"${ID}"}`]]],
    [
      "a value",
      [{ kind: "send", workflow: ID, name: "s", value: args({ a: "1" }) }],
      [{ kind: "send", workflow: ID, name: "s", value: args({ a: "2" }) }],
      [["effects[0].value.a", '"1"', '"2"']],
    ],
    [
      "the order of arguments",
      [task("", { args: args({ a: "1", b: "2" }) })],
      [task("", { args: args({ b: "2", a: "1" }) })],
      [["effects", expect.stringContaining('"a":"1","b":"2"'), expect.stringContaining('"b":"2","a":"1"')]],
    ],
    [
      "bytes that are not JSON",
      [task("", { args: NULL })],
      [task("", { args: Uint8Array.of(0xff) })],
      [["effects[0].args", "null", '"cbor /w=="']],
    ],
  ])("%s", (_what, was, is, expected) => {
    const found = differencesOf(recorded(was), did(...is), 0);
    expect(found.map((one) => (one.kind === "effect" ? [one.path, one.was, one.is] : one))).toEqual(expected);
  });

  test("of a record of an earlier release are not compared", () => {
    expect(differencesOf(recorded(null), did(task("ann")), 0)).toEqual([]);
  });

  test("arguments that were redacted by name are redacted in the run, too", () => {
    const masked = [task("‹secret›")];
    expect(differencesOf(recorded(masked, ["@arguments.to"]), did(task("ann")), 0)).toEqual([]);
    expect(differencesOf(recorded(masked, ["@arguments.other"]), did(task("ann")), 0)).toHaveLength(1);
  });
});

describe("a run of a workflow", () => {
  const start = (callee: string, to: string): WorkflowCommand => ({ kind: "start", callee, args: args({ to }) });
  const all = (...commands: readonly number[]): Wait => ({ mode: "all", commands, untilMs: null });
  type Written = readonly [commands: readonly WorkflowCommand[], wait: Wait | null];
  const recorded = (end: RecordedEnd, ...entries: readonly Written[]): RecordedActivation => ({
    ...CALL,
    kind: "activation",
    journal: {
      round: 0,
      entries: entries.map(([commands, wait], timeMs) => ({ timeMs, arrivals: [], commands, wait })),
      end,
    },
  });
  const followed = (end: RecordedEnd, ...entries: readonly Written[]): FollowedAgain => {
    let number = 0;
    const made = entries.map(([commands, wait], timeMs): FollowedEntry => ({
      entry: { timeMs, arrivals: [], commands: commands.map(traceOf), wait },
      commands: commands.map((command) => ({ number: number++, command, place: `h.ts:${number}:1` })),
    }));
    const last = made.at(-1) ?? { entry: { timeMs: 0, arrivals: [], commands: [], wait: null }, commands: [] };
    const run =
      end.kind === "waiting"
        ? ({ kind: "waiting", ...last } as const)
        : end.kind === "again"
          ? ({ ...end, ...last } as const)
          : end.kind === "trap"
            ? end
            : ({ kind: "ended", outcome: end, undos: [], ...last } as const);
    return { kind: "followed", run, entries: made, drawSites: [], logged: [] };
  };
  const waiting = { kind: "waiting" } as const;
  const done = { kind: "result", value: NULL } as const;
  const first: Written = [[start("hold", "a"), start("hold", "b")], all(0)];
  const second: Written = [[start("pay", "c")], all(2)];
  const before = recorded(waiting, first, second);

  test.each<[string, FollowedAgain, readonly unknown[]]>([
    ["the same", followed(waiting, first, second), []],
    [
      "an argument of a later activation",
      followed(waiting, first, [[start("pay", "d")], all(2)]),
      [["commands[2].args.to", '"c"', '"d"', "h.ts:3:1"]],
    ],
    [
      "another callee, after which nothing is told",
      followed(waiting, [[start("take", "a"), start("hold", "b")], all(0)], [[], all(1)]),
      [["commands[0].callee", '"hold"', '"take"', "h.ts:1:1"]],
    ],
    [
      "one less",
      followed(waiting, [[start("hold", "a")], all(0)]),
      [["commands[1]", '{"kind":"start","callee":"hold","args":{"to":"b"}}', null, ""]],
    ],
    [
      "one more",
      followed(waiting, first, [[start("pay", "c"), start("pay", "e")], all(2)]),
      [["commands[3]", null, '{"kind":"start","callee":"pay","args":{"to":"e"}}', "h.ts:4:1"]],
    ],
    ["another wait", followed(waiting, [first[0], all(1)], second), [["waits[0].commands[0]", "0", "1", ""]]],
    [
      "an end in place of a wait",
      followed(done, [first[0], null]),
      [["waits[0]", JSON.stringify(all(0)), '{"kind":"result","value":null}', ""]],
    ],
  ])("that takes another way would be stuck: %s", (_what, run, expected) => {
    const found = activationDifferences(before, run);
    expect(found.map((one) => (one.kind === "way" ? [one.path, one.was, one.is, one.place] : one))).toEqual(expected);
  });

  test("that ends otherwise has another outcome", () => {
    const ended = recorded(done, first, [[], null]);
    expect(activationDifferences(ended, followed(done, first, [[], null]))).toEqual([]);
    const gone = { kind: "abort", status: 404, code: "gone", message: "" } as const;
    expect(activationDifferences(ended, followed(gone, first, [[], null]))).toMatchObject([{ kind: "outcome" }]);
    expect(activationDifferences(ended, followed(waiting, first, [[], all(1)]))).toEqual([
      { kind: "outcome", was: '{"kind":"result","value":null}', is: '{"kind":"waiting"}' },
    ]);
    const again = (to: string): RecordedEnd => ({ kind: "again", args: args({ to }) });
    const anew = recorded(again("a"), [[], null]);
    expect(activationDifferences(anew, followed(again("a"), [[], null]))).toEqual([]);
    expect(activationDifferences(anew, followed(again("b"), [[], null]))).toMatchObject([{ kind: "outcome" }]);
    const redacted = { ...recorded(again("‹secret›"), [[], null]), redacted: ["@arguments.to"] };
    expect(activationDifferences(redacted, followed(again("ann"), [[], null]))).toEqual([]);
  });

  test("that begins anew is recorded without the arguments that are redacted by name", () => {
    const found: string[] = [];
    const run = followed({ kind: "again", args: args({ to: "ann", seat: "A1" }) }, [[], null]);
    expect(run.kind === "followed" && endOf(run.run, ["@arguments.to", "t.seat"], (name) => found.push(name))).toEqual({
      kind: "again",
      args: args({ to: "‹secret›", seat: "A1" }),
    });
    expect(found).toEqual(["@arguments.to"]);
  });

  test("that has trapped: of its last activation nobody knows the commands", () => {
    const trap = (message: string): RecordedEnd => ({ kind: "trap", code: "assertion_failed", message });
    const trapped = recorded(trap("here"), first, [[], null]);
    expect(activationDifferences(trapped, followed(trap("there"), first))).toEqual([]);
    expect(activationDifferences(trapped, followed(waiting, first, second))).toMatchObject([
      { kind: "outcome", is: '{"kind":"waiting"}' },
    ]);
    expect(activationDifferences(before, followed(trap("now"), first))).toMatchObject([{ kind: "outcome" }]);
  });

  test("that this process can't run is told", () => {
    expect(activationDifferences(before, { kind: "failed", reason: "no" })).toEqual([
      { kind: "not_run", reason: "no" },
    ]);
  });
});
