/**
 * Which locations code defines in f^rw, as far as relevance keeps it.
 */
import {
  nestedStatements,
  statementExpressions,
  walkExpression,
  type Expression,
  type FunctionDeclaration,
  type Statement,
} from "../lower/ir.ts";
import type { Location } from "./heap.ts";
import type { PointsTo } from "./points-to.ts";
import type { Relevance } from "./relevance.ts";

/** The two results of inference about a handler. */
export interface Inferred {
  readonly relevance: Relevance;
  readonly pointsTo: PointsTo;
}

/** The functions that the expression itself may call. */
export function calleesOf(expression: Expression, pointsTo: PointsTo): readonly FunctionDeclaration[] {
  switch (expression.kind) {
    case "call":
      return expression.callees;
    case "construction":
      return [expression.callee];
    case "indirect-call":
      return pointsTo.functionsOf(expression.callee);
    case "library":
      // variant: operators-called
      return [...pointsTo.callbacksOf(expression), ...expression.calls];
    default:
      return [];
  }
}

/** The locations that the expression itself and its callees define, without those of its operands. */
export function definedBy(expression: Expression, { relevance, pointsTo }: Inferred): Location[] {
  if (expression.kind === "access") return relevance.stored.has(expression) ? pointsTo.tablesOf(expression.table) : [];
  if (!relevance.kept.has(expression) && !relevance.needed.has(expression)) return [];
  const ofCallees = calleesOf(expression, pointsTo).flatMap((callee) => [...relevance.effectsOf(callee).defines]);
  switch (expression.kind) {
    case "assignment": {
      const { target } = expression;
      if (target.kind === "local") return [target.local];
      if (target.kind === "global") return [target.global];
      if (target.kind === "field") return [...pointsTo.of(target.object)].map((object) => object.cell(target.field));
      return [...pointsTo.of(target.container)].map((container) => container.content);
    }
    case "library":
      if (!expression.member.writes || expression.receiver === null) return ofCallees;
      return [...ofCallees, ...Array.from(pointsTo.of(expression.receiver), (container) => container.content)];
    case "draw":
      return [expression.site];
    default:
      return ofCallees;
  }
}

export function definitionsOf(code: readonly (Statement | Expression)[], inferred: Inferred): Set<Location> {
  const defines = new Set<Location>();
  const inExpression = (expression: Expression): void =>
    walkExpression(expression, (inner) => {
      for (const location of definedBy(inner, inferred)) defines.add(location);
    });
  const inStatement = (statement: Statement): void => {
    if (statement.kind === "variable" && inferred.relevance.variables.has(statement.local))
      defines.add(statement.local);
    for (const own of statementExpressions(statement)) inExpression(own);
    for (const inner of nestedStatements(statement)) inStatement(inner);
  };
  for (const part of code) {
    if (isStatement(part)) inStatement(part);
    else inExpression(part);
  }
  return defines;
}

const STATEMENT_KINDS: ReadonlySet<string> = new Set(
  "block expression variable if loop switch return throw break continue".split(" "),
);

export function isStatement(part: Statement | Expression): part is Statement {
  return STATEMENT_KINDS.has(part.kind);
}
