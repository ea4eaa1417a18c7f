import { CborWriter, indexOf, type UnitId, unitId, type Write } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { UNBUILT } from "./index-state.ts";
import { keptWrites, movesOf } from "./kept-entries.ts";

const UNIQUE = indexOf("users=email")!;

function user(email: string | null): Uint8Array {
  const writer = new CborWriter().map(1).text("email");
  return (email === null ? writer.null() : writer.text(email)).finish();
}

function owner(key: string): Uint8Array {
  return new CborWriter().text(key).finish();
}

const item = (key: string): UnitId => unitId("users", key);
const entry = (email: string): UnitId => unitId("users=email", `${email}\0`);

/** The writes that the primary adds, or the code of the abort. */
function kept(
  stored: ReadonlyMap<UnitId, Uint8Array>,
  writes: readonly Write[],
  phase: "sweeping" | "filling" | "ready" = "ready",
): readonly Write[] | string {
  const index = { declaration: UNIQUE, state: { ...UNBUILT, phase } };
  const valueOf = (unit: UnitId): Uint8Array | null => stored.get(unit) ?? null;
  const found = movesOf(writes, (table) => (table === "users" ? [index] : []), valueOf);
  const all = found.kind === "refused" ? found : keptWrites(found.moves, valueOf);
  if (all.kind === "writes") return all.writes;
  return all.outcome.kind === "abort" ? all.outcome.code : all.outcome.kind;
}

describe("the entries that come with the writes of a build without the index", () => {
  const stored = new Map([
    [item("ann"), user("a@x")],
    [entry("a@x"), owner("ann")],
    [item("bob"), user("b@x")],
    [entry("b@x"), owner("bob")],
  ]);

  test.each<[string, readonly Write[], readonly Write[] | string]>([
    ["a new item", [{ unit: item("cy"), value: user("c@x") }], [{ unit: entry("c@x"), value: owner("cy") }]],
    ["the same fields", [{ unit: item("ann"), value: user("a@x") }], []],
    [
      "other fields",
      [{ unit: item("ann"), value: user("c@x") }],
      [
        { unit: entry("a@x"), value: null },
        { unit: entry("c@x"), value: owner("ann") },
      ],
    ],
    ["a field that is null", [{ unit: item("ann"), value: user(null) }], [{ unit: entry("a@x"), value: null }]],
    ["a deletion", [{ unit: item("ann"), value: null }], [{ unit: entry("a@x"), value: null }]],
    [
      "bytes that are not a value",
      [{ unit: item("ann"), value: Uint8Array.of(0xff) }],
      [{ unit: entry("a@x"), value: null }],
    ],
    ["the fields of another item", [{ unit: item("cy"), value: user("a@x") }], "not_unique"],
    ["fields that are too long", [{ unit: item("cy"), value: user("c".repeat(1_024)) }], "entry_too_long"],
    [
      "two items that change places",
      [
        { unit: item("ann"), value: user("b@x") },
        { unit: item("bob"), value: user("a@x") },
      ],
      [
        { unit: entry("a@x"), value: owner("bob") },
        { unit: entry("b@x"), value: owner("ann") },
      ],
    ],
    ["another table", [{ unit: unitId("rooms", "1"), value: user("a@x") }], []],
  ])("%s", (_, writes, expected) => {
    expect(kept(stored, writes)).toEqual(expected);
  });

  test("an item does not take away the entry of another one with the same fields", () => {
    const twice = new Map([...stored, [item("cy"), user("a@x")]]);
    expect(kept(twice, [{ unit: item("cy"), value: null }], "filling")).toEqual([]);
  });

  test("while the index is swept, the entry of another item proves nothing", () => {
    const write = { unit: item("cy"), value: user("a@x") };
    expect(kept(stored, [write], "sweeping")).toEqual([{ unit: entry("a@x"), value: owner("cy") }]);
    expect(kept(stored, [write], "filling")).toBe("not_unique");
  });
});

test("keys of items are those of the table", () => {
  const moves = movesOf(
    [{ unit: item("a/b"), value: user("a@x") }],
    () => [{ declaration: indexOf("users.email")!, state: UNBUILT }],
    () => null,
  );
  expect(moves).toMatchObject({ kind: "moves", units: [unitId("users.email", "a@x\0a/b")] });
});
