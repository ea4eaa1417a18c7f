/**
 * Whether a program of the IR is well formed: what each phase may rely on and must leave behind. It is checked between
 * the phases, in production too: a violation is a mistake of the analyzer, found before it could become a wrong set.
 */
import {
  nestedStatements,
  nonNullable,
  operands,
  statementExpressions,
  type ClassDeclaration,
  type Expression,
  type FunctionDeclaration,
  type Global,
  type Local,
  type Program,
  type Statement,
  type Type,
} from "./ir.ts";
import type { Span } from "../diagnostics/diagnostic.ts";

/** The program is not well formed: an internal mistake. */
export class MalformedProgram extends Error {
  readonly span: Span;

  constructor(words: string, span: Span) {
    super(`malformed program: ${words} (${span.file}:${span.line}:${span.column})`);
    this.span = span;
  }
}

/** Throws `MalformedProgram`. A `lowered` program is what the developer wrote, a `sliced` one a read/write-set function. */
export function verifyProgram(program: Program, phase: "lowered" | "sliced"): void {
  new Verifier(program, phase).run();
}

class Verifier {
  readonly #program: Program;
  readonly #phase: "lowered" | "sliced";
  readonly #functions: ReadonlySet<FunctionDeclaration>;
  readonly #allGlobals: ReadonlySet<Global>;
  /** Globals whose initial value is there already. */
  readonly #globals = new Set<Global>();
  #scopes: Set<Local>[] = [];
  #current: FunctionDeclaration | null = null;
  #breakable = 0;
  #loops = 0;

  constructor(program: Program, phase: "lowered" | "sliced") {
    this.#program = program;
    this.#phase = phase;
    this.#functions = new Set(program.functions);
    this.#allGlobals = new Set(program.globals);
  }

  run(): void {
    const { handler, globals, functions } = this.#program;
    this.#demand(this.#functions.has(handler), "the handler is not among the functions", handler.span);
    for (const global of globals) {
      const { initializer, type, span } = global;
      if (initializer !== null) {
        if (initializer.kind === "new-table") this.#demand(type.kind === "table", "a table is no table", span);
        else this.#expression(initializer);
        this.#fits(initializer.type, type, `initial value of ${global.name}`, initializer.span);
      }
      this.#demand(!this.#globals.has(global), `the global ${global.name} is there twice`, span);
      this.#globals.add(global);
    }
    for (const declaration of functions) this.#function(declaration);
  }

  #demand(holds: boolean, words: string, span: Span): void {
    if (!holds) throw new MalformedProgram(words, span);
  }

  #function(declaration: FunctionDeclaration): void {
    const { self, parameters, owner, kind, name, span } = declaration;
    this.#current = declaration;
    this.#breakable = 0;
    this.#loops = 0;
    this.#scopes = [new Set()];
    const isMember = kind !== "function" && kind !== "lambda";
    this.#demand(isMember === (owner !== null), `${name} belongs to ${owner === null ? "no" : "a"} class`, span);
    this.#demand((self === null) === (owner === null), `${name} has the wrong receiver`, span);
    if (self !== null) this.#enterScope(self);
    for (const { local, defaultValue } of parameters) {
      if (defaultValue !== null) {
        const isKept = declaration === this.#program.handler || declaration.escapes || this.#phase === "lowered";
        this.#demand(isKept, `${name} has a default value that its calls pass`, span);
        this.#expression(defaultValue);
        this.#fits(defaultValue.type, local.type, `default of ${local.name}`, defaultValue.span);
      }
      this.#enterScope(local);
    }
    for (const statement of declaration.initializers) {
      const isAssignment =
        statement.kind === "expression" &&
        statement.expression.kind === "assignment" &&
        statement.expression.target.kind === "field";
      this.#demand(isAssignment && kind === "constructor", "a field initializer is no assignment", statement.span);
      this.#statement(statement);
    }
    this.#statements(declaration.body);
    this.#current = null;
    this.#scopes = [];
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #enterScope(local: Local): void {
    const scope = this.#scopes.at(-1);
    this.#demand(
      this.#scopes.every((known) => !known.has(local)),
      `${local.name} is declared twice`,
      local.span,
    );
    scope?.add(local);
  }

  #statements(statements: readonly Statement[]): void {
    this.#scopes.push(new Set());
    for (const statement of statements) this.#statement(statement);
    this.#scopes.pop();
  }

  #statement(statement: Statement): void {
    const { span } = statement;
    switch (statement.kind) {
      case "variable":
        if (statement.initializer !== null) {
          this.#expression(statement.initializer);
          this.#fits(statement.initializer.type, statement.local.type, `value of ${statement.local.name}`, span);
        }
        this.#enterScope(statement.local);
        return;
      case "if":
        this.#value(statement.condition);
        this.#statements(statement.consequent);
        this.#statements(statement.alternative);
        return;
      case "loop":
        this.#scopes.push(new Set());
        for (const initial of statement.initial) this.#statement(initial);
        if (statement.condition !== null) this.#value(statement.condition);
        if (statement.update !== null) this.#expression(statement.update);
        this.#demand(statement.form === "for" || statement.update === null, "only `for` has an update", span);
        this.#breakable++;
        this.#loops++;
        this.#statements(statement.body);
        this.#breakable--;
        this.#loops--;
        this.#scopes.pop();
        return;
      case "switch":
        this.#value(statement.discriminant);
        this.#demand(
          statement.cases.filter(({ label }) => label === null).length <= 1,
          "a switch has several defaults",
          span,
        );
        for (const { label } of statement.cases) {
          if (label === null) continue;
          this.#value(label);
          this.#fits(label.type, statement.discriminant.type, "label of a case", label.span);
        }
        this.#breakable++;
        for (const { body } of statement.cases) this.#statements(body);
        this.#breakable--;
        return;
      case "return":
        if (statement.value !== null) this.#expression(statement.value);
        this.#return(statement.value, span);
        return;
      case "throw":
        this.#value(statement.message);
        this.#demand(nonNullable(statement.message.type).kind === "string", "what is thrown is no text", span);
        return;
      case "break":
        this.#demand(this.#breakable > 0, "break outside of loops and switches", span);
        return;
      case "continue":
        this.#demand(this.#loops > 0, "continue outside of loops", span);
        return;
      case "block":
        this.#statements(statement.body);
        return;
      case "expression":
        for (const expression of statementExpressions(statement)) this.#expression(expression);
        this.#demand(nestedStatements(statement).length === 0, "an expression has statements", span);
    }
  }

  #return(value: Expression | null, span: Span): void {
    const result = this.#current?.result ?? { kind: "void" };
    if (this.#current?.kind === "constructor") {
      this.#demand(value === null || value.type.kind === "class", "a constructor returns no object", span);
    } else if (result.kind === "void") {
      this.#demand(value === null || value.type.kind === "void", "a value is returned where none is expected", span);
    } else if (value === null) {
      this.#demand(false, "no value is returned where one is expected", span);
    } else {
      this.#fits(value.type, result, "what is returned", span);
    }
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** An expression that has a value. */
  #value(expression: Expression): void {
    this.#expression(expression);
    this.#demand(expression.type.kind !== "void", `${expression.kind} has no value`, expression.span);
  }

  #known(local: Local, span: Span): void {
    this.#demand(
      this.#scopes.some((scope) => scope.has(local)),
      `${local.name} is not declared here`,
      span,
    );
  }

  #globalKnown(global: Global, span: Span): void {
    // Functions run when all globals are there; initial values only see those before them.
    const known = this.#current === null ? this.#globals : this.#allGlobals;
    this.#demand(known.has(global), `the global ${global.name} is not there`, span);
  }

  #expression(expression: Expression): void {
    const { span } = expression;
    for (const operand of operands(expression)) this.#operand(operand, expression);
    switch (expression.kind) {
      case "local":
        this.#known(expression.local, span);
        this.#fits(expression.local.type, expression.type, `type of ${expression.local.name}`, span);
        break;
      case "global":
        this.#globalKnown(expression.global, span);
        this.#fits(expression.global.type, expression.type, `type of ${expression.global.name}`, span);
        break;
      case "field":
        this.#member(expression.object, expression.field.owner, expression.field.name, span);
        this.#demand(
          expression.field.owner.fields.includes(expression.field),
          `${expression.field.name} is no field of its class`,
          span,
        );
        break;
      case "operation":
        this.#demand(
          expression.operands.length === 1 || expression.operands.length === 2,
          "an operation has one or two operands",
          span,
        );
        break;
      case "template":
        this.#demand(
          expression.parts.length === expression.operands.length + 1,
          "parts of a template are missing",
          span,
        );
        break;
      case "assignment":
        this.#assignment(expression);
        break;
      case "call":
        this.#demand(expression.callees.length > 0, "a call has no callee", span);
        for (const callee of expression.callees) {
          this.#callee(callee, expression.arguments, span);
          const hasReceiver = expression.receiver !== null;
          this.#demand(hasReceiver === (callee.self !== null), `${callee.name} has the wrong receiver`, span);
        }
        this.#receiver(expression);
        break;
      case "construction":
        this.#demand(expression.callee.kind === "constructor", "what is constructed has no constructor", span);
        this.#demand(!expression.declaration.isAbstract, "an abstract class is constructed", span);
        this.#callee(expression.callee, expression.arguments, span);
        break;
      case "indirect-call": {
        const callee = nonNullable(expression.callee.type);
        if (callee.kind !== "function") return this.#demand(false, "what is called is no function", span);
        const given = expression.arguments;
        const isComplete = given.length >= callee.required && given.length <= callee.parameters.length;
        this.#demand(isComplete, "arguments are missing", span);
        for (const [index, argument] of given.entries())
          this.#fits(argument.type, callee.parameters[index]!, `argument ${index + 1}`, argument.span);
        break;
      }
      case "function-value":
        this.#demand(this.#functions.has(expression.declaration), `${expression.declaration.name} is not there`, span);
        this.#demand(expression.declaration.escapes, `${expression.declaration.name} is used as a value`, span);
        break;
      case "new-table":
        this.#demand(false, "a table inside of an expression", span);
        break;
      case "access": {
        const { operation, table, key, value } = expression;
        this.#demand(nonNullable(table.type).kind === "table", "what is accessed is no table", span);
        this.#demand(nonNullable(key.type).kind === "string", "a key is no text", span);
        this.#demand((operation === "put") === (value !== null), `${operation} with the wrong value`, span);
        if (value !== null && table.type.kind === "table")
          this.#fits(value.type, table.type.record, "what is put", span);
        const isSaid = operation.startsWith("touch") || operation.startsWith("will");
        this.#demand(!isSaid || this.#phase === "sliced", `${operation} in a handler`, span);
        break;
      }
      case "scan": {
        const { operation, range, limit } = expression;
        const type = nonNullable(range.type);
        this.#demand(type.kind === "library" && type.name === "Range", "what is scanned is no range", span);
        const isCount = operation === "count" || operation === "touchCount";
        this.#demand(isCount === (limit === null), `${operation} with the wrong number of rows`, span);
        if (limit !== null) this.#demand(limit.type.kind === "number", "the number of rows is no number", span);
        this.#demand(!operation.startsWith("touch") || this.#phase === "sliced", `${operation} in a handler`, span);
        break;
      }
      case "sequence":
        this.#demand(expression.statements === undefined, "statements stand in an expression", span);
        break;
      case "library":
        for (const callee of expression.calls)
          this.#demand(this.#functions.has(callee), `${callee.name} is called and not there`, span);
        break;
      case "abort":
        this.#demand(expression.arguments.length === 3, "abort takes three arguments", span);
        break;
      case "lane":
        this.#demand(nonNullable(expression.key.type).kind === "string", "a key is no text", span);
        break;
      case "constant":
      case "cast":
      case "non-null":
      case "instance-of":
      case "logical":
      case "conditional":
      case "array":
      case "draw":
      case "now":
      case "caller":
        break;
    }
  }

  /** Operands have values, but for those that are dropped. */
  #operand(operand: Expression, parent: Expression): void {
    const mayBeVoid =
      parent.kind === "sequence" ||
      parent.kind === "conditional" ||
      parent.kind === "cast" ||
      parent.kind === "logical";
    if (mayBeVoid) this.#expression(operand);
    else this.#value(operand);
  }

  #assignment(expression: Extract<Expression, { kind: "assignment" }>): void {
    const { target, operator, value, span } = expression;
    const isUpdate = operator === "++" || operator === "--";
    this.#demand(isUpdate === (value === null), "an assignment without value", span);
    switch (target.kind) {
      case "local":
        this.#known(target.local, span);
        if (value !== null && operator === "")
          this.#fits(value.type, target.local.type, `value of ${target.local.name}`, span);
        break;
      case "global":
        this.#globalKnown(target.global, span);
        this.#demand(target.global.mutable, `the constant ${target.global.name} is assigned`, span);
        if (value !== null && operator === "")
          this.#fits(value.type, target.global.type, `value of ${target.global.name}`, span);
        break;
      case "field":
        this.#member(target.object, target.field.owner, target.field.name, span);
        if (value !== null && operator === "")
          this.#fits(value.type, target.field.type, `value of ${target.field.name}`, span);
        break;
      case "element":
        this.#demand(nonNullable(target.container.type).kind === "library", "an element of no container", span);
        break;
    }
  }

  /** The first callee is the one that the source names; the others override it. */
  #receiver({ callees, receiver, span }: Extract<Expression, { kind: "call" }>): void {
    const [named] = callees;
    if (receiver !== null && named !== undefined && named.owner !== null)
      this.#member(receiver, named.owner, named.name, span);
  }

  #callee(callee: FunctionDeclaration, args: readonly Expression[], span: Span): void {
    this.#demand(this.#functions.has(callee), `${callee.name} is called and not there`, span);
    this.#demand(
      args.length === callee.parameters.length,
      `${callee.name} takes ${callee.parameters.length} arguments and gets ${args.length}`,
      span,
    );
    for (const [index, { local }] of callee.parameters.entries())
      this.#fits(args[index]!.type, local.type, `argument ${local.name} of ${callee.name}`, args[index]!.span);
  }

  #member(object: Expression, owner: ClassDeclaration, name: string, span: Span): void {
    const type = nonNullable(object.type);
    this.#demand(
      type.kind === "class" && areRelated(type.declaration, owner),
      `${name} is a member of ${owner.name}, not of its object`,
      span,
    );
  }

  /** Whether a value of one type can become one of the other, as far as the IR can tell. */
  #fits(from: Type, to: Type, what: string, span: Span): void {
    this.#demand(fits(nonNullable(from), nonNullable(to)), `${what}: ${from.kind} where ${to.kind} is expected`, span);
  }
}

function fits(from: Type, to: Type): boolean {
  switch (to.kind) {
    case "bool":
    case "number":
      return from.kind === "bool" || from.kind === "number";
    case "void":
    case "string":
      return from.kind === to.kind;
    case "class":
      return from.kind === "class" && areRelated(from.declaration, to.declaration);
    case "library":
      return from.kind === "library" && from.name === to.name && from.arguments.length === to.arguments.length;
    case "table":
    case "function":
      return from.kind === to.kind;
    case "nullable":
      return fits(from, nonNullable(to));
  }
}

/** Whether one is the other, derives from it or implements it; a class may share a derived one with any interface. */
function areRelated(a: ClassDeclaration, b: ClassDeclaration): boolean {
  return derivesFrom(a, b) || derivesFrom(b, a) || a.kind === "interface" || b.kind === "interface";
}

function derivesFrom(derived: ClassDeclaration, base: ClassDeclaration): boolean {
  if (derived === base) return true;
  const direct = derived.base === null ? derived.interfaces : [derived.base, ...derived.interfaces];
  return direct.some((parent) => derivesFrom(parent, base));
}
