/**
 * Which early ends of the execution f^rw keeps. Leaving one out is always sound: f^rw then says accesses that f does not
 * make in that case. One is left out if its condition alone would make f^rw expensive: a password check before the
 * session is written, say. Of `if (cheap || expensive) return` the cheap part stays.
 */
import {
  nestedStatements,
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
import { computeRelevance, type Guard, type Relevance } from "../infer/relevance.ts";

/** Estimated steps from which a loop counts as expensive. */
const EXPENSIVE_STEPS = 20_000;

/** Splits guards of the program in place where that keeps more of them. */
export function relevanceWithGuards(program: Program, pointsTo: PointsTo): Relevance {
  const { relevance, ignored } = chooseGuards(program, pointsTo);
  if (ignored.size === 0) return relevance;
  let changed = false;
  for (const declaration of pointsTo.reached) {
    const body = split(declaration.body, ignored);
    if (
      body.length === declaration.body.length &&
      body.every((statement, index) => statement === declaration.body[index])
    )
      continue;
    declaration.body = body;
    changed = true;
  }
  return changed ? chooseGuards(program, pointsTo).relevance : relevance;
}

function chooseGuards(
  program: Program,
  pointsTo: PointsTo,
): { readonly relevance: Relevance; readonly ignored: ReadonlySet<Guard> } {
  const nothingIgnored = new Set<Guard>();
  const all = computeRelevance(program, pointsTo, nothingIgnored);
  const expensive = expensiveParts(pointsTo.reached, new CostModel(pointsTo.reached));
  if (expensive.size === 0) return { relevance: all, ignored: nothingIgnored };
  const guards = removableGuards(program, pointsTo);
  const none = computeRelevance(program, pointsTo, new Set(guards));
  const unavoidable = countKept(none, expensive);
  if (countKept(all, expensive) === unavoidable) return { relevance: all, ignored: nothingIgnored };
  const ignored = new Set(guards);
  let relevance = none;
  for (const guard of guards) {
    ignored.delete(guard);
    const candidate = computeRelevance(program, pointsTo, ignored);
    if (countKept(candidate, expensive) > unavoidable) ignored.add(guard);
    else relevance = candidate;
  }
  return { relevance, ignored };
}

/** Makes `if (a) end; if (b) end` of each ignored `if (a || b) end`, so that each condition is judged on its own. */
function split(statements: readonly Statement[], ignored: ReadonlySet<Guard>): readonly Statement[] {
  const parts = statements.map((statement): readonly Statement[] => {
    switch (statement.kind) {
      case "block": {
        const body = split(statement.body, ignored);
        return [body === statement.body ? statement : { ...statement, body }];
      }
      case "if": {
        const { condition } = statement;
        if (
          condition.kind === "logical" &&
          condition.operator === "||" &&
          statement.alternative.length === 0 &&
          isIgnored(statement.consequent, ignored)
        ) {
          return [condition.left, condition.right].map((part): Statement => ({
            ...statement,
            condition: part,
            consequent: ownCopy(statement.consequent),
          }));
        }
        const consequent = split(statement.consequent, ignored);
        const alternative = split(statement.alternative, ignored);
        return [
          consequent === statement.consequent && alternative === statement.alternative
            ? statement
            : { ...statement, consequent, alternative },
        ];
      }
      case "loop": {
        const body = split(statement.body, ignored);
        return [body === statement.body ? statement : { ...statement, body }];
      }
      case "switch":
        return [
          { ...statement, cases: statement.cases.map((choice) => ({ ...choice, body: split(choice.body, ignored) })) },
        ];
      default:
        return [statement];
    }
  });
  const result = parts.flat();
  return result.length === statements.length && result.every((statement, index) => statement === statements[index])
    ? statements
    : result;
}

/** Whether the only statement is a guard that is left out. */
function isIgnored(statements: readonly Statement[], ignored: ReadonlySet<Guard>): boolean {
  const [only] = statements;
  if (statements.length !== 1 || only === undefined) return false;
  if (only.kind === "return" || only.kind === "throw") return ignored.has(only);
  return only.kind === "expression" && only.expression.kind === "abort" && ignored.has(only.expression);
}

/** A guard of its own: marks are by identity. Operands are shared, which only makes both keep what either needs. */
function ownCopy(statements: readonly Statement[]): Statement[] {
  return statements.map((statement) =>
    statement.kind === "expression" ? { ...statement, expression: { ...statement.expression } } : { ...statement },
  );
}

/**
 * The guards that may be left out: an `abort` or `throw` anywhere, a `return` of the handler itself, but none in a loop
 * or recursion, which might only end there.
 */
function removableGuards(program: Program, pointsTo: PointsTo): Guard[] {
  const { handler } = program;
  const repeated = repeatedFunctions(handler, pointsTo);
  const guards: Guard[] = [];
  for (const declaration of pointsTo.reached) {
    if (repeated.has(declaration)) continue;
    walkOutsideLoops(declaration.body, (statement) => {
      if (statement.kind === "throw" || (declaration === handler && statement.kind === "return"))
        guards.push(statement);
      for (const own of statementExpressions(statement)) {
        walkExpression(own, (expression) => {
          if (expression.kind === "abort") guards.push(expression);
        });
      }
    });
  }
  return guards;
}

/** Functions that may run more than once: called in loops, by the library, or recursively. */
function repeatedFunctions(handler: FunctionDeclaration, pointsTo: PointsTo): Set<FunctionDeclaration> {
  const repeated = new Set<FunctionDeclaration>();
  const visited = new Set<FunctionDeclaration>();
  const visit = (
    declaration: FunctionDeclaration,
    isRepeated: boolean,
    callers: ReadonlySet<FunctionDeclaration>,
  ): void => {
    const again = isRepeated || callers.has(declaration);
    if (visited.has(declaration) && (!again || repeated.has(declaration))) return;
    visited.add(declaration);
    if (again) repeated.add(declaration);
    const chain = new Set([...callers, declaration]);
    const once = new Set<Statement>();
    walkOutsideLoops(declaration.body, (statement) => once.add(statement));
    walkStatements([...declaration.initializers, ...declaration.body], (statement) => {
      for (const own of statementExpressions(statement)) {
        walkExpression(own, (expression) => {
          if (expression.kind === "function-value") visit(expression.declaration, true, chain);
          const callees =
            expression.kind === "call"
              ? expression.callees
              : expression.kind === "construction"
                ? [expression.callee]
                : [];
          const indirect = expression.kind === "indirect-call" ? pointsTo.functionsOf(expression.callee) : [];
          for (const callee of [...callees, ...indirect])
            visit(callee, again || !once.has(statement) || indirect.length > 0, chain);
        });
      }
    });
  };
  visit(handler, false, new Set());
  return repeated;
}

function walkOutsideLoops(statements: readonly Statement[], visit: (statement: Statement) => void): void {
  for (const statement of statements) {
    if (statement.kind === "loop") continue;
    visit(statement);
    walkOutsideLoops(nestedStatements(statement), visit);
  }
}

function expensiveParts(functions: Iterable<FunctionDeclaration>, costs: CostModel): Set<LoopStatement | Expression> {
  const parts = new Set<LoopStatement | Expression>();
  for (const declaration of functions) {
    walkStatements([...declaration.initializers, ...declaration.body], (statement) => {
      if (statement.kind === "loop" && costs.loop(statement) >= EXPENSIVE_STEPS) parts.add(statement);
      for (const own of statementExpressions(statement)) {
        walkExpression(own, (expression) => {
          const repeats = expression.kind === "library" && expression.member.callback !== null;
          if ((repeats || expression.kind === "call") && costs.expression(expression) >= EXPENSIVE_STEPS)
            parts.add(expression);
        });
      }
    });
  }
  return parts;
}

function countKept(relevance: Relevance, parts: ReadonlySet<LoopStatement | Expression>): number {
  let count = 0;
  for (const part of parts) {
    if (
      part.kind === "loop" ? relevance.keptStatements.has(part) : relevance.kept.has(part) || relevance.needed.has(part)
    )
      count++;
  }
  return count;
}
