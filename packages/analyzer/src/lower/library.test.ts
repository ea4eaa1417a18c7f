import { describe, expect, test } from "vitest";
import { as, CommonFlags, NodeKind } from "../parse/assemblyscript.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call } from "../testing/run.ts";
import { libraryMember, refusedMember, type LibraryMember } from "./library.ts";

interface Exported {
  readonly owner: string;
  readonly name: string;
}

/** Public members of everything that the files at the top of `std/assembly` export. */
function exported(): Exported[] {
  const found: Exported[] = [];
  const visit = (statement: as.Statement, owner: string, name: string): void => {
    switch (statement.kind) {
      case NodeKind.ClassDeclaration:
        for (const member of (statement as as.ClassDeclaration).members) {
          if (member.kind !== NodeKind.MethodDeclaration || hidden(member)) continue;
          found.push({ owner: (statement as as.ClassDeclaration).name.text, name: memberName(member) });
        }
        return;
      case NodeKind.NamespaceDeclaration: {
        const { name: own, members } = statement as as.NamespaceDeclaration;
        for (const member of members)
          if (isExported(member)) visit(member, own.text, name === "" ? own.text : `${name}.${own.text}`);
        return;
      }
      case NodeKind.FunctionDeclaration: {
        const declaration = statement as as.FunctionDeclaration;
        // The inner one of two namespaces owns their functions, unless it has no name of its own.
        const isOwn =
          libraryMember(owner, declaration.name.text) !== null || refusedMember(owner, declaration.name.text);
        found.push({ owner: isOwn ? owner : name, name: declaration.name.text });
        return;
      }
      default:
        // Variables are constants of the language; types, interfaces and aliases are not there at run time.
        return;
    }
  };
  for (const [path, text] of buildInput({}).stdlib) {
    if (path.includes("/")) continue;
    const parser = new as.Parser([]);
    parser.parseFile(text, `~lib/${path}`, true);
    for (const statement of parser.sources[0]!.statements) if (isExported(statement)) visit(statement, "", "");
  }
  return found;
}

function isExported(statement: as.Statement): boolean {
  return ((statement as as.DeclarationStatement).flags & CommonFlags.Export) !== 0;
}

function hidden(member: as.DeclarationStatement): boolean {
  const unsafe = member.decorators?.some(({ name }) => (name as as.IdentifierExpression).text === "unsafe") ?? false;
  return unsafe || (member.flags & (CommonFlags.Private | CommonFlags.Protected)) !== 0;
}

function memberName(member: as.DeclarationStatement): string {
  if ((member.flags & CommonFlags.Constructor) !== 0) return "new";
  return (member.flags & CommonFlags.Set) === 0 ? member.name.text : `${member.name.text}=`;
}

test("every exported member of AssemblyScript's library has a model or a reason to be refused", () => {
  const all = exported();
  expect(all.length).toBeGreaterThan(700);
  const without = all.filter(
    ({ owner, name }) => libraryMember(owner, name) === null && refusedMember(owner, name) === null,
  );
  expect(without.map(({ owner, name }) => `${owner}.${name}`)).toEqual([]);
});

/** A filled object of each class that has a content, how to write down what it holds, and each of its members called. */
const RECEIVERS: Readonly<
  Record<string, { readonly make: string; readonly dump: string; readonly calls: Readonly<Record<string, string>> }>
> = {
  Array: {
    make: "[3, 1, 2]",
    dump: "o.join()",
    calls: {
      at: "o.at(1)",
      length: "o.length",
      "length=": "o.length = 2",
      includes: "o.includes(1)",
      indexOf: "o.indexOf(1)",
      lastIndexOf: "o.lastIndexOf(1)",
      join: "o.join()",
      toString: "o.toString()",
      fill: "o.fill(7)",
      reverse: "o.reverse()",
      copyWithin: "o.copyWithin(0, 1)",
      sort: "o.sort((a, b) => a - b)",
      slice: "o.slice(0)",
      concat: "o.concat([9])",
      push: "o.push(4)",
      unshift: "o.unshift(4)",
      pop: "o.pop()",
      shift: "o.shift()",
      splice: "o.splice(0, 1)",
      forEach: "o.forEach((x) => {})",
      some: "o.some((x) => x > 1)",
      every: "o.every((x) => x > 1)",
      findIndex: "o.findIndex((x) => x > 1)",
      findLastIndex: "o.findLastIndex((x) => x > 1)",
      filter: "o.filter((x) => true)",
      map: "o.map<i32>((x) => x)",
      reduce: "o.reduce<i32>((s, x) => s + x, 0)",
      reduceRight: "o.reduceRight<i32>((s, x) => s + x, 0)",
    },
  },
  StaticArray: {
    make: "StaticArray.fromArray<i32>([3, 1, 2])",
    dump: "o.join()",
    calls: {
      at: "o.at(1)",
      length: "o.length",
      includes: "o.includes(1)",
      indexOf: "o.indexOf(1)",
      lastIndexOf: "o.lastIndexOf(1)",
      join: "o.join()",
      toString: "o.toString()",
      fill: "o.fill(7)",
      reverse: "o.reverse()",
      copyWithin: "o.copyWithin(0, 1)",
      sort: "o.sort()",
      slice: "o.slice(0)",
      concat: "o.concat([9])",
      forEach: "o.forEach((x) => {})",
      some: "o.some((x) => x > 1)",
      every: "o.every((x) => x > 1)",
      findIndex: "o.findIndex((x) => x > 1)",
      findLastIndex: "o.findLastIndex((x) => x > 1)",
      filter: "o.filter((x) => true)",
      map: "o.map<i32>((x) => x)",
      reduce: "o.reduce<i32>((s, x) => s + x, 0)",
      reduceRight: "o.reduceRight<i32>((s, x) => s + x, 0)",
    },
  },
  Int32Array: {
    make: "numbers()",
    dump: "o.join()",
    calls: {
      at: "o.at(1)",
      length: "o.length",
      byteLength: "o.byteLength",
      byteOffset: "o.byteOffset",
      includes: "o.includes(1)",
      indexOf: "o.indexOf(1)",
      lastIndexOf: "o.lastIndexOf(1)",
      join: "o.join()",
      toString: "o.toString()",
      fill: "o.fill(7)",
      reverse: "o.reverse()",
      copyWithin: "o.copyWithin(0, 1)",
      sort: "o.sort()",
      slice: "o.slice(0)",
      subarray: "o.subarray(0)",
      set: "o.set([8])",
      forEach: "o.forEach((x) => {})",
      some: "o.some((x) => x > 1)",
      every: "o.every((x) => x > 1)",
      findIndex: "o.findIndex((x) => x > 1)",
      findLastIndex: "o.findLastIndex((x) => x > 1)",
      filter: "o.filter((x) => true)",
      map: "o.map((x) => x)",
      reduce: "o.reduce<i32>((s, x) => s + x, 0)",
      reduceRight: "o.reduceRight<i32>((s, x) => s + x, 0)",
    },
  },
  Map: {
    make: "mapped()",
    dump: 'o.keys().join() + "/" + o.values().join()',
    calls: {
      get: 'o.get("a")',
      has: 'o.has("a")',
      set: 'o.set("c", 3)',
      delete: 'o.delete("a")',
      clear: "o.clear()",
      size: "o.size",
      keys: "o.keys()",
      values: "o.values()",
      toString: "o.toString()",
    },
  },
  Set: {
    make: "members()",
    dump: "o.values().join()",
    calls: {
      has: 'o.has("a")',
      add: 'o.add("c")',
      delete: 'o.delete("a")',
      clear: "o.clear()",
      size: "o.size",
      values: "o.values()",
      toString: "o.toString()",
    },
  },
  ArrayBuffer: {
    make: "numbers().buffer",
    dump: "Int32Array.wrap(o).join()",
    calls: { byteLength: "o.byteLength", slice: "o.slice(0)", toString: "o.toString()" },
  },
  DataView: {
    make: "new DataView(numbers().buffer)",
    dump: "Int32Array.wrap(o.buffer).join()",
    calls: {
      byteLength: "o.byteLength",
      byteOffset: "o.byteOffset",
      toString: "o.toString()",
      ...Object.fromEntries(
        ["Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"].flatMap((kind) => [
          [`get${kind}`, `o.get${kind}(0)`],
          [`set${kind}`, `o.set${kind}(0, 77)`],
        ]),
      ),
      getFloat32: "o.getFloat32(0)",
      getFloat64: "o.getFloat64(0)",
    },
  },
  Date: {
    make: "new Date(1234567890123)",
    dump: "o.getTime().toString()",
    calls: {
      setTime: "o.setTime(5)",
      getUTCDay: "o.getUTCDay()",
      getTime: "o.getTime()",
      toISOString: "o.toISOString()",
      toUTCString: "o.toUTCString()",
      toDateString: "o.toDateString()",
      toTimeString: "o.toTimeString()",
      toString: "o.toString()",
      ...Object.fromEntries(
        ["FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds"].flatMap((part) => [
          [`getUTC${part}`, `o.getUTC${part}()`],
          [`setUTC${part}`, `o.setUTC${part}(3)`],
        ]),
      ),
    },
  },
};

const HEAD = `import { Table } from "@radical/sdk";
class Item { n: i32 = 0; }
const items = new Table<Item>("items");
function numbers(): Int32Array { const made = new Int32Array(3); made[0] = 3; made[1] = 1; made[2] = 2; return made; }
function mapped(): Map<string, i32> { const made = new Map<string, i32>(); made.set("a", 1); made.set("b", 2); return made; }
function members(): Set<string> { const made = new Set<string>(); made.add("a"); made.add("b"); return made; }
`;

/** Not called above: elements are syntax, a view's buffer is the same object, floats can't be stored by their bits. */
const ELSEWHERE = new Set([
  "[]",
  "new",
  "buffer",
  "wrap",
  "isArray",
  "isView",
  "fromArray",
  "flat",
  "setFloat32",
  "setFloat64",
]);

describe.each(Object.entries(RECEIVERS))("members of %s do what their models say", (owner, { make, dump, calls }) => {
  const names = exported().flatMap((member) => (member.owner === owner ? [member.name] : []));
  const modelled = names.filter((name) => libraryMember(owner, name)?.form !== "function" && !ELSEWHERE.has(name));
  const model = (name: string): LibraryMember => libraryMember(owner, name)!;

  test("all of them are tried", () => {
    const tried = new Set(Object.keys(calls));
    expect(modelled.filter((name) => libraryMember(owner, name) !== null && !tried.has(name))).toEqual([]);
  });

  test("only those that write change their receiver", () => {
    const members = Object.keys(calls);
    const handlers = members.map(
      (name, index) =>
        `export function h${index}(): string { const o = ${make}; const before = ${dump}; ${calls[name]}; return before == (${dump}) ? "same" : "changed"; }`,
    );
    const build = buildWith(
      { ...buildInput({ "handlers/h.ts": HEAD + handlers.join("\n") }), optimize: false },
      slicer,
    );
    expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const results = members.map((name, index) => [name, call(build, new Map(), `h${index}`).result] as const);
    for (const [name, result] of results)
      expect(`${name}: ${String(result)}`).toBe(`${name}: ${model(name).writes ? "changed" : "same"}`);
  });
});

test("results that are the receiver, and those that are copies", () => {
  const cases: readonly (readonly [member: string, source: string])[] = [
    ["Array.fill", "const o = [1, 2]; const r = o.fill(7); r[0] = 9; return o[0] == 9;"],
    ["Array.reverse", "const o = [1, 2]; const r = o.reverse(); r[0] = 9; return o[0] == 9;"],
    ["Array.sort", 'const o = ["b", "a"]; const r = o.sort(); r[0] = "q"; return o[0] == "q";'],
    ["Array.copyWithin", "const o = [1, 2]; const r = o.copyWithin(0, 1); r[0] = 9; return o[0] == 9;"],
    ["Array.slice", "const o = [1, 2]; const r = o.slice(0); r[0] = 9; return o[0] == 9;"],
    ["Array.concat", "const o = [1, 2]; const r = o.concat([3]); r[0] = 9; return o[0] == 9;"],
    ["Array.filter", "const o = [1, 2]; const r = o.filter((x) => true); r[0] = 9; return o[0] == 9;"],
    ["Array.flat", "const o = [[1, 2]]; const r = o.flat(); r[0] = 9; return o[0][0] == 9;"],
    ["Array.splice", "const o = [1, 2]; const r = o.splice(0, 1); r[0] = 9; return o[0] == 9;"],
    ["StaticArray.fromArray", "const a = [1, 2]; const r = StaticArray.fromArray<i32>(a); r[0] = 9; return a[0] == 9;"],
    ["Int32Array.subarray", "const o = numbers(); const r = o.subarray(0); r[0] = 9; return o[0] == 9;"],
    ["Int32Array.slice", "const o = numbers(); const r = o.slice(0); r[0] = 9; return o[0] == 9;"],
    ["Int32Array.wrap", "const o = numbers(); const r = Int32Array.wrap(o.buffer); r[0] = 9; return o[0] == 9;"],
    ["Int32Array.buffer", "const o = numbers(); new DataView(o.buffer).setInt32(0, 9, true); return o[0] == 9;"],
    [
      "DataView.new",
      "const o = numbers(); const r = new DataView(o.buffer); r.setInt32(0, 9, true); return o[0] == 9;",
    ],
    [
      "ArrayBuffer.slice",
      "const o = numbers(); const r = Int32Array.wrap(o.buffer.slice(0)); r[0] = 9; return o[0] == 9;",
    ],
    ["Map.set", 'const o = mapped(); const r = o.set("a", 1); r.clear(); return o.size == 0;'],
    ["Map.keys", 'const o = mapped(); const r = o.keys(); r[0] = "q"; return o.has("q");'],
    ["Map.values", 'const o = mapped(); const r = o.values(); r[0] = 9; return o.get("a") == 9;'],
    ["Set.add", 'const o = members(); const r = o.add("a"); r.clear(); return o.size == 0;'],
    ["Set.values", 'const o = members(); const r = o.values(); r[0] = "q"; return o.has("q");'],
  ];
  const handlers = cases.map(([, source], index) => `export function h${index}(): bool { ${source} }`);
  const build = buildWith({ ...buildInput({ "handlers/h.ts": HEAD + handlers.join("\n") }), optimize: false }, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  for (const [index, [member]] of cases.entries()) {
    const [owner, name] = member.split(".") as [string, string];
    const { result } = libraryMember(owner, name)!;
    const shares = result === "receiver" || result === "argument";
    expect(`${member}: ${String(call(build, new Map(), `h${index}`).result)}`).toBe(`${member}: ${shares}`);
  }
});
