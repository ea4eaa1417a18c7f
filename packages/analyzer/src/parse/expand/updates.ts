/**
 * `list[next()] += 1`, `next().count++`: an update of a place with parts that may act. AssemblyScript evaluates them twice.
 * They are evaluated once, and kept.
 */
import { as, NodeKind } from "../assemblyscript.ts";
import { ASSIGNMENTS, COMPOUND_ASSIGNMENTS, INCREMENTS } from "../assignments.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import { access, again, binary, constant, element, hidden } from "./syntax.ts";

export type Update = as.BinaryExpression | as.UnaryPrefixExpression | as.UnaryPostfixExpression;

/** The place that an expression updates; null: it is not an update of a member or an element. */
function placeOf(node: as.Expression): as.Expression | null {
  let target: as.Expression;
  if (node instanceof as.BinaryExpression && COMPOUND_ASSIGNMENTS.has(node.operator)) target = node.left;
  else if (node instanceof as.UnaryPrefixExpression || node instanceof as.UnaryPostfixExpression) {
    if (!INCREMENTS.has(node.operator)) return null;
    target = node.operand;
  } else return null;
  const place = withoutParentheses(target);
  return place.kind === NodeKind.PropertyAccess || place.kind === NodeKind.ElementAccess ? place : null;
}

/** Whether evaluating a node may do something. */
export function mayAct(node: as.Node): boolean {
  if (node instanceof as.IdentifierExpression || node instanceof as.LiteralExpression) return false;
  if (node instanceof as.PropertyAccessExpression) return mayAct(node.expression);
  const isQuiet =
    node.kind === NodeKind.Parenthesized ||
    node.kind === NodeKind.ElementAccess ||
    node.kind === NodeKind.Assertion ||
    (node instanceof as.BinaryExpression && !ASSIGNMENTS.has(node.operator));
  return !isQuiet || childrenOf(node).some((child) => !(child instanceof as.TypeNode) && mayAct(child));
}

/** Whether an expression may be one of these, as far as its words show it. */
export function mayUpdate(node: as.Expression): node is Update {
  const place = placeOf(node);
  return (
    place !== null && !node.range.source.isLibrary && childrenOf(place).some((part) => mayAct(part) || hasMember(part))
  );
}

/** Whether a member is read in a node: its getter may act. */
function hasMember(node: as.Node): boolean {
  return node instanceof as.PropertyAccessExpression || childrenOf(node).some(hasMember);
}

/** Whether one of the members that are read in a node has a getter. */
function hasGetter(expansion: Expansion, node: as.Node): boolean {
  if (node instanceof as.PropertyAccessExpression && expansion.typing.isGetter(node, expansion.flow)) return true;
  return childrenOf(node).some((child) => hasGetter(expansion, child));
}

/** Null: the expression is another one. */
export function expandUpdate(expansion: Expansion, node: as.Expression): as.Expression | null {
  if (!mayUpdate(node)) return null;
  const { typing, flow } = expansion;
  const { range } = node;
  const place = placeOf(node)!;
  // variant: getter-once
  if (!childrenOf(place).some((part) => mayAct(part) || hasGetter(expansion, part))) return null;
  const before: as.Statement[] = [];
  const held = (part: as.Expression, purpose: string): as.Expression => {
    // A class or namespace is not a value.
    if (typing.of(part, flow) === null) return part;
    const name = hidden(purpose, range.start, part.range);
    before.push(constant(name, part));
    return again(name);
  };
  let once: as.Expression;
  if (place instanceof as.ElementAccessExpression) {
    const list = held(place.expression, "list");
    once = element(list, held(place.elementExpression, "index"), place.range);
  } else {
    const { expression, property } = place as as.PropertyAccessExpression;
    once = access(held(expression, "object"), property.text, place.range);
  }
  let update: as.Expression;
  if (node instanceof as.BinaryExpression) update = binary(node.operator, once, node.right, range);
  else if (node instanceof as.UnaryPrefixExpression)
    update = as.Node.createUnaryPrefixExpression(node.operator, once, range);
  else update = as.Node.createUnaryPostfixExpression(node.operator, once, range);
  return new BlockExpression(before, update, range);
}
