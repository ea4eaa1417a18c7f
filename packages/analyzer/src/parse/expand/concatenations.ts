/** `"n" + count` and `text += count`: where one side is a text, the other becomes one, as in a template. */
import { as, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { boxedType } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import { template } from "./syntax.ts";

/** Whether an expression may be one of these, as far as its words show it. */
export function mayConcatenate(node: as.Expression): node is as.BinaryExpression {
  if (!(node instanceof as.BinaryExpression) || node.range.source.isLibrary) return false;
  const { operator, left, right } = node;
  if (operator !== Token.Plus && operator !== Token.Plus_Equals) return false;
  // The compiler makes such operands of the numbers of `++`.
  if (left.kind === NodeKind.Compiled || right.kind === NodeKind.Compiled) return false;
  return !isWrittenText(left) || !isWrittenText(right);
}

function isWrittenText(node: as.Expression): boolean {
  return node instanceof as.StringLiteralExpression || node instanceof as.TemplateLiteralExpression;
}

/** Undefined: the expression is none of these. */
export function typeOfConcatenation(expansion: Expansion, node: as.BinaryExpression): as.Type | undefined {
  return node.operator === Token.Plus && isText(expansion, node)
    ? expansion.typing.program.stringInstance.type
    : undefined;
}

/** Null: the expression is none of these. */
export function expandConcatenation(expansion: Expansion, node: as.Expression): as.Expression | null {
  if (!mayConcatenate(node)) return null;
  const { operator, left, right, range } = node;
  const isTextOnLeft = isText(expansion, left);
  if (isTextOnLeft === isText(expansion, right)) return null;
  const type = expansion.typing.of(isTextOnLeft ? right : left, expansion.flow);
  if (type === null || !(type.isNumericValue || boxedType(type) !== null)) return null;
  if (operator === Token.Plus) return template(["", "", ""], [left, right], range);
  // A number does not become a text by adding one to it.
  if (!isTextOnLeft) return null;
  return as.Node.createBinaryExpression(operator, left, template(["", ""], [right], right.range), range);
}

function isText(expansion: Expansion, node: as.Expression): boolean {
  return textOf(expansion, node) === true;
}

/** Sums whose operands have types, by the function that they stand in. */
const known = new WeakMap<as.Function, WeakMap<as.Node, boolean>>();

/** A sum is a text if one of its operands is. Each operand is asked once, so that long sums take no time. Null: it has no type yet. */
function textOf(expansion: Expansion, node: as.Expression): boolean | null {
  const { typing, flow } = expansion;
  const inner = withoutParentheses(node);
  if (isWrittenText(inner)) return true;
  if (!(inner instanceof as.BinaryExpression) || inner.operator !== Token.Plus || !mayConcatenate(inner)) {
    const type = typing.of(inner, flow);
    return type === null ? null : typing.isText(type);
  }
  let sums = known.get(flow.targetFunction);
  if (sums === undefined) known.set(flow.targetFunction, (sums = new WeakMap()));
  const before = sums.get(inner);
  if (before !== undefined) return before;
  const left = textOf(expansion, inner.left);
  const right = left === true || textOf(expansion, inner.right);
  const found = right === true || (left === null || right === null ? null : false);
  if (found !== null) sums.set(inner, found);
  return found;
}
