import type { CommitId, ExecutionId, UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { cacheCounts, seenUnits } from "./caches.ts";
import { contended, queueOf, staleWords, withTally } from "./contention.ts";
import type { Call } from "./join.ts";

const POST = "posts/1" as UnitId;
const FIRST = "a".repeat(32) as ExecutionId;
const [one, two] = ["00000001-000000000001", "00000001-000000000002"] as unknown as readonly [CommitId, CommitId];

const calls: readonly Call[] = [
  {
    id: 2,
    life: life({ atMs: 5_000, path: "near-storage", reason: "stale", units: [[POST, "read-write", one]] }),
    primary: life({
      side: "primary",
      atMs: 103,
      tookUs: 9_000,
      commit: two,
      because: { unit: POST, had: one, is: one },
      waited: [[POST, FIRST, 4_000]],
    }),
  },
  {
    id: 1,
    life: life({
      atMs: 4_000,
      place: "VA",
      execution: FIRST,
      path: "speculative",
      reason: "valid",
      units: [[POST, "read-write", one]],
      commit: one,
    }),
    primary: life({ side: "primary", atMs: 101, tookUs: 2_000, spans: [["apply", 3_000, 2_000]] }),
  },
];

test("an item counts its calls, its waits and those who write it", () => {
  expect(contended(calls, 0)).toEqual([
    {
      unit: POST,
      calls: 2,
      waits: 1,
      longestUs: 4e3,
      stale: 1,
      hot: 0,
      leasedTo: [],
      last: [],
      handlers: ["like"],
      writers: ["like"],
    },
  ]);
  expect(contended(calls, 6_000)).toEqual([]);
});

test("the primary's counts come before those of the page, which knows who writes", () => {
  const wait = { execution: FIRST, behind: null, handler: "unlike", location: "DE", waitedMs: 7, endedAtMs: 1 };
  const unit = { unit: POST, calls: 9, waits: 5, waitedMs: 20, longestMs: 7, stale: 2, leasedTo: ["IE"], last: [wait] };
  const unseen = { ...unit, unit: "posts/2" as UnitId, calls: 1, last: [] };
  const seen = contended(calls, 0);
  expect(withTally(seen, null)).toBe(seen);
  expect(withTally(seen, { units: [unit, unseen], hasLeftOut: false })).toEqual([
    {
      unit: POST,
      calls: 9,
      waits: 5,
      longestUs: 7e3,
      stale: 2,
      hot: 0,
      leasedTo: ["IE"],
      last: [wait],
      handlers: ["like", "unlike"],
      writers: ["like"],
    },
    expect.objectContaining({ unit: "posts/2", waits: 5, handlers: [], writers: [] }),
  ]);
});

test("the queue is in the order of arrival, and names who was waited for", () => {
  expect(queueOf(calls, POST, 10)).toMatchObject([
    { startUs: 0, waitedUs: 0, heldUs: 5_000, behind: null },
    { startUs: 2_000, waitedUs: 4_000, heldUs: 5_000, behind: FIRST },
  ]);
});

test("caches are told by what calls have shown", () => {
  expect(cacheCounts(calls, ["VA", "JP", "DE"])).toEqual([
    { place: "VA", here: 1, stale: 0, missing: 0, other: 0 },
    { place: "JP", here: 0, stale: 1, missing: 0, other: 0 },
    { place: "DE", here: 0, stale: 0, missing: 0, other: 0 },
  ]);
  const [post] = seenUnits(calls, 10);
  expect(post?.newest).toBe(two);
  expect([...(post?.had ?? [])]).toEqual([
    ["JP", two],
    ["VA", one],
  ]);
});

test.each([
  [1, 0, "A location had an old version once, so that call ran at the primary."],
  [2, 0, "A location had an old version 2 times, so these calls ran at the primary."],
  [
    1,
    1,
    "A location had an old version once, so that call ran at the primary. 1 more call went there at once, since the item had been old time after time.",
  ],
  [0, 3, "3 calls went to the primary at once, since the item had been old time after time."],
])("%s old versions, and %s calls that went to the primary at once, in words", (stale, hot, words) => {
  expect(staleWords({ stale, hot })).toBe(words);
});
