/** Everyday calls of JavaScript's library give in handlers what they give in JavaScript, or are refused with the form to write. */
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call } from "./testing/run.ts";

function built(source: string): BuildResult {
  return buildWith({ ...buildInput({ "handlers/a.ts": source }), optimize: false }, slicer);
}

const numbers = built(`
  export function texts(values: f64[]): string[] { return values.map((value) => String(value)); }
  export function joined(values: f64[]): string { return values.join(" "); }
  export function fixed(values: f64[], places: i32): string[] { return values.map((value) => value.toFixed(places)); }
  export function parsed(texts: string[]): string[] {
    return texts.map((text) => \`\${Number(text)} \${parseFloat(text)} \${f64.parse(text)}\`);
  }
  export function integers(texts: string[], radix: i32): string[] {
    return texts.map((text) => String(radix == 0 ? parseInt(text) : parseInt(text, radix)));
  }
`);

function answer(handler: string, args: Readonly<Record<string, unknown>>): unknown {
  const { result, outcome } = call(numbers, new Map(), handler, args);
  expect(outcome.kind).toBe("result");
  return result;
}

/** Floats of every size, also those between which texts are hard to choose. */
const float = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc
    .tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: -8, max: 8 }))
    .map(([n, e]) => n * 10 ** e),
  fc.integer({ min: -1074, max: 1023 }).map((exponent) => 2 ** exponent),
  fc.constantFrom(5e-324, 2.2250738585072014e-308, Number.MAX_VALUE, 2 ** 53 + 2, 1e21, 1e-7, 123456789012345680000),
);
const floats = fc
  .array(float, { minLength: 40, maxLength: 40 })
  .map((all) => all.filter((value) => !Object.is(value, -0)));

test("floats have the texts of JavaScript", () => {
  fc.assert(
    fc.property(floats, (values) => {
      expect(answer("texts", { values })).toEqual(values.map(String));
      expect(answer("joined", { values })).toBe(values.join(" "));
    }),
    { numRuns: 50 },
  );
});

test("toFixed rounds as JavaScript does", () => {
  fc.assert(
    fc.property(floats, fc.integer({ min: 0, max: 25 }), (values, places) => {
      expect(answer("fixed", { values, places })).toEqual(values.map((value) => value.toFixed(places)));
    }),
    { numRuns: 30 },
  );
  expect(answer("fixed", { values: [1.005, 2.5, -1.5, 1e21, -0.001], places: 2 })).toEqual([
    "1.00",
    "2.50",
    "-1.50",
    "1e+21",
    "-0.00",
  ]);
});

const decimal = fc.oneof(
  float.map(String),
  fc.stringMatching(/^[+-]?\d{0,25}(\.\d{0,25})?([eE][+-]?\d{1,3})?$/),
  fc.stringMatching(/^[ \t]*[+-]?(\d{1,3}|0[xXoObB][\da-fA-F]{0,5}|Infinity|\.)[ a-z]{0,2}$/),
  fc.constantFrom("", "  ", "\u00a0\ufeff1\u2028", "1e", "1e+", ".5", "5.", "1.5.5", "--1", "0x", "infinity", "1_000"),
  // Halfway between two floats, and beside it.
  fc.constantFrom("9007199254740993", "9007199254740993.0000000000000000000000000000001", "2.4703282292062327e-324"),
);

test("texts have the numbers of JavaScript", () => {
  fc.assert(
    fc.property(fc.array(decimal, { minLength: 40, maxLength: 40 }), (texts) => {
      expect(answer("parsed", { texts })).toEqual(
        texts.map((text) => `${Number(text)} ${parseFloat(text)} ${parseFloat(text)}`),
      );
    }),
    { numRuns: 50 },
  );
  const long = `1.${"0".repeat(900)}1`;
  expect(answer("parsed", { texts: [long, "9".repeat(400), `1e-${"9".repeat(20)}`] })).toEqual([
    "1 1 1",
    "Infinity Infinity Infinity",
    "0 0 0",
  ]);
});

test("texts have the whole numbers of JavaScript", () => {
  // With more digits than these in bases other than 10, JavaScript's results are not always the nearest.
  const text = fc.oneof(
    decimal.filter((one) => one.length < 10),
    fc.stringMatching(/^ *[+-]?[0-9a-zA-Z]{0,10}$/),
  );
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 40, maxLength: 40 }),
      fc.constantFrom(0, 2, 8, 10, 16, 36, 1, 37),
      (texts, radix) => {
        expect(answer("integers", { texts, radix })).toEqual(texts.map((one) => String(parseInt(one, radix))));
      },
    ),
    { numRuns: 40 },
  );
});

const GIVEN = {
  s: " Hello, World ",
  t: "12.50",
  x: 3,
  y: -2.5,
  z: 1234.5678,
  n: 7,
  m: -3,
  xs: [3, 1.5, 10],
  ns: [4, 1, 10, 1],
  ts: ["b", "a", "c"],
  flag: true,
  o: null,
  w: null,
  v: 4,
  r: { b: 2, a: 1 },
};
const PARAMETERS =
  "s: string, t: string, x: number, y: number, z: number, n: i32, m: i32, xs: number[], ns: i32[], ts: string[], flag: boolean, o: string | null, w: number | null, v: number | null, r: Record<string, i32>";

/** Everyday expressions by the type of their results. */
const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  string: [
    "JSON.stringify(Object.entries(r).filter(([, value]) => value > 1).map(([key]) => key))",
    "String(x)",
    "String(y)",
    "String(n)",
    "String(flag)",
    "String(s)",
    "String(o)",
    "String(w)",
    "String(v)",
    "String(ns)",
    "String(xs)",
    "`${x}|${y}|${n}|${flag}|${s}|${o}|${w}|${v}`",
    "`${x + 1} ${x * 1e21} ${1e-7 * x}`",
    "`${ns}`",
    "x.toString()",
    "n.toString()",
    "z.toFixed(2)",
    "z.toFixed()",
    "n.toFixed(2)",
    "(x / 7).toFixed(3)",
    "(255).toString(16)",
    "n.toString(2)",
    'xs.join(", ")',
    'ns.join("-")',
    "ts.join()",
    "xs.toString()",
    "s.trim()",
    "s.trim().toUpperCase()",
    "s.at(1)",
    "s.at(-2)",
    "s.charAt(3)",
    "s[1]",
    "s.slice(-4, -1)",
    "s.substring(3, 1)",
    "s.substr(1, 3)",
    't.padStart(8, "0")',
    "t.padEnd(8)",
    '"ab".repeat(3)',
    's.replace("l", "L")',
    's.replaceAll("l", "L")',
    '"a" + n',
    "s + x",
    '"a" + flag',
    "ts.at(0)",
    'ts.at(-1) ?? "none"',
    'o ?? "none"',
    "String(0.1 + 0.2)",
    "(1e21).toString()",
    "String(-0)",
    "String(100)",
    "String(1e3)",
    "(25).toString(36)",
    "JSON.stringify(s)",
    "JSON.stringify(xs)",
    "JSON.stringify(ns)",
    "JSON.stringify(o)",
    "JSON.stringify(x)",
    "JSON.stringify(flag)",
    "new Date(0).toISOString()",
    "new Date(0).toISOString().slice(0, 10)",
    "String.fromCharCode(65, 66)",
    's || "empty"',
    'o || "none"',
  ],
  number: [
    "Number(t)",
    "Number(s)",
    'Number("")',
    'Number("0x1f")',
    "Number(flag)",
    "Number(n)",
    "parseInt(t)",
    'parseInt("ff", 16)',
    'parseInt("  42abc")',
    'parseInt("0b11")',
    'parseFloat("3.14abc")',
    'parseFloat("abc")',
    "Number.parseFloat(t)",
    "Number.parseInt(t, 10)",
    "Number.MAX_SAFE_INTEGER",
    "Number.EPSILON",
    "Math.round(y)",
    "Math.round(-0.4)",
    "Math.round(2.5)",
    "Math.trunc(y)",
    "Math.floor(y)",
    "Math.ceil(y)",
    "Math.sign(y)",
    "Math.max(x, y)",
    "Math.max(n, m)",
    "Math.abs(m)",
    "Math.abs(y)",
    "Math.pow(n, 2)",
    "Math.sqrt(n)",
    "Math.floor(x / 2)",
    "Math.hypot(3, 4)",
    "Math.cbrt(27)",
    "Math.log10(1000)",
    "n % 3",
    "m % 2",
    "x % 2",
    "n ** 2",
    "x / 2",
    "s.charCodeAt(1)",
    's.indexOf("o")',
    's.lastIndexOf("o")',
    "ns.indexOf(1)",
    "ns.lastIndexOf(1)",
    "ns.at(-1)",
    "ns.at(-1) ?? 0",
    "ns.find((v) => v > 3) ?? 0",
    "ns.findLast((v) => v < 3) ?? 0",
    "ns.findLastIndex((v) => v < 3)",
    "ns.reduce((a, b) => a + b)",
    "ns.reduce((a, b) => a + b, 0)",
    "xs.reduce((a, b) => a + b, 0)",
    "w ?? 5",
    "v ?? 5",
    "s.length",
    "n >> 1",
    "n >>> 1",
    "0.1 + 0.2",
    "x ? 1 : 2",
    "s ? 1 : 2",
    "n || 4",
    "x || 4",
    "parseInt(String(y))",
    "ns.reduceRight((a, b) => a - b)",
  ],
  boolean: [
    "Number.isInteger(x)",
    "Number.isInteger(y)",
    "Number.isFinite(x)",
    "Number.isNaN(x / 0)",
    "isNaN(x)",
    "isFinite(x / 0)",
    "Number.isSafeInteger(x)",
    "Boolean(s)",
    "Boolean(x)",
    "Boolean(o)",
    "!!s",
    's.includes("World")',
    's.startsWith(" H")',
    's.endsWith("x")',
    "ns.includes(10)",
    "xs.includes(3)",
    "Array.isArray(ns)",
    "ns.every((v) => v > 0)",
    "ns.some((v) => v > 9)",
    's == " Hello, World "',
    "o === null",
    "o == null",
    "w === null",
    's.trim() === ""',
    "Object.is(x, 3)",
  ],
  "string[]": ['s.split(",")', '"abc".split("")', '"a-b-c".split("-", 2)', "ts.toSorted()", "ns.map((v) => String(v))"],
  "i32[]": [
    "Object.values(r)",
    "ns.toSorted((a, b) => a - b)",
    "ns.toReversed()",
    "ns.slice().reverse()",
    "ns.slice(1, -1)",
    "ns.concat([5])",
    "ns.slice().sort((a, b) => b - a)",
    "ns.map((v) => v * 2)",
    "[[1, 2], [3]].flat()",
  ],
};

/** The value in JavaScript, where nobody has changed the library. */
function inJavaScript(expression: string): unknown {
  return JSON.parse(runInNewContext(`JSON.stringify(${expression})`, structuredClone(GIVEN)) as string) as unknown;
}

const expressions = Object.entries(EXPRESSIONS).flatMap(([type, texts]) => texts.map((text) => ({ type, text })));
const everyday = built(
  expressions
    .map(({ type, text }, at) => `export function e${at}(${PARAMETERS}): ${type} { return ${text}; }`)
    .join("\n"),
);

test("the everyday expressions build", () => {
  expect(everyday.diagnostics).toEqual([]);
});

test.each(expressions.map(({ text }, at) => [text, at] as const))("%s", (text, at) => {
  const { result, outcome } = call(everyday, new Map(), `e${at}`, GIVEN);
  expect(outcome.kind).toBe("result");
  expect(result).toEqual(inJavaScript(text));
});

/** Methods of texts, with a text, a part of it, and two places. */
const METHODS = [
  "s.trim()",
  "s.trimStart()",
  "s.trimEnd()",
  "s.toUpperCase()",
  "s.toLowerCase()",
  "s.slice(i)",
  "s.slice(i, j)",
  "s.substring(i, j)",
  "s.substr(i, j)",
  "s.charAt(i)",
  's.at(i) ?? "none"',
  's.padStart(i < 0 ? 0 : i, p.length == 0 ? "x" : p)',
  's.padEnd(i < 0 ? 0 : i, p.length == 0 ? "x" : p)',
  "p.repeat(i < 0 ? 0 : i)",
  's.replace(p, "-")',
  's.replaceAll(p, "--")',
  's.split(p).join("|")',
  "String(s.split(p).length)",
  "String(s.indexOf(p))",
  'String(s.indexOf(p.length == 0 ? "a" : p, i))',
  "String(s.lastIndexOf(p))",
  "String(s.includes(p))",
  "String(s.startsWith(p))",
  "String(s.endsWith(p))",
  "String(s < p)",
  "String(s == p)",
  "s.concat(p)",
  "s + p + i",
  "[s, p].join(s)",
  "JSON.stringify([s, p])",
].join(", ");

test("methods of texts do what they do in JavaScript", () => {
  const texts = built(`export function all(s: string, p: string, i: i32, j: i32): string[] { return [${METHODS}]; }`);
  expect(texts.diagnostics).toEqual([]);
  const unit = fc.constantFrom("a", "b", "A", " ", "\t", "\u00a0", "ß", "é", "1", ".");
  const text = fc.string({ unit, maxLength: 8 });
  const part = fc.oneof(fc.string({ unit, maxLength: 2 }), fc.constantFrom("", "a", " "));
  const place = fc.integer({ min: -10, max: 10 });
  fc.assert(
    fc.property(text, part, place, place, (s, p, i, j) => {
      const given = { s, p, i, j };
      const expected = JSON.parse(runInNewContext(`JSON.stringify([${METHODS}])`, given) as string) as unknown;
      expect(call(texts, new Map(), "all", given).result).toEqual(expected);
    }),
    { numRuns: 400 },
  );
});

const json = built(`
  type Mark = "new" | "old";
  interface Part { name: string; price?: number; mark: Mark; tags: string[]; }
  class Order {
    id: string = ""; total: f64 = 0; large: i64 = 0; paid: bool = false;
    note: string | null = null; rate: f64 | null = null; parts: Part[] = []; first: Part | null = null;
    counts: Record<string, i32> = {}; grid: i32[][] = []; maybe: (string | null)[] = []; at?: i64;
  }
  interface Only { at?: string; }
  class Empty {}
  export function order(order: Order): string { return JSON.stringify(order); }
  export function only(only: Only): string { return JSON.stringify(only); }
  export function literal(id: string, total: f64, parts: Part[]): string {
    return JSON.stringify({ id, inner: { total, nothing: null, parts }, on: new Date(0), none: new Empty() });
  }
  export function odd(): string {
    return JSON.stringify({ far: 1 / 0.0, not: 0.0 / 0.0, zero: -0.0, half: "a\\ud800b\\udc00\\ud83d\\ude00" });
  }
`);

test("JSON.stringify writes what it writes in JavaScript", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", '"', "\\", "\n", "\u0007", "é", "😀", "`", "${", "/", "\u2028"),
  });
  const whole = fc.integer({ min: -1000, max: 1000 });
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
  const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });
  const part = fc.record(
    { name: text, price: number, mark: fc.constantFrom("new", "old"), tags: fc.array(text, { maxLength: 3 }) },
    { requiredKeys: ["name", "mark", "tags"] },
  );
  const key = text.map((end) => `k${end}`);
  const orders = fc.record(
    {
      id: text,
      total: number,
      large: fc.maxSafeInteger(),
      paid: fc.boolean(),
      note: optional(text),
      rate: optional(number),
      parts: fc.array(part, { maxLength: 3 }),
      first: optional(part),
      counts: fc.dictionary(key, whole, { maxKeys: 4, noNullPrototype: true }),
      grid: fc.array(fc.array(whole, { maxLength: 3 }), { maxLength: 3 }),
      maybe: fc.array(optional(text), { maxLength: 3 }),
      at: whole,
    },
    { requiredKeys: ["id", "total", "large", "paid", "note", "rate", "parts", "first", "counts", "grid", "maybe"] },
  );
  const shown = (handler: string, args: unknown): unknown => call(json, new Map(), handler, args).result;
  fc.assert(
    fc.property(orders, (order) => {
      expect(shown("order", { order })).toBe(JSON.stringify(order));
      const { id, total, parts } = order;
      const literal = { id, inner: { total, nothing: null, parts }, on: new Date(0), none: {} };
      expect(shown("literal", { id, total, parts })).toBe(JSON.stringify(literal));
    }),
    { numRuns: 100 },
  );
  expect(shown("only", { only: {} })).toBe("{}");
  expect(shown("odd", {})).toBe('{"far":null,"not":null,"zero":0,"half":"a\\ud800b\\udc00😀"}');
});

const PRELUDE = `import { Table } from "@radical/sdk";
class User { name: string = ""; inner: User | null = null; }
class Base { id: i32 = 0; }
class Derived extends Base { name: string = ""; }
`;

test.each([
  ["Object.keys(new Map<string, i32>())", "platform_name", "This list is empty in TypeScript"],
  ["Object.values(new User())", "platform_name", "`Object` lists a `Record<string, T>` only"],
  ["Object.fromEntries([new User()])", "platform_name", "Handlers have no `Object.fromEntries`."],
  ["Object.assign({}, new User())", "platform_name", "`Object.assign` takes a record"],
  ["Object.assign(new User(), new User())", "platform_name", "`Object.assign` takes a record"],
  ["JSON.stringify(new User())", "json_not_available", "records of its own type"],
  ["JSON.stringify(new Base())", "json_not_available", "its class has derived classes"],
  ["JSON.stringify(new Set<i32>())", "json_not_available", "takes texts, numbers, booleans, dates"],
  ["JSON.stringify([1], null, 2)", "json_not_available", "takes the value only"],
  ['JSON.parse("1")', "json_not_available", "Handlers can't parse JSON"],
  ["Number(new User())", "platform_name", "takes a text, a number or a boolean"],
  ["Number(w)", "platform_name", "can't take a number that may be null"],
  ["x.toString(16)", "platform_name", "A float has texts with base 10 only."],
  ["+t", "type_error", "A text has no sign"],
  ["x | 0", "type_error", "A float has no bits"],
])("%s is refused, with the form to write", (text, code, message) => {
  const parameters = "t: string, x: f64, w: f64 | null";
  const source = `${PRELUDE}export function h(${parameters}): void { const value = ${text}; }`;
  const { diagnostics } = built(source);
  expect(diagnostics).toContainEqual(
    expect.objectContaining({
      code,
      message: expect.stringContaining(message) as unknown,
      help: expect.stringMatching(/\S/) as unknown,
    }),
  );
});
