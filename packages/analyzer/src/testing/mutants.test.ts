/**
 * Each rule that ANALYSIS.md numbers or names has a mutant, and so has each place where relevance makes one thing depend
 * on another. A place of which a mutant shows nothing says why: `// No variant: reason.`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Node, nodesOf, parse, partAfter } from "@radical/variants";
import { expect, test } from "vitest";
import { MUTANTS, readAnchors, variantOf } from "./mutants.ts";

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const read = (path: string): string => readFileSync(fileOf(path), "utf8");

/** Methods by which a location, an effect, a jump or a part of a program is found to matter because something else does. */
const DEPENDENCE = new Set(
  "need needTables addDefinition addEffect define addParameter addResult decoding stop fieldBehind encoded".split(" "),
);
/** Sets whose growth is such a dependence. */
const GROWING = /^(?:live|(?:.*\.)?(?:live|exit|uses|defines))$/;

const RELEVANCE = "../infer/relevance.ts";
const text = read(RELEVANCE);
const { program, comments } = parse(fileOf(RELEVANCE), text);
const wordsOf = ({ start, end }: Pick<Node, "start" | "end">): string => text.slice(start, end);

function isDependence(node: Node): boolean {
  if (node.type === "AssignmentExpression") {
    const left = wordsOf(node["left"] as Node);
    return /^(?:state|summary)\.accessFollows$/.test(left) || wordsOf(node) === "matters = true";
  }
  const callee = node["callee"] as Node | undefined;
  if (node.type !== "CallExpression" || callee?.type !== "MemberExpression") return false;
  const object = wordsOf(callee["object"] as Node);
  const method = wordsOf(callee["property"] as Node).replace(/^#/, "");
  const given = (node["arguments"] as readonly Node[]).map((argument) => wordsOf(argument));
  if (method === "join" || method === "become") return true;
  if (method === "addAll") return GROWING.test(object);
  if (object !== "this") return false;
  if (method === "add") return given[0] === "this.jumps" || given[0] === "this.stored";
  return DEPENDENCE.has(method) || (/^visit(?:All)?$/.test(method) && given[1] !== "false");
}

const analysis = [...nodesOf(program)].find(
  ({ type, id }) => type === "ClassDeclaration" && wordsOf(id as Node) === "Analysis",
)!;
const listed = [...nodesOf(analysis)].flatMap((node) =>
  ["BlockStatement", "SwitchCase"].flatMap((type) =>
    node.type === type ? (node[type === "SwitchCase" ? "consequent" : "body"] as readonly Node[]) : [],
  ),
);
/** The innermost statement of a list around a place. */
function statementAt({ start, end }: Pick<Node, "start" | "end">): Node | undefined {
  return listed.findLast((statement) => statement.start <= start && end <= statement.end);
}

const places = [...nodesOf(analysis)].filter((node) => isDependence(node));
const excused = comments
  .filter(({ value }) => value.startsWith(" No variant: "))
  .map(({ end }) => partAfter(program, end)?.node);

test("every place where relevance makes one thing depend on another has a mutant, or a reason why not", () => {
  const anchors = readAnchors();
  const changes = MUTANTS.flatMap((mutant) => anchors.changes(variantOf(mutant)).get(fileOf(RELEVANCE))?.changes ?? []);
  const changed = new Set(changes.map((change) => statementAt(change)));
  const isCut = (place: Node): boolean => changes.some(({ start, end }) => start <= place.start && place.end <= end);
  expect(places.length).toBeGreaterThan(60);
  const shown = (place: Node): boolean => changed.has(statementAt(place)) || isCut(place);
  expect(places.filter((place) => !shown(place) && !excused.includes(statementAt(place))).map(wordsOf)).toEqual([]);
});

test("the reasons are about places that are there", () => {
  const statements = new Set(places.map((place) => statementAt(place)));
  expect(excused.length).toBeGreaterThan(10);
  expect(excused.filter((node) => node === undefined || !statements.has(node))).toEqual([]);
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
