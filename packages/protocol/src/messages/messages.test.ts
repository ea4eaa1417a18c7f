/** Golden bytes of protocol version 1: they stay in the tree and must decode forever. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborWriter } from "../cbor.ts";
import { MAX_VALUE_BYTES } from "../host-functions.ts";
import { contentHash } from "../content-hash.ts";
import { commitId, type Key, type UnitId, unitId } from "../ids.ts";
import { MalformedError } from "../malformed-error.ts";
import { abiOfImports } from "../host-functions.ts";
import {
  decodeModuleContent,
  encodeModuleContent,
  handlersWith,
  leastAbi,
  plansOf,
  UnknownSectionError,
} from "../module-content.ts";
import { decodeOutcome, encodeOutcome } from "../outcome.ts";
import { spanId } from "../span.ts";
import {
  BASE64,
  effects,
  followup,
  module,
  outcomes,
  questions,
  replies,
  request,
  session,
  taskRules,
} from "../testing/messages.ts";
import { type TaskRules, writeTaskRules } from "../task-rules.ts";
import { countEntry, directoryEntry, entryOf, type Version } from "../version.ts";
import {
  decodeFollowup,
  decodeFollowupReply,
  encodeFollowup,
  encodeFollowupReply,
  FOLLOWUP_RESULTS,
} from "./followup.ts";
import { decodeLine, encodeLine, type Line } from "./listening.ts";
import { decodeLviReply, encodeLviReply, type LviReply } from "./lvi-reply.ts";
import { decodeWorkflowQuestion, encodeWorkflowQuestion } from "./workflow-question.ts";
import { type AccessedUnit, decodeLviRequest, encodeLviRequest } from "./lvi-request.ts";

/** The request of `testing/messages.ts`, as it was sent before there were callers. */
const REQUEST_WITHOUT_CALLER =
  "8e017820303030313032303330343035303630373038303930613062306330643065306678406162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616266666f6c6c6f7741a01b0000018bcfe5687b5009090909090909090909090909090909624a5084836975736572732f616e6e02827530303030303030312d3030303030303030303030327063666461323330363032313336663935836975736572732f626f6200827530303030303030312d303030303030303030303031f6836975736572732f65766500f6826f666f6c6c6f77732f616e6e2f626f6201f519271000027530303030303030332d303030303030303030303463";

/** The same, and without a set, as they were sent before there were requests that must not write. */
const REQUEST_THAT_MAY_WRITE =
  "8f017820303030313032303330343035303630373038303930613062306330643065306678406162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616266666f6c6c6f7741a01b0000018bcfe5687b5009090909090909090909090909090909624a5084836975736572732f616e6e02827530303030303030312d3030303030303030303030327063666461323330363032313336663935836975736572732f626f6200827530303030303030312d303030303030303030303031f6836975736572732f65766500f6826f666f6c6c6f77732f616e6e2f626f6201f519271000027530303030303030332d303030303030303030303463687573657220616e6e";
const REQUEST_WITHOUT_SET_THAT_MAY_WRITE =
  "8f017820303030313032303330343035303630373038303930613062306330643065306678406162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616266666f6c6c6f7741a01b0000018bcfe5687b5009090909090909090909090909090909624a50f6f519271000027530303030303030332d303030303030303030303463687573657220616e6e";

/** The same and the replies, as they were sent before attempts were counted. */
const FIRST_REQUEST =
  "8c017820303030313032303330343035303630373038303930613062306330643065306678406162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616266666f6c6c6f7741a01b0000018bcfe5687b5009090909090909090909090909090909624a5084836975736572732f616e6e02827530303030303030312d3030303030303030303030327063666461323330363032313336663935836975736572732f626f6200827530303030303030312d303030303030303030303031f6836975736572732f65766500f6826f666f6c6c6f77732f616e6e2f626f6201f519271000";
const FIRST_REPLIES: readonly string[] = [
  "8501007530303030303030332d303030303030303030303464fb4278bcfe56800000fb4278bcfe56800800",
  "850100f6fb4278bcfe56800000fb4278bcfe56800800",
  "870101008200446361626382836975736572732f616e6e827530303030303030312d30303030303030303030303570636664613233303630323133366639354463616263836975736572732f626f62827530303030303030312d303030303030303030303035f6f6fb4278bcfe56800000fb4278bcfe56800800",
  "850102646275737976746f6f206d616e7920726571756573747320776169741832",
  "8501026e756e6b6e6f776e5f6d6f64756c656e756e6b6e6f776e206d6f64756c65f6",
];

/** The request and the followup, as they were sent before there were tasks. */
const REQUEST_WITHOUT_LANES =
  "91017820303030313032303330343035303630373038303930613062306330643065306678406162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616266666f6c6c6f7741a01b0000018bcfe5687b5009090909090909090909090909090909624a5084836975736572732f616e6e02827530303030303030312d3030303030303030303030327063666461323330363032313336663935836975736572732f626f6200827530303030303030312d303030303030303030303031f6836975736572732f65766500f6826f666f6c6c6f77732f616e6e2f626f6201f519271000027530303030303030332d303030303030303030303463687573657220616e6ef6f4";
const FOLLOWUP_WITHOUT_EFFECTS =
  "8501782030303031303230333034303530363037303830393061306230633064306530667530303030303030332d3030303030303030303034648200446361626382826f666f6c6c6f77732f616e6e2f626f624463616263826975736572732f626f62f6";

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function failureOf(action: () => unknown): unknown {
  try {
    action();
    return null;
  } catch (error) {
    return error;
  }
}

test("golden bytes of version 1", () => {
  expect({
    request: hex(encodeLviRequest(request)),
    requestThatMustNotWrite: hex(encodeLviRequest({ ...request, mustNotWrite: true })),
    requestWithSession: hex(encodeLviRequest({ ...request, session })),
    requestWithoutSet: hex(encodeLviRequest({ ...request, units: null })),
    requestThatWaits: hex(encodeLviRequest({ ...request, waitMs: 10_000 })),
    requestWithLanes: hex(encodeLviRequest({ ...request, mayEffect: true, lanes: ["a", "order/é"] })),
    replies: replies.map((reply) => hex(encodeLviReply(reply))),
    followup: hex(encodeFollowup(followup)),
    followupWithEffects: hex(encodeFollowup({ ...followup, effects })),
    questions: questions.map((question) => hex(encodeWorkflowQuestion(question))),
    outcomes: outcomes.map((outcome) => hex(encodeOutcome(outcome))),
  }).toMatchSnapshot();
});

test("messages of senders that knew neither attempts nor commit ids as a clock", () => {
  const environment = { ...request.environment, caller: null };
  expect(decodeLviRequest(bytesOf(FIRST_REQUEST))).toEqual({ ...request, environment, attempt: 1, seen: null });
  expect(FIRST_REPLIES.map((text) => decodeLviReply(bytesOf(text)))).toEqual(
    replies.filter(({ kind }) => kind !== "working").map((reply) => ({ ...reply, asOf: null })),
  );
});

test("a request of a sender that knew no callers has none", () => {
  const environment = { ...request.environment, caller: null };
  expect(decodeLviRequest(bytesOf(REQUEST_WITHOUT_CALLER))).toEqual({ ...request, environment });
});

test("a request of a sender that knew none that must not write may write", () => {
  expect(decodeLviRequest(bytesOf(REQUEST_THAT_MAY_WRITE))).toEqual(request);
  expect(decodeLviRequest(bytesOf(REQUEST_WITHOUT_SET_THAT_MAY_WRITE))).toEqual({ ...request, units: null });
});

test("a request of a sender that knew no workflows does not wait", () => {
  expect(decodeLviRequest(bytesOf(REQUEST_WITHOUT_LANES)).waitMs).toBeUndefined();
  expect(decodeLviRequest(encodeLviRequest({ ...request, waitMs: 5 }))).toEqual({ ...request, waitMs: 5 });
});

test("questions come out of their bytes as they went in", () => {
  expect(questions.map((question) => decodeWorkflowQuestion(encodeWorkflowQuestion(question)))).toEqual(questions);
});

test("messages of senders that knew no tasks have none", () => {
  expect(decodeLviRequest(bytesOf(REQUEST_WITHOUT_LANES))).toEqual(request);
  expect(decodeFollowup(bytesOf(FOLLOWUP_WITHOUT_EFFECTS))).toEqual(followup);
});

test("units in the order of UTF-16, as earlier releases send them, are taken; writes are put in order", () => {
  const [low, high] = [unitId("t", "\u{ffff}"), unitId("t", "\u{10000}")];
  const inUtf16 = [high, low].map((unit) => ({ unit, value: null }));
  const sent = encodeFollowup({ ...followup, outcome: { kind: "result", value: Uint8Array.of(1) }, writes: inUtf16 });
  expect(decodeFollowup(sent).writes).toEqual(inUtf16.toReversed());
  const units = inUtf16.map(({ unit }): AccessedUnit => ({ unit, mode: "write" }));
  expect(decodeLviRequest(encodeLviRequest({ ...request, units })).units).toEqual(units);
});

test("a reply is malformed whose repair has another value than its version names", () => {
  const value = Uint8Array.of(0x83, 0xfa, 0x17, 0xc0, 0x01);
  const repairs = [{ unit: unitId("users", "ann"), entry: entryOf(commitId(1, 5), value) }];
  const outcome = { kind: "result", value: Uint8Array.of(1) } as const;
  const times = { receivedAtMs: 1, sentAtMs: 2 };
  const bytes = encodeLviReply({ kind: "executed", cause: "stale", outcome, repairs, times, asOf: commitId(1, 9) });
  expect(decodeLviReply(bytes)).toMatchObject({ repairs });
  bytes[Buffer.from(bytes).indexOf(value) + 2]! ^= 1;
  expect(() => decodeLviReply(bytes)).toThrow("repair with another value than its version");
});

describe("spans", () => {
  const row = { key: "room/1" as Key, commitId: commitId(1, 2), hash: contentHash(Uint8Array.of(1)) };
  const page = spanId({ table: "posts", kind: "rows", lo: "room/", hi: "room0" });
  const number = spanId({ table: "posts", kind: "count", lo: "room/", hi: "" });
  const read = (unit: UnitId, version: Version | null): AccessedUnit => ({ unit, mode: "read", version });
  const [entry, counted] = [directoryEntry(commitId(1, 9), [row]), countEntry(commitId(1, 9), 1)];
  const units = [read(number, counted.version), read(page, entry.version)];

  test("golden bytes", () => {
    const repairs = [
      { unit: page, entry },
      { unit: number, entry: counted },
    ];
    const reply: LviReply = {
      kind: "executed",
      cause: "stale",
      outcome: { kind: "result", value: Uint8Array.of(1) },
      repairs,
      times: { receivedAtMs: 1, sentAtMs: 2 },
      asOf: commitId(1, 9),
    };
    const sent = encodeLviRequest({ ...request, units });
    expect({ request: hex(sent), reply: hex(encodeLviReply(reply)) }).toMatchSnapshot();
    expect(decodeLviRequest(sent).units).toEqual(units);
    expect(decodeLviReply(encodeLviReply(reply))).toEqual(reply);
    const lines: readonly Line[] = [
      { kind: "hint", entries: repairs },
      { kind: "lease", n: 1, units: [{ unit: page, version: entry.version }] },
    ];
    for (const line of lines) expect(decodeLine(encodeLine(line, BASE64), BASE64)).toEqual(line);
  });

  test.each([
    ["is written", { unit: page, mode: "write" } as const],
    ["is read and written", { unit: page, mode: "read-write", version: entry.version } as const],
    ["has no version", read(page, null)],
    ["has the version of an absent item", read(page, entryOf(commitId(1, 1), null).version)],
  ])("one that %s is malformed", (_what, accessed) => {
    expect(() => decodeLviRequest(encodeLviRequest({ ...request, units: [accessed] }))).toThrow(MalformedError);
  });

  test("a followup writes none", () => {
    const outcome = { kind: "result", value: Uint8Array.of(1) } as const;
    const writes = [{ unit: page, value: Uint8Array.of(1) }];
    expect(() => decodeFollowup(encodeFollowup({ ...followup, outcome, writes }))).toThrow(MalformedError);
  });

  test("a hint whose directory is not that of its digest is passed over", () => {
    const other = { ...entry, value: directoryEntry(commitId(1, 9), []).value };
    const line = encodeLine({ kind: "hint", entries: [{ unit: page, entry: other }] }, BASE64);
    expect(decodeLine(line, BASE64)).toEqual({ kind: "hint", entries: [] });
  });
});

describe("the session of a request", () => {
  const sent = encodeLviRequest(request);
  const withSession = (encoded: CborWriter): Uint8Array =>
    Uint8Array.of(...sent.slice(0, -4), ...encoded.finish(), ...sent.slice(-3));

  test("is null in the requests of earlier releases, which had that field reserved", () => {
    // In front of "must not write", the lanes and the time of waiting.
    expect(sent.slice(-4)).toEqual(Uint8Array.of(0xf6, 0xf4, 0x80, 0x00));
    expect(decodeLviRequest(sent).session).toBeNull();
  });

  test("may have fields that a later sender has added", () => {
    const later = new CborWriter().array(5).text("3.17").integer(4).boolean(true).text("later").null();
    expect(decodeLviRequest(withSession(later))).toEqual({ ...request, session });
  });

  test.each([
    ["is no list", new CborWriter().map(0)],
    ["lacks a field", new CborWriter().array(2).text("3.17").integer(4)],
    ["has an id that is none", new CborWriter().array(3).text("3").integer(4).boolean(true)],
    ["has a number below 0", new CborWriter().array(3).text("3.17").integer(-1).boolean(true)],
    ["does not say whether it watches", new CborWriter().array(3).text("3.17").integer(4).null()],
  ])("is refused when it %s", (_what, malformed) => {
    expect(() => decodeLviRequest(withSession(malformed))).toThrow(MalformedError);
  });
});

/** Encoded by releases that knew no other version. */
const MODULE_OF_ABI_3 =
  "88031904001927101b0000000ba43b74001a00060000a4616166736c6963656461626c6e6561722d73746f72616765616365676976656e6164687265636f7264656444636162634101";

test("golden bytes of a module of ABI version 3: all of its fuel may be used at a location", () => {
  const decoded = decodeModuleContent(bytesOf(MODULE_OF_ABI_3));
  const limits = { ...module.limits, speculationFuel: module.limits.fuel };
  expect(decoded).toEqual({ ...module, abi: 3, limits, handlers: handlersWith(plansOf(module)) });
  // Its hash is that of these bytes.
  expect(hex(encodeModuleContent(decoded))).toBe(MODULE_OF_ABI_3);
});

/** Encoded by releases that knew no later version. */
const MODULE_OF_ABI_4 =
  "89041904001927101b0000000ba43b74001a000600001a77359400a4616166736c6963656461626c6e6561722d73746f72616765616365676976656e6164687265636f7264656444636162634101";

test("golden bytes of a module of ABI version 4: its handlers may touch any table", () => {
  const decoded = decodeModuleContent(bytesOf(MODULE_OF_ABI_4));
  expect(decoded).toEqual({ ...module, abi: 4, handlers: handlersWith(plansOf(module)) });
  expect(hex(encodeModuleContent(decoded))).toBe(MODULE_OF_ABI_4);
});

/** Encoded by releases that knew no later version. */
const MODULE_OF_ABI_5 =
  "8405a26868616e646c657273a461618366736c696365648267666f6c6c6f7773657573657273806162836c6e6561722d73746f72616765f6f661638365676976656e8080616483687265636f726465648081657573657273666c696d697473851904001927101b0000000ba43b74001a000600001a7735940044636162634101";

test("golden bytes of a module of ABI version 5: sections, with the tables of each handler", () => {
  const decoded = decodeModuleContent(bytesOf(MODULE_OF_ABI_5));
  expect(decoded).toEqual({ ...module, abi: 5 });
  expect(hex(encodeModuleContent(decoded))).toBe(MODULE_OF_ABI_5);
});

test.each([
  [6, "log"],
  [7, "scan"],
  [9, "scrypt"],
])("golden bytes of a module of ABI version %d: only its number is another, since handlers may import %s", (abi) => {
  const bytes = MODULE_OF_ABI_5.replace(/^8405/, `840${abi}`);
  expect(hex(encodeModuleContent({ ...module, abi }))).toBe(bytes);
  expect(decodeModuleContent(bytesOf(bytes))).toEqual({ ...module, abi });
});

test("golden bytes of a module of ABI version 8: the names of its indexes, between the other sections", () => {
  const indexes = ["posts.author+at", "users=email"];
  const bytes = MODULE_OF_ABI_5.replace(/^8405a2/, "8408a3").replace(
    "666c696d697473",
    "67696e6465786573826f706f7374732e617574686f722b61746b75736572733d656d61696c666c696d697473",
  );
  expect(hex(encodeModuleContent({ ...module, abi: 8, indexes }))).toBe(bytes);
  expect(decodeModuleContent(bytesOf(bytes))).toEqual({ ...module, abi: 8, indexes });
  expect(leastAbi(["scan"], { indexes: true })).toBe(8);
  expect(leastAbi(["scan"])).toBe(7);
  expect(leastAbi(["scrypt"], { indexes: true })).toBe(9);
  expect(leastAbi(["get"], { blobs: true })).toBe(10);
  expect(leastAbi(["get"], { tasks: true })).toBe(11);
  expect(leastAbi(["cancel"])).toBe(11);
});

test.each([
  ["no name", []],
  ["a name of a table", ["posts"]],
  ["names that are not in order", ["users=email", "posts.author"]],
])("indexes with %s are refused", (_what, indexes) => {
  const bytes = hex(encodeModuleContent({ ...module, abi: 8, indexes: ["posts.author"] }));
  const one = hex(new CborWriter().array(1).text("posts.author").finish());
  const writer = new CborWriter().array(indexes.length);
  for (const name of indexes) writer.text(name);
  const wrong = bytes.replace(one, hex(writer.finish()));
  expect(wrong).not.toBe(bytes);
  expect(() => decodeModuleContent(bytesOf(wrong))).toThrow(MalformedError);
});

test("a module of an ABI version before 8 has no section of indexes", () => {
  const bytes = encodeModuleContent({ ...module, abi: 7, indexes: ["posts.author"] });
  expect(() => decodeModuleContent(bytes)).toThrow(UnknownSectionError);
});

test("golden bytes of a module of ABI version 11: the rules of tasks, behind the other sections", () => {
  const content = { ...module, abi: 11, tasks: taskRules };
  const bytes = hex(encodeModuleContent(content));
  expect(bytes).toMatchSnapshot();
  expect(decodeModuleContent(bytesOf(bytes))).toEqual(content);
});

test.each([
  ["of no handler", {}],
  ["of a handler that is not there", { nobody: { attempts: 1 } }],
  ["that say nothing", { a: {} }],
  ["with a limit that says nothing", { a: { limit: { running: null, rate: null } } }],
  ["with no attempt", { a: { attempts: 0 } }],
])("rules of tasks %s are refused", (_what, tasks: Readonly<Record<string, TaskRules>>) => {
  const bytes = hex(encodeModuleContent({ ...module, tasks: { a: { attempts: 7 } } }));
  const one = hex(new CborWriter().text("tasks").finish());
  const writer = new CborWriter().text("tasks").map(Object.keys(tasks).length);
  for (const [name, rules] of Object.entries(tasks)) writeTaskRules(writer.text(name), rules);
  const at = bytes.indexOf(one);
  const wasm = bytes.indexOf(hex(new CborWriter().bytes(module.wasm).bytes(module.rwWasm).finish()));
  const wrong = `${bytes.slice(0, at)}${hex(writer.finish())}${bytes.slice(wasm)}`;
  expect(() => decodeModuleContent(bytesOf(wrong))).toThrow(MalformedError);
});

test("a module of an ABI version before 11 has no section of tasks", () => {
  const bytes = encodeModuleContent({ ...module, abi: 10, tasks: taskRules });
  expect(() => decodeModuleContent(bytes)).toThrow(UnknownSectionError);
});

test("a module states the least version of the ABI that has its imports", () => {
  expect(
    [["get", "put"], ["log", "get"], ["overflow"], ["scan", "log"], ["sha256"]].map((imports) => leastAbi(imports)),
  ).toEqual([5, 6, 6, 7, 9]);
  const functions = {
    get: { parameters: [], result: null, program: "both" },
    later: { parameters: [], result: null, program: "both", since: 9 },
  } as const;
  expect([abiOfImports(["get"], functions), abiOfImports(["later", "get"], functions)]).toEqual([3, 9]);
});

test.each([
  [2, "build the handlers again"],
  [12, "upgrade this one, the primary before its locations"],
])("a module of ABI version %d is refused, with what to do", (abi, hint) => {
  const bytes = encodeModuleContent({ ...module, abi });
  expect(() => decodeModuleContent(bytes)).toThrow(
    `the module has ABI version ${abi}, and this release of Radical runs 3 to 11`,
  );
  expect(failureOf(() => decodeModuleContent(bytes))).toMatchObject({ hint: expect.stringContaining(hint) as string });
});

test("the fuel of a speculation is at most all of it", () => {
  const limits = { ...module.limits, fuel: 5_000, speculationFuel: 5_001 };
  expect(() => decodeModuleContent(encodeModuleContent({ ...module, limits }))).toThrow(MalformedError);
});

/** Alike, so that one could be taken for another. */
const accessedUnit = fc
  .record({
    key: fc.constantFrom("a", "b", "ab", "k".repeat(40), "k".repeat(500), "é"),
    mode: fc.constantFrom("read" as const, "write" as const, "read-write" as const),
    version: fc.option(fc.record({ sequence: fc.nat(2), value: fc.option(fc.constantFrom(0, 1), { nil: null }) }), {
      nil: null,
    }),
  })
  .map(({ key, mode, version }): AccessedUnit => {
    const unit = unitId("users", key);
    if (mode === "write") return { unit, mode };
    if (version === null) return { unit, mode, version: null };
    const { sequence, value } = version;
    return {
      unit,
      mode,
      version: entryOf(commitId(1, sequence), value === null ? null : Uint8Array.of(value)).version,
    };
  });

test("property: units are decoded as they are, whichever were decoded before", () => {
  const sets = fc.uniqueArray(accessedUnit, { selector: ({ unit }) => unit, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(sets, { maxLength: 5 }), (messages) => {
      for (const units of messages) {
        const sent = { ...request, units };
        expect(decodeLviRequest(encodeLviRequest(sent))).toEqual(sent);
      }
    }),
  );
});

test("what is encoded is decoded", () => {
  expect(decodeLviRequest(encodeLviRequest(request))).toEqual(request);
  expect(decodeLviRequest(encodeLviRequest({ ...request, units: null }))).toEqual({ ...request, units: null });
  const read = { ...request, mustNotWrite: true };
  expect(decodeLviRequest(encodeLviRequest(read))).toEqual(read);
  for (const reply of replies) expect(decodeLviReply(encodeLviReply(reply))).toEqual(reply);
  expect(decodeFollowup(encodeFollowup(followup))).toEqual(followup);
  for (const result of FOLLOWUP_RESULTS) expect(decodeFollowupReply(encodeFollowupReply(result))).toBe(result);
  // Earlier releases know no other word.
  expect(decodeFollowupReply(encodeFollowupReply("forged"))).toBe("not_covered");
  for (const outcome of outcomes) expect(decodeOutcome(encodeOutcome(outcome))).toEqual(outcome);
  expect(decodeModuleContent(encodeModuleContent(module))).toEqual(module);
});

describe("a decoder", () => {
  test("ignores fields that a later sender added", () => {
    const bytes = encodeFollowupReply("applied");
    const longer = new CborWriter().array(3).integer(1).integer(0).map(1).text("later").array(0).finish();
    expect(decodeFollowupReply(longer)).toBe(decodeFollowupReply(bytes));
  });

  test("refuses another protocol version", () => {
    expect(() => decodeFollowupReply(new CborWriter().array(2).integer(2).integer(0).finish())).toThrow(
      /^the message has protocol version 2, and this release of Radical takes 1 to 1$/,
    );
  });

  test.each(["", "x".repeat(513)])("refuses a caller that could be no key: %j", (caller) => {
    const bytes = encodeLviRequest({ ...request, environment: { ...request.environment, caller } });
    expect(() => decodeLviRequest(bytes)).toThrow(/caller/);
  });

  test("refuses a unit listed twice", () => {
    const unit = { unit: unitId("t", "k"), mode: "write" } as const;
    expect(() => decodeLviRequest(encodeLviRequest({ ...request, units: [unit, unit] }))).toThrow(/twice/);
  });

  test("refuses writes of a failed execution", () => {
    expect(() => decodeFollowup(encodeFollowup({ ...followup, outcome: outcomes[1]! }))).toThrow(MalformedError);
  });

  test("refuses a value that no handler could have written", () => {
    const write = (length: number) => ({ unit: unitId("t", "k"), value: new Uint8Array(length) });
    const sent = (length: number) => decodeFollowup(encodeFollowup({ ...followup, writes: [write(length)] }));
    expect(sent(MAX_VALUE_BYTES).writes.length).toBe(1);
    expect(() => sent(MAX_VALUE_BYTES + 1)).toThrow(/larger than 393216 bytes/);
  });

  test.each([
    ["request", encodeLviRequest(request), decodeLviRequest],
    ["reply", encodeLviReply(replies[2]!), decodeLviReply],
    ["followup", encodeFollowup(followup), decodeFollowup],
    ["module", encodeModuleContent(module), decodeModuleContent],
  ] as const)("fails cleanly on a %s cut off or with any byte changed", (_, bytes, decode) => {
    for (let end = 0; end < bytes.length; end++) expect(() => decode(bytes.subarray(0, end))).toThrow(MalformedError);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
        const changed = bytes.slice();
        changed[at] = byte;
        const failure = failureOf(() => decode(changed));
        expect(failure === null || failure instanceof MalformedError).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
