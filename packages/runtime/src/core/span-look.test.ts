/** The look of a run at spans: the run that comes after it, on what was captured, sees the very same rows. */
import {
  compareBounds,
  commitId,
  contains,
  countEntry,
  decodeDirectory,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  isEmptyInterval,
  type Key,
  type KeyInterval,
  NO_COMMIT,
  observedSpan,
  type Query,
  spanId,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { spanSnapshot, type ScannedRows } from "@radical/wasm-host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Directories } from "./directories.ts";
import { SpanLook } from "./span-look.ts";

const TABLE = "posts";
const KEYS = ["a", "b", "c", "d", "\u{e000}", "😀"] as Key[];
const ALL: KeyInterval = { table: TABLE, lo: "", hi: "" };

const item = (sequence: number, number: number): Entry =>
  entryOf(commitId(1, sequence), number === 0 ? null : Uint8Array.of(number));
const rowOf = (key: Key, { version }: Entry): DirectoryRow => ({
  key,
  commitId: version.commitId,
  hash: version.hash!,
});
const unitOf = (key: Key): UnitId => unitId(TABLE, key);

const key = fc.constantFrom(...KEYS);
const bound = fc.constantFrom("", ...KEYS);
const entry = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 3 })).map((drawn) => item(...drawn));
const rows = fc.uniqueArray(fc.tuple(key, entry), { selector: ([of]) => of }).map((drawn) =>
  drawn
    .filter(([, { value }]) => value !== null)
    .map(([of, drawnEntry]) => rowOf(of, drawnEntry))
    .toSorted((a, b) => compareBounds(a.key, b.key)),
);
const scan = fc.record({
  kind: fc.constant("rows" as const),
  table: fc.constant(TABLE),
  lo: bound,
  hi: bound,
  limit: fc.integer({ min: 1, max: 5 }),
  isReversed: fc.boolean(),
});

/** Items that were captured, or are in memory: of other times than the directory, of the same, or none. */
const items = fc
  .array(fc.tuple(key, fc.oneof(entry, fc.constant("as in the directory" as const))), { maxLength: 8 })
  .map((drawn) => new Map(drawn));

function itemsOf(
  known: readonly DirectoryRow[],
  drawn: ReadonlyMap<Key, Entry | "as in the directory">,
): ReadonlyMap<UnitId, Entry> {
  const found = new Map<UnitId, Entry>();
  for (const [of, one] of drawn) {
    if (one !== "as in the directory") found.set(unitOf(of), one);
    const row = known.find((each) => each.key === of);
    const version = row === undefined ? null : { commitId: row.commitId, hash: row.hash };
    if (one === "as in the directory" && version !== null) found.set(unitOf(of), { version, value: new Uint8Array() });
  }
  return found;
}

test("what was captured answers the same query with the same rows, whose items are those captured", () => {
  fc.assert(
    fc.property(bound, bound, rows, items, scan, (lo, hi, known, drawn, query) => {
      const stretch = { table: TABLE, lo, hi };
      fc.pre(!isEmptyInterval(stretch) && !isEmptyInterval(query));
      const within = known.filter((row) => contains(stretch, row.key));
      const directories = new Directories(Infinity);
      directories.learn(spanId({ ...stretch, kind: "rows" }), directoryEntry(commitId(1, 9), within));
      const captured = itemsOf(within, drawn);
      const look = new SpanLook(directories, (unit) => captured.get(unit));
      const seen = look.scan(query) as ScannedRows | undefined;
      if (seen === undefined || (seen.rows.length < query.limit && !seen.reachesEnd)) return;
      for (const { key: of, commitId: id, hash } of seen.rows)
        expect(captured.get(unitOf(of))?.version).toEqual({ commitId: id, hash });
      const isWhole = seen.rows.length < query.limit;
      const span = observedSpan(
        query,
        seen.rows.map((row) => row.key),
        isWhole,
      );
      const spans = look.capture([spanId(span), unitOf(KEYS[0]!)]);
      expect([...spans.keys()]).toEqual([spanId(span)]);
      const again = spanSnapshot([...captured, [spanId(span), spans.get(spanId(span))!.entry]]);
      expect((again.scan!(query) as ScannedRows).rows).toEqual(seen.rows);
    }),
    { numRuns: 400 },
  );
});

/** A look at a table of which all rows are known, as of the commit 5, with these items. */
function lookAt(known: readonly DirectoryRow[], captured: Iterable<readonly [UnitId, Entry]>): SpanLook {
  const directories = new Directories(Infinity);
  directories.learn(spanId({ ...ALL, kind: "rows" }), directoryEntry(commitId(1, 5), known));
  const held = new Map(captured);
  return new SpanLook(directories, (unit) => held.get(unit));
}

const query = (limit: number, isReversed = false): Query => ({ kind: "rows", ...ALL, limit, isReversed });
const [a, b, c] = ["a", "b", "c"].map((of, index) => [of as Key, item(index + 1, 1)] as const);
const ROWS = [a, b, c].map((each) => rowOf(...each!));
const HELD = [a, b, c].map((each) => [unitOf(each![0]), each![1]] as const);
const whole = spanId({ ...ALL, kind: "rows" });

test("the version says as of when the directory was told, if each item is the one that it names", () => {
  const look = lookAt(ROWS, HELD);
  expect(look.scan(query(3))).toEqual({ rows: ROWS, reachesEnd: false });
  expect(look.capture([whole]).get(whole)).toEqual({
    entry: directoryEntry(commitId(1, 5), ROWS),
    of: whole,
    guess: null,
    told: directoryEntry(commitId(1, 5), ROWS).version,
  });
  expect(look.lacking).toEqual([]);
});

test("a row without an item is left out, the walk goes on, and a repair is to bring everything", () => {
  const look = lookAt(ROWS, [HELD[0]!, HELD[2]!]);
  expect(look.scan(query(2))).toEqual({ rows: [ROWS[0], ROWS[2]], reachesEnd: false });
  expect(look.lacking).toEqual([HELD[1]![0]]);
  const captured = look.capture([whole]).get(whole)!;
  expect(captured.entry).toEqual(directoryEntry(NO_COMMIT, [ROWS[0]!, ROWS[2]!]));
  // If that is confirmed, the row is gone.
  expect(captured.guess).toEqual(directoryEntry(commitId(1, 5), [ROWS[0]!, ROWS[2]!]));
});

test("a row has the version of its item, and is none if the item is absent", () => {
  const newer = item(8, 2);
  const look = lookAt(ROWS, [[HELD[0]![0], newer], [HELD[1]![0], item(9, 0)], HELD[2]!]);
  const seen = [rowOf("a" as Key, newer), ROWS[2]!];
  expect(look.scan(query(9, true))).toEqual({ rows: seen.toReversed(), reachesEnd: true });
  const { value, version } = look.capture([whole]).get(whole)!.entry;
  expect(decodeDirectory(value!)).toEqual(seen);
  expect(version.commitId).toBe(NO_COMMIT);
});

test("a span is remembered under the whole interval of its query", () => {
  const look = lookAt(ROWS, HELD);
  look.scan(query(2));
  const observed = spanId({ ...ALL, kind: "rows", hi: "b\0" });
  expect(look.capture([observed]).get(observed)?.of).toBe(whole);
});

test("a number needs no items", () => {
  const look = lookAt(ROWS, []);
  const unit = spanId({ ...ALL, kind: "count" });
  expect(look.scan({ kind: "count", ...ALL })).toEqual({ count: 3 });
  expect(look.capture([unit]).get(unit)?.entry).toEqual(countEntry(commitId(1, 5), 3));
  expect(look.lacking).toEqual([]);
});

test("of an unknown interval nothing is captured", () => {
  const look = new SpanLook(new Directories(Infinity), () => undefined);
  expect(look.scan(query(1))).toBeUndefined();
  expect(look.scan({ kind: "count", ...ALL })).toBeUndefined();
  expect(look.capture([whole, spanId({ ...ALL, kind: "count" })]).size).toBe(0);
});
