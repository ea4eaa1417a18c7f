import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { checkOrder } from "./check-order.mjs";

const IDS = `declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };
export type UnitId = Branded<"UnitId">;
export type CommitId = Branded<"CommitId">;
export type Key = Branded<"Key">;
export const compareCommits = (a: CommitId, b: CommitId): number => (a < b ? -1 : a > b ? 1 : 0);
`;

/** The lines of a file with these statements that are refused, from 1. */
function refusedIn(statements: readonly string[]): readonly number[] {
  const root = mkdtempSync(path.join(tmpdir(), "radical-order-"));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  try {
    write("tsconfig.json", JSON.stringify({ files: [], references: [{ path: "packages/protocol" }] }));
    const compilerOptions = { lib: ["es2024"], types: [], strict: true, composite: true };
    write("packages/protocol/tsconfig.json", JSON.stringify({ compilerOptions, include: ["src"] }));
    write("packages/protocol/src/ids.ts", IDS);
    const declared = `import type { CommitId, Key, UnitId } from "./ids.ts";
declare const [unit, other]: UnitId[]; declare const units: ReadonlySet<UnitId>; declare const key: Key;
declare const seen: CommitId | null; declare const version: { readonly commitId: CommitId }; declare const names: string[];`;
    write("packages/protocol/src/a.ts", [declared.replaceAll("\n", " "), ...statements].join("\n"));
    return checkOrder(root).map((problem) => {
      const found = /^packages\/protocol\/src\/a\.ts:(?<line>\d+): compares .*; use compareKeys/.exec(problem);
      return Number(found?.groups?.["line"]) - 1;
    });
  } finally {
    rmSync(root, { recursive: true });
  }
}

test("raw comparisons of units, keys and commit ids are refused, however they are written", () => {
  const refused = [
    "export const a = unit! < other!;",
    "export const b = [...units].toSorted();",
    "export const c = seen !== null && seen >= version.commitId;",
    'export const d = key > "k";',
    "export const e = [{ unit: unit! }].sort((x, y) => (x.unit < y.unit ? -1 : 1));",
    "export const f = [...new Map([[unit!, 1]])].toSorted();",
    "export const g = unit!.localeCompare(other!);",
    "export const h = [version].toSorted(({ commitId: x }, { commitId: y }) => (x <= y ? -1 : 1));",
  ];
  expect(refusedIn(refused)).toEqual(refused.map((_, index) => index + 1));
});

test("comparisons of anything else are not, nor of lengths and places of units", () => {
  const taken = [
    "export const a = names.toSorted();",
    "export const b = unit!.length < other!.length || unit!.charCodeAt(1) > 5;",
    "export const c = units.size > names.length;",
    'export const d = unit!.indexOf("/") < key.indexOf("/");',
    "export const e = unit === other || seen !== version.commitId;",
    "export const f = [...units].toSorted((x, y) => x.length - y.length);",
  ];
  expect(refusedIn(taken)).toEqual([]);
});
