/** Everyday forms of TypeScript: the trees that the compiler compiled in their place, which may have statements in expressions. */
import type { as } from "../../parse/assemblyscript.ts";
import type { BlockExpression } from "../../parse/forms-nodes.ts";
import { hasStatements, VOID, type Expression, type Statement, type Type } from "../ir.ts";
import { freeLocals, linearized, substituted } from "../linearize.ts";
import { spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";

/** Statements inside of an expression, until the function is lowered: see `linearize`. */
export function lowerBlockExpression(
  lowering: BodyLowering,
  node: BlockExpression,
  expected: Type | undefined,
): Expression {
  return lowering.scoped(() => {
    const statements = lowering.statements(node.statements);
    const operands = node.result === null ? [] : [lowering.expression(node.result, expected)];
    return { kind: "sequence", statements, operands, type: operands[0]?.type ?? VOID, span: spanOf(node) };
  });
}

/** An expression that stands in no body: if it needs statements, a function gives its value. */
export function lowerInitial(lowering: BodyLowering, node: as.Expression, expected: Type): Expression {
  const value = lowering.expression(node, expected);
  if (!hasStatements(value)) return value;
  const { span, type } = value;
  const inputs = freeLocals(value);
  const given = inputs.map((local): Expression => ({ kind: "local", local, type: local.type, span }));
  return lowering.made("initial", given, type, span, (parameters) => {
    const values = new Map(inputs.map((local, index) => [local, parameters[index]!]));
    const returned: Statement = { kind: "return", value: substituted(value, values), span };
    return linearized([returned]);
  });
}
