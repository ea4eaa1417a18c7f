/** Operators that the application defines for objects of its classes. */
import { type as, CommonFlags, OperatorKind, Token } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { nonNullable, type Expression, type Type } from "../ir.ts";
import { isApplication, sourcePath, spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";
import { methodCall } from "./calls.ts";

/** The call that an operator on objects of the application makes; null: it is one of the language. */
export function binaryOverload(
  lowering: BodyLowering,
  node: as.Node,
  left: Expression,
  right: Expression,
  operator: string,
): Expression | null {
  const kind = BINARY_OVERLOADS.get(operator);
  if (kind === undefined) return null;
  const noted = lowering
    .factsOf(node)
    .calls?.some((callee) => isApplication(sourcePath(callee)) && callee.prototype.operatorKind === kind);
  if (noted !== true) return null;
  if (kind === OperatorKind.Eq || kind === OperatorKind.Ne) return comparison(lowering, left, right, kind);
  return overloadCall(lowering, left, kind, [left, right], spanOf(node));
}

/** An equality that an operator of either side decides; that side is evaluated first. */
export function comparison(
  lowering: BodyLowering,
  left: Expression,
  right: Expression,
  kind: OperatorKind,
): Expression | null {
  return (
    overloadCall(lowering, left, kind, [left, right], left.span) ??
    overloadCall(lowering, right, kind, [right, left], left.span)
  );
}

export function overloadOf(lowering: BodyLowering, type: Type, kind: OperatorKind): as.Function | null {
  const inner = nonNullable(type);
  return inner.kind === "class" ? lowering.declarations.operator(inner.declaration, kind) : null;
}

export function overloadCall(
  lowering: BodyLowering,
  owner: Expression,
  kind: OperatorKind,
  args: readonly Expression[],
  span: Span,
): Expression | null {
  const callee = overloadOf(lowering, owner.type, kind);
  if (callee === null) return null;
  const [first, ...rest] = args;
  return callee.is(CommonFlags.Instance)
    ? methodCall(lowering, callee, first!, rest, span, false)
    : methodCall(lowering, callee, null, args, span, false);
}

export const UNARY_OVERLOADS: ReadonlyMap<Token, OperatorKind> = new Map([
  [Token.Exclamation, OperatorKind.Not],
  [Token.Minus, OperatorKind.Minus],
  [Token.Plus, OperatorKind.Plus],
  [Token.Tilde, OperatorKind.BitwiseNot],
]);

export const BINARY_OVERLOADS: ReadonlyMap<string, OperatorKind> = new Map([
  ["+", OperatorKind.Add],
  ["-", OperatorKind.Sub],
  ["*", OperatorKind.Mul],
  ["**", OperatorKind.Pow],
  ["/", OperatorKind.Div],
  ["%", OperatorKind.Rem],
  ["<<", OperatorKind.BitwiseShl],
  [">>", OperatorKind.BitwiseShr],
  [">>>", OperatorKind.BitwiseShrU],
  ["&", OperatorKind.BitwiseAnd],
  ["|", OperatorKind.BitwiseOr],
  ["^", OperatorKind.BitwiseXor],
  ["==", OperatorKind.Eq],
  ["===", OperatorKind.Eq],
  ["!=", OperatorKind.Ne],
  ["!==", OperatorKind.Ne],
  ["<", OperatorKind.Lt],
  ["<=", OperatorKind.Le],
  [">", OperatorKind.Gt],
  [">=", OperatorKind.Ge],
]);
