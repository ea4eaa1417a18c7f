import { expect, test } from "vitest";
import { buildApplication } from "../index.ts";
import { buildInput } from "../testing/library.ts";

test("the codes of a handler: literals, constants, and what every caller gives", async () => {
  const { handlers, diagnostics } = await buildApplication({
    ...buildInput({
      "handlers/a.ts": `import { Table, abort } from "@radical/sdk";
        const NO = "no_" + "thing";
        const GONE = "gone";
        class Item { n: i32 = 0; check(): void { if (this.n > 3) abort(400, "too_many", "x"); } }
        const items = new Table<Item>("items");
        function fail(code: string, status: i32 = 400): void { abort(status, code, "x"); }
        function required(key: string, code: string): Item { const item = items.get(key); if (item == null) fail(code); return item!; }
        function each(list: i32[], f: (n: i32) => void): void { for (let i = 0; i < list.length; i++) f(list[i]); }
        export function none(): i32 { return 1; }
        export function literal(n: i32): void { if (n > 1) abort(404, "b", "x"); abort(400, n > 0 ? "a" : "c", "x"); }
        export function constant(): void { abort(410, GONE, "x"); }
        export function computed(): void { abort(410, NO, "x"); }
        export function given(code: string): void { abort(400, code, "x"); }
        export function helped(key: string): i32 { required(key, "no_item").check(); return required(key, "no_other").n; }
        export function forwarded(key: string): i32 { return required(key, key).n; }
        export function called(list: i32[]): void { each(list, (n) => { if (n > 3) abort(400, "in_callback", "x"); }); }
        /** @nearstorage */
        export function near(): void { abort(400, "near", "x"); }`,
    }),
    optimize: false,
  });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(Object.fromEntries(handlers.map(({ name, abortCodes }) => [name, abortCodes]))).toEqual({
    none: [],
    literal: ["a", "b", "c"],
    constant: ["gone"],
    computed: null,
    given: null,
    helped: ["no_item", "no_other", "too_many"],
    forwarded: null,
    called: ["in_callback"],
    near: ["near"],
  });
});
