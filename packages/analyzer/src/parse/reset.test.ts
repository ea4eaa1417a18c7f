/**
 * Instances run again: nothing of an earlier execution may be seen, and what the host relies on is so.
 */
import { METER_EXPORTS } from "@radical/protocol";
import { recordHandler, type HandlerModule, type Invocation } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture } from "../testing/fixtures.ts";
import { buildInput } from "../testing/library.ts";
import { invocation, moduleOf, snapshotOf } from "../testing/run.ts";
import { binaryen } from "./assemblyscript.ts";

const STATEFUL = `
  import { Table, abort, now, random } from "@radical/sdk";
  class Item { text: string = ""; }
  const items = new Table<Item>("items");
  const started: i64 = now();
  let count: i32 = 0;
  let ratio: f64 = 0.5;
  let last: string = "none";
  let seen: string[] = ["first"];
  const byName = new Map<string, i32>();
  class Holder { static kept: Item | null = null; static total: i64 = 40; }
  function remember(text: string): void {
    count++;
    ratio *= 3;
    last += text;
    seen.push(text);
    byName.set(text, count);
    const kept = Holder.kept;
    if (kept == null) Holder.kept = new Item(); else kept.text += "!";
    Holder.total++;
  }
  function down(n: i32): i32 { return n <= 0 ? 0 : down(n - 1) + 1; }
  export function state(text: string): string {
    remember(text);
    const kept = Holder.kept;
    return [count.toString(), ratio.toString(), last, seen.join(), byName.keys().join(), kept == null ? "" : kept.text,
      Holder.total.toString(), started.toString(), random().toString()].join(" ");
  }
  export function fails(text: string): string { remember(text); return seen[100]; }
  export function gives_up(text: string): void { remember(text); items.put(text, new Item()); abort(409, "no", text); }
  export function deep(text: string): i32 { remember(text); return down(10000000); }
  export function grows(text: string): i32 {
    remember(text);
    for (let i = 0; i < 100000; i++) seen.push(text + i.toString());
    return seen.length;
  }
  export function fills(text: string): void { remember(text); for (;;) seen.push(text.repeat(1000)); }
  export function reads(text: string): string { remember(text); const item = items.get(last); return item == null ? "" : item.text; }
`;

function outcome(module: HandlerModule, one: Invocation): unknown {
  const { run, set } = recordHandler(module, one, snapshotOf(new Map()), { guess: false });
  return { run, reads: [...set.reads], writes: [...set.writes] };
}

test("an execution sees nothing of those before it, however they ended", () => {
  const built = buildWith({ ...buildInput({ "handlers/h.ts": STATEFUL }), optimize: false }, slicer);
  expect(built.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const shared = moduleOf(built);
  const before = built.handlers.map(({ name }) => invocation(built, name, { text: "before" }, 1));
  // Those that use up memory or stack take long.
  const calls = before
    .filter(({ handler }) => !["fills", "grows", "deep"].includes(handler))
    .map(({ handler }) => invocation(built, handler, { text: "a" }, 2));
  const alone = calls.map((one) => outcome(moduleOf(built), one));
  for (const earlier of before) {
    outcome(shared, earlier);
    for (const [index, call] of calls.entries())
      expect(outcome(shared, call), `${call.handler} after ${earlier.handler}`).toEqual(alone[index]);
  }
});

describe("what is built", () => {
  test.each([
    ["an application with state", { "handlers/h.ts": STATEFUL }, true],
    ["constructs", fixture("constructs"), false],
  ])("%s", (_, files, optimize) => {
    const built = buildWith({ ...buildInput(files), optimize }, slicer);
    for (const wasm of [built.wasm, built.rwWasm]) {
      const module = binaryen.readBinary(wasm);
      const text = module.emitText();
      module.dispose();
      // Each global that can change is set to what it begins with, or, if it counts, to what a run may use.
      const changing = text.matchAll(/^ \(global (\S+) \(mut \w+\) (.+)\)$/gm);
      const globals = Array.from(changing, ([, global, initial]) => `${global} ${initial}`);
      const [, begin] = new RegExp(`\\(export "${METER_EXPORTS.begin}" \\(func (\\S+?)\\)\\)`).exec(text)!;
      const start = text.indexOf(` (func ${begin} `);
      const body = text.slice(start, text.indexOf("\n )\n", start));
      const set = Array.from(
        body.matchAll(/\(global\.set (\S+)\s+(\([^)]*\))\s+\)/g),
        ([, global, value]) => `${global} ${value}`,
      );
      expect(globals.length).toBeGreaterThan(2);
      expect(set.slice(0, -2)).toEqual(globals.slice(0, -2));
      expect(set).toHaveLength(globals.length);
      // Nothing else of an instance can change but its memory.
      expect(text).not.toMatch(/table\.(set|grow|fill|copy|init)|elem\.drop|memory\.init|data\.drop/);
      expect(text.match(/^ \(memory /gm)).toHaveLength(1);
    }
  });
});
