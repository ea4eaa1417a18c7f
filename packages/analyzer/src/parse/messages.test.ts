/** The words for mistakes that the compiler reports: each says what happened, and what to write. */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

const STATUS = 'type Status = "open" | "done";';

test.each([
  [
    "export function h(a: i32, b: u32): bool { return a < b; }",
    "A number of type i32 can't be compared with one of type u32.",
    "`(count as i64) < (limit as i64)`",
  ],
  [
    "class A { n: i32 = 1; } class B extends A { z: i32 = 5; } export function h(): i32 { const a: A = new B(); return a.z; }",
    "Property 'z' does not exist on type 'A'.",
    "`(shape as Circle).radius`",
  ],
  [
    "export function h(n: i32): i32 { return Array(n).length; }",
    "This is not a function that handlers can call.",
    "`new Array<i32>(3)`",
  ],
  ["export function h(): i32[] { return Array.of(1, 2); }", "Handlers have no `Array.of`.", "`[1, 2, 3]`"],
  [
    `${STATUS} export function h(s: Status): i32 { switch (s) { case "open": return 1; case "done": return 2; } }`,
    "This function must return a value on each of its paths.",
    "`default: throw new Error",
  ],
  [
    "export function h(): i32 { for (var i = 0; i < 3; i++) { var k = i; } return k; }",
    "Variable 'k' is used before being assigned.",
    "`let k = …;`",
  ],
  [
    "export function h(): i32 { const pair: [i32, i32] = [1, 2]; return pair.length; }",
    "A tuple has no length, because its type says how many parts it has.",
    "Write that number.",
  ],
  [
    "const by = (x: f64, y: f64): f64 => x - y; export function h(a: f64[]): f64[] { return a.sort(by); }",
    "Type '(f64, f64) => f64' is not assignable to type '(f64, f64) => i32'.",
    "`prices.sort((a, b) => byPrice(a, b))`",
  ],
  [
    "export function h(ages: Record<string, i32>): i32 { return ages.ann ?? 0; }",
    "A record of entries has no member ann.",
    '`ages["ann"]`',
  ],
])("%s", (text, message, help) => {
  const { diagnostics } = buildWith({ ...buildInput({ "handlers/h.ts": text }), modules: false }, slicer);
  expect(diagnostics.map((found) => found.message)).toEqual([message]);
  expect(diagnostics[0]!.help).toContain(help);
});
