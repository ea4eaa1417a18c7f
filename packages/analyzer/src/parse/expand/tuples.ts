/** Literals and parts of tuples: `["a", 1]` makes an object with a field for each part, and `pair[0]` is a field. */
import { as, NodeKind, Token } from "../assemblyscript.ts";
import { ASSIGNMENTS, INCREMENTS } from "../assignments.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { textOf } from "../span.ts";
import { fieldOfPart, partsOfTuple, tupleOf } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { access, again, constant, hidden, identifier } from "./syntax.ts";

// ── Parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whether an expression may be a part of a tuple, or an assignment to one, as far as its words show it. */
export function mayBePart(node: as.Expression): boolean {
  if (node instanceof as.ElementAccessExpression)
    return !node.range.source.isLibrary && indexIn(node.elementExpression) !== null;
  const target = assigned(node);
  return target !== null && mayBePart(withoutParentheses(target));
}

/** The index of a part; null: it is not a number that is written. */
function indexIn(node: as.Expression): number | null {
  const index = withoutParentheses(node);
  return index instanceof as.IntegerLiteralExpression ? Number(textOf(index)) : null;
}

/** The left side of an assignment or update. */
function assigned(node: as.Expression): as.Expression | null {
  if (node instanceof as.BinaryExpression) return ASSIGNMENTS.has(node.operator) ? node.left : null;
  if (node instanceof as.UnaryPrefixExpression || node instanceof as.UnaryPostfixExpression)
    return INCREMENTS.has(node.operator) ? node.operand : null;
  return null;
}

/** The types of the tuple that an expression reads a part of; null: it reads something else. */
function tupleIn({ typing, flow }: Expansion, node: as.ElementAccessExpression): readonly as.Type[] | null {
  return partsOfTuple(typing.of(node.expression, flow));
}

/** Undefined: the expression is not a part of a tuple. */
export function typeOfPart(expansion: Expansion, node: as.ElementAccessExpression): as.Type | undefined {
  return tupleIn(expansion, node)?.[indexIn(node.elementExpression) ?? -1];
}

/** Null: the expression is neither a part of a tuple nor an assignment to one, or there is no such part. */
export function expandPart(expansion: Expansion, node: as.Expression): as.Expression | null {
  if (node instanceof as.ElementAccessExpression) return fieldOf(expansion, node);
  const target = assigned(node);
  const place = target === null ? null : withoutParentheses(target);
  if (!(place instanceof as.ElementAccessExpression) || !mayBePart(place)) return null;
  const field = fieldOf(expansion, place);
  if (field === null) return null;
  const { range } = node;
  if (node instanceof as.BinaryExpression)
    return as.Node.createBinaryExpression(node.operator, field, node.right, range);
  const { operator } = node as as.UnaryExpression;
  return node.kind === NodeKind.UnaryPrefix
    ? as.Node.createUnaryPrefixExpression(operator, field, range)
    : as.Node.createUnaryPostfixExpression(operator, field, range);
}

function fieldOf(expansion: Expansion, node: as.ElementAccessExpression): as.Expression | null {
  const name = fieldIn(expansion, node);
  return name === null ? null : access(node.expression, name, node.range);
}

/** The name of the field that `pair[0]` is; null: it is an element of something else. */
export function fieldIn(expansion: Expansion, node: as.ElementAccessExpression): string | null {
  const index = indexIn(node.elementExpression);
  const parts = index === null ? null : tupleIn(expansion, node);
  if (parts === null || index === null) return null;
  return index < parts.length ? fieldOfPart(index) : expansion.tell("tuple_part", node.elementExpression.range);
}

// ── Literals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `["a", 1]` where a tuple is wanted; null: another type is. */
export function expandTuple(expansion: Expansion, node: as.ArrayLiteralExpression): as.Expression | null {
  const parts = partsOfTuple(expansion.context);
  if (parts === null) return null;
  const { elementExpressions: values, range } = node;
  const isWhole = values.length === parts.length && !values.some(isSpreadOrHole);
  if (!isWhole) return expansion.tell("tuple_literal", range);
  const names = values.map((value, index) => identifier(fieldOfPart(index), value.range));
  return as.Node.createObjectLiteralExpression(names, values, range);
}

function isSpreadOrHole(node: as.Expression): boolean {
  return (
    node.kind === NodeKind.Omitted || (node instanceof as.UnaryPrefixExpression && node.operator === Token.Dot_Dot_Dot)
  );
}

/**
 * The type of `["a", 1] as const`. A literal whose values have one type is an array, as it can do all that a tuple can. Null:
 * the expression has no tuple in it, or a part whose type is not known.
 */
export function typeOfConstant(expansion: Expansion, node: as.Expression): as.Type | null {
  const type = widestOf(expansion, node);
  return type !== null && hasTuple(type) ? type : null;
}

function widestOf(expansion: Expansion, node: as.Expression): as.Type | null {
  const { typing, flow } = expansion;
  const literal = withoutParentheses(node);
  if (!(literal instanceof as.ArrayLiteralExpression)) return typing.of(literal, flow);
  const types: as.Type[] = [];
  for (const value of literal.elementExpressions) {
    const type = isSpreadOrHole(value) ? null : widestOf(expansion, value);
    if (type === null || type === as.Type.void) return null;
    types.push(type);
  }
  const { program } = typing;
  const common = types.reduce<as.Type | null>(
    (all, type) => (all === null ? null : as.Type.commonType(all, type, as.Type.auto)),
    types[0] ?? null,
  );
  if (common === null) return types.length === 0 ? null : tupleOf(program, types);
  return program.resolver.resolveClass(program.arrayPrototype, [common])?.type ?? null;
}

function hasTuple(type: as.Type): boolean {
  return partsOfTuple(type) !== null || (type.getClass()?.typeArguments ?? []).some(hasTuple);
}

/** `["a", 1] as const`; null: it has no tuple in it. */
export function expandConstant(expansion: Expansion, node: as.AssertionExpression): as.Expression | null {
  const type = typeOfConstant(expansion, node.expression);
  if (type === null) return null;
  const held = hidden("constant", node.range.start, node.range);
  return new BlockExpression([constant(held, node.expression, type)], again(held), node.range);
}
