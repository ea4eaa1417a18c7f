import { expect, test } from "vitest";
import { CborReader } from "./cbor.ts";
import { encodeFollowup, encodeFollowupReply } from "./messages/followup.ts";
import { encodeLine } from "./messages/listening.ts";
import { encodeLviRequest } from "./messages/lvi-request.ts";
import { BASE64, followup, hint, request } from "./testing/messages.ts";
import { ABI, FOLLOWUP, FOLLOWUP_REPLY, HINT, LVI_REPLY_TAIL, LVI_REQUEST } from "./wire-version.ts";

test.each(Object.entries({ ABI, FOLLOWUP, FOLLOWUP_REPLY, HINT, LVI_REPLY_TAIL, LVI_REQUEST }))(
  "the history of %s goes from its floor to the version that is sent",
  (_name, { floor, sent, history }) => {
    const versions = Object.keys(history).map(Number);
    expect([versions[0], versions.at(-1)]).toEqual([floor, sent]);
  },
);

test("messages have as many fields as their version says", () => {
  const fieldsOf = (message: Uint8Array): number => new CborReader(message).array() - 1;
  expect(fieldsOf(encodeLviRequest(request))).toBe(LVI_REQUEST.sent);
  expect(fieldsOf(encodeFollowup(followup))).toBe(FOLLOWUP.sent);
  expect(fieldsOf(encodeFollowupReply("applied"))).toBe(FOLLOWUP_REPLY.sent);
  const entries = JSON.parse(encodeLine(hint, BASE64)) as readonly (readonly unknown[])[];
  for (const entry of entries) expect(entry).toHaveLength(HINT.sent);
});
