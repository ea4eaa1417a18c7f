/** `price.toFixed(2)` of a number that may be null: where a test shows that it is there, it is the method of a number. */
import { as, AssertionKind, LocalFlags } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { boxedType } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import { localOf } from "./place.ts";
import { isNullable } from "./typing.ts";

const METHODS: ReadonlySet<string> = new Set(["toString", "toFixed", "toPrecision", "toExponential", "valueOf"]);

/** Whether a call may be one of these, as far as its words show it. */
export function mayHaveNullableReceiver(node: as.Expression): node is as.CallExpression {
  return node instanceof as.CallExpression && !node.range.source.isLibrary && memberIn(node) !== null;
}

function memberIn({ expression }: as.CallExpression): as.PropertyAccessExpression | null {
  const callee = withoutParentheses(expression);
  return callee instanceof as.PropertyAccessExpression && METHODS.has(callee.property.text) ? callee : null;
}

/** The call as one of a number; null: its object is another, or never null. */
function callOfNumber({ typing, flow }: Expansion, node: as.CallExpression): as.CallExpression | null {
  const member = memberIn(node);
  const type = member === null ? null : typing.of(member.expression, flow);
  if (member === null || type === null || !isNullable(type) || boxedType(type) === null) return null;
  const { expression: receiver, property, range } = member;
  const number = as.Node.createAssertionExpression(AssertionKind.NonNull, receiver, null, receiver.range);
  const callee = as.Node.createPropertyAccessExpression(number, property, range);
  return as.Node.createCallExpression(callee, node.typeArguments, node.args, node.range);
}

/** Undefined: the call is another. */
export function typeOfNullableReceiver(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const call = callOfNumber(expansion, node);
  return call === null ? undefined : expansion.typing.of(call, expansion.flow);
}

/** Null: the call is another, or nothing shows that the number is there. */
export function expandNullableReceiver(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const call = callOfNumber(expansion, node);
  if (call === null) return null;
  const { flow } = expansion;
  const receiver = memberIn(node)!.expression;
  const local = localOf(receiver, flow);
  const isThere = local !== null && flow.isLocalFlag(local.index, LocalFlags.NonNull, false);
  return isThere ? call : expansion.tell("null_number", receiver.range);
}
