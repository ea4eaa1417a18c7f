/**
 * A program of the IR as stable text, for tests and for people who work on the analyzer. A statement is a line. Expressions
 * are nested terms with the names of their kinds. Declarations of the same name are told apart by number.
 */
import {
  nestedStatements,
  operands,
  statementExpressions,
  tableClassOf,
  type ClassDeclaration,
  type Expression,
  type FunctionDeclaration,
  type Global,
  type Local,
  type Program,
  type Statement,
  type SwitchStatement,
  type Type,
} from "./ir.ts";

/** The part of a program that something keeps. */
export interface KeptParts {
  /** Statements of which anything is kept. */
  readonly keptStatements: ReadonlySet<Statement>;
  /** Expressions whose value is needed. */
  readonly needed: ReadonlySet<Expression>;
  /** Expressions whose own effect is kept. */
  readonly kept: ReadonlySet<Expression>;
}

/** With `parts`, kept statements begin with `>`, `!` follows expressions whose value is needed, and `*` kept effects. */
export function printProgram(program: Program, parts: KeptParts | null = null): string {
  return new IrPrinter(parts).program(program);
}

class IrPrinter {
  readonly #names = new Map<object, string>();
  readonly #taken = new Map<string, number>();
  readonly #classes = new Set<ClassDeclaration>();
  readonly #parts: KeptParts | null;

  constructor(parts: KeptParts | null) {
    this.#parts = parts;
  }

  program({ handler, globals, functions }: Program): string {
    const parts = [
      ...globals.map((global) => this.#global(global)),
      ...[handler, ...functions.filter((declaration) => declaration !== handler)].map((declaration) =>
        this.#function(declaration),
      ),
    ];
    // Classes are known once everything that mentions them is printed; set iteration sees those that classes mention.
    for (const declaration of this.#classes) parts.push(this.#class(declaration));
    return `${parts.join("\n")}\n`;
  }

  // ── Declarations ───────────────────────────────────────────────────────────────────────────────────────────────────

  #name(declaration: { readonly name: string }): string {
    const known = this.#names.get(declaration);
    if (known !== undefined) return known;
    const count = (this.#taken.get(declaration.name) ?? 0) + 1;
    this.#taken.set(declaration.name, count);
    const name = count === 1 ? declaration.name : `${declaration.name}#${count}`;
    this.#names.set(declaration, name);
    return name;
  }

  #functionName(declaration: FunctionDeclaration): string {
    const name = this.#name(declaration);
    return declaration.owner === null ? name : `${this.#className(declaration.owner)}.${name}`;
  }

  #className(declaration: ClassDeclaration): string {
    this.#classes.add(declaration);
    return this.#name(declaration);
  }

  #global(global: Global): string {
    const keyword = global.mutable ? "global" : "constant";
    const initial = global.initializer === null ? "" : ` = ${this.#expression(global.initializer)}`;
    return `${keyword} ${this.#name(global)}: ${this.#type(global.type)}${initial}`;
  }

  #function(declaration: FunctionDeclaration): string {
    const { kind, parameters, result, initializers, body } = declaration;
    const traits = (["implicit", "overridable", "escapes", "isAbstract"] as const).filter(
      (trait) => declaration[trait],
    );
    const list = parameters.map(({ local, defaultValue }) => {
      const initial = defaultValue === null ? "" : ` = ${this.#expression(defaultValue)}`;
      return `${this.#local(local)}${initial}`;
    });
    const self = declaration.self === null ? [] : [this.#local(declaration.self)];
    const head = `${kind} ${this.#functionName(declaration)}(${[...self, ...list].join(", ")}): ${this.#type(result)}`;
    return [
      [head, ...traits].join(" "),
      ...this.#statements(initializers).map((line) => `  field ${line.trimStart()}`),
      ...this.#statements(body),
    ].join("\n");
  }

  #class(declaration: ClassDeclaration): string {
    const base = declaration.base === null ? "" : ` extends ${this.#className(declaration.base)}`;
    const implemented =
      declaration.interfaces.length === 0
        ? ""
        : ` implements ${declaration.interfaces.map((parent) => this.#className(parent)).join(", ")}`;
    return [
      `${declaration.isAbstract ? "abstract " : ""}${declaration.kind} ${this.#className(declaration)}${base}${implemented}`,
      ...declaration.fields.map((field) => {
        const initial = field.initializer === null ? "" : ` = ${this.#expression(field.initializer)}`;
        return `  ${field.name}: ${this.#type(field.type)}${initial}`;
      }),
    ].join("\n");
  }

  #local(local: Local): string {
    return `${this.#name(local)}: ${this.#type(local.type)}`;
  }

  #type(type: Type): string {
    switch (type.kind) {
      case "void":
      case "bool":
      case "string":
        return type.kind;
      case "number":
        return type.name;
      case "class":
        return this.#className(type.declaration);
      case "library":
        return type.arguments.length === 0 ? type.name : `${type.name}<${this.#types(type.arguments)}>`;
      case "table":
        return tableClassOf(type) === "Table" ? `Table<${this.#type(type.record)}>` : tableClassOf(type);
      case "function":
        return `(${this.#types(type.parameters)}) => ${this.#type(type.result)}`;
      case "nullable":
        return `${this.#type(type.inner)} | null`;
    }
  }

  #types(types: readonly Type[]): string {
    return types.map((type) => this.#type(type)).join(", ");
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #statements(statements: readonly Statement[]): string[] {
    return statements.flatMap((statement) => this.#statement(statement)).map((line) => `  ${line}`);
  }

  #statement(statement: Statement): string[] {
    const [first = "", ...rest] = this.#lines(statement);
    return [this.#parts?.keptStatements.has(statement) === true ? `> ${first}` : first, ...rest];
  }

  #lines(statement: Statement): string[] {
    switch (statement.kind) {
      case "variable": {
        const initial = statement.initializer === null ? "" : ` = ${this.#expression(statement.initializer)}`;
        return [`variable ${this.#local(statement.local)}${initial}`];
      }
      case "if":
        return [
          `if ${this.#expression(statement.condition)}`,
          ...this.#statements(statement.consequent),
          ...(statement.alternative.length === 0 ? [] : ["else", ...this.#statements(statement.alternative)]),
        ];
      case "loop": {
        const { form, condition, update } = statement;
        return [
          `loop ${form}${condition === null ? "" : ` while ${this.#expression(condition)}`}`,
          ...this.#statements(statement.initial).map((line) => `  first ${line.trimStart()}`),
          ...this.#statements(statement.body),
          ...(update === null ? [] : [`  then ${this.#expression(update)}`]),
        ];
      }
      case "switch":
        return this.#switch(statement);
      default: {
        const own = statementExpressions(statement).map((expression) => this.#expression(expression));
        return [[statement.kind, ...own].join(" "), ...this.#statements(nestedStatements(statement))];
      }
    }
  }

  #switch({ discriminant, cases }: SwitchStatement): string[] {
    return [
      `switch ${this.#expression(discriminant)}`,
      ...cases.flatMap(({ label, body }) => [
        label === null ? "  default" : `  case ${this.#expression(label)}`,
        ...this.#statements(body).map((line) => `  ${line}`),
      ]),
    ];
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  #expression(expression: Expression): string {
    const own = `${this.#own(expression)}${this.#mark(expression)}`;
    const parts = operands(expression).map((operand) => this.#expression(operand));
    return parts.length === 0 ? own : `${own}(${parts.join(", ")})`;
  }

  #mark(expression: Expression): string {
    if (this.#parts?.needed.has(expression) === true) return "!";
    return this.#parts?.kept.has(expression) === true ? "*" : "";
  }

  /** The text of an expression besides its operands. */
  #own(expression: Expression): string {
    switch (expression.kind) {
      case "constant":
        return expression.text;
      case "local":
        return this.#name(expression.local);
      case "global":
        return `global ${this.#name(expression.global)}`;
      case "field":
        return `field ${expression.field.name}`;
      case "operation":
      case "logical":
        return expression.operator;
      case "cast":
        return `cast<${this.#type(expression.type)}>`;
      case "instance-of":
        return `instance-of<${this.#type(expression.tested)}>`;
      case "template":
        return `template ${JSON.stringify(expression.parts)}`;
      case "assignment": {
        const { target, operator, prefix } = expression;
        const place =
          target.kind === "local"
            ? this.#name(target.local)
            : target.kind === "global"
              ? `global ${this.#name(target.global)}`
              : target.kind === "field"
                ? `field ${target.field.name}`
                : target.kind;
        return `${prefix ? "prefix " : ""}${operator === "++" || operator === "--" ? operator : `${operator}=`} ${place}`;
      }
      case "call":
        return `call${expression.isSuper ? " super" : ""} ${expression.callees.map((callee) => this.#functionName(callee)).join("|")}`;
      case "construction":
        return `new ${this.#className(expression.declaration)}`;
      case "library": {
        const { owner, name } = expression.member;
        return `library ${owner === "" ? "" : `${owner}.`}${name}`;
      }
      case "array":
        return `array<${this.#type(expression.type)}>`;
      case "function-value":
        return `function ${this.#functionName(expression.declaration)}`;
      case "new-table":
        return `table ${JSON.stringify(expression.name)}`;
      case "access":
      case "scan":
        return expression.operation;
      case "draw":
        return `draw ${expression.source}`;
      case "non-null":
      case "sequence":
      case "conditional":
      case "indirect-call":
      case "now":
      case "caller":
      case "abort":
      case "lane":
        return expression.kind;
    }
  }
}
