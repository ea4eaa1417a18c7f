/**
 * Unions: the condition of a branch is expensive, but the keys of the accesses in its sides don't depend on it. Then *f^rw*
 * makes the accesses of both sides. An early end with an expensive condition (`if (slow(x)) return;`) is the case
 * where one side only ends: it is left out, a *dropped guard*.
 *
 * f^rw then runs *extra code*: the side that f does not take, and behind a dropped jump everything up to where it would
 * have gone. The union is right if extra code does nothing but make accesses. Each rule below is one predicate that
 * says what it must not do; a union that breaks any is not made.
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
import { isStatement, type Inferred } from "../infer/definitions.ts";
import { codeOf, KeptCode } from "../infer/kept-code.ts";
import type { Point } from "../infer/relevance.ts";
import type { Abandoned, DroppedJump } from "./abandon.ts";

/** Code that f^rw may run where f does not, and the point from where on both agree. */
export interface Extra {
  readonly code: KeptCode;
  /** The point where both agree again; null: f has ended, nothing matters. */
  readonly rejoin: Point | null;
  /** Whether accesses of f come after it. */
  readonly accessFollows: boolean;
  /** Whether a jump of the code ends there too, and so does not deviate. */
  readonly mayLeave: (jump: Statement) => boolean;
}

/** A program with unions, and what was inferred of it. */
export interface Candidate extends Inferred {
  readonly program: Program;
  readonly recursive: ReadonlySet<FunctionDeclaration>;
}

/** The places whose observation the rules ask for. */
export function placesOf(union: Abandoned): (Statement | Expression)[] {
  const targets = union.dropped.flatMap(({ target }) => target?.statement ?? []);
  return [union.whole, ...union.sides, ...targets];
}

type Rule =
  | "value not needed"
  | "defines nothing live"
  | "does not leave"
  | "does not trap"
  | "ends by itself"
  | "does not recur";

/** The first rule that a union breaks; null: it is right. */
export function brokenRule(union: Abandoned, candidate: Candidate): Rule | null {
  // variant: union-value
  if (!valueIsNotNeeded(union, candidate)) return "value not needed";
  for (const extra of extrasOf(union, candidate)) {
    const rule = brokenRuleOfExtra(extra, candidate);
    if (rule !== null) return rule;
  }
  return null;
}

export function brokenRuleOfExtra(extra: Extra, candidate: Candidate): Rule | null {
  // variant: union-definitions
  if (!definesNothingLive(extra)) return "defines nothing live";
  // variant: union-leaving
  if (!doesNotLeave(extra)) return "does not leave";
  // variant: union-trap
  if (!doesNotTrap(extra)) return "does not trap";
  // variant: union-end
  if (!endsByItself(extra)) return "ends by itself";
  // variant: union-recursion
  if (!doesNotRecur(extra, candidate)) return "does not recur";
  return null;
}

/** Nobody needs a value that the branch decides: neither its own, nor the result of the function it returns from. */
function valueIsNotNeeded(union: Abandoned, candidate: Candidate): boolean {
  const { relevance } = candidate;
  if (union.whole.kind === "sequence" && relevance.needed.has(union.whole)) return false;
  const ends = union.dropped.some(({ kind }) => kind === "return" || kind === "stop");
  return !ends || isOutermost(union.owner, candidate) || !relevance.results.has(union.owner);
}

/** Whether the execution ends where the function returns: that of the handler, unless it calls itself. */
function isOutermost(owner: FunctionDeclaration, { program, recursive }: Candidate): boolean {
  return owner === program.handler && !recursive.has(owner);
}

/** A location that extra code defines would have another value than f's where it is used next. */
function definesNothingLive({ code, rejoin }: Extra): boolean {
  if (rejoin === null) return true;
  for (const location of code.defines) if (rejoin.live.has(location)) return false;
  return true;
}

/** If extra code ended the execution, or jumped past the point from where on both agree, f's next accesses would be missed. */
function doesNotLeave({ code, rejoin, mayLeave }: Extra): boolean {
  return rejoin === null || (!code.stops && code.leaving.every((jump) => mayLeave(jump)));
}

/** Extra code does not trap before f's next accesses. */
function doesNotTrap({ code, rejoin, accessFollows }: Extra): boolean {
  return rejoin === null || !accessFollows || !code.traps;
}

/** Extra code ends by itself, because in f the condition that was given up may be the one that ends a loop of it. */
function endsByItself({ code }: Extra): boolean {
  return !code.endless;
}

/** Extra code does not recur, for the same reason. */
function doesNotRecur({ code }: Extra, { recursive }: Candidate): boolean {
  for (const callee of code.callees) if (recursive.has(callee)) return false;
  return true;
}

/** Whether some execution that writes nothing is said to write: it is not certain that one of the other path does. */
export function makesWriter(union: Abandoned, candidate: Candidate): boolean {
  const { owner } = union;
  const isHandler = isOutermost(owner, candidate);
  const sides = union.sides.map((side) => new KeptCode(candidate, [side]).writes);
  const behind = union.dropped.some(({ place, target }) => {
    const code = target === null ? (codeBehind(owner.body, place) ?? []) : [];
    return new KeptCode(candidate, code).writes || (target === null && !isHandler);
  });
  if (!behind && !sides.includes(true)) return false;
  if (!behind && union.sides.every((side) => isStatement(side) && alwaysWrites([side]))) return false;
  const before = isHandler ? owner.body.findIndex((statement) => contains(statement, union.whole)) : 0;
  return !alwaysWrites(owner.body.slice(0, before));
}

/** Whether a write stands in plain sight. */
function alwaysWrites(statements: readonly Statement[]): boolean {
  return statements.some((statement) => {
    if (statement.kind === "block") return alwaysWrites(statement.body);
    if (statement.kind !== "expression" || statement.expression.kind !== "access") return false;
    const { operation } = statement.expression;
    return operation === "put" || operation === "delete";
  });
}

function* extrasOf(union: Abandoned, candidate: Candidate): Iterable<Extra> {
  const { relevance } = candidate;
  const behind = relevance.observed(union.whole)?.behind;
  // Not reached by anything that matters.
  if (behind === undefined) return;
  const around = loopsAround(union.owner.body, union.whole);
  const sides = union.sides.map((side) => ({
    code: new KeptCode(candidate, [side], around),
    ahead: relevance.observed(side)?.ahead ?? behind,
  }));
  for (const [index, { code }] of sides.entries()) {
    const later = sides.slice(index + 1);
    // Each side runs before the later ones, whichever of them f takes.
    // variant: union-sides
    for (const { ahead } of later) yield { code, rejoin: ahead, accessFollows: true, mayLeave: never };
    const accessFollows = behind.accessFollows || later.some((side) => side.code.accesses);
    yield { code, rejoin: behind, accessFollows, mayLeave: never };
  }
  // variant: union-dropped-jumps
  for (const jump of union.dropped) yield* behindJump(jump, union.owner, candidate);
}

const never = (): boolean => false;

/** The code that runs behind a dropped jump until its target. */
function* behindJump(jump: DroppedJump, owner: FunctionDeclaration, candidate: Candidate): Iterable<Extra> {
  const { relevance, pointsTo } = candidate;
  const { target } = jump;
  const around = loopsAround(owner.body, jump.place);
  if (target !== null) {
    const { statement } = target;
    if (statement === null) throw new Error("the target of a dropped jump was not rewritten");
    const observation = relevance.observed(statement);
    const rejoin = jump.kind === "continue" ? observation?.continuing : observation?.behind;
    const inside = statement.kind === "loop" ? statement.body : [statement];
    const behind = codeBehind(inside, jump.place) ?? [];
    const code = jump.kind === "break" && statement.kind === "loop" ? [statement] : behind;
    const sameTarget = (left: Statement): boolean => left.kind === jump.kind && isDirectlyIn(statement, left);
    if (rejoin !== undefined)
      yield {
        code: new KeptCode(candidate, code, around),
        rejoin,
        accessFollows: rejoin.accessFollows,
        mayLeave: sameTarget,
      };
    return;
  }
  const code = new KeptCode(candidate, codeBehind(owner.body, jump.place) ?? [], around);
  if (jump.kind === "return" && !isOutermost(owner, candidate)) {
    const rejoin = relevance.exitOf(owner);
    yield { code, rejoin, accessFollows: rejoin.accessFollows, mayLeave: (left) => left.kind === "return" };
    return;
  }
  yield { code, rejoin: null, accessFollows: false, mayLeave: never };
  if (isOutermost(owner, candidate)) return;
  // It ends in a callee: whatever comes after the call is behind the jump too.
  // variant: union-dropped-ends
  for (const declaration of pointsTo.reached)
    yield { code: new KeptCode(candidate, codeOf(declaration)), rejoin: null, accessFollows: false, mayLeave: never };
}

/** The statements that may run after a place, as far as the list goes: with all of a loop around it. Null: not inside. */
function codeBehind(statements: readonly Statement[], place: Statement): Statement[] | null {
  for (const [index, statement] of statements.entries()) {
    const rest = statements.slice(index + 1);
    if (statement === place) return rest;
    if (!contains(statement, place)) continue;
    if (statement.kind === "loop") return [statement, ...rest];
    const lists =
      statement.kind === "if"
        ? [statement.consequent, statement.alternative]
        : // A case may fall into the next.
          [nestedStatements(statement)];
    const inner = lists.map((list) => codeBehind(list, place)).find((found) => found !== null);
    return [...(inner ?? []), ...rest];
  }
  return null;
}

function contains(statement: Statement, place: Statement | Expression): boolean {
  let found = false;
  walkStatements([statement], (inner) => {
    if (inner === place) found = true;
    if (isStatement(place)) return;
    for (const own of statementExpressions(inner))
      walkExpression(own, (part) => {
        if (part === place) found = true;
      });
  });
  return found;
}

/** The loops in whose bodies a statement or expression stands. */
function loopsAround(statements: readonly Statement[], place: Statement | Expression): LoopStatement[] {
  const inside = statements.find((statement) => contains(statement, place));
  if (inside === undefined || inside === place) return [];
  const inner = loopsAround(nestedStatements(inside), place);
  return inside.kind === "loop" && inside.body.some((part) => contains(part, place)) ? [inside, ...inner] : inner;
}

/** Whether a `break` or `continue` belongs to the loop or to what stands for the switch. */
function isDirectlyIn(target: Statement, jump: Statement): boolean {
  const search = (statements: readonly Statement[]): boolean =>
    statements.some(
      (statement) =>
        statement === jump ||
        (statement.kind !== "loop" &&
          !(statement.kind === "switch" && jump.kind === "break") &&
          search(nestedStatements(statement))),
    );
  return search(nestedStatements(target));
}
