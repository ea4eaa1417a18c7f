/**
 * Which early ends of the execution f^rw keeps. Leaving one out is always sound: f^rw then says accesses that f does not
 * make in that case. One is left out if its condition alone would make f^rw expensive: a password check before the
 * session is written, say. Of `if (cheap || expensive) return` the cheap part stays.
 */
import {

  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type LoopStatement,
  type Program,
  type Statement,
} from "../lower/ir.ts";
import { CostModel } from "../infer/cost.ts";
import type { PointsTo } from "../infer/points-to.ts";
import { computeRelevance, guardsOf, type Relevance } from "../infer/relevance.ts";

/** Estimated steps from which a loop counts as expensive. */
const EXPENSIVE_STEPS = 20_000;

export function relevanceWithGuards(program: Program, pointsTo: PointsTo): Relevance {
  const all = computeRelevance(program, pointsTo, new Set());
  const costs = new CostModel(pointsTo.reached);
  const expensive = expensiveParts(pointsTo.reached, costs);
  if (expensive.size === 0) return all;
  const guards = [...pointsTo.reached].flatMap((declaration) => guardsOf(declaration, declaration === program.handler));
  const none = computeRelevance(program, pointsTo, new Set(guards));
  if (countKept(all, expensive) === countKept(none, expensive)) return all;
  const ignored = new Set(guards);
  let best = none;
  for (const guard of guards) {
    ignored.delete(guard);
    const candidate = computeRelevance(program, pointsTo, ignored);
    if (countKept(candidate, expensive) > countKept(none, expensive)) ignored.add(guard);
    else best = candidate;
  }
  return best;
}

/** Splits `if (a || b) end` into two, in place, so that each condition is judged on its own. */
export function splitGuards(functions: Iterable<FunctionDeclaration>): void {
  for (const declaration of functions) declaration.body = split(declaration.body);
}

function split(statements: readonly Statement[]): Statement[] {
  return statements.flatMap((statement): Statement[] => {
    switch (statement.kind) {
      case "block":
        return [{ ...statement, body: split(statement.body) }];
      case "if": {
        const { condition } = statement;
        if (condition.kind === "logical" && condition.operator === "||" && statement.alternative.length === 0 && isGuard(statement.consequent)) {
          const parts = [condition.left, condition.right].map((part): Statement => ({ ...statement, condition: part, consequent: structuredCopy(statement.consequent) }));
          return split(parts);
        }
        return [{ ...statement, consequent: split(statement.consequent), alternative: split(statement.alternative) }];
      }
      case "loop":
        return [{ ...statement, body: split(statement.body) }];
      case "switch":
        return [{ ...statement, cases: statement.cases.map((choice) => ({ ...choice, body: split(choice.body) })) }];
      default:
        return [statement];
    }
  });
}

/** One statement that ends the function or the execution. */
function isGuard(statements: readonly Statement[]): boolean {
  const [only] = statements;
  if (statements.length !== 1 || only === undefined) return false;
  return only.kind === "return" || only.kind === "throw" || (only.kind === "expression" && only.expression.kind === "abort");
}

/** A guard of its own: marks are by identity. Operands are shared, which only makes both keep what either needs. */
function structuredCopy(statements: readonly Statement[]): Statement[] {
  return statements.map((statement) => (statement.kind === "expression" ? { ...statement, expression: { ...statement.expression } } : { ...statement }));
}

function expensiveParts(functions: Iterable<FunctionDeclaration>, costs: CostModel): Set<LoopStatement | Expression> {
  const parts = new Set<LoopStatement | Expression>();
  for (const declaration of functions) {
    walkStatements([...declaration.initializers, ...declaration.body], (statement) => {
      if (statement.kind === "loop" && costs.loop(statement) >= EXPENSIVE_STEPS) parts.add(statement);
      for (const own of statementExpressions(statement)) {
        walkExpression(own, (expression) => {
          const repeats = expression.kind === "library" && expression.member.callback !== null;
          if ((repeats || expression.kind === "call") && costs.expression(expression) >= EXPENSIVE_STEPS) parts.add(expression);
        });
      }
    });
  }
  return parts;
}

function countKept(relevance: Relevance, parts: ReadonlySet<LoopStatement | Expression>): number {
  let count = 0;
  for (const part of parts) {
    if (part.kind === "loop" ? relevance.keptStatements.has(part) : relevance.kept.has(part) || relevance.needed.has(part)) count++;
  }
  return count;
}

