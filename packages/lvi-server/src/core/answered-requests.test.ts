import type { CommitId, ExecutionId, LviRequest } from "@radical/protocol";
import { expect, test } from "vitest";
import { AnsweredRequests } from "./answered-requests.ts";

const id = (sequence: number): CommitId => `00000001-${String(sequence).padStart(12, "0")}` as CommitId;

function request(attempt: number, seen: CommitId | null, name = "a"): LviRequest {
  return {
    executionId: name.repeat(32) as ExecutionId,
    environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
    attempt,
    seen,
  } as LviRequest;
}

function memory(maxIds: number): {
  answered: AnsweredRequests;
  add: (request: LviRequest) => void;
  latest: () => CommitId;
} {
  let sequence = 1;
  const answered = new AnsweredRequests({ maxIds, replayWindowMs: 1_000 }, id(sequence), 0);
  return { answered, add: (one) => answered.add(one, () => id(++sequence), 0), latest: () => id(sequence) };
}

test("an attempt is new, then answered, and the next one is new", () => {
  const { answered, add, latest } = memory(100);
  expect(answered.look(request(1, id(1)), latest(), 0)).toBe("new");
  add(request(1, id(1)));
  expect(answered.look(request(1, id(1)), latest(), 0)).toBe("answered");
  expect(answered.look(request(2, id(1)), latest(), 0)).toBe("new");
});

test("what may have been answered before memory began is in doubt, as long as its signature is accepted", () => {
  const { answered, latest } = memory(100);
  expect(answered.look(request(1, null), latest(), 0)).toBe("in doubt");
  expect(answered.look(request(1, null), latest(), 3_001)).toBe("new");
});

// Found by the simulation: duplicates of both attempts, after they were forgotten.
test("a forgotten attempt stays in doubt when a duplicate of an earlier one was refused meanwhile", () => {
  const { answered, add, latest } = memory(4);
  add(request(1, id(1)));
  add(request(2, id(1)));
  for (const other of ["b", "c", "d", "e"]) add(request(1, latest(), other));
  expect(answered.look(request(1, id(1)), latest(), 0)).toBe("in doubt");
  add(request(1, id(1)));
  expect(answered.look(request(2, id(1)), latest(), 0)).toBe("in doubt");
  expect(answered.look(request(2, latest()), latest(), 0)).toBe("new");
});
