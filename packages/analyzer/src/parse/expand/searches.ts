/**
 * `includes`, `indexOf` and `lastIndexOf` of a list of numbers that may be null. Each of them is an object to the compiler,
 * and equal numbers are two objects. A loop compares the numbers.
 */
import { as, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { boxedType } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import {
  access,
  again,
  assigned,
  binary,
  block,
  choice,
  constant,
  counting,
  element,
  hidden,
  integer,
  run,
  variable,
  when,
} from "./syntax.ts";
import { isNullable } from "./typing.ts";

const SEARCHES: ReadonlySet<string> = new Set(["includes", "indexOf", "lastIndexOf"]);

/** Whether a call may be one of these, as far as its words show it. */
export function maySearch({ expression, args }: as.CallExpression): boolean {
  return (
    expression instanceof as.PropertyAccessExpression &&
    !expression.range.source.isLibrary &&
    SEARCHES.has(expression.property.text) &&
    (args.length === 1 || args.length === 2)
  );
}

/** Null: the call is another one. */
export function expandSearch({ typing, flow }: Expansion, node: as.CallExpression): as.Expression | null {
  const callee = withoutParentheses(node.expression);
  if (!(callee instanceof as.PropertyAccessExpression) || !maySearch(node)) return null;
  const { expression: receiver, property } = callee;
  const owner = typing.of(receiver, flow);
  const type = typing.containerOf(owner)?.typeArguments?.[0];
  if (owner === null || isNullable(owner) || type === undefined || !isNullable(type)) return null;
  const number = boxedType(type);
  if (number === null) return null;

  const { range, args } = node;
  const [searched, from] = args;
  const at = property.range.start;
  const list = hidden("list", at, receiver.range);
  const value = hidden("value", at, searched!.range);
  const start = hidden("from", at, range);
  const index = hidden("index", at, range);
  const result = hidden("result", at, range);
  const length = (): as.Expression => access(again(list), "length", range);
  const item = (): as.Expression => element(again(list), again(index), range);
  const count = (operator: Token, left: as.Expression, right: as.Expression): as.Expression =>
    counting(binary(operator, left, right, range));
  const zero = (): as.Expression => integer(0, range);
  const one = (): as.Expression => integer(1, range);

  const isBackward = property.text === "lastIndexOf";
  // A negative start counts from the end.
  const fromEnd = (): as.Expression => count(Token.Plus, again(start), length());
  const last = (): as.Expression => count(Token.Minus, length(), one());
  const first = isBackward
    ? from === undefined
      ? last()
      : choice(
          count(Token.LessThan, again(start), zero()),
          fromEnd(),
          choice(count(Token.LessThan, again(start), length()), again(start), last(), range),
          range,
        )
    : from === undefined
      ? zero()
      : choice(
          count(Token.GreaterThan_Equals, again(start), zero()),
          again(start),
          choice(count(Token.LessThan, fromEnd(), zero()), zero(), fromEnd(), range),
          range,
        );

  let isFound = binary(Token.Equals_Equals, item(), again(value), range);
  // variant: includes-nan
  if (property.text === "includes" && number.isFloatValue) {
    // Of `includes` alone, "not a number" is equal to itself.
    const isNaN = binary(Token.Exclamation_Equals, again(value), again(value), range);
    const both = binary(
      Token.Ampersand_Ampersand,
      isNaN,
      binary(Token.Exclamation_Equals, item(), item(), range),
      range,
    );
    isFound = binary(Token.Bar_Bar, isFound, both, range);
  }
  const found = block(
    [run(assigned(again(result), again(index), range)), as.Node.createBreakStatement(null, range)],
    range,
  );
  const loop = as.Node.createForStatement(
    variable(index, first, as.Type.i32),
    isBackward ? count(Token.GreaterThan_Equals, again(index), zero()) : count(Token.LessThan, again(index), length()),
    counting(
      as.Node.createUnaryPrefixExpression(isBackward ? Token.Minus_Minus : Token.Plus_Plus, again(index), range),
    ),
    block([when(isFound, found, range)], range),
    range,
  );
  const missing = counting(as.Node.createUnaryPrefixExpression(Token.Minus, one(), range));
  const statements = [
    constant(list, receiver),
    constant(value, searched!, type),
    ...(from === undefined ? [] : [constant(start, from, as.Type.i32)]),
    variable(result, missing, as.Type.i32),
    loop,
  ];
  const position = again(result);
  const answer = property.text === "includes" ? count(Token.GreaterThan_Equals, position, zero()) : position;
  return new BlockExpression(statements, answer, range);
}
