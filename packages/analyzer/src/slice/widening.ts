/**
 * Widening: candidates are ranked, and then the best are accessed.
 *
 *     const best = list.sort(byScore).slice(0, 10);                    const best = list.slice();
 *     for (let i = 0; i < best.length && i < n; i++)            →      for (let i = 0; i < best.length; i++)
 *       accounts.get(best[i].author);                                    accounts.get(best[i].author);
 *
 * Where the ranking is expensive, all candidates are accessed instead: the order and the limits go, and with them
 * whatever only they needed. It is right because the rounds have nothing to do with each other. *f* visits some elements in
 * some order, and visiting all of them makes the same accesses and more.
 *
 * The lists of a ranking are found by the objects, in all functions. *Ranked lists* are those that are sorted. *Selections*
 * are those that `slice`, `filter` and `map` make of them. In f^rw a ranked list has f's elements in another order, and a
 * selection has them and more.
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
import { codeOf, KeptCode } from "../infer/kept-code.ts";
import { countingOf } from "../infer/loops.ts";
import type { PointsTo } from "../infer/points-to.ts";
import type { Relevance } from "../infer/relevance.ts";
import { brokenRuleOfExtra, type Candidate } from "./unions.ts";

/** `list[counter]` */
type Element = LibraryCall & { readonly receiver: { readonly kind: "local"; readonly local: Local } };

/** All that belongs to the sorting of some lists, in the program as it was. */
export interface Ranking {
  readonly kind: "ranking";
  readonly span: Statement["span"];
  /** Calls of `sort` and `reverse`, for which their receivers will stand. */
  readonly sorts: ReadonlySet<Expression>;
  /** Calls of `slice`, which will take everything. */
  readonly slices: ReadonlySet<Expression>;
  /** Loops over the lists, which become loops over all of one: with the element that each round starts with. */
  readonly loops: ReadonlyMap<LoopStatement, Element>;
  readonly selections: ReadonlySet<AbstractObject>;
  /** Ranked lists and selections. */
  readonly lists: ReadonlySet<AbstractObject>;
}

/** A widening that was made. */
export interface Widened {
  readonly ranking: Ranking;
  /** The rewritten loops, with the variable whose elements they visit. */
  readonly loops: Map<LoopStatement, Local>;
}

/** The members that make a selection. */
const SELECTING: ReadonlySet<string> = new Set(["slice", "filter", "map"]);

/** The rankings of a program, by their looks. */
export function rankingsIn(functions: Iterable<FunctionDeclaration>, plain: Relevance, pointsTo: PointsTo): Ranking[] {
  const all = [...functions];
  const calls = all.flatMap((declaration) => expressionsOf(declaration)).filter((part) => part.kind === "library");
  const taken = new Set<Expression>();
  const rankings: Ranking[] = [];
  for (const sort of calls) {
    if (!isOrdering(sort) || sort.member.name !== "sort" || taken.has(sort)) continue;
    const ranking = rankingAround(sort, calls, all, pointsTo);
    for (const other of ranking.sorts) taken.add(other);
    const parts = calls.filter((call) => ranking.sorts.has(call) || ranking.slices.has(call));
    // variant: comparing-only
    if (parts.every((call) => call.arguments.every(isQuiet) && comparesOnly(call, plain, pointsTo)))
      rankings.push(ranking);
  }
  return rankings;
}

function rankingAround(
  sort: LibraryCall,
  calls: readonly LibraryCall[],
  functions: readonly FunctionDeclaration[],
  pointsTo: PointsTo,
): Ranking {
  const sorts = new Set<Expression>([sort]);
  const slices = new Set<Expression>();
  const selections = new Set<AbstractObject>();
  const lists = new Set<AbstractObject>();
  const add = (objects: Iterable<AbstractObject>, isSelection: boolean): void => {
    for (const object of objects) {
      lists.add(object);
      if (isSelection) selections.add(object);
    }
  };
  if (sort.receiver !== null) add(pointsTo.of(sort.receiver), false);
  for (let size = -1; size !== lists.size + selections.size;) {
    size = lists.size + selections.size;
    for (const call of calls) {
      if (call.receiver === null || !isAnyOf(pointsTo.of(call.receiver), lists)) continue;
      if (isOrdering(call)) {
        sorts.add(call);
        add(pointsTo.of(call.receiver), false);
      } else if (isSelecting(call)) {
        if (call.member.name === "slice") {
          slices.add(call);
          add(pointsTo.of(call.receiver), false);
        }
        add(pointsTo.of(call), true);
      }
    }
  }
  const loops = new Map<LoopStatement, Element>();
  for (const { body } of functions)
    walkStatements(body, (statement) => {
      if (statement.kind !== "loop") return;
      const element = firstElement(statement, (receiver) => isAnyOf(pointsTo.of(receiver), lists));
      if (element !== null) loops.set(statement, element);
    });
  return { kind: "ranking", span: sort.span, sorts, slices, loops, selections, lists };
}

function isAnyOf(objects: Iterable<AbstractObject>, lists: ReadonlySet<AbstractObject>): boolean {
  for (const object of objects) if (lists.has(object)) return true;
  return false;
}

function isOrdering({ member }: LibraryCall): boolean {
  return member.owner === "Array" && (member.name === "sort" || member.name === "reverse");
}

function isSelecting({ member }: LibraryCall): boolean {
  return member.owner === "Array" && SELECTING.has(member.name);
}

/** Comparing elements makes no access, ends nothing and changes nothing that matters. */
function comparesOnly(sort: LibraryCall, plain: Relevance, pointsTo: PointsTo): boolean {
  return calleesOf(sort, pointsTo).every((callee) => {
    const { accesses, stops, defines } = plain.effectsOf(callee);
    return !accesses && !stops && [...defines].length === 0;
  });
}

/**
 * The element that each round of `for (let i = …; …; i++)` starts with, where the bounds have no effects. In *f* a round
 * with an index out of range ends before its first access.
 */
function firstElement(loop: LoopStatement, isList: (receiver: Expression) => boolean): Element | null {
  const counting = countingOf(loop);
  const [first, ...others] = loop.initial;
  if (counting === null || counting.step !== 1 || first?.kind !== "variable" || others.length > 0) return null;
  if (first.local !== counting.counter || first.initializer === null || loop.condition === null) return null;
  // variant: bounds-quiet
  if (!isQuiet(first.initializer) || !isQuiet(loop.condition)) return null;
  const [start] = loop.body;
  // A loop does not start with its condition.
  if (start === undefined || start.kind === "loop") return null;
  const [expression] = statementExpressions(start);
  let found: Element | null = null;
  const isWanted = (part: Expression): boolean => {
    if (!isElement(part, counting.counter, null) || !isList(part.receiver)) return false;
    found = part;
    return true;
  };
  return expression !== undefined && startsWith(expression, isWanted) === "element" ? found : null;
}

function isQuiet(expression: Expression): boolean {
  let quiet = true;
  walkExpression(expression, (part) => {
    if (part.kind === "assignment" || (part.kind === "library" && part.member.writes) || !isQuietItself(part))
      quiet = false;
  });
  return quiet;
}

/** `list[counter]`; `list` null: of any variable. */
function isElement(expression: Expression, counter: Local, list: Local | null): expression is Element {
  if (expression.kind !== "library" || expression.member.name !== "[]") return false;
  const { receiver } = expression;
  const [index] = expression.arguments;
  if (receiver?.kind !== "local" || (list !== null && receiver.local !== list)) return false;
  return index?.kind === "local" && index.local === counter;
}

/** The part that is evaluated first, and in any case: the element, or anything with an effect. */
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
    // variant: round-starts
    if (first !== "nothing") return first;
  }
  const isKnown =
    expression.kind === "logical" || expression.kind === "conditional" ? false : isQuietItself(expression);
  return isKnown ? "nothing" : "effect";
}

/** Apart from its operands, it runs no code of the application's and ends nothing. */
function isQuietItself(expression: Expression): boolean {
  if (expression.kind === "library") return expression.member.callback === null && expression.calls.length === 0;
  return !["call", "indirect-call", "construction", "access", "scan", "draw", "abort", "lane"].includes(
    expression.kind,
  );
}

/** The loop over the whole list. `copied` learns of new mentions of the list. */
export function wholeLoop(
  loop: LoopStatement,
  element: Element,
  copied: (original: Expression, copy: Expression) => void,
): Pick<LoopStatement, "initial" | "condition"> {
  const [variable] = loop.initial;
  const length = libraryMember("Array", "length");
  if (variable?.kind !== "variable" || length === null) throw new Error("a loop over a list has a counter");
  const { local } = variable;
  const { span } = loop;
  const receiver: Expression = { ...element.receiver };
  copied(element.receiver, receiver);
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
  // variant: order-unread
  if (!orderIsNotRead(widened, candidate)) return "order is not read";
  // variant: rank-unread
  if (!rankIsNotRead(widened, candidate)) return "rank is not read";
  // A round that f does not run, or runs at another time, must be nothing but accesses.
  const { relevance } = candidate;
  for (const loop of widened.loops.keys()) {
    const observation = relevance.observed(loop);
    if (observation === null) continue;
    const code = new KeptCode(candidate, loop.body, [loop]);
    for (const rejoin of [observation.continuing, observation.behind]) {
      const rule = brokenRuleOfExtra(
        { code, rejoin, accessFollows: true, mayLeave: ({ kind }) => kind === "continue" },
        candidate,
      );
      // variant: round-accesses
      if (rule !== null) return rule;
    }
  }
  for (const callback of callbacksOf(widened, candidate)) {
    const code = new KeptCode(candidate, codeOf(callback));
    const rule = brokenRuleOfExtra(
      { code, rejoin: relevance.exitOf(callback), accessFollows: true, mayLeave: ({ kind }) => kind === "return" },
      candidate,
    );
    // variant: callback-accesses
    if (rule !== null || candidate.recursive.has(callback)) return rule ?? "does not recur";
  }
  return null;
}

/** Whether some execution that writes nothing is said to write: one that the ranking leaves nothing to. */
export function widenedWrites(widened: Widened, candidate: Candidate): boolean {
  return [...widened.loops.keys(), ...callbacksOf(widened, candidate)].some(
    ({ body }) => new KeptCode(candidate, body).writes,
  );
}

/** The functions that `forEach`, `map` and `filter` call with the elements. */
function callbacksOf({ ranking }: Widened, candidate: Candidate): Set<FunctionDeclaration> {
  const callbacks = new Set<FunctionDeclaration>();
  for (const part of keptExpressions(candidate))
    if (part.kind === "library" && part.member.callback !== null && touches(part.receiver, ranking, candidate))
      for (const callee of calleesOf(part, candidate.pointsTo)) callbacks.add(callee);
  return callbacks;
}

function touches(expression: Expression | null, { lists }: Pick<Ranking, "lists">, { pointsTo }: Candidate): boolean {
  return expression !== null && isAnyOf(pointsTo.of(expression), lists);
}

/**
 * Other code that reads a ranked list sees the number of its elements, or whether one is among them, but never an order.
 * Other code that reads a selection takes each of its elements.
 */
function orderIsNotRead({ ranking, loops }: Widened, candidate: Candidate): boolean {
  const { relevance, pointsTo } = candidate;
  const isSelection = (list: Expression): boolean => isAnyOf(pointsTo.of(list), ranking.selections);
  const isList = (list: Expression | null): boolean => touches(list, ranking, candidate);
  // In the loops that became whole: their elements, and the length that they count to.
  const known = new Set<Expression>();
  for (const [loop, list] of loops) {
    const counting = countingOf(loop);
    if (counting === null) return false;
    known.add(counting.bound);
    for (const part of expressionsIn(loop.body)) if (isElement(part, counting.counter, list)) known.add(part);
  }
  for (const part of keptExpressions(candidate)) {
    // variant: stored-order
    if (part.kind === "access" && relevance.stored.has(part) && part.value !== null) return false;
    if (part.kind === "assignment" && part.target.kind === "element" && isList(part.target.container)) return false;
    if (part.kind === "template" && part.operands.some(isList)) return false;
    if (part.kind !== "library" || known.has(part)) continue;
    if (part.receiver !== null && isList(part.receiver)) {
      const { name } = part.member;
      const isWhole = name === "slice" ? part.arguments.length === 0 : ["filter", "map", "forEach"].includes(name);
      const isCounted = ["push", "length", "includes"].includes(name) && part.calls.length === 0;
      // variant: selection-counted
      if (!isWhole && (!isCounted || isSelection(part.receiver))) return false;
    }
    if (part.arguments.some(isList) && (part.member.readsArguments || part.member.result === "copy")) return false;
  }
  return true;
}

/** At which place an element stands decides nothing but which element it is. */
function rankIsNotRead(widened: Widened, candidate: Candidate): boolean {
  const { relevance } = candidate;
  for (const [loop, list] of widened.loops) {
    const counter = countingOf(loop)?.counter;
    if (counter === undefined) return false;
    const parts = expressionsIn(loop.body);
    const indices = new Set<Expression>();
    for (const part of parts)
      if (isElement(part, counter, list)) for (const index of part.arguments) indices.add(index);
    for (const part of parts)
      if (part.kind === "local" && part.local === counter && relevance.needed.has(part) && !indices.has(part))
        return false;
  }
  for (const callback of callbacksOf(widened, candidate)) {
    const index = callback.parameters[1]?.local;
    const isRead = (part: Expression): boolean =>
      part.kind === "local" && part.local === index && relevance.needed.has(part);
    if (index !== undefined && expressionsOf(callback).some(isRead)) return false;
  }
  return true;
}

/** All expressions that f^rw evaluates. */
function keptExpressions({ program, pointsTo, relevance }: Candidate): Expression[] {
  const initial: Expression[] = [];
  for (const { initializer } of [...program.globals, ...relevance.fields])
    if (initializer !== null) walkExpression(initializer, (part) => void initial.push(part));
  return [...initial, ...Array.from(pointsTo.reached).flatMap(expressionsOf)].filter(
    (part) => relevance.needed.has(part) || relevance.kept.has(part),
  );
}

function expressionsOf({ parameters, initializers, body }: FunctionDeclaration): Expression[] {
  const defaults: Expression[] = [];
  for (const { defaultValue } of parameters)
    if (defaultValue !== null) walkExpression(defaultValue, (part) => void defaults.push(part));
  return [...defaults, ...expressionsIn([...initializers, ...body])];
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
