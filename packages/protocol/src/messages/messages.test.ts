/** Golden bytes of protocol version 1: they stay in the tree and must decode for ever. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CborWriter, MalformedError } from "../cbor.ts";
import { MAX_VALUE_BYTES } from "../host-functions.ts";
import { commitId, type ExecutionId, type ModuleHash, unitId } from "../ids.ts";
import { decodeModuleContent, DEFAULT_LIMITS, encodeModuleContent } from "../module-content.ts";
import { decodeOutcome, encodeOutcome, type Outcome } from "../outcome.ts";
import { entryOf } from "../version.ts";
import {
  decodeFollowup,
  decodeFollowupReply,
  encodeFollowup,
  encodeFollowupReply,
  FOLLOWUP_RESULTS,
  type Followup,
} from "./followup.ts";
import { decodeLviReply, encodeLviReply, type LviReply } from "./lvi-reply.ts";
import { decodeLviRequest, encodeLviRequest, type LviRequest } from "./lvi-request.ts";

const executionId = "000102030405060708090a0b0c0d0e0f" as ExecutionId;
const value = Uint8Array.of(0x63, 0x61, 0x62, 0x63);
const times = { receivedAtMs: 1_700_000_000_000, sentAtMs: 1_700_000_000_000.5 };

const request: LviRequest = {
  executionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "follow",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_700_000_000_123, seed: new Uint8Array(16).fill(9) },
  location: "JP",
  units: [
    { unit: unitId("users", "ann"), mode: "read-write", version: entryOf(commitId(1, 2), value).version },
    { unit: unitId("users", "bob"), mode: "read", version: entryOf(commitId(1, 1), null).version },
    { unit: unitId("users", "eve"), mode: "read", version: null },
    { unit: unitId("follows", "ann/bob"), mode: "write" },
  ],
  retained: true,
  deadlineMs: 10_000,
};

const outcomes: readonly Outcome[] = [
  { kind: "result", value },
  { kind: "abort", status: 409, code: "taken", message: "the name is taken" },
  { kind: "trap", code: "assertion_failed", message: "assertion failed at handlers/a.ts:3:1" },
];

const replies: readonly LviReply[] = [
  { kind: "valid", commitId: commitId(3, 77), times },
  { kind: "valid", commitId: null, times },
  {
    kind: "executed",
    cause: "stale",
    outcome: outcomes[0]!,
    repairs: [
      { unit: unitId("users", "ann"), entry: entryOf(commitId(1, 5), value) },
      { unit: unitId("users", "bob"), entry: entryOf(commitId(1, 5), null) },
    ],
    times,
  },
  { kind: "refused", code: "busy", message: "too many requests wait", retryAfterMs: 50 },
  { kind: "refused", code: "unknown_module", message: "unknown module", retryAfterMs: null },
];

const followup: Followup = {
  executionId,
  commitId: commitId(3, 77),
  outcome: outcomes[0]!,
  writes: [
    { unit: unitId("follows", "ann/bob"), value },
    { unit: unitId("users", "bob"), value: null },
  ],
};

const module = {
  limits: DEFAULT_LIMITS,
  plans: { b: "near-storage", a: "speculative" },
  wasm: value,
  rwWasm: Uint8Array.of(1),
} as const;

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
    requestWithoutSet: hex(encodeLviRequest({ ...request, units: null })),
    replies: replies.map((reply) => hex(encodeLviReply(reply))),
    followup: hex(encodeFollowup(followup)),
    outcomes: outcomes.map((outcome) => hex(encodeOutcome(outcome))),
    module: hex(encodeModuleContent(module)),
  }).toMatchSnapshot();
});

test("what is encoded is decoded", () => {
  expect(decodeLviRequest(encodeLviRequest(request))).toEqual(request);
  expect(decodeLviRequest(encodeLviRequest({ ...request, units: null }))).toEqual({ ...request, units: null });
  for (const reply of replies) expect(decodeLviReply(encodeLviReply(reply))).toEqual(reply);
  expect(decodeFollowup(encodeFollowup(followup))).toEqual(followup);
  for (const result of FOLLOWUP_RESULTS) expect(decodeFollowupReply(encodeFollowupReply(result))).toBe(result);
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
      /unknown protocol version 2/,
    );
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
