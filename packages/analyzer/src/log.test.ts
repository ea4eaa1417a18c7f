/** Lines that handlers log: no part of f^rw, whatever their arguments do. */
import { expect, test } from "vitest";
import { buildWith, type BuildInput, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call, type Items } from "./testing/run.ts";

const HEAD = `import { abort, log, Table } from "@radical/sdk";
class Item { n: i32 = 0; next: string = ""; }
const items = new Table<Item>("items");
`;

function build(source: string, more: Partial<BuildInput> = {}): BuildResult {
  const built = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false, ...more }, slicer);
  expect(built.diagnostics).toEqual([]);
  return built;
}

/** The functions that a program imports. */
function importsOf(wasm: Uint8Array): readonly string[] {
  return WebAssembly.Module.imports(new WebAssembly.Module(Uint8Array.from(wasm))).map(({ name }) => name);
}

const EXPLORED = { strings: ["a", "b", "c"], integers: [0, 1, 2, 3], runs: 60, callsPerRun: 4 };

test("handlers log texts, at four levels, in their order, from everywhere", () => {
  const built = build(`${HEAD}
    log("module");
    class Speaker { constructor(name: string) { log(\`made \${name}\`); } say(n: i32): void { log.debug(\`\${n} \${n > 1} \${0.5}\`); } }
    function twice(action: () => void): void { action(); action(); }
    export function h(name: string): string {
      const speaker = new Speaker(name);
      speaker.say(2);
      twice(() => log.warn("twice"));
      const items = ["x", "y"];
      items.forEach((item) => log.error(item));
      return (log("comma"), name);
    }`);
  const { run, result } = call(built, new Map(), "h", { name: "ann" });
  expect(result).toBe("ann");
  expect(run.logged).toEqual([
    { level: "info", text: "module" },
    { level: "info", text: "made ann" },
    { level: "debug", text: "2 true 0.5" },
    { level: "warn", text: "twice" },
    { level: "warn", text: "twice" },
    { level: "error", text: "x" },
    { level: "error", text: "y" },
    { level: "info", text: "comma" },
  ]);
});

test("the read/write-set function says nothing of lines, and what their arguments access", () => {
  const built = build(`${HEAD}
    function found(key: string): string { const item = items.get(key); return item == null ? "" : item.next; }
    function written(key: string): string { items.put(key, new Item()); return key; }
    export function reads(a: string, b: string): void { log(found(a)); log.warn(\`\${found(found(b))} and \${items.has(a + b)}\`); }
    export function writes(a: string): void { log.error(written(a)); }
    export function counts(a: string): i32 {
      let n = 0;
      log(\`\${++n}\`);
      if (a == "a") log.debug((n += 5).toString());
      const item = items.get(n.toString());
      return item == null ? 0 : item.n;
    }
    export function ends(a: string): i32 {
      if (a == "") { log.warn("none"); abort(400, "none", "none"); }
      log(\`\${a}\`);
      const item = items.get(a);
      return item == null ? 0 : item.n;
    }`);
  for (const { plan, rwSource } of built.handlers) {
    expect(plan.kind).toBe("sliced");
    expect(rwSource).not.toMatch(/\blog\b/);
  }
  expect(importsOf(built.rwWasm)).not.toContain("log");
  expect(importsOf(built.wasm)).toContain("log");
  const explored = explore(built, EXPLORED);
  expect([explored.extraReads, explored.extraWrites]).toEqual([0, 0]);
});

test("a line in the middle of a key is kept with it, and tells nothing in the read/write-set function", () => {
  const built = build(`${HEAD}
    import { log as say } from "@radical/sdk";
    function named(key: string): string { say(key); return key; }
    export function inKey(a: string, b: string): i32 {
      const item = items.get((log(a), b));
      const other = items.get(named(a == b ? "same" : a));
      return item == null || other == null ? 0 : item.n;
    }
    export function chosen(a: string, b: string): void {
      let key = a;
      a == "a" ? log.warn(b) : log.error(b);
      if (b == "b") { log("b"); key = b; }
      items.delete(key);
    }`);
  for (const { plan } of built.handlers) expect(plan.kind).toBe("sliced");
  explore(built, EXPLORED);
});

test("an application may have a log of its own", () => {
  const built = build(`import { log as say, Table } from "@radical/sdk";
    const log = new Table<string>("log");
    export function h(a: string): void { say(a); log.put(a, a); }`);
  expect(built.handlers[0]?.rwSource).toContain('const log = new Table<string>("log")');
  explore(built, EXPLORED);
});

test("below the least level nothing is left of a line but what its arguments do", () => {
  const source = `${HEAD}
    export function h(a: string): i32 {
      let n = 0;
      log.debug(\`\${++n}\`);
      log(\`\${++n}\`);
      log.warn(\`\${++n}\`);
      log.error(\`\${++n}\`);
      return n;
    }`;
  const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
  const logged = LEVELS.map((log) => {
    const built = build(source, { log });
    const items: Items = new Map();
    const { run, result } = call(built, items, "h", { a: "a" });
    expect(result).toBe(4);
    return run.logged?.map(({ text }) => text) ?? [];
  });
  expect(logged).toEqual([["1", "2", "3", "4"], ["2", "3", "4"], ["3", "4"], ["4"], []]);
  expect(importsOf(build(source, { log: "silent" }).wasm)).not.toContain("log");
});
