import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "../pipeline.ts";
import type { HandlerReport } from "../report.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";
import { explore } from "../testing/oracle.ts";

/** `slow` and `slowly` are expensive by estimate, which is all that counts here. */
const HEAD = `import { Table, abort, uuid } from "@radical/sdk";
class Item { n: i32 = 0; s: string = ""; next: Item | null = null; list: string[] = []; }
const A = new Table<Item>("A");
const B = new Table<Item>("B");
/** @wrapping */
function slow(text: string): i32 { let h = 7; for (let i = 0; i < 30000; i++) { if (i > 9) break; h = h * 33 + text.charCodeAt(i % text.length); } return (h >> 5) & 3; }
let count: i32 = 0;
`;

/** The application of all cases: each is the text of a handler `h` and of functions that it calls. */
class Cases {
  readonly #sources: string[] = [];
  #built: BuildResult | null = null;

  /** Asks about the handler, which was run against random items without a miss. */
  add(source: string): () => HandlerReport {
    const name = `h${this.#sources.length}`;
    this.#sources.push(source.replaceAll(/\bh\(/g, `${name}(`));
    return () => this.#explored(name);
  }

  #explored(name: string): HandlerReport {
    this.#built ??= buildWith(
      { ...buildInput({ "handlers/h.ts": HEAD + this.#sources.join("\n") }), optimize: false },
      slicer,
    );
    const problem = this.#built.diagnostics.find(({ severity }) => severity !== "info");
    if (problem !== undefined) throw new Error(problem.message);
    explore(this.#built, {
      strings: ["a", "b", "c", "ca"],
      integers: [0, 1, 2, 3, 4],
      runs: 50,
      callsPerRun: 4,
      handlers: [name],
    });
    const handler = this.#built.handlers.find((candidate) => candidate.name === name);
    if (handler?.plan.kind !== "sliced") throw new Error(`${name} is not sliced`);
    return handler;
  }
}

const cases = new Cases();

function kinds({ transformations }: HandlerReport): string[] {
  return transformations.map(({ kind }) => kind);
}

describe("branches with an expensive condition become both sides", () => {
  test.each(
    [
      [
        "what a jump rules out",
        "export function h(a: string): void { if (slow(a) > 1) { const i = A.get(a); if (i == null) return; B.get('k' + i.s); } else { B.get('x'); } A.has('y'); }",
        ["union"],
      ],
      [
        "what a jump out of a switch rules out",
        "export function h(a: string): void { switch (slow(a)) { case 0: { const i = A.get(a); if (i == null) break; B.get('k' + i.s); } case 1: B.get('x'); } A.has('y'); }",
        ["union"],
      ],
      [
        "if and else",
        "export function h(a: string): void { if (slow(a) > 1) A.put(a, new Item()); else B.get(a); }",
        ["union"],
      ],
      [
        "a side that ends",
        "export function h(a: string): string { if (slow(a) > 1) { B.get(a); return 'no'; } A.get(a); return 'yes'; }",
        ["union"],
      ],
      [
        "a jump out of a switch",
        "export function h(a: string, n: i32): void { switch (n) { case 1: if (slow(a) > 1) break; A.get('x'); case 2: B.get('y'); } }",
        ["dropped-guard"],
      ],
      [
        "an early end",
        "export function h(a: string): string { if (slow(a) > 1) return 'no'; A.get(a); return 'yes'; }",
        ["dropped-guard"],
      ],
      [
        "an abort in a callee",
        "function check(a: string): void { if (slow(a) > 1) abort(403, 'no', a); }\nexport function h(a: string): void { check(a); A.get(a); }",
        ["dropped-guard"],
      ],
      [
        "a return of a callee",
        "function note(a: string): void { if (slow(a) > 1) { B.get(a); return; } A.get(a); }\nexport function h(a: string): void { note(a); A.get(a + 'x'); }",
        ["union"],
      ],
      [
        "a ternary and short circuits",
        "export function h(a: string): bool { slow(a) > 1 ? A.has(a) : B.has(a); const known = slow(a) == 2 && B.has(a + 'x'); return known; }",
        ["union", "union"],
      ],
      [
        "a switch that falls through",
        "export function h(a: string): void { switch (slow(a)) { case 0: A.get(a); case 1: B.get(a); break; default: A.get(a + 'x'); } B.get('end'); }",
        ["union"],
      ],
      [
        "jumps in a loop that counts",
        "export function h(all: string[]): void { for (let i = 0; i < all.length; i++) { if (slow(all[i]) == 1) continue; if (slow(all[i]) == 2) break; A.get(all[i]); } B.get('end'); }",
        ["dropped-guard", "dropped-guard"],
      ],
      [
        "a loop's condition",
        "export function h(all: string[]): void { for (let i = 0; i < all.length && slow(all[i]) > 0; i++) A.get(all[i]); B.get('end'); }",
        ["dropped-guard"],
      ],
      [
        "draws at different places",
        "export function h(a: string): void { if (slow(a) > 1) A.put(uuid(), new Item()); B.put(uuid(), new Item()); }",
        ["union"],
      ],
    ].map(([name, source, expected]) => [name, cases.add(source as string), expected] as const),
  )("%s", (_, handler, expected) => {
    expect(kinds(handler())).toEqual(expected);
  });

  const cheap = cases.add(
    "export function h(a: string): void { const i = A.get(a); if (i == null || slow(i.s + 'x') > 1) { B.has(a); return; } A.get(i.s + 'y'); }",
  );
  test("what is cheap of a condition stays", () => {
    const handler = cheap();
    expect(kinds(handler)).toEqual(["union"]);
    expect(handler.rwSource).toContain("if (i == null)");
    expect(handler.rwSource).not.toContain("slow");
  });

  const both = cases.add(
    "export function h(a: string): void { const n = slow(a); if (n > 1) A.get(a); if (n > 2) B.get(a); }",
  );
  const needed = cases.add(
    "export function h(a: string): void { const n = slow(a); if (n > 1) A.get(a); B.get('k' + n.toString()); }",
  );
  test("only where it saves much: two conditions on one expensive value go together or not at all", () => {
    expect(kinds(both())).toEqual(["union", "union"]);
    expect(kinds(needed())).toEqual([]);
  });

  test.each(
    [
      ["if (slow(a) > 1) return; A.put(a, new Item());", true],
      ["if (slow(a) > 1) A.put(a, new Item()); else B.get(a);", true],
      ["if (slow(a) > 1) A.put(a, new Item()); else B.put(a, new Item());", false],
      ["if (slow(a) > 1) A.get(a); else B.get(a);", false],
      ["B.put(a, new Item()); if (slow(a) > 1) A.put(a, new Item());", false],
    ].map(([body, writer]) => [body, cases.add(`export function h(a: string): void { ${body} }`), writer] as const),
  )("whether executions that write nothing are said to write: %s", (_, handler, writer) => {
    expect(handler().transformations.map(({ makesWriter }) => makesWriter)).toEqual([writer]);
  });
});

/** Each would be unsound without the rule that it stands under. */
describe("not where it would be wrong", () => {
  test.each(
    [
      ["value not needed", "export function h(a: string): void { A.get(slow(a) > 1 ? 'x' : 'y'); }"],
      [
        "value not needed",
        "function name(a: string): string { if (slow(a) > 1) return 'x'; return 'y'; }\nexport function h(a: string): void { A.get(name(a)); }",
      ],
      [
        "defines nothing live: behind the branch",
        "export function h(a: string): void { let k = 'x'; if (slow(a) > 1) k = 'y'; A.get(k); }",
      ],
      [
        "defines nothing live: in the other side",
        "export function h(a: string): void { let k = 'x'; if (slow(a) > 1) { k = 'y'; A.get(k); } else { B.get(k); } }",
      ],
      [
        "defines nothing live: on the heap",
        "export function h(a: string): void { const i = new Item(); if (slow(a) > 1) { i.s = 'q'; A.get(i.s); } B.get('k' + i.s); }",
      ],
      [
        "defines nothing live: in a table that is read again",
        "export function h(a: string): void { if (slow(a) > 1) { const i = new Item(); i.s = 'z'; A.put(a, i); } const j = A.get(a); if (j != null) B.get('k' + j.s); }",
      ],
      [
        "defines nothing live: through a callee",
        "function next(): i32 { count++; A.get('n' + count.toString()); return count; }\nexport function h(a: string): void { if (slow(a) > 1) next(); B.get('k' + count.toString()); }",
      ],
      [
        "defines nothing live: draws",
        "export function h(a: string): void { for (let i = 0; i < 2; i++) { if (slow(a + i.toString()) > 1 || i == 1) A.put(uuid(), new Item()); } }",
      ],
      [
        "defines nothing live: behind a dropped continue",
        "export function h(all: string[]): void { let n = 0; for (let i = 0; i < all.length; i++) { if (slow(all[i]) > 1) continue; n++; A.get(n.toString()); } B.get('k' + n.toString()); }",
      ],
      [
        "defines nothing live: behind a dropped return",
        "function bump(a: string): void { if (slow(a) > 1) return; count++; }\nexport function h(a: string): void { count = 0; bump(a); B.get('k' + count.toString()); }",
      ],
      [
        "defines nothing live: a case that falls into the next",
        "export function h(a: string): void { let k = 'x'; switch (slow(a)) { case 0: k = 'y'; case 1: A.get(k); } }",
      ],
      [
        "does not leave: a callee of a side that ends the execution",
        "function demand(a: string): void { if (a.length < 2) throw new Error('short'); }\nexport function h(a: string): void { if (slow(a) > 1) demand(a); A.get(a); }",
      ],
      [
        "does not leave: a jump behind a dropped one",
        "export function h(all: string[]): void { for (let i = 0; i < all.length; i++) { if (slow(all[i]) > 1) continue; if (all[i] == 'a') break; A.get(all[i]); } }",
      ],
      [
        "does not trap: an element that may not be there",
        "export function h(a: string, all: string[]): void { if (slow(a) > 1) A.get(all[2]); B.get(a); }",
      ],
      [
        "does not trap: in a callee",
        "function last(all: string[]): string { return all.pop(); }\nexport function h(a: string, all: string[]): void { if (slow(a) > 1) A.get(last(all)); B.get(a); }",
      ],
      [
        "does not trap: null",
        "export function h(a: string): void { const i = A.get(a); if (slow(a) > 1) B.get(i!.s + 'k'); A.get('end'); }",
      ],
      [
        "does not trap: a radix",
        "export function h(a: string, n: i32): void { if (slow(a) > 1) A.get('k' + n.toString(n)); if (slow(a) > 2) A.get('k' + n.toString(1)); B.get(a); }",
      ],
      [
        "does not trap: division",
        "export function h(a: string, n: i32): void { if (slow(a) > 1) A.get(((7 / n) as i32).toString()); B.get(a); }",
      ],
      [
        "ends by itself: the loop around a dropped jump",
        "export function h(a: string): void { let k = a; while (true) { if (slow(k) == 1) break; k += 'x'; A.get(k); } B.get('end'); }",
      ],
      [
        "ends by itself: a loop in a side",
        "export function h(a: string, n: i32): void { if (slow(a) > n) for (let i = n; i != 3; i++) A.get('k' + (i & 7).toString()); B.get('end'); }",
      ],
      [
        "ends by itself: a bound that the counter never gets to",
        "export function h(a: string, n: i32): void { const bound: i64 = n > 3 ? i64.MAX_VALUE : 2; if (slow(a) > n) for (let i = 0; i < bound; i++) if (i < 0) B.has('k'); A.get(a); }",
      ],
      [
        "ends by itself: a bound that no integer gets to",
        "export function h(a: string, n: i32): void { const bound: f64 = n > 3 ? Infinity : 2; if (slow(a) > n) for (let i = 0; i < bound; i++) if (i < 0) B.has('k'); A.get(a); }",
      ],
      [
        "does not trap: what stands for an argument that is left out",
        "function askOther(key: string, all: string[], other: string = all[1]): void { B.has(key + other); }\nexport function h(a: string, all: string[]): void { const asked = askOther; if (slow(a) > 1) asked(a, all); A.get(a); }",
      ],
      [
        "ends by itself: what stands for an argument that is left out",
        "function far(n: i32): i32 { let i = n; while (i != 2) i = i < 2 ? i + 1 : i; return i; }\nfunction askFar(n: i32, key: i32 = far(n)): void { B.has(key.toString()); }\nexport function h(a: string, n: i32): void { const asked = askFar; if (slow(a) > n) asked(n); A.get(a); }",
      ],
      [
        "does not recur: what stands for an argument that is left out",
        "function askAgain(n: i32, key: string = again(n)): void { B.has('k' + key); }\nfunction again(n: i32): string { if (n <= 0) return 'x'; const asked = askAgain; asked(n < 3 ? n - 1 : n); return 'y'; }\nexport function h(a: string, n: i32): void { const asked = askAgain; if (slow(a) > n) asked(n); A.get(a); }",
      ],
      [
        "does not recur",
        "function walk(a: string, n: i32): void { A.get('k' + (n & 3).toString()); if (n > 3 && slow(a) >= 0) return; walk(a, n + 1); }\nexport function h(a: string): void { walk(a, 0); }",
      ],
      [
        "defines nothing live: a handler that calls itself",
        "let ended = 'init';\nexport function h(a: string, n: i32): void { if (n > 0) { h(a + 'x', n - 1); A.get(ended); } if (slow(a) > 1) return; B.get('behind'); ended = 'other'; }",
      ],
      [
        "does not trap: an element that was never set",
        "export function h(a: string): void { const list = new Array<string>(2); list[0] = a; if (slow(a) > 1) for (let i = 0; i < list.length; i++) B.get(list[i]); A.get(a); }",
      ],
      [
        "does not trap: a callback on an element that was never set",
        "export function h(a: string): void { const list: string[] = []; list[2] = a; if (slow(a) > 1) list.forEach((text) => { B.has(text + 'k'); }); A.get(a); }",
      ],
      [
        "does not trap: an element after counting",
        "export function h(a: string, list: string[]): void { if (slow(a) > 1) for (let i = 0; i < list.length; i++, B.has(list[i])) {} A.get(a); }",
      ],
      [
        "does not trap: an element before the bound is asked for",
        "export function h(a: string, list: string[]): void { if (slow(a) > 1) for (let i = 0; B.has(list[i]) && i < list.length; i++) {} A.get(a); }",
      ],
      [
        "does not trap: a counter that moves in the condition",
        "export function h(a: string, list: string[]): void { if (slow(a) > 1) for (let i = 0; i++ < list.length; ) B.has(list[i]); A.get(a); }",
      ],
      [
        "a key that no store takes",
        "export function h(a: string, n: i32): void { if (slow(a) > 1) B.get(n > 2 ? '' : 'y'); A.get(a); }",
      ],
      [
        "too many accesses",
        "export function h(a: string): void { if (slow(a) > 1) for (let i = 0; i < 100000; i++) { B.get(i.toString()); if (slow(i.toString()) > 0) break; } A.get(a); }",
      ],
      [
        "a jump out of a switch that stays",
        "export function h(a: string, n: i32): void { let k = 'p'; switch (n) { case 1: if (slow(a) > 1) break; A.get('x'); case 2: B.get('y'); k = 'q'; } A.get(k); }",
      ],
    ].map(([rule, source]) => [rule, cases.add(source!)] as const),
  )("%s", (_, handler) => {
    expect(handler().plan.kind).toBe("sliced");
  });
});

const GATHER =
  "const list: Item[] = []; for (let i = 0; i < all.length; i++) { const item = A.get(all[i]); if (item == null) continue; item.n = slow(item.s + 'x'); list.push(item); }";
const gathered = (body: string): string => `export function h(all: string[], n: i32): void { ${GATHER} ${body} }`;
const SORT = "list.sort((x, y) => x.n - y.n)";
const ranked = (body: string): string => gathered(`${SORT}; ${body}`);
const VISIT = "for (let i = 0; i < best.length; i++) B.get('k' + best[i].s);";

describe("ranked candidates are all accessed", () => {
  test.each(
    [
      ["the best", "for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s);"],
      [
        "a page",
        "for (let i = n; i < list.length && i < n + 2; i++) { const by = B.get('k' + list[i].s); if (by == null) continue; A.has(by.s + 'y'); }",
      ],
      [
        "two loops",
        "for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s); for (let i = 0; i < 1 && i < list.length; i++) A.put(list[i].s + 'z', new Item());",
      ],
      ["a slice", `const best = list.slice(0, 2); ${VISIT}`],
      ["a slice of a slice, reversed", `const best = list.reverse().slice(n).slice(0, 2); ${VISIT}`],
      ["forEach", "list.slice(0, 2).forEach((item) => { if (B.get('k' + item.s) == null) return; A.has('x'); });"],
      [
        "filter and map",
        "const best = list.slice(0, 2).filter((item) => item.s.length < 2).map<string>((item) => 'k' + item.s); for (let i = 0; i < best.length; i++) { B.get(best[i]); }",
      ],
    ]
      .map(([name, body]) => [name, cases.add(ranked(body!))] as const)
      .concat([
        ["one expression", cases.add(gathered(`const best = ${SORT}.slice(0, 2); ${VISIT}`))],
        ["visited at once", cases.add(gathered(`${SORT}.slice(n, n + 2).forEach((item) => { B.get(item.s); });`))],
        [
          "a sorted copy",
          cases.add(
            gathered(
              `const best = list.slice(0).sort((x, y) => x.n - y.n); if (list.length > 1) A.has(list[1].s); ${VISIT.replace("best.length", "best.length && i < 2")}`,
            ),
          ),
        ],
        [
          "a function that ranks",
          cases.add(
            `function ordered(list: Item[]): Item[] { list.sort((x, y) => x.n - y.n); return list; }\n${gathered(`const best = ordered(list); ${VISIT.replace("best.length", "best.length && i < n")}`)}`,
          ),
        ],
        [
          "a function that gathers, ranks and selects",
          cases.add(
            `function select(all: string[], n: i32): Item[] { ${GATHER} return ${SORT}.slice(0, n); }\nexport function h(all: string[]): void { const first = select(all, 2); for (let i = 0; i < first.length; i++) { const item = first[i]; B.get('k' + item.s); } }`,
          ),
        ],
        [
          "a list of the best that is visited by a function",
          cases.add(
            `function visit(best: Item[]): void { ${VISIT} }\n${ranked("visit(list.slice(0, 2)); visit(list.slice(2, 3));")}`,
          ),
        ],
      ]),
  )("%s", (_, handler) => {
    expect(kinds(handler())).toEqual(["widening"]);
  });

  test.each(
    [
      [
        "order is not read: elsewhere",
        "for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s); if (list.length > 0) B.get('f' + list[0].s);",
      ],
      [
        "order is not read: a table",
        "for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s); for (let i = 0; i < list.length; i++) if (i == 1) A.get(list[i].s);",
      ],
      ["rank is not read", "for (let i = 0; i < list.length && i < 2; i++) B.get(list[i].s + i.toString());"],
      [
        "defines nothing live: in the next round",
        "let k = 'k'; for (let i = 0; i < list.length && i < 2; i++) { B.get(k + list[i].s); k = list[i].s; }",
      ],
      [
        "defines nothing live: behind the loop",
        "let k = 'k'; for (let i = 0; i < list.length && i < 2; i++) { B.get(list[i].s + 'k'); k = list[i].s; } B.get('b' + k);",
      ],
      [
        "does not leave",
        "for (let i = 0; i < list.length && i < 2; i++) { B.get('k' + list[i].s); if (n == 1) break; } B.get('end');",
      ],
      [
        "does not trap",
        "for (let i = 0; i < list.length && i < 2; i++) { B.get('k' + list[i].list[0]); } B.get('end');",
      ],
      [
        "starts with the element",
        "for (let i = n - 2; i < list.length && i < 2; i++) { A.get('first'); B.get('k' + list[i].s); }",
      ],
      [
        "starts with the element: not with a loop's own start",
        "for (let i = 0; i < n; i++) { for (let j = A.has('first') ? 0 : 1; j < list[i].n && j < 3; j++) B.get('x'); B.get('k' + list[i].s); }",
      ],
      [
        "starts with the element: not with a callback of map",
        "for (let i = 0; i < n; i++) { const t = all.map<i32>((k) => { A.get(k + '!'); return 0; }).length + list[i].n; B.get('k' + list[i].s); }",
      ],
      [
        "bounds have no effects: a callback of filter",
        "for (let i = 0; i < list.length && i < all.filter((k) => A.has(k + '!')).length; i++) B.get('k' + list[i].s);",
      ],
      [
        "starts with the element: a loop that starts with something else",
        "for (let i = n - 2; i < 2 && i < list.length; i++) { do { A.get('first'); } while (list[i].n > 9); B.get('k' + list[i].s); }",
      ],
      [
        "starts with the element: not with a callback",
        "const texts = ['q']; for (let i = n - 2; i < 2 && i < list.length; i++) { if (texts.some((text) => A.has(text)) && list[i].n > 9) continue; B.get('k' + list[i].s); }",
      ],
      [
        "bounds have no effects: a callback",
        "for (let i = 0; i < list.findIndex((item) => B.has('f' + item.s)); i++) A.get(list[i].s + 'x');",
      ],
      [
        "bounds have no effects: a change",
        "const limits = [1, 2, 3, 4]; for (let i = 0; i < list.length && i < limits.pop(); i++) A.get(list[i].s + 'x'); B.get('k' + limits.length.toString());",
      ],
      [
        "order is not read: an element of a slice",
        `const best = list.slice(0, 2); ${VISIT} if (best.length > 0) A.get(best[0].s + 'y');`,
      ],
      [
        "order is not read: the length of a slice",
        `const best = list.slice(n); ${VISIT} A.get('n' + best.length.toString());`,
      ],
      [
        "order is not read: what a slice includes",
        `const best = list.slice(n); ${VISIT} if (list.length > 0) A.get(best.includes(list.pop()) ? 'y' : 'z');`,
      ],
      [
        "order is not read: a text",
        `${VISIT.replaceAll("best", "list")} A.get('y' + list.slice(0, 1).map<string>((item) => item.s).join('-'));`,
      ],
      [
        "order is not read: two lists at once",
        "const texts = list.slice(0).map<string>((item) => item.s); texts.sort(); for (let i = 0; i < list.length && i < texts.length; i++) B.get(list[i].s + texts[i]);",
      ],
      [
        "order is not read: a record that is read again",
        `const item = new Item(); for (let i = 0; i < 2 && i < list.length; i++) item.list.push(list[i].s); A.put('r', item); const back = A.get('r'); if (back != null && back.list.length > 0) B.get(back.list[0] + 'q');`,
      ],
      ["rank is not read: forEach", "list.slice(0, 2).forEach((item, rank) => { B.get(item.s + rank.toString()); });"],
      [
        "defines nothing live: forEach",
        "count = 0; list.slice(0, 2).forEach((item) => { count++; B.get(item.s); }); A.get('n' + count.toString());",
      ],
      [
        "does not leave: forEach",
        "list.slice(0, 2).forEach((item) => { B.get(item.s); if (item.s == 'a') abort(400, 'no', ''); }); A.get('end');",
      ],
      ["does not trap: forEach", "list.slice(0, 2).forEach((item) => { B.get(item.list[0]); }); A.get('end');"],
      [
        "does not leave: an early end of a slice",
        `const best = list.slice(0, 2); for (let i = 0; i < best.length; i++) { B.get(best[i].s); if (n == 1) break; } A.get('end');`,
      ],
    ].map(([name, body]) => [name, cases.add(ranked(body!))] as const),
  )("not where it would be wrong: %s", (_, handler) => {
    expect(kinds(handler())).toEqual([]);
  });

  test("nor where comparing makes accesses", () => {
    expect(kinds(compared())).toEqual([]);
  });
  const counted = cases.add(
    ranked(
      "A.get('n' + count.toString()); for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s);",
    ).replace("(x, y) => x.n - y.n", "(x, y) => { count++; return x.n - y.n; }"),
  );
  test("nor where comparing changes something", () => {
    expect(kinds(counted())).toEqual([]);
  });
  const compared = cases.add(
    `function rank(x: Item, y: Item): i32 { B.has('r' + x.s); return x.n - y.n; }\n${ranked("for (let i = 0; i < list.length && i < 2; i++) B.get('k' + list[i].s);").replace("(x, y) => x.n - y.n", "rank")}`,
  );
});

describe("what is kept is explained", () => {
  const built = (source: string): BuildResult =>
    buildWith({ ...buildInput({ "handlers/h.ts": HEAD + source }), optimize: false, explain: true }, slicer);
  const LINES = HEAD.split("\n").length - 1;

  test("an expensive loop, up to the access whose key needs it", () => {
    const { handlers, diagnostics } = built(
      "export function h(a: string): void {\n  const i = new Item();\n  i.s = 'k' + slow(a).toString();\n  A.get(i.s);\n}",
    );
    const [explanation] = handlers[0]!.explanations;
    expect(explanation?.what).toMatch(/^keeps an expensive loop \(≈ [\d,]+ steps\)$/);
    expect(explanation?.steps).toBeGreaterThan(20_000);
    expect(explanation?.chain.map(({ words, span }) => `${words} ${span.line - LINES}`)).toEqual([
      expect.stringContaining("flows into"),
      "flows into 3",
      "key of this access 4",
    ]);
    expect(diagnostics).toMatchObject([{ code: "expensive_read_write_set", severity: "info" }]);
  });

  test("a read whose value is needed", () => {
    const { handlers, diagnostics } = built(
      "export function h(a: string): void {\n  const i = A.get(a);\n  if (i == null) return;\n  B.get(i.s + 'x');\n}",
    );
    expect(handlers[0]!.explanations.filter(({ kind }) => kind !== "line")).toMatchObject([
      {
        kind: "read",
        what: "needs the value of this read",
        steps: 0,
        chain: [{ words: "flows into" }, { words: "key of this access" }],
      },
    ]);
    expect(diagnostics).toEqual([]);
  });

  test("no expense, where an expensive condition is given up", () => {
    const { handlers } = built("export function h(a: string): void { if (slow(a) > 1) A.get(a); }");
    expect(handlers[0]!.explanations).toMatchObject([{ kind: "line", what: "says an access", chain: [] }]);
  });

  test("what was given up: the loop that is expensive, what is said for it, what is left out", () => {
    const related = (source: string): string[] =>
      built(source).handlers[0]!.transformations.flatMap((made) => made.related.map(({ label }) => label));
    const origin = expect.stringMatching(/^expensive: about [\d,]+ steps$/);
    expect(
      related("export function h(a: string): void { const good = slow(a) > 1; if (good) A.get(a); else B.get(a); }"),
    ).toEqual([origin, "in the set in either case", "in the set in either case"]);
    expect(related("export function h(a: string): void { if (slow(a) > 1) return; A.get(a); }")).toEqual([
      origin,
      "this end is left out",
    ]);
  });

  test("an expensive call of the library, up to the key", () => {
    const { handlers, diagnostics } = built(
      `function weight(text: string): i32 { let sum = 0; for (let i = 0; i < 300; i++) sum += text.length; return sum; }
export function h(all: string[]): void {
  all.sort((left, right) => weight(left) - weight(right));
  A.get(all[0]);
}`,
    );
    const [expense] = handlers[0]!.explanations;
    expect(expense).toMatchObject({ kind: "expense", what: expect.stringMatching(/^keeps an expensive call of sort/) });
    expect(expense?.chain.at(-1)?.words).toBe("key of this access");
    expect(diagnostics).toMatchObject([{ code: "expensive_read_write_set" }]);
  });

  test("a recursion, if it makes no accesses", () => {
    const told = (source: string): string[] =>
      built(source)
        .handlers[0]!.explanations.filter(({ kind }) => kind !== "line")
        .map(({ kind, what }) => `${kind}: ${what.replace(/ \(.*/, "")}`);
    expect(
      told(
        "function fib(n: i32): i32 { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\nexport function h(n: i32): void { A.get(fib(n).toString()); }",
      ),
    ).toEqual(["recursion: keeps a recursion, of fib"]);
    expect(
      told(
        "function visit(n: i32): void { if (n > 0) { A.get(n.toString()); visit(n - 1); } }\nexport function h(n: i32): void { visit(n); }",
      ),
    ).toEqual([]);
  });

  test("unless asked, only what is expensive", () => {
    const source = `export function h(a: string): void { A.get(slow(a).toString()); B.get(A.get(a)!.s); }`;
    const told = (explain: boolean): string[] =>
      buildWith({ ...buildInput({ "handlers/h.ts": HEAD + source }), optimize: false, explain }, slicer)
        .handlers[0]!.explanations.map(({ kind }) => kind)
        .filter((kind, index, all) => all.indexOf(kind) === index);
    expect(told(true)).toEqual(["expense", "read", "line"]);
    expect(told(false)).toEqual(["expense"]);
  });

  test("every line that is kept, and no other, with the access that depends on it", () => {
    const { handlers } = built(`export function h(a: string, n: i32): i32 {
  const key = a + "x";
  const shown = a + "y";
  if (n > 3) return shown.length;
  for (let i = 0; i < n; i++) {
    A.get(key + i.toString());
  }
  return shown.length + 1;
}`);
    const lines = handlers[0]!.explanations.filter(({ kind }) => kind === "line");
    expect(lines.map(({ what, span, chain }) => [span.line - LINES, what, chain.at(-1)?.words ?? ""])).toEqual([
      [2, "computes what is needed", "key of this access"],
      [4, "decides", "decides about what follows"],
      [5, "repeats", "this access depends on it"],
      [6, "says an access", ""],
    ]);
  });

  test("the work of the handler and of its read/write-set function", () => {
    const steps = (source: string): BuildResult["handlers"][number]["steps"] => built(source).handlers[0]!.steps;
    const sliced = steps("export function h(a: string): i32 { A.get(a); return slow(a); }");
    expect(sliced.handler).toBeGreaterThan(20_000);
    expect(sliced.readWriteSet).toBeLessThan(1_000);
    const recorded = steps("export function h(a: string): i32 { A.get(nameof<Item>() + a); return slow(a); }");
    expect(recorded.handler).toBeGreaterThan(20_000);
    expect(recorded.readWriteSet).toBe(null);
  });
});

test("a handler may refuse transformations", () => {
  const transformed = (tag: string): string[] =>
    kinds(
      buildWith(
        {
          ...buildInput({
            "handlers/h.ts": `${HEAD}/** ${tag} */\nexport function h(a: string): void { if (slow(a) > 1) A.get(a); if (slow(a) > 2) return; B.get(a); }`,
          }),
          optimize: false,
        },
        slicer,
      ).handlers[0]!,
    );
  expect(transformed("Both.")).toEqual(["union", "dropped-guard"]);
  expect(transformed("@refuse union")).toEqual(["dropped-guard"]);
  expect(transformed("@refuse dropped-guard")).toEqual(["union"]);
  expect(transformed("@refuse all")).toEqual([]);
});
