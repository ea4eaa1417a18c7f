/** Functions of the SDK as values, and patterns of keys that come from fields with defaults. */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const built = buildWith(
  {
    ...buildInput({
      "handlers/h.ts": `
        import { Table, abort, caller, now, random, uuid } from "@radical/sdk";
        const names = new Table<string>("names");
        class Product { id: string = ""; warehouse: string = ""; }
        const products = new Table<Product>("products");
        const draw = random;
        function made(make: () => string): string { return make(); }
        function prefixed(prefix: string, id: string = "none", suffix: string = prefix): string { return prefix + id + suffix; }
        export function drawn(): string { const draws = uuid; const id = draws(); names.put(id, draws()); return id; }
        export function passed(): string { const id = made(uuid); names.put(id, "a"); return id; }
        export function failing(k: string): string { const fail = abort; if (k == "b") fail(400, "no", "No."); names.put(k, "a"); return k; }
        export function outside(): f64 { const a = draw(); names.put(a.toString(), "x"); return a; }
        export function when(): bool { const clock: () => i64 = now; const who = caller; return names.has(clock().toString() + (who() == null ? "" : "x")); }
        export function stocked(w: string): bool {
          const wanted = new Product(); wanted.id = w;
          const found = products.get(wanted.id);
          return found != null && names.has("shelf/" + found.warehouse);
        }
        export function most(w: string): bool { return names.has(i32.MAX_VALUE.toString()) || names.has(prefixed(w)); }
      `,
    }),
    optimize: false,
  },
  slicer,
);

test("they are followed: what the handlers touch is what was said", () => {
  expect(built.diagnostics).toEqual([]);
  expect(built.handlers.map(({ plan }) => plan.kind)).toEqual(built.handlers.map(() => "sliced"));
  explore(built, { strings: ["a", "b", "c"], integers: [0, 1], runs: 30, callsPerRun: 6 });
});

test("patterns name the field, and no default of it; constants of the library stand in braces", () => {
  const patterns = (name: string): string[] =>
    built.handlers.find((handler) => handler.name === name)!.reads.map(({ pattern }) => pattern);
  expect(patterns("stocked")).toEqual(["products/{w}", "names/shelf/{warehouse of products/{w}}"]);
  expect(patterns("most")[0]).toBe("names/{= i32.MAX_VALUE}");
  expect(patterns("most").join()).not.toContain("prefix:");
});
