/** One build tells all mistakes that do not follow from one another, and each of them once. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { buildWith } from "../pipeline.ts";
import { buildInput } from "../testing/library.ts";
import { deriveNothing } from "../testing/record-mode.ts";

const PATH = "handlers/a.ts";
const HEAD = `import { Table, abort } from "@radical/sdk";
class User { name: string = ""; age: i32 = 0; friends: string[] = []; }
const users = new Table<User>("users");
function userOf(id: string): User { const user = users.get(id); if (user == null) abort(404, "no_user", "There is no user " + id); return user; }
export function fine(id: string): i32 { return userOf(id).age; }
`;

function diagnosticsOf(text: string): Diagnostic[] {
  const input = { ...buildInput({ [PATH]: text }), optimize: false, modules: false };
  return buildWith(input, deriveNothing).diagnostics.filter(({ code }) => code !== "analyzer_crash");
}

/** The diagnostics with the code at their places, in words that hold wherever the code stands. */
function told(text: string): string[] {
  return diagnosticsOf(text)
    .map(({ code, message, primary: { start, end } }) => `${code} at ${text.slice(start, end)}: ${message}`)
    .toSorted();
}

/** Declarations with one mistake each, and with uses of the declared name, which the mistake spoils. */
const DECLARATIONS = {
  "a type that nobody declares": `export function d1(a: Nowhere): string { const b = a.first; return b.second + a.third; }`,
  "a type that is not written": `function d2(a): string { return a.text; } export function e2(): string { return d2(1).trim(); }`,
  "a result that nobody declares": `function d3(): Lost { return new User(); } export function e3(): i32 { const x = d3(); return x.age + d3().size; }`,
  "a field of a type that nobody declares": `class D4 { field: Absent = null; } export function e4(): i32 { const d = new D4(); return d.field.length; }`,
  "a type of the boundary": `export function d5(a: Set<string>): i32 { return a.size; }`,
  "a record that is generic": `class D6<T> { value: T | null = null; } export function e6(a: D6<User>): void {}`,
  "a table of the same name": `const d7 = new Table<User>("users"); export function e7(): bool { return d7.has("x"); }`,
  "a table without a name for its items": `const d8 = new Table("d8"); export function e8(): bool { return d8.has("x"); }`,
  "a tag that nobody knows": `/** @refuse everything */\nexport function d9(): i32 { return 9; }`,
  "a tag before a function that is not a handler": `/** @nearstorage */\nfunction d10(): i32 { return 1; } export function e10(): i32 { return d10(); }`,
  "an enum of texts": `enum D11 { Open = "open" } export function e11(): bool { return D11.Open == "open"; }`,
  "a generator": `function* d12(): i32 { return 1; } export function e12(): i32 { return d12().next(); }`,
  "a global": `const d13 = nobody(); export function e13(): string { return d13.text + d13.more(); }`,
  "a file that is not there": `import { d14 } from "./nowhere"; export function e14(): string { return d14("x").text; }`,
} as const;

/** Statements with one mistake each, and with followers. */
const STATEMENTS = {
  "a name that nobody declares": `const s1 = missing(id); const t1 = s1.first; keep(t1.second);`,
  "a value of another type": `const s2: i32 = "two"; keep(s2.toString());`,
  "a member that is not there": `const s3 = userOf(id).surname; keep(s3.trim());`,
  "an argument of another type": `const s4 = userOf(4); keep(s4.name);`,
  "a value that may be null": `keep(users.get(id).name);`,
  "a label": `out5: for (let i: i32 = 0; i < 2; i++) { if (i > 1) break out5; }`,
  "a try": `try { keep(userOf(id).name); } catch (error) { keep(error.message); }`,
  "a mistake inside of a try": `try { keep(userOf(id).nickname); } catch (error) {}`,
  "a regular expression": `const s8 = /^a/.test(id); if (s8) keep(id);`,
  "the clock": `const s9 = Date.now(); keep(s9.toString());`,
  "a guard that can't be understood": `const s10 = users.get(id); if (s10 == null || unknownCheck(s10)) return; keep(s10.name);`,
  "a function in a call": `const s11 = userOf(id).friends.map<string>((friend) => friend.nothing()); keep(s11[0].trim());`,
  "an operator on types": `const s12 = userOf(id) satisfies User; keep(s12.name);`,
} as const;

type Kind<Of> = readonly (keyof Of)[];

function file(declarations: Kind<typeof DECLARATIONS>, statements: Kind<typeof STATEMENTS>): string {
  const body = statements.map((name) => `  ${STATEMENTS[name]}\n`).join("");
  const all = declarations.map((name) => `${DECLARATIONS[name]}\n`).join("");
  return `${HEAD}function keep(text: string): void { users.delete(text); }\n${all}export function body(id: string): void {\n${body}}\n`;
}

const declarations = Object.keys(DECLARATIONS) as (keyof typeof DECLARATIONS)[];
const statements = Object.keys(STATEMENTS) as (keyof typeof STATEMENTS)[];
const alone = new Map([
  ...declarations.map((name) => [name, told(file([name], []))] as const),
  ...statements.map((name) => [name, told(file([], [name]))] as const),
]);

test("the file has no mistakes of its own", () => {
  expect(told(file([], []))).toEqual([]);
});

test.each([...alone])("%s is one diagnostic", (name, diagnostics) => {
  expect(diagnostics).toHaveLength(name === "a mistake inside of a try" ? 2 : 1);
});

test.each([...alone])("%s: no word of the compiler's own", (_name, diagnostics) => {
  expect(diagnostics.join("\n")).not.toMatch(/\bauto\b|\busize\b|\$t\d|<object>/);
});

test("the diagnostics of several mistakes are those of each", () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(declarations, { minLength: 1 }),
      fc.shuffledSubarray(statements, { minLength: 1 }),
      (some, others) => {
        const expected = [...some, ...others].flatMap((name) => alone.get(name)!).toSorted();
        expect(told(file(some, others))).toEqual(expected);
      },
    ),
    { numRuns: 30 },
  );
});
