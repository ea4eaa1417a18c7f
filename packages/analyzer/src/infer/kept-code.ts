/**
 * The effects of a piece of the program in f^rw, as far as relevance keeps it. They are the locations that it defines, and
 * whether it may leave, trap, or go on forever. Rules ask for them of code that f^rw may run where f would not.
 */
import {
  decodedInitializers,
  nestedStatements,
  operands,
  statementExpressions,
  type Expression,
  type FunctionDeclaration,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import { calleesOf, definitionsOf, isStatement, type Inferred } from "./definitions.ts";
import type { Location } from "./heap.ts";
import { endsByItself, isWithinBounds, mayHaveHoles } from "./loops.ts";
import { mayTrap } from "./traps.ts";

export class KeptCode {
  readonly defines: ReadonlySet<Location>;
  /** Jumps whose target lies outside. */
  readonly leaving: Statement[] = [];
  /** The execution may end by `throw` or `abort`. */
  stops = false;
  accesses = false;
  writes = false;
  traps = false;
  /** Some loop is not known to end by itself. */
  endless = false;
  /** All functions that it may call. */
  readonly callees = new Set<FunctionDeclaration>();

  readonly #inferred: Inferred;
  readonly #loops: LoopStatement[] = [];
  #breakable = 0;
  #continuable = 0;

  /** `around`: the loops in whose bodies the code stands. */
  constructor(inferred: Inferred, code: readonly (Statement | Expression)[], around: readonly LoopStatement[] = []) {
    this.#inferred = inferred;
    this.#loops.push(...around);
    this.defines = definitionsOf(code, inferred);
    for (const part of code) {
      if (isStatement(part)) this.#statement(part);
      else this.#expression(part);
    }
    // Callees are taken whole; the set grows while they are walked.
    const { length } = this.leaving;
    this.#loops.length = 0;
    for (const callee of this.callees) {
      for (const part of codeOf(callee)) {
        if (isStatement(part)) this.#statement(part);
        else this.#expression(part);
      }
    }
    // Their own returns leave nothing but themselves.
    this.leaving.length = length;
  }

  #statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    const { relevance } = this.#inferred;
    switch (statement.kind) {
      case "expression":
        return this.#expression(statement.expression);
      case "variable":
        if (statement.initializer !== null) this.#expression(statement.initializer);
        return;
      case "return":
        if (relevance.jumps.has(statement)) this.leaving.push(statement);
        if (statement.value !== null) this.#expression(statement.value);
        return;
      case "throw":
        if (relevance.jumps.has(statement)) this.stops = true;
        return this.#expression(statement.message);
      case "break":
        if (this.#breakable === 0 && relevance.jumps.has(statement)) this.leaving.push(statement);
        return;
      case "continue":
        if (this.#continuable === 0 && relevance.jumps.has(statement)) this.leaving.push(statement);
        return;
      case "loop":
        this.#statements(statement.initial);
        if (relevance.keptStatements.has(statement) && !endsByItself(statement, this.#inferred)) this.endless = true;
        if (statement.condition !== null) this.#expression(statement.condition);
        this.#loops.push(statement);
        this.#breakable++;
        this.#continuable++;
        this.#statements(statement.body);
        this.#breakable--;
        this.#continuable--;
        this.#loops.pop();
        if (statement.update !== null) this.#expression(statement.update);
        return;
      case "switch":
        this.#expression(statement.discriminant);
        this.#breakable++;
        this.#statements(nestedStatements(statement));
        this.#breakable--;
        return;
      case "if":
        this.#expression(statement.condition);
        return this.#statements(nestedStatements(statement));
      case "block":
        return this.#statements(statement.body);
    }
  }

  #expression(expression: Expression): void {
    const { relevance, pointsTo } = this.#inferred;
    for (const operand of operands(expression)) this.#expression(operand);
    if (expression.kind === "access") {
      this.accesses = true;
      if (expression.operation === "put" || expression.operation === "delete") this.writes = true;
      if (expression.operation === "get" && relevance.needed.has(expression))
        for (const initializer of decodedInitializers(expression.type, (field) => relevance.fields.has(field)))
          this.#expression(initializer);
      return;
    }
    if (expression.kind === "scan") {
      this.accesses = true;
      if (relevance.needed.has(expression))
        for (const initializer of decodedInitializers(expression.type, (field) => relevance.fields.has(field)))
          this.#expression(initializer);
      return;
    }
    if (expression.kind === "lane") {
      this.accesses = true;
      return;
    }
    if (!relevance.kept.has(expression) && !relevance.needed.has(expression)) return;
    // variant: trap-traps
    if (mayTrap(expression) && !this.#isKnownElement(expression)) this.traps = true;
    // A callback that gets the elements of a list takes a hole for an object.
    if (expression.kind === "library" && expression.receiver !== null && calleesOf(expression, pointsTo).length > 0)
      this.traps ||= mayHaveHoles(expression.receiver, pointsTo);
    // variant: abort-leaves
    if (expression.kind === "abort") this.stops = true;
    // variant: code-callees
    for (const callee of calleesOf(expression, pointsTo)) this.callees.add(callee);
  }

  #isKnownElement(expression: Expression): boolean {
    const [container, index] =
      expression.kind === "library" && expression.member.name === "[]"
        ? [expression.receiver, expression.arguments[0]]
        : expression.kind === "assignment" && expression.target.kind === "element"
          ? [expression.target.container, expression.target.index]
          : [];
    if (!container || index === undefined) return false;
    return this.#loops.some((loop) => isWithinBounds(container, index, loop, this.#inferred));
  }
}

/** All that a call of the function may run: what stands for arguments that are left out, too. */
export function codeOf({ parameters, initializers, body }: FunctionDeclaration): readonly (Statement | Expression)[] {
  return [...parameters.flatMap(({ defaultValue }) => defaultValue ?? []), ...initializers, ...body];
}

/** Functions that may call themselves, through others or not. */
export function recursiveFunctions(
  functions: Iterable<FunctionDeclaration>,
  { pointsTo }: Pick<Inferred, "pointsTo">,
): Set<FunctionDeclaration> {
  const calls = new Map<FunctionDeclaration, Set<FunctionDeclaration>>();
  for (const declaration of functions) {
    const called = new Set<FunctionDeclaration>();
    const inExpression = (expression: Expression): void => {
      for (const callee of calleesOf(expression, pointsTo)) called.add(callee);
      for (const operand of operands(expression)) inExpression(operand);
    };
    const inStatement = (statement: Statement): void => {
      for (const own of statementExpressions(statement)) inExpression(own);
      for (const inner of nestedStatements(statement)) inStatement(inner);
    };
    for (const part of codeOf(declaration)) {
      if (isStatement(part)) inStatement(part);
      else inExpression(part);
    }
    calls.set(declaration, called);
  }
  const recursive = new Set<FunctionDeclaration>();
  for (const declaration of calls.keys()) {
    const reached = new Set(calls.get(declaration));
    for (const next of reached) for (const callee of calls.get(next) ?? []) reached.add(callee);
    if (reached.has(declaration)) recursive.add(declaration);
  }
  return recursive;
}
