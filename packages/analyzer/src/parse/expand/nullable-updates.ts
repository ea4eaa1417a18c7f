/**
 * `votes += 1` and `card.votes++` of a number or text that may be null, and is known to be there. The compiler knows it of a
 * variable, and a test shows it of a field. The compiler would update the object that holds the number. So the value is read,
 * changed and assigned.
 */
import { as, AssertionKind, NodeKind, Token } from "../assemblyscript.ts";
import { INCREMENTS, OPERATORS_OF_ASSIGNMENTS } from "../assignments.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { boxedType } from "../nullable-numbers.ts";
import { isUpdatedBehindTest } from "../tested-fields.ts";
import type { Expansion } from "./expander.ts";
import { isSimple } from "./place.ts";
import { access, again, assigned, binary, constant, hidden, integer, run } from "./syntax.ts";
import { isNullable } from "./typing.ts";
import { mayAct, type Update } from "./updates.ts";

/** The target that an expression updates, if it is a variable or such a field; null: it is another expression. */
function targetOf(node: as.Expression): as.IdentifierExpression | as.PropertyAccessExpression | null {
  let target: as.Expression;
  if (node instanceof as.BinaryExpression && OPERATORS_OF_ASSIGNMENTS.has(node.operator)) target = node.left;
  else if (node instanceof as.UnaryPrefixExpression || node instanceof as.UnaryPostfixExpression) {
    if (!INCREMENTS.has(node.operator)) return null;
    target = node.operand;
  } else return null;
  const place = withoutParentheses(target);
  if (place.range.source.isLibrary) return null;
  if (place instanceof as.IdentifierExpression) return place;
  return place instanceof as.PropertyAccessExpression && isUpdatedBehindTest(place) ? place : null;
}

/** Whether an expression may be one of these, as far as its words show it. */
export function mayUpdateNullable(node: as.Expression): node is Update {
  return targetOf(node) !== null;
}

/** Undefined: it is the update of another value. */
export function typeOfNullableUpdate(expansion: Expansion, node: Update): as.Type | undefined {
  return typeOfUpdated(expansion, targetOf(node)!) ?? undefined;
}

/** Null: the same. */
export function expandNullableUpdate(expansion: Expansion, node: Update): as.Expression | null {
  const target = targetOf(node)!;
  const type = typeOfUpdated(expansion, target);
  if (type === null) return null;
  const { range } = node;
  const statements: as.Statement[] = [];
  let place: () => as.Expression = () => again(target as as.IdentifierExpression);
  let found = place();
  if (target instanceof as.PropertyAccessExpression) {
    const { expression, property } = target;
    let object = (): as.Expression => expression;
    // The right side may give the variable another object.
    if (!isSimple(expression) || (node instanceof as.BinaryExpression && mayAct(node.right))) {
      const name = hidden("object", range.start, expression.range);
      statements.push(constant(name, expression));
      object = () => again(name);
    }
    place = () => access(object(), property.text, target.range);
    found = as.Node.createAssertionExpression(AssertionKind.NonNull, place(), null, target.range);
  }
  const [before, after] = [hidden("before", range.start, range), hidden("after", range.start, range)];
  const changed =
    node instanceof as.BinaryExpression
      ? binary(OPERATORS_OF_ASSIGNMENTS.get(node.operator)!, again(before), node.right, range)
      : binary(node.operator === Token.Plus_Plus ? Token.Plus : Token.Minus, again(before), integer(1, range), range);
  statements.push(
    constant(before, found, type),
    constant(after, changed, type),
    run(assigned(place(), again(after), range)),
  );
  return new BlockExpression(statements, again(node.kind === NodeKind.UnaryPostfix ? before : after), range);
}

/** The type of a value that is updated and may be null, as it is when it is there; null: it is never null. */
function typeOfUpdated(
  { typing, flow }: Expansion,
  target: as.IdentifierExpression | as.PropertyAccessExpression,
): as.Type | null {
  const type = typing.of(target, flow);
  if (type === null) return null;
  const number = boxedType(type);
  if (number !== null || target instanceof as.IdentifierExpression) return number;
  return isNullable(type) ? type.nonNullableType : null;
}
