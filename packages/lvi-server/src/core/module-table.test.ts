import { type AccessedUnit, type ModuleHash, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { ModuleTable } from "./module-table.ts";

const [A, B, C] = ["a", "b", "c"].map((letter) => letter.repeat(64)) as [ModuleHash, ModuleHash, ModuleHash];
const PLANS = new Map([["f", "sliced"]] as const);
const nobody = (): ReadonlySet<ModuleHash> => new Set();

test("uses are told to storage once, and only those that it does not know", () => {
  const table = new ModuleTable(
    new Map([
      [A, PLANS],
      [B, PLANS],
    ]),
    new Map([[A, 100]]),
    1_000,
  );
  // Nothing was known of B: it counts as used now.
  expect(table.takeUsed()).toEqual([{ module: B, usedAtMs: 1_000 }]);
  table.use(A, 2_000);
  table.use(A, 1_500);
  expect(table.takeUsed()).toEqual([{ module: A, usedAtMs: 2_000 }]);
  expect(table.takeUsed()).toEqual([]);
});

test("what was not used for long goes when another one is asked for, unless it is named", () => {
  const uses = new Map([
    [A, 100],
    [B, 100],
    [C, 100],
  ]);
  const table = new ModuleTable(new Map([...uses].map(([module]) => [module, PLANS])), uses, 1_000);
  table.use(C, 1_100);
  expect(table.takeUnused(1_000, nobody)).toEqual([]);
  table.use(C, 1_101);
  expect(table.takeUnused(1_000, () => new Set([A]))).toEqual([{ module: B, usedAtMs: 100 }]);
  expect([table.plansOf(A), table.plansOf(B), table.plansOf(C)]).toEqual([PLANS, undefined, PLANS]);
  table.use(A, 5_000);
  expect(table.takeUnused(3_899, nobody)).toEqual([]);
  expect(table.takeUnused(3_898, nobody)).toEqual([{ module: C, usedAtMs: 1_101 }]);
});

test("nothing goes as long as nobody asks for anything, nor because a module is registered", () => {
  const table = new ModuleTable(new Map([[A, PLANS]]), new Map([[A, 100]]), 1_000_000);
  table.register({ module: B, plans: PLANS }, 1_000_000);
  table.register({ module: C, plans: PLANS }, 1_000_000);
  expect(table.takeUnused(1, nobody)).toEqual([]);
  // A module that is asked for stays, however long it was not.
  table.use(A, 2_000_000);
  expect(table.takeUnused(1_000_000, nobody)).toEqual([]);
  expect(table.takeUnused(999_999, nobody)).toEqual([{ module: B, usedAtMs: 1_000_000 }]);
});

test("a module that is registered again is used", () => {
  const table = new ModuleTable(
    new Map([
      [A, PLANS],
      [B, PLANS],
    ]),
    new Map([
      [A, 100],
      [B, 100],
    ]),
    1_000,
  );
  table.register({ module: A, plans: PLANS }, 3_000);
  table.use(B, 3_500);
  expect(table.takeUnused(1_000, nobody)).toEqual([]);
  expect(table.takeUsed()).toEqual([{ module: B, usedAtMs: 3_500 }]);
});

test("tasks run on the application's module that was registered last, and on none of a command that writes data", () => {
  const table = new ModuleTable(new Map(), new Map(), 0);
  table.register({ module: A, plans: PLANS }, 0);
  table.register({ module: B, plans: PLANS, isAside: true }, 1);
  expect([table.current?.module, table.planOf(B, "f")]).toEqual([A, "sliced"]);
  table.register({ module: C, plans: PLANS }, 2);
  expect(table.current?.module).toBe(C);
  // Nobody has asked for it for long, and it stays all the same.
  table.use(B, 5_000);
  expect(table.takeUnused(1_000, nobody).map(({ module }) => module)).toEqual([A]);
  expect([table.current?.module, table.planOf(C, "f")]).toEqual([C, "sliced"]);
});

test("a set may name units of the tables that the module names for its handler, in that way, and no others", () => {
  const accessed = (table: string, mode: "read" | "write" | "read-write"): AccessedUnit =>
    mode === "write" ? { unit: unitId(table, "k"), mode } : { unit: unitId(table, "k"), mode, version: null };
  const span = { unit: "posts:v1/a" as AccessedUnit["unit"], mode: "read", version: null } as const;
  const tables = new Map([["f", { reads: ["posts", "users"], writes: ["likes", "users"] }]]);
  const plans = new Map([
    ["f", "sliced"],
    ["any", "recorded"],
    ["near", "near-storage"],
  ] as const);
  const recovered = new ModuleTable(new Map([[A, plans]]), new Map(), 0, new Map(), null, new Map([[A, tables]]));
  const registered = new ModuleTable(new Map(), new Map(), 0);
  registered.register({ module: A, plans, tables }, 0);
  for (const table of [recovered, registered]) {
    const outside = (...units: readonly AccessedUnit[]): string | null => table.outside(A, "f", units);
    expect(outside(accessed("posts", "read"), accessed("likes", "write"), accessed("users", "read-write"))).toBeNull();
    expect(outside(span)).toBeNull();
    expect(outside(accessed("posts", "read"), accessed("posts", "write"))).toBe(
      "f never writes the table posts, and its set has a unit of it",
    );
    expect(outside(accessed("posts", "read-write"))).toContain("never writes the table posts");
    expect(outside(accessed("likes", "read"))).toContain("never reads the table likes");
    expect(outside(accessed("likes", "read-write"))).toContain("never reads the table likes");
    expect(outside({ ...span, unit: "secrets:v1/a" as AccessedUnit["unit"] })).toContain(
      "never reads the table secrets",
    );
    // Of a handler whose tables the build does not know, nothing is refused.
    expect(table.outside(A, "any", [accessed("secrets", "write")])).toBeNull();
    expect(["f", "any", "near", "nobody"].map((handler) => table.declares(A, handler))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(table.declares(B, "f")).toBe(false);
  }
});
