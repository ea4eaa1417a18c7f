/** Each rewrite makes source that builds, or at least source without the form. */
import { describe, expect, test } from "vitest";
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
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
];

test.each(FIXES)("%s: %j", (code, before, after) => {
  expect(fixed(before, code)).toEqual({ text: after, left: [] });
});

test("an import of a file as JavaScript", () => {
  const lib = { "lib/half.ts": "export function half(n: i32): i32 {\n  return n >> 1;\n}\n" };
  const handler = (path: string): string =>
    `import { half } from "${path}";\nexport function h(n: i32): i32 {\n  return half(n);\n}\n`;
  const files = { ...lib, "handlers/a.ts": handler("../lib/half.js") };
  const [found, ...others] = diagnosticsOf(files);
  expect([found?.code, others]).toEqual(["import_not_found", []]);
  const after = applied(files, [found!.fix!]);
  expect(after).toEqual({ ...lib, "handlers/a.ts": handler("../lib/half") });
  expect(diagnosticsOf(after)).toEqual([]);
  expect(diagnosticsOf({ "handlers/a.ts": handler("../lib/half") })[0]?.fix).toBeUndefined();
});

describe("there is no fix", () => {
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
