/** The index that an expression of a range of an index comes from, where several tables of one class have indexes. */
import { type as, NodeKind, Token } from "../../parse/assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../../parse/children.ts";
import { writtenIndexes, type WrittenIndex } from "../../parse/indexes.ts";
import type { Local } from "../ir.ts";
import type { BodyLowering } from "./lower-body.ts";

/** Calls whose result is about the index of their receiver. */
const NARROWING: ReadonlySet<string> = new Set(["all", "equal", "after", "before"]);

/** All indexes that the expression can be about; null: it has a part that nobody can tell. */
export function originsOf(lowering: BodyLowering, node: as.Expression): ReadonlySet<WrittenIndex> | null {
  const found = new Set<WrittenIndex>();
  return addOrigins(lowering, node, found, new Set()) ? found : null;
}

/** `seen`: variables whose values are being looked at, or were. False: nobody can tell. */
function addOrigins(lowering: BodyLowering, node: as.Expression, found: Set<WrittenIndex>, seen: Set<Local>): boolean {
  const expression = withoutParentheses(node);
  switch (expression.kind) {
    case NodeKind.Call: {
      const called = withoutParentheses((expression as as.CallExpression).expression);
      if (called.kind !== NodeKind.PropertyAccess) return false;
      const { expression: receiver, property } = called as as.PropertyAccessExpression;
      return NARROWING.has(property.text) && addOrigins(lowering, receiver, found, seen);
    }
    case NodeKind.Ternary: {
      const { ifThen, ifElse } = expression as as.TernaryExpression;
      return addOrigins(lowering, ifThen, found, seen) && addOrigins(lowering, ifElse, found, seen);
    }
    case NodeKind.Assertion:
      return addOrigins(lowering, (expression as as.AssertionExpression).expression, found, seen);
    case NodeKind.Identifier:
    case NodeKind.PropertyAccess:
      return addNamed(lowering, expression, found, seen);
    default:
      return false;
  }
}

function addNamed(lowering: BodyLowering, node: as.Expression, found: Set<WrittenIndex>, seen: Set<Local>): boolean {
  const local = node.kind === NodeKind.Identifier ? lowering.find((node as as.IdentifierExpression).text) : null;
  if (local === null) {
    const { target } = lowering.factsOf(node);
    const index = writtenIndexes(lowering.declarations.program).find(({ global }) => global === target);
    if (index !== undefined) found.add(index);
    return index !== undefined;
  }
  if (seen.has(local)) return true;
  seen.add(local);
  const values = valuesOf(lowering, local, (node as as.IdentifierExpression).text);
  return values !== null && values.every((value) => addOrigins(lowering, value, found, seen));
}

/** Everything that a variable is given, with what others of its name are; null: it is a parameter, or of another body. */
function valuesOf(lowering: BodyLowering, local: Local, name: string): readonly as.Expression[] | null {
  const initial = lowering.initialOf(local);
  const body = lowering.source?.prototype.bodyNode ?? null;
  const assigned = body === null ? null : assignedIn(body, name);
  return initial === null || assigned === null ? null : [initial, ...assigned];
}

/** The values that variables of the name are given; null: a pattern may give them one. */
function assignedIn(node: as.Node, name: string): readonly as.Expression[] | null {
  const values: as.Expression[] = [];
  if (node.kind === NodeKind.Binary && (node as as.BinaryExpression).operator === Token.Equals) {
    const { left, right } = node as as.BinaryExpression;
    if (left.kind === NodeKind.Literal) return null;
    if (left.kind === NodeKind.Identifier && (left as as.IdentifierExpression).text === name) values.push(right);
  }
  for (const child of childrenOf(node)) {
    const below = assignedIn(child, name);
    if (below === null) return null;
    values.push(...below);
  }
  return values;
}
