import { describe, expect, test } from "vitest";
import { CborReader, CborWriter } from "./cbor.ts";
import { decodeFollowupReply, encodeFollowup, encodeFollowupReply } from "./messages/followup.ts";
import { encodeLine } from "./messages/listening.ts";
import { encodeLviRequest } from "./messages/lvi-request.ts";
import { encodeServiceAnswer, encodeServiceCall } from "./messages/service-call.ts";
import { encodeWorkflowQuestion } from "./messages/workflow-question.ts";
import { BASE64, followup, hint, lines, questions, request, serviceAnswers, serviceCall } from "./testing/messages.ts";
import { UnknownVersionError } from "./malformed-error.ts";
import {
  ABI,
  FOLLOWUP,
  FOLLOWUP_REPLY,
  FRAMING,
  HINT,
  HISTORY,
  LEASE,
  LVI_REPLY_TAIL,
  LVI_REQUEST,
  SERVICE_ANSWER,
  SERVICE_CALL,
  WORKFLOW_QUESTION,
} from "./wire-version.ts";

test("the history of every form goes from its floor to the version that is sent", () => {
  const forms = {
    LVI_REQUEST,
    LVI_REPLY_TAIL,
    FOLLOWUP,
    FOLLOWUP_REPLY,
    SERVICE_CALL,
    SERVICE_ANSWER,
    WORKFLOW_QUESTION,
    HINT,
    LEASE,
    ABI,
  };
  const ends = Object.entries(HISTORY).map(([name, history]) => {
    const versions = Object.keys(history).map(Number);
    return [name, { floor: versions[0], sent: versions.at(-1) }];
  });
  expect(Object.fromEntries(ends)).toEqual(forms);
});

describe("a message of a framing", () => {
  const framed = (version: number): Uint8Array => new CborWriter().array(2).integer(version).integer(0).finish();

  test("that is taken is read, and the one that is sent is among them", () => {
    const taken = Array.from({ length: FRAMING.newest - FRAMING.floor + 1 }, (_, at) => FRAMING.floor + at);
    expect(taken).toContain(FRAMING.sent);
    for (const version of taken) expect(decodeFollowupReply(framed(version))).toBe("applied");
  });

  test.each([
    ["newer", FRAMING.newest + 1],
    ["older", FRAMING.floor - 1],
  ])("that is %s is refused with the side to upgrade", (age, version) => {
    let refused: unknown = null;
    try {
      decodeFollowupReply(framed(version));
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(UnknownVersionError);
    expect(refused).toMatchObject({ hint: expect.stringMatching(new RegExp(`^an? ${age} release has sent it`)) });
  });
});

test("messages have as many fields as their version says", () => {
  const fieldsOf = (message: Uint8Array): number => new CborReader(message).array() - 1;
  expect(fieldsOf(encodeLviRequest(request))).toBe(LVI_REQUEST.sent);
  expect(fieldsOf(encodeFollowup(followup))).toBe(FOLLOWUP.sent);
  expect(fieldsOf(encodeFollowupReply("applied"))).toBe(FOLLOWUP_REPLY.sent);
  expect(fieldsOf(encodeServiceCall(serviceCall))).toBe(SERVICE_CALL.sent);
  for (const answer of serviceAnswers) expect(fieldsOf(encodeServiceAnswer(answer))).toBe(SERVICE_ANSWER.sent);
  expect(fieldsOf(encodeWorkflowQuestion(questions[0]!))).toBe(WORKFLOW_QUESTION.sent);
  const entries = JSON.parse(encodeLine(hint, BASE64)) as readonly (readonly unknown[])[];
  for (const entry of entries) expect(entry).toHaveLength(HINT.sent);
  const lease = lines.find(({ kind }) => kind === "lease");
  const [, , leased] = JSON.parse(encodeLine(lease!, BASE64)) as [string, number, readonly unknown[]];
  for (const unit of leased) expect(unit).toHaveLength(LEASE.sent);
});
