/**
 * Loops that are known to end however often their bodies jump out of them: they count towards a bound that nothing in
 * them changes.
 */
import {
  nestedStatements,
  statementExpressions,
  walkExpression,
  type Expression,
  type Local,
  type LoopStatement,
  type NumberName,
  type Statement,
  type Type,
} from "../lower/ir.ts";
import { definitionsOf, type Inferred } from "./definitions.ts";
import type { Location } from "./heap.ts";
import type { PointsTo } from "./points-to.ts";

export interface Counting {
  readonly counter: Local;
  /** The number that each round adds. */
  readonly step: number;
  /** `<`, `<=`, `>`, `>=`: counter on the left. */
  readonly operator: string;
  readonly bound: Expression;
  /** It counts behind the rounds, so that the counter is within the bound in all of each. */
  readonly inUpdate: boolean;
}

/** How a loop counts, from its syntax alone: `counter < bound` among its conditions, `counter++` in every round. */
export function countingOf(loop: LoopStatement): Counting | null {
  const { condition, update } = loop;
  if (loop.form === "do" || condition === null) return null;
  const conjuncts = conjunctsOf(condition);
  for (const conjunct of conjuncts) {
    if (conjunct.kind !== "operation" || conjunct.operands.length !== 2) continue;
    const { operator } = conjunct;
    const [left, right] = conjunct.operands;
    if (left === undefined || right === undefined) continue;
    for (const [side, bound, direction] of [
      [left, right, operator],
      [right, left, MIRRORED[operator] ?? operator],
    ] as const) {
      const counter = counterOf(side);
      if (counter === null) continue;
      const [only, ...others] = assignmentsTo(counter, loop);
      // variant: counter-assigned-once
      if (only === undefined || others.length > 0) continue;
      const inUpdate = update === only || (update?.kind === "sequence" && update.operands.includes(only));
      if (!inUpdate && !(side === only && conjunct === conjuncts[0])) continue;
      const step = stepOf(only);
      const toward = direction.startsWith("<") ? 1 : direction.startsWith(">") ? -1 : 0;
      if (step !== null && step * toward > 0) return { counter, step, operator: direction, bound, inUpdate };
    }
  }
  return null;
}

const MIRRORED: Readonly<Record<string, string>> = { "<": ">", ">": "<", "<=": ">=", ">=": "<=" };

/** The parts of `a && b && c`. */
export function conjunctsOf(condition: Expression): Expression[] {
  return condition.kind === "logical" && condition.operator === "&&"
    ? [...conjunctsOf(condition.left), ...conjunctsOf(condition.right)]
    : [condition];
}

type Assigned = Extract<Expression, { kind: "assignment" }>;

/** `counter`, or `counter++` in the condition itself. */
function counterOf(side: Expression): Local | null {
  if (side.kind === "local") return side.local;
  return side.kind === "assignment" && side.value === null && side.target.kind === "local" ? side.target.local : null;
}

function assignmentsTo(local: Local, loop: LoopStatement): Assigned[] {
  const found: Assigned[] = [];
  const inStatement = (statement: Statement): void => {
    for (const own of statementExpressions(statement))
      walkExpression(own, (inner) => {
        if (inner.kind === "assignment" && inner.target.kind === "local" && inner.target.local === local)
          found.push(inner);
      });
    for (const inner of nestedStatements(statement)) inStatement(inner);
  };
  inStatement({ ...loop, initial: [] });
  return found;
}

function stepOf({ operator, value }: Assigned): number | null {
  if (operator === "++") return 1;
  if (operator === "--") return -1;
  if ((operator !== "+" && operator !== "-") || value?.kind !== "constant") return null;
  const number = Number(value.text.replaceAll("_", ""));
  return Number.isInteger(number) ? (operator === "+" ? number : -number) : null;
}

/** `while (true)` that nothing in it leaves: what ends it is a trap, here or in a callee. */
export function endsByTrapOnly({ condition, body }: LoopStatement): boolean {
  if (condition !== null && !(condition.kind === "constant" && condition.text === "true")) return false;
  return !leavesIn(body, true);
}

function leavesIn(statements: readonly Statement[], breakLeaves: boolean): boolean {
  return statements.some((statement) => {
    switch (statement.kind) {
      case "return":
      case "throw":
        return true;
      case "break":
        return breakLeaves;
      case "loop":
      case "switch":
        return leavesIn(nestedStatements(statement), false);
      default:
        return leavesIn(nestedStatements(statement), breakLeaves);
    }
  });
}

export function endsByItself(loop: LoopStatement, inferred: Inferred): boolean {
  const counting = countingOf(loop);
  if (counting === null) return false;
  const { counter, operator, step, bound } = counting;
  // Small numbers wrap around before they reach a larger bound, floating ones stop growing.
  if (counter.type.kind !== "number" || !/^[iu](32|64)$/.test(counter.type.name)) return false;
  const limit = bound.kind === "constant" ? Math.abs(Number(bound.text.replaceAll("_", ""))) : Number.NaN;
  const isNear = limit < 1 << 30;
  if (!isNear && !isWithin(bound.type, counter.type.name)) return false;
  // No number is beyond the largest or smallest one there is; a large step passes it.
  if (operator.endsWith("=") || Math.abs(step) > 1) {
    // variant: bound-near
    if (!isNear || Math.abs(step) >= 1 << 30 || (step < 0 && counter.type.name.startsWith("u"))) return false;
  }
  return isUnchangedIn(loop, bound, inferred);
}

/** Whether a number of that type gets to whatever the bound is: it is of the same type, or a smaller integer. */
function isWithin(bound: Type, counter: NumberName): boolean {
  if (bound.kind === "bool") return true;
  return bound.kind === "number" && (bound.name === counter || /^[iu](8|16)$/.test(bound.name));
}

/** `list[i]` in the body of `for (let i = 0; i < list.length; i++)`, of a list that has something at each index. */
export function isWithinBounds(
  container: Expression,
  index: Expression,
  loop: LoopStatement,
  inferred: Inferred,
): boolean {
  const counting = countingOf(loop);
  if (counting === null || index.kind !== "local" || counting.counter !== index.local) return false;
  const { counter, operator, bound, step, inUpdate } = counting;
  const startsWithin = loop.initial.some(
    (initial) =>
      initial.kind === "variable" &&
      initial.local === counter &&
      initial.initializer?.kind === "constant" &&
      Number(initial.initializer.text) >= 0,
  );
  return (
    startsWithin &&
    inUpdate &&
    !mayHaveHoles(container, inferred.pointsTo) &&
    operator === "<" &&
    step === 1 &&
    bound.kind === "library" &&
    bound.member.name === "length" &&
    bound.receiver !== null &&
    isSamePath(bound.receiver, container) &&
    isUnchangedIn(loop, bound, inferred)
  );
}

/** Whether reading an element of the container may trap, though it is within bounds. */
export function mayHaveHoles(container: Expression, pointsTo: PointsTo): boolean {
  return [...pointsTo.of(container)].some(({ hasHoles }) => hasHoles);
}

/** The same variable, or the same fields of it. */
function isSamePath(a: Expression, b: Expression): boolean {
  if (a.kind === "non-null") return isSamePath(a.operand, b);
  if (b.kind === "non-null") return isSamePath(a, b.operand);
  if (a.kind === "local" && b.kind === "local") return a.local === b.local;
  if (a.kind === "global" && b.kind === "global") return a.global === b.global;
  return a.kind === "field" && b.kind === "field" && a.field === b.field && isSamePath(a.object, b.object);
}

/** Whether nothing that is kept of the loop's rounds defines what the expression reads. */
function isUnchangedIn(loop: LoopStatement, expression: Expression, inferred: Inferred): boolean {
  const read = readBy(expression, inferred.pointsTo);
  if (read === null) return false;
  const changing = definitionsOf(
    [...loop.body, ...[loop.condition, loop.update].filter((part) => part !== null)],
    inferred,
  );
  // variant: bound-unchanged
  for (const location of read) if (changing.has(location)) return false;
  return true;
}

/** The locations that decide the expression's value; null: not only they do. */
function readBy(expression: Expression, pointsTo: PointsTo): Set<Location> | null {
  const found = new Set<Location>();
  let plain = true;
  walkExpression(expression, (inner) => {
    switch (inner.kind) {
      case "constant":
      case "operation":
      case "cast":
      case "non-null":
        return;
      case "local":
        found.add(inner.local);
        return;
      case "global":
        found.add(inner.global);
        return;
      case "field":
        for (const object of pointsTo.of(inner.object)) found.add(object.cell(inner.field));
        return;
      case "library":
        if (inner.member.writes || inner.member.callback !== null || inner.calls.length > 0) plain = false;
        for (const part of inner.receiver === null ? inner.arguments : [inner.receiver, ...inner.arguments])
          for (const object of pointsTo.of(part)) found.add(object.content);
        return;
      default:
        plain = false;
    }
  });
  return plain ? found : null;
}
