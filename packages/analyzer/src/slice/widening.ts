/**
 * Widening: candidates are ranked, and then the best are accessed.
 *
 *     list.sort(byScore);                                              for (let i = 0; i < list.length; i++)
 *     for (let i = from; i < list.length && i < to; i++)        →        accounts.get(list[i].author);
 *       accounts.get(list[i].author);
 *
 * Where the ranking is expensive, all candidates are accessed instead: the order and the limits go, and with them
 * whatever only they needed. It is right because the loop's rounds have nothing to do with each other: whichever
 * elements f visits in whichever order, the loop over all of them makes the same accesses and more.
 */
import {
  BOOL,
  nestedStatements,
  operands,
  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type LibraryCall,
  type Local,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import { libraryMember } from "../lower/library.ts";
import { calleesOf } from "../infer/definitions.ts";
import type { AbstractObject } from "../infer/heap.ts";
import { KeptCode } from "../infer/kept-code.ts";
import { countingOf } from "../infer/loops.ts";
import type { PointsTo } from "../infer/points-to.ts";
import type { Relevance } from "../infer/relevance.ts";
import { brokenRuleOfExtra, type Candidate } from "./unions.ts";

type Sort = LibraryCall & { readonly receiver: { readonly kind: "local"; readonly local: Local } };

/** A place where a widening may be made, in the program as it was. */
export interface Ranking {
  readonly kind: "ranking";
  readonly owner: FunctionDeclaration;
  /** `list.sort(…);` */
  readonly statement: Extract<Statement, { kind: "expression" }>;
  readonly sort: Sort;
  /** Loops over the list, which become loops over all of it. */
  readonly loops: ReadonlySet<LoopStatement>;
}

/** A widening that was made. */
export interface Widened {
  readonly ranking: Ranking;
  /** What the loops became. */
  readonly loops: LoopStatement[];
}

/** The rankings of a function whose loops could be widened, by their looks. */
export function rankingsIn(owner: FunctionDeclaration, plain: Relevance, pointsTo: PointsTo): Ranking[] {
  const rankings: Ranking[] = [];
  walkStatements(owner.body, (statement) => {
    if (statement.kind !== "expression" || !isSort(statement.expression)) return;
    const sort = statement.expression;
    if (!comparesOnly(sort, plain, pointsTo)) return;
    const loops = new Set<LoopStatement>();
    walkStatements(owner.body, (loop) => {
      if (loop.kind === "loop" && overElements(loop, sort.receiver.local)) loops.add(loop);
    });
    if (loops.size > 0) rankings.push({ kind: "ranking", owner, statement, sort, loops });
  });
  return rankings;
}

function isSort(expression: Expression): expression is Sort {
  return expression.kind === "library" && expression.member.name === "sort" && expression.receiver?.kind === "local";
}

/** Comparing elements makes no access, ends nothing and changes nothing that matters. */
function comparesOnly(sort: Sort, plain: Relevance, pointsTo: PointsTo): boolean {
  return calleesOf(sort, pointsTo).every((callee) => {
    const { accesses, stops, defines } = plain.effectsOf(callee);
    return !accesses && !stops && [...defines].length === 0;
  });
}

/** `for (let i = …; …; i++)` over elements of the list: the bounds have no effects, and no round starts with anything else than the element. */
function overElements(loop: LoopStatement, list: Local): boolean {
  const counting = countingOf(loop);
  const [first, ...others] = loop.initial;
  if (counting === null || counting.step !== 1 || first?.kind !== "variable" || others.length > 0) return false;
  if (first.local !== counting.counter || first.initializer === null || loop.condition === null) return false;
  if (!isQuiet(first.initializer) || !isQuiet(loop.condition)) return false;
  const [start] = loop.body;
  // Where f's index is no index of the list, the round ends before its first access.
  const isWanted = (part: Expression): boolean => isElement(part, list, counting.counter);
  const evaluated = start === undefined ? [] : evaluatedFirst(start);
  return evaluated.map((part) => startsWith(part, isWanted)).find((first) => first !== "nothing") === "element";
}

/** What a statement evaluates in any case, before anything else. */
function evaluatedFirst(statement: Statement): readonly Expression[] {
  switch (statement.kind) {
    case "loop": {
      if (statement.form === "do" || statement.condition === null) return [];
      const initial = statement.initial.every(({ kind }) => kind === "variable" || kind === "expression");
      return initial ? [...statement.initial.flatMap(statementExpressions), statement.condition] : [];
    }
    case "switch":
      return [statement.discriminant];
    default:
      return statementExpressions(statement);
  }
}

function isQuiet(expression: Expression): boolean {
  let quiet = true;
  walkExpression(expression, (part) => {
    if (part.kind === "logical" || part.kind === "conditional") return;
    if (part.kind === "assignment" || !isQuietItself(part)) quiet = false;
  });
  return quiet;
}

function isElement(expression: Expression, list: Local, counter: Local): expression is LibraryCall {
  if (expression.kind !== "library" || expression.member.name !== "[]") return false;
  const [index] = expression.arguments;
  return (
    expression.receiver?.kind === "local" &&
    expression.receiver.local === list &&
    index?.kind === "local" &&
    index.local === counter
  );
}

/** What is evaluated first, and in any case: the element, or anything with an effect. */
function startsWith(expression: Expression, isWanted: (part: Expression) => boolean): "element" | "effect" | "nothing" {
  if (isWanted(expression)) return "element";
  const parts =
    expression.kind === "logical"
      ? [expression.left]
      : expression.kind === "conditional"
        ? [expression.condition]
        : operands(expression);
  for (const part of parts) {
    const first = startsWith(part, isWanted);
    if (first !== "nothing") return first;
  }
  return isQuietItself(expression) ? "nothing" : "effect";
}

function isQuietItself(expression: Expression): boolean {
  // Members of the library may call what they are given.
  if (expression.kind === "library") return expression.member.callback === null && expression.calls.length === 0;
  return !["logical", "conditional", "call", "indirect-call", "construction", "access", "draw", "abort"].includes(
    expression.kind,
  );
}

/** The loop over the whole list. `copied` learns of new mentions of the list. */
export function wholeLoop(
  loop: LoopStatement,
  { sort }: Ranking,
  copied: (original: Expression, copy: Expression) => void,
): Pick<LoopStatement, "initial" | "condition"> {
  const [variable] = loop.initial;
  const length = libraryMember("Array", "length");
  if (variable?.kind !== "variable" || length === null) throw new Error("a loop over a list has a counter");
  const { local } = variable;
  const { span } = loop;
  const receiver: Expression = { ...sort.receiver };
  copied(sort.receiver, receiver);
  const bound: Expression = {
    kind: "library",
    member: length,
    receiver,
    name: "length",
    typeArguments: [],
    arguments: [],
    calls: [],
    type: { kind: "number", name: "i32" },
    span,
  };
  const counter: Expression = { kind: "local", local, type: local.type, span };
  return {
    initial: [{ ...variable, initializer: { kind: "constant", text: "0", type: local.type, span } }],
    condition: { kind: "operation", operator: "<", operands: [counter, bound], type: BOOL, span },
  };
}

/** The first rule that a widening breaks; null: it is right. */
export function brokenRuleOfWidening(widened: Widened, candidate: Candidate): string | null {
  if (!orderIsNotRead(widened, candidate)) return "order is not read";
  if (!rankIsNotRead(widened, candidate)) return "rank is not read";
  const { relevance } = candidate;
  for (const loop of widened.loops) {
    const observation = relevance.observed(loop);
    if (observation === null) continue;
    // A round that f does not run, or runs at another time, must be nothing but accesses.
    const code = new KeptCode(candidate, loop.body, [loop]);
    for (const rejoin of [observation.continuing, observation.behind]) {
      const rule = brokenRuleOfExtra(
        { code, rejoin, accessFollows: true, mayLeave: ({ kind }) => kind === "continue" },
        candidate,
      );
      if (rule !== null) return rule;
    }
  }
  return null;
}

/** Whatever else reads the list sees how many elements it has, or whether one is among them, but never an order. */
function orderIsNotRead({ ranking, loops }: Widened, { relevance, pointsTo }: Candidate): boolean {
  const lists = new Set(pointsTo.of(ranking.sort.receiver));
  const elements = new Set<Expression>();
  for (const loop of loops) {
    const counter = countingOf(loop)?.counter;
    for (const part of expressionsIn(loop.body))
      if (counter !== undefined && isElement(part, ranking.sort.receiver.local, counter)) elements.add(part);
  }
  const touches = (expression: Expression | null): boolean =>
    expression !== null && [...pointsTo.of(expression)].some((object: AbstractObject) => lists.has(object));
  for (const declaration of pointsTo.reached) {
    for (const part of expressionsIn([...declaration.initializers, ...declaration.body])) {
      if (part.kind === "access" && relevance.stored.has(part) && part.value !== null) return false;
      if (!relevance.needed.has(part) && !relevance.kept.has(part)) continue;
      if (part.kind === "assignment" && part.target.kind === "element" && touches(part.target.container)) return false;
      if (part.kind !== "library" || elements.has(part)) continue;
      if (touches(part.receiver) && !["push", "length", "includes"].includes(part.member.name)) return false;
      if (part.arguments.some(touches) && (part.member.readsArguments || part.member.result === "copy")) return false;
    }
  }
  return true;
}

/** At which place an element stands decides nothing but which element it is. */
function rankIsNotRead({ ranking, loops }: Widened, { relevance }: Candidate): boolean {
  for (const loop of loops) {
    const counter = countingOf(loop)?.counter;
    if (counter === undefined) return false;
    const indices = new Set<Expression>();
    for (const part of expressionsIn(loop.body)) {
      if (isElement(part, ranking.sort.receiver.local, counter)) for (const index of part.arguments) indices.add(index);
    }
    for (const part of expressionsIn(loop.body))
      if (part.kind === "local" && part.local === counter && relevance.needed.has(part) && !indices.has(part))
        return false;
  }
  return true;
}

function expressionsIn(statements: readonly Statement[]): Expression[] {
  const found: Expression[] = [];
  const inStatement = (statement: Statement): void => {
    for (const own of statementExpressions(statement)) walkExpression(own, (part) => void found.push(part));
    for (const inner of nestedStatements(statement)) inStatement(inner);
  };
  for (const statement of statements) inStatement(statement);
  return found;
}
