/**
 * The edits of a wrong variant. Each says at which anchor, and which part of the code there, it changes. In the new code,
 * `$` stands for the code that it takes the place of.
 */
import type { Anchor } from "./anchors.ts";
import { expressionsOf, isSameCode, type Node, nodesOf, parseExpression } from "./syntax.ts";

export interface Variant {
  readonly name: string;
  readonly edits: readonly Edit[];
}

export type Edit =
  | { readonly kind: "remove"; readonly anchor: string }
  | {
      readonly kind: "replace" | "before" | "after" | "condition" | "returns" | "value";
      readonly anchor: string;
      readonly code: string;
    }
  | {
      readonly kind: "argument";
      readonly anchor: string;
      readonly callee: string;
      readonly index: number;
      readonly code: string;
    }
  | { readonly kind: "expression"; readonly anchor: string; readonly snippet: string; readonly code: string };

/** Removes the statement or member; of a case its label. */
export function remove(anchor: string): Edit {
  return { kind: "remove", anchor };
}

/** Puts other code in the place of the statement or member. */
export function replace(anchor: string, code: string): Edit {
  return { kind: "replace", anchor, code };
}

/** Puts other code right before the statement or member. */
export function before(anchor: string, code: string): Edit {
  return { kind: "before", anchor, code };
}

/** Puts other code right after the statement or member. */
export function after(anchor: string, code: string): Edit {
  return { kind: "after", anchor, code };
}

/** Changes the test of an `if`, of a loop, or of the only `?:` of the statement. */
export function condition(anchor: string, code: string): Edit {
  return { kind: "condition", anchor, code };
}

/** Changes the value of a `return`. */
export function returns(anchor: string, code: string): Edit {
  return { kind: "returns", anchor, code };
}

/** Changes the first value of a variable or member, the value of an assignment, or the list of a `for … of`. */
export function value(anchor: string, code: string): Edit {
  return { kind: "value", anchor, code };
}

/** Changes an argument of the only call of a function or method of that name; the first has index 0. */
export function argument(anchor: string, callee: string, index: number, code: string): Edit {
  return { kind: "argument", anchor, callee, index, code };
}

/** Changes the only expression with this code, however it is laid out. It is for changes that no other edit can say. */
export function expression(anchor: string, snippet: string, code: string): Edit {
  return { kind: "expression", anchor, snippet, code };
}

/** Text that takes the place of what lies between two offsets. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly code: string;
}

/** Throws, with the reason, if the code at the anchor has no such part. */
export function changesOf(edit: Edit, anchor: Anchor): readonly Change[] {
  const { node, parent } = anchor;
  switch (edit.kind) {
    case "remove":
      return node.type === "SwitchCase" ? [labelOf(anchor)] : [{ ...node, code: ";" }];
    case "replace":
      return [put(anchor, node, edit.code)];
    case "before":
    case "after": {
      const place = edit.kind === "before" ? node.start : node.end;
      if (isInList(node, parent)) return [{ start: place, end: place, code: `\n${edit.code}\n` }];
      // The statement is the only one of an `if` or a loop.
      return [
        { start: node.start, end: node.start, code: edit.kind === "before" ? `{ ${edit.code}\n` : "{ " },
        { start: node.end, end: node.end, code: edit.kind === "after" ? `\n${edit.code} }` : " }" },
      ];
    }
    case "condition":
      return [put(anchor, conditionOf(node), edit.code)];
    case "returns":
      if (node.type !== "ReturnStatement" || !isExpression(node["argument"]))
        throw new Error("the code returns no value");
      return [put(anchor, node["argument"], edit.code)];
    case "value":
      return [put(anchor, valueOf(node), edit.code)];
    case "argument": {
      const calls = [...nodesOf(node)].filter((call) => nameOfCallee(call) === edit.callee);
      const call = only(calls, `calls of ${edit.callee}`);
      const given = (call["arguments"] as readonly Node[])[edit.index];
      if (given === undefined) throw new Error(`the call of ${edit.callee} has no argument ${edit.index}`);
      return [put(anchor, given, edit.code)];
    }
    case "expression": {
      const wanted = parseExpression(edit.snippet);
      const found = [...expressionsOf(node)].filter((candidate) => isSameCode(candidate, wanted));
      const same = only(found, `expressions ${edit.snippet}`);
      const isShorthand = [...nodesOf(node)].some(
        (property) => property["shorthand"] === true && property["value"] === same,
      );
      const change = put(anchor, same, edit.code);
      return [isShorthand ? { ...change, code: `${edit.snippet}: ${change.code}` } : change];
    }
  }
}

/** The new code, in parentheses if it is an expression, so that what stands around it does not take it apart. */
function put({ text, node }: Anchor, old: Node, code: string): Change {
  const isWhole = old === node;
  const original = text.slice(old.start, old.end);
  const isSpread = code.startsWith("...");
  const filled = code.replaceAll(/(?<![\w$])\$(?![\w${])/g, () => (isWhole || isSpread ? original : `(${original})`));
  return { start: old.start, end: old.end, code: isWhole || isSpread ? filled : `(${filled})` };
}

function labelOf({ node, text }: Anchor): Change {
  const [first] = node["consequent"] as readonly Node[];
  if (first === undefined) return { ...node, code: "" };
  const start = text.indexOf(":", (node["test"] as Node | null)?.end ?? node.start) + 1;
  return { start: node.start, end: start, code: "" };
}

function isInList(node: Node, parent: Node): boolean {
  return Object.values(parent).some((field) => Array.isArray(field) && field.includes(node));
}

function conditionOf(node: Node): Node {
  if (isExpression(node["test"]) && node.type !== "SwitchCase") return node["test"];
  const choices = [...nodesOf(node)].filter(({ type }) => type === "ConditionalExpression");
  return only(choices, "conditions")["test"] as Node;
}

function valueOf(node: Node): Node {
  const declared = node.type === "VariableDeclaration" ? (node["declarations"] as readonly Node[]) : [];
  const assigned = node.type === "ExpressionStatement" ? (node["expression"] as Node) : null;
  const [found, ...more] = [
    ...declared.map((declarator) => declarator["init"]),
    assigned?.type === "AssignmentExpression" ? assigned["right"] : null,
    node.type === "PropertyDefinition" ? node["value"] : null,
    node.type === "ForOfStatement" ? node["right"] : null,
  ].filter((candidate) => isExpression(candidate));
  if (found === undefined || more.length > 0)
    throw new Error("the code gives nothing, or more than one thing, a value");
  return found;
}

function nameOfCallee(call: Node): unknown {
  if (call.type !== "CallExpression" && call.type !== "NewExpression") return null;
  const callee = call["callee"] as Node;
  return callee.type === "MemberExpression" ? (callee["property"] as Node)["name"] : callee["name"];
}

function isExpression(candidate: unknown): candidate is Node {
  return typeof candidate === "object" && candidate !== null;
}

function only(found: readonly Node[], words: string): Node {
  if (found.length !== 1) throw new Error(`the code has ${found.length} ${words}, not one`);
  return found[0]!;
}
