import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborWriter } from "./cbor.ts";
import { MAX_VALUE_BYTES } from "./host-functions.ts";
import { type ExecutionId, isExecutionId } from "./ids.ts";
import { MalformedError, TooLargeError } from "./malformed-error.ts";
import {
  decodeEffects,
  encodeEffects,
  isTaskOf,
  lanesOf,
  MAX_EFFECTS,
  MAX_TASK_ARGUMENT_BYTES,
  MAX_TASK_DELAY_MS,
  type RunEffect,
  taskIdOf,
  taskSeedOf,
  tickIdOf,
} from "./tasks.ts";
import { effects } from "./testing/messages.ts";

const parent = "000102030405060708090a0b0c0d0e0f" as ExecutionId;
const task: RunEffect = { kind: "enqueue", callee: "f", args: Uint8Array.of(0xa0), delayMs: 0, key: null };

const executionId = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString("hex") as ExecutionId);

const effect: fc.Arbitrary<RunEffect> = fc.oneof(
  fc.record({
    kind: fc.constant("enqueue" as const),
    callee: fc.constantFrom("f", "Thread.reply", "h".repeat(256)),
    args: fc.uint8Array({ maxLength: 20 }),
    delayMs: fc.nat(MAX_TASK_DELAY_MS),
    key: fc.option(fc.constantFrom("a", "k".repeat(512), "order/é😀")),
  }),
  executionId.map((id): RunEffect => ({ kind: "cancel", task: id })),
  fc.record({
    kind: fc.constant("send" as const),
    workflow: executionId,
    name: fc.constantFrom("approved", "s", "news-of_the-day"),
    value: fc.uint8Array({ maxLength: 20 }),
  }),
);

test("effects come out of their bytes as they went in, and other effects have other bytes", () => {
  fc.assert(
    fc.property(fc.array(effect, { maxLength: 5 }), fc.array(effect, { maxLength: 5 }), (some, others) => {
      expect(decodeEffects(encodeEffects(some))).toEqual(some);
      const areSame = Buffer.compare(encodeEffects(some), encodeEffects(others)) === 0;
      if (areSame) expect(others).toEqual(some);
      else expect(others).not.toEqual(some);
    }),
  );
});

test("golden bytes, ids and seeds: rows of tasks are found by them", () => {
  expect(Buffer.from(encodeEffects(effects)).toString("hex")).toMatchInlineSnapshot(
    `"8485006672656d696e6441a01a240c8400f685006c5468726561642e7265706c7944a161610100686f726465722fc3a982017820386464636630633633646335396232376433643165333236626230653665393184027820303030313032303330343035303630373038303930613062306330643065306668617070726f7665644463616263"`,
  );
  expect([taskIdOf(parent, 0), taskIdOf(parent, 1), tickIdOf("nightly", 1_700_000_000_000)]).toMatchInlineSnapshot(`
    [
      "8ddcf0c63dc59b27d37bc26095981593",
      "8ddcf0c63dc59b27d3d1e326bb0e6e91",
      "8a5dc9ade1c6dfc63ab05c4876db6594",
    ]
  `);
  expect(Buffer.from(taskSeedOf(new Uint8Array(16).fill(9), 0)).toString("hex")).toMatchInlineSnapshot(
    `"d86e6c3c851864beaf7c585a9bf9d503"`,
  );
});

test("the lanes of effects, each once, in order", () => {
  const keys = ["b", null, "a", "b"];
  expect(lanesOf([...keys.map((key) => ({ ...task, key })), { kind: "cancel", task: parent }])).toEqual(["a", "b"]);
});

describe("ids and seeds", () => {
  test("an id is one that no client can choose, and another one for each ordinal, parent and tick", () => {
    fc.assert(
      fc.property(executionId, executionId, fc.nat(999), fc.nat(999), (a, b, m, n) => {
        const ids = [taskIdOf(a, m), taskIdOf(b, n), tickIdOf("f", m)];
        for (const id of ids) expect(isExecutionId(id) && Number.parseInt(id[0]!, 16) >= 8).toBe(true);
        expect(ids[0] === ids[1]).toBe(a === b && m === n);
        expect(ids[0]).not.toBe(ids[2]);
        expect(isTaskOf(a, ids[0]!)).toBe(true);
        expect(isTaskOf(b, ids[0]!)).toBe(a === b);
        expect(isTaskOf(a, ids[2]!)).toBe(false);
      }),
    );
  });

  test("a seed follows from the parent's seed and the ordinal", () => {
    const seeds = new Set<string>();
    for (const parentSeed of [new Uint8Array(16), new Uint8Array(16).fill(1)])
      for (let ordinal = 0; ordinal < 100; ordinal++) {
        const seed = taskSeedOf(parentSeed, ordinal);
        expect(seed).toHaveLength(16);
        seeds.add(Buffer.from(seed).toString("hex"));
      }
    expect(seeds.size).toBe(200);
  });
});

describe("malformed effects", () => {
  const bytesWith = (write: (writer: CborWriter) => void): Uint8Array => {
    const writer = new CborWriter().array(1);
    write(writer);
    return writer.finish();
  };
  const args = Uint8Array.of(0xa0);

  test.each<[string, (writer: CborWriter) => void]>([
    ["of another kind", (writer) => writer.array(2).integer(3).text(parent)],
    ["of a kind with the fields of another one", (writer) => writer.array(2).integer(2).text(parent)],
    ["that lack a field", (writer) => writer.array(4).integer(0).text("f").bytes(args).integer(0)],
    ["with a negative delay", (writer) => writer.array(5).integer(0).text("f").bytes(args).integer(-1).null()],
    [
      "with a long delay",
      (writer) =>
        writer
          .array(5)
          .integer(0)
          .text("f")
          .bytes(args)
          .integer(MAX_TASK_DELAY_MS + 1)
          .null(),
    ],
    ["with an empty key", (writer) => writer.array(5).integer(0).text("f").bytes(args).integer(0).text("")],
    [
      "with a key that is too long",
      (writer) => writer.array(5).integer(0).text("f").bytes(args).integer(0).text("k".repeat(513)),
    ],
    ["without a handler", (writer) => writer.array(5).integer(0).text("").bytes(args).integer(0).null()],
    ["with an id that is none", (writer) => writer.array(2).integer(1).text("nobody")],
    ["that send to an id that is none", (writer) => writer.array(4).integer(2).text("nobody").text("s").bytes(args)],
    ["that send without a name", (writer) => writer.array(4).integer(2).text(parent).text("").bytes(args)],
    ["that send a name that is none", (writer) => writer.array(4).integer(2).text(parent).text("a\nb").bytes(args)],
    ["that send a text", (writer) => writer.array(4).integer(2).text(parent).text("s").text("value")],
    ["that send no value", (writer) => writer.array(3).integer(2).text(parent).text("s")],
  ])("%s", (_what, write) => {
    expect(() => decodeEffects(bytesWith(write))).toThrow(MalformedError);
  });

  test("too many of them, or too long ones", () => {
    expect(() => decodeEffects(encodeEffects(Array.from({ length: MAX_EFFECTS + 1 }, () => task)))).toThrow(
      TooLargeError,
    );
    const long = { ...task, args: new Uint8Array(MAX_TASK_ARGUMENT_BYTES + 1) };
    expect(() => decodeEffects(encodeEffects([long]))).toThrow(TooLargeError);
    const sent = { kind: "send", workflow: parent, name: "s", value: new Uint8Array(MAX_VALUE_BYTES + 1) } as const;
    expect(() => decodeEffects(encodeEffects([sent]))).toThrow(TooLargeError);
  });
});
