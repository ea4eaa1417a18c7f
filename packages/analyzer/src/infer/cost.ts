/**
 * The cost rule: how many *steps* code takes, estimated from its text. One stated rule, used wherever the analyzer asks
 * what is expensive; it decides about speed only, never about what f^rw says.
 *
 * - An expression takes 1 step and what its operands take; a call, also what the most expensive callee takes.
 * - A loop that counts to a constant takes the steps of a round as often. The constant is written there, or passed through
 *   parameters, constants and arithmetic. Other loops take `UNKNOWN_TRIPS` rounds. The smallest known bound counts.
 * - A function that calls itself takes `RECURSION_COST`.
 * - A member of the library takes what its class takes (`libraryCost`); callbacks run `UNKNOWN_TRIPS` times, those of
 *   `sort` four times as often.
 * - An access takes `ACCESS_STEPS`.
 */
import {
  nestedStatements,
  operands,
  statementExpressions,
  walkFunction,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type LibraryCall,
  type Local,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import { hashesPassword } from "../lower/library.ts";
import { conjunctsOf } from "./loops.ts";

/** From here on something counts as expensive. */
export const EXPENSIVE_STEPS = 20_000;

const UNKNOWN_TRIPS = 16;
const RECURSION_COST = 2000;
/** Through the host, to the snapshot, and back as a record. */
const ACCESS_STEPS = 500;
/** As long as the host takes for it. */
const PASSWORD_STEPS = 100_000_000;

export class CostModel {
  /** The largest constant that a variable is given: passed for a parameter, or declared with. */
  readonly #constants = new Map<Local, number>();
  readonly #functionCosts = new Map<FunctionDeclaration, number>();
  readonly #open = new Set<FunctionDeclaration>();

  readonly #accessSteps: number;

  /** `accessSteps: 0`: only what is computed. */
  constructor(functions: Iterable<FunctionDeclaration>, { accessSteps = ACCESS_STEPS } = {}) {
    this.#accessSteps = accessSteps;
    const all = [...functions];
    // Constants pass through a few levels of calls.
    for (let round = 0; round < 3; round++) {
      for (const declaration of all) {
        walkStatements(declaration.body, (statement) => {
          if (statement.kind === "variable" && statement.constant && statement.initializer !== null)
            this.#note(statement.local, statement.initializer);
        });
        walkFunction(declaration, (expression) => this.#noteArguments(expression));
      }
    }
  }

  loop(loop: LoopStatement): number {
    const parts = [loop.condition, loop.update].filter((part) => part !== null);
    const body = this.#statements(loop.body) + sum(parts.map((part) => this.expression(part)));
    return this.#statements(loop.initial) + this.#trips(loop) * (body + 1);
  }

  function(declaration: FunctionDeclaration): number {
    const known = this.#functionCosts.get(declaration);
    if (known !== undefined) return known;
    if (this.#open.has(declaration)) return RECURSION_COST;
    this.#open.add(declaration);
    const cost = 1 + this.#statements(declaration.initializers) + this.#statements(declaration.body);
    this.#open.delete(declaration);
    this.#functionCosts.set(declaration, cost);
    return cost;
  }

  expression(expression: Expression): number {
    const own = sum(operands(expression).map((operand) => this.expression(operand)));
    switch (expression.kind) {
      case "call":
        return 1 + own + Math.max(0, ...expression.callees.map((callee) => this.function(callee)));
      case "construction":
        return 1 + own + this.function(expression.callee);
      case "library":
        return own + this.#library(expression);
      case "access":
      case "scan":
        return own + this.#accessSteps;
      default:
        return 1 + own;
    }
  }

  #library(expression: LibraryCall): number {
    const given = expression.arguments.flatMap((argument) =>
      argument.kind === "function-value" ? [argument.declaration] : [],
    );
    const callbacks = sum([...given, ...expression.calls].map((callee) => this.function(callee)));
    const rounds = expression.member.name === "sort" ? 4 * UNKNOWN_TRIPS : UNKNOWN_TRIPS;
    return libraryCost(expression) + rounds * callbacks;
  }

  #statements(statements: readonly Statement[]): number {
    return sum(
      statements.map((statement) =>
        statement.kind === "loop"
          ? this.loop(statement)
          : sum(statementExpressions(statement).map((expression) => this.expression(expression))) +
            this.#statements(nestedStatements(statement)),
      ),
    );
  }

  #trips({ condition, initial }: LoopStatement): number {
    if (condition === null) return UNKNOWN_TRIPS;
    const known = conjunctsOf(condition).flatMap((conjunct) => {
      if (conjunct.kind !== "operation" || conjunct.operands.length !== 2) return [];
      const bounds = conjunct.operands.flatMap((operand) => this.#constant(operand) ?? []);
      return bounds.length === 0 ? [] : [Math.max(...bounds.map(Math.abs))];
    });
    if (known.length === 0) return UNKNOWN_TRIPS;
    // `for (let i = 1000; i > 0; i--)` counts down from its start.
    const starts = initial.flatMap((statement) =>
      statement.kind === "variable" && statement.initializer !== null
        ? (this.#constant(statement.initializer) ?? [])
        : [],
    );
    return Math.max(1, Math.min(...known), ...starts.map(Math.abs));
  }

  #constant(expression: Expression): number | null {
    switch (expression.kind) {
      case "constant": {
        const number = Number(expression.text.replaceAll("_", ""));
        return expression.text.startsWith('"') || Number.isNaN(number) ? null : number;
      }
      case "global":
        return expression.global.mutable || expression.global.initializer === null
          ? null
          : this.#constant(expression.global.initializer);
      case "local":
        return this.#constants.get(expression.local) ?? null;
      case "cast":
        return this.#constant(expression.operand);
      case "operation": {
        const [left, right] = expression.operands.map((operand) => this.#constant(operand));
        if (left === undefined || left === null || right === undefined || right === null) return null;
        return ARITHMETIC[expression.operator]?.(left, right) ?? null;
      }
      default:
        return null;
    }
  }

  #noteArguments(expression: Expression): void {
    if (expression.kind !== "call" && expression.kind !== "construction") return;
    for (const callee of expression.kind === "call" ? expression.callees : [expression.callee]) {
      for (const [index, { local }] of callee.parameters.entries()) {
        const argument = expression.arguments[index];
        if (argument !== undefined) this.#note(local, argument);
      }
    }
  }

  #note(local: Local, value: Expression): void {
    const constant = this.#constant(value);
    if (constant !== null) this.#constants.set(local, Math.max(constant, this.#constants.get(local) ?? 0));
  }
}

const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "<<": (left, right) => left * 2 ** right,
};

const TRANSCENDENTAL = /^(?:a?(?:cos|sin|tan)h?|atan2|cbrt|expm?1?|exp2|hypot|log(?:10|1p|2)?|pow)$/;

/** Members that look at every element or character, or make a new text or container. */
const LINEAR = new Set(
  "concat endsWith startsWith includes indexOf lastIndexOf localeCompare padEnd padStart repeat replace replaceAll slice substr substring toLowerCase toUpperCase trim trimEnd trimStart split join toString fill reverse copyWithin splice keys values encode decode set sort == != < > <= >= +".split(
    " ",
  ),
);

function libraryCost({ member }: LibraryCall): number {
  if (hashesPassword(member)) return PASSWORD_STEPS;
  if (TRANSCENDENTAL.test(member.name) && (member.owner === "" || member.owner.startsWith("NativeMath"))) return 20;
  if (member.form === "element" || member.form === "property") return 2;
  return LINEAR.has(member.name) && member.owner !== "Map" ? 16 : 4;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
