import {
  type CommitId,
  type ExecutionId,
  type Life,
  type LviReply,
  type LviRequest,
  MAX_SPANS,
  type UnitId,
} from "@radical/protocol";
import { beforeEach, expect, test } from "vitest";
import type { ExpectedCompletion } from "./core/events.ts";
import type { EndedRun, Run } from "./core/run.ts";
import { Lives } from "./lives.ts";

const ID = "a".repeat(32) as ExecutionId;
const OTHER = "b".repeat(32) as ExecutionId;
const OTHER_UNIT = "likes/1" as UnitId;
const UNIT = "posts/1" as UnitId;
const COMMIT = "00000001-000000000007" as CommitId;
const OLD = "00000001-000000000001" as CommitId;

let monotonicMs: number;
let told: Life[];
let lives: Lives;

beforeEach(() => {
  monotonicMs = 1_000;
  told = [];
  lives = new Lives(() => ({ monotonicMs, wallMs: 5_000 + monotonicMs }));
  lives.take((life) => told.push(life));
});

function request(more: Partial<LviRequest> = {}): LviRequest {
  const unit = { unit: UNIT, mode: "read-write", version: { commitId: OLD, hash: null } } as const;
  return {
    executionId: ID,
    attempt: 1,
    location: "JP",
    handler: "like",
    module: "m",
    units: [unit],
    ...more,
  } as LviRequest;
}

const reply = (answer: object): LviReply => ({ asOf: null, ...answer }) as LviReply;
const valid = reply({ kind: "valid", commitId: null, times: { receivedAtMs: 0, sentAtMs: 0 } });
const promised = reply({ kind: "valid", commitId: COMMIT, times: { receivedAtMs: 0, sentAtMs: 0 } });
const executed = reply({ kind: "executed", cause: "stale" });
const refused = reply({ kind: "refused", code: "busy", message: "", retryAfterMs: 1 });

function completion(id: ExecutionId, writes = 1): ExpectedCompletion {
  const written = Array.from({ length: writes }, () => ({ unit: UNIT, value: null }));
  return { expects: "pending", completion: { executionId: id, commitId: COMMIT, writes: written } as never };
}

test("a read that is valid ends with its answer", () => {
  lives.begin(request());
  monotonicMs += 2.5;
  lives.replied(request(), valid);
  expect(told).toMatchObject([
    {
      side: "primary",
      execution: ID,
      attempt: 1,
      place: "JP",
      atMs: 6_000,
      tookUs: 2_500,
      reason: "valid",
      commit: null,
    },
  ]);
  expect(told[0]?.units).toEqual([[UNIT, "read-write", OLD]]);
});

test("a promise ends when its writes are applied, and tells of the followup", () => {
  lives.begin(request());
  const stored = monotonicMs + 1;
  monotonicMs += 3;
  lives.spent(ID, "intent", stored);
  lives.replied(request(), promised);
  expect(told).toEqual([]);
  monotonicMs += 70;
  lives.followed(ID);
  const applying = monotonicMs;
  monotonicMs += 4;
  lives.applied([completion(ID)], applying);
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ tookUs: 3_000, commit: COMMIT });
  expect(told[0]?.spans).toEqual([
    ["intent", 1_000, 2_000],
    ["followup", 3_000, 70_000],
    ["apply", 73_000, 4_000],
  ]);
});

test("what was stale is told with both versions, what was waited for with whom", () => {
  lives.begin(request());
  monotonicMs += 8;
  lives.noted({ name: "waited", executionId: ID, waitedMs: 8, units: [UNIT], behind: OTHER });
  lives.noted({ name: "stale", executionId: ID, units: [UNIT], version: COMMIT });
  lives.replied(request(), executed);
  expect(told[0]).toMatchObject({
    reason: "stale",
    because: { unit: UNIT, had: OLD, is: COMMIT },
    waited: [[UNIT, OTHER, 8_000]],
    spans: [["lock", 0, 8_000]],
  });
});

test("a run is told apart from the wait for its worker, for each member of a train", () => {
  lives.begin(request({ units: null }));
  lives.begin(request({ units: null, executionId: OTHER }));
  const asked = monotonicMs;
  monotonicMs += 10;
  const run = {
    access: { kind: "derive" },
    snapshot: new Map(),
    followers: [{ access: { kind: "derive" }, snapshot: new Map() }],
  };
  const result = { kind: "completed", reads: [UNIT], writes: [{ unit: UNIT, value: null }] };
  const ended = { result, tookMs: 6, followers: [{ result, tookMs: 2 }] };
  lives.ran([ID, OTHER], run as unknown as Run, ended as unknown as EndedRun, asked);
  lives.replied(request(), executed);
  lives.replied(request({ executionId: OTHER }), executed);
  expect(told[0]?.spans).toEqual([
    ["worker", 0, 4_000],
    ["run", 4_000, 6_000],
  ]);
  expect(told[1]?.spans).toEqual([
    ["worker", 0, 8_000],
    ["run", 8_000, 2_000],
  ]);
  expect(told[0]?.units).toEqual([[UNIT, "read-write", null]]);
});

test("a run here tells what it has touched, whatever set the location had guessed", () => {
  lives.begin(request());
  const run = { access: { kind: "record", guess: false }, snapshot: new Map() } as unknown as Run;
  const result = { kind: "completed", reads: [UNIT, OTHER_UNIT], writes: [{ unit: OTHER_UNIT, value: null }] };
  lives.ran([ID], run, { result, tookMs: 1 } as unknown as EndedRun, monotonicMs);
  lives.replied(request(), executed);
  expect(told[0]?.units).toEqual([
    [UNIT, "read", null],
    [OTHER_UNIT, "read-write", null],
  ]);
});

test("a run in place of a followup has another name", () => {
  lives.begin(request());
  lives.replied(request(), promised);
  lives.noted({ name: "re_execution", executionId: ID, cause: "followup_lost" });
  const run = { access: { kind: "declared" }, snapshot: new Map() } as unknown as Run;
  lives.ran([ID], run, { result: { kind: "exhausted" }, tookMs: 0 }, monotonicMs);
  lives.applied([completion(ID)], monotonicMs);
  expect(told[0]).toMatchObject({
    reason: "followup_lost",
    spans: [
      ["re-execute", 0, 0],
      ["apply", 0, 0],
    ],
  });
});

test("a later attempt takes the place of an earlier one, whose answer tells nothing", () => {
  lives.begin(request());
  lives.begin(request({ attempt: 2 }));
  lives.replied(request(), refused);
  expect(told).toEqual([]);
  lives.replied(request({ attempt: 2 }), valid);
  expect(told).toMatchObject([{ attempt: 2, code: null }]);
});

test("a refusal has its code", () => {
  lives.begin(request());
  lives.replied(request(), refused);
  expect(told).toMatchObject([{ code: "busy", reason: null }]);
});

test("of spans as many are told as a reader takes", () => {
  lives.begin(request());
  for (let i = 0; i < 2 * MAX_SPANS; i++) lives.spent(ID, "load", monotonicMs);
  lives.replied(request(), valid);
  expect(told[0]?.spans).toHaveLength(MAX_SPANS);
});

test("what nobody has asked for is nobody's: unknown executions are passed over", () => {
  lives.spent(ID, "load", 0);
  lives.followed(ID);
  lives.applied([completion(ID)], 0);
  lives.noted({ name: "waited", executionId: ID, waitedMs: 1 });
  expect(told).toEqual([]);
});

test("of many executions one tells its life, as the most curious one wants it", () => {
  const fewer = new Lives(() => ({ monotonicMs, wallMs: 0 }));
  let [rare, often] = [0, 0];
  fewer.take(() => rare++, 10);
  const run = (count: number): void => {
    monotonicMs += 100;
    for (let at = 0; at < count; at++) {
      fewer.begin(request());
      fewer.replied(request(), valid);
    }
  };
  run(100);
  expect(rare).toBe(10);
  const stop = fewer.take(() => often++, 2);
  run(100);
  expect([rare, often]).toEqual([60, 50]);
  stop();
  run(100);
  expect([rare, often]).toEqual([70, 50]);
});

test("of more than 1,000 lives a second some are left out, and the next life says how many", () => {
  const numbers: number[] = [];
  const bounded = new Lives(() => ({ monotonicMs, wallMs: 0 }));
  bounded.take((_, leftOut) => numbers.push(leftOut));
  const run = (count: number): number => {
    let begun = 0;
    for (let at = 0; at < count; at++) if (bounded.begin(request())) begun++;
    bounded.replied(request(), valid);
    return begun;
  };
  expect([run(100), run(0)]).toEqual([100, 0]);
  for (let at = 0; at < 3; at++) expect(run(10)).toBe(0);
  monotonicMs += 99;
  expect(run(1)).toBe(0);
  monotonicMs += 1;
  expect(run(150)).toBe(100);
  monotonicMs += 100;
  expect(run(1)).toBe(1);
  expect(numbers).toEqual([0, 81, 0]);
});
