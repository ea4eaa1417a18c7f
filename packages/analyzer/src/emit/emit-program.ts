/**
 * Prints a program of the IR as one self-contained AssemblyScript file. It has imports, tables and other globals, the
 * handler, the functions that it reaches, and the classes that it uses. Everything has a name of its own, also across files.
 */
import {
  isGiven,
  statementExpressions,
  tableClassOf,
  walkExpression,
  walkFunction,
  walkStatements,
  zeroText,
  type ClassDeclaration,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type LibraryCall,
  type Program,
  type Statement,
  type Type,
} from "../lower/ir.ts";
import { LIBRARY_NAMES, SDK } from "../lower/library.ts";
import { DRAW_FUNCTIONS, LANE_FUNCTION, printExpression, printOperand, type Printer } from "./print-expression.ts";
import { printType } from "./print-type.ts";

const DRAWS = `${SDK}/draws`;
const TASKS = `${SDK}/tasks`;
const INDEXES = `${SDK}/indexes`;
const STORED_ENTRIES = "StoredEntries";

/** `fields`: those that the printed classes have, with their initializers; null: all. `comment` stands on top of the file. */
export interface EmitOptions {
  readonly fields: ReadonlyMap<FieldDeclaration, Expression | null> | null;
  readonly comment: string | null;
}

export function emitProgram(program: Program, options: EmitOptions): string {
  return new Emitter(program, options).file();
}

class Emitter implements Printer {
  readonly #program: Program;
  readonly #options: EmitOptions;
  readonly #functions = new Set<FunctionDeclaration>();
  readonly #classes = new Set<ClassDeclaration>();
  readonly #names = new Map<object, string>();
  /** The names that come from modules of the SDK, with those that they have in the file. */
  readonly #imports = new Map<string, Map<string, string>>();
  #indent = "";

  constructor(program: Program, options: EmitOptions) {
    this.#program = program;
    this.#options = options;
    for (const global of program.globals) {
      this.#useType(global.type);
      if (global.initializer !== null) walkExpression(global.initializer, (expression) => this.#use(expression));
    }
    this.#useFunction(program.handler);
    this.#chooseNames();
  }

  file(): string {
    const program = this.#program;
    const globals = program.globals.map((global) => this.#global(global));
    const helpers = [...this.#functions].filter(
      (declaration) => declaration.kind === "function" && declaration !== program.handler,
    );
    const code = [
      globals.join("\n"),
      `export ${this.#topLevelFunction(program.handler)}`,
      ...helpers.map((declaration) => this.#topLevelFunction(declaration)),
      ...inBaseOrder([...this.#classes].filter((declaration) => !isGiven(declaration))).map((declaration) =>
        this.#class(declaration),
      ),
    ].filter((part) => part !== "");
    const comment = this.#options.comment === null ? [] : [`// ${this.#options.comment}`];
    const head = [...comment, ...this.#importLines(code.join("\n"))].join("\n");
    return `${[...(head === "" ? [] : [head]), ...code].join("\n\n")}\n`;
  }

  // ── Collection ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #useFunction(declaration: FunctionDeclaration): void {
    if (this.#functions.has(declaration)) return;
    this.#functions.add(declaration);
    if (declaration.owner !== null) this.#useClass(declaration.owner);
    for (const { local } of declaration.parameters) this.#useType(local.type);
    this.#useType(declaration.result);
    walkFunction(declaration, (expression) => this.#use(expression));
    walkStatements(declaration.body, (statement) => {
      if (statement.kind === "variable") this.#useType(statement.local.type);
    });
  }

  #use(expression: Expression): void {
    switch (expression.kind) {
      case "call":
        for (const callee of expression.callees) this.#useFunction(callee);
        break;
      case "construction":
        this.#useClass(expression.declaration);
        this.#useFunction(expression.callee);
        break;
      case "function-value":
        this.#useFunction(expression.declaration);
        break;
      case "cast":
      case "array":
        this.#useType(expression.type);
        break;
      case "instance-of":
        this.#useType(expression.tested);
        break;
      case "library":
        if (expression.member.module !== null) this.#import(expression.member.module, expression.name.split(".")[0]!);
        for (const type of expression.typeArguments) this.#useType(type);
        for (const callee of expression.calls) this.#useFunction(callee);
        break;
      case "new-table":
        this.#useType(expression.type);
        break;
      case "draw":
        this.#import(DRAWS, DRAW_FUNCTIONS[expression.source]);
        break;
      case "lane":
        this.#import(TASKS, LANE_FUNCTION);
        break;
      case "now":
      case "caller":
      case "abort":
        this.#import(SDK, expression.kind);
        break;
      default:
        break;
    }
  }

  #useType(type: Type): void {
    switch (type.kind) {
      case "class":
        this.#useClass(type.declaration);
        break;
      case "library":
        if (type.name === "Range") this.#import(SDK, type.name);
        for (const argument of type.arguments) this.#useType(argument);
        break;
      case "table":
        this.#import(tableClassOf(type) === STORED_ENTRIES ? INDEXES : SDK, tableClassOf(type));
        this.#useType(type.record);
        break;
      case "function":
        for (const parameter of type.parameters) this.#useType(parameter);
        this.#useType(type.result);
        break;
      case "nullable":
        this.#useType(type.inner);
        break;
      case "void":
      case "bool":
      case "number":
      case "string":
        break;
    }
  }

  #useClass(declaration: ClassDeclaration): void {
    if (this.#classes.has(declaration)) return;
    this.#classes.add(declaration);
    if (declaration.kind === "row") this.#import(SDK, declaration.name);
    if (declaration.base !== null) this.#useClass(declaration.base);
    for (const field of this.#fieldsOf(declaration)) {
      this.#useType(field.type);
      const initializer = this.#initializer(field);
      if (initializer !== null) walkExpression(initializer, (expression) => this.#use(expression));
    }
  }

  #initializer(field: FieldDeclaration): Expression | null {
    const { fields } = this.#options;
    return fields === null ? field.initializer : (fields.get(field) ?? null);
  }

  #fieldsOf(declaration: ClassDeclaration): FieldDeclaration[] {
    const { fields } = this.#options;
    return declaration.fields.filter((field) => fields === null || isGiven(declaration) || fields.has(field));
  }

  #import(from: string, name: string): void {
    const names = this.#imports.get(from);
    if (names === undefined) this.#imports.set(from, new Map([[name, name]]));
    else names.set(name, name);
  }

  /** Of the names that the code has: a type is not written where the compiler finds it. */
  #importLines(code: string): string[] {
    const words = new Set(code.match(/[\w$]+/g));
    const modules = [...this.#imports].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return modules.flatMap(([from, names]) => {
      const parts = [...names].flatMap(([name, own]) =>
        words.has(own) ? [name === own ? name : `${name} as ${own}`] : [],
      );
      return parts.length === 0 ? [] : [`import { ${parts.toSorted().join(", ")} } from "${from}";`];
    });
  }

  // ── Names ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Top-level names are unique and no local variable's, so no scope can hide them. */
  #chooseNames(): void {
    const taken = new Set<string>([...LIBRARY_NAMES, this.#program.handler.name]);
    for (const name of this.#imports.get(SDK)?.keys() ?? []) taken.add(name);
    for (const name of this.#imports.get(DRAWS)?.keys() ?? []) taken.add(name);
    for (const name of this.#imports.get(TASKS)?.keys() ?? []) taken.add(name);
    this.#names.set(this.#program.handler, this.#program.handler.name);
    for (const declaration of this.#functions) {
      for (const { local } of declaration.parameters) taken.add(local.name);
      walkStatements(declaration.body, (statement) => {
        if (statement.kind === "variable") taken.add(statement.local.name);
      });
    }
    const free = (wanted: string): string => {
      let name = wanted;
      for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
      taken.add(name);
      return name;
    };
    const choose = (declaration: { readonly name: string }): void => {
      if (!this.#names.has(declaration)) this.#names.set(declaration, free(declaration.name));
    };
    // Variables of the developer's have the names of functions that expansions call.
    for (const [from, names] of this.#imports) {
      if (from === SDK || from === DRAWS || from === TASKS) continue;
      // A class of the SDK has no other name: `LIBRARY_NAMES` keeps it free.
      for (const name of names.keys()) if (name !== STORED_ENTRIES) names.set(name, free(name));
    }
    for (const global of this.#program.globals) choose(global);
    for (const declaration of this.#classes) if (declaration.kind !== "row") choose(declaration);
    for (const declaration of this.#functions) if (declaration.kind === "function") choose(declaration);
  }

  libraryName({ member, name }: LibraryCall): string {
    return (member.module === null ? null : this.#imports.get(member.module)?.get(name)) ?? name;
  }

  className(declaration: ClassDeclaration): string {
    return this.#names.get(declaration) ?? declaration.name;
  }

  functionName(declaration: FunctionDeclaration): string {
    return this.#names.get(declaration) ?? declaration.name;
  }

  globalName(global: Global): string {
    return this.#names.get(global) ?? global.name;
  }

  // ── Declarations ───────────────────────────────────────────────────────────────────────────────────────────────────

  #type(type: Type): string {
    return printType(type, (declaration) => this.className(declaration));
  }

  #global(global: Global): string {
    const keyword = global.mutable ? "let" : "const";
    const annotation = global.type.kind === "table" ? "" : `: ${this.#type(global.type)}`;
    const initial = global.initializer === null ? "" : ` = ${printOperand(global.initializer, this)}`;
    return `${keyword} ${this.globalName(global)}${annotation}${initial};`;
  }

  #topLevelFunction(declaration: FunctionDeclaration): string {
    return `function ${this.functionName(declaration)}${this.#signature(declaration)} ${this.#body(declaration.body)}`;
  }

  #signature(declaration: FunctionDeclaration): string {
    return `(${this.#parameters(declaration, new Set())}): ${this.#type(declaration.result)}`;
  }

  #parameters(declaration: FunctionDeclaration, properties: ReadonlySet<string>): string {
    return declaration.parameters
      .map(({ local, defaultValue }) => {
        const initial = defaultValue === null ? "" : ` = ${printOperand(defaultValue, this)}`;
        return `${properties.has(local.name) ? "public " : ""}${local.name}: ${this.#type(local.type)}${initial}`;
      })
      .join(", ");
  }

  #class(declaration: ClassDeclaration): string {
    const own = [...this.#functions].filter((candidate) => candidate.owner === declaration);
    const constructor = own.find((candidate) => candidate.kind === "constructor" && !candidate.implicit);
    const properties = constructor === undefined ? new Set<string>() : parameterProperties(constructor);
    const interfaces = declaration.kind === "interface" ? [] : this.#interfacesOf(declaration);
    const head = [
      ...(declaration.isAbstract && declaration.kind === "class" ? ["abstract"] : []),
      `${declaration.kind} ${this.className(declaration)}`,
      ...(declaration.base === null ? [] : [`extends ${this.className(declaration.base)}`]),
      ...(interfaces.length === 0 ? [] : [`implements ${interfaces.map((one) => this.className(one)).join(", ")}`]),
    ].join(" ");
    const members = this.#indented(() => [
      ...this.#fieldsOf(declaration)
        .filter((field) => !properties.has(field.name))
        .map((field) => `${this.#indent}${tagsOf(field)}${this.#field(field)}`),
      ...(constructor === undefined
        ? []
        : [`${this.#indent}constructor(${this.#parameters(constructor, properties)}) ${this.#body(constructor.body)}`]),
      ...(declaration.kind === "interface"
        ? // The two accessors of a field are one member.
          [...new Set(own.map((candidate) => `${this.#indent}${this.#interfaceMember(candidate)}`))]
        : own
            .filter((candidate) => candidate.kind !== "constructor" && !candidate.implicit)
            .map((candidate) => `${this.#indent}${this.#method(candidate)}`)),
    ]);
    return members.length === 0 ? `${head} {}` : `${head} {\n${members.join("\n")}\n}`;
  }

  /** The interfaces that anything mentions, of those that a class says it implements and those that they extend. */
  #interfacesOf(declaration: ClassDeclaration): ClassDeclaration[] {
    const all = new Set<ClassDeclaration>();
    const add = (one: ClassDeclaration): void => {
      all.add(one);
      if (one.base !== null) add(one.base);
    };
    for (const one of declaration.interfaces) add(one);
    return [...all].filter((one) => this.#classes.has(one));
  }

  #field(field: FieldDeclaration): string {
    const type = this.#type(field.type);
    const initializer = this.#initializer(field);
    if (initializer !== null) return `${field.name}: ${type} = ${printOperand(initializer, this)};`;
    const zero = zeroText(field.type);
    return zero === null || field.type.kind === "string"
      ? `${field.name}!: ${type};`
      : `${field.name}: ${type} = ${zero};`;
  }

  #method(declaration: FunctionDeclaration): string {
    const { kind, name } = declaration;
    if (declaration.isAbstract && kind === "getter")
      return `abstract get ${name}(): ${this.#type(declaration.result)};`;
    if (declaration.isAbstract && kind === "setter")
      return `abstract set ${name}(${this.#parameters(declaration, new Set())});`;
    if (kind === "getter") return `get ${name}(): ${this.#type(declaration.result)} ${this.#body(declaration.body)}`;
    if (kind === "setter")
      return `set ${name}(${this.#parameters(declaration, new Set())}) ${this.#body(declaration.body)}`;
    if (declaration.isAbstract) return `abstract ${name}${this.#signature(declaration)};`;
    const decorator = declaration.operator === null ? "" : `@operator("${declaration.operator}") `;
    return `${decorator}${name}${this.#signature(declaration)} ${this.#body(declaration.body)}`;
  }

  #interfaceMember(declaration: FunctionDeclaration): string {
    const { kind, name } = declaration;
    const [parameter] = declaration.parameters;
    if (kind === "getter") return `${name}: ${this.#type(declaration.result)};`;
    if (kind === "setter" && parameter !== undefined) return `${name}: ${this.#type(parameter.local.type)};`;
    return `${name}${this.#signature(declaration)};`;
  }

  lambda(declaration: FunctionDeclaration): string {
    const head = `(${this.#parameters(declaration, new Set())}): ${this.#type(declaration.result)} =>`;
    const [only] = declaration.body;
    if (declaration.body.length === 1 && only?.kind === "return" && only.value !== null)
      return `${head} ${printOperand(only.value, this)}`;
    return `${head} ${this.#body(declaration.body)}`;
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #expression(expression: Expression): string {
    return printExpression(expression, this);
  }

  #indented<T>(action: () => T): T {
    const outer = this.#indent;
    this.#indent = `${outer}  `;
    const result = action();
    this.#indent = outer;
    return result;
  }

  #body(statements: readonly Statement[]): string {
    const lines = this.#indented(() => statements.map((statement) => `${this.#indent}${this.#statement(statement)}`));
    return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${this.#indent}}`;
  }

  #statement(statement: Statement): string {
    switch (statement.kind) {
      case "block":
        return this.#body(statement.body);
      case "expression":
        return `${this.#expression(statement.expression)};${statement.comment === undefined ? "" : ` // ${statement.comment}`}`;
      case "variable":
        return `${this.#variable(statement)};`;
      case "if": {
        const head = `if (${this.#expression(statement.condition)}) ${this.#body(statement.consequent)}`;
        if (statement.alternative.length === 0) return head;
        const [only] = statement.alternative;
        return `${head} else ${statement.alternative.length === 1 && only?.kind === "if" ? this.#statement(only) : this.#body(statement.alternative)}`;
      }
      case "loop":
        return this.#loop(statement);
      case "switch": {
        const cases = this.#indented(() =>
          statement.cases.map((choice) => {
            const head =
              choice.label === null
                ? `${this.#indent}default:`
                : `${this.#indent}case ${this.#expression(choice.label)}:`;
            const [only] = choice.body;
            const body = choice.body.length === 1 && only?.kind === "block" ? only.body : choice.body;
            return body.length === 0 ? head : `${head} ${this.#body(body)}`;
          }),
        );
        return `switch (${this.#expression(statement.discriminant)}) {\n${cases.join("\n")}\n${this.#indent}}`;
      }
      case "return":
        return statement.value === null ? "return;" : `return ${this.#expression(statement.value)};`;
      case "throw":
        return `throw new Error(${this.#expression(statement.message)});`;
      case "break":
      case "continue":
        return `${statement.kind};`;
    }
  }

  #variable(statement: Extract<Statement, { kind: "variable" }>): string {
    const keyword = statement.constant && statement.initializer !== null ? "const" : "let";
    const annotation =
      statement.annotated || statement.initializer === null ? `: ${this.#type(statement.local.type)}` : "";
    return `${keyword} ${statement.local.name}${annotation}${statement.initializer === null ? "" : ` = ${printOperand(statement.initializer, this)}`}`;
  }

  #loop(statement: Extract<Statement, { kind: "loop" }>): string {
    const condition = statement.condition === null ? "" : this.#expression(statement.condition);
    switch (statement.form) {
      case "while":
        return `while (${condition === "" ? "true" : condition}) ${this.#body(statement.body)}`;
      case "do":
        return `do ${this.#body(statement.body)} while (${condition});`;
      case "for": {
        const variables = statement.initial.filter((initial) => initial.kind === "variable");
        const update = statement.update === null ? "" : ` ${this.#expression(statement.update)}`;
        const head = (initial: string): string =>
          `for (${initial};${condition === "" ? "" : ` ${condition}`};${update}) ${this.#body(statement.body)}`;
        const [first] = statement.initial;
        if (first === undefined) return head("");
        if (statement.initial.length === 1 && first.kind === "expression")
          return head(this.#expression(first.expression));
        if (variables.length === statement.initial.length) {
          return head(
            `${statement.initial.length === 1 && variables[0]?.constant ? "const" : "let"} ${variables.map((variable) => this.#variable({ ...variable, constant: false }).slice(4)).join(", ")}`,
          );
        }
        // Declarations and effects mixed: before the loop, in a scope of their own.
        return this.#bodyOf(() => [...statement.initial.map((initial) => this.#statement(initial)), head("")]);
      }
    }
  }

  #bodyOf(lines: () => readonly string[]): string {
    const printed = this.#indented(() => lines().map((line) => `${this.#indent}${line}`));
    return `{\n${printed.join("\n")}\n${this.#indent}}`;
  }
}

/** The doc comment of a field, for the codec. */
function tagsOf({ was }: FieldDeclaration): string {
  return was.length === 0 ? "" : `/** ${was.map((name) => `@was ${name}`).join("\n")} */ `;
}

/** The fields that a constructor's parameters initialize. */
function parameterProperties(constructor: FunctionDeclaration): Set<string> {
  const names = new Set<string>();
  for (const statement of constructor.initializers) {
    for (const expression of statementExpressions(statement)) {
      if (expression.kind === "assignment" && expression.target.kind === "field" && expression.value?.kind === "local")
        names.add(expression.target.field.name);
    }
  }
  return names;
}

function inBaseOrder(classes: readonly ClassDeclaration[]): ClassDeclaration[] {
  const ordered: ClassDeclaration[] = [];
  const add = (declaration: ClassDeclaration): void => {
    if (ordered.includes(declaration)) return;
    if (declaration.base !== null) add(declaration.base);
    ordered.push(declaration);
  };
  for (const declaration of classes) add(declaration);
  return ordered;
}
