import { CborWriter, encodeCount, type ExecutionId, spanId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { differencesOf } from "./differences.ts";
import { directoryOf } from "./recorded-spans.ts";
import { type RecordedActivation, type RecordedExecution, recordOfLine, recordToLine } from "./record-line.ts";
import { RecordProblem } from "./recorded-part.ts";

const text = (value: string): Uint8Array => new CborWriter().text(value).finish();
const [X, Y] = [unitId("t", "x"), unitId("t", "a/b")];

const ID = "9".repeat(32) as ExecutionId;

const RECORD: RecordedExecution = {
  kind: "execution",
  execution: "e".repeat(32),
  path: "valid",
  location: "VA",
  module: "a".repeat(64),
  handler: "f",
  args: new CborWriter().map(2).text("n").integer(2).text("x").float(2).finish(),
  timeMs: 1_700_000_000_000,
  seed: new Uint8Array(16).map((_, index) => index),
  caller: null,
  task: { attempt: 2, parent: ID },
  step: null,
  drawSites: ["handlers/a.ts:1:2"],
  reads: new Map([
    [
      X,
      new CborWriter()
        .map(1)
        .text("big")
        .integer(2n ** 63n)
        .finish(),
    ],
    [Y, null],
  ]),
  outcome: { kind: "result", value: new CborWriter().float(Number.NaN).finish() },
  writes: new Map([
    // No value at all, which raw handlers may write; and one that is deleted.
    [X, Uint8Array.of(0xff, 0x00)],
    [Y, null],
  ]),
  effects: [
    // A map whose bytes JSON can say, and one that it can't.
    {
      kind: "enqueue",
      callee: "tell",
      args: new CborWriter().map(1).text("to").text("ann").finish(),
      delayMs: 7,
      key: "k",
    },
    { kind: "enqueue", callee: "tell", args: Uint8Array.of(0xff), delayMs: 0, key: null },
    { kind: "cancel", task: ID },
    { kind: "send", workflow: ID, name: "approved", value: new CborWriter().boolean(true).finish() },
  ],
  fuel: 1_234,
  logged: [
    { level: "info", text: "found \u001b[31m 7" },
    { level: "error", text: "two\nlines" },
  ],
  redacted: ["@caller"],
};

const { reads: _reads, writes: _writes, effects, outcome: _outcome, fuel: _fuel, ...CALL } = RECORD;
const ACTIVATION: RecordedActivation = {
  ...CALL,
  kind: "activation",
  path: "activation",
  task: null,
  step: { workflow: ID, round: 1, command: 4 },
  journal: {
    round: 1,
    entries: [
      {
        timeMs: 5,
        arrivals: [],
        commands: [
          { kind: "start", callee: "hold", args: text("A1") },
          { kind: "undo", callee: "release", args: text("A1") },
          { kind: "sleep", ms: 7 },
        ],
        wait: { mode: "any", commands: [0], untilMs: null },
      },
      {
        timeMs: 6,
        arrivals: [
          { kind: "settled", command: 0, settled: { kind: "value", value: text("held") } },
          { kind: "settled", command: 1, settled: { kind: "failed", status: 409, code: "taken", message: "no" } },
          { kind: "settled", command: 2, settled: { kind: "timer" } },
          { kind: "settled", command: 3, settled: { kind: "unknown", message: "lost" } },
          { kind: "settled", command: 4, settled: { kind: "signal", value: Uint8Array.of(0xff) } },
          { kind: "cancelled" },
        ],
        commands: [{ kind: "signal", name: "approved", ms: null }, ...(effects ?? [])],
        wait: { mode: "all", commands: [3], untilMs: 9 },
      },
    ],
    end: { kind: "waiting" },
  },
};

test("a record comes back byte for byte, whatever its values are", () => {
  expect(recordOfLine(recordToLine(RECORD))).toEqual(RECORD);
  for (const outcome of [
    { kind: "abort", status: 404, code: "gone", message: "it is gone" },
    { kind: "trap", code: "out_of_fuel", message: "the handler used up its fuel" },
  ] as const)
    expect(recordOfLine(recordToLine({ ...RECORD, outcome }))).toMatchObject({ outcome });
  // People can read it.
  expect(JSON.parse(recordToLine(RECORD))).toMatchObject({
    args: { value: { n: 2, x: 2 } },
    reads: [{}, { absent: true }],
    logged: [{ level: "info" }, { level: "error", text: "two\nlines" }],
  });
});

test("spans come back with the keys of their rows, or their number", () => {
  const all = { table: "t", lo: "", hi: "" };
  const [rows, count] = (["rows", "count"] as const).map((kind) => spanId({ ...all, kind }));
  const reads = new Map([...RECORD.reads, [count!, encodeCount(3)], [rows!, directoryOf("t", ["x"], RECORD.reads)]]);
  const line = recordToLine({ ...RECORD, reads });
  expect(JSON.parse(line)).toMatchObject({
    reads: [{}, {}, { table: "t", from: "", to: "", count: 3 }, { table: "t", from: "", to: "", keys: ["x"] }],
  });
  expect(recordOfLine(line)).toMatchObject({ reads });
  for (const [wrong, words] of [
    ['"keys":["x"]', '"keys":[1]'],
    ['"count":3', '"count":-3'],
    ['"count":3', '"other":3'],
  ] as const)
    expect(() => recordOfLine(line.replace(wrong, words))).toThrow(RecordProblem);
});

test("a record of before handlers had lines, or effects, is one still", () => {
  const before = recordToLine({ ...RECORD, logged: null, effects: null, task: null });
  expect(before).not.toMatch(/"(logged|effects|task|step)"/);
  expect(recordOfLine(before)).toEqual({ ...RECORD, logged: null, effects: null, task: null });
});

test("a run of a workflow comes back, with all that may arrive and all commands", () => {
  expect(recordOfLine(recordToLine(ACTIVATION))).toEqual(ACTIVATION);
  for (const end of [
    { kind: "result", value: text("done") },
    { kind: "again", args: text("anew") },
    { kind: "trap", code: "out_of_fuel", message: "no fuel" },
  ] as const) {
    const other = { ...ACTIVATION, journal: { ...ACTIVATION.journal, end } };
    expect(recordOfLine(recordToLine(other))).toEqual(other);
  }
  // People can read it.
  expect(JSON.parse(recordToLine(ACTIVATION))).toMatchObject({
    activation: {
      entries: [
        { commands: [{ kind: "start", callee: "hold", args: { value: "A1" } }, {}, {}], wait: { commands: [0] } },
        { arrivals: [{ command: 0, kind: "value", value: "held" }, {}, {}, {}, {}, { kind: "cancelled" }] },
      ],
    },
  });
  expect(() => recordOfLine(recordToLine(ACTIVATION).replace('"kind":"sleep"', '"kind":"nap"'))).toThrow(
    'a command "nap", which this release does not know',
  );
});

test.each([
  ["nothing", "is not JSON"],
  ["[]", "not a record of format"],
  ['{"radicalRecord":2}', "not a record of format"],
  [recordToLine(RECORD).replace('"fuel":1234', '"fuel":"much"'), 'a wrong "fuel"'],
  [recordToLine(RECORD).replace('"reads":[', '"reads":[{},'), "without table or key"],
  [recordToLine(RECORD).replace('"level":"info"', '"level":"loud"'), 'a wrong "logged"'],
  [recordToLine(RECORD).replace('"logged":[', '"logged":[null,'), 'a wrong "logged"'],
])("a line that is none is refused: %s", (line, words) => {
  expect(() => recordOfLine(line)).toThrow(RecordProblem);
  expect(() => recordOfLine(line)).toThrow(words);
});

test("differences: outcome, writes, fuel beyond the tolerance, reads outside; a trap's place is none", () => {
  const { outcome, writes, fuel } = RECORD;
  const same = {
    kind: "ended",
    outcome,
    writes,
    effects: RECORD.effects ?? [],
    fuel,
    reads: [],
    drawSites: [],
    logged: [],
  } as const;
  expect(differencesOf(RECORD, same, 0.1)).toEqual([]);
  expect(differencesOf(RECORD, { ...same, fuel: 2_357 }, 0.1)).toEqual([]);
  expect(differencesOf(RECORD, { ...same, fuel: 2_358 }, 0.1)).toEqual([{ kind: "fuel", was: 1_234, is: 2_358 }]);
  expect(differencesOf(RECORD, { ...same, fuel: 1 }, 0)).toEqual([]);
  const other = { ...same, outcome: { kind: "result", value: text("y") }, writes: new Map([[X, text("y")]]) } as const;
  expect(differencesOf(RECORD, other, 0.1)).toMatchObject([
    { kind: "outcome", is: '{"kind":"result","value":"y"}' },
    { kind: "write", unit: X, is: '"y"' },
    { kind: "write", unit: Y, was: "deleted", is: null },
  ]);
  expect(differencesOf(RECORD, { kind: "outside", unit: Y }, 0)).toEqual([{ kind: "read_outside", unit: Y }]);
  const trap = (message: string) => ({ kind: "trap", code: "assertion_failed", message }) as const;
  const trapped = { ...RECORD, outcome: trap("no (handlers/a.ts:1:2)") };
  expect(differencesOf(trapped, { ...same, outcome: trap("no (handlers/a.ts:9:2)") }, 0)).toEqual([]);
});
