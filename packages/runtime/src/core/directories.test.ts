import {
  type CommitId,
  compareBounds,
  compareCommits,
  commitId,
  contentHash,
  contains,
  countEntry,
  digestOf,
  directoryEntry,
  type DirectoryRow,
  entryOf,
  isBelow,
  isEmptyInterval,
  type Key,
  type KeyInterval,
  NO_COMMIT,
  type ScanQuery,
  type Span,
  spanId,
  type UnitId,
  unitId,
  type Version,
} from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Directories, isScanUnit, itemsOfStored, type KnownWalk, scanUnit } from "./directories.ts";
import type { CachePut } from "./effects.ts";

const LETTERS = ["a", "\u{e000}", "😀"];
/** All texts that bounds and keys are drawn from, sorted. Between two of them nothing begins or ends. */
const TEXTS = ["", ...LETTERS, ...LETTERS.flatMap((first) => LETTERS.map((second) => first + second))].toSorted(
  compareBounds,
);
const TABLE = "posts";

const text = fc.constantFrom(...TEXTS);
const key = text.filter((drawn) => drawn !== "") as fc.Arbitrary<Key>;
const commit = fc.integer({ min: 1, max: 9 }).map((sequence) => commitId(1, sequence));
const interval = fc.record({ table: fc.constant(TABLE), lo: text, hi: text });
const query = fc.record({
  table: fc.constant(TABLE),
  lo: text,
  hi: text,
  limit: fc.integer({ min: 1, max: 6 }),
  isReversed: fc.boolean(),
});
const value = fc.integer({ min: 0, max: 3 });
const rowsIn = (within: KeyInterval, drawn: readonly (readonly [Key, CommitId, number])[]): DirectoryRow[] =>
  [...new Map(drawn.map(([of, id, number]) => [of, rowOf(of, id, number)])).values()]
    .filter((row) => contains(within, row.key))
    .toSorted((a, b) => compareBounds(a.key, b.key));

function rowOf(of: Key, id: CommitId, number: number): DirectoryRow {
  return { key: of, commitId: id, hash: contentHash(Uint8Array.of(number)) };
}

function versionOf(id: CommitId, number: number): Version {
  return entryOf(id, number === 0 ? null : Uint8Array.of(number)).version;
}

type Change =
  | {
      readonly kind: "learn";
      readonly within: KeyInterval;
      readonly asOf: CommitId;
      readonly rows: readonly DirectoryRow[];
    }
  | { readonly kind: "patch"; readonly of: Key; readonly version: Version }
  | { readonly kind: "forget"; readonly within: KeyInterval };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc
    .record({ within: interval, asOf: commit, drawn: fc.array(fc.tuple(key, commit, value), { maxLength: 8 }) })
    .map(({ within, asOf, drawn }) => {
      const rows = rowsIn(within, drawn).filter((row) => compareCommits(row.commitId, asOf) <= 0);
      return { kind: "learn", within, asOf, rows } as const;
    }),
  fc
    .record({ of: key, id: commit, number: value })
    .map(({ of, id, number }) => ({ kind: "patch", of, version: versionOf(id, number) }) as const),
  interval.map((within) => ({ kind: "forget", within }) as const),
);

/** The knowledge at each text: nothing, or that there is a row or none. */
class Model {
  readonly known = new Map<string, { asOf: CommitId; row: DirectoryRow | null }>();

  apply(made: Change): void {
    if (made.kind === "patch") {
      const at = this.known.get(made.of);
      if (at === undefined) return;
      const { commitId: id, hash } = made.version;
      if (at.row !== null) {
        const order = compareCommits(id, at.row.commitId);
        if (order > 0 || (order === 0 && hash !== null))
          at.row = hash === null ? null : { key: made.of, commitId: id, hash };
      } else if (hash !== null && compareCommits(id, at.asOf) > 0) at.row = { key: made.of, commitId: id, hash };
      return;
    }
    for (const point of TEXTS) {
      if (!contains(made.within, point as Key)) continue;
      if (made.kind === "forget") this.known.delete(point);
      else {
        const before = this.known.get(point)?.row ?? null;
        const row = made.rows.find((one) => one.key === point) ?? null;
        const keeps = before !== null && compareCommits(before.commitId, made.asOf) > 0;
        this.known.set(point, { asOf: made.asOf, row: keeps ? before : row });
      }
    }
  }

  walk({ lo, hi, limit, isReversed }: ScanQuery): Omit<KnownWalk, "reach"> | undefined {
    const points = TEXTS.filter((point) => contains({ table: TABLE, lo, hi }, point as Key));
    if (isReversed) points.reverse();
    const rows: DirectoryRow[] = [];
    let asOf: CommitId | null = null;
    for (const point of points) {
      const at = this.known.get(point);
      if (at === undefined) return asOf === null ? undefined : { rows, reachesEnd: false, asOf };
      if (asOf === null || compareCommits(at.asOf, asOf) < 0) asOf = at.asOf;
      if (at.row !== null) rows.push(at.row);
      if (rows.length === limit) return { rows, reachesEnd: false, asOf };
    }
    return { rows, reachesEnd: true, asOf: asOf! };
  }
}

function apply(directories: Directories, made: Change): void {
  switch (made.kind) {
    case "learn":
      return directories.learn(idOf(made.within), directoryEntry(made.asOf, made.rows));
    case "patch":
      return directories.patch(unitId(TABLE, made.of), undefined, made.version);
    case "forget": {
      const rows = directories.rowsOf(made.within)?.rows ?? [];
      const version = { commitId: NO_COMMIT, hash: digestOf(rows) };
      return directories.learn(idOf(made.within), { version: { ...version, hash: null }, value: null }, version);
    }
  }
}

function idOf(within: KeyInterval, kind: Span["kind"] = "rows"): UnitId {
  return spanId({ ...within, kind });
}

/** Forgetting needs that the directory is as it was sent: all of it is known. */
function applyToBoth(directories: Directories, model: Model, made: Change): void {
  if (isNotEmpty(made)) {
    if (made.kind !== "forget" || directories.rowsOf(made.within) !== undefined) model.apply(made);
    apply(directories, made);
  }
}

function isNotEmpty(made: Change): boolean {
  return made.kind === "patch" || !isEmptyInterval(made.within);
}

function withoutReach(walk: KnownWalk | undefined): Omit<KnownWalk, "reach"> | undefined {
  if (walk === undefined) return undefined;
  const { rows, reachesEnd, asOf } = walk;
  return { rows, reachesEnd, asOf };
}

test("walks are those over what was learned and patched, text by text", () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 12 }),
      fc.array(query, { minLength: 4, maxLength: 4 }),
      (changes, queries) => {
        const directories = new Directories(Infinity);
        const model = new Model();
        for (const made of changes) applyToBoth(directories, model, made);
        for (const asked of queries.filter((one) => !isEmptyInterval(one))) {
          const walk = directories.walk(asked);
          expect(withoutReach(walk)).toEqual(model.walk(asked));
          if (walk?.reach !== undefined) expect(isReachOf(model, asked, walk.reach)).toBe(true);
          expect(withoutReach(directories.rowsOf(asked))).toEqual(wholeOf(model, asked));
        }
        for (const of of TEXTS) if (of !== "") expect(directories.covers(unitId(TABLE, of))).toBe(model.known.has(of));
      },
    ),
    { numRuns: 400 },
  );
});

/** All is known before it, seen from the start of the walk, and nothing behind it. */
function isReachOf(model: Model, { lo, hi, isReversed }: ScanQuery, reach: string): boolean {
  const beyond = TEXTS.filter((point) => contains({ table: TABLE, lo, hi }, point as Key) && !isWithin(point));
  const first = isReversed ? beyond.at(-1) : beyond[0];
  return first === undefined || !model.known.has(first);
  function isWithin(point: string): boolean {
    return isReversed ? compareBounds(point, reach) >= 0 : isBelow(point, reach);
  }
}

function wholeOf(model: Model, within: KeyInterval): Omit<KnownWalk, "reach"> | undefined {
  const walk = model.walk({ ...within, limit: Infinity, isReversed: false });
  return walk?.reachesEnd === true ? walk : undefined;
}

test("a cache that is given what is stored of a query answers the query", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), query, fc.integer({ min: 0, max: 3 }), (changes, asked, spare) => {
      fc.pre(!isEmptyInterval(asked));
      const directories = new Directories(Infinity);
      for (const made of changes) if (isNotEmpty(made)) apply(directories, made);
      const span: Span = { ...asked, kind: "rows" };
      const most = { first: 0, last: 0, [asked.isReversed ? "last" : "first"]: asked.limit + spare };
      const stored = directories.stored({ table: TABLE, lo: asked.lo, hi: asked.hi, kind: "rows" }, most);
      const walk = directories.walk(asked);
      if (stored === null) {
        expect(walk?.rows ?? []).toEqual([]);
        return;
      }
      const fresh = new Directories(Infinity);
      fresh.learn(scanUnit(span), stored);
      const again = fresh.walk(asked)!;
      expect(again.rows).toEqual(walk?.rows);
      expect(again.rows.length === asked.limit || again.reachesEnd === walk!.reachesEnd).toBe(true);
      const items = new Set(itemsOfStored(scanUnit(span), stored));
      expect(again.rows.every((row) => items.has(unitId(TABLE, row.key)))).toBe(true);
    }),
  );
});

test("it takes no more bytes than it may beside the rows that came last, and what it still tells is true", () => {
  const learning = fc.record({ within: interval, drawn: fc.array(fc.tuple(key, commit, value), { maxLength: 8 }) });
  fc.assert(
    fc.property(fc.array(learning, { maxLength: 30 }), query, (learnings, asked) => {
      fc.pre(!isEmptyInterval(asked));
      const directories = new Directories(4_000);
      const model = new Model();
      for (const { within, drawn } of learnings) {
        const made: Change = { kind: "learn", within, asOf: commitId(2, 1), rows: rowsIn(within, drawn) };
        applyToBoth(directories, model, made);
        const last = new Directories(Infinity);
        apply(last, made);
        expect(directories.bytes).toBeLessThanOrEqual(Math.max(4_000, last.bytes));
        expect(directories.bytes).toBeGreaterThanOrEqual(0);
      }
      const told = directories.walk(asked);
      if (told === undefined) return;
      const all = model.walk(asked)!;
      expect(told.rows).toEqual(all.rows.slice(0, told.rows.length));
      if (told.reachesEnd) expect(all).toEqual(withoutReach(told));
    }),
  );
});

test("rows that came together stay until others come, however few bytes it may take", () => {
  const directories = new Directories(0);
  const of = (name: string): KeyInterval => ({ table: TABLE, lo: name, hi: `${name}0` });
  const put = (name: string): CachePut => {
    const entry = directoryEntry(commitId(1, 5), [rowOf(name as Key, commitId(1, 1), 1)]);
    return { unit: idOf(of(name)), entry };
  };
  const told = (): readonly string[] => ["a", "b", "c"].filter((name) => directories.rowsOf(of(name)) !== undefined);
  directories.learnAll([put("a"), put("b")]);
  expect(told()).toEqual(["a", "b"]);
  directories.learn(idOf(of("a"), "count"), countEntry(commitId(1, 5), 1));
  directories.patch(unitId(TABLE, "a"), undefined, versionOf(commitId(1, 6), 1));
  expect(told()).toEqual(["a", "b"]);
  directories.learnAll([put("c")]);
  expect(told()).toEqual(["c"]);
});

const ALL = { table: TABLE, lo: "", hi: "" };
const one = rowOf("a" as Key, commitId(1, 1), 1);
const two = rowOf("b" as Key, commitId(1, 2), 1);

function counting(...rows: readonly DirectoryRow[]): Directories {
  const directories = new Directories(Infinity);
  directories.learn(idOf(ALL), directoryEntry(commitId(1, 5), rows));
  return directories;
}

test("a number is known by itself, or by all the rows", () => {
  const directories = counting(one, two);
  expect(directories.count(ALL)).toEqual({ count: 2, asOf: commitId(1, 5) });
  expect(directories.count({ ...ALL, lo: "b" })).toEqual({ count: 1, asOf: commitId(1, 5) });
  const alone = new Directories(Infinity);
  expect(alone.count(ALL)).toBeUndefined();
  alone.learn(idOf(ALL, "count"), countEntry(commitId(1, 7), 1_000));
  expect(alone.count(ALL)).toMatchObject({ count: 1_000, asOf: commitId(1, 7) });
  expect(alone.count({ ...ALL, lo: "b" })).toBeUndefined();
  expect(alone.covers(unitId(TABLE, "z"))).toBe(true);
  expect(alone.covers(unitId("users", "z"))).toBe(false);
});

test("a number follows the items of its interval that come and go, as far as that is known", () => {
  const of = unitId(TABLE, "a");
  const there = versionOf(commitId(1, 8), 1);
  const gone = versionOf(commitId(1, 9), 0);
  const cases: readonly (readonly [Version | undefined, Version, number])[] = [
    [undefined, there, 4],
    [undefined, gone, 2],
    [versionOf(commitId(1, 1), 2), there, 3],
    [versionOf(commitId(1, 1), 0), there, 4],
    [there, gone, 2],
    [versionOf(commitId(1, 1), 0), gone, 3],
    // The number is newer than the item.
    [undefined, versionOf(commitId(1, 7), 1), 3],
  ];
  for (const [before, after, count] of cases) {
    const directories = new Directories(Infinity);
    directories.learn(idOf(ALL, "count"), countEntry(commitId(1, 7), 3));
    directories.patch(of, before, after);
    directories.patch(unitId("others", "a"), undefined, after);
    expect(directories.count(ALL)?.count).toBe(count);
  }
  const none = new Directories(Infinity);
  none.learn(idOf(ALL, "count"), countEntry(commitId(1, 7), 0));
  none.patch(of, undefined, gone);
  expect(none.count(ALL)?.count).toBe(0);
});

test("an earlier number does not replace a later one, unless that was disproved", () => {
  const directories = new Directories(Infinity);
  const unit = idOf(ALL, "count");
  const wrong = countEntry(commitId(1, 9), 3);
  directories.learn(unit, wrong);
  directories.learn(unit, countEntry(commitId(1, 8), 4));
  expect(directories.count(ALL)?.count).toBe(3);
  directories.learn(unit, countEntry(commitId(1, 8), 4), wrong.version);
  expect(directories.count(ALL)?.count).toBe(4);
});

test("a stored number is told again", () => {
  const directories = new Directories(Infinity);
  const span: Span = { ...ALL, kind: "count" };
  expect(directories.stored(span, { first: 1, last: 0 })).toBeNull();
  directories.learn(spanId(span), countEntry(commitId(1, 7), 3));
  const fresh = new Directories(Infinity);
  fresh.learn(scanUnit(span), directories.stored(span, { first: 1, last: 0 })!);
  expect(fresh.count(ALL)).toMatchObject({ count: 3, asOf: commitId(1, 7) });
});

test("rows that were disproved go, although they are newer than the repair", () => {
  const directories = counting(one, two);
  const ahead = rowOf("c" as Key, commitId(9, 9), 1);
  directories.patch(unitId(TABLE, "c"), undefined, { commitId: ahead.commitId, hash: ahead.hash });
  const sent = { commitId: commitId(1, 5), hash: digestOf([one, two, ahead]) };
  const repair = directoryEntry(commitId(1, 6), [one, two]);
  directories.learn(idOf(ALL), repair);
  expect(directories.rowsOf(ALL)?.rows).toEqual([one, two, ahead]);
  directories.learn(idOf(ALL), repair, sent);
  expect(directories.rowsOf(ALL)?.rows).toEqual([one, two]);
});

test("garbled entries teach nothing", () => {
  const directories = counting(one);
  const garbled = { version: { commitId: commitId(1, 8), hash: null }, value: Uint8Array.of(0xff) };
  directories.learn(idOf(ALL), garbled);
  directories.learn(idOf(ALL, "count"), garbled);
  directories.learn(scanUnit({ ...ALL, kind: "rows" }), garbled);
  directories.learn(unitId(TABLE, "a"), garbled);
  // Rows outside of their interval.
  directories.learn(idOf({ ...ALL, hi: "a" }), directoryEntry(commitId(1, 8), [two]));
  expect(directories.rowsOf(ALL)?.rows).toEqual([one]);
  expect(itemsOfStored(scanUnit({ ...ALL, kind: "rows" }), garbled)).toEqual([]);
});

test("the unit of a stored scan is no item and no span", () => {
  const unit = scanUnit({ ...ALL, kind: "rows" });
  expect(isScanUnit(unit)).toBe(true);
  expect([idOf(ALL), unitId(TABLE, "a")].filter(isScanUnit)).toEqual([]);
});
