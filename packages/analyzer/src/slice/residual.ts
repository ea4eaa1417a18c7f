/**
 * Builds f^rw from what relevance keeps: a new program of the IR. Expressions whose value is needed stay whole; of all
 * others only the kept effects remain, as statements of their own in the order of evaluation. A read whose value is not
 * needed becomes `touch`, a put that is not read again `willPut`. Parameters that nobody needs disappear.
 */
import {
  BOOL,
  STRING,
  VOID,
  walkExpression,
  walkFunction,
  zeroText,
  type Access,
  type AssignmentTarget,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type Local,
  type LoopStatement,
  type Parameter,
  type Program,
  type Scan,
  type Statement,
  type Type,
} from "../lower/ir.ts";
import { Refusal } from "../lower/refusal.ts";
import type { TableLocation } from "../infer/heap.ts";
import type { PointsTo } from "../infer/points-to.ts";
import { hasFixedSignature, type Relevance } from "../infer/relevance.ts";

export interface Residual {
  readonly program: Program;
  /** The fields that its classes have, with their initializers. */
  readonly fields: ReadonlyMap<FieldDeclaration, Expression | null>;
  /** Accesses of the original program that it makes, with whether a read's value is needed. */
  readonly accesses: ReadonlyMap<Access | Scan, { readonly dependent: boolean }>;
}

/**
 * `exact`: up to the handler's end, the slice says exactly the writes that the handler makes, in the same order. So a read
 * of an item that it said to write is the handler's read of its own write.
 */
export function buildResidual(
  program: Program,
  relevance: Relevance,
  pointsTo: PointsTo,
  { exact }: { readonly exact: boolean },
): Residual {
  const written = new Set<TableLocation>();
  for (const expression of exact ? relevance.kept : []) {
    if (expression.kind === "access" && (expression.operation === "put" || expression.operation === "delete"))
      for (const table of pointsTo.tablesOf(expression.table)) written.add(table);
  }
  const mayBeWritten = (access: Access): boolean => pointsTo.tablesOf(access.table).some((table) => written.has(table));
  return new Builder(program, relevance, mayBeWritten).build();
}

class Builder {
  readonly #program: Program;
  readonly #relevance: Relevance;
  /** Whether an item that is read here may have been said to be written, and surely is then. */
  readonly #mayBeWritten: (access: Access) => boolean;
  readonly #functions = new Map<FunctionDeclaration, FunctionDeclaration>();
  readonly #globals = new Map<Global, Global>();
  readonly #accesses = new Map<Access | Scan, { dependent: boolean }>();
  /** Functions whose bodies are still to be built. */
  readonly #pending: [original: FunctionDeclaration, residual: FunctionDeclaration][] = [];
  #current!: FunctionDeclaration;
  /** Of all variables. */
  readonly #names = new Set<string>();

  constructor(program: Program, relevance: Relevance, mayBeWritten: (access: Access) => boolean) {
    this.#program = program;
    this.#relevance = relevance;
    this.#mayBeWritten = mayBeWritten;
    for (const { name } of relevance.variables) this.#names.add(name);
  }

  build(): Residual {
    for (const global of this.#program.globals) {
      if (!this.#relevance.globals.has(global)) continue;
      if (global.unknown !== null) throw global.unknown;
      this.#globals.set(global, { ...global, initializer: null });
    }
    const handler = this.#function(this.#program.handler);
    for (const [original, residual] of this.#globals)
      residual.initializer = original.initializer === null ? null : this.#value(original.initializer);
    const fields = new Map<FieldDeclaration, Expression | null>();
    for (const field of this.#relevance.fields)
      fields.set(field, field.initializer === null ? null : this.#value(field.initializer));
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#fill(next[0], next[1]);
    for (const global of this.#globals.values()) refuseDraws(global);
    return {
      program: { handler, globals: [...this.#globals.values()], functions: [...this.#functions.values()] },
      fields,
      accesses: this.#accesses,
    };
  }

  // ── Functions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #function(original: FunctionDeclaration): FunctionDeclaration {
    const known = this.#functions.get(original);
    if (known !== undefined) return known;
    const keepsResult = this.#keepsResult(original);
    const residual: FunctionDeclaration = {
      ...original,
      result: keepsResult ? original.result : VOID,
      parameters: [],
      initializers: [],
      body: [],
    };
    this.#functions.set(original, residual);
    this.#pending.push([original, residual]);
    return residual;
  }

  #keepsResult(original: FunctionDeclaration): boolean {
    return this.#relevance.results.has(original) || hasFixedSignature(original);
  }

  #keptParameters(original: FunctionDeclaration): readonly Parameter[] {
    if (hasFixedSignature(original)) return original.parameters;
    return original.parameters.filter(({ local }) => this.#relevance.parameters.has(local));
  }

  #fill(original: FunctionDeclaration, residual: FunctionDeclaration): void {
    this.#current = original;
    residual.parameters = this.#keptParameters(original).map(({ local, defaultValue }) => ({
      local,
      defaultValue:
        defaultValue === null || (original !== this.#program.handler && !original.escapes)
          ? null
          : this.#value(defaultValue),
    }));
    residual.initializers = original.initializers.filter(
      (statement) =>
        statement.kind === "expression" &&
        statement.expression.kind === "assignment" &&
        this.#relevance.kept.has(statement.expression),
    );
    residual.body = this.#statements(original.body);
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #statements(statements: readonly Statement[]): Statement[] {
    return statements.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): Statement[] {
    const isKept = this.#relevance.keptStatements.has(statement);
    const jumps = this.#relevance.jumps.has(statement);
    switch (statement.kind) {
      case "block": {
        const body = this.#statements(statement.body);
        return body.some((inner) => inner.kind === "variable") ? [{ ...statement, body }] : body;
      }
      case "expression":
        return this.#effects(statement.expression);
      case "variable":
        return this.#variable(statement);
      case "if": {
        const consequent = this.#statements(statement.consequent);
        const alternative = this.#statements(statement.alternative);
        if (consequent.length === 0 && alternative.length === 0) return this.#effects(statement.condition);
        const condition = this.#value(statement.condition);
        if (consequent.length > 0) return [{ ...statement, condition, consequent, alternative }];
        return [{ ...statement, condition: not(condition), consequent: alternative, alternative: [] }];
      }
      case "loop": {
        const initial = this.#statements(statement.initial);
        if (!isKept) return initial.length === 0 ? [] : [{ kind: "block", body: initial, span: statement.span }];
        const condition = statement.condition === null ? null : this.#value(statement.condition);
        const effects = statement.update === null ? [] : this.#effects(statement.update);
        const body = this.#statements(statement.body);
        const update = oneExpression(effects);
        return effects.length > 0 && update === null
          ? [this.#updatedFirst({ ...statement, initial, condition, body }, effects)]
          : [{ ...statement, initial, condition, update, body }];
      }
      case "switch": {
        if (!isKept) return this.#effects(statement.discriminant);
        const bodies = statement.cases.map((choice) => this.#statements(choice.body));
        // The labels are needed only by cases: without them, what they mention may not be kept.
        if (bodies.every((body) => body.length === 0)) return this.#effects(statement.discriminant);
        const cases = statement.cases.map((choice, index) => ({
          label: choice.label === null ? null : this.#value(choice.label),
          body: bodies[index] ?? [],
        }));
        return [{ ...statement, discriminant: this.#value(statement.discriminant), cases }];
      }
      case "return": {
        const effects = statement.value === null ? [] : this.#effects(statement.value);
        if (!jumps) return effects;
        // A constructor that ends early returns `this`.
        if (statement.value !== null && (this.#keepsResult(this.#current) || this.#current.kind === "constructor"))
          return [{ ...statement, value: this.#value(statement.value) }];
        return [...effects, { ...statement, value: null }];
      }
      case "throw": {
        const effects = this.#effects(statement.message);
        return jumps ? [...effects, { ...statement, message: constantOr(statement.message, '""') }] : effects;
      }
      case "break":
      case "continue":
        return jumps ? [statement] : [];
    }
  }

  #variable(statement: Extract<Statement, { kind: "variable" }>): Statement[] {
    const { local, initializer } = statement;
    if (!this.#relevance.variables.has(local)) return initializer === null ? [] : this.#effects(initializer);
    if (initializer === null) return [statement];
    if (this.#relevance.needed.has(initializer)) return [{ ...statement, initializer: this.#value(initializer) }];
    // Assigned later; only the declaration matters.
    const declaration: Statement = {
      ...statement,
      initializer: zero(local.type, statement.span),
      annotated: true,
      constant: false,
    };
    return [...this.#effects(initializer), declaration];
  }

  /**
   * A `for` whose update takes statements: they come before each round but the first, so that a `continue` still
   * comes to them.
   */
  #updatedFirst(loop: LoopStatement, updates: readonly Statement[]): Statement {
    const { span, condition, body } = loop;
    const local: Local = { name: this.#newName("again"), type: BOOL, span };
    const constant = (text: string): Expression => ({ kind: "constant", text, type: BOOL, span });
    const again: Expression = { kind: "local", local, type: BOOL, span };
    const set: Expression = {
      kind: "assignment",
      target: { kind: "local", local },
      operator: "",
      prefix: false,
      value: constant("true"),
      type: VOID,
      span,
    };
    const head: Statement[] = [
      {
        kind: "if",
        condition: again,
        consequent: updates,
        alternative: [{ kind: "expression", expression: set, span }],
        span,
      },
    ];
    if (condition !== null)
      head.push({
        kind: "if",
        condition: not(condition),
        consequent: [{ kind: "break", span }],
        alternative: [],
        span,
      });
    const declared: Statement = {
      kind: "variable",
      local,
      initializer: constant("false"),
      annotated: false,
      constant: false,
      span,
    };
    // A block of its own: what it declares may have the names of what the updates use.
    const rounds: Statement = {
      ...loop,
      condition: null,
      update: null,
      body: [...head, { kind: "block", body, span }],
    };
    return { kind: "block", body: [declared, rounds], span };
  }

  // ── Values ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The expression whole, with references to residual declarations. */
  #value(expression: Expression): Expression {
    const map = (inner: Expression): Expression => this.#value(inner);
    switch (expression.kind) {
      case "constant":
      case "local":
      case "new-table":
      case "draw":
      case "now":
      case "caller":
        return expression;
      case "global":
        return { ...expression, global: this.#global(expression.global) };
      case "field":
        return { ...expression, object: map(expression.object) };
      case "operation":
      case "template":
      case "sequence":
        return { ...expression, operands: expression.operands.map(map) };
      case "cast":
      case "non-null":
      case "instance-of":
        return { ...expression, operand: map(expression.operand) };
      case "logical":
        return { ...expression, left: map(expression.left), right: map(expression.right) };
      case "conditional":
        return {
          ...expression,
          condition: map(expression.condition),
          consequent: map(expression.consequent),
          alternative: map(expression.alternative),
        };
      case "assignment":
        return {
          ...expression,
          target: this.#target(expression.target),
          value: expression.value === null ? null : map(expression.value),
        };
      case "call": {
        const receiver = expression.receiver === null ? null : map(expression.receiver);
        return {
          ...expression,
          callees: expression.callees.map((callee) => this.#function(callee)),
          receiver,
          arguments: this.#arguments(expression.callees[0], expression.arguments),
        };
      }
      case "construction":
        return {
          ...expression,
          callee: this.#function(expression.callee),
          arguments: this.#arguments(expression.callee, expression.arguments),
        };
      case "indirect-call":
        return { ...expression, callee: map(expression.callee), arguments: expression.arguments.map(map) };
      case "library":
        return {
          ...expression,
          receiver: expression.receiver === null ? null : map(expression.receiver),
          arguments: expression.arguments.map(map),
          calls: expression.calls.map((callee) => this.#function(callee)),
        };
      case "array":
        return { ...expression, elements: expression.elements.map(map) };
      case "function-value":
        return { ...expression, declaration: this.#function(expression.declaration) };
      case "access":
        this.#accesses.set(expression, { dependent: expression.operation === "get" || expression.operation === "has" });
        return {
          ...expression,
          table: map(expression.table),
          key: map(expression.key),
          value: expression.value === null ? null : map(expression.value),
        };
      case "abort":
        return { ...expression, arguments: expression.arguments.map(map) };
      case "lane":
        return { ...expression, key: map(expression.key) };
      case "scan":
        this.#accesses.set(expression, { dependent: !expression.operation.startsWith("touch") });
        return {
          ...expression,
          range: map(expression.range),
          limit: expression.limit === null ? null : map(expression.limit),
        };
    }
  }

  #target(target: AssignmentTarget): AssignmentTarget {
    switch (target.kind) {
      case "local":
        return target;
      case "global":
        return { ...target, global: this.#global(target.global) };
      case "field":
        return { ...target, object: this.#value(target.object) };
      case "element":
        return { ...target, container: this.#value(target.container), index: this.#value(target.index) };
    }
  }

  #global(original: Global): Global {
    const global = this.#globals.get(original);
    if (global === undefined) throw new Error(`global ${original.name} is used but not kept`);
    return global;
  }

  #arguments(callee: FunctionDeclaration | undefined, args: readonly Expression[]): Expression[] {
    if (callee === undefined) throw new Error("a call has callees");
    const kept = this.#keptParameters(callee);
    return callee.parameters.flatMap((parameter, index) => {
      const argument = args[index];
      return argument === undefined || !kept.includes(parameter) ? [] : [this.#value(argument)];
    });
  }

  // ── Effects ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The effects of an expression whose value nobody needs. */
  #effects(expression: Expression): Statement[] {
    const relevance = this.#relevance;
    const whole = (): Statement[] => [
      { kind: "expression", expression: this.#value(expression), span: expression.span },
    ];
    const parts = (expressions: readonly Expression[]): Statement[] =>
      expressions.flatMap((part) => this.#effects(part));
    if (relevance.endings.has(expression)) return whole();
    switch (expression.kind) {
      case "constant":
      case "local":
      case "global":
      case "new-table":
      case "function-value":
      case "now":
      case "caller":
        return [];
      case "field":
        return this.#effects(expression.object);
      case "operation":
      case "template":
      case "sequence":
        return parts(expression.operands);
      case "cast":
      case "non-null":
      case "instance-of":
        return this.#effects(expression.operand);
      case "array":
        return parts(expression.elements);
      case "logical": {
        const right = this.#effects(expression.right);
        if (right.length === 0) return this.#effects(expression.left);
        const left = this.#value(expression.left);
        return [
          {
            kind: "if",
            condition: expression.operator === "&&" ? left : not(left),
            consequent: right,
            alternative: [],
            span: expression.span,
          },
        ];
      }
      case "conditional": {
        const consequent = this.#effects(expression.consequent);
        const alternative = this.#effects(expression.alternative);
        if (consequent.length === 0 && alternative.length === 0) return this.#effects(expression.condition);
        const condition = this.#value(expression.condition);
        if (consequent.length > 0) return [{ kind: "if", condition, consequent, alternative, span: expression.span }];
        return [
          { kind: "if", condition: not(condition), consequent: alternative, alternative: [], span: expression.span },
        ];
      }
      case "assignment": {
        if (relevance.kept.has(expression)) return whole();
        const { target, value } = expression;
        const targetParts =
          target.kind === "field" ? [target.object] : target.kind === "element" ? [target.container, target.index] : [];
        return parts(value === null ? targetParts : [...targetParts, value]);
      }
      case "draw":
        return relevance.kept.has(expression) ? whole() : [];
      case "call":
      case "library":
        if (relevance.kept.has(expression)) return whole();
        return parts(
          expression.receiver === null ? expression.arguments : [expression.receiver, ...expression.arguments],
        );
      case "construction":
        return relevance.kept.has(expression) ? whole() : parts(expression.arguments);
      case "indirect-call":
        return relevance.kept.has(expression) ? whole() : parts(expression.arguments);
      case "abort": {
        if (!relevance.kept.has(expression)) return parts(expression.arguments);
        const [status, code, message] = expression.arguments;
        if (status === undefined || code === undefined || message === undefined)
          throw new Error("abort takes three arguments");
        const shortened = {
          ...expression,
          arguments: [constantOr(status, "500"), constantOr(code, '""'), constantOr(message, '""')],
        };
        return [...parts(expression.arguments), { kind: "expression", expression: shortened, span: expression.span }];
      }
      case "lane":
        return whole();
      case "access":
        return this.#accessEffects(expression);
      case "scan":
        return this.#scanEffects(expression);
    }
  }

  #scanEffects(expression: Scan): Statement[] {
    const { span } = expression;
    const value = this.#value(expression) as Scan;
    this.#accesses.set(expression, { dependent: false });
    const touched = { ...value, operation: TOUCHED[value.operation], type: VOID };
    return [{ kind: "expression", expression: touched, span, comment: "value not needed" }];
  }

  #accessEffects(expression: Access): Statement[] {
    const { operation, span } = expression;
    this.#accesses.set(expression, { dependent: false });
    if (this.#relevance.stored.has(expression))
      return [{ kind: "expression", expression: this.#value(expression), span }];
    const said =
      operation === "get" || operation === "has"
        ? this.#mayBeWritten(expression)
          ? "touchUnwritten"
          : "touch"
        : operation === "put"
          ? "willPut"
          : operation === "delete"
            ? "willDelete"
            : operation;
    const valueEffects = expression.value === null ? [] : this.#effects(expression.value);
    const table = this.#value(expression.table);
    const key = this.#value(expression.key);
    const access = (tableValue: Expression, keyValue: Expression): Statement => ({
      kind: "expression",
      expression: { ...expression, operation: said, table: tableValue, key: keyValue, value: null, type: VOID },
      span,
      ...(said === "touch" || said === "touchUnwritten" ? { comment: "value not needed" } : {}),
    });
    if (valueEffects.length === 0) return [access(table, key)];
    // Reads inside the value come before the put, but after its table and its key are computed.
    const before: Statement[] = [];
    const computed = (value: Expression, name: string, type: Type): Expression => {
      if (value.kind === "constant" || (value.kind === "global" && !value.global.mutable)) return value;
      const local: Local = { name: this.#newName(name), type, span: value.span };
      before.push({ kind: "variable", local, initializer: value, annotated: false, constant: true, span });
      return { kind: "local", local, type, span };
    };
    const parts = [computed(table, "table", table.type), computed(key, "key", STRING)] as const;
    // variant: put-parts
    return [...before, ...valueEffects, access(...parts)];
  }

  #newName(wanted: string): string {
    let name = wanted;
    for (let number = 2; this.#names.has(name); number++) name = `${wanted}${number}`;
    this.#names.add(name);
    return name;
  }
}

/** The operation that says a scan whose value is not needed. */
const TOUCHED: Readonly<Record<Scan["operation"], Scan["operation"]>> = {
  first: "touchFirst",
  last: "touchLast",
  count: "touchCount",
  touchFirst: "touchFirst",
  touchLast: "touchLast",
  touchCount: "touchCount",
};

/** The read/write-set functions of all handlers are one module: what they hold of an initial value runs several times. */
function refuseDraws({ name, initializer, span }: Global): void {
  const seen = new Set<FunctionDeclaration>();
  const check = (expression: Expression): void => {
    if (expression.kind === "draw")
      throw new Refusal("not_sliced_module_code", {
        message: `The keys of this handler depend on a draw in the initial value of ${name}, which every handler draws anew.`,
        primary: span,
        related: [{ span: expression.span, label: "the draw" }],
        help: "Draw inside the handler.",
      });
    const callees =
      expression.kind === "call" ? expression.callees : expression.kind === "construction" ? [expression.callee] : [];
    const values = expression.kind === "function-value" ? [expression.declaration] : [];
    for (const callee of [...callees, ...values, ...(expression.kind === "library" ? expression.calls : [])]) {
      if (seen.has(callee)) continue;
      seen.add(callee);
      walkFunction(callee, check);
    }
  };
  // A function value calls nothing.
  if (initializer !== null && initializer.kind !== "function-value") walkExpression(initializer, check);
}

/** The statements as the update of a `for`; null: they are none, or not only expressions. */
function oneExpression(statements: readonly Statement[]): Expression | null {
  const parts = statements.flatMap((statement) => (statement.kind === "expression" ? [statement.expression] : []));
  const [first] = parts;
  if (first === undefined || parts.length < statements.length) return null;
  return parts.length === 1 ? first : { kind: "sequence", operands: parts, type: first.type, span: first.span };
}

function not(condition: Expression): Expression {
  if (condition.kind === "operation" && condition.operator === "!" && condition.operands[0] !== undefined)
    return condition.operands[0];
  return { kind: "operation", operator: "!", operands: [condition], type: BOOL, span: condition.span };
}

function constantOr(expression: Expression, text: string): Expression {
  return expression.kind === "constant"
    ? expression
    : { kind: "constant", text, type: expression.type, span: expression.span };
}

/** A value to declare a variable with that is assigned before it is read; null: none needed. */
function zero(type: Type, span: Local["span"]): Expression | null {
  const text = zeroText(type);
  return text === null ? null : { kind: "constant", text, type, span };
}
