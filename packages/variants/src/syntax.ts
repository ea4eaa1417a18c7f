/** The syntax tree of a source, as far as variants need it: its nodes, their places, and whether two are the same code. */
import { type Comment, parseSync } from "oxc-parser";

/** A node of the tree; its other fields are what the kind of syntax has. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Parsed {
  readonly program: Node;
  readonly comments: readonly Comment[];
}

/** Parentheses are not in the tree, so that they make no difference. Throws if the text is not TypeScript. */
export function parse(file: string, text: string): Parsed {
  const { program, comments, errors } = parseSync(file, text, { sourceType: "module", preserveParens: false });
  if (errors[0] !== undefined) throw new Error(`${file} can't be parsed: ${errors[0].message}`);
  return { program: program as unknown as Node, comments };
}

/** One expression. Throws if the text is not one. */
export function parseExpression(text: string): Node {
  // In a method the words `this.#name`, `await` and `yield` may stand.
  const { program } = parse("expression.ts", `class A { async *a() { (${text}\n) } }`);
  const [declaration] = program["body"] as readonly Node[];
  const [method] = (declaration!["body"] as Node)["body"] as readonly Node[];
  const [statement, ...more] = ((method!["value"] as Node)["body"] as Node)["body"] as readonly Node[];
  if (statement === undefined || more.length > 0) throw new Error(`"${text}" is not one expression`);
  return statement["expression"] as Node;
}

/** The nodes right below a node. */
function children(node: Node): readonly Node[] {
  return Object.values(node).flatMap((field) =>
    Array.isArray(field) ? field.filter((part) => isNode(part)) : isNode(field) ? [field] : [],
  );
}

/** A node and all nodes below it. */
export function* nodesOf(node: Node): Iterable<Node> {
  yield node;
  for (const child of children(node)) yield* nodesOf(child);
}

/** The expressions among a node and all below it: a name is left out where it only names a member. */
export function* expressionsOf(node: Node): Iterable<Node> {
  yield node;
  for (const child of children(node)) {
    const isName =
      (child === node["property"] || child === node["key"]) && node["computed"] === false && child.type !== "Property";
    if (!isName) yield* expressionsOf(child);
  }
}

/** A statement, class member or case, and the node around it. */
export interface Part {
  readonly node: Node;
  readonly parent: Node;
}

const CHANGEABLE =
  /^(?:.*Statement|.*Declaration|MethodDefinition|PropertyDefinition|AccessorProperty|StaticBlock|SwitchCase)$/;

/** The statement, class member or case that begins first at or after a place; of all that begin there the largest. */
export function partAfter(program: Node, at: number): Part | null {
  let first: Part | null = null;
  const visit = (node: Node, parent: Node): void => {
    if (node.end <= at) return;
    if (node.start >= at && CHANGEABLE.test(node.type) && (first === null || node.start < first.node.start))
      first = { node, parent };
    for (const child of children(node)) visit(child, node);
  };
  for (const child of children(program)) visit(child, program);
  return first;
}

/** Whether two nodes are the same code, however it is laid out. */
export function isSameCode(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((part, index) => isSameCode(part, b[index]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)].filter((name) => !LAYOUT.has(name)));
  // The text of a literal has its quotes; in a template it is the value.
  if (a["type"] === "Literal") names.delete("raw");
  return [...names].every((name) => isSameCode(a[name], b[name]));
}

const LAYOUT = new Set(["start", "end", "range", "loc"]);

function isNode(candidate: unknown): candidate is Node {
  return isObject(candidate) && typeof candidate["type"] === "string" && typeof candidate["start"] === "number";
}

function isObject(candidate: unknown): candidate is Readonly<Record<string, unknown>> {
  return typeof candidate === "object" && candidate !== null;
}
