/** Operators that compute a value. */
import { type as, Token } from "../../parse/assemblyscript.ts";
import { INCREMENTS } from "../../parse/assignments.ts";
import type { Expression, Type } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { lowerAssignment, lowerCompoundAssignment, lowerUpdate } from "./assignments.ts";
import { lowerTypeOf } from "./conversions.ts";
import { UNARY_OVERLOADS, binaryOverload, overloadCall } from "./overloads.ts";

export function lowerUnary(lowering: BodyLowering, node: as.UnaryExpression, expected: Type | undefined): Expression {
  const span = spanOf(node);
  if (INCREMENTS.has(node.operator)) return lowerUpdate(lowering, node);
  if (node.operator === Token.TypeOf) return lowerTypeOf(lowering, node.operand, span);
  const operator = UNARY_OPERATORS.get(node.operator);
  if (operator === undefined)
    throw new Refusal("not_sliced_syntax", { message: "The analyzer can't follow this operator yet.", primary: span });
  const type = lowering.typeOf(node, expected);
  // The compiler takes the sign of a literal for a part of it.
  const operand = lowering.expression(node.operand, type);
  return (
    overloadCall(lowering, operand, UNARY_OVERLOADS.get(node.operator)!, [operand], span) ?? {
      kind: "operation",
      operator,
      operands: [operand],
      type,
      span,
    }
  );
}

export function lowerBinary(lowering: BodyLowering, node: as.BinaryExpression): Expression {
  const span = spanOf(node);
  const { operator } = node;
  if (operator === Token.Equals) return lowerAssignment(lowering, node);
  const compound = COMPOUND_OPERATORS.get(operator);
  if (compound !== undefined) return lowerCompoundAssignment(lowering, node, compound);
  if (operator === Token.Ampersand_Ampersand || operator === Token.Bar_Bar) {
    const left = lowering.expression(node.left);
    // A left side that is always decisive: the compiler dropped the right one.
    if (!lowering.wasCompiled(node.right)) return left;
    return {
      kind: "logical",
      operator: operator === Token.Ampersand_Ampersand ? "&&" : "||",
      left,
      right: lowering.expression(node.right),
      type: lowering.typeOf(node),
      span,
    };
  }
  const text = BINARY_OPERATORS.get(operator);
  if (text === undefined)
    throw new Refusal("not_sliced_syntax", { message: "The analyzer can't follow this operator yet.", primary: span });
  const left = lowering.expression(node.left);
  const right = lowering.expression(node.right);
  const overloaded = binaryOverload(lowering, node, left, right, text);
  if (overloaded !== null) return overloaded;
  return { kind: "operation", operator: text, operands: [left, right], type: lowering.typeOf(node), span };
}

const UNARY_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Exclamation, "!"],
  [Token.Minus, "-"],
  [Token.Plus, "+"],
  [Token.Tilde, "~"],
]);

const BINARY_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Plus, "+"],
  [Token.Minus, "-"],
  [Token.Asterisk, "*"],
  [Token.Asterisk_Asterisk, "**"],
  [Token.Slash, "/"],
  [Token.Percent, "%"],
  [Token.LessThan_LessThan, "<<"],
  [Token.GreaterThan_GreaterThan, ">>"],
  [Token.GreaterThan_GreaterThan_GreaterThan, ">>>"],
  [Token.Ampersand, "&"],
  [Token.Bar, "|"],
  [Token.Caret, "^"],
  [Token.Equals_Equals, "=="],
  [Token.Equals_Equals_Equals, "==="],
  [Token.Exclamation_Equals, "!="],
  [Token.Exclamation_Equals_Equals, "!=="],
  [Token.LessThan, "<"],
  [Token.LessThan_Equals, "<="],
  [Token.GreaterThan, ">"],
  [Token.GreaterThan_Equals, ">="],
]);

const COMPOUND_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Plus_Equals, "+"],
  [Token.Minus_Equals, "-"],
  [Token.Asterisk_Equals, "*"],
  [Token.Asterisk_Asterisk_Equals, "**"],
  [Token.Slash_Equals, "/"],
  [Token.Percent_Equals, "%"],
  [Token.LessThan_LessThan_Equals, "<<"],
  [Token.GreaterThan_GreaterThan_Equals, ">>"],
  [Token.GreaterThan_GreaterThan_GreaterThan_Equals, ">>>"],
  [Token.Ampersand_Equals, "&"],
  [Token.Bar_Equals, "|"],
  [Token.Caret_Equals, "^"],
]);
