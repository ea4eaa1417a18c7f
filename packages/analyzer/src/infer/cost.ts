/**
 * A rough static estimate of how many steps a loop takes: known trip counts where the bound is a constant (also one
 * that is passed as an argument), a guess for the others. It only decides which guards are worth their condition.
 */
import {
  nestedStatements,
  operands,
  statementExpressions,
  walkFunction,
  type Expression,
  type FunctionDeclaration,
  type Local,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";

/** Estimated steps from which something counts as expensive. */
export const EXPENSIVE_STEPS = 20_000;

const UNKNOWN_TRIPS = 16;
const RECURSION_COST = 2000;

export class CostModel {
  /** The largest constant that is passed for a parameter. */
  private readonly constants = new Map<Local, number>();
  private readonly functionCosts = new Map<FunctionDeclaration, number>();
  private readonly open = new Set<FunctionDeclaration>();

  constructor(functions: Iterable<FunctionDeclaration>) {
    const all = [...functions];
    // Constants pass through a few levels of calls.
    for (let round = 0; round < 3; round++) {
      for (const declaration of all) walkFunction(declaration, (expression) => this.noteArguments(expression));
    }
  }

  loop(loop: LoopStatement): number {
    const parts = [loop.condition, loop.update].filter((part) => part !== null);
    const body = this.statements(loop.body) + sum(parts.map((part) => this.expression(part)));
    return this.statements(loop.initial) + this.trips(loop) * (body + 1);
  }

  function(declaration: FunctionDeclaration): number {
    const known = this.functionCosts.get(declaration);
    if (known !== undefined) return known;
    if (this.open.has(declaration)) return RECURSION_COST;
    this.open.add(declaration);
    const cost = 1 + this.statements(declaration.initializers) + this.statements(declaration.body);
    this.open.delete(declaration);
    this.functionCosts.set(declaration, cost);
    return cost;
  }

  expression(expression: Expression): number {
    const own = sum(operands(expression).map((operand) => this.expression(operand)));
    switch (expression.kind) {
      case "call":
        return 1 + own + Math.max(0, ...expression.callees.map((callee) => this.function(callee)));
      case "construction":
        return 1 + own + this.function(expression.callee);
      case "library": {
        const callbacks = expression.arguments.flatMap((argument) =>
          argument.kind === "function-value" ? [this.function(argument.declaration)] : [],
        );
        callbacks.push(...expression.calls.map((callee) => this.function(callee)));
        return 4 + own + UNKNOWN_TRIPS * sum(callbacks);
      }
      default:
        return 1 + own;
    }
  }

  private statements(statements: readonly Statement[]): number {
    return sum(
      statements.map((statement) =>
        statement.kind === "loop"
          ? this.loop(statement)
          : sum(statementExpressions(statement).map((expression) => this.expression(expression))) +
            this.statements(nestedStatements(statement)),
      ),
    );
  }

  /** For `counter < constant` in all its forms. */
  private trips(loop: LoopStatement): number {
    const { condition } = loop;
    if (condition?.kind !== "operation" || condition.operands.length !== 2) return UNKNOWN_TRIPS;
    const bounds = condition.operands.flatMap((operand) => this.constant(operand) ?? []);
    return bounds.length === 0 ? UNKNOWN_TRIPS : Math.max(1, ...bounds.map(Math.abs));
  }

  private constant(expression: Expression): number | null {
    switch (expression.kind) {
      case "constant": {
        const number = Number(expression.text.replaceAll("_", ""));
        return expression.text.startsWith('"') || Number.isNaN(number) ? null : number;
      }
      case "global":
        return expression.global.mutable || expression.global.initializer === null
          ? null
          : this.constant(expression.global.initializer);
      case "local":
        return this.constants.get(expression.local) ?? null;
      case "cast":
        return this.constant(expression.operand);
      default:
        return null;
    }
  }

  private noteArguments(expression: Expression): void {
    if (expression.kind !== "call" && expression.kind !== "construction") return;
    for (const callee of expression.kind === "call" ? expression.callees : [expression.callee]) {
      for (const [index, { local }] of callee.parameters.entries()) {
        const argument = expression.arguments[index];
        const constant = argument === undefined ? null : this.constant(argument);
        if (constant !== null) this.constants.set(local, Math.max(constant, this.constants.get(local) ?? 0));
      }
    }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
