import {
  commitId,
  directoryEntry,
  type Entry,
  entryOf,
  type Key,
  NO_COMMIT,
  sessionId,
  spanId,
  type UnitId,
  unitId,
  type Version,
} from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { ReadLeases } from "./read-leases.ts";
import { NO_ROWS } from "./span-look.ts";

const ANN = unitId("users", "ann");
const BOB = unitId("users", "bob");
const ONE = sessionId(3, 1);
const TWO = sessionId(3, 2);

const entry = (sequence: number, text = "value"): Entry =>
  entryOf(commitId(3, sequence), new TextEncoder().encode(text));
const ABSENT = entryOf(NO_COMMIT, null);
const lease = (n: number, ...units: readonly (readonly [UnitId, Version])[]) =>
  ({ kind: "lease", n, units: units.map(([unit, version]) => ({ unit, version })) }) as const;
const revoke = (n: number, ...units: readonly UnitId[]) => ({ kind: "revoke", n, units }) as const;

/** A session that has leases of these entries, for 3 s from 1,000 on. */
function holding(...entries: readonly (readonly [UnitId, Entry])[]): ReadLeases {
  const leases = new ReadLeases(NO_ROWS);
  leases.open(ONE, 0);
  leases.take(lease(1, ...entries.map(([unit, { version }]) => [unit, version] as const)));
  leases.renew(1_000, 3_000);
  return leases;
}

const look = (leases: ReadLeases, snapshot: readonly (readonly [UnitId, Entry])[], atMs = 1_100): boolean =>
  leases.look(new Set(snapshot.map(([unit]) => unit)), new Map(snapshot), atMs);

describe("a look finds all units leased in the versions of the snapshot, or none", () => {
  const leases = (): ReadLeases => holding([ANN, entry(5)], [BOB, ABSENT]);

  test("all of them are", () => {
    expect(look(leases(), [[ANN, entry(5)]])).toBe(true);
    expect(
      look(leases(), [
        [ANN, entry(5)],
        [BOB, ABSENT],
      ]),
    ).toBe(true);
  });

  test("absence is leased like a value, whatever the commit id", () => {
    expect(look(leases(), [[BOB, entryOf(commitId(2, 9), null)]])).toBe(true);
    expect(look(leases(), [[BOB, entry(5)]])).toBe(false);
    expect(look(leases(), [[ANN, ABSENT]])).toBe(false);
  });

  test("a span is leased in its digest, as of whatever commit", () => {
    const span = spanId({ table: "users", kind: "rows", lo: "", hi: "" });
    const rows = [{ key: "ann" as Key, commitId: commitId(3, 5), hash: entry(5).version.hash! }];
    const leased = holding([span, directoryEntry(commitId(3, 6), rows)]);
    expect(look(leased, [[span, directoryEntry(commitId(3, 9), rows)]])).toBe(true);
    expect(look(leased, [[span, directoryEntry(commitId(3, 6), [])]])).toBe(false);
    const part = spanId({ table: "users", kind: "rows", lo: "", hi: "b" });
    expect(look(leased, [[part, directoryEntry(commitId(3, 6), rows)]])).toBe(false);
  });

  test("a write of an item ends the leases on spans around it", () => {
    const [around, beside] = ["c", "aa"].map((hi) => spanId({ table: "users", kind: "rows", lo: "", hi }));
    const empty = directoryEntry(commitId(3, 6), []);
    const leased = holding([around!, empty], [beside!, empty], [BOB, entry(5)]);
    leased.drop([ANN]);
    expect([around!, beside!].map((unit) => look(leased, [[unit, empty]]))).toEqual([false, true]);
    expect(look(leased, [[BOB, entry(5)]])).toBe(true);
  });

  test("the revocation of a span ends no lease of an item in it, nor of a span inside it", () => {
    const [around, inside] = ["c", "b"].map((hi) => spanId({ table: "users", kind: "rows", lo: "", hi }));
    const empty = directoryEntry(commitId(3, 6), []);
    const leased = holding([around!, empty], [inside!, empty], [ANN, entry(5)]);
    expect(leased.take(revoke(2, around!))).toBe(true);
    expect(new Set(leased.units)).toEqual(new Set([inside!, ANN]));
    expect(look(leased, [[ANN, entry(5)]])).toBe(true);
    expect(look(leased, [[around!, empty]])).toBe(false);
    leased.take(revoke(3, ANN));
    expect(leased.units).toEqual([inside!]);
  });

  test("an older version, a newer one, and another value under the same commit id are not", () => {
    for (const other of [entry(4), entry(6), entry(5, "garbled")]) expect(look(leases(), [[ANN, other]])).toBe(false);
  });

  test("one unit without a lease spoils the set", () => {
    const others = [[ANN, entry(5)] as const, [unitId("users", "cid"), ABSENT] as const];
    expect(look(leases(), others)).toBe(false);
  });

  test("without a value of its own a unit is not", () => {
    expect(leases().look(new Set([ANN]), new Map(), 1_100)).toBe(false);
  });
});

describe("for people: whether an item is covered", () => {
  test("by its own lease, or by one of a range of rows around it, as long as they count", () => {
    const [rows, count] = (["rows", "count"] as const).map((kind) =>
      spanId({ table: "posts", kind, lo: "a/", hi: "a0" }),
    );
    const leased = holding([ANN, entry(5)], [rows!, directoryEntry(commitId(3, 6), [])]);
    expect(
      [ANN, BOB, unitId("posts", "a/1"), unitId("posts", "b/1")].map((unit) => leased.covers(unit, 1_100)),
    ).toEqual([true, false, true, false]);
    // The number of rows says nothing of one of them.
    expect(holding([count!, entry(5)]).covers(unitId("posts", "a/1"), 1_100)).toBe(false);
    expect(leased.covers(ANN, 1e12)).toBe(false);
    leased.take(revoke(2, ANN));
    expect(leased.covers(ANN, 1_100)).toBe(false);
  });

  test("it is no read: the server is told of none, and no clock is noted", () => {
    const leased = holding([ANN, entry(5)]);
    leased.covers(ANN, 1e12);
    expect(leased.takeServed(10)).toEqual([]);
    expect(look(leased, [[ANN, entry(5)]])).toBe(true);
  });
});

describe("lines count in the order of their numbers", () => {
  test("a revoked unit is not leased any more, others are", () => {
    const leases = holding([ANN, entry(5)], [BOB, ABSENT]);
    expect(leases.take(revoke(2, ANN))).toBe(true);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    expect(look(leases, [[BOB, ABSENT]])).toBe(true);
  });

  test("a line that comes again changes nothing", () => {
    const leases = holding([ANN, entry(5)]);
    leases.take(revoke(2, ANN));
    expect(leases.take(lease(1, [ANN, entry(5).version]))).toBe(true);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    expect(leases.heard).toBe(2);
  });

  test("a gap ends the session with all of its leases, and the next question says so", () => {
    const leases = holding([ANN, entry(5)]);
    expect(leases.take(revoke(3, BOB))).toBe(false);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    expect(leases.question).toEqual({ session: null, heard: 0, ends: ONE });
    expect(leases.sender).toBeNull();
  });

  test("a stream goes on with the session, and lines before it may be missing", () => {
    const goesOn = holding([ANN, entry(5)]);
    expect(goesOn.open(ONE, 1)).toBe(true);
    expect(goesOn.open(ONE, 0)).toBe(true);
    expect(look(goesOn, [[ANN, entry(5)]])).toBe(true);
    expect(goesOn.question).toEqual({ session: ONE, heard: 1, ends: null });
    expect(goesOn.open(ONE, 2)).toBe(false);
    expect(goesOn.isHolding).toBe(false);
  });

  test("another session has none of the leases of the one before, and none of its time", () => {
    const leases = holding([ANN, entry(5)]);
    expect(leases.open(TWO, 0)).toBe(true);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    leases.take(lease(1, [ANN, entry(5).version]));
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    leases.renew(1_200, 3_000);
    expect(look(leases, [[ANN, entry(5)]], 1_300)).toBe(true);
  });

  test("a session that was given up is not opened again by an answer that was under way", () => {
    const leases = holding([ANN, entry(5)]);
    leases.giveUp();
    expect(leases.open(ONE, 1)).toBe(false);
    expect(leases.session).toBeNull();
    expect(leases.open(TWO, 0)).toBe(true);
    const question = { location: "VA", listener: "isolate", session: null, heard: 0 };
    leases.met({ ...question, ends: null });
    expect(leases.question).toEqual({ session: TWO, heard: 0, ends: ONE });
    leases.met({ ...question, ends: ONE });
    expect(leases.question).toEqual({ session: TWO, heard: 0, ends: null });
  });

  test("what is watched has a number, and no lease", () => {
    const leases = holding([ANN, entry(5)]);
    expect(leases.take({ kind: "changed", n: 2, units: [ANN] })).toBe(true);
    expect(leases.heard).toBe(2);
    expect(look(leases, [[ANN, entry(5)]])).toBe(true);
  });
});

describe("leases are used within their term", () => {
  test("without an answer of the server there is no term", () => {
    const leases = new ReadLeases(NO_ROWS);
    leases.open(ONE, 0);
    leases.take(lease(1, [ANN, entry(5).version]));
    expect(look(leases, [[ANN, entry(5)]], 0)).toBe(false);
  });

  test("it counts from before the message was sent, with both clocks off by their most", () => {
    const leases = holding([ANN, entry(5)]);
    expect(look(leases, [[ANN, entry(5)]], 1_000 + 2_449)).toBe(true);
    expect(look(leases, [[ANN, entry(5)]], 1_000 + 2_450)).toBe(false);
  });

  test("a renewal goes on from its own sending, and one that came late takes nothing away", () => {
    const leases = holding([ANN, entry(5)]);
    expect(leases.renew(2_000, 3_000)).toEqual({ term: 2, ms: 2_450 });
    expect(leases.renew(1_500, 3_000)).toBeNull();
    expect(look(leases, [[ANN, entry(5)]], 4_449)).toBe(true);
    expect(look(leases, [[ANN, entry(5)]], 4_450)).toBe(false);
  });

  test("a timer ends the term that it was set for, and no later one", () => {
    const leases = holding([ANN, entry(5)]);
    leases.renew(2_000, 3_000);
    leases.endTerm(1);
    expect(look(leases, [[ANN, entry(5)]])).toBe(true);
    leases.endTerm(2);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
  });

  test("the leases outlast a term: the next answer of the server begins another one", () => {
    const leases = holding([ANN, entry(5)]);
    expect(look(leases, [[ANN, entry(5)]], 10_000)).toBe(false);
    leases.renew(9_900, 3_000);
    expect(look(leases, [[ANN, entry(5)]], 10_001)).toBe(true);
  });

  test("a clock that was set back ends it; one that is a little behind does not make it longer", () => {
    const leases = holding([ANN, entry(5)]);
    look(leases, [[ANN, entry(5)]], 3_440);
    expect(look(leases, [[ANN, entry(5)]], 3_200)).toBe(true);
    leases.observe(3_450);
    expect(look(leases, [[ANN, entry(5)]], 3_201)).toBe(false);

    const setBack = holding([ANN, entry(5)]);
    look(setBack, [[ANN, entry(5)]], 2_000);
    expect(look(setBack, [[ANN, entry(5)]], 1_749)).toBe(false);
    setBack.renew(1_800, 3_000);
    expect(look(setBack, [[ANN, entry(5)]], 1_801)).toBe(true);
  });

  test("a server that leases nothing begins no term", () => {
    const leases = new ReadLeases(NO_ROWS);
    leases.open(ONE, 0);
    expect(leases.renew(1_000, 0)).toBeNull();
    expect(look(leases, [], 1_000)).toBe(false);
  });
});

describe("the server is told once how much its leases were worth", () => {
  test("each unit of a read counts it", () => {
    const leases = holding([ANN, entry(5)], [BOB, ABSENT]);
    for (let i = 0; i < 4; i++) {
      look(leases, [
        [ANN, entry(5)],
        [BOB, ABSENT],
      ]);
      look(leases, [[ANN, entry(5)]]);
    }
    leases.take(revoke(2, ANN, BOB));
    expect(leases.takeServed(10)).toEqual([
      { unit: ANN, reads: 8 },
      { unit: BOB, reads: 4 },
    ]);
    expect(leases.takeServed(10)).toEqual([]);
  });

  test("while its leases last", () => {
    const leases = holding([ANN, entry(5)]);
    look(leases, [[ANN, entry(5)]]);
    expect(leases.takeServed(10)).toEqual([{ unit: ANN, reads: 1 }]);
    look(leases, [[ANN, entry(5)]]);
    look(leases, [[ANN, entry(5)]]);
    expect(leases.takeServed(10)).toEqual([{ unit: ANN, reads: 2 }]);
    expect(look(leases, [[ANN, entry(5)]])).toBe(true);
  });

  test("also of units that the isolate is about to write, and never more than one message takes", () => {
    const leases = holding([ANN, entry(5)], [BOB, ABSENT]);
    look(leases, [[ANN, entry(5)]]);
    look(leases, [[BOB, ABSENT]]);
    leases.drop([ANN, BOB]);
    expect(look(leases, [[ANN, entry(5)]])).toBe(false);
    expect(leases.takeServed(1)).toEqual([{ unit: ANN, reads: 1 }]);
    expect(leases.takeServed(1)).toEqual([{ unit: BOB, reads: 1 }]);
  });
});
