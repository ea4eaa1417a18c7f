import type { CommitId, ExecutionId, LviReply, LviRequest, UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import type { Answer } from "./core/effects.ts";
import { LifeNotes } from "./life-notes.ts";
import { Timings } from "./timings.ts";

const HEAD = {
  execution: "a".repeat(32) as ExecutionId,
  trace: null,
  place: "JP",
  handler: "like",
  module: "m",
  tookMs: 152.5,
  code: null,
  fuel: 7,
};
const UNIT = "posts/1" as UnitId;
const COMMIT = "00000001-000000000007" as CommitId;

test("phases are spans from the start of the request, and the last sending counts", () => {
  let nowMs = 100;
  const timings = new Timings(() => nowMs);
  const notes = new LifeNotes();
  timings.life = notes;
  nowMs = 103;
  timings.add("rw", 101);
  const version = { commitId: COMMIT, hash: null };
  const units = [
    { unit: UNIT, mode: "read", version },
    { unit: "likes/1", mode: "write" },
  ];
  notes.sent({ attempt: 1, units: null } as unknown as LviRequest);
  notes.sent({ attempt: 2, units } as unknown as LviRequest);
  nowMs = 250;
  timings.add("lvi", 104);
  notes.replied({ kind: "valid", commitId: COMMIT } as LviReply);
  const answer = { kind: "outcome", path: "speculative", reason: "valid" } as Answer;
  expect(notes.life(HEAD, answer)).toMatchObject({
    side: "location",
    attempt: 2,
    tookUs: 152_500,
    path: "speculative",
    reason: "valid",
    commit: COMMIT,
    fuel: 7,
    spans: [
      ["set", 1_000, 2_000],
      ["send", 4_000, 146_000],
    ],
    units: [
      [UNIT, "read", COMMIT],
      ["likes/1", "write", null],
    ],
    unitsLeftOut: 0,
  });
});

test("what leases answer has the units that it read, and no sending", () => {
  const snapshot = new Map([[UNIT, { version: { commitId: COMMIT, hash: null }, value: null }]]);
  const answer = { kind: "outcome", path: "leased", reason: "unchanged", reads: new Set([UNIT]), snapshot };
  expect(new LifeNotes().life(HEAD, answer as unknown as Answer)).toMatchObject({
    attempt: 0,
    path: "leased",
    units: [[UNIT, "read", COMMIT]],
  });
});

test("a failure has no path, and of many units only as many are told as a reader takes", () => {
  const notes = new LifeNotes();
  const units = Array.from({ length: 40 }, (_, at) => ({ unit: `posts/${at}`, mode: "write" }));
  notes.sent({ attempt: 1, units } as unknown as LviRequest);
  const life = notes.life({ ...HEAD, code: "primary_unreachable" }, null);
  expect(life).toMatchObject({ path: null, reason: null, code: "primary_unreachable", unitsLeftOut: 8 });
  expect(life.units).toHaveLength(32);
});

test("nobody wants a life: phases are summed as before", () => {
  let nowMs = 0;
  const timings = new Timings(() => nowMs);
  nowMs = 5;
  timings.add("f", 2);
  expect(timings.toRecord()).toEqual({ f: 3, total: 5 });
});
