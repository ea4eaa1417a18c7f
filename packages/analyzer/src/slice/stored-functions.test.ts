/**
 * Function values in containers: ways to store one with ways to fetch one, in handlers and in code of the module. If a
 * function is lost on its way, what it does is missing in the read/write set.
 */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

const PRELUDE = `import { Table } from "@radical/sdk";
const items = new Table<string>("items");
type Act = (log: string[], text: string) => string;
/** Makes accesses. */
function writes(log: string[], text: string): string { items.put("w" + text, text); return text; }
/** Says a key. */
function names(log: string[], text: string): string { return text + "!"; }
/** Changes what it is given. */
function adds(log: string[], text: string): string { log.push(text + "+"); return ""; }
class Held { act: Act = writes; others: Act[] = []; }
class Box<T> { constructor(public value: T) {} }
class Opener { constructor(public rest: string) {} open(): string { items.has("o" + this.rest); return this.rest; } }
type Make = (rest: string) => Opener;
function idle(log: string[], text: string): string { return text; }
`;

/** How \`a\`, a list of functions, gets \`f\`. */
const LIST_STORES: Readonly<Record<string, string>> = {
  push: "const a: Act[] = []; a.push(f);",
  unshift: "const a: Act[] = []; a.unshift(f);",
  fill: "const a: Act[] = [idle]; a.fill(f);",
  element: "const a: Act[] = [idle]; a[0] = f;",
  literal: "const a: Act[] = [f];",
  concat: "const b: Act[] = []; b.push(f); const a = new Array<Act>().concat(b);",
  slice: "const b: Act[] = [idle]; b.unshift(f); const a = b.slice(0, 1);",
  flat: "const b: Act[][] = [[]]; b[0].push(f); const a = b.flat();",
  field: "const h = new Held(); h.others.push(f); const a = h.others;",
  box: "const box = new Box<Act[]>([]); box.value.push(f); const a = box.value;",
  "value of a map": 'const m = new Map<string, Act>(); m.set("f", f); const a = m.values();',
  "key of a map": "const m = new Map<Act, string>(); m.set(f, text); const a = m.keys();",
  "element of a set": "const s = new Set<Act>(); s.add(f); const a = s.values();",
  "map in a map":
    'const m = new Map<string, Map<string, Act>>(); m.set("m", new Map<string, Act>()); m.get("m").set("f", f); const a = m.get("m").values();',
  select: "const a: Act[] = []; a.push(select<Act>(f, idle, text.length > 0));",
  "static array": "const b = new StaticArray<Act>(1); b[0] = f; const a = b.slice<Array<Act>>(0);",
  "filled static array": "const b = new StaticArray<Act>(1); b.fill(f); const a = b.slice<Array<Act>>(0);",
  callback: "const a: Act[] = []; const more: Act[] = [f]; for (let i = 0; i < more.length; i++) a.push(more[i]);",
};

/** Calls what is in \`a\`. */
const LIST_FETCHES: Readonly<Record<string, string>> = {
  index: "k = a[0](log, text);",
  at: "k = a.at(0)(log, text);",
  pop: "k = a.pop()(log, text);",
  shift: "k = a.shift()(log, text);",
  splice: "k = a.splice(0, 1)[0](log, text);",
  slice: "k = a.slice(0)[0](log, text);",
  reverse: "k = a.reverse()[0](log, text);",
  concat: "k = a.concat([])[0](log, text);",
  "concat to": "k = ([] as Act[]).concat(a)[0](log, text);",
  filter: "k = a.filter((g) => g != idle)[0](log, text);",
  forEach: 'a.forEach((g) => { g(["l"], "e"); }); k = a[0](log, text);',
  map: 'k = a.map<string>((g) => g(["l"], "m")).join("") + a[0](log, text);',
  reduce: 'k = a.reduce<string>((k, g) => k + g(["l"], "r"), "") + a[0](log, text);',
  "last of reduce": "k = a.reduce<Act>((k, g) => g, idle)(log, text);",
  "first of reduce": 'k = a.reduce<Act>((k, g) => { g(["l"], "x"); return k; }, f)(log, text);',
  some: 'k = a.some((g) => g(["l"], "s").length > 1) ? text : a[0](log, text);',
  findIndex: "k = a[a.findIndex((g) => g != idle)](log, text);",
  sort: "k = a.sort((g, h) => 0)[0](log, text);",
  loop: "for (let i = 0; i < a.length; i++) k += a[i](log, text);",
  field: "const held = new Held(); held.act = a[0]; k = held.act(log, text);",
  box: "k = new Box<Act>(a[0]).value(log, text);",
  parameter: "k = call(a[0], log, text);",
  result: "k = first(a)(log, text);",
  conditional: "k = (text.length > 0 ? a[0] : idle)(log, text);",
  select: "k = select<Act>(a[0], idle, text.length > 0)(log, text);",
  "another map": 'const to = new Map<string, Act>(); to.set("t", a[0]); k = to.get("t")(log, text);',
  "index of a map": 'const to = new Map<string, Act>(); to.set("t", a[0]); k = to["t"](log, text);',
  "fluent map": 'k = new Map<string, Act>().set("t", a[0]).get("t")(log, text);',
  "given on": 'const words = ["x"]; hand(a[0], words); k = words.join("");',
  "static array": "k = StaticArray.fromArray<Act>(a)[0](log, text);",
};
const FUNCTIONS = `
function call(f: Act, log: string[], text: string): string { return f(log, text); }
function first(a: Act[]): Act { return a[0]; }
function hand(f: Act, words: string[]): void { words.push(f(words, "h")); }
`;

type Way = readonly [name: string, source: string];

function handler(store: Way, fetch: Way, act: string, where: "handler" | "module", name: string): string {
  const filled = `const f: Act = ${act}; ${store[1]}`;
  const isHere = where === "handler";
  const before = isHere
    ? ""
    : `function fill_${name}(text: string): Act[] { ${filled} return a; }\nconst all_${name} = fill_${name}("t");\n`;
  const here = isHere ? filled : `const f: Act = ${act}; const a = all_${name};`;
  return `${before}/** ${store[0]}, ${fetch[0]} */
export function ${name}(text: string): void {
  const log = ["g"]; let k = "";
  ${here}
  ${fetch[1]}
  items.has(k + log.join());
}
`;
}

const STORES = Object.entries(LIST_STORES);
const FETCHES = Object.entries(LIST_FETCHES);
const ACTS = ["writes", "names", "adds"];

/** Each way to store with each of the functions; all ways to fetch occur. */
function handlers(where: "handler" | "module", acts: readonly string[]): string[] {
  return STORES.flatMap((store, i) =>
    acts.map((act, k) => {
      const index = i * acts.length + k;
      return handler(store, FETCHES[index % FETCHES.length]!, act, where, `h${index}`);
    }),
  );
}

test.each([
  ["a handler", handlers("handler", ACTS)],
  ["module code", handlers("module", ["adds"])],
])("functions that %s stores are followed", (_, sources) => {
  const input = { ...buildInput({ "handlers/h.ts": PRELUDE + FUNCTIONS + sources.join("") }), optimize: false };
  const build = buildWith(input, slicer);
  expect(build.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(build.handlers.filter(({ plan }) => plan.kind === "sliced")).toHaveLength(sources.length);
  explore(build, { strings: ["a", "b"], runs: 40, callsPerRun: 12, sources: input.sources });
});

/** A value that no rule follows any more does not make a set that lacks something. */
const GIVEN = 'function given(log: string[], text: string): string { items.has("given"); return text; }';

test.each([
  ["an empty list of functions", "const all: Act[] = []; if (all.length > 0) all[0]([], text);"],
  ["an empty map of functions", "const all = new Map<string, Act>(); if (all.has(text)) all.get(text)([], text);"],
  [
    "a callback from an empty list",
    'const all: ((a: string, b: i32, c: string[]) => bool)[] = []; [text].some((x) => x == ""); if (all.length > 0) [text].some(all[0]);',
  ],
  [
    "a function that a helper takes from an empty list",
    "const all: Act[] = []; if (all.length > 0) first(all)([], text);",
  ],
])("%s is refused", (_, body) => {
  const { code, message } = refusalOf(body);
  expect([code, message]).toEqual([
    "not_sliced_unknown_value",
    expect.stringContaining("The analyzer knows no function"),
  ]);
});

test.each([
  ["null", "let f: Act | null = null; if (f != null) f([], text);"],
  [
    "null in a field",
    "class Holder { f: Act | null = null; }",
    "const holder = new Holder(); const f = holder.f; if (f != null) f([], text);",
  ],
  ["null in a variable of the module", "const hook: Act | null = null;", "const f = hook; if (f != null) f([], text);"],
  [
    "null as an argument",
    "function run(f: Act | null, text: string): void { if (f != null) f([], text); }",
    "run(null, text);",
  ],
  ["null as a result", "function none(): Act | null { return null; }", "const f = none(); if (f != null) f([], text);"],
  [
    "an empty list, where no function has so many parameters",
    "const all: ((a: i32, b: i32, c: i32, d: i32, e: i32) => void)[] = []; if (all.length > 0) all[0](1, 2, 3, 4, 5);",
  ],
  [
    "an empty list in a function that nothing calls",
    "function never(text: string): void { const all: Act[] = []; all[0]([], text); }",
    'const f = never; if (text == "") items.has(typeof f);',
  ],
  [
    "an object from an empty list",
    "const all: Opener[] = []; if (all.length > 0) all[0].open(); all.forEach((one) => { one.open(); });",
  ],
  ["an object that is null", "let one: Opener | null = null; if (one != null) one.open();"],
])("%s needs no refusal", (_, ...code) => {
  expect(refusalOf(...code)).toEqual({ code: "sliced", message: "" });
});

/** `sliced` if there is none. The last text is the handler's body. */
function refusalOf(...texts: readonly string[]): { readonly code: string; readonly message: string } {
  const module = texts.slice(0, -1).join("\n");
  const source = `${PRELUDE}${FUNCTIONS}${GIVEN}\n${module}\nexport function h(text: string): void { const known: Act = given; known([], text); items.has(new Opener(text).open()); ${texts.at(-1)!} }`;
  const { handlers: reports, diagnostics } = buildWith(
    { ...buildInput({ "handlers/h.ts": source }), optimize: false },
    slicer,
  );
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const [plan] = reports.map((report) => report.plan);
  return plan?.kind === "recorded" ? plan.reason : { code: plan?.kind ?? "", message: "" };
}
