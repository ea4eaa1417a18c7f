import { type CommitId, NO_COMMIT, type Outcome, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import type { RunResult } from "./run.ts";
import { arrivalOf, type Member } from "./train.ts";

const UNIT = unitId("seats", "1");

function member(name: string, isStep: boolean): Member {
  const execution = { retained: false, task: null, step: isStep ? { id: name } : null };
  return { execution, near: {}, snapshot: new Map() } as unknown as Member;
}

function completed(outcome: Outcome, writes: readonly (typeof UNIT)[] = []): RunResult {
  return {
    kind: "completed",
    outcome,
    reads: [UNIT],
    writes: writes.map((unit) => ({ unit, value: new Uint8Array([1]) })),
  } as unknown as RunResult;
}

const RESULT = { kind: "result", result: new Uint8Array() } as unknown as Outcome;
const FAILED = { kind: "error", status: 503, code: "later", message: "Later." } as unknown as Outcome;

function arrival(members: readonly Member[], results: readonly RunResult[]): ReturnType<typeof arrivalOf> {
  let sequence = 0;
  return arrivalOf(
    members,
    results,
    () => true,
    () => ({ id: `${NO_COMMIT.slice(0, -1)}${++sequence}` as CommitId, sequence }),
  );
}

test("a step that fails behind one that has written leaves, and those behind it run again", () => {
  const members = [member("a", true), member("b", true), member("c", true)];
  const { done, left, again } = arrival(members, [
    completed(RESULT, [UNIT]),
    completed(FAILED),
    completed(RESULT, [UNIT]),
  ]);
  expect(done.map((each) => each.execution)).toEqual([members[0]!.execution]);
  expect(left.map((each) => each.member)).toEqual([members[1]]);
  expect(again).toEqual([members[2]]);
});

test("a call that fails is answered with the train: it is tried by its caller", () => {
  const members = [member("a", false), member("b", false)];
  const { done, left } = arrival(members, [completed(RESULT, [UNIT]), completed(FAILED)]);
  expect([done.length, left.length]).toEqual([2, 0]);
  expect(done[1]?.commit).not.toBe(null);
});
