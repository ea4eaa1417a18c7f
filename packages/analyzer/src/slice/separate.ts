/**
 * Conditions taken apart where a part is expensive, so that the other part can stay when the expensive one goes:
 *
 *     if (cheap || expensive) A else B   →   if (cheap) A else if (expensive) A else B
 *     while (cheap && expensive) A       →   while (cheap) { if (!expensive) break; A }
 *
 * The program does the same as before.
 */
import {
  BOOL,
  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type IfStatement,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import type { Expense } from "../infer/expense.ts";
import { conjunctsOf, countingOf } from "../infer/loops.ts";
import type { Copier } from "./copy.ts";

/** Statements that may be written twice for one condition. */
const MOST_COPIED = 60;

export class Separation {
  readonly #expense: Expense;
  readonly #copier: Copier;

  constructor(expense: Expense, copier: Copier) {
    this.#expense = expense;
    this.#copier = copier;
  }

  /** The same array if there is nothing to take apart. */
  statements(statements: readonly Statement[]): readonly Statement[] {
    const parts = statements.map((statement) => this.#statement(statement));
    return parts.every((part, index) => part === statements[index]) ? statements : parts;
  }

  #statement(statement: Statement): Statement {
    switch (statement.kind) {
      case "block": {
        const body = this.statements(statement.body);
        return body === statement.body ? statement : { ...statement, body };
      }
      case "expression":
        return this.#effect(statement);
      case "if":
        return this.#if(statement);
      case "loop":
        return this.#loop(statement);
      case "switch": {
        const cases = statement.cases.map((choice) => {
          const body = this.statements(choice.body);
          return body === choice.body ? choice : { ...choice, body };
        });
        return cases.every((choice, index) => choice === statement.cases[index]) ? statement : { ...statement, cases };
      }
      case "variable":
      case "return":
      case "throw":
      case "break":
      case "continue":
        return statement;
    }
  }

  /** `condition && effect;` as `if (condition) effect;`. */
  #effect(statement: Extract<Statement, { kind: "expression" }>): Statement {
    const { expression } = statement;
    if (!this.#expense.of(expression)) return statement;
    const only = (effect: Expression): Statement[] => [{ kind: "expression", expression: effect, span: effect.span }];
    if (expression.kind === "logical") {
      const condition = expression.left;
      const right = only(expression.right);
      const [consequent, alternative] = expression.operator === "&&" ? [right, []] : [[], right];
      return this.#if({ kind: "if", condition, consequent, alternative, span: statement.span });
    }
    if (expression.kind === "conditional") {
      return this.#if({
        kind: "if",
        condition: expression.condition,
        consequent: only(expression.consequent),
        alternative: only(expression.alternative),
        span: statement.span,
      });
    }
    return statement;
  }

  #if(statement: IfStatement): Statement {
    const consequent = this.statements(statement.consequent);
    const alternative = this.statements(statement.alternative);
    const inner =
      consequent === statement.consequent && alternative === statement.alternative
        ? statement
        : { ...statement, consequent, alternative };
    return this.#split(inner);
  }

  #split(statement: IfStatement): IfStatement {
    const { condition, consequent, alternative, span } = statement;
    if (!this.#expense.of(condition)) return statement;
    if (condition.kind === "operation" && condition.operator === "!" && condition.operands[0] !== undefined) {
      const [inner] = condition.operands;
      if (inner.kind !== "logical") return statement;
      return this.#split({ kind: "if", condition: inner, consequent: alternative, alternative: consequent, span });
    }
    if (condition.kind !== "logical") return statement;
    const { left, right } = condition;
    const twice = condition.operator === "||" ? consequent : alternative;
    if (sizeOf(twice) > MOST_COPIED) return statement;
    const copy = this.#copier.statements(twice);
    return condition.operator === "||"
      ? this.#split({
          ...statement,
          condition: left,
          alternative: [this.#split({ kind: "if", condition: right, consequent: copy, alternative, span: right.span })],
        })
      : this.#split({
          ...statement,
          condition: left,
          consequent: [this.#split({ kind: "if", condition: right, consequent, alternative: copy, span: right.span })],
        });
  }

  #loop(statement: LoopStatement): LoopStatement {
    const body = this.statements(statement.body);
    const { condition } = statement;
    const inner = body === statement.body ? statement : { ...statement, body };
    if (statement.form === "do" || condition === null || !this.#expense.of(condition)) return inner;
    const conjuncts = conjunctsOf(condition);
    // The part that counts is needed to know that the loop ends.
    const counts = (conjunct: Expression): boolean => countingOf({ ...statement, condition: conjunct }) !== null;
    const first = conjuncts.findIndex((conjunct) => this.#expense.of(conjunct) && !counts(conjunct));
    if (first === -1) return inner;
    const leading = conjuncts.slice(0, first).reduce<Expression | null>(and, null);
    if (leading === null) return inner;
    const exits = conjuncts.slice(first).map((conjunct): Statement => ({
      kind: "if",
      condition: conjunct,
      consequent: [],
      alternative: [{ kind: "break", span: conjunct.span }],
      span: conjunct.span,
    }));
    return { ...inner, condition: leading, body: [...exits, ...inner.body] };
  }
}

function and(left: Expression | null, right: Expression): Expression {
  return left === null ? right : { kind: "logical", operator: "&&", left, right, type: BOOL, span: right.span };
}

function sizeOf(statements: readonly Statement[]): number {
  let size = 0;
  walkStatements(statements, (statement) => {
    size++;
    for (const own of statementExpressions(statement)) walkExpression(own, () => (size += 0.2));
  });
  return size;
}
