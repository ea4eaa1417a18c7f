/**
 * No rule without a mutant: every rule that ANALYSIS.md numbers or names, and every place in the code where relevance
 * makes one thing depend on another.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants.ts";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

/** Where a location, an effect, a jump or a part of a program is found to matter because something else does. */
const DEPENDENCE =
  /this\.(need|needTables|addDefinition|addEffect|define|addParameter|addResult|decoding|stop|fieldBehind|encoded)\(|\.(join|become)\(|(live|exit|uses|defines)\.addAll\(|state\.accessFollows = |summary\.accessFollows = |this\.add\(this\.(jumps|stored)|matters = true|this\.visit(All)?\([^;]*\b(true|needed|isKept|kept|after|valueNeeded|readAgain|argumentNeeded)\b/g;

/** Those of which a mutant shows nothing, by the line, with the reason. */
const UNBROKEN: ReadonlyMap<string, string> = new Map([
  ["observation[side].join(state);", "tells the rules of transformations, decides nothing"],
  [
    "state.join(given);",
    "a default value ends nothing and kills no variable, so what is live behind it is live before",
  ],
  [
    "state.join(this.exit);",
    "a dropped jump has the same next kept statement as its target, and so what is live there",
  ],
  ["state.join(target);", "a dropped jump has the same next kept statement as its target, and so what is live there"],
  ["state.accessFollows = false;", "spares what comes before the end of the execution; the set is the same with it"],
  ["point.join(after);", "what is live behind a loop is live at its head from the start"],
  ["for (const table of this.pointsTo.tablesOf(expression.table)) this.need(table, state);", "its one call is cut out"],
  [
    "if (declaration === this.program.handler && state.live.has(local)) this.decoding(local.type, state);",
    "whoever encodes arguments demands all of their fields",
  ],
  [
    "for (const expression of expressions.toReversed()) kept = this.visit(expression, needed, state) || kept;",
    "each of its calls is a place of its own",
  ],
  [
    "this.visit(value, readAgain, state);",
    "not shown by a fixture: what the value refers to is needed, as encoding reads it",
  ],
  ["return this.visit(initializer, true, state) || true;", "the value is for the compiler, nobody reads it"],
  [
    "for (const callee of callees) for (const { local } of callee.parameters) this.addParameter(callee, local);",
    "functions with fixed signatures are printed with all of their parameters",
  ],
]);

test("every place where relevance makes one thing depend on another has a mutant", () => {
  const file = "infer/relevance.ts";
  const text = read(`../${file}`);
  const cut = MUTANTS.filter((mutant) => mutant.file === file).map(({ find }) => {
    const start = text.indexOf(find);
    return { start, end: start + find.length };
  });
  const lines: string[] = [];
  let offset = text.indexOf("class Analysis");
  expect(offset).toBeGreaterThan(0);
  for (const line of text.slice(offset).split("\n")) {
    const start = offset;
    offset += line.length + 1;
    if (/^\s*(\*|\/\/|private )/.test(line)) continue;
    const places = [...line.matchAll(DEPENDENCE)].map(({ index }) => start + index);
    if (places.length === 0 || UNBROKEN.has(line.trim())) continue;
    if (!places.every((place) => cut.some((one) => one.start <= place && place < one.end))) lines.push(line.trim());
  }
  expect(lines).toEqual([]);
});

test("the reasons are about lines that are there", () => {
  const lines = read("../infer/relevance.ts")
    .split("\n")
    .map((line) => line.trim());
  expect([...UNBROKEN.keys()].filter((line) => !lines.includes(line))).toEqual([]);
});

test("each rule of a transformation is broken", () => {
  const broken = new Set(MUTANTS.map(({ rule }) => rule));
  const named = (file: string, transformation: string): string[] =>
    [...read(`../slice/${file}`).matchAll(/return "([a-z ]+)";/g)]
      .map(([, rule]) => `${transformation}: ${rule}`)
      // Of the walk that looks for the element, not of the rules.
      .filter((rule) => !/: (element|effect|nothing)$/.test(rule));
  const rules = [...named("unions.ts", "union"), ...named("widening.ts", "widening")];
  expect(rules.length).toBeGreaterThan(7);
  expect(rules.filter((rule) => !broken.has(rule))).toEqual([]);
});
