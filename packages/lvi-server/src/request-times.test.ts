import type { ExecutionId, LviReply } from "@radical/protocol";
import { expect, test } from "vitest";
import { RequestTimes } from "./request-times.ts";

const TIMES = { receivedAtMs: 0, sentAtMs: 0 };
const TOLD: LviReply = { kind: "valid", commitId: "1-1" as never, times: TIMES, asOf: null };
const READ_ONLY: LviReply = { kind: "valid", commitId: null, times: TIMES, asOf: null };

test("an execution is kept until its followup, one without a followup until it is answered", () => {
  const times = new RequestTimes();
  const [writer, reader] = ["writer" as ExecutionId, "reader" as ExecutionId];
  times.begin(writer);
  times.begin(reader);
  times.spent(writer, "lockWaitMs", 3);
  expect(times.answered(writer, TOLD)).toMatchObject({ execution: writer, reply: "valid", lockWaitMs: 3 });
  times.answered(reader, READ_ONLY);
  expect(times.size).toBe(1);
  expect(times.followed(writer)).not.toBeNull();
  expect(times.followed(writer)).toBeNull();
  expect(times.size).toBe(0);
});

test("followups that never come leave a bounded number, the last ones", () => {
  const times = new RequestTimes();
  const ids = Array.from({ length: 10_100 }, (_, index) => `e${index}` as ExecutionId);
  for (const id of ids) {
    times.begin(id);
    times.answered(id, TOLD);
  }
  expect(times.size).toBe(10_000);
  expect(times.followed(ids[99])).toBeNull();
  expect(times.followed(ids[100])).not.toBeNull();
});
