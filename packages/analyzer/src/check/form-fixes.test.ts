/** Each rewrite makes source that builds, or at least source without the form. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CATALOGUE, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { applied } from "../testing/applied-fixes.ts";
import { buildInput } from "../testing/library.ts";

function diagnosticsOf(files: Readonly<Record<string, string>>) {
  return buildWith({ ...buildInput(files), modules: false }, slicer).diagnostics;
}

/** The file after the first fix for a code, and what is still wrong with it then. */
function fixed(text: string, code: DiagnosticCode): { readonly text: string; readonly left: readonly string[] } {
  const files = { "handlers/a.ts": text };
  const found = diagnosticsOf(files).find((diagnostic) => diagnostic.code === code && diagnostic.fix !== undefined);
  if (found?.fix === undefined) throw new Error(`no fix for ${code}`);
  const after = applied(files, [found.fix]);
  return { text: after["handlers/a.ts"]!, left: diagnosticsOf(after).map((diagnostic) => diagnostic.code) };
}

const IMPORT = 'import { Table } from "@radical/sdk";\nconst items = new Table<string>("items");\n';

const FIXES: readonly (readonly [code: DiagnosticCode, before: string, after: string])[] = [
  [
    "async_function",
    `${IMPORT}export async function h(a: string): Promise<string | null> {\n  const x = await items.get(a);\n  return await items.get(a);\n}\n`,
    `${IMPORT}export function h(a: string): string | null {\n  const x = items.get(a);\n  return items.get(a);\n}\n`,
  ],
  [
    "async_function",
    "export async function h(a: i32): Promise<Array<Array<i32>>> {\n  return [[a]];\n}\n",
    "export function h(a: i32): Array<Array<i32>> {\n  return [[a]];\n}\n",
  ],
  [
    "async_function",
    "export function h(a: i32): i32 {\n  const f = async (b: i32): Promise<i32> => b;\n  return f(a);\n}\n",
    "export function h(a: i32): i32 {\n  const f = (b: i32): i32 => b;\n  return f(a);\n}\n",
  ],
  [
    "type_import",
    'import type { Table } from "@radical/sdk";\nexport function h(): void {}\n',
    'import { Table } from "@radical/sdk";\nexport function h(): void {}\n',
  ],
  ["old_statement", "export function h(): void {\n  debugger;\n}\n", "export function h(): void {\n  \n}\n"],
  [
    "void_operator",
    `${IMPORT}export function h(a: string): void {\n  void items.get(a);\n}\n`,
    `${IMPORT}export function h(a: string): void {\n  items.get(a);\n}\n`,
  ],
  [
    "class_form",
    "class A { m(): i32 { return 1; } }\nclass B extends A { override m(): i32 { return 2; } }\nexport function h(): i32 {\n  return new B().m();\n}\n",
    "class A { m(): i32 { return 1; } }\nclass B extends A { m(): i32 { return 2; } }\nexport function h(): i32 {\n  return new B().m();\n}\n",
  ],
  [
    "class_form",
    "class A { accessor n: i32 = 1; }\nexport function h(): i32 {\n  return new A().n;\n}\n",
    "class A { n: i32 = 1; }\nexport function h(): i32 {\n  return new A().n;\n}\n",
  ],
  [
    "type_operator",
    "class A { n: i32 = 0; }\nexport function h(a: A): i32 {\n  const b = a satisfies A;\n  return b.n;\n}\n",
    "class A { n: i32 = 0; }\nexport function h(a: A): i32 {\n  const b = a;\n  return b.n;\n}\n",
  ],
  [
    "computed_name",
    'class A { ["name"]: string = ""; }\nexport function h(a: A): string {\n  return a.name;\n}\n',
    'class A { name: string = ""; }\nexport function h(a: A): string {\n  return a.name;\n}\n',
  ],
  [
    "private_name",
    "class A {\n  #n: i32 = 1;\n  next(): i32 {\n    this.#n++;\n    return this.#n;\n  }\n}\nexport function h(): i32 {\n  return new A().next();\n}\n",
    "class A {\n  private n: i32 = 1;\n  next(): i32 {\n    this.n++;\n    return this.n;\n  }\n}\nexport function h(): i32 {\n  return new A().next();\n}\n",
  ],
  [
    "nondeterministic",
    "/** Hello. */\nexport function h(): i64 {\n  return new Date().getTime();\n}\n",
    '/** Hello. */\nimport { now } from "@radical/sdk";\nexport function h(): i64 {\n  return new Date(now()).getTime();\n}\n',
  ],
  [
    "nondeterministic",
    `${IMPORT}export function h(): i64 {\n  return Date.now();\n}\n`,
    `${IMPORT.replace("{ Table }", "{ Table, now }")}export function h(): i64 {\n  return now();\n}\n`,
  ],
  [
    "nondeterministic",
    'import { random, uuid } from "@radical/sdk";\nexport function h(): f64 {\n  return Math.random() + random();\n}\n',
    'import { random, uuid } from "@radical/sdk";\nexport function h(): f64 {\n  return random() + random();\n}\n',
  ],
  [
    "integer_division",
    "export function h(a: i32, b: i32): f64 {\n  return (a + 1) / b;\n}\n",
    "export function h(a: i32, b: i32): f64 {\n  return ((a + 1) as f64) / b;\n}\n",
  ],
  [
    "integer_division",
    "export function h(a: i64, b: i64): string {\n  return `${a / b}`;\n}\n",
    "export function h(a: i64, b: i64): string {\n  return `${(a as f64) / (b as f64)}`;\n}\n",
  ],
  [
    "constant_overflow",
    'import { now } from "@radical/sdk";\nconst MONTH = 30 * 24 * 3600 * 1000;\nexport function h(): i64 {\n  return now() + MONTH;\n}\n',
    'import { now } from "@radical/sdk";\nconst MONTH = (30 as i64) * 24 * 3600 * 1000;\nexport function h(): i64 {\n  return now() + MONTH;\n}\n',
  ],
  [
    "console_not_available",
    'export function h(a: string): void {\n  console.warn("a is " + a);\n}\n',
    'import { log } from "@radical/sdk";\nexport function h(a: string): void {\n  log.warn("a is " + a);\n}\n',
  ],
  [
    "unknown_tag",
    '/** @nearStorage */\nexport function h(): string {\n  return "";\n}\n',
    '/** @nearstorage */\nexport function h(): string {\n  return "";\n}\n',
  ],
  [
    "unknown_tag",
    "/** @wrap */\nexport function h(): i32 {\n  return 1;\n}\n",
    "/** @wrapping */\nexport function h(): i32 {\n  return 1;\n}\n",
  ],
  [
    "type_import",
    'import { type Table, now } from "@radical/sdk";\nexport function h(): i64 {\n  return now();\n}\n',
    'import { Table, now } from "@radical/sdk";\nexport function h(): i64 {\n  return now();\n}\n',
  ],
  [
    "bigint_literal",
    "export function h(n: i64): i64 {\n  return n + 1_000n;\n}\n",
    "export function h(n: i64): i64 {\n  return n + 1_000;\n}\n",
  ],
  [
    "bigint_literal",
    "export function h(): i64 {\n  const large = 10n;\n  return large;\n}\n",
    "export function h(): i64 {\n  const large: i64 = 10;\n  return large;\n}\n",
  ],
  [
    "string_enum",
    'enum State {\n  Open = "open",\n  Done = "done",\n}\nexport function h(s: State, all: State[]): State {\n  if (s == State.Open) return all[0];\n  return State.Done;\n}\n',
    'type State = "open" | "done";\nexport function h(s: State, all: State[]): State {\n  if (s == "open") return all[0];\n  return "done";\n}\n',
  ],
  [
    "local_declaration",
    'import { now } from "@radical/sdk";\n\n/** Hello. */\nexport function h(): f64 {\n  class Point {\n    x: f64 = 0;\n  }\n  const at = now();\n  return new Point().x + (at as f64);\n}\n',
    'import { now } from "@radical/sdk";\n\nclass Point {\n  x: f64 = 0;\n}\n\n/** Hello. */\nexport function h(): f64 {\n  const at = now();\n  return new Point().x + (at as f64);\n}\n',
  ],
  [
    "local_declaration",
    "export function h(): i32 {\n  const enum Kind {\n    A,\n    B,\n  }\n  return Kind.B;\n}\n",
    "const enum Kind {\n  A,\n  B,\n}\n\nexport function h(): i32 {\n  return Kind.B;\n}\n",
  ],
  ...(
    [
      ["/^ann/.test(text)", 'text.startsWith("ann")'],
      ["/\\.ts$/.test(text.trim() + text)", '(text.trim() + text).endsWith(".ts")'],
      ["!/^ann$/.test(text)", '!(text == "ann")'],
      ["/a b/.test(text)", 'text.includes("a b")'],
      ['text.replace(/\\//g, "-") == ""', 'text.replaceAll("/", "-") == ""'],
      ['text.replace(/a/, "b") == ""', 'text.replace("a", "b") == ""'],
      ["text.split(/, /).length > 1", 'text.split(", ").length > 1'],
    ] as const
  ).map(
    ([before, after]) =>
      [
        "regular_expression",
        `export function h(text: string): bool {\n  return ${before};\n}\n`,
        `export function h(text: string): bool {\n  return ${after};\n}\n`,
      ] as const,
  ),
  [
    "index_signature",
    'export interface Ages {\n  [name: string]: i32[];\n}\nexport function h(ages: Ages): i32 {\n  const found = ages["ann"];\n  return found == null ? 0 : found[0];\n}\n',
    'export type Ages = Record<string, i32[]>;\nexport function h(ages: Ages): i32 {\n  const found = ages["ann"];\n  return found == null ? 0 : found[0];\n}\n',
  ],
  [
    "call_signature",
    "interface Format {\n  (count: i32): string;\n}\nfunction show(format: Format): string {\n  return format(1);\n}\nexport function h(): string {\n  return show((count) => count.toString());\n}\n",
    "type Format = (count: i32) => string;\nfunction show(format: Format): string {\n  return format(1);\n}\nexport function h(): string {\n  return show((count) => count.toString());\n}\n",
  ],
  [
    "dead_code",
    'export function h(name: string): string {\n  return (name ?? "nobody").trim();\n}\n',
    "export function h(name: string): string {\n  return (name).trim();\n}\n",
  ],
  [
    "dead_code",
    "export function h(names: string[]): string {\n  return names?.[0];\n}\n",
    "export function h(names: string[]): string {\n  return names[0];\n}\n",
  ],
  [
    "dead_code",
    "export function h(name: string): string {\n  return name?.trim();\n}\n",
    "export function h(name: string): string {\n  return name.trim();\n}\n",
  ],
  [
    "in_operator",
    "export function h(name: string): bool {\n  const ages = new Map<string, i32>();\n  return name in ages;\n}\n",
    "export function h(name: string): bool {\n  const ages = new Map<string, i32>();\n  return ages.has(name);\n}\n",
  ],
  [
    "for_in_loop",
    "export function h(ages: Record<string, i32>): i32 {\n  let all = 0;\n  for (const name in ages) all += name.length;\n  return all;\n}\n",
    "export function h(ages: Record<string, i32>): i32 {\n  let all = 0;\n  for (const name of Object.keys(ages)) all += name.length;\n  return all;\n}\n",
  ],
  [
    "map_entry",
    "export function h(words: string[]): i32 {\n  const counts: Record<string, i32> = {};\n  for (let i = 0; i < words.length; i++) counts[words[i]]++;\n  return counts.size;\n}\n",
    "export function h(words: string[]): i32 {\n  const counts: Record<string, i32> = {};\n  for (let i = 0; i < words.length; i++) counts[words[i]] = (counts[words[i]] ?? 0) + 1;\n  return counts.size;\n}\n",
  ],
  [
    "map_entry",
    'export function h(notes: Record<string, string>): string {\n  notes["a"] += "b" + "c";\n  return notes["a"] ?? "";\n}\n',
    'export function h(notes: Record<string, string>): string {\n  notes["a"] = (notes["a"] ?? "") + ("b" + "c");\n  return notes["a"] ?? "";\n}\n',
  ],
  [
    "overload_signature",
    "function label(value: i32): string;\nfunction label(value: i32): string {\n  return value.toString();\n}\nexport function h(): string {\n  return label(1);\n}\n",
    "function label(value: i32): string {\n  return value.toString();\n}\nexport function h(): string {\n  return label(1);\n}\n",
  ],
  [
    "overload_signature",
    "class Labels {\n  of(value: i32): string;\n  of(value: i32): string {\n    return value.toString();\n  }\n}\nexport function h(): string {\n  return new Labels().of(1);\n}\n",
    "class Labels {\n  of(value: i32): string {\n    return value.toString();\n  }\n}\nexport function h(): string {\n  return new Labels().of(1);\n}\n",
  ],
  [
    "constant_test",
    "export function h(n: f64): bool {\n  return n !== NaN;\n}\n",
    "export function h(n: f64): bool {\n  return !isNaN(n);\n}\n",
  ],
  [
    "missing_key",
    "export function h(name: string): bool {\n  const ages = new Map<string, i32>();\n  return ages.get(name) === null;\n}\n",
    "export function h(name: string): bool {\n  const ages = new Map<string, i32>();\n  return !ages.has(name);\n}\n",
  ],
  [
    "type_error",
    "export function h(n: i32): string {\n  return n + 1;\n}\n",
    "export function h(n: i32): string {\n  return `${n + 1}`;\n}\n",
  ],
  [
    "unknown_type",
    'class User { name: string = ""; }\nexport function h(user: Readonly<User>): string {\n  return user.name;\n}\n',
    'class User { name: string = ""; }\nexport function h(user: User): string {\n  return user.name;\n}\n',
  ],
  [
    "private_field",
    'class User { private name: string = ""; }\nexport function h(user: User): i32 {\n  return 1;\n}\n',
    'class User { name: string = ""; }\nexport function h(user: User): i32 {\n  return 1;\n}\n',
  ],
  [
    "handler_not_function",
    "/** Adds. */\nexport const h = (a: i32, b: i32 = 1): i32 => a + b;\nexport function g(): i32 {\n  return 1;\n}\n",
    "/** Adds. */\nexport function h(a: i32, b: i32 = 1): i32 {\n  return a + b;\n}\nexport function g(): i32 {\n  return 1;\n}\n",
  ],
  [
    "handler_not_function",
    "export const h = (a: i32): string[] => {\n  return [`${a}`];\n};\nexport function g(): i32 {\n  return 1;\n}\n",
    "export function h(a: i32): string[] {\n  return [`${a}`];\n}\nexport function g(): i32 {\n  return 1;\n}\n",
  ],
  [
    "type_error",
    'export function h(text: string): i32 {\n  const all = [];\n  for (const word of text.split(" ")) all.push(word);\n  return all.length;\n}\n',
    'export function h(text: string): i32 {\n  const all: string[] = [];\n  for (const word of text.split(" ")) all.push(word);\n  return all.length;\n}\n',
  ],
  [
    "rest_parameter",
    'export function h(...words: string[]): string {\n  return words.join(" ");\n}\n',
    'export function h(words: string[]): string {\n  return words.join(" ");\n}\n',
  ],
  [
    "pattern_parameter",
    "export function h({ width, height = 1 }: { width: f64; height?: f64 }): f64 {\n  return width * height;\n}\n",
    "export function h(input: { width: f64; height?: f64 }): f64 {\n  const { width, height = 1 } = input;\n  return width * height;\n}\n",
  ],
  [
    "platform_name",
    "export function h(words: ReadonlyArray<string>): i32 {\n  return words.length;\n}\n",
    "export function h(words: Array<string>): i32 {\n  return words.length;\n}\n",
  ],
  [
    "sort_order",
    "export function h(points: i32[]): i32[] {\n  return points.sort();\n}\n",
    "export function h(points: i32[]): i32[] {\n  return points.sort((a, b) => a - b);\n}\n",
  ],
  [
    "sort_order",
    'class A { name: string = ""; }\nexport function h(all: A[]): A[] {\n  return all.sort((a, b) => -a.name.localeCompare(b.name));\n}\n',
    'class A { name: string = ""; }\nexport function h(all: A[]): A[] {\n  return all.sort((a, b) => -(a.name < b.name ? -1 : a.name > b.name ? 1 : 0));\n}\n',
  ],
  [
    "dead_code",
    "export function h(n: i32): u32 {\n  return n >>> 0;\n}\n",
    "export function h(n: i32): u32 {\n  return (n as u32);\n}\n",
  ],
  [
    "type_error",
    "export function h(isOld: bool): i32 {\n  return isOld + 1;\n}\n",
    "export function h(isOld: bool): i32 {\n  return (isOld ? 1 : 0) + 1;\n}\n",
  ],
  [
    "constant_overflow",
    "export function h(): i64 {\n  const most = 3_000_000_000;\n  return most;\n}\n",
    "export function h(): i64 {\n  const most: i64 = 3_000_000_000;\n  return most;\n}\n",
  ],
  [
    "unknown_text",
    'type State = "open" | "done";\nexport function h(state: State): bool {\n  return state == "opne";\n}\n',
    'type State = "open" | "done";\nexport function h(state: State): bool {\n  return state == "open";\n}\n',
  ],
  [
    "schedule_comment",
    "/** @cron */5 * * * * */\nexport function h(): void {}\n",
    "/** @cron 0-59/5 * * * * */\nexport function h(): void {}\n",
  ],
  [
    "unknown_given_handler",
    `${IMPORT}export function read(a: string): string | null {\n  return items.get(a);\n}\n/** @readwrite raed */\nfunction set(a: string): void {\n  items.touch(a);\n}\n`,
    `${IMPORT}export function read(a: string): string | null {\n  return items.get(a);\n}\n/** @readwrite read */\nfunction set(a: string): void {\n  items.touch(a);\n}\n`,
  ],
];

/** Rewrites of imports, which need another file. */
const IMPORTS: readonly (readonly [code: DiagnosticCode, before: string, after: string])[] = [
  ["import_not_found", 'import { half } from "../lib/half.js";', 'import { half } from "../lib/half";'],
  ["module_form", 'import half = require("../lib/half");', 'import * as half from "../lib/half";'],
];

test.each(FIXES)("%s: %j", (code, before, after) => {
  expect(fixed(before, code)).toEqual({ text: after, left: [] });
});

test("the page of the analyzer names each diagnostic that stops a build: with its rewrite, or with the choice that it leaves", () => {
  const page = readFileSync(new URL("../../../../docs/internals/analyzer.md", import.meta.url), "utf8");
  const [, rewritten = "", chosen = ""] = /^## Rewrites\n(.*?)\n\| choice \|(.*?)\n## /ms.exec(page) ?? [];
  const codes = Object.keys(CATALOGUE) as DiagnosticCode[];
  const namedIn = (table: string): DiagnosticCode[] =>
    codes.filter((code) => table.split("\n").some((line) => line.startsWith("| ") && line.includes(`\`${code}\``)));
  const [withRewrite, without] = [namedIn(rewritten), namedIn(chosen)];
  expect(withRewrite.filter((code) => without.includes(code))).toEqual([]);
  const tested = new Set([...FIXES, ...IMPORTS].map(([code]) => code));
  expect(withRewrite).toEqual(codes.filter((code) => tested.has(code)));
  const stops = codes.filter((code) => CATALOGUE[code].severity === "error" && CATALOGUE[code].class !== "internal");
  expect(stops.filter((code) => !withRewrite.includes(code) && !without.includes(code))).toEqual([]);
});

test.each(IMPORTS)("%s: %s", (code, before, after) => {
  const lib = { "lib/half.ts": "export function half(n: i32): i32 {\n  return n >> 1;\n}\n" };
  const handler = (line: string): string =>
    `${line}\nexport function h(n: i32): i32 {\n  return ${line.includes("{") ? "half" : "half.half"}(n);\n}\n`;
  const files = { ...lib, "handlers/a.ts": handler(before) };
  const [found, ...others] = diagnosticsOf(files);
  expect([found?.code, others]).toEqual([code, []]);
  const fixedFiles = applied(files, [found!.fix!]);
  expect(fixedFiles).toEqual({ ...lib, "handlers/a.ts": handler(after) });
  expect(diagnosticsOf(fixedFiles)).toEqual([]);
});

describe("there is no fix", () => {
  test("a file that does not exist under any extension", () => {
    const [found] = diagnosticsOf({
      "handlers/a.ts": 'import { half } from "../lib/half";\nexport function h(n: i32): i32 {\n  return half(n);\n}\n',
    });
    expect([found?.code, found?.fix]).toEqual(["import_not_found", undefined]);
  });

  test.each<readonly [why: string, code: DiagnosticCode, text: string]>([
    [
      "another thing has the name now",
      "nondeterministic",
      "function now(): i64 { return 0; }\nexport function h(): i64 {\n  return new Date().getTime() + now();\n}\n",
    ],
    [
      "a public field has the name",
      "private_name",
      "class A { #n: i32 = 1; }\nclass B { n: i32 = 1; }\nexport function h(): i32 {\n  return new B().n;\n}\n",
    ],
    ["a static field", "private_name", "class A { static #n: i32 = 1; }\nexport function h(): i32 {\n  return 1;\n}\n"],
    [
      "other files may import the enum",
      "string_enum",
      'export enum State { Open = "open" }\nexport function h(): string {\n  return State.Open;\n}\n',
    ],
    [
      "the enum is used as a value",
      "string_enum",
      'enum State { Open = "open" }\nfunction all(states: State): i32 { return 1; }\nexport function h(): i32 {\n  return all(State);\n}\n',
    ],
    [
      "the class uses a variable of its function",
      "local_declaration",
      "export function h(n: i32): i32 {\n  class A { n: i32 = n; }\n  return new A().n;\n}\n",
    ],
    [
      "the file has the name of the class already",
      "local_declaration",
      "class A {}\nexport function h(n: i32): i32 {\n  class A { n: i32 = 1; }\n  return new A().n;\n}\n",
    ],
    [
      "the regular expression has a choice",
      "regular_expression",
      "export function h(text: string): bool {\n  return /a|b/.test(text);\n}\n",
    ],
    [
      "the key would be computed twice",
      "map_entry",
      'function key(): string { return "a"; }\nexport function h(ages: Record<string, i32>): void {\n  ages[key()]++;\n}\n',
    ],
    [
      "two parameters without a name",
      "pattern_parameter",
      "export function h({ a }: { a: i32 }, { b }: { b: i32 }): i32 {\n  return a + b;\n}\n",
    ],
    [
      "the text would be computed twice",
      "sort_order",
      "export function h(a: string, b: string): i32 {\n  return a.trim().localeCompare(b);\n}\n",
    ],
    [
      "no text of the type is near",
      "unknown_text",
      'type State = "open" | "done";\nexport function h(state: State): bool {\n  return state == "lost";\n}\n',
    ],
    ["a with statement", "old_statement", "export function h(a: string): void {\n  with (a) { }\n}\n"],
    [
      "a static block",
      "class_form",
      "class A { static n: i32 = 1; static { A.n = 2; } }\nexport function h(): i32 {\n  return A.n;\n}\n",
    ],
  ])("%s", (_why, code, text) => {
    const found = diagnosticsOf({ "handlers/a.ts": text }).filter((diagnostic) => diagnostic.code === code);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(({ fix }) => fix !== undefined)).toEqual([]);
  });
});
