import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { renderDiagnostic } from "../diagnostics/render.ts";
import { SyntaxTrees } from "../parse/syntax-trees.ts";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { annotations, findings } from "../testing/annotated.ts";
import { buildInput } from "../testing/library.ts";
import { deriveNothing } from "../testing/record-mode.ts";
import { checkSources } from "./check-sources.ts";
import { scan } from "./scanner.ts";

const ANSI = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g");

type Files = Readonly<Record<string, string>>;

function checked(files: Files): Diagnostic[] {
  const { sources, handlerFiles } = buildInput(files);
  return [...checkSources(sources, handlerFiles, new SyntaxTrees()).mistakes];
}

function built(files: Files): BuildResult {
  return buildWith(buildInput(files), deriveNothing);
}

/** All but the verdicts on read/write sets. */
function problems(result: BuildResult): Diagnostic[] {
  return result.diagnostics.filter(({ code }) => code !== "analyzer_crash");
}

describe("before the compiler", () => {
  test("forms that handlers don't have are named, all of them", () => {
    const files = {
      "handlers/forms.ts": `
        import type { Table } from "@radical/sdk"; //! type_import
        import fs from "node:fs"; //! package_import
        import { x } from "lodash"; //! package_import
        import { Writer } from "@radical/sdk/codec"; //! sdk_internal
        import { y } from "../lib/missing"; //! import_not_found
        export * from "../lib/missing"; //! import_not_found
        export async function a(): Promise<void> { //! async_function
          await b(); //! async_function
        }
        const c = async (x: i32): Promise<i32> => x; //! async_function
        function* d(): i32 {} //! generator_function
        function e(): void { try { b(); } catch (error) {} } //! try_statement
        function f(items: i32[]): void {
          for (const item of items) b();
          for (const key in items) b(); //! for_in_loop
          [first, second] = items;
          ({ length } = items);
          g(...items);
          const copy = [...items, 1];
          const n = items?.length;
          const m = n ?? 1;
          const isA = /a[/]b/.test("x"); //! regular_expression
          outer: for (;;) { break outer; } //! labeled_statement
          \`\${items?.length} \${ { a: 1 } ?? 2 }\`;
        }
        function g({ x }: P): void {}
        function h(a: string): string {
          delete a.b;
          yield 1; //! generator_function
          debugger; //! old_statement
          with (a) { b(); } //! old_statement
          n ||= 10n; //! bigint_literal
          const k: keyof User = a satisfies string; //! type_operator type_operator
          const l = ["x"] as const;
          import("./forms"); //! dynamic_import
        }
        class I { #count: i32 = 1; } //! private_name
      `,
      "handlers/names.ts": `
        function __radicalThing(): void {} //! reserved_name
        declare function host(): i32; //! host_import
        export declare const SIZE: i32; //! host_import
      `,
    };
    expect(findings(checked(files))).toEqual(annotations(files));
  });

  test("what only looks like such a form is accepted", () => {
    const result = built({
      "handlers/fine.ts": `
        // async for (const x of y) try { } catch { } ?? ?.
        /* [...x] /regex/ */
        class Names { with: i32 = 0; is: i32 = 1; delete(as: i32): i32 { return this.is + as + 0x1; } }
        function satisfies(keyof: i32): i32 { return new Names().delete(keyof) + keyof; }
        function sum(...numbers: i32[]): i32 { let s = 0; for (let at = 0; at < numbers.length; at++) s += numbers[at]; return s; }
        export function half(n: i32): f64 {
          const text = "try { } ?? \\" ?. async function" + 'for (const a of b) \\' ' + \`?. \${n > 1 ? \`?? \${n}\` : "}"} ...\`;
          let a = n / 2 / 1;
          switch (a) { case n: for (;;) break; default: a = n > 1 ?.5 > 0.1 ? 1 : 2 : 3; }
          return (sum(1) + 2.0) / 2 / (text.length) + sum(1, 2);
        }`,
    });
    expect(problems(result)).toEqual([]);
    expect(result.ok).toBe(true);
  });

  test("syntax errors of one file hide nothing in the others; unreachable files are not looked at", () => {
    const files = {
      "handlers/a.ts": `import { b } from "../lib/b";
        export function a(: i32 { return 1; } //! syntax_error`,
      "handlers/c.ts": `export function c(): string { return "open; } //! syntax_error syntax_error`,
      "lib/b.ts": `export function b(): i32 { return 1; }
        export function c(x: [i32, i32?]): i32 { return 1; } //! tuple_type
        export function d(x: string | i32): i32 { return 1; } //! union_type`,
      "lib/unused.ts": `export async function`,
    };
    expect(findings(checked(files))).toEqual(
      annotations(files).map((line) => line.replace("syntax_error syntax_error", "syntax_error")),
    );
  });

  test("a handler file that is missing or empty", () => {
    expect(findings(built({}).diagnostics)).toEqual(["handlers:1 no_handlers"]);
    expect(findings(built({ "handlers/a.ts": "" }).diagnostics)).toEqual(["handlers/a.ts:1 no_handlers"]);
  });
});

describe("declarations", () => {
  test("handlers", () => {
    const files = {
      "handlers/a.ts": `
        export function twice(): void {}
        export default function usual(): void {} //! invalid_handler_name
        export function toString(): string { return ""; } //! invalid_handler_name
        export function memory(): void {} //! invalid_handler_name
        export function any<T>(x: T): void {} //! generic_handler
        export function rest(...x: i32[]): void {} //! rest_parameter
        export const arrow = (x: i32): i32 => x; //! handler_not_function
        export const five: i32 = 5;
        export class Fine {}
        export enum Also { Fine }
        export { helper as renamed, shared } from "../lib/shared";
        export function map(x: Map<i32, i32>): void {} //! unsupported_type
        export function date(): Date { return new Date(0); } //! unsupported_type
        export function bytes(x: Uint8Array): ArrayBuffer { return x.buffer; } //! unsupported_type unsupported_type
        export function size(x: usize): void {} //! unsupported_type
        export function untyped(x): void {} //! missing_type
        export function call(x: () => void): void {} //! unsupported_type
        export function deep(x: Array<Set<string>[]> | null): void {} //! unsupported_type
      `,
      "handlers/b.ts": `export function twice(): void {} //! duplicate_handler`,
      "lib/shared.ts": `export function helper(): void {} export function shared(): void {}`,
    };
    const result = built(files);
    expect(findings(result.diagnostics)).toEqual(annotations(files));
    expect(result.ok).toBe(false);
    const duplicate = result.diagnostics.find(({ code }) => code === "duplicate_handler");
    expect(duplicate?.related[0]?.span).toMatchObject({ file: "handlers/a.ts", line: 2 });
  });

  test("rows and ranges are no results, and the message says what is", () => {
    const refused = built({
      "handlers/a.ts": `
        import { Range, Row, Table } from "@radical/sdk";
        export class Post { text: string = ""; }
        const posts = new Table<Post>("posts");
        export function newest(): Row<Post>[] { return posts.all().last(20); }
        export function all(): Range<Post> { return posts.all(); }`,
    });
    expect(refused.diagnostics.map(({ code, message, help }) => [code, message, help])).toEqual([
      [
        "unsupported_type",
        "The result of handler newest can't be of type Row<Post>, because such a value can't be sent or stored.",
        "Return values, keys or cursors in a record of your own: `for (const row of rows) page.posts.push(row.value);`.",
      ],
      [
        "unsupported_type",
        "The result of handler all can't be of type Range<Post>, because such a value can't be sent or stored.",
        "Return the values of its rows: `for (const row of range.first(20)) posts.push(row.value);`.",
      ],
    ]);
  });

  test("re-exported handlers are handlers", () => {
    const result = built({
      "handlers/a.ts": `export { helper as renamed } from "../lib/shared"; export * from "../lib/more";`,
      "lib/shared.ts": `export function helper(n: i32 = five): i32 { return n; } const five = 5;`,
      "lib/more.ts": `export function more(): void {}`,
    });
    expect(problems(result)).toEqual([]);
    expect(result.handlers.map(({ name, file, parameters }) => ({ name, file, parameters }))).toEqual([
      { name: "more", file: "lib/more.ts", parameters: [] },
      { name: "renamed", file: "lib/shared.ts", parameters: [{ name: "n", type: { kind: "i32" }, optional: true }] },
    ]);
  });

  test("tables and records", () => {
    const files = {
      "handlers/a.ts": `
        import { Table } from "@radical/sdk";
        import { Same as Other } from "../lib/same";
        class Same { x: i32 = 0; }
        class Generic<T> { x: i32 = 0; }
        class Secret { private x: i32 = 0; protected y: i32 = 0; z: i32 = 0; } //! private_field private_field
        class Endless { more: Further = new Further(); } //! infinite_record
        class Further { back!: Endless; } //! infinite_record
        class Finite { back: Finite | null = null; list: Finite[] = []; }
        abstract class Abstract { x: i32 = 0; }
        interface Shape { x(): i32; }
        class Holder { map: Map<i32, i32> = new Map(); } //! unsupported_type
        class OfLibrary extends Array<i32> {}
        namespace Inner { export class Nested { x: i32 = 0; } } //! nested_record
        const a = new Table<Same>("a b"); //! invalid_table_name
        const b = new Table<i32>("b"); //! unsupported_type
        const c = new Table<Same | null>("c"); //! unsupported_type
        const d = new Table<Same>("twice");
        const e = new Table<string>("twice"); //! duplicate_table
        const f = new Table<Generic<i32>>("f"); //! generic_record
        const g = new Table<Secret>("g");
        const h = new Table<Endless>("h");
        const i = new Table<Finite>("i");
        const j = new Table<Abstract>("j"); //! unsupported_type
        const k = new Table<Shape>("k"); //! unsupported_type
        const l = new Table<Holder>("l");
        const m = new Table<Inner.Nested>("m");
        const n = new Table<OfLibrary>("n"); //! unsupported_type
        const o = new Table<Other>("o");
        class OfGeneric extends Generic<string> {}
        const p = new Table<OfGeneric>("p"); //! generic_record
        export function handler(): void {}
      `,
      "lib/same.ts": `export class Same { y: i32 = 0; } //! duplicate_record`,
    };
    expect(findings(built(files).diagnostics)).toEqual(annotations(files));
  });
});

describe("what the compiler resolves", () => {
  test("nothing of the host, of chance, of the clock, of raw memory", () => {
    const files = {
      "handlers/a.ts": `
        import { Table } from "@radical/sdk";
        import { viaHelper } from "../lib/helper";
        const tables = new Table<string>("tables");
        let mutable = new Table<string>("mutable"); //! table_not_constant
        const named = new Table<string>("na" + "med"); //! table_not_constant
        class Holder { static table: Table<string> = new Table<string>("static"); } //! table_not_constant
        export function tablesEverywhere(name: string): void {
          new Table<string>(name).get("a"); //! table_not_constant
          mutable.get("a"); named.get("a"); Holder.table.get("a");
          tables.touch("a"); //! given_set_only
          tables.willPut("a"); //! given_set_only
        }
        export function chance(): f64 { return Math.random(); } //! nondeterministic
        export function clock(): i64 { return Date.now(); } //! nondeterministic
        export function helper(): f64 { return viaHelper(); }
        export function shows(): void {
          console.log("x"); //! console_not_available
          trace("x"); //! console_not_available
        }
        export function host(): void {
          process.exit(1); //! nondeterministic
          crypto.getRandomValues(new Uint8Array(1)); //! nondeterministic
        }
        export function raw(a: i32, x: f64, text: string, list: i32[]): i32 {
          store<i32>(a, 1); //! unsafe_memory
          const at = changetype<usize>(text); //! unsafe_memory
          const bits = reinterpret<u64>(x); //! float_bits
          const view = new DataView(new ArrayBuffer(8));
          view.setFloat64(0, x); //! float_bits
          const floats = new Float64Array(1);
          const bytes = Uint8Array.wrap(floats.buffer); //! float_bits
          const sign = Math.signbit(x); //! float_bits
          memory.fill(at, 0, 1); //! unsafe_memory
          const raw = __new(8, 1); //! unsafe_memory
          if (a == 7) unreachable(); //! unsafe_memory
          return unchecked(list[a]); //! unsafe_memory
        }
        function load(key: string): string { return key; }
        export function ownNames(key: string): string { return load(key); }
      `,
      "lib/helper.ts": `export function viaHelper(): f64 {
        return Math.random(); // also chance; the import is reported once
      }`,
    };
    expect(findings(problems(built(files)))).toEqual(annotations(files));
  });

  test("type errors in the compiler's words, with types as they are written and help", () => {
    const files = {
      "lib/models.ts": `export class User { name: string = ""; }`,
      "handlers/a.ts": `
        import { Table, nothing } from "@radical/sdk"; //! type_error
        export function a(): void {}`,
      "handlers/b.ts": `export function b(): void {}`,
    };
    expect(findings(problems(built(files)))).toEqual(annotations(files));
    const types = {
      "lib/models.ts": files["lib/models.ts"],
      "handlers/b.ts": `
        import { Table } from "@radical/sdk";
        import { User } from "../lib/models";
        const users = new Table<User>("users");
        export function a(n: i32): string {
          return n; //! type_error
        }
        export function b(key: string): string {
          return users.get(key).name; //! type_error
        }
        export function c(): i32 {
          const point = { x: [] }; //! object_literal
          return nope; //! type_error
        }
      `,
    };
    const result = built(types);
    expect(findings(result.diagnostics)).toEqual(annotations(types));
    expect(result.diagnostics.map(({ message }) => message)).toMatchInlineSnapshot(`
      [
        "Type 'i32' is not assignable to type 'string'.",
        "This value can be null, and its place can't take null.",
        "The type of this value is not known, so this object literal has no type.",
        "Cannot find name 'nope'.",
      ]
    `);
  });
});

describe("rendering", () => {
  const files = {
    "handlers/a.ts": "export function a(): void {\n\ttry { a(); } catch (e) {}\n}\n",
    "handlers/b.ts": "export function a(): void {}\n",
  };

  test("a code frame with help", () => {
    const { sources } = buildInput(files);
    expect(
      checked(files)
        .map((found) => renderDiagnostic(found, sources, { color: false }))
        .join("\n\n"),
    ).toMatchInlineSnapshot(`
      "error[try_statement]: A handler can't catch errors, because an error ends the whole handler and undoes its writes.
       --> handlers/a.ts:2:2
        |
      2 | 	try { a(); } catch (e) {}
        | 	^^^
        = help: Test for the failure beforehand: \`if (n == 0) return 0;\`. To answer with an error, call \`abort(status, code, message)\`."
    `);
  });

  test("related places and colors", () => {
    const duplicates = {
      "handlers/a.ts": "\n\nexport function a(): void {}",
      "handlers/b.ts": "export function a(): void {}",
    };
    const { sources } = buildInput(duplicates);
    const [found] = built(duplicates).diagnostics;
    expect(renderDiagnostic(found!, sources, { color: false })).toMatchInlineSnapshot(`
      "error[duplicate_handler]: Two handlers have the name a, and a call names no file: POST /api/a.
       --> handlers/b.ts:1:17
        |
      1 | export function a(): void {}
        |                 ^
       --> handlers/a.ts:3:17
        |
      3 | export function a(): void {}
        |                 ^ the other one
        = help: Rename one of them."
    `);
    const colored = renderDiagnostic(found!, sources, { color: true });
    expect(colored).toContain("\u001b[1;31merror[duplicate_handler]\u001b[0m");
    expect(colored.replaceAll(ANSI, "")).toBe(renderDiagnostic(found!, sources, { color: false }));
  });

  test("a place in a file that is not there", () => {
    const [found] = built({}).diagnostics;
    expect(renderDiagnostic(found!, [], { color: false }).split("\n")[1]).toBe(" --> handlers:1:1");
  });
});

describe("any text at all", () => {
  test("is scanned to its end", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: fc.constantFrom(...Array.from("`${}'\"/\\\n*(a)?.1 ")), maxLength: 40 }),
        ),
        (text) => {
          const tokens = scan(text);
          let last = 0;
          for (const { start, end, text: piece } of tokens) {
            expect(start).toBeGreaterThanOrEqual(last);
            expect(end).toBeGreaterThan(start);
            expect(text.slice(start, end)).toBe(piece);
            last = end;
          }
          expect(last).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });

  test("gives diagnostics, not exceptions", () => {
    const word = fc.constantFrom(
      "export", "function", "f", "(", ")", "{", "}", ":", "i32", ";", "class", "<", ">", "=", "return", "1", '"a"', "new", "Table", "@", "[", "]",
      "import", "from", ".", ",", "=>", "if", "for", "interface", "extends", "static", "const", "|", "null", "`", "//", "\n",
    ); // prettier-ignore
    fc.assert(
      fc.property(fc.array(word, { maxLength: 25 }), (words) => {
        const result = checked({ "handlers/a.ts": words.join(" ") });
        expect(Array.isArray(result)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
