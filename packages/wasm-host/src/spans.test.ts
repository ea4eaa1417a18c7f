import {
  commitId,
  compareKeys,
  contains,
  contentHash,
  digestOf,
  directoryEntry,
  type DirectoryRow,
  encodeCount,
  encodeDirectory,
  type Entry,
  entryOf,
  isEmptyInterval,
  type Key,
  type Query,
  type ScanQuery,
  type Span,
  spanId,
  type UnitId,
  unitId,
  NO_EXECUTION,
} from "@radical/protocol";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { HandlerModule } from "./module.ts";
import { deriveAccessSet, recordHandler, runHandler } from "./run.ts";
import { isWithin, type Scanned, type Snapshot, spanSnapshot, walk, type Walk } from "./spans.ts";
import { programs } from "./testing/programs.ts";

const COMMIT = commitId(1, 1);
const TABLE = "t";

type Stored = ReadonlyMap<Key, Uint8Array>;

function rowsOf(stored: Stored): DirectoryRow[] {
  return [...stored.keys()]
    .toSorted(compareKeys)
    .map((key) => ({ key, commitId: COMMIT, hash: contentHash(stored.get(key)!) }));
}

function inWalkOrder(stored: Stored, { isReversed, ...query }: ScanQuery): DirectoryRow[] {
  const rows = rowsOf(stored).filter(({ key }) => contains(query, key));
  return isReversed ? rows.toReversed() : rows;
}

/** A snapshot of a whole table, which gives as few rows as it may. */
function tableSnapshot(stored: Stored, asked: Query[] = []): Snapshot {
  return Object.assign(
    (unit: UnitId): Entry => entryOf(COMMIT, stored.get(unit.slice(TABLE.length + 1) as Key) ?? null),
    {
      scan(query: Query): Scanned {
        asked.push(query);
        if (query.kind === "count") return { count: [...stored.keys()].filter((key) => contains(query, key)).length };
        const rows = inWalkOrder(stored, query);
        return { rows: rows.slice(0, query.limit), reachesEnd: rows.length < query.limit };
      },
    },
  );
}

function ownWrites(own: ReadonlyMap<Key, Uint8Array | null>): (readonly [UnitId, Uint8Array | null])[] {
  return Array.from(own, ([key, value]) => [unitId(TABLE, key), value] as const);
}

/** The rows of the table as the run sees it, up to the limit or the end. */
function naive(query: ScanQuery, stored: Stored, own: ReadonlyMap<Key, Uint8Array | null>): Walk {
  const seen = new Map<Key, Uint8Array>(stored);
  for (const [key, value] of own) {
    if (value === null) seen.delete(key);
    else seen.set(key, value);
  }
  const all = inWalkOrder(seen, query).map(({ key }) => key);
  const keys = all.slice(0, query.limit);
  const { table, lo, hi } = query;
  const last = keys.at(-1);
  const observed: Span =
    keys.length < query.limit || last === undefined
      ? { table, kind: "rows", lo, hi }
      : query.isReversed
        ? { table, kind: "rows", lo: last, hi }
        : { table, kind: "rows", lo, hi: `${last}\0` };
  const rows = keys.map((key) => ({ key, unit: unitId(TABLE, key), value: seen.get(key)! }));
  return { kind: "walked", rows, observed };
}

const letters = fc.constantFrom("a", "b", "c", "é", "\u{e000}", "😀");
const key = fc.string({ unit: letters, minLength: 1, maxLength: 2 }) as fc.Arbitrary<Key>;
const bound = fc.oneof(fc.constant(""), key);
const value = fc.uint8Array({ minLength: 1, maxLength: 2 });
const storedItems = fc.array(fc.tuple(key, value), { maxLength: 20 }).map((pairs) => new Map(pairs));
const ownItems = fc
  .array(fc.tuple(key, fc.option(value, { freq: 2 })), { maxLength: 12 })
  .map((pairs) => new Map(pairs));
const queries = fc
  .record({
    table: fc.constant(TABLE),
    lo: bound,
    hi: bound,
    limit: fc.integer({ min: 1, max: 8 }),
    isReversed: fc.boolean(),
  })
  .filter((query) => !isEmptyInterval(query));

describe("a walk", () => {
  test("property: it sees the rows that a run sees, and its observed span is exact", () => {
    fc.assert(
      fc.property(storedItems, ownItems, queries, (stored, own, query) => {
        const walked = walk(query, ownWrites(own), tableSnapshot(stored), true);
        expect(walked).toEqual(naive(query, stored, own));
      }),
      { numRuns: 400 },
    );
  });

  test("property: other rows outside of its observed span change nothing", () => {
    fc.assert(
      fc.property(storedItems, storedItems, ownItems, queries, (stored, others, own, query) => {
        const walked = walk(query, ownWrites(own), tableSnapshot(stored), true);
        if (walked.kind === "missing") throw new Error("the snapshot has all");
        const { observed } = walked;
        const within = [...stored].filter(([each]) => contains(observed, each));
        const outside = [...others].filter(([each]) => !contains(observed, each));
        const changed = new Map([...outside, ...within]);
        expect(walk(query, ownWrites(own), tableSnapshot(changed), true)).toEqual(walked);
      }),
      { numRuns: 400 },
    );
  });

  test("property: a snapshot of its observed span and of the values of its rows is enough to walk again", () => {
    fc.assert(
      fc.property(storedItems, ownItems, queries, (stored, own, query) => {
        const whole = tableSnapshot(stored);
        const walked = walk(query, ownWrites(own), whole, true);
        if (walked.kind === "missing") throw new Error("the snapshot has all");
        const { observed } = walked;
        const rows = rowsOf(stored).filter(({ key: each }) => contains(observed, each));
        const entry: Entry = {
          version: { commitId: COMMIT, hash: digestOf(rows) },
          value: encodeDirectory(rows),
        };
        const items = walked.rows.flatMap(({ key: each, unit }) =>
          stored.has(each) ? [[unit, whole(unit)!] as const] : [],
        );
        const again = walk(query, ownWrites(own), spanSnapshot([[spanId(observed), entry], ...items]), true);
        expect(again).toEqual(walked);
      }),
      { numRuns: 400 },
    );
  });

  test("property: the same walk without values has the same span", () => {
    fc.assert(
      fc.property(storedItems, ownItems, queries, (stored, own, query) => {
        const walked = walk(query, ownWrites(own), tableSnapshot(stored), true);
        const { scan } = tableSnapshot(stored);
        const touched = walk(
          query,
          ownWrites(own),
          Object.assign(() => undefined, { scan }),
          false,
        );
        expect(touched).toMatchObject({ observed: (walked as Extract<Walk, { kind: "walked" }>).observed });
      }),
    );
  });

  const row = (name: string, byte = 1): readonly [Key, Uint8Array] => [name as Key, Uint8Array.of(byte)];
  const first = (limit: number): ScanQuery => ({ table: TABLE, lo: "", hi: "", limit, isReversed: false });

  test("asks for as many further rows as its own deletes took away", () => {
    const asked: Query[] = [];
    const stored = new Map([row("a"), row("b"), row("c"), row("d"), row("e")]);
    const own = new Map<Key, null>([
      ["a" as Key, null],
      ["c" as Key, null],
    ]);
    const walked = walk(first(2), ownWrites(own), tableSnapshot(stored, asked), true);
    expect(walked).toMatchObject({ rows: [{ key: "b" }, { key: "d" }], observed: { lo: "", hi: "d\0" } });
    expect(asked).toMatchObject([{ limit: 2 }, { limit: 3 }, { limit: 4 }]);
  });

  test("that needs more rows than the snapshot has names the query with the number that it needs", () => {
    const rows = rowsOf(new Map([row("a"), row("b")]));
    const snapshot = Object.assign(() => undefined, { scan: () => ({ rows, reachesEnd: false }) });
    const own = ownWrites(new Map([["a" as Key, null]]));
    expect(walk(first(3), own, snapshot, false)).toEqual({
      kind: "missing",
      query: { ...first(3), kind: "rows", limit: 5 },
    });
  });

  test("finds a value of another version missing: its span's version would not speak of that value", () => {
    const rows = rowsOf(new Map([row("a")]));
    const scan = (): Scanned => ({ rows, reachesEnd: true });
    const of = (entry: Entry | undefined): Walk["kind"] =>
      walk(
        first(3),
        [],
        Object.assign(() => entry, { scan }),
        true,
      ).kind;
    expect(of(entryOf(COMMIT, Uint8Array.of(1)))).toBe("walked");
    expect(of(entryOf(commitId(1, 2), Uint8Array.of(1)))).toBe("missing");
    expect(of(entryOf(COMMIT, Uint8Array.of(2)))).toBe("missing");
    expect(of(entryOf(COMMIT, null))).toBe("missing");
    expect(of(undefined)).toBe("missing");
  });
});

test("property: a span is within another one if all of its keys are", () => {
  const span = fc
    .record({ table: fc.constant(TABLE), kind: fc.constant("rows" as const), lo: bound, hi: bound })
    .filter((each) => !isEmptyInterval(each));
  fc.assert(
    fc.property(span, span, key, (inner, outer, each) => {
      if (!isWithin(inner, outer)) {
        // Its least key is outside, or there are keys behind the other one's end.
        const isBelow = compareKeys(inner.lo as Key, outer.lo as Key) < 0;
        const isBeyond = outer.hi !== "" && (inner.hi === "" || compareKeys(outer.hi, inner.hi) < 0);
        expect(isBelow || isBeyond).toBe(true);
      } else if (contains(inner, each)) expect(contains(outer, each)).toBe(true);
    }),
  );
});

describe("ranges of the host", () => {
  let module: HandlerModule;
  const environment = { timeMs: 1, seed: new Uint8Array(16), caller: null };
  const invoke = (handler: string) => ({ executionId: NO_EXECUTION, handler, args: new Uint8Array(), environment });
  const items: Stored = new Map(["a", "b", "c", "d"].map((name, at) => [name as Key, Uint8Array.of(at)]));
  const SPAN = "t:v0/c\0";
  const COUNT = "t:n1/ad";
  const none: Snapshot = () => undefined;

  beforeAll(async () => {
    const source = `
      export function scans(): void {
        const length = host_scan("t", "", "", 3, 0);
        const bytes = new ArrayBuffer(length);
        host_take(changetype<usize>(bytes));
        host_result(changetype<usize>(bytes), length);
      }
      export function deletes(): void {
        host_delete("t", "a"); host_delete("t", "x"); put("t", "b", 7); put("t", "bb", 8);
        respond(i32(host_count("t", "a", "d")));
        host_scan("t", "a", "", 2, 1);
      }
      export function empty(): void { respond(host_scan("t", "b", "b", 3, 0) + host_scan("t", "", "", 0, 0) + i32(host_count("t", "c", "b"))); }
      export function wide(): void { host_scan("t", "", "", 99, 0); }
      export function malformed(): void { host_scan("t", "\\ud800", "", 1, 0); }
    `;
    const touches = `
      export function touches(): void { host_touch_scan("t", "", "", 3, 0); host_touch_count("t", "a", "d"); }
      export function saysWrite(): void { host_will_write("t", "a"); host_touch_scan("t", "", "", 2, 0); host_touch_count("t", "", ""); }
    `;
    module = await programs({ f: source, rw: source + touches, limits: { accesses: 8 } });
  });

  const record = (handler: string, stored: Stored = items) =>
    recordHandler(module, invoke(handler), tableSnapshot(stored), { guess: false });

  test("give the rows as text and bytes, and read one unit", () => {
    const { run, missing, missingQueries } = record("scans");
    expect(run).toMatchObject({
      outcome: {
        kind: "result",
        value: Uint8Array.of(0x86, 0x61, 0x61, 0x41, 0, 0x61, 0x62, 0x41, 1, 0x61, 0x63, 0x41, 2),
      },
      reads: [SPAN],
    });
    expect([missing, missingQueries]).toEqual([[], []]);
  });

  test("count what the run has written, by reading what is stored there", () => {
    expect(record("deletes").run).toMatchObject({
      // Of a, b, c stay b and c, and bb comes.
      outcome: { value: Uint8Array.of(3) },
      reads: [COUNT, "t/a", "t/b", "t/bb", "t:v1/c"],
    });
  });

  test("that have no keys read nothing", () => {
    expect(record("empty").run).toMatchObject({ outcome: { value: Uint8Array.of(2) }, reads: [] });
  });

  test("count towards the limit of accesses by their rows", () => {
    const many: Stored = new Map(Array.from({ length: 12 }, (_, at) => [`k${at}` as Key, Uint8Array.of(at)]));
    const asked: Query[] = [];
    const { run } = recordHandler(module, invoke("wide"), tableSnapshot(many, asked), { guess: false });
    expect(run?.outcome).toMatchObject({ kind: "trap", code: "invalid_access" });
    expect(asked).toMatchObject([{ limit: 9 }]);
    expect(record("wide").run?.outcome).toMatchObject({ kind: "result" });
  });

  test("with a bound that no key can have end the run", () => {
    expect(record("malformed").run?.outcome).toMatchObject({ kind: "trap", code: "invalid_access" });
  });

  test("that are not captured are guessed empty, and named", () => {
    const query = { kind: "rows", table: "t", lo: "", hi: "", limit: 3, isReversed: false };
    const derived = deriveAccessSet(module, invoke("scans"), none);
    expect(derived).toMatchObject({ kind: "derived", missing: [], missingQueries: [query] });
    expect(derived).toMatchObject({ set: { reads: new Set(["t:v0/"]) }, dependent: ["t:v0/"] });
    const guessed = recordHandler(module, invoke("scans"), none, { guess: true });
    expect(guessed).toMatchObject({ missing: [], missingQueries: [query], run: { reads: ["t:v0/"] } });
    expect(recordHandler(module, invoke("scans"), none, { guess: false })).toMatchObject({
      missingQueries: [query],
      run: null,
    });
    const set = { reads: new Set([SPAN as UnitId]), writes: new Set<UnitId>() };
    expect(runHandler(module, invoke("scans"), none, set)).toEqual({
      kind: "missing",
      unit: "t:v0/",
      missingQueries: [query],
    });
  });

  test("are touched without values, and a touched count without its number", () => {
    const { scan } = tableSnapshot(items);
    const rows = (query: Query): Scanned | undefined => (query.kind === "rows" ? scan!(query) : undefined);
    const derived = deriveAccessSet(
      module,
      invoke("touches"),
      Object.assign(() => undefined, { scan: rows }),
    );
    expect(derived).toMatchObject({
      set: { reads: new Set([SPAN, COUNT]) },
      missing: [],
      missingQueries: [],
      dependent: [],
    });
  });

  test("are touched beyond keys of which it is not known whether they will be put or deleted", () => {
    const derived = deriveAccessSet(module, invoke("saysWrite"), tableSnapshot(items));
    expect(derived).toMatchObject({ set: { reads: new Set([SPAN, "t:n0/", "t/a"]) } });
  });

  test("are declared by any span around what was observed", () => {
    const run = (...reads: string[]) =>
      runHandler(module, invoke("scans"), tableSnapshot(items), {
        reads: new Set(reads as UnitId[]),
        writes: new Set(),
      });
    for (const declared of [SPAN, "t:v0/", "t:v0/d"]) expect(run("t/a", declared)).toMatchObject({ reads: [SPAN] });
    for (const declared of ["t:v0/c", "t:v1/a", "u:v0/", "t:n0/"])
      expect(run(declared)).toEqual({ kind: "undeclared", unit: SPAN, mode: "read" });
  });

  test("are answered by the span of a snapshot that comes farthest", () => {
    const rows = rowsOf(items);
    const entry = (count: number): Entry => directoryEntry(COMMIT, rows.slice(0, count));
    const scan = (isReversed: boolean, ...spans: readonly (readonly [string, Entry])[]): Scanned | undefined =>
      spanSnapshot(spans as readonly (readonly [UnitId, Entry])[]).scan!({
        kind: "rows",
        table: "t",
        lo: "",
        hi: "",
        limit: 9,
        isReversed,
      });
    const near = ["t:v0/b", entry(1)] as const;
    // No further row is stored there, which is known up to the next one.
    const far = ["t:v0/b!", entry(2)] as const;
    const whole = ["t:v0/", entry(4)] as const;
    for (const spans of [
      [near, far],
      [far, near],
    ])
      expect(scan(false, ...spans)).toEqual({ rows: rows.slice(0, 2), reachesEnd: false, reach: "b!" });
    expect(scan(false, near, whole, far)).toEqual({ rows, reachesEnd: true });
    expect(scan(true, near, whole, far)).toEqual({ rows: rows.toReversed(), reachesEnd: true });
    expect(scan(true, near, far)).toBeUndefined();
    const last = ["t:v1/c", directoryEntry(COMMIT, rows.slice(2))] as const;
    expect(scan(true, near, last)).toEqual({ rows: rows.slice(2).toReversed(), reachesEnd: false, reach: "c" });
  });

  test("are answered by a snapshot of spans, also of a count", () => {
    const count: Entry = { version: { commitId: COMMIT, hash: null }, value: encodeCount(3) };
    const snapshot = spanSnapshot([[COUNT as UnitId, count]]);
    expect(snapshot.scan!({ kind: "count", table: "t", lo: "a", hi: "d" })).toEqual({ count: 3 });
    expect(snapshot.scan!({ kind: "count", table: "t", lo: "a", hi: "c" })).toBeUndefined();
  });
});
