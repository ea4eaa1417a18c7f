/** Operators that assign: `=`, the compound ones, `++` and `--`. */
import { type as, CommonFlags, NodeKind, OperatorKind, Token } from "../../parse/assemblyscript.ts";
import { hasStatements, type Expression, type Local } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";
import { typed } from "./conversions.ts";
import { BINARY_OVERLOADS, overloadCall, overloadOf } from "./overloads.ts";
import { lowerPlace } from "./places.ts";
import { isQuiet } from "./quiet.ts";

export function lowerAssignment(lowering: BodyLowering, node: as.BinaryExpression): Expression {
  const place = lowerPlace(lowering, node.left);
  const value = lowering.expression(node.right, place.type);
  return place.write(place.parts, value, isUsed(lowering, node));
}

/** Whether anyone gets the value of an assignment: the compiler gives those that are statements no type. */
function isUsed(lowering: BodyLowering, node: as.Expression): boolean {
  return lowering.typeOf(node).kind !== "void";
}

/**
 * AssemblyScript takes `place op= value` for `place = place op value`: what the place is made of is evaluated twice,
 * and the old value is read before the right side runs.
 */
export function lowerCompoundAssignment(
  lowering: BodyLowering,
  node: as.BinaryExpression,
  operator: string,
): Expression {
  const span = spanOf(node);
  const place = lowerPlace(lowering, node.left);
  const kind = BINARY_OVERLOADS.get(operator);
  const isOverloaded = kind !== undefined && overloadOf(lowering, place.type, kind) !== null;
  const right = lowering.expression(node.right);
  // The old value is read before statements on the right run.
  // variant: old-value-before-statements
  if (!isOverloaded && place.target !== null && place.parts.every(isQuiet) && !hasStatements(right)) {
    return {
      kind: "assignment",
      target: place.target,
      operator,
      prefix: false,
      value: right,
      type: lowering.typeOf(node),
      span,
    };
  }
  const old = place.read(lowerPlace(lowering, node.left).parts);
  const value: Expression = (kind === undefined ? null : overloadCall(lowering, old, kind, [old, right], span)) ?? {
    kind: "operation",
    operator,
    operands: [old, typed(right, place.type.kind === "number" ? place.type : right.type)],
    type: place.type,
    span,
  };
  return place.write(place.parts, value, isUsed(lowering, node));
}

/** `++` and `--`. */
export function lowerUpdate(lowering: BodyLowering, node: as.UnaryExpression): Expression {
  const span = spanOf(node);
  const isIncrement = node.operator === Token.Plus_Plus;
  const isPrefix = node.kind === NodeKind.UnaryPrefix;
  const place = lowerPlace(lowering, node.operand);
  const kind = isIncrement
    ? isPrefix
      ? OperatorKind.PrefixInc
      : OperatorKind.PostfixInc
    : isPrefix
      ? OperatorKind.PrefixDec
      : OperatorKind.PostfixDec;
  const overload = overloadOf(lowering, place.type, kind);
  if (overload !== null && !overload.is(CommonFlags.Instance)) {
    // A static operator's result is that of the expression; nothing is assigned.
    return overloadCall(lowering, place.read(place.parts), kind, [place.read(place.parts)], span)!;
  }
  if (overload === null && place.target !== null && place.parts.every(isQuiet)) {
    const operator = isIncrement ? "++" : "--";
    const type = lowering.typeOf(node);
    return { kind: "assignment", target: place.target, operator, prefix: isPrefix, value: null, type, span };
  }
  const changed = (old: Expression): Expression =>
    overloadCall(lowering, old, kind, [old], span) ?? {
      kind: "operation",
      operator: isIncrement ? "+" : "-",
      operands: [old, { kind: "constant", text: "1", type: place.type, span }],
      type: place.type,
      span,
    };
  if (isPrefix || !isUsed(lowering, node)) {
    const old = place.read(lowerPlace(lowering, node.operand).parts);
    return place.write(place.parts, changed(old), isUsed(lowering, node));
  }
  if (place.parts.length === 0) {
    const old = place.read([]);
    const written = place.write([], changed(place.read([])), true);
    return lowering.made("before", [old, written], old.type, span, ([value]) => [
      { kind: "return", value: value!, span },
    ]);
  }
  const { parts } = place;
  const inputs = [...parts, ...lowerPlace(lowering, node.operand).parts];
  return lowering.made("postfix", inputs, place.type, span, (given) => {
    const local: Local = { name: "old", type: place.type, span };
    const old: Expression = { kind: "local", local, type: place.type, span };
    const initializer = place.read(given.slice(parts.length));
    const expression = place.write(given.slice(0, parts.length), changed(old), false);
    return [
      { kind: "variable", local, initializer, annotated: true, constant: true, span },
      { kind: "expression", expression, span },
      { kind: "return", value: old, span },
    ];
  });
}
