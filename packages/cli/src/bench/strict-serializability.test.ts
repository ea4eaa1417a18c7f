import { type CommitId, commitId, type UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Versioned } from "./history.ts";
import { orderOf } from "./strict-serializability.ts";

const INITIAL: ReadonlySet<UnitId> = new Set(["t/x", "t/y"] as UnitId[]);
const FIRST = "00000001-000000000000";
const commit = (number: number): CommitId => commitId(2, number);

/** `reads` by commit: a number, `first`, or null for absent. */
function executed(
  id: string,
  [invokedAtMs, answeredAtMs]: readonly [number, number],
  reads: Readonly<Record<string, number | "first" | null>>,
  writes: { readonly commit: number; readonly units: Readonly<Record<string, boolean>> } | null = null,
): Versioned {
  const named = (of: number | "first" | null): string | null =>
    of === null ? null : of === "first" ? FIRST : commit(of);
  return {
    id,
    handler: "h",
    args: new Uint8Array(),
    environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
    answer: null,
    invokedAtMs,
    answeredAtMs,
    commit: writes === null ? null : commit(writes.commit),
    reads: new Map(Object.entries(reads).map(([name, of]) => [`t/${name}` as UnitId, named(of)])),
    writes: new Map(Object.entries(writes?.units ?? {}).map(([name, there]) => [`t/${name}` as UnitId, there])),
  };
}

const problemsOf = (...history: readonly Versioned[]): readonly string[] => orderOf(history, INITIAL).problems;
const W1 = executed("w1", [0, 10], { x: "first" }, { commit: 1, units: { x: true, y: true } });
const W2 = executed("w2", [20, 30], { x: 1 }, { commit: 2, units: { x: true } });

test("readers between writers, and beside them in time", () => {
  const before = executed("before", [0, 40], { x: "first", y: "first" });
  const between = executed("between", [5, 35], { x: 1, y: 1 });
  const after = executed("after", [31, 40], { x: 2, y: 1 });
  expect(problemsOf(W1, W2, before, between, after)).toEqual([]);
});

test("writers are in the order of their commits, wherever they stand in the history", () => {
  expect(problemsOf(W2, executed("after", [31, 40], { x: 2, y: 1 }), W1)).toEqual([]);
});

test("a leased read before a writer that waits for it, and behind a writer with a later commit", () => {
  const waits = executed("waits", [0, 40], { x: "first" }, { commit: 1, units: { x: true } });
  const passes = executed("passes", [0, 10], { y: "first" }, { commit: 2, units: { y: true } });
  const leased = executed("leased", [20, 30], { x: "first", y: 2 });
  expect(orderOf([waits, leased, passes], INITIAL)).toEqual({ problems: [], order: [2, 1, 0] });
});

test("what is absent, was made, deleted and made again", () => {
  const made = executed("made", [0, 10], { z: null }, { commit: 1, units: { z: true } });
  const deleted = executed("deleted", [20, 30], { z: 1 }, { commit: 2, units: { z: false } });
  const again = executed("again", [40, 50], { z: null }, { commit: 3, units: { z: true } });
  expect(problemsOf(made, deleted, again, executed("absent", [32, 38], { z: null }))).toEqual([]);
  expect(problemsOf(made, deleted, again, executed("absent", [52, 53], { z: null }))).not.toEqual([]);
});

describe("seeded mistakes", () => {
  test("a stale read: after the answer to a writer somebody reads what was there before", () => {
    expect(problemsOf(W1, W2, executed("stale", [11, 15], { x: "first" })).join()).toMatch(/no order is possible/);
  });

  test("a torn read: one item before a writer, another after it", () => {
    expect(problemsOf(W1, W2, executed("torn", [0, 40], { x: "first", y: 1 })).join()).toMatch(/no order is possible/);
  });

  test("a lost update: two writers have read the same version", () => {
    const lost = executed("lost", [20, 30], { x: "first" }, { commit: 2, units: { x: true } });
    expect(problemsOf(W1, lost).join()).toMatch(/no order is possible/);
  });

  test("a version that nobody wrote", () => {
    expect(problemsOf(W1, executed("phantom", [11, 12], { w: 7 }))).toEqual([
      `h phantom saw t/w=${commit(7)}, which never was`,
    ]);
  });

  test("something that was there is told absent", () => {
    expect(problemsOf(W1, executed("absent", [11, 12], { y: null })).join()).toMatch(/never was/);
  });
});
