/** The help for a number that does not fit its place keeps the number. */
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call } from "../testing/run.ts";

const HEAD = `
  import { now, abort } from "@radical/sdk";
  export class User { age: i32 = 0; at: f64 = 0; small: u8 = 0; flag: bool = false; part: f32 = 0; }
  let total = 0;
  function take(n: i32): i32 { return n; }
`;

function build(body: string): BuildResult & { readonly text: string } {
  const text = `${HEAD}export function h(price: f64, big: i64, small: i32, list: f64[], u: User): i32 { ${body} return 1; }`;
  return { ...buildWith({ ...buildInput({ "handlers/a.ts": text }), optimize: false }, slicer), text };
}

test.each([
  [
    "let sum = small; sum += price;",
    "price",
    "Declare the variable as f64, which keeps the value: `let sum: f64 = 0;`.",
  ],
  [
    "let sum = small; sum = sum + (price);",
    "sum + (price)",
    "Declare the variable as f64, which keeps the value: `let sum: f64 = 0;`.",
  ],
  ["total *= price;", "price", "Declare the variable as f64, which keeps the value: `let total: f64 = 0;`."],
  ["u.age = now() - 5;", "now() - 5", "Declare the field as i64, which keeps the value: `age: i64 = 0;`."],
  [
    "u.at = now() as u64;",
    "now() as u64",
    "Declare the field as u64, which keeps the value: `at: u64 = 0;`. Or write `value as f64`, which is exact up to 2^53.",
  ],
  ["u.small += small;", "small", "Declare the field as i32, which keeps the value: `small: i32 = 0;`."],
  ["u.part = small;", "small", "Declare the field as f64, which keeps the value: `part: f64 = 0;`."],
  ["u.part = big;", "big", "Declare the field as i64, which keeps the value: `part: i64 = 0;`."],
  ["const o: User = { age: price };", "price", "Declare the field as f64, which keeps the value: `age: f64 = 0;`."],
  ["const n: i32 = price * 2;", "price * 2", "Declare it as f64, which keeps the value: `n: f64`."],
  [
    "take(small > 1 ? now() : big);",
    "small > 1 ? now() : big",
    "Declare the parameter of `take` as i64, which keeps the value.",
  ],
  ["return price;", "price", "Give the function the result type f64, which keeps the value."],
  ["const all: i32[] = [price];", "price", "Declare the elements as f64, which keeps the value."],
  ["const all: i32[] = []; all.push(price);", "price", "Declare the elements as f64, which keeps the value."],
  ["const all: i32[] = [1]; all[0] = price;", "price", "Declare the elements as f64, which keeps the value."],
  ["u.flag = big;", "big", "Compare the number: `value != 0`."],
  ["list[price / 2] = 1;", "price / 2", "An index is a whole number. Round the value: `Math.floor(value) as i32`."],
  ["const x = list[big];", "big", "An index has the type i32. If the value fits into it, write `value as i32`."],
  [
    "list.slice(0, price);",
    "price",
    "The argument of `slice` is a whole number. Round the value: `Math.floor(value) as i32`.",
  ],
  ["new Array<i32>(price);", "price", "The argument is a whole number. Round the value: `Math.floor(value) as i32`."],
  [
    "abort(price, 'a', 'b');".replaceAll("'", '"'),
    "price",
    "A status is a whole number. Round the value: `Math.floor(value) as i32`.",
  ],
  ['const text = "5"; take(text);', "text", "Parse the text: `i32.parse(text)`. For a date write `parseTime(text)`."],
])("%s", (body, place, help) => {
  const { diagnostics, text } = build(body);
  const [first] = diagnostics;
  expect(first).toMatchObject({ code: "type_error", help });
  expect(text.slice(first!.primary.start, first!.primary.end)).toBe(place);
});

test("the declaration of a variable that takes another number is shown beside it", () => {
  const { diagnostics, text } = build("let sum = small; if (big > 1) { sum += price; }");
  const [found] = diagnostics.flatMap(({ related }) => related);
  expect(found).toMatchObject({ label: "declared here" });
  expect(text.slice(found!.span.start, found!.span.end)).toBe("sum");
});

test("what is advised compiles, and keeps the value", () => {
  const built = buildWith(
    buildInput({
      "handlers/a.ts": `import { now } from "@radical/sdk";
        class User { age: i64 = 0; }
        export function total(prices: f64[]): f64 { let sum: f64 = 0; for (let i = 0; i < prices.length; i++) sum += prices[i]; return sum; }
        export function age(): i64 { const u = new User(); u.age = now() - 5; return u.age; }
        export function at(prices: f64[], index: f64): f64 { return prices[Math.floor(index) as i32]; }`,
    }),
    slicer,
  );
  expect(built.diagnostics).toEqual([]);
  expect(call(built, new Map(), "total", { prices: [0.5, 1.25] }).result).toBe(1.75);
  expect(call(built, new Map(), "age").result).toBe(1_700_000_000_000 - 5);
  expect(call(built, new Map(), "at", { prices: [1, 2], index: 1.9 }).result).toBe(2);
});
