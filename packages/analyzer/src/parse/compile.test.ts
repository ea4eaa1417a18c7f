import { ENTRY_FILE, loadingEntry } from "../codegen/generate.ts";
import { DEFAULT_LIMITS } from "@radical/protocol";
import { expect, test } from "vitest";
import { spanOf } from "../diagnostics/diagnostic.ts";
import { buildInput } from "../testing/library.ts";
import {
  CODEC_LIBRARY,
  compileProgram,
  compileWith,
  loadProgram,
  nameOf,
  RadicalCompiler,
  type CompileRequest,
} from "./compile.ts";
import { isDevelopers } from "./graft.ts";
import { FactsCompiler, isSkipped } from "./facts.ts";
import { fromCrash } from "./messages.ts";
import { type as, CommonFlags } from "./assemblyscript.ts";
import { extractSchema } from "../schema/schema.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { call } from "../testing/run.ts";
import { SyntaxTrees } from "./syntax-trees.ts";

const PATH = "handlers/notes.ts";
const TEXT = `export function add(text: string): void { remove(text); }
export function remove(text: string): void {
  if (text.length > 3) return;
}`;

function request(): CompileRequest {
  const { sdk, stdlib } = buildInput({});
  return {
    sources: new Map([[PATH, TEXT]]),
    entry: PATH,
    sdk: new Map(sdk.map((file) => [file.path, file.text])),
    stdlib,
    runtime: "incremental",
    optimizeLevel: 0,
    memoryPages: DEFAULT_LIMITS.memoryPages,
    trees: new SyntaxTrees(),
  };
}

test("a program becomes WebAssembly once", () => {
  const { module, ok } = compileProgram(loadProgram(request()));
  expect(ok).toBe(true);
  expect(WebAssembly.validate(new Uint8Array(module!.emit()))).toBe(true);
  expect(() => module!.emit()).toThrow("was dropped");
});

test("a crash of the compiler is a diagnostic at the function it was in, and leaves nothing behind", () => {
  class Crashing extends RadicalCompiler {
    override compileStatement(statement: Parameters<RadicalCompiler["compileStatement"]>[0]): number {
      if (this.currentFlow.sourceFunction.prototype.name === "remove") throw new TypeError("no luck");
      return super.compileStatement(statement);
    }
  }
  const base = request();
  const tree = base.trees.get(PATH, TEXT, "entry");
  const { crash, module, ok } = compileWith(loadProgram(base), (program) => new Crashing(program));
  expect({ module, ok }).toEqual({ module: null, ok: false });
  expect(fromCrash(crash!, spanOf({ path: PATH, text: TEXT }, 0, 0))).toMatchObject({
    code: "compiler_crash",
    class: "internal",
    message: "The AssemblyScript compiler crashed in remove: no luck",
    primary: { file: PATH, line: 2 },
  });
  expect(base.trees.get(PATH, TEXT, "entry")).not.toBe(tree);
  expect(compileProgram(loadProgram(base)).ok).toBe(true);
});

test("a crash in a helper names the handler too", () => {
  class Crashing extends FactsCompiler {
    override compileStatement(statement: Parameters<RadicalCompiler["compileStatement"]>[0]): number {
      if (this.currentFlow.sourceFunction.prototype.name === "helper") throw new TypeError("no luck");
      return super.compileStatement(statement);
    }
  }
  const text =
    "function helper(): void { helper(); }\nexport function first(): void {}\nexport function add(): void { helper(); }";
  const sources = new Map([
    [PATH, text],
    [ENTRY_FILE, loadingEntry([PATH])],
  ]);
  const loaded = loadProgram({ ...request(), sources, entry: ENTRY_FILE });
  const { handlers } = extractSchema(loaded.program, [PATH], { uniqueNames: true });
  const roots = { handlers: handlers.map(({ instance }) => instance), records: [] };
  const { crash } = compileWith(loaded, (program) => new Crashing(program, roots));
  expect(crash?.handler?.declaration.name.text ?? null).toBe("add");
  expect(fromCrash(crash!, spanOf({ path: PATH, text }, 0, 0))).toMatchObject({
    message: "The AssemblyScript compiler crashed in helper, compiled for handler add: no luck",
    primary: { file: PATH, line: 1 },
  });
});

test.each(["incremental", "stub"] as const)("memory begins with what the texts of a program need: %s", (runtime) => {
  const text = `export function large(): i32 { return "${"x".repeat(300_000)}".length; }`;
  const { module, messages } = compileProgram(loadProgram({ ...request(), runtime, sources: new Map([[PATH, text]]) }));
  expect(messages.map(({ message }) => message)).toEqual([]);
  const compiled = new WebAssembly.Module(new Uint8Array(module!.emit()));
  expect(WebAssembly.Module.exports(compiled).map(({ name }) => name)).toContain("large");
});

test("function values in overriding methods and in default values have their own default values", () => {
  const source = `let count: i32 = 5;
const early = (n: i32 = late): i32 => n;
let late: i32 = 3;
class Base { label(): string { return "b"; } }
class Derived extends Base {
  label(): string {
    const label = (head: string, n: i32 = count++, tail: i32 = 7): string => head + n.toString() + tail.toString();
    return label("d");
  }
}
export function labels(derived: bool): string {
  const one: Base = derived ? new Derived() : new Base();
  return one.label() + count.toString();
}
const twice = (n: i32 = ((m: i32 = 4): i32 => m * 2)()): i32 => n + 1;
export function numbers(): i32 { return twice() * 10 + early(); }`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(call(build, new Map(), "labels", { derived: true }).result).toBe("d576");
  expect(call(build, new Map(), "labels", { derived: false }).result).toBe("b5");
  expect(call(build, new Map(), "numbers").result).toBe(93);
});

test("a constructor that always throws gives its fields their values before", () => {
  const source = `import { Table } from "@radical/sdk";
class Item {}
const items = new Table<Item>("items");
class Refused {
  name: string = "r";
  constructor(n: i32) {
    switch (n) {
      case 0: items.has(this.name + "0");
      default:
        if (n == 1) items.has(this.name + "1");
        throw new Error(this.name);
    }
  }
}
class Derived extends Refused {}
export function refuse(n: i32): void { new Refused(n); }
export function derived(n: i32): void { new Derived(n); }`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  for (const handler of ["refuse", "derived"])
    for (const n of [0, 1]) {
      const { outcome, run } = call(build, new Map(), handler, { n });
      expect(outcome.kind).toBe("trap");
      expect(run.reads).toEqual([`items/r${n}`]);
    }
});

test("the library writes and reads within its buffers", () => {
  const source = `export function replaced(text: string, search: string, by: string): string {
  return text.replaceAll(search, by);
}
export function filled(start: i32, end: i32): string { return [1, 2, 3].fill(9, start, end).join(); }
export function bytes(start: i32, end: i32): string {
  const list = new Uint8Array(3);
  return list.fill(9, start, end).join();
}`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  for (const [text, search, by] of [
    ["a.b", ".", "x".repeat(5_000)],
    ["aa", "a", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"],
    ["..a..", "..", "-"],
    ["abcabc", "bc", "12345678901234567890"],
  ] as const) {
    expect(call(build, new Map(), "replaced", { text, search, by }).result).toBe(text.replaceAll(search, by));
  }
  for (const start of [-9, -2, 0, 2, 9, -2147483648, 2147483647])
    for (const end of [-9, -2, 0, 2, 9, -2147483648, 2147483647]) {
      expect(call(build, new Map(), "filled", { start, end }).result).toBe([1, 2, 3].fill(9, start, end).join());
      expect(call(build, new Map(), "bytes", { start, end }).result).toBe([0, 0, 0].fill(9, start, end).join());
    }
});

test.each([
  "Math.floor(2.5) == 2",
  "<i32>Math.abs(<f64>-2) != 1",
  '"a".startsWith("a")',
  "String.UTF8.byteLength('a') == 1",
])("what the analysis leaves out of the library may be called with constants: %s", (condition) => {
  const source = `export function h(): string { return ${condition} ? "yes" : "no"; }`;
  const build = buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
  expect(call(build, new Map(), "h", {}).result).toBe("yes");
});

test("what the analysis leaves out of the library comes back neither to the developer's code nor to the host", () => {
  const text = `import { Table } from "@radical/sdk";
class V {
  x: i32 = 1;
  @operator("==") same(other: V): bool { return this.x == other.x; }
  @operator("<") less(other: V): bool { return this.x < other.x; }
  @operator(">") more(other: V): bool { return this.x > other.x; }
  toString(): string { return "v"; }
}
const table = new Table<string>("texts");
export function h(key: string, n: i32): string {
  const all: V[] = [new V()], v = all[0];
  all[0] = v;
  all.push(v);
  all.length = 2;
  if (all.includes(v) || all.indexOf(v) > n || all.lastIndexOf(v) > n) return all.join() + all.toString();
  all.slice(1).map<V>((one) => one).filter((one) => one.x > 1).sort((a, b) => a.x - b.x);
  all.sort();
  if (table.has(key)) table.put(key, table.get(key)!);
  table.delete(key);
  return (Math.random() + Math.pow(n, 2) + Math.sin(n)).toString() + new Set<V>().has(v).toString();
}`;
  const { compiler, messages } = compileProgram(loadProgram({ ...request(), sources: new Map([[PATH, text]]) }));
  expect(messages.map(({ message }) => message)).toEqual([]);
  // From what is imported or the developer's back to all functions of the library that may come there.
  const isEnd = (called: as.Function): boolean =>
    isDevelopers(called.declaration.range.source) ||
    (called.is(CommonFlags.ModuleImport) && !/^~lib\/@radical\/sdk\/host\/(get|has|put|remove)$/.test(nameOf(called)));
  const waiting = [...compiler!.calls.keys()].filter(isEnd);
  const seen = new Set(waiting);
  for (const called of waiting)
    for (const { caller } of compiler!.calls.get(called) ?? []) {
      const { source } = caller.declaration.range;
      if (isDevelopers(source) || source.internalPath === CODEC_LIBRARY || seen.has(caller)) continue;
      seen.add(caller);
      waiting.push(caller);
    }
  const comingBack = waiting.filter(({ declaration }) => declaration.range.source.isLibrary);
  expect(comingBack.map(nameOf)).toEqual(
    expect.arrayContaining(["~lib/array/Array#includes", "~lib/math/NativeMath.random", "~lib/set/Set#find"]),
  );
  expect(comingBack.filter(isSkipped).map(nameOf)).toEqual([]);
});
