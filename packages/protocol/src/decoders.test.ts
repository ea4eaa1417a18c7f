/**
 * Every decoder on bytes that no encoder of ours wrote. Each fails with a MalformedError, or gives a message that means the
 * same when it is encoded again. Nothing else comes out of it, no stack overflow and no allocation beyond the bytes that
 * are there.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeArguments, valueToJson } from "./arguments.ts";
import { CborReader, CborWriter, isTooDeep, MAX_DEPTH } from "./cbor.ts";
import { unitId } from "./ids.ts";
import { MalformedError, TooLargeError } from "./malformed-error.ts";
import { decodeFollowup, decodeFollowupReply, encodeFollowup, encodeFollowupReply } from "./messages/followup.ts";
import {
  checkHeard,
  decodeHeardReply,
  decodeLine,
  encodeHeard,
  encodeHeardReply,
  encodeLine,
} from "./messages/listening.ts";
import { decodeLviReply, encodeLviReply } from "./messages/lvi-reply.ts";
import { decodeWorkflowQuestion, encodeWorkflowQuestion } from "./messages/workflow-question.ts";
import { decodeArrival, decodeEntry, encodeArrival, encodeEntry } from "./workflows.ts";
import { decodeLviRequest, encodeLviRequest } from "./messages/lvi-request.ts";
import {
  decodeServiceAnswer,
  decodeServiceCall,
  encodeServiceAnswer,
  encodeServiceCall,
} from "./messages/service-call.ts";
import { decodeModuleContent, encodeModuleContent } from "./module-content.ts";
import { decodeOutcome, encodeOutcome } from "./outcome.ts";
import { decodeEffects, encodeEffects } from "./tasks.ts";
import {
  BASE64,
  effects,
  entries,
  followup,
  heard,
  heardReplies,
  hint,
  lines,
  module,
  outcomes,
  questions,
  replies,
  request,
  serviceAnswers,
  serviceCall,
  serviceRules,
  session,
  taskRules,
} from "./testing/messages.ts";
import type { Parameter, RecordTypes } from "./value-type.ts";

const value = new CborWriter().map(1).text("name").array(2).integer(1).float(0.5).finish();

/** As the server takes a body of JSON. */
function objectIn(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let json: unknown = null;
  try {
    json = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    // Not JSON.
  }
  if (typeof json !== "object" || json === null) throw new MalformedError("no JSON object");
  return json as Readonly<Record<string, unknown>>;
}

interface Decoder {
  readonly name: string;
  /** One message for each shape that there is. */
  readonly golden: readonly Uint8Array[];
  /** Decodes, and encodes again what was understood. */
  readonly again: (bytes: Uint8Array) => Uint8Array;
  /** There is one form only: what is encoded again is what was sent. */
  readonly canonical?: true;
}

const DECODERS: readonly Decoder[] = [
  {
    name: "LVI request",
    golden: [encodeLviRequest(request), encodeLviRequest({ ...request, session, mayEffect: true, lanes: ["a", "b"] })],
    again: (bytes) => encodeLviRequest(decodeLviRequest(bytes)),
  },
  {
    name: "LVI reply",
    golden: replies.map((reply) => encodeLviReply(reply)),
    again: (bytes) => encodeLviReply(decodeLviReply(bytes)),
  },
  {
    name: "workflow question",
    golden: questions.map((question) => encodeWorkflowQuestion(question)),
    again: (bytes) => encodeWorkflowQuestion(decodeWorkflowQuestion(bytes)),
  },
  {
    name: "entry of a journal",
    golden: entries.map((entry) => encodeEntry(entry)),
    again: (bytes) => encodeEntry(decodeEntry(bytes)),
    canonical: true,
  },
  {
    name: "arrival",
    golden: entries.flatMap(({ arrivals }) => arrivals.map((arrival) => encodeArrival(arrival))),
    again: (bytes) => encodeArrival(decodeArrival(bytes)),
    canonical: true,
  },
  {
    name: "followup",
    golden: [encodeFollowup(followup), encodeFollowup({ ...followup, effects })],
    again: (bytes) => encodeFollowup(decodeFollowup(bytes)),
  },
  {
    name: "followup reply",
    golden: [encodeFollowupReply("completed_before")],
    again: (bytes) => encodeFollowupReply(decodeFollowupReply(bytes)),
  },
  {
    name: "line of listening",
    golden: [hint, ...lines].map((line) => Buffer.from(encodeLine(line, BASE64))),
    again: (bytes) => {
      const line = decodeLine(Buffer.from(bytes).toString(), BASE64);
      if (line === null) throw new MalformedError("no line that is known");
      return Buffer.from(encodeLine(line, BASE64));
    },
  },
  {
    name: "heard",
    golden: [Buffer.from(encodeHeard(heard))],
    again: (bytes) => Buffer.from(encodeHeard(checkHeard(objectIn(bytes)))),
  },
  {
    name: "answer to heard",
    golden: heardReplies.map((reply) => Buffer.from(encodeHeardReply(reply))),
    again: (bytes) => {
      const reply = decodeHeardReply(Buffer.from(bytes).toString());
      if (reply === null) throw new MalformedError("no answer");
      return Buffer.from(encodeHeardReply(reply));
    },
  },
  {
    name: "module",
    golden: [
      encodeModuleContent(module),
      encodeModuleContent({ ...module, tasks: taskRules }),
      encodeModuleContent({ ...module, services: serviceRules }),
      encodeModuleContent({ ...module, abi: 11, secrets: { a: ["password", "token"] } }),
    ],
    again: (bytes) => encodeModuleContent(decodeModuleContent(bytes)),
    canonical: true,
  },
  {
    name: "call of a service",
    golden: [encodeServiceCall(serviceCall)],
    again: (bytes) => encodeServiceCall(decodeServiceCall(bytes)),
  },
  {
    name: "answer of a service",
    golden: serviceAnswers.map((answer) => encodeServiceAnswer(answer)),
    again: (bytes) => encodeServiceAnswer(decodeServiceAnswer(bytes)),
  },
  {
    name: "effects",
    golden: [encodeEffects(effects)],
    again: (bytes) => encodeEffects(decodeEffects(bytes)),
    canonical: true,
  },
  {
    name: "outcome",
    golden: outcomes.map((outcome) => encodeOutcome(outcome)),
    again: (bytes) => encodeOutcome(decodeOutcome(bytes)),
    canonical: true,
  },
  {
    name: "value as JSON",
    golden: [value],
    again: (bytes) => {
      const json = valueToJson(bytes);
      JSON.parse(json);
      return bytes;
    },
  },
  {
    name: "value that is skipped",
    golden: [value],
    again: (bytes) => {
      const reader = new CborReader(bytes);
      reader.skip();
      reader.end();
      isTooDeep(bytes);
      return bytes;
    },
  },
];

/** Heads that claim more than any message has, forms that are not ours, and the largest of each. */
const HEADS: readonly (readonly number[])[] = [
  [0x9a, 0xff, 0xff, 0xff, 0xff],
  [0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x5b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00],
  [0x7b, 0x00, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1],
  [0x9f, 0xff],
  [0xbf, 0xff],
  [0x5f, 0xff],
  [0xc2, 0x41, 0x00],
  [0xf7],
  [0xf9, 0x7e, 0x00],
  [0x80],
  [0xa0],
  [0xf6],
];

/** One change of a message. */
type Change = (bytes: Uint8Array) => Uint8Array;

const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const splice = (bytes: Uint8Array, from: number, to: number, put: Iterable<number>): Uint8Array =>
  Uint8Array.of(...bytes.subarray(0, from), ...put, ...bytes.subarray(to));

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(at, fc.nat(255)).map(([where, byte]): Change => (bytes) => {
    const i = Math.trunc(where * bytes.length);
    return splice(bytes, i, i + 1, [byte]);
  }),
  fc.tuple(at, fc.constantFrom(...HEADS)).map(([where, head]): Change => (bytes) => {
    const i = Math.trunc(where * bytes.length);
    return splice(bytes, i, i + 1, head);
  }),
  at.map(
    (where): Change =>
      (bytes) =>
        bytes.slice(0, Math.trunc(where * bytes.length)),
  ),
  fc.tuple(at, at).map(([a, b]): Change => (bytes) => {
    const [from, to] = [a, b].map((part) => Math.trunc(part * bytes.length)).toSorted((x, y) => x - y);
    return splice(bytes, from!, to!, []);
  }),
  // Parts that are there twice: elements, fields, keys of a map.
  fc.tuple(at, at).map(([a, b]): Change => (bytes) => {
    const [from, to] = [a, b].map((part) => Math.trunc(part * bytes.length)).toSorted((x, y) => x - y);
    return splice(bytes, to!, to!, bytes.subarray(from, to));
  }),
  fc.tuple(at, fc.uint8Array({ maxLength: 12 })).map(([where, put]): Change => (bytes) => {
    const i = Math.trunc(where * bytes.length);
    return splice(bytes, i, i, put);
  }),
);

/** Well-formed CBOR of any shape, duplicate keys included. */
const item: fc.Arbitrary<Uint8Array> = fc.letrec<{ item: Uint8Array }>((tie) => ({
  item: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map((number) => new CborWriter().integer(number).finish()),
    fc.nat(20).map((number) => new CborWriter().integer(number).finish()),
    fc.double().map((number) => new CborWriter().float(number).finish()),
    fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => new CborWriter().text(text).finish()),
    fc
      .constantFrom(
        "__proto__",
        "constructor",
        "users/ann",
        request.executionId,
        "00000003-00000000004d",
        "sliced",
        "busy",
      )
      .map((text) => new CborWriter().text(text).finish()),
    fc.uint8Array({ maxLength: 16 }).map((bytes) => new CborWriter().bytes(bytes).finish()),
    fc.constantFrom(
      new CborWriter().null().finish(),
      new CborWriter().boolean(true).finish(),
      new CborWriter().boolean(false).finish(),
    ),
    fc.array(tie("item"), { maxLength: 6 }).map((items) => {
      const writer = new CborWriter().array(items.length);
      for (const one of items) writer.raw(one);
      return writer.finish();
    }),
    fc.array(fc.tuple(fc.constantFrom("a", "b", "__proto__"), tie("item")), { maxLength: 4 }).map((pairs) => {
      const writer = new CborWriter().map(pairs.length);
      for (const [key, one] of pairs) writer.text(key).raw(one);
      return writer.finish();
    }),
  ),
})).item;

/** Where the items of a message's outermost array begin. */
function itemsOf(bytes: Uint8Array): readonly Uint8Array[] {
  const reader = new CborReader(bytes);
  if (reader.peek() !== "array") return [bytes];
  return Array.from({ length: reader.array() }, () => {
    const from = bytes.length - reader.remaining;
    reader.skip();
    return bytes.slice(from, bytes.length - reader.remaining);
  });
}

function expectMalformedOrStable({ again, canonical }: Decoder, bytes: Uint8Array): void {
  let first: Uint8Array;
  try {
    first = again(bytes);
  } catch (error) {
    if (error instanceof MalformedError) {
      expect(error.message).not.toBe("");
      expect(error.message.length).toBeLessThan(1_000);
      return;
    }
    throw error;
  }
  expect(isSame(again(first), first)).toBe(true);
  if (canonical === true) expect(isSame(first, bytes)).toBe(true);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

describe.each(DECODERS)("$name", (decoder) => {
  test("what we wrote", () => {
    for (const bytes of decoder.golden) expect(decoder.again(bytes)).toEqual(bytes);
  });

  test("random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectMalformedOrStable(decoder, bytes)),
      { numRuns: 2_000 },
    );
  });

  test("messages of ours, changed", () => {
    const changed = fc
      .tuple(fc.constantFrom(...decoder.golden), fc.array(change, { minLength: 1, maxLength: 4 }))
      .map(([bytes, changes]) => changes.reduce((before, one) => one(before), bytes));
    fc.assert(
      fc.property(changed, (bytes) => expectMalformedOrStable(decoder, bytes)),
      { numRuns: 4_000 },
    );
  });

  test("messages of ours with another item in place of one", () => {
    const replaced = fc
      .tuple(fc.constantFrom(...decoder.golden), fc.nat(), item, fc.array(item, { maxLength: 2 }))
      .map(([bytes, index, put, added]) => {
        const items = [...itemsOf(bytes)];
        items[index % items.length] = put;
        const writer = new CborWriter().array(items.length + added.length);
        for (const one of [...items, ...added]) writer.raw(one);
        return writer.finish();
      });
    fc.assert(
      fc.property(replaced, (bytes) => expectMalformedOrStable(decoder, bytes)),
      { numRuns: 2_000 },
    );
  });

  test("nested without end, at every place", () => {
    const deep = [
      new Uint8Array(200_000).fill(0x81),
      Uint8Array.from({ length: 200_000 }, (_, index) => [0xa1, 0x61, 0x61][index % 3]!),
    ];
    for (const bytes of decoder.golden) {
      const items = itemsOf(bytes);
      for (const nest of deep) {
        expect(() => decoder.again(nest)).toThrow(MalformedError);
        for (let place = 0; place <= items.length; place++) {
          const writer = new CborWriter().array(items.length + 1);
          for (const before of items.slice(0, place)) writer.raw(before);
          expect(() => decoder.again(writer.raw(nest).finish())).toThrow(MalformedError);
        }
      }
    }
  });

  // Were it quadratic in the length of the message, this would not end in time.
  test("very many small items", () => {
    const items = 300_000;
    for (const small of [0x80, 0xf6, 0x60, 0x00, 0xa0]) {
      const many = new CborWriter().array(items).raw(new Uint8Array(items).fill(small)).finish();
      for (const bytes of decoder.golden) {
        const fields = itemsOf(bytes);
        for (let place = 0; place < fields.length; place++) {
          const writer = new CborWriter().array(fields.length);
          for (const [index, field] of fields.entries()) writer.raw(index === place ? many : field);
          expectMalformedOrStable(decoder, writer.finish());
        }
      }
    }
  });
});

test.each([
  [
    "sections out of order",
    (writer: CborWriter) =>
      writer
        .map(2)
        .text("limits")
        .array(5)
        .integer(1)
        .integer(1)
        .integer(1)
        .integer(1)
        .integer(1)
        .text("handlers")
        .map(0),
    /not in order/,
  ],
  [
    "a section that comes twice",
    (writer: CborWriter) =>
      writer.map(2).text("limits").array(5).integer(1).integer(1).integer(1).integer(1).integer(1).text("limits"),
    /not in order/,
  ],
  ["no limits", (writer: CborWriter) => writer.map(1).text("handlers").map(0), /no section limits/],
  [
    "a section of a later release",
    (writer: CborWriter) => writer.map(1).text("schedules").map(0),
    /has a section "schedules"/,
  ],
  [
    "half of a handler's tables",
    (writer: CborWriter) => writer.map(1).text("handlers").map(1).text("a").array(3).text("sliced").array(0).null(),
    /half of its tables/,
  ],
  [
    "tables out of order",
    (writer: CborWriter) =>
      writer.map(1).text("handlers").map(1).text("a").array(3).text("sliced").array(2).text("b").text("a"),
    /table a is not in order/,
  ],
])("a module with %s is refused", (_, sections, words) => {
  const writer = new CborWriter().array(4).integer(5);
  sections(writer);
  expect(() => decodeModuleContent(writer.bytes(new Uint8Array()).bytes(new Uint8Array()).finish())).toThrow(words);
});

test("a module lists each handler once, in order, whatever its name", () => {
  const listing = (...names: string[]): Uint8Array => {
    const writer = new CborWriter()
      .array(8)
      .integer(3)
      .integer(1024)
      .integer(10_000)
      .integer(1)
      .integer(1)
      .map(names.length);
    for (const name of names) writer.text(name).text("near-storage");
    return writer.bytes(Uint8Array.of(1)).bytes(Uint8Array.of(2)).finish();
  };
  expect(Object.keys(decodeModuleContent(listing("__proto__", "a")).handlers)).toEqual(["__proto__", "a"]);
  expect(() => decodeModuleContent(listing("a", "a"))).toThrow(/not in order/);
  expect(() => decodeModuleContent(listing("b", "a"))).toThrow(/not in order/);
});

describe("arguments", () => {
  const records: RecordTypes = {
    Post: {
      name: "Post",
      fields: [
        { name: "text", type: { kind: "string" }, optional: false },
        { name: "tags", type: { kind: "array", element: { kind: "string" } }, optional: false },
        { name: "parent", type: { kind: "nullable", inner: { kind: "record", name: "Post" } }, optional: false },
      ],
    },
  };
  const parameters: readonly Parameter[] = [
    { name: "post", type: { kind: "record", name: "Post" }, optional: false },
    { name: "at", type: { kind: "i64" }, optional: true },
  ];

  test("any JSON is refused in words or becomes a value", () => {
    const json = fc.oneof(
      fc.jsonValue({ depthSize: "medium" }),
      fc.record({
        post: fc.record({ text: fc.jsonValue(), tags: fc.jsonValue(), parent: fc.jsonValue() }),
        at: fc.jsonValue(),
      }),
      fc.record({
        post: fc.record({ text: fc.string(), tags: fc.array(fc.string()), parent: fc.constant(null) }),
        at: fc.oneof(fc.integer(), fc.bigInt().map(String)),
      }),
    );
    fc.assert(
      fc.property(json, (given) => {
        const encoded = encodeArguments(parameters, records, given);
        if (encoded.kind === "encoded") expect(typeof JSON.parse(valueToJson(encoded.bytes))).toBe("object");
        else expect(encoded.problem.hint).not.toBe("");
      }),
      { numRuns: 2_000 },
    );
  });

  test("nested without end", () => {
    let post: unknown = null;
    for (let depth = 0; depth < 20_000; depth++) post = { text: "", tags: [], parent: post };
    const encoded = encodeArguments(parameters, records, { post });
    expect(encoded).toMatchObject({ kind: "problem", problem: { code: "invalid_argument" } });
    expect(MAX_DEPTH).toBeLessThan(20_000);
  });
});

// Decoded, 12 MB of them took 200 MB and more than a second.
test("a list of units that is longer than any server takes is refused before it is read", () => {
  const units = Array.from(
    { length: 100_001 },
    (_, index) => ({ unit: unitId("t", String(index)), mode: "write" }) as const,
  );
  expect(decodeLviRequest(encodeLviRequest({ ...request, units: units.slice(1) })).units?.length).toBe(100_000);
  expect(() => decodeLviRequest(encodeLviRequest({ ...request, units }))).toThrow(TooLargeError);
});
