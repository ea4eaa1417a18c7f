/**
 * Takes statements out of expressions. While a function is lowered, a sequence may begin with statements (a form of the
 * developer's that needs several). Behind this file no expression has any: they stand before the statement.
 *
 * The rule of the order: all that is evaluated before such statements is evaluated before them still. An operand on
 * their left is kept in a variable, unless its value can't change. A branch, and a round
 * of a loop, get the statements of their own expressions.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import {
  BOOL,
  hasStatements,
  nestedStatements,
  operands,
  statementExpressions,
  VOID,
  walkExpression,
  walkStatements,
  withOperands,
  type Expression,
  type FunctionDeclaration,
  type Local,
  type LoopStatement,
  type Statement,
  type Type,
} from "./ir.ts";
import { Refusal } from "./refusal.ts";

/** Takes the statements out of the expressions of a function's body. */
export function linearize(declaration: FunctionDeclaration): void {
  const { body, parameters } = declaration;
  declaration.body = linearized(
    body,
    parameters.map(({ local }) => local),
  );
}

/** The statements of a function with these parameters; the same if nothing has to be taken out. */
export function linearized(body: readonly Statement[], parameters: readonly Local[] = []): readonly Statement[] {
  if (!contains(body)) {
    renameHidden(body, parameters);
    return body;
  }
  const linearizer = new Linearizer(body);
  const inOrder = linearizer.statements(body);
  const statements = linearizer.splitConditions ? withKnownNulls(inOrder) : inOrder;
  rename(statements, parameters);
  return statements;
}

/** The variables of an expression that it does not declare. */
export function freeLocals(expression: Expression): Local[] {
  const free = new Set<Local>();
  const declared = new Set<Local>();
  walkExpression(expression, (inner) => {
    if (inner.kind === "local") free.add(inner.local);
    if (inner.kind === "assignment" && inner.target.kind === "local") free.add(inner.target.local);
    if (inner.kind !== "sequence") return;
    walkStatements(inner.statements ?? [], (statement) => {
      if (statement.kind === "variable") declared.add(statement.local);
    });
  });
  return [...free].filter((local) => !declared.has(local));
}

/** The expression with other values for variables, which it does not assign. */
export function substituted(expression: Expression, values: ReadonlyMap<Local, Expression>): Expression {
  const map = (inner: Expression): Expression => {
    if (inner.kind === "local") {
      const value = values.get(inner.local);
      return value === undefined ? inner : { ...value, span: inner.span };
    }
    if (inner.kind === "assignment" && inner.target.kind === "local" && values.has(inner.target.local))
      throw new Refusal("not_sliced_syntax", {
        message: "The analyzer can't follow a default value that assigns a parameter.",
        primary: inner.span,
        help: "Assign it in the body of the function.",
      });
    const changed = withOperands(inner, operands(inner).map(map));
    if (changed.kind !== "sequence" || changed.statements === undefined) return changed;
    return { ...changed, statements: changed.statements.map((statement) => mapExpressions(statement, map)) };
  };
  return map(expression);
}

function contains(statements: readonly Statement[]): boolean {
  let found = false;
  walkStatements(statements, (statement) => {
    found ||= statementExpressions(statement).some(hasStatements);
  });
  return found;
}

class Linearizer {
  /** Whether a condition stands in a variable now, so that the compiler does not see what it says about null. */
  splitConditions = false;
  readonly #assigned = new Set<Local>();

  constructor(body: readonly Statement[]) {
    const note = (expression: Expression): void => {
      if (expression.kind === "assignment" && expression.target.kind === "local")
        this.#assigned.add(expression.target.local);
    };
    walkStatements(body, (statement) => {
      for (const expression of statementExpressions(statement)) walkExpression(expression, note);
    });
  }

  statements(statements: readonly Statement[]): Statement[] {
    return statements.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): Statement[] {
    if (!contains([statement])) return [statement];
    const before: Statement[] = [];
    const value = (expression: Expression): Expression => this.#value(expression, before);
    switch (statement.kind) {
      case "block":
        return [{ ...statement, body: this.statements(statement.body) }];
      case "expression": {
        this.#effects(statement.expression, before, statement);
        return before;
      }
      case "variable": {
        const initializer = statement.initializer === null ? null : value(statement.initializer);
        return [...before, { ...statement, initializer }];
      }
      case "if": {
        const condition = value(statement.condition);
        const consequent = this.statements(statement.consequent);
        const alternative = this.statements(statement.alternative);
        return [...before, { ...statement, condition, consequent, alternative }];
      }
      case "loop":
        return this.#loop(statement);
      case "switch": {
        const discriminant = value(statement.discriminant);
        const cases = statement.cases.map((choice) => ({ ...choice, body: this.statements(choice.body) }));
        return [...before, { ...statement, discriminant, cases }];
      }
      case "return": {
        const { value: returned, span } = statement;
        if (returned === null) return [statement];
        if (returned.type.kind === "void") {
          this.#effects(returned, before, { kind: "expression", expression: returned, span });
          return [...before, { ...statement, value: null }];
        }
        const result = value(returned);
        return [...before, { ...statement, value: result }];
      }
      case "throw": {
        const message = value(statement.message);
        return [...before, { ...statement, message }];
      }
      case "break":
      case "continue":
        return [statement];
    }
  }

  /**
   * A condition with statements is tested in the loop. An update with statements runs at the end of each round, or before
   * the next one if `continue` may lead there.
   */
  #loop(statement: LoopStatement): Statement[] {
    const { span, initial, condition, update, form } = statement;
    const body = this.statements(statement.body);
    const hasCondition = condition !== null && hasStatements(condition);
    const hasUpdate = update !== null && hasStatements(update);
    const first = this.statements(initial);
    const initialStays = !initial.some((one) => contains([one]));
    const around = (loop: LoopStatement): Statement[] =>
      initialStays
        ? [{ ...loop, initial: first }]
        : [{ kind: "block", body: [...first, { ...loop, initial: [] }], span }];
    if (!hasCondition && !hasUpdate) return around({ ...statement, body });
    const tested: Statement[] = [];
    // variant: loop-condition-each-round
    if (condition !== null) this.#test(condition, tested);
    const updated: Statement[] = [];
    if (update !== null) this.#effects(update, updated, { kind: "expression", expression: update, span: update.span });
    const endless = { ...statement, form: "while", condition: null, update: null, initial: [] } as const;
    const within: Statement = { kind: "block", body, span };
    // The parts of a round that follow the body, where the first round begins with the body.
    const behind = form === "do" ? tested : updated;
    // variant: continued-rounds
    const isContinued = continues(body);
    const head = form === "do" ? [] : tested;
    let round: Statement[];
    const declared: Statement[] = [];
    if (behind.length === 0) {
      round = [...head, within];
    } else if (isContinued) {
      const local: Local = { name: "again", type: BOOL, span };
      declared.push({
        kind: "variable",
        local,
        initializer: truth(false, span),
        annotated: false,
        constant: false,
        span,
      });
      const again: Statement = {
        kind: "if",
        condition: read(local, span),
        consequent: behind,
        alternative: [assigning(local, truth(true, span), span)],
        span,
      };
      round = [again, ...head, within];
    } else {
      round = [...head, within, ...behind];
    }
    return [{ kind: "block", body: [...first, ...declared, { ...endless, body: round }], span }];
  }

  /** Leaves the loop unless the condition holds. */
  #test(condition: Expression, out: Statement[]): void {
    const { span } = condition;
    const value = this.#value(condition, out);
    const negated: Expression = { kind: "operation", operator: "!", operands: [value], type: BOOL, span };
    out.push({ kind: "if", condition: negated, consequent: [{ kind: "break", span }], alternative: [], span });
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The value of an expression behind the statements that `out` gets. */
  #value(expression: Expression, out: Statement[]): Expression {
    const value = this.#expression(expression, out);
    if (value === null) throw new Error(`a ${expression.kind} without a value is one`);
    return value;
  }

  /** The effects of an expression, as statements; `last` is the statement that it stands in. */
  #effects(expression: Expression, out: Statement[], last: Extract<Statement, { kind: "expression" }>): void {
    const value = this.#expression(expression, out);
    if (value !== null && value.kind !== "local" && value.kind !== "constant") out.push({ ...last, expression: value });
  }

  /** Null: there is no value. */
  #expression(expression: Expression, out: Statement[]): Expression | null {
    if (!hasStatements(expression)) return expression;
    const { span } = expression;
    switch (expression.kind) {
      case "sequence": {
        out.push(...this.statements(expression.statements ?? []));
        const last = expression.operands.at(-1);
        for (const operand of expression.operands.slice(0, -1))
          this.#effects(operand, out, { kind: "expression", expression: operand, span });
        if (last === undefined) return null;
        const value = this.#expression(last, out);
        return value?.kind === "constant" ? { ...value, type: expression.type } : value;
      }
      case "conditional": {
        const condition = this.#value(expression.condition, out);
        const { consequent, alternative } = expression;
        // variant: chosen-side-when-needed
        if (!hasStatements(consequent) && !hasStatements(alternative)) return { ...expression, condition };
        return this.#chosen(expression.type, span, out, (give) => ({
          condition,
          consequent: give(consequent),
          alternative: give(alternative),
        }));
      }
      case "logical": {
        const left = this.#value(expression.left, out);
        const { right, operator, type } = expression;
        // variant: right-side-when-needed
        if (!hasStatements(right)) return { ...expression, left };
        const isAnd = operator === "&&";
        if (type.kind === "void")
          return this.#chosen(type, span, out, (give) => {
            const branch = give(right);
            return { condition: left, consequent: isAnd ? branch : [], alternative: isAnd ? [] : branch };
          });
        const known = this.#saved(left, out);
        return this.#chosen(type, span, out, (give) => {
          const decided = give(type.kind === "bool" ? truth(!isAnd, span) : known);
          const open = give(right);
          return { condition: known, consequent: isAnd ? open : decided, alternative: isAnd ? decided : open };
        });
      }
      case "assignment":
        if (expression.operator !== "" && expression.value !== null && hasStatements(expression.value))
          throw new Error("the old value of a compound assignment is read before its right side");
        return this.#operation(expression, out);
      default:
        return this.#operation(expression, out);
    }
  }

  /** All operands are evaluated, from left to right. */
  #operation(expression: Expression, out: Statement[]): Expression {
    const parts = operands(expression);
    const last = parts.findLastIndex((part) => hasStatements(part));
    return withOperands(
      expression,
      parts.map((part, index) => {
        const value = this.#value(part, out);
        // variant: operands-saved
        return index < last ? this.#saved(value, out) : value;
      }),
    );
  }

  /** A value that one of two branches gives: in a variable, unless there is none. */
  #chosen(
    type: Type,
    span: Span,
    out: Statement[],
    branches: (give: (value: Expression) => Statement[]) => {
      readonly condition: Expression;
      readonly consequent: readonly Statement[];
      readonly alternative: readonly Statement[];
    },
  ): Expression | null {
    this.splitConditions = true;
    if (type.kind === "void") {
      const give = (value: Expression): Statement[] => {
        const branch: Statement[] = [];
        this.#effects(value, branch, { kind: "expression", expression: value, span: value.span });
        return branch;
      };
      out.push({ kind: "if", ...branches(give), span });
      return null;
    }
    const local: Local = { name: "chosen", type, span };
    const give = (given: Expression): Statement[] => {
      const branch: Statement[] = [];
      const value = this.#value(given, branch);
      branch.push(assigning(local, type.kind === "bool" ? asBool(value) : value, value.span));
      return branch;
    };
    const chosen: Statement = { kind: "if", ...branches(give), span };
    out.push({ kind: "variable", local, initializer: null, annotated: true, constant: false, span }, chosen);
    return read(local, span);
  }

  /** The value, where later statements can't change it. */
  #saved(value: Expression, out: Statement[]): Expression {
    if (this.#isFixed(value)) return value;
    const { span, type } = value;
    const local: Local = { name: "saved", type, span };
    out.push({ kind: "variable", local, initializer: value, annotated: true, constant: true, span });
    return read(local, span);
  }

  #isFixed(value: Expression): boolean {
    switch (value.kind) {
      case "constant":
      case "function-value":
        return true;
      case "local":
        return !this.#assigned.has(value.local);
      case "global":
        return !value.global.mutable;
      default:
        return false;
    }
  }
}

function read(local: Local, span: Span): Expression {
  return { kind: "local", local, type: local.type, span };
}

function truth(value: boolean, span: Span): Expression {
  return { kind: "constant", text: String(value), type: BOOL, span };
}

function asBool(value: Expression): Expression {
  const { span } = value;
  if (value.type.kind === "bool") return value;
  const [consequent, alternative] = [truth(true, span), truth(false, span)];
  return { kind: "conditional", condition: value, consequent, alternative, type: BOOL, span };
}

function assigning(local: Local, value: Expression, span: Span): Statement {
  const target = { kind: "local", local } as const;
  const expression: Expression = { kind: "assignment", target, operator: "", prefix: false, value, type: VOID, span };
  return { kind: "expression", expression, span };
}

/** Whether `continue` leads to the next round of the loop with this body. */
function continues(body: readonly Statement[]): boolean {
  return body.some(
    (statement) =>
      statement.kind === "continue" || (statement.kind !== "loop" && continues(nestedStatements(statement))),
  );
}

/**
 * Says of each variable that is known to be there that it is. The compiler of the handler saw whole conditions, and the
 * compiler of the set function sees variables.
 */
function withKnownNulls(statements: readonly Statement[]): Statement[] {
  const known = (expression: Expression): Expression => {
    const parts = operands(expression);
    const changed = parts.map(known);
    const inner = changed.some((part, index) => part !== parts[index]) ? withOperands(expression, changed) : expression;
    if (inner.kind !== "local" || inner.type.kind === "nullable" || inner.local.type.kind !== "nullable") return inner;
    return { kind: "non-null", operand: { ...inner, type: inner.local.type }, type: inner.type, span: inner.span };
  };
  return statements.map((statement) => mapExpressions(statement, known));
}

/** The statement with other expressions, also in the statements within it. */
function mapExpressions(statement: Statement, map: (expression: Expression) => Expression): Statement {
  const all = (list: readonly Statement[]): Statement[] => list.map((one) => mapExpressions(one, map));
  const optional = (expression: Expression | null): Expression | null => (expression === null ? null : map(expression));
  switch (statement.kind) {
    case "block":
      return { ...statement, body: all(statement.body) };
    case "expression":
      return { ...statement, expression: map(statement.expression) };
    case "variable":
      return { ...statement, initializer: optional(statement.initializer) };
    case "if":
      return {
        ...statement,
        condition: map(statement.condition),
        consequent: all(statement.consequent),
        alternative: all(statement.alternative),
      };
    case "loop":
      return {
        ...statement,
        initial: all(statement.initial),
        condition: optional(statement.condition),
        update: optional(statement.update),
        body: all(statement.body),
      };
    case "switch":
      return {
        ...statement,
        discriminant: map(statement.discriminant),
        cases: statement.cases.map(({ label, body }) => ({ label: optional(label), body: all(body) })),
      };
    case "return":
      return { ...statement, value: optional(statement.value) };
    case "throw":
      return { ...statement, message: map(statement.message) };
    case "break":
    case "continue":
      return statement;
  }
}

/** Variables that the developer did not write. */
const HIDDEN = new WeakSet<Local>();

/** Says of a variable that the developer did not write it: its name may be another's. */
export function hide(local: Local): Local {
  HIDDEN.add(local);
  return local;
}

/** Gives each variable a name of its own: those that stood in scopes of their own share one now. */
function rename(statements: readonly Statement[], parameters: readonly Local[]): void {
  const kept = parameters.filter((local) => !HIDDEN.has(local));
  const others = [...parameters.filter((local) => HIDDEN.has(local)), ...variablesOf(statements)];
  renameApart(others, kept);
}

/** Gives each variable that the developer did not write a name of its own. All others stay in their scopes. */
function renameHidden(statements: readonly Statement[], parameters: readonly Local[]): void {
  const all = [...parameters, ...variablesOf(statements)];
  const hidden = all.filter((local) => HIDDEN.has(local));
  if (hidden.length > 0)
    renameApart(
      hidden,
      all.filter((local) => !HIDDEN.has(local)),
    );
}

function renameApart(locals: readonly Local[], others: readonly Local[]): void {
  const taken = new Set(others.map(({ name }) => name));
  for (const local of locals) {
    const proposed = local.name;
    for (let number = 2; taken.has(local.name); number++) local.name = `${proposed}_${number}`;
    taken.add(local.name);
  }
}

function variablesOf(statements: readonly Statement[]): Local[] {
  const found: Local[] = [];
  walkStatements(statements, (statement) => {
    if (statement.kind === "variable") found.push(statement.local);
  });
  return found;
}
