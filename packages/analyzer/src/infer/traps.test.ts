/**
 * Each member that counts as quiet runs with hostile operands, and may not trap. None is on the list of members that do not
 * run here.
 */
import { expect, test } from "vitest";
import { libraryMember } from "../lower/library.ts";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { call } from "../testing/run.ts";
import { QUIET_MEMBERS } from "./traps.ts";

const INTEGERS =
  "0 1 -1 2 3 36 65536 0x40000000 -0x40000000 0x60000000 -0x60000000 i32.MAX_VALUE i32.MAX_VALUE-1 i32.MIN_VALUE i32.MIN_VALUE+1";
const FLOATS =
  "0 -0.0 0.5 -0.5 1 -1 1.5 36.7 1e9 2147483648.5 -1e10 9.3e18 -1e19 1e300 -1e300 5e-324 NaN Infinity -Infinity f64.MAX_VALUE";
const STRINGS = [
  "",
  ..." | \\t\\n|a|aa|aaaaaaaaaaab|ab a|\\0|-|+ |0x|-0x|0b1|1e999|-1e-999|Infinity|.|1e".split("|"),
  ..."99999999999999999999999999|\\uD800|\\uDC00\\uD800|\\uD83D\\uDE00|\\u0130\\u00DF|\\u0391\\u03A3".split("|"),
];

/** The type and the values of the variables in statements. */
const VARIABLES: Readonly<Record<string, { readonly type: string; readonly values: string }>> = {
  ...each("i j", "i32", casts("i32", INTEGERS)),
  ...each("x y", "f64", casts("f64", FLOATS)),
  ...each("s t u", "string", `[${STRINGS.map((text) => `"${text}"`).join()}, "ab".repeat(300)]`),
  n: { type: "string | null", values: '[null, "", "a", "\\uD800"]' },
};

function each(names: string, type: string, list: string): typeof VARIABLES {
  return Object.fromEntries(names.split(" ").map((name) => [name, { type, values: list }]));
}

function casts(type: string, list: string): string {
  return `[${list
    .split(" ")
    .map((value) => `<${type}>(${value})`)
    .join()}]`;
}

/** The statement for all values of the variables that it has. */
function forAll(statement: string): string {
  let source = `{ ${statement}; }`;
  for (const name of Object.keys(VARIABLES)) {
    if (!new RegExp(`(?<![.\\w"'])${name}(?![\\w"'])`).test(statement)) continue;
    source = `for (let ${name}$ = 0; ${name}$ < ${name}s.length; ${name}$++) { const ${name} = ${name}s[${name}$]; ${source} }`;
  }
  return source;
}

interface Lists {
  readonly element: string;
  /** Elements of the longest list, and what is looked for. */
  readonly elements: readonly string[];
  readonly hasHoles: boolean;
}

const LISTS: readonly Lists[] = [
  { element: "i32", elements: INTEGERS.split(" "), hasHoles: false },
  { element: "u8", elements: ["0", "1", "255"], hasHoles: false },
  { element: "bool", elements: ["true", "false"], hasHoles: false },
  { element: "i64", elements: ["0", "i64.MIN_VALUE", "i64.MAX_VALUE"], hasHoles: false },
  { element: "f64", elements: FLOATS.split(" "), hasHoles: false },
  { element: "string", elements: ['""', '"a"', '"\\uD800"', '"ab".repeat(300)'], hasHoles: false },
  { element: "string", elements: ['"a"', '"b"'], hasHoles: true },
  { element: "string | null", elements: ["null", '""', '"a"'], hasHoles: false },
  { element: "Thing", elements: ["thing", "new Thing()"], hasHoles: false },
  { element: "Thing", elements: ["thing", "new Thing()"], hasHoles: true },
  { element: "Thing | null", elements: ["null", "thing"], hasHoles: false },
  { element: "i32[]", elements: ["[]", "[1, 2]"], hasHoles: false },
];

/** The functions that make the lists of each kind, by number. */
const MAKERS = LISTS.map(({ element, elements, hasHoles }, kind) => {
  const all = elements.map((value) => `<${element}>(${value})`);
  const long = Array.from({ length: 70 }, (_, at) => all[(at * 7) % all.length]!);
  const lists = ["", all[0]!, all.join(), long.join()].map((list) => `[${list}]`);
  if (hasHoles) lists.push(`new Array<${element}>(1)`, `new Array<${element}>(40)`);
  const cases = lists.map((list, at) => `if (at == ${at}) return ${list};`).join(" ");
  return `function lists${kind}(at: i32): (${element})[] { ${cases} return []; }`;
}).join("\n");

/** The statement for all lists `l`, each of them fresh, `v` being an element that they may hold. */
function forLists(statement: string, lists: readonly Lists[]): string {
  return lists
    .map((list) => {
      const { element, elements } = list;
      const filled = statement.replaceAll("E_", `(${element})`);
      return `for (let at = 0; at < 7; at++) { const v: ${element} = <${element}>(${elements.at(-1)!}); ${forAll(`const l = lists${LISTS.indexOf(list)}(at); ${filled}`)} }`;
    })
    .join("\n");
}

const KEYS = LISTS.filter(({ hasHoles, element }) => !hasHoles && element !== "i32[]");

/** The statement for all maps `m` from keys `k`, or sets. */
function forKeyed(make: string, statement: string): string {
  return KEYS.map(({ element, elements }) => {
    const keys = `[${elements.map((value) => `<${element}>(${value})`).join()}]`;
    const [type, fill] =
      make === "Map" ? [`Map<${element}, string | null>`, "m.set(f[a], null)"] : [`Set<${element}>`, "m.add(f[a])"];
    return `{ const f: (${element})[] = ${keys}; for (let a = -1; a < f.length; a++) for (let b = 0; b < f.length; b++) {
  const m = new ${type}(); if (a >= 0) ${fill}; const k = f[b]; for (let c = 0; c < 9; c++) { ${statement}; } } }`;
  }).join("\n");
}

const ORDERS = "-> 0|-> 1|-> -1|-> (order = order * 75 + 74) % 65537 - 32768".split("|").map((one) => one.slice(3));

const STRING_CASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    charAt: "s.charAt(i); s[i]",
    charCodeAt: "s.charCodeAt(i)",
    codePointAt: "s.codePointAt(i)",
    concat: "s.concat(t)",
    endsWith: "s.endsWith(t); s.endsWith(t, i)",
    startsWith: "s.startsWith(t); s.startsWith(t, i)",
    includes: "s.includes(t); s.includes(t, i)",
    indexOf: "s.indexOf(t); s.indexOf(t, i)",
    lastIndexOf: "s.lastIndexOf(t); s.lastIndexOf(t, i)",
    replace: "s.replace(t, u)",
    slice: "s.slice(i); s.slice(i, j)",
    split: "s.split(); s.split(n); s.split(t, i); s.split(n, i)",
    substring: "s.substring(i); s.substring(i, j)",
    "==": "s == t; s == n; n == s; n == null",
    "!=": "s != t; s != n; n != s",
    "<": "s < t",
    ">": "s > t",
    "<=": "s <= t",
    ">=": "s >= t",
    "+": "s + t",
    length: "s.length",
  }),
);

const ARRAY_CASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    length: "l.length",
    includes: "l.includes(v); l.includes(v, i)",
    indexOf: "l.indexOf(v); l.indexOf(v, i)",
    lastIndexOf: "l.lastIndexOf(v); l.lastIndexOf(v, i)",
    slice: "l.slice(); l.slice(i); l.slice(i, j)",
    concat: "l.concat(l); l.concat([])",
    reverse: "l.reverse()",
    push: "for (let c = 0; c < 20; c++) l.push(v)",
    unshift: "for (let c = 0; c < 20; c++) l.unshift(v)",
  }),
);

/** Members that call back with elements count as trapping if there are holes: that is asked where the list is known. */
const CALLING_BACK: ReadonlyMap<string, string> = new Map(
  Object.entries({
    sort: ORDERS.map((order) => `l.sort((a, b) => ${order})`).join("; "),
    forEach: "l.forEach((e) => {}); l.forEach((e, at, all) => { if (all.length < 99) all.push(e); })",
    some: "l.some((e) => false); l.some((e, at, all) => { all.length = at; return false; })",
    every: "l.every((e) => true); l.every((e, at, all) => { all.length = at; return true; })",
    findIndex: "l.findIndex((e) => false); l.findIndex((e, at, all) => { all.length = at; return false; })",
    findLastIndex: "l.findLastIndex((e) => false); l.findLastIndex((e, at, all) => { all.length = 0; return false; })",
    filter: "l.filter((e) => true); l.filter((e, at, all) => { all.length = at; return true; })",
    map: "l.map<E_>((e) => e); l.map<i32>((e, at, all) => { all.length = at; return 1; })",
    reduceRight:
      "l.reduceRight<i32>((sum, e) => sum + 1, 0); l.reduceRight<i32>((sum, e, at, all) => { all.length = 0; return 1; }, 0)",
  }),
);

const PRINTED = LISTS.filter(({ hasHoles, element }) => !hasHoles || element === "string");

const KEYED_CASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    has: "m.has(k)",
    set: "m.set(k, null); m.set(k, m.toString())",
    add: "m.add(k)",
    delete: "m.delete(k); m.delete(k)",
    clear: "m.clear()",
    size: "m.size",
    keys: "m.keys()",
    values: "m.values()",
    new: "",
  }),
);

const EXTREMES = "0 1 2 7 10 99 100 1000 99999 MAX_VALUE MAX_VALUE-1 MIN_VALUE MIN_VALUE+1".split(" ");

/** All that is done with a member. */
function caseOf(member: string): string | null {
  const [owner, name] = [member.slice(0, member.indexOf(".")), member.slice(member.indexOf(".") + 1)];
  if (owner === "String") {
    const source = STRING_CASES.get(name) ?? (/^(to|trim)/.test(name) ? `s.${name}()` : null);
    return source === null ? null : source.split("; ").map(forAll).join("\n");
  }
  if (owner === "Array") {
    if (name === "join") return forLists("l.join(); l.join(s)", PRINTED);
    if (name === "toString") return forLists("l.toString()", PRINTED);
    const plain = ARRAY_CASES.get(name);
    if (plain !== undefined) return forLists(plain, LISTS);
    const callback = CALLING_BACK.get(name);
    if (callback === undefined) return null;
    return callback
      .split("; l.")
      .map((one, at) =>
        forLists(
          at === 0 ? one : `l.${one}`,
          LISTS.filter(({ hasHoles }) => !hasHoles),
        ),
      )
      .join("\n");
  }
  if (owner === "Map" || owner === "Set") {
    const source = KEYED_CASES.get(name);
    return source === undefined ? null : forKeyed(owner, source);
  }
  if (owner === "Bool") return "true.toString(); false.toString();";
  if (owner === "F32" || owner === "F64") return forAll(`${owner === "F64" ? "x" : "(<f32>x)"}.toString()`);
  if (/^([IU](8|16|32|64)|[IU]size)$/.test(owner)) {
    const type = owner.toLowerCase();
    const extremes = EXTREMES.map((value) => `<${type}>(${value.startsWith("M") ? `${type}.${value}` : value})`);
    const calls = ["", "2", "3", "10", "16", "35", "36"].map((radix) => `z.toString(${radix});`);
    return `const zs: ${type}[] = [${extremes.join()}]; for (let at = 0; at < zs.length; at++) { const z = zs[at]; ${calls.join(" ")} }`;
  }
  if (owner === "NativeMath" || owner === "NativeMathf") {
    const of = (value: string): string => (owner === "NativeMath" ? value : `<f32>${value}`);
    const args = /^(atan2|hypot|imul|max|min|mod|pow|rem)$/.test(name) ? `${of("x")}, ${of("y")}` : of("x");
    return forAll(`${owner}.${name}(${name === "scalbn" ? `${of("x")}, i` : args})`);
  }
  if (owner === "Table") return forAll(`table.${name}(${{ all: "", prefix: "s", range: "s, t" }[name] ?? ""})`);
  if (owner === "Range") return forAll(`table.range(s, t).${name}(u)`);
  if (owner === "log") return forAll(`log.${name}(s)`);
  if (owner !== "") return null;
  switch (name) {
    case "log":
      return forAll("log(s)");
    case "parseInt":
      return `${forAll("parseInt(s)")} ${forAll("parseInt(s, i)")}`;
    case "parseFloat":
    case "parseTime":
    case "sha256":
      return forAll(`${name}(s)`);
    case "numberOf":
      return forAll("Number(s)");
    case "ascending":
    case "descending":
      return forAll(`${name}(i); ${name}(<i64>i << 32)`);
    case "entryPart":
      return forAll("byText.equal(s); byNumber.equal(i); byNumber.equal(<i64>i << 32); byFlag.equal(i > 0)");
    case "quoted":
      return forAll("JSON.stringify(s)");
    case "jsonOfFloat":
      return forAll("JSON.stringify(x)");
    case "isNaN":
    case "isFinite":
      return forAll(`${name}(x); ${name}(<f32>x)`);
    case "max":
    case "min":
      return `${forAll(`${name}(x, y); ${name}(<f32>x, <f32>y)`)} ${forAll(`${name}(i, j); ${name}(<i64>i, <i64>j << 32); ${name}(<u8>i, <u8>j)`)}`;
    case "sqrt":
      return forAll("sqrt(x); sqrt(<f32>x)");
    default:
      return `${forAll(`${name}(x); ${name}(<f32>x)`)} ${forAll(`${name}(i); ${name}(<i64>i << 32); ${name}(<u8>i)`)}`;
  }
}

const HEAD = `import { ascending, descending, Index, log, parseTime, sha256, Table } from "@radical/sdk";
const table = new Table<string>("table");
class Filed { text: string = ""; number: i64 = 0; flag: bool = false; }
const filed = new Table<Filed>("filed");
const byText = new Index<Filed>(filed, "text");
const byNumber = new Index<Filed>(filed, "number");
const byFlag = new Index<Filed>(filed, "flag");
class Thing { toString(): string { return "t"; } }
const thing = new Thing();
let order: i32 = 1;
${MAKERS}
${Object.entries(VARIABLES)
  .map(([name, { type, values }]) => `const ${name}s: (${type})[] = ${values};`)
  .join("\n")}
`;

/** Members whose handlers are one application: what is known of an application grows faster than it does. */
const MEMBERS_OF_A_BUILD = 12;

/** Those of the members whose handlers do not end with a result. */
function trappingOf(members: readonly string[]): readonly string[] {
  const bodies = members.map((member) => {
    const separator = member.indexOf(".");
    if (libraryMember(member.slice(0, separator), member.slice(separator + 1)) === null)
      throw new Error(`${member} is not in the library`);
    const body = caseOf(member);
    if (body === null) throw new Error(`${member} has no case`);
    return body;
  });
  // A read/write-set function has no checks of overflow.
  const handlers = bodies.map((body, index) => `/** @wrapping */ export function h${index}(): void {\n${body}\n}`);
  const build = buildWith(
    { ...buildInput({ "handlers/h.ts": HEAD + handlers.join("\n") }), optimize: false },
    { ...slicer, deriveReadWriteSets: () => [] },
  );
  expect(build.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return members.filter((_, index) => call(build, new Map(), `h${index}`).outcome.kind !== "result");
}

test("what counts as quiet does not trap", () => {
  const members = [...QUIET_MEMBERS];
  const builds = Array.from({ length: Math.ceil(members.length / MEMBERS_OF_A_BUILD) }, (_, at) =>
    members.slice(at * MEMBERS_OF_A_BUILD, (at + 1) * MEMBERS_OF_A_BUILD),
  );
  expect(builds.flatMap(trappingOf)).toEqual([]);
});
