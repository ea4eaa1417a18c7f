import {
  type CommitId,
  commitId,
  compareKeys,
  contains,
  countHash,
  digestOf,
  type DirectoryRow,
  entryOf,
  type Key,
  type KeyInterval,
  type ScanQuery,
  splitUnit,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Hole, RangeTable, type StoredRow, type Walked } from "./range-table.ts";

type Stored = Map<UnitId, StoredRow>;

const WHOLE = { table: "t", lo: "", hi: "" };

function rowsIn(stored: Stored, interval: KeyInterval): readonly StoredRow[] {
  return [...stored.values()]
    .filter(({ unit }) => splitUnit(unit).table === interval.table && contains(interval, splitUnit(unit).key))
    .toSorted((a, b) => compareKeys(a.unit, b.unit));
}

function directoryIn(stored: Stored, interval: KeyInterval): readonly DirectoryRow[] {
  return rowsIn(stored, interval).map(({ unit, commitId: id, value }) => ({
    key: splitUnit(unit).key,
    commitId: id,
    hash: entryOf(id, value).version.hash!,
  }));
}

function scan(stored: Stored, hole: Hole, limit: number): readonly StoredRow[] {
  const rows = rowsIn(stored, hole);
  return (hole.isReversed ? rows.toReversed() : rows).slice(0, limit);
}

function apply(stored: Stored, id: CommitId, writes: readonly Write[]): void {
  for (const { unit, value } of writes) {
    if (value === null) stored.delete(unit);
    else stored.set(unit, { unit, commitId: id, value });
  }
}

function isHole(found: Walked | Hole): found is Hole {
  return "isReversed" in found;
}

/** The same walk over a list of all rows. */
function walked(stored: Stored, query: ScanQuery): Walked {
  const rows = directoryIn(stored, query);
  const { table: of, lo, hi, limit, isReversed } = query;
  const found = isReversed ? rows.slice(Math.max(0, rows.length - limit)) : rows.slice(0, limit);
  const [first, last] = [found[0], found.at(-1)];
  const span = { table: of, kind: "rows", lo, hi } as const;
  if (found.length < limit || first === undefined || last === undefined) return { span, rows: found };
  return { span: isReversed ? { ...span, lo: first.key } : { ...span, hi: `${last.key}\0` }, rows: found };
}

/** Few, so that loads and applies meet. */
const key = fc.constantFrom("a", "b", "\u{e000}", "😀");
const bound = fc.constantFrom("", "a", "b", "b\0", "\u{ffff}", "😀", "😀\0");
const table = fc.constantFrom("t", "t", "t", "u");

const query: fc.Arbitrary<ScanQuery> = fc.record({
  table,
  lo: bound,
  hi: bound,
  limit: fc.integer({ min: 1, max: 5 }),
  isReversed: fc.boolean(),
});

/** Loads until memory has the answer. */
function answer(ranges: RangeTable, stored: Stored, asked: ScanQuery, unsettled: Iterable<UnitId> = []): Walked {
  for (let operation = 1; operation < 100; operation++) {
    const found = ranges.walk(asked);
    if (!isHole(found)) return found;
    ranges.loadStarted(operation, found, unsettled);
    ranges.loadEnded(operation, scan(stored, found, 2), 2);
  }
  throw new Error("the walk has no end");
}

describe("a range table", () => {
  test("property: it says what a sorted list of the applied rows says, or asks for a load, whatever comes in between", () => {
    const writes = fc
      .uniqueArray(fc.record({ table, key, value: fc.option(fc.uint8Array({ maxLength: 1 })) }), {
        selector: (write) => unitId(write.table, write.key),
        minLength: 1,
        maxLength: 3,
      })
      .map((list): readonly Write[] => list.map((each) => ({ unit: unitId(each.table, each.key), value: each.value })));
    const action = fc.oneof(
      fc.record({ kind: fc.constant("ask" as const), query, limit: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant("scan" as const), at: fc.nat() }),
      fc.record({ kind: fc.constantFrom<"answer" | "fail">("answer", "answer", "answer", "fail"), at: fc.nat() }),
      fc.record({ kind: fc.constant("apply" as const), writes }),
      fc.record({
        kind: fc.constantFrom<"store" | "applied" | "failed">("store", "applied", "applied", "failed"),
        at: fc.nat(),
      }),
      fc.record({ kind: fc.constant("evict" as const) }),
    );
    fc.assert(
      fc.property(
        fc.array(action, { minLength: 10, maxLength: 50 }),
        fc.oneof(fc.constant(1e9), fc.nat(1_500)),
        (actions, maxBytes) => {
          const ranges = new RangeTable(maxBytes);
          /** As storage has it, and as everybody may read it. */
          const [stored, readable]: [Stored, Stored] = [new Map(), new Map()];
          const loads: {
            readonly hole: Hole;
            readonly limit: number;
            readonly id: number;
            rows: readonly StoredRow[] | null;
          }[] = [];
          const applies: { readonly id: CommitId; readonly writes: readonly Write[]; isStored: boolean }[] = [];
          let names = 0;
          const unsettled = (): readonly UnitId[] => applies.flatMap((each) => each.writes.map(({ unit }) => unit));
          const check = (asked: ScanQuery): Walked | Hole => {
            const found = ranges.walk(asked);
            if (!isHole(found)) expect(found).toEqual(walked(readable, asked));
            const hash = ranges.hashOf({ ...asked, kind: "rows" });
            const rows = directoryIn(readable, asked);
            if (hash !== null) {
              expect(hash).toBe(digestOf(rows));
              expect(ranges.hashOf({ ...asked, kind: "count" })).toBe(countHash(rows.length));
              expect(ranges.rowsOf(asked)).toEqual(rows);
              expect(ranges.countOf(asked)).toBe(rows.length);
            }
            return found;
          };
          const isFree = (list: readonly Write[]): boolean => list.every(({ unit }) => !unsettled().includes(unit));
          for (const act of actions) {
            if (act.kind === "ask") {
              const found = check(act.query);
              if (!isHole(found)) continue;
              ranges.loadStarted(++names, found, unsettled());
              loads.push({ hole: found, limit: act.limit, id: names, rows: null });
            } else if (act.kind === "apply" && isFree(act.writes)) {
              ranges.applyStarted(act.writes);
              applies.push({ id: commitId(1, ++names), writes: act.writes, isStored: false });
            } else if (act.kind === "evict") ranges.evict();
            else if ((act.kind === "scan" || act.kind === "answer" || act.kind === "fail") && loads.length > 0) {
              const load = loads[act.at % loads.length]!;
              load.rows ??= scan(stored, load.hole, load.limit);
              if (act.kind === "scan") continue;
              loads.splice(act.at % loads.length, 1);
              if (act.kind === "fail") ranges.loadFailed(load.id);
              else ranges.loadEnded(load.id, load.rows, load.limit);
            } else if (
              (act.kind === "store" || act.kind === "applied" || act.kind === "failed") &&
              applies.length > 0
            ) {
              const each = applies[act.at % applies.length]!;
              if (act.kind === "failed" && each.isStored) continue;
              if (act.kind !== "failed" && !each.isStored) {
                apply(stored, each.id, each.writes);
                each.isStored = true;
              }
              if (act.kind === "store") continue;
              applies.splice(act.at % applies.length, 1);
              if (act.kind === "failed") continue;
              apply(readable, each.id, each.writes);
              ranges.applied(each.id, each.writes);
            }
          }
          for (const act of actions) if (act.kind === "ask") check(act.query);
          // Once nothing is under way, every question has its answer.
          for (const each of applies.splice(0)) {
            if (!each.isStored) continue;
            apply(readable, each.id, each.writes);
            ranges.applied(each.id, each.writes);
          }
          for (const { id } of loads) ranges.loadFailed(id);
          for (const act of actions)
            if (act.kind === "ask") expect(answer(ranges, stored, act.query)).toEqual(walked(stored, act.query));
        },
      ),
      { numRuns: 1_500 },
    );
  });

  const put = (stored: Stored, ...keys: string[]): void => {
    for (const name of keys) apply(stored, commitId(1, 1), [{ unit: unitId("t", name), value: Uint8Array.of(1) }]);
  };
  const first = (limit: number): ScanQuery => ({ ...WHOLE, limit, isReversed: false });
  const whole = { ...WHOLE, kind: "rows" } as const;

  test("does not take a row that is being applied while it loads, and takes it when it is applied", () => {
    const ranges = new RangeTable(1e6);
    const stored: Stored = new Map();
    put(stored, "a", "b", "c");
    const write = { unit: unitId("t", "b"), value: Uint8Array.of(2) };
    ranges.applyStarted([write]);
    const hole = ranges.walk(first(9)) as Hole;
    ranges.loadStarted(1, hole, [write.unit]);
    ranges.loadEnded(1, scan(stored, hole, 9), 9);
    expect(ranges.walk(first(1))).toMatchObject({ rows: [{ key: "a" }] });
    expect(ranges.walk(first(9))).toEqual({ table: "t", lo: "b", hi: "b\0", isReversed: false });
    expect(ranges.hashOf(whole)).toBeNull();
    ranges.applied(commitId(1, 2), [write]);
    apply(stored, commitId(1, 2), [write]);
    expect(ranges.hashOf(whole)).toBe(digestOf(directoryIn(stored, WHOLE)));
  });

  test("does not take a row that was applied while it loaded", () => {
    const ranges = new RangeTable(1e6);
    const stored: Stored = new Map();
    put(stored, "a", "b", "c");
    const hole = ranges.walk(first(9)) as Hole;
    ranges.loadStarted(1, hole, []);
    const early = scan(stored, hole, 9);
    const gone = { unit: unitId("t", "b"), value: null };
    ranges.applyStarted([gone]);
    apply(stored, commitId(1, 2), [gone]);
    ranges.applied(commitId(1, 2), [gone]);
    ranges.loadEnded(1, early, 9);
    expect(ranges.hashOf(whole)).toBe(digestOf(directoryIn(stored, WHOLE)));
    expect(ranges.countOf(WHOLE)).toBe(2);
  });

  test("loads no more rows at once than a turn may take, and fewer where rows are large", () => {
    const ranges = new RangeTable(1e9);
    expect(ranges.rowsToLoad("t", 20)).toBe(20);
    expect(ranges.rowsToLoad("t", 1e6)).toBe(256);
    const load = (bytes: number): void => {
      const unit = unitId("t", `k${bytes}`);
      ranges.loadStarted(1, { ...WHOLE, isReversed: false }, []);
      ranges.loadEnded(1, [{ unit, commitId: commitId(1, 1), value: new Uint8Array(bytes) }], 1);
    };
    load(100);
    expect(ranges.rowsToLoad("t", 1e6)).toBe(1_000);
    load(384 * 1024);
    expect(ranges.rowsToLoad("t", 1e6)).toBe(10);
  });

  test("forgets the part that was used first, some of it at a time, and stays within its bound", () => {
    const stored: Stored = new Map();
    const keys = Array.from({ length: 5_000 }, (_, n) => `k${String(n).padStart(4, "0")}` as Key);
    put(stored, ...keys);
    const ranges = new RangeTable(300_000);
    const load = (lo: string, hi: string): void => {
      const hole = { table: "t", lo, hi, isReversed: false };
      ranges.loadStarted(1, hole, []);
      ranges.loadEnded(1, scan(stored, hole, 5_000), 5_000);
    };
    load("k0000", "k2500");
    load("k3000", "");
    ranges.walk({ table: "t", lo: "k0000", hi: "k0001", limit: 1, isReversed: false });
    expect(ranges.size).toBe(4_500);
    ranges.evict();
    // Of the part that was used last before the other one.
    expect(ranges.size).toBe(2_500);
    expect(isHole(ranges.walk({ table: "t", lo: "k0000", hi: "k0009", limit: 5, isReversed: false }))).toBe(false);
    expect(isHole(ranges.walk({ table: "t", lo: "k4000", hi: "", limit: 5, isReversed: false }))).toBe(true);
    for (let i = 0; i < 9; i++) ranges.evict();
    expect(ranges.bytes).toBeLessThanOrEqual(300_000);
    expect(ranges.hashOf({ table: "t", kind: "count", lo: "k2000", hi: "k2400" })).toBe(countHash(400));
  });
});
