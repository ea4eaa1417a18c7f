import {
  type CommitId,
  commitId,
  type ContentHash,
  contentHash,
  countHash,
  digestOf,
  type Key,
  spanId,
  type UnitId,
} from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { InitialVersions, Versioned } from "./history.ts";
import { orderOf } from "./strict-serializability.ts";

const FIRST = commitId(1, 0);
const hashOf = (text: string): ContentHash => contentHash(new TextEncoder().encode(text));
const INITIAL: InitialVersions = new Map(
  (["t/x", "t/y"] as UnitId[]).map((unit) => [unit, { commitId: FIRST, hash: hashOf("first") }]),
);
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
    scans: new Map(),
    writes: new Map(
      Object.entries(writes?.units ?? {}).map(([name, there]) => [
        `t/${name}` as UnitId,
        there ? hashOf(String(writes?.commit)) : null,
      ]),
    ),
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

describe("ranges", () => {
  /** The scan of an execution: names of the rows that it has seen, each with the number of the commit that wrote it. */
  const seen = (rows: Readonly<Record<string, number | "first">>): Versioned["scans"] => {
    const directory = Object.entries(rows)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => ({
        key: name as Key,
        commitId: of === "first" ? FIRST : commit(of),
        hash: hashOf(String(of)),
      }));
    return new Map([[spanId({ table: "t", kind: "rows", lo: "w", hi: "" }), digestOf(directory)]]);
  };
  const numbered = (count: number): Versioned["scans"] =>
    new Map([[spanId({ table: "t", kind: "count", lo: "w", hi: "" }), countHash(count)]]);
  const scanned = (id: string, time: readonly [number, number], scans: Versioned["scans"]): Versioned => ({
    ...executed(id, time, {}),
    scans,
  });
  const insert = executed("insert", [0, 10], { z: null }, { commit: 1, units: { z: true } });
  // Its key is before the range.
  const elsewhere = executed("elsewhere", [0, 10], {}, { commit: 2, units: { a: true } });

  test("rows and number are those of some moment while the execution went on", () => {
    for (const scans of [
      seen({ x: "first", y: "first" }),
      seen({ x: "first", y: "first", z: 1 }),
      numbered(2),
      numbered(3),
    ])
      expect(problemsOf(insert, elsewhere, scanned("beside", [5, 15], scans))).toEqual([]);
    for (const scans of [seen({ x: "first", y: "first", z: 1 }), numbered(3)])
      expect(problemsOf(insert, elsewhere, scanned("after", [11, 15], scans))).toEqual([]);
  });

  test("a phantom: the inserted row is not seen by somebody who asks afterwards", () => {
    for (const scans of [seen({ x: "first", y: "first" }), numbered(2)])
      expect(problemsOf(insert, elsewhere, scanned("after", [11, 15], scans)).join()).toMatch(/never was there/);
  });

  test("two executions that both found no row, and both inserted one", () => {
    const a = {
      ...executed("a", [0, 10], {}, { commit: 1, units: { w1: true } }),
      scans: seen({ x: "first", y: "first" }),
    };
    const b = { ...executed("b", [0, 10], {}, { commit: 2, units: { w2: true } }), scans: a.scans };
    expect(problemsOf(a)).toEqual([]);
    expect(problemsOf(a, b).join()).toMatch(/no order is possible/);
    expect(problemsOf(a, { ...b, scans: seen({ w1: 1, x: "first", y: "first" }) })).toEqual([]);
  });

  test("an insert with a smaller commit id, which nobody has seen yet", () => {
    const waits = executed("waits", [0, 40], {}, { commit: 1, units: { w1: true } });
    const passes = executed("passes", [0, 10], {}, { commit: 2, units: { w2: true } });
    const read = scanned("read", [20, 30], seen({ w2: 2, x: "first", y: "first" }));
    expect(orderOf([waits, read, passes], INITIAL)).toEqual({ problems: [], order: [2, 1, 0] });
  });
});
