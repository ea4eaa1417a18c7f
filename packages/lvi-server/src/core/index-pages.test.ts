import {
  CborWriter,
  commitId,
  contentHash,
  type DirectoryRow,
  type Entry,
  entryOf,
  indexOf,
  type Key,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { rowsOf, turn } from "./index-pages.ts";
import {
  decodeIndexState,
  encodeIndexState,
  type IndexState,
  isFaulty,
  stateUnit,
  UNBUILT,
  withFault,
} from "./index-state.ts";

const UNIQUE = indexOf("users=email")!;
const FILLING: IndexState = { ...UNBUILT, phase: "filling" };

function user(email: string): Uint8Array {
  return new CborWriter().map(2).text("age").integer(7).text("email").text(email).finish();
}

function captured(values: Readonly<Record<UnitId, Uint8Array | null>>): ReadonlyMap<UnitId, Entry> {
  return new Map(Object.entries(values).map(([unit, value]) => [unit as UnitId, entryOf(commitId(1, 1), value)]));
}

function rowsIn(items: ReadonlyMap<UnitId, Entry>, table: string): readonly DirectoryRow[] {
  return [...items]
    .filter(([unit, { value }]) => value !== null && splitUnit(unit).table === table)
    .map(([unit, { value }]) => ({ key: splitUnit(unit).key, commitId: commitId(1, 1), hash: contentHash(value!) }));
}

const ANN = unitId("users", "ann");
const BOB = unitId("users", "bob");
const ENTRY = unitId("users=email", "a@x\0");

test("a page goes on behind the last key, of entries and then of items", () => {
  const page = { index: UNIQUE, isNamed: true, items: 2 };
  expect(rowsOf({ ...page, state: UNBUILT })).toMatchObject({ table: "users=email", lo: "", limit: 2 });
  expect(rowsOf({ ...page, state: { ...FILLING, after: "ann" as Key } })).toMatchObject({
    table: "users",
    lo: "ann\0",
  });
});

test("a page that fills asks for the entries of its items, and writes those that lack with the position", () => {
  const items = captured({ [ANN]: user("a@x"), [BOB]: Uint8Array.of(0xa0) });
  const page = { index: UNIQUE, state: FILLING, isNamed: true, items: 2 };
  expect(turn(page, rowsIn(items, "users"), items)).toEqual({ kind: "needs", units: [ENTRY] });
  const known = new Map([...items, ...captured({ [ENTRY]: null })]);
  const next = { ...FILLING, after: "bob", items: 2 };
  expect(turn(page, rowsIn(items, "users"), known)).toEqual({
    kind: "turned",
    reads: [ANN, BOB, ENTRY],
    writes: [
      { unit: ENTRY, value: new CborWriter().text("ann").finish() },
      { unit: stateUnit("users=email"), value: encodeIndexState(next as IndexState) },
    ],
    next,
  });
});

test("the last page leaves the index ready, or stopped with the items of the same fields", () => {
  const known = captured({
    [ANN]: user("a@x"),
    [BOB]: user("b@x"),
    [ENTRY]: null,
    [unitId("users=email", "b@x\0")]: null,
  });
  const page = { index: UNIQUE, state: FILLING, isNamed: true, items: 10 };
  expect(turn(page, rowsIn(known, "users"), known)).toMatchObject({ next: { phase: "ready", items: 2, faults: [] } });
  const twice = captured({ [ANN]: user("a@x"), [BOB]: user("a@x"), [ENTRY]: null });
  expect(turn(page, rowsIn(twice, "users"), twice)).toMatchObject({
    next: {
      phase: "stopped",
      faults: [{ kind: "duplicates", fields: ["a@x"], keys: ["ann", "bob"], items: 2 }],
    },
  });
});

test("a page that sweeps removes entries that no item has", () => {
  const stale = unitId("users=email", "old\0");
  const broken = unitId("users=email", "x\0");
  const known = captured({
    [ANN]: user("a@x"),
    [ENTRY]: new CborWriter().text("ann").finish(),
    [stale]: new CborWriter().text("ann").finish(),
    [broken]: Uint8Array.of(0xff),
  });
  const page = { index: UNIQUE, state: UNBUILT, isNamed: true, items: 10 };
  const turned = turn(page, rowsIn(known, "users=email"), known);
  expect(turned).toMatchObject({ kind: "turned", next: { phase: "filling", after: null } });
  expect(turned.kind === "turned" && turned.writes.slice(0, -1)).toEqual([
    { unit: stale, value: null },
    { unit: broken, value: null },
  ]);
});

test("an index that nobody names is first not kept any more, and then its entries and its state go", () => {
  const known = captured({ [ENTRY]: new CborWriter().text("ann").finish() });
  const page = { index: UNIQUE, state: { ...UNBUILT, phase: "ready" as const }, isNamed: false, items: 10 };
  expect(rowsOf(page)).toBeNull();
  const ended = turn(page, [], new Map());
  expect(ended).toMatchObject({ kind: "turned", next: { phase: "dropping", after: null } });
  const dropping = { ...page, state: { ...UNBUILT, phase: "dropping" as const } };
  expect(turn(dropping, rowsIn(known, "users=email"), known)).toEqual({
    kind: "turned",
    reads: [],
    writes: [
      { unit: ENTRY, value: null },
      { unit: stateUnit("users=email"), value: null },
    ],
    next: null,
  });
});

test("a state is read as it was written, and remembers a bounded number of faults", () => {
  let state: IndexState = { ...FILLING, after: "ann" as Key, items: 7 };
  for (let n = 0; n < 100; n++) {
    expect(isFaulty(state)).toBe(false);
    for (let twin = 0; twin < 20; twin++)
      state = {
        ...state,
        faults: withFault(state.faults, "duplicates", [`n${n}`], [`a${n}` as Key, `b${twin}` as Key]),
      };
  }
  expect(isFaulty(state)).toBe(true);
  expect(state.faults[0]).toMatchObject({ keys: { length: 10 } });
  expect(decodeIndexState(encodeIndexState(state))).toEqual(state);
});
