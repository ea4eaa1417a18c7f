import { commitId, compareKeys, contentHash, Digest, digestOf, type DirectoryRow, type Key } from "@radical/protocol";
import { bound, directoryRow } from "@radical/protocol/testing/span-arbitraries";
import fc from "fast-check";
import { expect, test } from "vitest";
import { RowTree } from "./row-tree.ts";

function sumOf(rows: readonly DirectoryRow[]): { count: number; high: number; low: number } {
  const digest = new Digest();
  for (const row of rows) digest.add(row);
  const [high, low] = digest.words;
  return { count: rows.length, high, low };
}

class Naive {
  readonly rows = new Map<Key, DirectoryRow>();

  get inOrder(): readonly DirectoryRow[] {
    return [...this.rows.values()].toSorted((a, b) => compareKeys(a.key, b.key));
  }

  before(end: string): readonly DirectoryRow[] {
    return this.inOrder.filter(({ key }) => end === "" || compareKeys(key, end as Key) < 0);
  }
}

function check(tree: RowTree, naive: Naive, bounds: readonly string[]): void {
  const all = naive.inOrder;
  expect(tree.size).toBe(all.length);
  expect(tree.slice(0, all.length)).toEqual(all);
  for (const each of bounds) {
    expect(tree.before(each)).toEqual(sumOf(naive.before(each)));
    expect(tree.from(each)).toEqual(sumOf(each === "" ? [] : naive.before(each)));
  }
}

test("property: it has the rows, sums and places of a sorted list", () => {
  const change = fc.record({
    key: fc.oneof(
      bound.filter((text) => text !== ""),
      fc.nat(300).map((n) => `k${n}`),
    ),
    sequence: fc.integer({ min: 1, max: 2 ** 40 }),
    isDelete: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 300 }), fc.array(bound, { maxLength: 4 }), (changes, bounds) => {
      const [tree, naive] = [new RowTree(), new Naive()];
      for (const { key, sequence, isDelete } of changes) {
        const row = directoryRow(key, commitId(7, sequence), Uint8Array.of(sequence % 3));
        if (isDelete) expect(tree.delete(row.key)).toBe(naive.rows.delete(row.key));
        else {
          expect(tree.set(row)).toBe(!naive.rows.has(row.key));
          naive.rows.set(row.key, row);
        }
      }
      check(tree, naive, ["", ...bounds]);
      const [from, to] = [Math.floor(naive.rows.size / 3), naive.rows.size - 1];
      expect(tree.slice(from, to)).toEqual(naive.inOrder.slice(from, Math.max(from, to)));
    }),
    { numRuns: 60 },
  );
});

test("thousands of rows in each order of insertion and deletion keep their sums, and an emptied tree has none", () => {
  const keys = Array.from({ length: 5_000 }, (_, n) => String(n).padStart(5, "0") as Key);
  // A step that has no factor with the length visits all of them.
  const scattered = keys.map((_, n) => keys[(n * 3_571) % keys.length]!);
  const hash = contentHash(Uint8Array.of(1));
  for (const order of [keys, keys.toReversed(), scattered]) {
    const [tree, naive] = [new RowTree(), new Naive()];
    for (const key of order) {
      const row = { key, commitId: commitId(1, 1), hash };
      tree.set(row);
      naive.rows.set(key, row);
    }
    check(tree, naive, ["", "02500", "00001", "9"]);
    for (const key of scattered.slice(0, 4_900)) {
      tree.delete(key);
      naive.rows.delete(key);
    }
    check(tree, naive, ["", "02500", "04999"]);
    for (const key of keys) tree.delete(key);
    expect(tree.before("")).toEqual({ count: 0, high: 0, low: 0 });
    expect(tree.slice(0, 9)).toEqual([]);
    expect(digestOf([])).toBe("0000000000000000");
  }
});
