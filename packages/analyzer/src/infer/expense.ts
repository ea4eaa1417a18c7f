/**
 * Which values may hang on something expensive: a forward taint from loops and calls that are estimated to be
 * expensive, through definitions, containers, parameters, results and the branches that decide about them. It is
 * insensitive to order and only proposes the conditions that may be worth leaving out: proposing too much costs time.
 */
import {
  operands,
  statementExpressions,
  type Expression,
  type FunctionDeclaration,
  type Local,
  type Statement,
} from "../lower/ir.ts";
import { EXPENSIVE_STEPS, type CostModel } from "./cost.ts";
import type { Location } from "./heap.ts";
import { countingOf } from "./loops.ts";
import { calleesOf } from "./definitions.ts";
import type { PointsTo } from "./points-to.ts";

export class Expense {
  private readonly pointsTo: PointsTo;
  private readonly costs: CostModel;
  private readonly locations = new Set<Location>();
  private readonly results = new Set<FunctionDeclaration>();
  private readonly expensive = new Map<Expression, boolean>();
  private grew = true;

  constructor(pointsTo: PointsTo, costs: CostModel) {
    this.pointsTo = pointsTo;
    this.costs = costs;
    while (this.grew) {
      this.grew = false;
      for (const declaration of pointsTo.reached) {
        this.statements(declaration.initializers, false, declaration);
        this.statements(declaration.body, false, declaration);
      }
    }
  }

  /** Whether evaluating the expression, or knowing what it reads, takes something expensive. */
  of(expression: Expression): boolean {
    return this.isOwnExpensive(expression) || operands(expression).some((operand) => this.of(operand));
  }

  private isOwnExpensive(expression: Expression): boolean {
    switch (expression.kind) {
      case "local":
        return this.locations.has(expression.local);
      case "global":
        return this.locations.has(expression.global);
      case "field":
        return [...this.pointsTo.of(expression.object)].some((object) =>
          this.locations.has(object.cell(expression.field)),
        );
      case "call":
        return expression.callees.some((callee) => this.results.has(callee)) || this.takesMuch(expression);
      case "indirect-call":
        return this.pointsTo.functionsOf(expression.callee).some((callee) => this.results.has(callee));
      case "construction":
        return this.takesMuch(expression);
      case "library": {
        const contents = expression.receiver === null ? [] : [...this.pointsTo.of(expression.receiver)];
        return (
          contents.some((object) => this.locations.has(object.content)) ||
          calleesOf(expression, this.pointsTo).some((callee) => this.results.has(callee)) ||
          this.takesMuch(expression)
        );
      }
      default:
        return false;
    }
  }

  private takesMuch(expression: Expression): boolean {
    let known = this.expensive.get(expression);
    if (known === undefined) {
      known = this.costs.expression(expression) >= EXPENSIVE_STEPS;
      this.expensive.set(expression, known);
    }
    return known;
  }

  // ----------------------------------------------------------------------------------------------------------- spreading

  private taint(location: Location): void {
    if (this.locations.has(location)) return;
    this.locations.add(location);
    this.grew = true;
  }

  private taintResult(declaration: FunctionDeclaration): void {
    if (this.results.has(declaration)) return;
    this.results.add(declaration);
    this.grew = true;
  }

  /** `decided`: whether the statements run hangs on something expensive. */
  private statements(statements: readonly Statement[], decided: boolean, owner: FunctionDeclaration): void {
    for (const statement of statements) this.statement(statement, decided, owner);
  }

  private statement(statement: Statement, decided: boolean, owner: FunctionDeclaration): void {
    for (const expression of statementExpressions(statement)) this.expression(expression, decided);
    switch (statement.kind) {
      case "block":
        return this.statements(statement.body, decided, owner);
      case "variable":
        if (statement.initializer !== null && (decided || this.of(statement.initializer))) this.taint(statement.local);
        return;
      case "if": {
        const inner = decided || this.of(statement.condition);
        this.statements(statement.consequent, inner, owner);
        return this.statements(statement.alternative, inner, owner);
      }
      case "loop": {
        const inner =
          decided ||
          (statement.condition !== null && this.of(statement.condition)) ||
          this.costs.loop(statement) >= EXPENSIVE_STEPS;
        this.statements(statement.initial, decided, owner);
        // Counting takes no work.
        if (statement.update !== null)
          this.expression(statement.update, countingOf(statement) === null ? inner : decided);
        return this.statements(statement.body, inner, owner);
      }
      case "switch": {
        const inner = decided || this.of(statement.discriminant);
        for (const choice of statement.cases) this.statements(choice.body, inner, owner);
        return;
      }
      case "return":
        if (statement.value !== null && (decided || this.of(statement.value))) this.taintResult(owner);
        return;
      case "expression":
      case "throw":
      case "break":
      case "continue":
        return;
    }
  }

  private expression(expression: Expression, decided: boolean): void {
    for (const operand of operands(expression)) this.expression(operand, decided);
    switch (expression.kind) {
      case "assignment": {
        if (!decided && (expression.value === null || !this.of(expression.value))) return;
        const { target } = expression;
        if (target.kind === "local") this.taint(target.local);
        else if (target.kind === "global") this.taint(target.global);
        else if (target.kind === "field")
          for (const object of this.pointsTo.of(target.object)) this.taint(object.cell(target.field));
        else for (const container of this.pointsTo.of(target.container)) this.taint(container.content);
        return;
      }
      case "call":
        return this.passed(expression.arguments, expression.callees);
      case "construction":
        return this.passed(expression.arguments, [expression.callee]);
      case "indirect-call":
        return this.passed(expression.arguments, this.pointsTo.functionsOf(expression.callee));
      case "library": {
        const receivers = expression.receiver === null ? [] : [...this.pointsTo.of(expression.receiver)];
        if (expression.member.writes && (decided || expression.arguments.some((argument) => this.of(argument))))
          for (const container of receivers) this.taint(container.content);
        if (receivers.some((container) => this.locations.has(container.content)))
          for (const callee of calleesOf(expression, this.pointsTo))
            for (const { local } of callee.parameters) this.taint(local);
        return;
      }
      default:
        return;
    }
  }

  private passed(args: readonly Expression[], callees: readonly FunctionDeclaration[]): void {
    for (const [index, argument] of args.entries()) {
      const locals = callees.flatMap((callee): readonly Local[] => {
        const parameter = callee.parameters[index];
        return parameter === undefined ? [] : [parameter.local];
      });
      if (locals.some((local) => !this.locations.has(local)) && this.of(argument))
        for (const local of locals) this.taint(local);
    }
  }
}
