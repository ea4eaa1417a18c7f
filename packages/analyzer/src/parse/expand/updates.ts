/**
 * `list[next()] += 1`, `next().count++`: an update of a place with parts that may act. AssemblyScript evaluates them twice.
 * They are evaluated once, and kept.
 */
import { as, NodeKind, Token } from "../assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { boxedType } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import { access, again, assigned, binary, constant, element, hidden, integer, run } from "./syntax.ts";

const UPDATES: ReadonlySet<Token> = new Set([
  Token.Plus_Equals,
  Token.Minus_Equals,
  Token.Asterisk_Equals,
  Token.Asterisk_Asterisk_Equals,
  Token.Slash_Equals,
  Token.Percent_Equals,
  Token.LessThan_LessThan_Equals,
  Token.GreaterThan_GreaterThan_Equals,
  Token.GreaterThan_GreaterThan_GreaterThan_Equals,
  Token.Ampersand_Equals,
  Token.Caret_Equals,
  Token.Bar_Equals,
]);

type Update = as.BinaryExpression | as.UnaryPrefixExpression | as.UnaryPostfixExpression;

/** The place that an expression updates; null: it is not an update of a member or an element. */
function placeOf(node: as.Expression): as.Expression | null {
  let target: as.Expression;
  if (node instanceof as.BinaryExpression && UPDATES.has(node.operator)) target = node.left;
  else if (node instanceof as.UnaryPrefixExpression || node instanceof as.UnaryPostfixExpression) {
    if (node.operator !== Token.Plus_Plus && node.operator !== Token.Minus_Minus) return null;
    target = node.operand;
  } else return null;
  const place = withoutParentheses(target);
  return place.kind === NodeKind.PropertyAccess || place.kind === NodeKind.ElementAccess ? place : null;
}

/** Whether evaluating a node may do something. */
function mayAct(node: as.Node): boolean {
  if (node instanceof as.IdentifierExpression || node instanceof as.LiteralExpression) return false;
  if (node instanceof as.PropertyAccessExpression) return mayAct(node.expression);
  const isQuiet =
    node.kind === NodeKind.Parenthesized ||
    node.kind === NodeKind.ElementAccess ||
    node.kind === NodeKind.Assertion ||
    (node instanceof as.BinaryExpression && node.operator !== Token.Equals && !UPDATES.has(node.operator));
  return !isQuiet || childrenOf(node).some((child) => !(child instanceof as.TypeNode) && mayAct(child));
}

/** Whether an expression may be one of these, as far as its words show it. */
export function mayUpdate(node: as.Expression): node is Update {
  const place = placeOf(node);
  return place !== null && !node.range.source.isLibrary && childrenOf(place).some((part) => mayAct(part));
}

/** Whether an expression counts a variable, a member or an element. */
export function mayCount(node: as.Expression): node is as.UnaryPrefixExpression | as.UnaryPostfixExpression {
  return (
    (node instanceof as.UnaryPrefixExpression || node instanceof as.UnaryPostfixExpression) &&
    !node.range.source.isLibrary &&
    (node.operator === Token.Plus_Plus || node.operator === Token.Minus_Minus)
  );
}

/** `x++` of a number that may be null: the compiler would count the address of its object. Null: it is another number. */
export function expandCount({ typing, flow }: Expansion, node: as.Expression): as.Expression | null {
  if (!mayCount(node)) return null;
  const { operand, operator, range } = node;
  const target = withoutParentheses(operand);
  if (target.kind !== NodeKind.Identifier) return null;
  const type = typing.of(target, flow);
  const number = type === null ? null : boxedType(type);
  if (number === null) return null;
  const place = (): as.Expression => again(target as as.IdentifierExpression);
  const [before, after] = [hidden("before", range.start, range), hidden("after", range.start, range)];
  const changed = binary(
    operator === Token.Plus_Plus ? Token.Plus : Token.Minus,
    again(before),
    integer(1, range),
    range,
  );
  const statements = [
    constant(before, place(), number),
    constant(after, changed, number),
    run(assigned(place(), again(after), range)),
  ];
  return new BlockExpression(statements, again(node instanceof as.UnaryPrefixExpression ? after : before), range);
}

/** Null: the expression is another one. */
export function expandUpdate({ typing, flow }: Expansion, node: as.Expression): as.Expression | null {
  if (!mayUpdate(node)) return null;
  const { range } = node;
  const place = placeOf(node)!;
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
