/**
 * A handler sees its own writes, and reading one is not an access. A slice counts on that only where its writes are certain.
 */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const HEAD = `
  import { Table } from "@radical/sdk";
  class Item { n: i32 = 0; }
  const items = new Table<Item>("items");
  const log = new Table<Item>("log");
  /** @wrapping */
  function slow(text: string): i32 {
    let h = 7;
    for (let i = 0; i < 60000; i++) h = h * 31 + i + text.length;
    return h;
  }
`;

test("reads of own writes are not said", () => {
  const source = `${HEAD}
    export function keyed(a: string, b: string, n: i32): i32 {
      items.get(a);
      for (let i = 0; i < n; i++) {
        items.put(i % 2 == 0 ? a : b, new Item());
        items.get(b);
        if (i == 3) items.delete(a);
        items.has(a);
      }
      log.get(a);
      return 1;
    }
    function inner(a: string): void { items.put(a, new Item()); }
    export function called(a: string, b: string): void { if (a == "a") inner(b); items.get(b); log.put(b, new Item()); log.get(a); }`;
  const built = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  const [called, keyed] = built.handlers;
  expect(called?.rwSource).toContain("items.touchUnwritten(b)");
  expect(keyed?.rwSource).toContain("log.touch(a)");
  const found = explore(built, { strings: ["a", "b"], integers: [0, 1, 2, 4], runs: 100, callsPerRun: 4 });
  expect([found.extraReads, found.extraWrites, found.traps]).toEqual([0, 0, 0]);
});

test("a write that only may have been made hides no read", () => {
  const source = `${HEAD}
    function guarded(a: string): void {
      if (slow(a) % 2 == 0) return;
      items.put(a, new Item());
    }
    export function returned(a: string, b: string): void { guarded(a); items.get(a); items.get(b); }
    export function branched(a: string, b: string): void {
      if (slow(a) % 2 == 0) items.put(a, new Item());
      else items.get(a);
      items.get(b);
    }`;
  const built = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  for (const { plan, rwSource } of built.handlers) {
    expect(plan.kind).toBe("sliced");
    expect(rwSource).not.toContain("slow");
    expect(rwSource).not.toContain("touchUnwritten");
  }
  explore(built, { strings: ["a", "b", "cc", "ddd"], runs: 60, callsPerRun: 4 });
});
