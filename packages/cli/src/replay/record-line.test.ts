import { CborWriter, encodeCount, spanId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { differencesOf } from "./differences.ts";
import { directoryOf } from "./recorded-spans.ts";
import { type Recorded, recordOfLine, RecordProblem, recordToLine } from "./record-line.ts";

const text = (value: string): Uint8Array => new CborWriter().text(value).finish();
const [X, Y] = [unitId("t", "x"), unitId("t", "a/b")];

const RECORD: Recorded = {
  execution: "e".repeat(32),
  path: "valid",
  location: "VA",
  module: "a".repeat(64),
  handler: "f",
  args: new CborWriter().map(2).text("n").integer(2).text("x").float(2).finish(),
  timeMs: 1_700_000_000_000,
  seed: new Uint8Array(16).map((_, index) => index),
  caller: null,
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
  fuel: 1_234,
  logged: [
    { level: "info", text: "found \u001b[31m 7" },
    { level: "error", text: "two\nlines" },
  ],
  redacted: ["@caller"],
};

test("a record comes back byte for byte, whatever its values are", () => {
  expect(recordOfLine(recordToLine(RECORD))).toEqual(RECORD);
  for (const outcome of [
    { kind: "abort", status: 404, code: "gone", message: "it is gone" },
    { kind: "trap", code: "out_of_fuel", message: "the handler used up its fuel" },
  ] as const)
    expect(recordOfLine(recordToLine({ ...RECORD, outcome })).outcome).toEqual(outcome);
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
  expect(recordOfLine(line).reads).toEqual(reads);
  for (const [wrong, words] of [
    ['"keys":["x"]', '"keys":[1]'],
    ['"count":3', '"count":-3'],
    ['"count":3', '"other":3'],
  ] as const)
    expect(() => recordOfLine(line.replace(wrong, words))).toThrow(RecordProblem);
});

test("a record of before handlers had lines is one still", () => {
  const before = recordToLine({ ...RECORD, logged: null });
  expect(before).not.toContain("logged");
  expect(recordOfLine(before)).toEqual({ ...RECORD, logged: null });
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
  const same = { kind: "ended", outcome, writes, fuel, reads: [], drawSites: [], logged: [] } as const;
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
