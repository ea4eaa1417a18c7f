/** Expressions about types: `as`, `!`, `instanceof` and `typeof`; and values as values of another type. */
import { type as, AssertionKind, ElementKind, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { STRING, nonNullable, type Expression, type Type } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { isQuiet } from "./quiet.ts";

export function lowerAssertion(lowering: BodyLowering, node: as.AssertionExpression): Expression {
  const span = spanOf(node);
  const operand = lowering.expression(node.expression);
  switch (node.assertionKind) {
    case AssertionKind.NonNull:
      return { kind: "non-null", operand, type: nonNullable(operand.type), span };
    case AssertionKind.Prefix:
    case AssertionKind.As: {
      const written = lowering.factsOf(node).writtenType;
      if (written !== undefined)
        return { kind: "cast", operand, type: lowering.declarations.type(written, span), span };
      break;
    }
    default:
      break;
  }
  throw new Refusal("not_sliced_syntax", { message: "The analyzer can't follow this assertion yet.", primary: span });
}

/** The compiler knows `typeof` from the type; the operand is evaluated for its effects. */
export function lowerTypeOf(lowering: BodyLowering, node: as.Expression, span: Span): Expression {
  const inner = withoutParentheses(node);
  const constant = (text: string): Expression => ({
    kind: "constant",
    text: JSON.stringify(text),
    type: STRING,
    span,
  });
  const kind = lowering.factsOf(inner).target?.kind;
  if (kind === ElementKind.ClassPrototype || kind === ElementKind.Namespace || kind === ElementKind.Enum)
    return constant("object");
  if (kind === ElementKind.FunctionPrototype) return constant("function");
  const isNamed =
    inner.kind === NodeKind.This || inner.kind === NodeKind.Identifier || inner.kind === NodeKind.PropertyAccess;
  if (!isNamed)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow the `typeof` of a computed value.",
      primary: span,
      help: "Put the value into a variable first.",
    });
  const operand = lowering.expression(inner);
  const text = constant(typeName(operand.type));
  return isQuiet(operand) ? text : { kind: "sequence", operands: [operand, text], type: STRING, span };
}

/** The expression as a value of the type; where its own is known to be the same it stays as it is. */
export function typed(expression: Expression, type: Type): Expression {
  if (expression.kind === "constant") return { ...expression, type };
  if (type.kind === "number") {
    if (expression.type.kind === "number" && expression.type.name === type.name) return expression;
    return { kind: "cast", operand: expression, type, span: expression.span };
  }
  return { ...expression, type };
}

/** The text of `typeof`. */
function typeName(type: Type): string {
  switch (type.kind) {
    case "void":
      return "undefined";
    case "bool":
      return "boolean";
    case "number":
    case "string":
    case "function":
      return type.kind;
    case "class":
    case "library":
    case "table":
      return "object";
    case "nullable":
      return typeName(type.inner);
  }
}
