import { Random, type Scan, type SerialOrder, serialOrder, type Transaction, type Version } from "@radical/history";
import { describe, expect, test } from "vitest";
import { simulate } from "../simulate.ts";
import { type Happening, searchOrder } from "./order-search.ts";

type Values = Readonly<Record<string, string | null>>;
type Told = Omit<Partial<Happening>, "saw" | "wrote"> & { readonly saw?: Values; readonly wrote?: Values };

function told(name: string, from: number, until: number, { saw = {}, wrote = {}, counted = [] }: Told): Happening {
  return { name, from, until, counted, saw: new Map(Object.entries(saw)), wrote: new Map(Object.entries(wrote)) };
}

const ROWS = ["a", "b", "c"];
const page = (name: string, from: number, until: number, rows: Values, wrote: Values = {}): Happening =>
  told(name, from, until, { saw: { a: null, b: null, c: null, ...rows }, wrote });
const number = (name: string, from: number, until: number, rows: number): Happening =>
  told(name, from, until, { counted: [{ items: ROWS, number: rows }] });
const INSERT_A = told("insert a", 1, 9, { wrote: { a: "1" } });
const INSERT_B = told("insert b", 2, 8, { wrote: { b: "2" } });

describe("histories that are right", () => {
  test.each<readonly [string, readonly Happening[]]>([
    ["nothing", []],
    ["two inserts in either order, each seen alone once", [INSERT_A, INSERT_B, page("p", 3, 7, { b: "2" })]],
    ["a page beside an insert sees it or not", [INSERT_A, page("p", 2, 3, {}), page("q", 4, 5, { a: "1" })]],
    ["numbers of rows", [INSERT_A, INSERT_B, number("n", 0, 3, 0), number("m", 4, 7, 1), number("o", 9, 10, 2)]],
    [
      "nobody was told of an insert that is seen",
      [told("lost", 1, Infinity, { wrote: { a: "1" } }), page("p", 90, 91, { a: "1" })],
    ],
  ])("%s", (_name, history) => {
    const search = searchOrder(history);
    expect(search.kind === "found" && search.order.toSorted()).toEqual(history.map(({ name }) => name).toSorted());
  });
});

describe("seeded mistakes", () => {
  test.each<readonly [string, readonly Happening[]]>([
    ["a phantom: a row that was there before the page is not on it", [INSERT_A, page("p", 10, 11, {})]],
    [
      "a phantom between two pages of readers that agree on everything else",
      [INSERT_A, INSERT_B, page("p", 3, 7, { a: "1" }), page("q", 3, 7, { b: "2" })],
    ],
    ["a phantom in a number", [INSERT_A, number("n", 10, 11, 0)]],
    [
      "two have seen a seat left, and both have taken one: each is the other's phantom",
      [page("p", 1, 9, {}, { a: "p" }), page("q", 2, 8, {}, { b: "q" })],
    ],
    ["a row that has gone again", [INSERT_A, page("p", 2, 3, { a: "1" }), page("q", 4, 5, {})]],
    ["a row that nobody has inserted", [page("p", 1, 2, { c: "3" })]],
  ])("%s", (_name, history) => {
    expect(searchOrder(history).kind).toBe("none");
  });
});

test("a search that is too long is given up", () => {
  const many = Array.from({ length: 12 }, (_, at) => told(`w${at}`, at, 100, { wrote: { [`x${at}`]: "1" } }));
  const impossible = told("never", 0, 100, { saw: { x: "nobody's" } });
  expect(searchOrder([...many, impossible], 50).kind).toBe("given up");
  expect(searchOrder([...many.slice(0, 4), impossible], 50).kind).toBe("none");
});

// ── Beside the checker of `packages/history` ─────────────────────────────────────────────────────────────────────────

/** One after the other, each within its time; then a value that somebody saw is perhaps made another one. */
function drawnHistory(random: Random): { readonly happenings: readonly Happening[]; readonly other: SerialOrder } {
  const there = new Map<string, string>();
  const versions = new Map<string, Version[]>(ROWS.map((row) => [row, [{ writer: null, value: null }]]));
  const happenings: Happening[] = [];
  for (let at = 0, length = random.between(3, 8); at < length; at++) {
    const saw = new Map<string, string | null>();
    const wrote = new Map<string, string | null>();
    for (const row of ROWS) {
      const isWritten = random.chance(0.3);
      // A writer says what was there, so that both checkers know the order of the writers.
      if (isWritten || random.chance(0.5)) saw.set(row, there.get(row) ?? null);
      if (isWritten) wrote.set(row, random.chance(0.3) ? null : `${at}`);
    }
    const counted = random.chance(0.3) ? [{ items: ROWS, number: there.size }] : [];
    for (const [row, value] of wrote) {
      versions.get(row)!.push({ writer: at, value });
      if (value === null) there.delete(row);
      else there.set(row, value);
    }
    const [from, until] = [10 * at - random.below(25), 10 * at + random.below(25)];
    happenings.push({ name: `${at}`, from, until, saw, counted, wrote });
  }
  const changed = random.chance(0.7) ? random.pick(happenings) : null;
  const [seen] = [...(changed?.saw ?? [])];
  if (seen !== undefined) {
    const values = versions.get(seen[0])!.map(({ value }) => value);
    (changed!.saw as Map<string, string | null>).set(seen[0], random.pick(values));
  } else if (changed?.counted[0] !== undefined) {
    (changed.counted as { items: readonly string[]; number: number }[])[0] = { items: ROWS, number: random.below(4) };
  }
  const weightOf: Scan["weightOf"] = () => 1n;
  const transactions = happenings.map(({ name, from, until, saw, counted }): Transaction => ({
    name,
    invokedAt: from,
    answeredAt: until,
    reads: saw,
    scans: counted.map(({ items, number: sum }) => ({ name: "rows", units: items, sum: BigInt(sum), weightOf })),
  }));
  return { happenings, other: serialOrder(transactions, versions) };
}

test("two checkers that share nothing never contradict each other on small histories, right and wrong ones", () => {
  const counts = { right: 0, wrong: 0, searchedOnly: 0, lenient: 0 };
  for (let seed = 0; seed < 3_000; seed++) {
    const { happenings, other } = drawnHistory(new Random(seed));
    const { kind } = searchOrder(happenings, 1_000_000);
    if (kind === "none") {
      expect([seed, other.order]).toEqual([seed, null]);
      // Only the search finds out that absences are possible one by one, and not together.
      counts[other.problems.length > 0 ? "wrong" : "searchedOnly"]++;
    } else {
      expect([seed, kind]).toEqual([seed, "found"]);
      // The other one knows in which order each item was written.
      counts[other.problems.length > 0 ? "lenient" : "right"]++;
    }
  }
  expect(counts.right).toBeGreaterThan(1_000);
  expect(counts.wrong).toBeGreaterThan(500);
  expect(counts.searchedOnly).toBeLessThan(10);
  expect(counts.lenient).toBeLessThan(100);
});

test("most simulated histories are searched to the end", () => {
  const kinds = Array.from({ length: 60 }, (_, seed) => simulate({ seed, weather: "ranges" }).search);
  expect(kinds.filter((kind) => kind === "found").length).toBeGreaterThan(50);
});
