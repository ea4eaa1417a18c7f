/**
 * Functions that capture: each program runs as a handler and as JavaScript, and answers the same.
 */
import { stripTypeScriptTypes } from "node:module";
import { describe, expect, test } from "vitest";
import { buildWith } from "../../pipeline.ts";
import { slicer } from "../../slicer.ts";
import { buildInput } from "../../testing/library.ts";
import { explore } from "../../testing/oracle.ts";
import { call } from "../../testing/run.ts";

const HEAD = `
  function times(count: i32, act: (at: i32) => void): void { for (let at = 0; at < count; at++) act(at); }
  function eachOf<T>(list: T[], act: (each: T) => void): void { for (let at = 0; at < list.length; at++) act(list[at]); }
  function mapped<T, R>(list: T[], change: (each: T, at: i32) => R): R[] {
    const all: R[] = [];
    for (let at = 0; at < list.length; at++) all.push(change(list[at], at));
    return all;
  }
  function both(one: () => void, other: () => void): void { one(); other(); one(); }
  function down(depth: i32, act: (at: i32) => void): void { if (depth > 0) { act(depth); down(depth - 1, act); act(-depth); } }
  function passing(count: i32, act: (at: i32) => void): void { times(count, act); if (count > 2) down(2, act); }
  function folded(count: i32, start: i32, step: (sum: i32, at: i32) => i32): i32 {
    let sum = start;
    for (let at = 0; at < count; at++) sum = step(sum, at);
    return sum;
  }
`;

/** The body of a handler with a parameter \`n\` that returns a text, by what it shows. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "a comparison uses a variable, and equal elements keep their order": `
    const order = n % 2 == 0 ? 1 : -1;
    const words = ["bb", "a", "cc", "ddd", "e", "ff", "g"];
    words.sort((one, other) => (one.length - other.length) * order);
    return words.join();`,
  "a comparison with a loop and several returns": `
    const words = ["bb", "a", "cc", "ddd", "e", "dda", "b"];
    let returned = 0;
    words.sort((one, other) => {
      if (one.length != other.length) return other.length - one.length;
      for (let at = n % 2; at < one.length; at++) {
        const difference = one.charCodeAt(at) - other.charCodeAt(at);
        if (difference != 0) return difference;
      }
      returned = 1;
      return 0;
    });
    return words.join() + returned.toString();`,
  "a comparison of numbers with a fraction": `
    const factor = n - 2.5;
    const list: f64[] = [0.5, 0.25, 3.5, 0.75];
    return list.sort((one, other) => (one - other) * factor).join();`,
  "a sorted copy leaves the array as it is": `
    const list = [n, 3, 5, 1, 4];
    const sorted = list.toSorted((one, other) => other - one + 0 * n);
    return sorted.join() + "/" + list.join();`,
  "many elements": `
    const list: i32[] = [];
    for (let at = 0; at < 100; at++) list.push((at * 37 + n) % 64);
    const places = list.map((each, at) => each * 128 + at);
    places.sort((one, other) => (one >> 7) - (other >> 7) + 0 * n);
    return places.join();`,
  "a variable is changed in each call": `
    let sum = 1;
    let text = "";
    times(n, (at) => { sum = sum * 2 + at; text += sum.toString() + ","; });
    return text + sum.toString();`,
  "arguments before and behind the function run first": `
    let at = n;
    let text = "";
    function_last((at = at + 1), (round) => { text += (at + round).toString() + ","; at += 10; });
    function_first((round) => { text += (at + round).toString() + ";"; at += 1; }, (at = at - 3));
    return text + at.toString();`,
  "the receiver of a method runs first": `
    let text = "";
    let at = n;
    const first = new Shelf("a");
    (at++ > 3 ? first : new Shelf("b" + at.toString())).visit((at = at + 2), (word) => { text += word + at.toString() + ","; });
    return text + at.toString();`,
  "this is that of the method": `
    const shelf = new Shelf("s");
    return shelf.count(n) + shelf.counted.toString();`,
  "two functions of one call share a variable": `
    let at = n;
    let text = "";
    both(() => { at += 2; text += "a" + at.toString(); }, () => { at *= 3; text += "b" + at.toString(); });
    return text + "/" + at.toString();`,
  "a function only reads what another one of the call changes": `
    let at = n;
    let text = "";
    both(() => { text += at.toString() + ","; }, () => { at += 5; });
    return text;`,
  "functions in functions": `
    let key = "";
    let rounds = 0;
    times(2, (outer) => {
      let own = outer;
      key += "o";
      times(n, (inner) => {
        own += inner + 1;
        key += own.toString();
        eachOf(["x", "y"], (each) => { rounds++; key += each + (own + rounds).toString(); });
      });
      key += own.toString();
    });
    return key + rounds.toString();`,
  "passed on through functions that call themselves": `
    let sum = 0;
    let text = "";
    passing(n, (at) => { sum = sum * 2 + at; text += sum.toString() + ","; });
    return text;`,
  "types that nobody writes": `
    const prefix = "p" + n.toString();
    const words = mapped([1, n, 3], (each, at) => prefix + (each + at).toString());
    const lengths = mapped(words, (each) => each.length);
    const nested = mapped(lengths, (each) => [each, n]);
    return words.join() + lengths.join() + nested.map((each) => each.join()).join("|");`,
  "a value behind several returns": `
    let asked = 0;
    const sum = folded(n, 1, (sum, at) => {
      asked++;
      if (at == 1) return sum + 100;
      for (let i = 0; i < 3; i++) { if (i + at > 3) { asked += 10; return sum * 2; } }
      switch (at) { case 0: asked += 100; return sum + asked; default: break; }
      return sum + 1;
    });
    return sum.toString() + "/" + asked.toString();`,
  "a function that may be missing": `
    let text = "";
    maybe(n, (at) => { text += "m" + at.toString(); });
    maybe(n);
    return text + known;`,
  "loops over arrays inside of the function that is called": `
    const limit = n;
    let asked = "";
    const found = chosen(["a", "bbb", "cc", "dddd"], (word) => { asked += word; return word.length > limit; }, (one, other) => (limit > 2 ? other.length - one.length : one.length - other.length));
    return found.join() + "/" + asked;`,
  "a constant that is called and passed on": `
    let total = 0;
    const add = (by: i32): i32 => { total += by; return total; };
    add(n);
    total *= 2;
    const first = add(1);
    times(3, (at) => { total += 100; add(at); });
    total -= 1;
    times(2, add_once(add));
    return total.toString() + "/" + first.toString();`.replace(
    "times(2, add_once(add));",
    "passing(n, (at) => { add(at); });",
  ),
  "a constant is given to functions and methods": `
    let seen = 0;
    const isWanted = (each: i32): bool => { seen += each; return each > n; };
    const found = [1, 5, 3].filter(isWanted);
    const first = [2, 9].find(isWanted);
    const which = folded(2, 0, (sum, at) => (isWanted(at + 3) ? sum + 1 : sum));
    return found.join() + (first == null ? "-" : "+") + which.toString() + "/" + seen.toString();`,
  "a constant calls itself": `
    let calls = 0;
    const sum = (at: i32): i32 => { calls++; return at <= 0 ? 0 : at + sum(at - 1); };
    const all = sum(n) + sum(2);
    return all.toString() + "/" + calls.toString();`,
  "a constant calls another one": `
    let at = n;
    let text = "";
    const note = (word: string): void => { text += word + at.toString(); };
    const step = (): void => { at += 1; note("s"); at += 1; note("t"); };
    step();
    note("-");
    both(step, () => { text += "|" + at.toString(); });
    times(2, (round) => { at += 10; step(); note("r"); });
    return text;`,
  "what a constant uses changes behind its declaration": `
    let factor = 2;
    const scaled = (by: i32): i32 => by * factor;
    const first = scaled(n);
    factor = 5;
    const second = scaled(n);
    for (let at = 0; at < 2; at++) { factor += at; times(1, (round) => { factor += scaled(1); }); }
    return first.toString() + "/" + second.toString() + "/" + factor.toString();`,
  "in a loop, in its condition and on the right of &&": `
    let text = "";
    for (let i = 0; i < 3; i++) {
      let own = i;
      if (n > i && folded(2, 0, (sum, at) => sum + at + (own += 1)) > 2) text += "i" + own.toString();
      while (folded(1, 0, (sum, at) => own++) < 3) text += "w" + own.toString();
      do own += 2; while (folded(1, 0, (sum) => own) < 6);
      text += own.toString();
    }
    return text;`,
  "null that was tested": `
    const word: string | null = n % 2 == 0 ? null : "w" + n.toString();
    if (word == null) return "none";
    let text = "";
    times(n, (at) => { text += word.charAt(at % word.length); });
    return text;`,
  "a named function where AssemblyScript has no method": `
    const found = ["a", "bbb"].find(isLong);
    return (found == null ? "-" : found) + [3, 1, 2].toSorted(descending).join() + [0.5, 0.1].sort(ascending).join() + n.toString();`,
};

const DECLARED = `
  function function_last(count: i32, act: (at: i32) => void): void { times(count & 3, act); }
  function function_first(act: (at: i32) => void, count: i32): void { times(count & 3, act); }
  let known = "";
  function maybe(n: i32, act?: (at: i32) => void): void {
    known = "k";
    act?.(n);
    if (act == null) known += "none";
    if (act != null && n > 2) act(n + 1);
  }
  function chosen(words: string[], isWanted: (word: string) => bool, compare: (one: string, other: string) => i32): string[] {
    const all = words.filter(isWanted);
    const first = words.find(isWanted);
    if (first != null) all.push(first);
    all.forEach((word) => { if (isWanted(word + "!")) all.length; });
    return all.sort(compare);
  }
  function isLong(word: string): bool { return word.length > 2; }
  function descending(one: i32, other: i32): i32 { return other - one; }
  function ascending(one: f64, other: f64): f64 { return one - other; }
  class Shelf {
    counted: i32 = 0;
    name: string;
    constructor(name: string) { this.name = name; }
    visit(count: i32, act: (word: string) => void): void { for (let at = 0; at < (count & 3); at++) act(this.name + at.toString()); }
    count(n: i32): string {
      let text = "";
      this.visit(n, (word) => {
        this.counted += word.length;
        text += this.name + this.counted.toString();
        times(2, (at) => { this.counted += at; text += this.name; });
      });
      return text;
    }
  }
`;

const NAMES = Object.keys(PROGRAMS);
const SOURCE =
  HEAD +
  DECLARED +
  NAMES.map((name, index) => `export function p${index}(n: i32): string { ${PROGRAMS[name]} }`).join("\n");

describe("as in JavaScript", async () => {
  const built = buildWith(buildInput({ "handlers/closures.ts": SOURCE }), slicer);
  const script = `const bool = 0; ${stripTypeScriptTypes(SOURCE)}`;
  const module = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as Record<
    string,
    (n: number) => string
  >;

  test("every program is accepted, and sliced", () => {
    expect(built.diagnostics).toEqual([]);
    expect(built.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
  });

  test.each(NAMES.map((name, index) => [name, `p${index}`] as const))("%s", (_, handler) => {
    for (let n = 0; n < 7; n++)
      expect([n, call(built, new Map(), handler, { n }).result]).toEqual([n, module[handler]!(n)]);
  });
});

/** Code, and the text at its place. */
function refusals(text: string): string[] {
  const source = `${HEAD}${DECLARED}${text}`;
  const { diagnostics } = buildWith(buildInput({ "handlers/a.ts": source }), slicer);
  return diagnostics.map(({ code, primary }) => `${code}: ${source.slice(primary.start, primary.end)}`);
}

/** Where a function that captures would be kept, or can't be followed, and the place that is told. */
const REFUSED: readonly (readonly [source: string, told: readonly string[]])[] = [
  [
    "export function h(n: i32): i32 { const all: ((at: i32) => i32)[] = []; all.push((at) => at + n); return all.length; }",
    ["closure: n"],
  ],
  [
    "function made(n: i32): () => i32 { return () => n; } export function h(n: i32): i32 { return made(n)(); }",
    ["closure: n"],
  ],
  ["export function h(n: i32): i32 { const f = (): i32 => n; const g = f; return g(); }", ["closure: f"]],
  [
    "function kept(act: () => void): void { const all = [act]; all[0](); } export function h(n: i32): void { let m = n; kept(() => { m++; }); }",
    ["closure: act"],
  ],
  [
    "function kept(act: () => void): () => void { return act; } export function h(n: i32): void { let m = n; kept(() => { m++; })(); }",
    ["closure: act"],
  ],
  [
    "class Keeper { act: (() => void) | null = null; keep(act: () => void): void { this.act = act; } } export function h(n: i32): void { let m = n; new Keeper().keep(() => { m++; }); }",
    ["closure: act"],
  ],
  [
    "function changing(act: () => void): void { act = (): void => {}; act(); } export function h(n: i32): void { let m = n; changing(() => { m++; }); }",
    ["closure: () => { m++; }"],
  ],
  [
    "class A { each(act: () => void): void { act(); } } class B extends A { each(act: () => void): void {} } export function h(n: i32): void { let m = n; const a: A = n > 2 ? new A() : new B(); a.each(() => { m++; }); }",
    ["closure: a.each(() => { m++; })"],
  ],
  [
    "function deeper(n: i32, act: () => i32): i32 { return n == 0 ? act() : deeper(n - 1, () => act() + 1); } export function h(n: i32): i32 { return deeper(n, () => n); }",
    ["closure: () => act() + 1"],
  ],
  [
    "export function h(n: i32): i32 { let at = n; const f = (): i32 => at++; { let at = 5; f(); at++; } return at; }",
    ["closure: f"],
  ],
  [
    "export function h(n: i32): i32 { let at = n; const f = (): void => { at++; }; const g = (): void => { at += 2; }; both(f, g); return at; }",
    ["closure: g"],
  ],
  ["export function h(n: i32): void { let m = n; const take = times; take(2, (at) => { m += at; }); }", ["closure: m"]],
];

test.each(REFUSED)("refused: %s", (source, told) => {
  expect(refusals(source)).toEqual(told);
});

test("a function that uses constants with numbers is sliced", () => {
  const built = buildWith(
    {
      ...buildInput({
        "handlers/h.ts": `import { Table } from "@radical/sdk";
          const notes = new Table<string>("notes");
          function keysOf(texts: string[], key: (text: string) => string): string[] { return texts.map((text) => key(text)); }
          export function h(texts: string[]): i32 {
            const one = 1; const large: i64 = 5; const low = -3; const half: f64 = 3;
            const key = (text: string): string => \`\${text.length + one}\${large * 1000000000}\${2 - low}\${half / 2}\`;
            for (const each of keysOf(texts, key)) notes.put(each, "");
            return texts.length;
          }`,
      }),
      optimize: false,
    },
    slicer,
  );
  expect(built.diagnostics).toEqual([]);
  expect(built.handlers.map(({ plan }) => plan.kind)).toEqual(["sliced"]);
  expect(explore(built, { strings: ["a", "bb"], runs: 5, handlers: ["h"] }).extraWrites).toBe(0);
});
