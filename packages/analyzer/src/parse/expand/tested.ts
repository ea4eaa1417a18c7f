/** Mentions of fields that a test shows to be there: see `tested-fields.ts`. */
import { as, AssertionKind } from "../assemblyscript.ts";
import { boxedType } from "../nullable-numbers.ts";
import { isTested } from "../tested-fields.ts";
import type { Expansion } from "./expander.ts";
import { isNullable } from "./typing.ts";

/** Whether an expression may be one of these, as far as its words show it. */
export function mayBeTested(node: as.Expression): node is as.PropertyAccessExpression {
  return node instanceof as.PropertyAccessExpression && isTested(node);
}

/** Undefined: the field is never null, or null may stand there. */
export function typeOfTested(expansion: Expansion, node: as.PropertyAccessExpression): as.Type | undefined {
  const type = nullableIn(expansion, node);
  return type === null ? undefined : (boxedType(type) ?? type.nonNullableType);
}

/** Null: the same. */
export function expandTested(expansion: Expansion, node: as.PropertyAccessExpression): as.Expression | null {
  if (nullableIn(expansion, node) === null) return null;
  return as.Node.createAssertionExpression(AssertionKind.NonNull, untested(node), null, node.range);
}

function nullableIn({ typing, flow, context }: Expansion, node: as.PropertyAccessExpression): as.Type | null {
  if (isNullable(context)) return null;
  const type = typing.of(untested(node), flow);
  return type !== null && isNullable(type) ? type : null;
}

/** The field itself, as if there was no test. */
function untested({ expression, property, range }: as.PropertyAccessExpression): as.PropertyAccessExpression {
  return as.Node.createPropertyAccessExpression(expression, property, range);
}
