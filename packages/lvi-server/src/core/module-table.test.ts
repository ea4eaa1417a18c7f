import type { ModuleHash } from "@radical/protocol";
import { expect, test } from "vitest";
import { ModuleTable } from "./module-table.ts";

const [A, B] = ["a".repeat(64) as ModuleHash, "b".repeat(64) as ModuleHash];
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

test("what was not used for long goes, unless it is named", () => {
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
  expect(table.takeUnused(100, nobody)).toEqual([]);
  expect(table.takeUnused(101, () => new Set([A]))).toEqual([{ module: B, usedAtMs: 100 }]);
  expect([table.plansOf(A), table.plansOf(B)]).toEqual([PLANS, undefined]);
  table.use(A, 5_000);
  expect(table.takeUnused(5_000, nobody)).toEqual([]);
  expect(table.takeUnused(5_001, nobody)).toEqual([{ module: A, usedAtMs: 5_000 }]);
});

test("a module that is registered again is used", () => {
  const table = new ModuleTable(new Map([[A, PLANS]]), new Map([[A, 100]]), 1_000);
  table.register(A, PLANS, 3_000);
  expect(table.takeUnused(3_000, nobody)).toEqual([]);
  expect(table.takeUsed()).toEqual([]);
});
