/** One rule for each expression, or the file that has it. */
import { type as, NodeKind } from "../../parse/assemblyscript.ts";
import { textOf } from "../../parse/span.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { BlockExpression } from "../../parse/forms-nodes.ts";
import { BOOL, type Expression, type Type } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { lowerCall, lowerConstruction } from "./calls.ts";
import { lowerConditional } from "./control-flow.ts";
import { lowerAssertion } from "./conversions.ts";
import { lowerBlockExpression } from "./forms.ts";
import { lowerLiteral } from "./literals.ts";
import { lowerElement, lowerReference } from "./members.ts";
import { lowerBinary, lowerUnary } from "./operators.ts";

export function lowerExpression(lowering: BodyLowering, node: as.Expression, expected: Type | undefined): Expression {
  const inner = withoutParentheses(node);
  const span = spanOf(inner);
  if (inner instanceof BlockExpression) return lowerBlockExpression(lowering, inner, expected);
  const { expansion } = lowering.factsOf(inner);
  if (expansion !== undefined) return lowering.expression(expansion, expected);
  switch (inner.kind) {
    case NodeKind.Null:
    case NodeKind.True:
    case NodeKind.False:
      return { kind: "constant", text: textOf(inner), type: lowering.typeOf(inner, expected), span };
    case NodeKind.This:
    case NodeKind.Super:
      return lowering.thisValue(span);
    case NodeKind.Identifier: {
      const { text } = inner as as.IdentifierExpression;
      const local = lowering.find(text);
      if (local !== null) return { kind: "local", local, type: lowering.typeOf(inner, local.type), span };
      return lowerReference(lowering, inner, null);
    }
    case NodeKind.PropertyAccess:
      return lowerReference(lowering, inner, (inner as as.PropertyAccessExpression).expression);
    case NodeKind.Literal:
      return lowerLiteral(lowering, inner as as.LiteralExpression, expected);
    case NodeKind.Assertion:
      return lowerAssertion(lowering, inner as as.AssertionExpression);
    case NodeKind.Comma:
      return {
        kind: "sequence",
        operands: (inner as as.CommaExpression).expressions.map((part) => lowering.expression(part)),
        type: lowering.typeOf(inner),
        span,
      };
    case NodeKind.Ternary:
      return lowerConditional(lowering, inner as as.TernaryExpression);
    case NodeKind.InstanceOf: {
      const { expression } = inner as as.InstanceOfExpression;
      const tested = lowering.factsOf(inner).writtenType;
      if (tested === undefined)
        throw new Refusal("not_sliced_type", {
          message: "The analyzer can't follow this test of a type yet.",
          primary: span,
        });
      return {
        kind: "instance-of",
        operand: lowering.expression(expression),
        tested: lowering.declarations.type(tested, span),
        type: BOOL,
        span,
      };
    }
    case NodeKind.Binary:
      return lowerBinary(lowering, inner as as.BinaryExpression);
    case NodeKind.UnaryPrefix:
    case NodeKind.UnaryPostfix:
      return lowerUnary(lowering, inner as as.UnaryExpression, expected);
    case NodeKind.ElementAccess:
      return lowerElement(lowering, inner as as.ElementAccessExpression);
    case NodeKind.New:
      return lowerConstruction(lowering, inner as as.NewExpression);
    case NodeKind.Function: {
      const { lambda } = lowering.factsOf(inner);
      if (lambda === undefined)
        throw new Refusal("not_sliced_syntax", {
          message: "The analyzer can't follow this function expression yet.",
          primary: span,
        });
      return lowering.functionValue(lowering.declarations.function(lambda), lambda, span);
    }
    case NodeKind.Call:
      return lowerCall(lowering, inner as as.CallExpression);
    default:
      throw new Refusal("not_sliced_syntax", {
        message: "The analyzer can't follow this expression yet.",
        primary: span,
      });
  }
}
