import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborWriter } from "./cbor.ts";
import { contentHash } from "./content-hash.ts";
import { type ExecutionId, isExecutionId } from "./ids.ts";
import { MalformedError, TooLargeError } from "./malformed-error.ts";
import { taskIdOf } from "./tasks.ts";
import { entries } from "./testing/messages.ts";
import {
  type Arrival,
  COMMAND_KINDS,
  decodeArrival,
  decodeEntry,
  encodeArrival,
  encodeEntry,
  isOver,
  type JournalEntry,
  MAX_ACTIVATION_COMMANDS,
  roundSeedOf,
  sameTrace,
  type Settled,
  settles,
  stepIdOf,
  stepSeedOf,
  traceOf,
  type Wait,
  type WorkflowCommand,
} from "./workflows.ts";

const workflow = "000102030405060708090a0b0c0d0e0f" as ExecutionId;
const seed = new Uint8Array(16).fill(9);

const number = fc.nat(99_999);
const bytes = fc.uint8Array({ maxLength: 20 });
const settled: fc.Arbitrary<Settled> = fc.oneof(
  fc.record({ kind: fc.constantFrom("value" as const, "signal" as const), value: bytes }),
  fc.record({
    kind: fc.constant("failed" as const),
    status: fc.integer({ min: 400, max: 599 }),
    code: fc.string(),
    message: fc.string(),
  }),
  fc.record({ kind: fc.constant("unknown" as const), message: fc.string() }),
  fc.constant({ kind: "timer" as const }),
);
const arrival: fc.Arbitrary<Arrival> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("settled" as const), command: number, settled }) },
  { weight: 1, arbitrary: fc.constant({ kind: "cancelled" as const }) },
);
const wait: fc.Arbitrary<Wait> = fc.oneof(
  fc.record({
    mode: fc.constantFrom("all" as const, "any" as const),
    commands: fc
      .uniqueArray(number, { minLength: 1, maxLength: 5 })
      .map((numbers) => numbers.toSorted((a, b) => a - b)),
    untilMs: fc.constant(null),
  }),
  fc.record({ mode: fc.constant("all" as const), commands: number.map((one) => [one]), untilMs: fc.maxSafeNat() }),
);
const entry: fc.Arbitrary<JournalEntry> = fc.record({
  timeMs: fc.maxSafeNat(),
  arrivals: fc.array(arrival, { maxLength: 4 }),
  commands: fc.array(
    fc.record({
      kind: fc.constantFrom(...COMMAND_KINDS),
      name: fc.constantFrom("", "charge", "Thread.reply"),
      hash: bytes.map((some) => contentHash(some)),
    }),
    { maxLength: 4 },
  ),
  wait: fc.option(wait),
});

test("entries come out of their bytes as they went in, and other entries have other bytes", () => {
  fc.assert(
    fc.property(entry, entry, (some, other) => {
      expect(decodeEntry(encodeEntry(some))).toEqual(some);
      const areSame = Buffer.compare(encodeEntry(some), encodeEntry(other)) === 0;
      if (areSame) expect(other).toEqual(some);
      else expect(other).not.toEqual(some);
    }),
  );
});

test("arrivals come out of their bytes as they went in", () => {
  fc.assert(
    fc.property(arrival, (some) => {
      expect(decodeArrival(encodeArrival(some))).toEqual(some);
    }),
  );
});

test("golden bytes: journals are stored for months", () => {
  expect(entries.map((one) => Buffer.from(encodeEntry(one)).toString("hex"))).toMatchInlineSnapshot(`
    [
      "841b0000018bcfe568008083830064686f6c64703661376361663934363831316235396283016772656c656173657035343732346436353534633964643165830668617070726f766564706139316430353866613532623466333883008100f6",
      "841b0000018bcfe568fa81830000446361626381830368617070726f7665647039343062333236383939636531356662830181031b0000018bda3220fa",
      "841b0000018bda3220fb85820303850401190192686465636c696e6564686e6f206d6f6e65798305027474686520636f6e6e656374696f6e2062726f6b65830604446361626382f60580f6",
    ]
  `);
});

test("golden ids and seeds: rows of steps are found by them", () => {
  const of = { workflow, round: 0 };
  expect([stepIdOf(of, 0), stepIdOf(of, 1), stepIdOf({ workflow, round: 1 }, 0)]).toMatchInlineSnapshot(`
    [
      "8ddcf0c63dc59b27d102089fb5da78cf",
      "8ddcf0c63dc59b27dbeb93d27038c54a",
      "8ddcf0c63dc59b2748ca04379a93d722",
    ]
  `);
  expect(Buffer.from(stepSeedOf(seed, 0, 0)).toString("hex")).toMatchInlineSnapshot(
    `"5863ccf61199f2c81da46d016736db32"`,
  );
  expect(roundSeedOf(seed, 0)).toEqual(seed);
  expect(Buffer.from(roundSeedOf(seed, 1)).toString("hex")).toMatchInlineSnapshot(`"fce78f4644bd670e9e9b9d4ca941fdd2"`);
});

test("an id is one that no client can choose, and another one for each workflow, round and command", () => {
  const ids = new Set<string>();
  for (const round of [0, 1, 2])
    for (let command = 0; command < 100; command++)
      for (const of of ["0", "1"].map((digit) => digit.repeat(32) as ExecutionId))
        ids.add(stepIdOf({ workflow: of, round }, command));
  expect(ids.size).toBe(600);
  for (const id of ids) expect(isExecutionId(id) && Number.parseInt(id[0]!, 16) >= 8).toBe(true);
  // The tasks of a handler have others.
  expect(ids.has(taskIdOf("0".repeat(32) as ExecutionId, 0))).toBe(false);
});

describe("traces of commands", () => {
  const args = Uint8Array.of(0xa0);
  const commands: readonly WorkflowCommand[] = [
    { kind: "start", callee: "hold", args },
    { kind: "start", callee: "hold", args: Uint8Array.of(0xa1, 0x61, 0x61, 1) },
    { kind: "start", callee: "holds", args },
    { kind: "undo", callee: "hold", args },
    { kind: "sleep", ms: 1 },
    { kind: "sleep", ms: 2 },
    { kind: "signal", name: "hold", ms: null },
    { kind: "signal", name: "hold", ms: 1 },
    { kind: "enqueue", callee: "hold", args, delayMs: 0, key: null },
    { kind: "enqueue", callee: "hold", args, delayMs: 0, key: "k" },
    { kind: "cancel", task: workflow },
    { kind: "send", workflow, name: "hold", value: args },
    { kind: "send", workflow, name: "hold", value: Uint8Array.of(0xf6) },
  ];

  test("are the same for the same command only", () => {
    for (const [at, one] of commands.entries())
      for (const [other, another] of commands.entries())
        expect(sameTrace(traceOf(one), traceOf(structuredClone(another)))).toBe(at === other);
  });

  test("name the callee or the signal", () => {
    expect(commands.map((command) => traceOf(command).name)).toEqual([
      "hold",
      "hold",
      "holds",
      "hold",
      "",
      "",
      "hold",
      "hold",
      "hold",
      "hold",
      "",
      "hold",
      "hold",
    ]);
  });

  test("a step, a sleep and a signal settle", () => {
    expect(COMMAND_KINDS.filter((kind) => settles({ kind }))).toEqual(["start", "sleep", "signal"]);
  });
});

test("a wait is over when all of its commands have settled, or one of them", () => {
  const all: Wait = { mode: "all", commands: [1, 2], untilMs: null };
  const over = (one: Wait, ...done: number[]): boolean => isOver(one, (command) => done.includes(command));
  expect([over(all), over(all, 1), over(all, 3), over(all, 1, 2)]).toEqual([false, false, false, true]);
  const any: Wait = { ...all, mode: "any" };
  expect([over(any), over(any, 1), over(any, 3), over(any, 1, 2)]).toEqual([false, true, false, true]);
});

describe("malformed entries", () => {
  const hash = contentHash(Uint8Array.of(1));
  const entryWith = (parts: {
    arrivals?: (writer: CborWriter) => CborWriter;
    commands?: (writer: CborWriter) => CborWriter;
    wait?: (writer: CborWriter) => CborWriter;
  }): Uint8Array => {
    const writer = new CborWriter().array(4).integer(0);
    if (parts.arrivals === undefined) writer.array(0);
    else parts.arrivals(writer.array(1));
    if (parts.commands === undefined) writer.array(0);
    else parts.commands(writer.array(1));
    if (parts.wait === undefined) writer.null();
    else parts.wait(writer);
    return writer.finish();
  };

  test("the form itself is right", () => {
    expect(decodeEntry(entryWith({}))).toEqual({ timeMs: 0, arrivals: [], commands: [], wait: null });
  });

  test.each<[string, Uint8Array]>([
    ["that lack a field", new CborWriter().array(3).integer(0).array(0).array(0).finish()],
    ["before time began", new CborWriter().array(4).integer(-1).array(0).array(0).null().finish()],
    ["with an arrival of another kind", entryWith({ arrivals: (writer) => writer.array(2).integer(0).integer(9) })],
    ["with a cancellation of a command", entryWith({ arrivals: (writer) => writer.array(2).integer(0).integer(5) })],
    ["with a value of no command", entryWith({ arrivals: (writer) => writer.array(3).null().integer(0).bytes(seed) })],
    ["with a value and more", entryWith({ arrivals: (writer) => writer.array(4).integer(0).integer(0) })],
    [
      "with a failure that is a success",
      entryWith({ arrivals: (writer) => writer.array(5).integer(0).integer(1).integer(200).text("a").text("b") }),
    ],
    [
      "with a command of another kind",
      entryWith({ commands: (writer) => writer.array(3).integer(7).text("f").text(hash) }),
    ],
    [
      "with a command without a hash",
      entryWith({ commands: (writer) => writer.array(3).integer(0).text("f").text("") }),
    ],
    [
      "with a name that is too long",
      entryWith({ commands: (writer) => writer.array(3).integer(0).text("f".repeat(257)).text(hash) }),
    ],
    ["that wait for nothing", entryWith({ wait: (writer) => writer.array(3).integer(0).array(0).null() })],
    [
      "that wait twice",
      entryWith({ wait: (writer) => writer.array(3).integer(0).array(2).integer(1).integer(1).null() }),
    ],
    [
      "with a timer of two",
      entryWith({ wait: (writer) => writer.array(3).integer(0).array(2).integer(1).integer(2).integer(5) }),
    ],
    [
      "that wait in another way",
      entryWith({ wait: (writer) => writer.array(3).integer(2).array(1).integer(1).null() }),
    ],
  ])("%s", (_what, malformed) => {
    expect(() => decodeEntry(malformed)).toThrow(MalformedError);
  });

  test("with too many commands", () => {
    const trace = { kind: "start", name: "f", hash } as const;
    const commands = Array.from({ length: MAX_ACTIVATION_COMMANDS + 1 }, () => trace);
    expect(() => decodeEntry(encodeEntry({ timeMs: 0, arrivals: [], commands, wait: null }))).toThrow(TooLargeError);
  });
});
