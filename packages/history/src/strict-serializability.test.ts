import { describe, expect, test } from "vitest";
import { checkStrictSerializability, serialOrder, type Version } from "./strict-serializability.ts";

type Values = Readonly<Record<string, string | null>>;

/** A transaction; `writes` are in the order of the transactions, null for a deletion. */
interface Told {
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly reads: Values;
  readonly writes: Values;
}

function told(name: string, [from, until]: readonly [number, number], reads: Values, writes: Values = {}): Told {
  return { name, from, until, reads, writes };
}

/** `x` and `y` are there before all writers. Transactions that write are given in the order of their versions. */
function problemsOf(...history: readonly Told[]): readonly string[] {
  const versions = new Map<string, Version[]>(["x", "y"].map((unit) => [unit, [{ writer: null, value: "first" }]]));
  for (const [writer, { writes }] of history.entries()) {
    for (const [unit, value] of Object.entries(writes)) {
      if (!versions.has(unit)) versions.set(unit, [{ writer: null, value: null }]);
      versions.get(unit)!.push({ writer, value });
    }
  }
  const transactions = history.map(({ name, from, until, reads }) => ({
    name,
    invokedAt: from,
    answeredAt: until,
    reads: Object.entries(reads),
  }));
  const { problems, order } = serialOrder(transactions, versions);
  expect(checkStrictSerializability(transactions, versions)).toEqual(problems);
  if (problems.length === 0) expectSerial(history, order!);
  return problems;
}

/** One after the other in this order, each reads what those before it wrote. */
function expectSerial(history: readonly Told[], order: readonly number[]): void {
  expect(order.toSorted((a, b) => a - b)).toEqual([...history.keys()]);
  const items = new Map<string, string | null>([
    ["x", "first"],
    ["y", "first"],
  ]);
  let begun = -Infinity;
  for (const place of order) {
    const { name, from, until, reads, writes } = history[place]!;
    for (const [unit, value] of Object.entries(reads))
      expect([name, unit, items.get(unit) ?? null]).toEqual([name, unit, value]);
    for (const [unit, value] of Object.entries(writes)) items.set(unit, value);
    expect(until).toBeGreaterThanOrEqual(begun);
    begun = Math.max(begun, from);
  }
}

const W1 = told("w1", [0, 10], { x: "first" }, { x: "1", y: "1" });
const W2 = told("w2", [20, 30], { x: "1" }, { x: "2" });

describe("histories that are right", () => {
  test("a serial history", () => {
    expect(problemsOf(W1, W2, told("r", [31, 32], { x: "2", y: "1", z: null }))).toEqual([]);
  });

  test("readers between writers, and beside them in time", () => {
    const before = told("before", [0, 40], { x: "first", y: "first" });
    const between = told("between", [5, 35], { x: "1", y: "1" });
    const after = told("after", [31, 40], { x: "2", y: "1" });
    expect(problemsOf(W1, W2, before, between, after)).toEqual([]);
  });

  test("transactions at the same time are in any order", () => {
    const w = told("w", [1, 6], {}, { x: "w" });
    expect(problemsOf(w, told("r", [2, 3], { x: "w" }), told("s", [4, 5], { x: "w" }))).toEqual([]);
    expect(problemsOf(w, told("r", [2, 3], { x: "first" }), told("s", [4, 5], { x: "w" }))).toEqual([]);
  });

  test("an answer and a question of the same instant have no order", () => {
    expect(problemsOf(W1, told("r", [10, 11], { x: "first" }))).toEqual([]);
  });

  test("a unit that was made, deleted and made again", () => {
    const made = told("made", [0, 10], { z: null }, { z: "1" });
    const deleted = told("deleted", [20, 30], { z: "1" }, { z: null });
    const again = told("again", [40, 50], { z: null }, { z: "3" });
    expect(problemsOf(made, deleted, again, told("absent", [32, 38], { z: null }))).toEqual([]);
  });

  test("a writer that was never answered may be last, or never seen", () => {
    const lost = told("lost", [0, Infinity], { x: "first" }, { x: "1" });
    expect(problemsOf(lost, told("r", [100, 101], { x: "first" }))).toEqual([]);
    expect(problemsOf(lost, told("r", [100, 101], { x: "1" }))).toEqual([]);
  });
});

describe("seeded mistakes", () => {
  test("a stale read: after the answer to a writer somebody reads what was there before", () => {
    expect(problemsOf(W1, W2, told("stale", [11, 15], { x: "first" })).join()).toMatch(/no order is possible/);
  });

  test("a value that is gone again by the time of its second reader", () => {
    const w = told("w", [1, 8], {}, { x: "w" });
    const readers = [told("r", [2, 3], { x: "w" }), told("s", [4, 5], { x: "first" })];
    expect(problemsOf(w, ...readers).join()).toMatch(/no order is possible/);
  });

  test("a torn read: one unit before a writer, another after it", () => {
    expect(problemsOf(W1, W2, told("torn", [0, 40], { x: "first", y: "1" })).join()).toMatch(/no order is possible/);
  });

  test("a lost update: two writers have read the same version", () => {
    const lost = told("lost", [20, 30], { x: "first" }, { x: "2" });
    expect(problemsOf(W1, lost).join()).toMatch(/no order is possible/);
  });

  test("a lost update of writers at the same time", () => {
    const writers = [
      told("v", [1, 3], { x: "first" }, { x: "v" }),
      told("w", [2, 4], { x: "first" }, { x: "w" }),
    ] as const;
    expect(problemsOf(...writers).join()).toMatch(/no order is possible/);
  });

  test("write skew: each of two writers has read what the other writes", () => {
    const v = told("v", [1, 3], { x: "first", y: "first" }, { y: "v" });
    const w = told("w", [2, 4], { x: "first", y: "first" }, { x: "w" });
    expect(problemsOf(v)).toEqual([]);
    expect(problemsOf(v, w).join()).toBe("no order is possible: v → w → v");
  });

  test("two readers see two writers in different orders", () => {
    const wx = told("wx", [0, 100], {}, { x: "1" });
    const wy = told("wy", [0, 100], {}, { y: "2" });
    const first = told("r1", [0, 100], { x: "1", y: "first" });
    const second = told("r2", [0, 100], { x: "first", y: "2" });
    expect(problemsOf(wx, wy, first)).toEqual([]);
    expect(problemsOf(wx, wy, first, second).join()).toMatch(/no order is possible/);
  });

  test("writers in another order than real time", () => {
    const late = told("late", [20, 30], {}, { x: "1" });
    const early = told("early", [0, 10], {}, { x: "2" });
    expect(problemsOf(late, early).join()).toMatch(/no order is possible/);
  });

  test("a version that nobody wrote", () => {
    expect(problemsOf(W1, told("phantom", [11, 12], { x: "7", w: "7" }))).toEqual([
      "phantom saw x=7, which never was",
      "phantom saw w=7, which never was",
    ]);
  });

  test("something that was there is told absent", () => {
    expect(problemsOf(W1, told("absent", [11, 12], { y: null }))).toEqual(["absent saw y=, which never was"]);
  });
});

describe("of a unit that was absent several times", () => {
  const writes = [
    told("v", [1, 2], {}, { z: "v" }),
    told("d", [3, 4], { z: "v" }, { z: null }),
    told("w", [5, 6], {}, { z: "w" }),
  ];

  test("either time may be meant", () => {
    expect(problemsOf(...writes, told("r", [0, 7], { z: null }))).toEqual([]);
    expect(problemsOf(...writes, told("r", [4, 5], { z: null }))).toEqual([]);
  });

  test("a time that real time rules out is not", () => {
    expect(problemsOf(...writes, told("r", [2.4, 2.6], { z: null }))).toEqual([
      "no order is possible: r saw z= when it was something else",
    ]);
    expect(problemsOf(...writes, told("r", [7, 8], { z: null }))).not.toEqual([]);
  });

  test("a time that another read rules out is not", () => {
    // It read x after `after` wrote it, which began after w had ended.
    const after = told("after", [7, 8], {}, { x: "after" });
    expect(problemsOf(...writes, after, told("r", [0, 9], { x: "after", z: null }))).toEqual([
      "no order is possible: r saw z= when it was something else",
    ]);
  });

  test("an edge is drawn when one time is left, and closes a cycle with others", () => {
    // It read x before u wrote it, and z after d: but d began after u had ended.
    const u = told("u", [2.1, 2.2], {}, { x: "u" });
    expect(problemsOf(...writes, u, told("r", [2.05, 9], { z: null, x: "first" }))).not.toEqual([]);
  });
});

test("ten thousand toggles and readers beside them are checked within seconds", () => {
  const toggles = Array.from({ length: 5_000 }, (_, i) =>
    told(`t${i}`, [2 * i, 2 * i + 1], { z: i % 2 === 0 ? null : String(i - 1) }, { z: i % 2 === 0 ? String(i) : null }),
  );
  const readers = Array.from({ length: 5_000 }, (_, i) => told(`r${i}`, [2 * i, 2 * i + 9], { z: null }));
  expect(problemsOf(...toggles, ...readers)).toEqual([]);
}, 60_000);
