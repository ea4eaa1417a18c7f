import { describe, expect, test } from "vitest";
import { Random } from "./random.ts";
import { checkStrictSerializability, type Scan, serialOrder, type Version } from "./strict-serializability.ts";

type Values = Readonly<Record<string, string | null>>;

/** A transaction; `writes` are in the order of the transactions, null for a deletion. */
interface Told {
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly reads: Values;
  readonly writes: Values;
  readonly scans?: readonly Scan[];
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
  const transactions = history.map(({ name, from, until, reads, scans = [] }) => ({
    name,
    invokedAt: from,
    answeredAt: until,
    reads: Object.entries(reads),
    scans,
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
    const { name, from, until, reads, writes, scans = [] } = history[place]!;
    for (const [unit, value] of Object.entries(reads))
      expect([name, unit, items.get(unit) ?? null]).toEqual([name, unit, value]);
    for (const scan of scans) expect([name, scan.name, sumOf(scan, items)]).toEqual([name, scan.name, scan.sum]);
    for (const [unit, value] of Object.entries(writes)) items.set(unit, value);
    expect(until).toBeGreaterThanOrEqual(begun);
    begun = Math.max(begun, from);
  }
}

function sumOf(
  { units, weightOf }: Pick<Scan, "units" | "weightOf">,
  items: ReadonlyMap<string, string | null>,
): bigint {
  let sum = 0n;
  for (const unit of units) {
    const value = items.get(unit) ?? null;
    if (value !== null) sum += weightOf(unit, value);
  }
  return BigInt.asUintN(64, sum);
}

/** Of a row and its value: a number that no sum of other rows is likely to have. */
const digestWeight: Scan["weightOf"] = (unit, value) => {
  let weight = 0xcbf29ce484222325n;
  for (const character of `${unit}=${value}`)
    weight = BigInt.asUintN(64, (weight ^ BigInt(character.codePointAt(0)!)) * 0x9e3779b97f4a7c15n + (weight >> 29n));
  return weight;
};

/** `rows`: what was seen in the units `a` to `d`; a number says only how many. */
function scanned(
  name: string,
  [from, until]: readonly [number, number],
  rows: Values | number,
  reads: Values = {},
  writes: Values = {},
): Told {
  const units = ["a", "b", "c", "d"];
  const weightOf: Scan["weightOf"] = typeof rows === "number" ? () => 1n : digestWeight;
  const sum = typeof rows === "number" ? BigInt(rows) : sumOf({ units, weightOf }, new Map(Object.entries(rows)));
  return { ...told(name, [from, until], reads, writes), scans: [{ name: "all", units, sum, weightOf }] };
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

  test("a transaction that has seen what it is about to write: it has run twice", () => {
    expect(problemsOf(W1, told("twice", [11, 15], { x: "2" }, { x: "2" })).join()).toMatch(/which only it wrote/);
    const gone = told("gone", [11, 15], { x: null }, { x: null });
    expect(problemsOf(W1, gone).join()).toMatch(/which only it wrote/);
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

describe("scans", () => {
  const a = told("wa", [0, 10], {}, { a: "1" });
  const b = told("wb", [5, 15], {}, { b: "2" });

  test("beside two writers any of their rows may be seen, and behind them both", () => {
    for (const rows of [{}, { a: "1" }, { b: "2" }, { a: "1", b: "2" }])
      expect(problemsOf(a, b, scanned("r", [6, 9], rows))).toEqual([]);
    expect(problemsOf(a, b, scanned("r", [16, 17], { a: "1", b: "2" }))).toEqual([]);
  });

  test("a phantom: a row that was inserted before is not seen", () => {
    expect(problemsOf(a, b, scanned("r", [16, 17], { a: "1" }))).toEqual([
      "r saw in all what never was there at one time",
    ]);
    expect(problemsOf(a, b, scanned("r", [16, 17], 1))).toEqual(["r saw in all what never was there at one time"]);
  });

  test("a row that nobody wrote, or that comes later", () => {
    expect(problemsOf(a, scanned("r", [11, 12], { a: "1", c: "7" }))).not.toEqual([]);
    expect(problemsOf(scanned("r", [0, 1], { a: "1" }), told("late", [5, 6], {}, { a: "1" }))).not.toEqual([]);
  });

  test("a phantom beside a writer: the row is missing and another of the same writer is there", () => {
    const both = told("both", [0, 10], {}, { a: "1", x: "1" });
    expect(problemsOf(both, scanned("r", [5, 6], { a: "1" }, { x: "1" }))).toEqual([]);
    expect(problemsOf(both, scanned("r", [5, 6], {}, { x: "1" })).join()).toMatch(/no order is possible/);
    expect(problemsOf(both, scanned("r", [5, 6], 0, { x: "1" })).join()).toMatch(/no order is possible/);
  });

  test("write skew: each of two writers has scanned what the other inserts into", () => {
    const v = scanned("v", [0, 10], {}, {}, { a: "v" });
    expect(problemsOf(v)).toEqual([]);
    expect(problemsOf(v, scanned("w", [0, 10], { a: "v" }, {}, { b: "w" }))).toEqual([]);
    expect(problemsOf(v, scanned("w", [0, 10], {}, {}, { b: "w" })).join()).toBe("no order is possible: v → w → v");
    expect(problemsOf(scanned("v", [0, 10], 0, {}, { a: "v" }), scanned("w", [0, 10], 0, {}, { b: "w" }))).not.toEqual(
      [],
    );
  });

  test("two scans see two writers in different orders", () => {
    expect(problemsOf(a, b, scanned("r", [6, 9], { a: "1" }), scanned("s", [6, 9], { a: "1" }))).toEqual([]);
    expect(problemsOf(a, b, scanned("r", [6, 9], { a: "1" }), scanned("s", [6, 9], { b: "2" })).join()).toMatch(
      /no order is possible/,
    );
  });

  test("a number that several rows may make: each fits alone, and not with what another scan has seen", () => {
    const c = told("wc", [5, 15], {}, { c: "3" });
    expect(problemsOf(a, b, c, scanned("r", [6, 9], 1), scanned("s", [6, 9], 2))).toEqual([]);
    // The first row is told, so the number is that row.
    expect(problemsOf(a, b, scanned("r", [6, 7], { a: "1" }), scanned("n", [8, 9], 1))).toEqual([]);
    expect(problemsOf(a, b, scanned("r", [6, 7], { a: "1" }), scanned("n", [8, 9], 0)).join()).toMatch(
      /no order is possible/,
    );
  });

  test("a row that is replaced is another row to a digest, and none to a number", () => {
    const again = told("again", [20, 30], { a: "1" }, { a: "2" });
    expect(problemsOf(a, again, scanned("r", [31, 32], { a: "2" }))).toEqual([]);
    expect(problemsOf(a, again, scanned("r", [31, 32], { a: "1" }))).not.toEqual([]);
    expect(problemsOf(a, again, scanned("r", [25, 26], 1))).toEqual([]);
  });

  test("property: of a serial history beside itself in time an order is found, and a phantom in it is found", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const draw = new Random(seed);
      const history = drawnHistory(draw);
      expect([seed, problemsOf(...history)]).toEqual([seed, []]);
      // An inserted row goes unseen by somebody who asks after the last answer.
      const items = new Map<string, string | null>();
      for (const { writes } of history) for (const [unit, value] of Object.entries(writes)) items.set(unit, value);
      const units = ["a", "b", "c", "d"];
      const rows = Object.fromEntries(units.map((unit) => [unit, items.get(unit) ?? null] as const));
      const all = units.filter((unit) => rows[unit] !== null);
      expect([seed, problemsOf(...history, scanned("after", [1_000, 1_001], rows))]).toEqual([seed, []]);
      if (all.length === 0) continue;
      const unseen = draw.pick(all);
      for (const seen of [{ ...rows, [unseen]: null }, all.length - 1])
        expect([seed, problemsOf(...history, scanned("after", [1_000, 1_001], seen))]).not.toEqual([seed, []]);
    }
  });
});

/** Ten transactions one after the other, which take so long in the eyes of their clients that they are beside each other. */
function drawnHistory(draw: Random): readonly Told[] {
  const items = new Map<string, string | null>();
  return Array.from({ length: 10 }, (_, place) => {
    const at = 10 * place;
    const time = [at - draw.below(25), at + 1 + draw.below(25)] as const;
    const rows = Object.fromEntries(["a", "b", "c", "d"].map((unit) => [unit, items.get(unit) ?? null] as const));
    const seen = draw.chance(0.3) ? Object.values(rows).filter((value) => value !== null).length : rows;
    const writes: Record<string, string | null> = {};
    if (draw.chance(0.7)) {
      const unit = draw.pick(["a", "b", "c", "d"]);
      writes[unit] = (items.get(unit) ?? null) !== null && draw.chance(0.4) ? null : `${place}`;
      items.set(unit, writes[unit]);
    }
    return draw.chance(0.6) ? scanned(`t${place}`, time, seen, {}, writes) : told(`t${place}`, time, {}, writes);
  });
}

test("ten thousand toggles and readers beside them are checked within seconds", () => {
  const toggles = Array.from({ length: 5_000 }, (_, i) =>
    told(`t${i}`, [2 * i, 2 * i + 1], { z: i % 2 === 0 ? null : String(i - 1) }, { z: i % 2 === 0 ? String(i) : null }),
  );
  const readers = Array.from({ length: 5_000 }, (_, i) => told(`r${i}`, [2 * i, 2 * i + 9], { z: null }));
  expect(problemsOf(...toggles, ...readers)).toEqual([]);
}, 60_000);
