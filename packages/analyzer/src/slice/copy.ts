/**
 * Copies of statements. Code at two places of a program must be two objects, because every later phase tells statements and
 * expressions apart by identity. Variables and declarations stay the same.
 */
import type { AssignmentTarget, Expression, Statement } from "../lower/ir.ts";

/** `copied` learns of each expression and its copy. The result of `replace` for an expression stands in its place. */
export class Copier {
  readonly #copied: (original: Expression, copy: Expression) => void;
  readonly #replace: (original: Expression) => Expression | null;

  constructor(
    copied: (original: Expression, copy: Expression) => void,
    replace: (original: Expression) => Expression | null = () => null,
  ) {
    this.#copied = copied;
    this.#replace = replace;
  }

  statements(statements: readonly Statement[]): Statement[] {
    return statements.map((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): Statement {
    switch (statement.kind) {
      case "block":
        return { ...statement, body: this.statements(statement.body) };
      case "expression":
        return { ...statement, expression: this.expression(statement.expression) };
      case "variable":
        return { ...statement, initializer: this.#optional(statement.initializer) };
      case "if":
        return {
          ...statement,
          condition: this.expression(statement.condition),
          consequent: this.statements(statement.consequent),
          alternative: this.statements(statement.alternative),
        };
      case "loop":
        return {
          ...statement,
          initial: this.statements(statement.initial),
          condition: this.#optional(statement.condition),
          update: this.#optional(statement.update),
          body: this.statements(statement.body),
        };
      case "switch":
        return {
          ...statement,
          discriminant: this.expression(statement.discriminant),
          cases: statement.cases.map(({ label, body }) => ({
            label: this.#optional(label),
            body: this.statements(body),
          })),
        };
      case "return":
        return { ...statement, value: this.#optional(statement.value) };
      case "throw":
        return { ...statement, message: this.expression(statement.message) };
      case "break":
      case "continue":
        return { ...statement };
    }
  }

  #optional(expression: Expression | null): Expression | null {
    return expression === null ? null : this.expression(expression);
  }

  expression(expression: Expression): Expression {
    const copy = this.#replace(expression) ?? this.#copyOf(expression);
    this.#copied(expression, copy);
    return copy;
  }

  #copyOf(expression: Expression): Expression {
    const copy = (inner: Expression): Expression => this.expression(inner);
    switch (expression.kind) {
      case "constant":
      case "local":
      case "global":
      case "function-value":
      case "new-table":
      case "draw":
      case "now":
      case "caller":
        return { ...expression };
      case "field":
        return { ...expression, object: copy(expression.object) };
      case "operation":
      case "template":
      case "sequence":
        return { ...expression, operands: expression.operands.map(copy) };
      case "cast":
      case "non-null":
      case "instance-of":
        return { ...expression, operand: copy(expression.operand) };
      case "logical":
        return { ...expression, left: copy(expression.left), right: copy(expression.right) };
      case "conditional":
        return {
          ...expression,
          condition: copy(expression.condition),
          consequent: copy(expression.consequent),
          alternative: copy(expression.alternative),
        };
      case "assignment":
        return { ...expression, target: this.#target(expression.target), value: this.#optional(expression.value) };
      case "call":
      case "library":
        return {
          ...expression,
          receiver: this.#optional(expression.receiver),
          arguments: expression.arguments.map(copy),
        };
      case "construction":
      case "abort":
        return { ...expression, arguments: expression.arguments.map(copy) };
      case "lane":
        return { ...expression, key: copy(expression.key) };
      case "indirect-call":
        return { ...expression, callee: copy(expression.callee), arguments: expression.arguments.map(copy) };
      case "array":
        return { ...expression, elements: expression.elements.map(copy) };
      case "access":
        return {
          ...expression,
          table: copy(expression.table),
          key: copy(expression.key),
          value: this.#optional(expression.value),
        };
      case "scan":
        return { ...expression, range: copy(expression.range), limit: this.#optional(expression.limit) };
    }
  }

  #target(target: AssignmentTarget): AssignmentTarget {
    switch (target.kind) {
      case "local":
      case "global":
        return target;
      case "field":
        return { ...target, object: this.expression(target.object) };
      case "element":
        return { ...target, container: this.expression(target.container), index: this.expression(target.index) };
    }
  }
}
