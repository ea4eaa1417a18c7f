import { expect, test } from "vitest";
import { SyntaxTrees } from "../parse/syntax-trees.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { checkScopes } from "./scopes.ts";

/** Code and the text at its place, of each. */
function found(text: string): string[] {
  const { source, messages } = new SyntaxTrees().get("handlers/a.ts", text);
  expect(messages).toEqual([]);
  return checkScopes(source).map(({ code, primary }) => `${code} ${text.slice(primary.start, primary.end)}`);
}

test("variables of the function around, where a function is kept", () => {
  expect(
    found(`
      export function h(param: i32, names: string[]): void {
        let local = 1;
        const computed = names.length + f(names), item = names[0];
        let size = (name: string): i32 => name.length + param;
        const all = [(name: string, at: i32): i32 => { local += at; return computed; }];
        const shelf = new Shelf(function (a, b) { return item.length; });
        const inner = (n: i32 = param): i32 => n;
        for (let i = 0; i < 3; i++) all[0] = (name) => i;
        apply((name) => { const own = 1; all[0] = (one) => one + name; return own; });
      }
      class Shelf { size(limit: i32): () => i32 { return () => limit; } }`),
  ).toEqual([
    "closure param",
    "closure local",
    "closure computed",
    "closure item",
    "closure param",
    "closure i",
    "closure name",
    "closure limit",
  ]);
});

test("functions in calls and constants use the variables around them", () => {
  expect(
    found(`
      export function h(param: i32, names: string[]): void {
        let total = 0;
        names.map((name) => name.length + param).filter((n) => n > total).forEach((n) => { total += n; });
        for (const [at, name] of names.entries()) names.some((other) => other.length > at && name != other);
        const size = (name: string): i32 => name.length + param;
        apply(names.sort((a, b) => size(a) - size(b)), (name) => { total += size(name); });
        apply((name) => names.map((one) => one + name).length);
      }`),
  ).toEqual([]);
});

test("names of TypeScript and of platforms", () => {
  expect(
    found(`
      let loose: any = 1;
      function never<T extends object>(x: Map<string, any>): unknown { return JSON.parse(x as any); }
      class Shelf { all: any; at(): string { return label\`x\${new RegExp("a")}\`; } }
      export function h(): void { fetch("x"); setTimeout(() => {}, 1); new WeakMap<string, i32>(); arguments; }`).toSorted(),
  ).toEqual([
    "any_type any",
    "any_type any",
    "any_type any",
    "any_type any",
    "json_not_available JSON",
    "nondeterministic fetch",
    "nondeterministic setTimeout",
    "platform_name WeakMap",
    "platform_name arguments",
    "regular_expression RegExp",
    "template_tag label",
    "unknown_type object",
    "unknown_type unknown",
  ]);
});

test("default values of functions where a function type is expected; alone they keep them", () => {
  expect(
    found(`
      function apply(f: (by?: i32) => i32): i32 { return f(); }
      export function h(): i32 {
        const typed: (by?: i32) => i32 = (by: i32 = 1): i32 => by;
        const alone = (by: i32 = 2): i32 => by;
        const called = ((by: i32 = 2): i32 => by)();
        return apply((by: i32 = 3): i32 => by) + apply((by) => by) + typed() + alone();
      }`),
  ).toEqual(["lost_default by: i32 = 1", "lost_default by: i32 = 3"]);
});

const ACCEPTED = `
  import { Table } from "@radical/sdk";
  import { helper as fetch } from "../lib/helper";
  class Item { any: i32 = 0; JSON: string = ""; window(): i32 { return 1; } }
  const items = new Table<Item>("items");
  const limit: i32 = 2;
  let total = 0;
  class Request { body: string = ""; }
  enum Intl { A, B }
  namespace document { export function title(): string { return "t"; } }
  function first<object>(values: object[], arguments: i32): object { return values[arguments]; }
  export function h(names: string[], window: i32): i32 {
    const few = 3, many = few * 10 + limit;
    const item = items.get(document.title());
    if (item != null) total += item.any + item.window() + item.JSON.length;
    const request: Request = { body: "JSON" };
    total += names.filter((name) => name.length < few).length + names.filter((name) => name.length < many).length;
    names.forEach((names) => { total += names.length + limit; });
    [1].forEach((window) => { const few = window; total += few; });
    { const shadowed = names[0]; total += shadowed.length; }
    total += fetch() + window + first<i32>([1, 2], 1) + Intl.B + request.body.length;
    return total;
  }
`;

test("names that are declared, inlined constants and variables of the file are accepted, as the compiler does", () => {
  expect(found(ACCEPTED)).toEqual([]);
  const files = { "handlers/a.ts": ACCEPTED, "lib/helper.ts": "export function helper(): i32 { return 1; }" };
  const { diagnostics } = buildWith({ ...buildInput(files), optimize: false }, slicer);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
});

test("what this check leaves open the compiler says: a constant that is none, and a call that keeps the function", () => {
  const text = `export function h(a: i32): void {
    const twice = a + a, all: (() => i32)[] = [() => twice];
    all.push(() => a);
  }`;
  expect(found(text)).toEqual([]);
  const { diagnostics } = buildWith({ ...buildInput({ "handlers/a.ts": text }), optimize: false }, slicer);
  expect(diagnostics.map(({ code, primary }) => [code, primary.line])).toEqual([
    ["closure", 2],
    ["closure", 3],
  ]);
});
