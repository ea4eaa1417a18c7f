/**
 * The values that may depend on something expensive. A forward taint starts at loops and calls that are estimated to be
 * expensive. It goes through definitions, containers, parameters, results and the branches that decide about them. It is
 * insensitive to order, and only proposes the conditions that may be worth leaving out: proposing too much costs time.
 */
import {
  operands,
  statementExpressions,
  walkFunction,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type Local,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import { EXPENSIVE_STEPS, type CostModel } from "./cost.ts";
import type { Location } from "./heap.ts";
import { countingOf } from "./loops.ts";
import { calleesOf } from "./definitions.ts";
import type { PointsTo } from "./points-to.ts";

/** A condition that decides whether code runs, or a loop that decides how often. */
type Decider = Expression | LoopStatement;

/** Where expense comes from, with its estimate. */
export interface Origin {
  readonly span: Statement["span"];
  readonly steps: number;
}

export class Expense {
  readonly #pointsTo: PointsTo;
  readonly #costs: CostModel;
  readonly #locations = new Set<Location>();
  readonly #results = new Set<FunctionDeclaration>();
  readonly #origins = new Map<Location | FunctionDeclaration, Origin>();
  readonly #expensive = new Map<Expression, boolean>();
  #grew = true;

  constructor(pointsTo: PointsTo, costs: CostModel) {
    this.#pointsTo = pointsTo;
    this.#costs = costs;
    while (this.#grew) {
      this.#grew = false;
      for (const declaration of pointsTo.reached) {
        this.#statements(declaration.initializers, null, declaration);
        this.#statements(declaration.body, null, declaration);
      }
    }
  }

  /** Whether evaluating the expression, or knowing what it reads, takes something expensive. */
  of(expression: Expression): boolean {
    return this.#isOwnExpensive(expression) || operands(expression).some((operand) => this.of(operand));
  }

  #isOwnExpensive(expression: Expression): boolean {
    switch (expression.kind) {
      case "local":
        return this.#locations.has(expression.local);
      case "global":
        return this.#locations.has(expression.global);
      case "field":
        return [...this.#pointsTo.of(expression.object)].some((object) =>
          this.#locations.has(object.cell(expression.field)),
        );
      case "call":
        return expression.callees.some((callee) => this.#results.has(callee)) || this.#takesMuch(expression);
      case "indirect-call":
        return this.#pointsTo.functionsOf(expression.callee).some((callee) => this.#results.has(callee));
      case "construction":
        return this.#takesMuch(expression);
      case "library": {
        const contents = expression.receiver === null ? [] : [...this.#pointsTo.of(expression.receiver)];
        return (
          contents.some((object) => this.#locations.has(object.content)) ||
          calleesOf(expression, this.#pointsTo).some((callee) => this.#results.has(callee)) ||
          this.#takesMuch(expression)
        );
      }
      default:
        return false;
    }
  }

  /** The loop or call that the expense of an expression, or of the rounds of a loop, comes from; null: it has none. */
  originOf(cause: Decider): Origin | null {
    if (cause.kind === "loop") return { span: cause.condition?.span ?? cause.span, steps: this.#costs.loop(cause) };
    return this.#ownOrigin(cause) ?? firstOf(operands(cause), (operand) => this.originOf(operand));
  }

  #ownOrigin(expression: Expression): Origin | null {
    if (!this.#isOwnExpensive(expression)) return null;
    const known = (key: Location | FunctionDeclaration): Origin | null => this.#origins.get(key) ?? null;
    switch (expression.kind) {
      case "local":
        return known(expression.local);
      case "global":
        return known(expression.global);
      case "field":
        return firstOf(this.#pointsTo.of(expression.object), (object) => known(object.cell(expression.field)));
      default: {
        const callees = calleesOf(expression, this.#pointsTo);
        const own = this.#takesMuch(expression) ? this.#heaviest(expression, callees) : null;
        const content =
          expression.kind === "library" && expression.receiver !== null
            ? firstOf(this.#pointsTo.of(expression.receiver), (object) => known(object.content))
            : null;
        return own ?? firstOf(callees, known) ?? content;
      }
    }
  }

  /** The innermost expensive loop in what is called, or the call itself. */
  #heaviest(expression: Expression, callees: readonly FunctionDeclaration[]): Origin {
    const seen = new Set<FunctionDeclaration>();
    const within = (callee: FunctionDeclaration): Origin | null => {
      if (seen.has(callee)) return null;
      seen.add(callee);
      let found: Origin | null = null;
      const called: FunctionDeclaration[] = [];
      walkStatements(callee.body, (statement) => {
        if (statement.kind === "loop" && this.#costs.loop(statement) >= EXPENSIVE_STEPS)
          found = this.originOf(statement);
      });
      walkFunction(callee, (inner) => void called.push(...calleesOf(inner, this.#pointsTo)));
      return found ?? firstOf(called, within);
    };
    return firstOf(callees, within) ?? { span: expression.span, steps: this.#costs.expression(expression) };
  }

  #takesMuch(expression: Expression): boolean {
    let known = this.#expensive.get(expression);
    if (known === undefined) {
      known = this.#costs.expression(expression) >= EXPENSIVE_STEPS;
      this.#expensive.set(expression, known);
    }
    return known;
  }

  // ── Spreading ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #taint(location: Location, cause: Decider): void {
    if (this.#locations.has(location)) return;
    const origin = this.originOf(cause);
    this.#locations.add(location);
    if (origin !== null) this.#origins.set(location, origin);
    this.#grew = true;
  }

  #taintResult(declaration: FunctionDeclaration, cause: Decider): void {
    if (this.#results.has(declaration)) return;
    const origin = this.originOf(cause);
    this.#results.add(declaration);
    if (origin !== null) this.#origins.set(declaration, origin);
    this.#grew = true;
  }

  /** `decided`: whether the statements run hangs on something expensive. */
  #statements(statements: readonly Statement[], decided: Decider | null, owner: FunctionDeclaration): void {
    for (const statement of statements) this.#statement(statement, decided, owner);
  }

  #statement(statement: Statement, decided: Decider | null, owner: FunctionDeclaration): void {
    for (const expression of statementExpressions(statement)) this.#expression(expression, decided);
    switch (statement.kind) {
      case "block":
        return this.#statements(statement.body, decided, owner);
      case "variable":
        if (statement.initializer !== null && (decided !== null || this.of(statement.initializer)))
          this.#taint(statement.local, decided ?? statement.initializer);
        return;
      case "if": {
        const inner = decided ?? (this.of(statement.condition) ? statement.condition : null);
        this.#statements(statement.consequent, inner, owner);
        return this.#statements(statement.alternative, inner, owner);
      }
      case "loop": {
        const inner =
          decided ??
          (statement.condition !== null && this.of(statement.condition) ? statement.condition : null) ??
          (this.#costs.loop(statement) >= EXPENSIVE_STEPS ? statement : null);
        this.#statements(statement.initial, decided, owner);
        // Counting takes no work.
        if (statement.update !== null)
          this.#expression(statement.update, countingOf(statement) === null ? inner : decided);
        return this.#statements(statement.body, inner, owner);
      }
      case "switch": {
        const inner = decided ?? (this.of(statement.discriminant) ? statement.discriminant : null);
        for (const choice of statement.cases) this.#statements(choice.body, inner, owner);
        return;
      }
      case "return":
        if (statement.value !== null && (decided !== null || this.of(statement.value)))
          this.#taintResult(owner, decided ?? statement.value);
        return;
      case "expression":
      case "throw":
      case "break":
      case "continue":
        return;
    }
  }

  #expression(expression: Expression, decided: Decider | null): void {
    for (const operand of operands(expression)) this.#expression(operand, decided);
    switch (expression.kind) {
      case "assignment": {
        const { target, value } = expression;
        const cause = decided ?? (value !== null && this.of(value) ? value : null);
        if (cause === null) return;
        if (target.kind === "local") this.#taint(target.local, cause);
        else if (target.kind === "global") this.#taint(target.global, cause);
        else if (target.kind === "field")
          for (const object of this.#pointsTo.of(target.object)) this.#taint(object.cell(target.field), cause);
        else for (const container of this.#pointsTo.of(target.container)) this.#taint(container.content, cause);
        return;
      }
      case "call":
        return this.#passed(expression.arguments, expression.callees);
      case "construction":
        return this.#passed(expression.arguments, [expression.callee]);
      case "indirect-call":
        return this.#passed(expression.arguments, this.#pointsTo.functionsOf(expression.callee));
      case "library": {
        const receivers = expression.receiver === null ? [] : [...this.#pointsTo.of(expression.receiver)];
        const stored = decided ?? expression.arguments.find((argument) => this.of(argument)) ?? null;
        if (expression.member.writes && stored !== null)
          for (const container of receivers) this.#taint(container.content, stored);
        if (receivers.some((container) => this.#locations.has(container.content)))
          for (const callee of calleesOf(expression, this.#pointsTo))
            for (const { local } of callee.parameters) this.#taint(local, expression);
        return;
      }
      default:
        return;
    }
  }

  #passed(args: readonly Expression[], callees: readonly FunctionDeclaration[]): void {
    for (const [index, argument] of args.entries()) {
      const locals = callees.flatMap((callee): readonly Local[] => {
        const parameter = callee.parameters[index];
        return parameter === undefined ? [] : [parameter.local];
      });
      if (locals.some((local) => !this.#locations.has(local)) && this.of(argument))
        for (const local of locals) this.#taint(local, argument);
    }
  }
}

function firstOf<From, To>(all: Iterable<From>, of: (one: From) => To | null): To | null {
  for (const one of all) {
    const found = of(one);
    if (found !== null) return found;
  }
  return null;
}
