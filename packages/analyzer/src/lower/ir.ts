/**
 * The typed, AssemblyScript-free representation that every phase after `lower` works on.
 *
 * It is structured: a tree of statements, without jumps but `break`, `continue`, `return` and the end of the execution. It is
 * monomorphic: a generic function or class appears once per instance, with concrete types. Every declaration is an
 * object. Identity is meaning, and names are only proposals for the printed source. Expressions list their operands in the
 * order in which AssemblyScript evaluates them (`operands`).
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { LibraryMember } from "./library.ts";
import type { Refusal } from "./refusal.ts";

// ── Types ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export type NumberName =
  | "i8"
  | "u8"
  | "i16"
  | "u16"
  | "i32"
  | "u32"
  | "i64"
  | "u64"
  | "isize"
  | "usize"
  | "f32"
  | "f64";

export type Type =
  | { readonly kind: "void" }
  | { readonly kind: "bool" }
  | { readonly kind: "number"; readonly name: NumberName }
  | { readonly kind: "string" }
  /** A class of the application. */
  | { readonly kind: "class"; readonly declaration: ClassDeclaration }
  /** A container of the library: `Array`, `Map`, `Uint8Array`, …; also `Range`, a view of a table. */
  | { readonly kind: "library"; readonly name: string; readonly arguments: readonly Type[] }
  /** The items of a counter are `COUNTED`. `entriesOf`: instead of an item, its entry in the index of that name is read. */
  | { readonly kind: "table"; readonly record: Type; readonly entriesOf?: string }
  | {
      readonly kind: "function";
      readonly parameters: readonly Type[];
      /** How many of them every call gives. */
      readonly required: number;
      readonly result: Type;
    }
  | { readonly kind: "nullable"; readonly inner: Type };

export const VOID: Type = { kind: "void" };
export const BOOL: Type = { kind: "bool" };
export const STRING: Type = { kind: "string" };
/** The numbers of a counter: no other table has numbers. */
export const COUNTED: Type = { kind: "number", name: "i64" };

/** The class of the SDK that a table is in a source. */
export function tableClassOf({
  record,
  entriesOf,
}: Extract<Type, { kind: "table" }>): "Table" | "Counter" | "StoredEntries" {
  if (entriesOf !== undefined) return "StoredEntries";
  return record.kind === "number" ? "Counter" : "Table";
}

/** The type without `| null`. */
export function nonNullable(type: Type): Type {
  return type.kind === "nullable" ? type.inner : type;
}

/** The source of a value that every variable of the type may hold; null if there is none. */
export function zeroText(type: Type): string | null {
  switch (type.kind) {
    case "bool":
      return "false";
    case "number":
      return type.name === "f32" || type.name === "f64" ? "0.0" : "0";
    case "string":
      return '""';
    case "nullable":
      return "null";
    case "void":
    case "class":
    case "library":
    case "table":
    case "function":
      return null;
  }
}

// ── Declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A parameter, a variable, or `this`. */
export interface Local {
  /** Another only while its function is lowered: see `linearize`. */
  name: string;
  readonly type: Type;
  readonly span: Span;
}

export interface Global {
  readonly name: string;
  readonly type: Type;
  readonly mutable: boolean;
  /** Evaluated before the handler starts; null: the zero value. */
  initializer: Expression | null;
  /** Why what the global holds is not known: something that runs before the handler and reaches it has no rule. */
  unknown: Refusal | null;
  readonly span: Span;
}

export interface FieldDeclaration {
  readonly name: string;
  /** The names under which earlier builds have stored it. */
  readonly was: readonly string[];
  readonly type: Type;
  initializer: Expression | null;
  readonly owner: ClassDeclaration;
}

export interface ClassDeclaration {
  readonly name: string;
  /**
   * A tuple has a field for each part, and is not printed: its type is. A row is a class of the SDK with all of its fields, and
   * is imported.
   */
  readonly kind: "class" | "interface" | "tuple" | "row";
  readonly base: ClassDeclaration | null;
  /** Directly implemented; those that an interface extends are its `base`. */
  readonly interfaces: readonly ClassDeclaration[];
  /** Own fields in declaration order. */
  readonly fields: FieldDeclaration[];
  readonly isAbstract: boolean;
  readonly span: Span;
}

export interface Parameter {
  readonly local: Local;
  /** Runs if a client, or the caller of a function value, leaves the argument out; other calls have it filled in. */
  readonly defaultValue: Expression | null;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly kind: "function" | "method" | "getter" | "setter" | "constructor" | "lambda";
  /** The class of a method, accessor or constructor. */
  readonly owner: ClassDeclaration | null;
  /** `this`. */
  readonly self: Local | null;
  parameters: readonly Parameter[];
  result: Type;
  /** For constructors: initializers of own fields, as assignments, run before the body. */
  initializers: readonly Statement[];
  body: readonly Statement[];
  /** Not spelled out: the constructor of a class without one, or an accessor that stands for a field. */
  readonly implicit: boolean;
  /** Set if functions of the library call it as this operator, as in `@operator("==")`. */
  operator: string | null;
  /** Redeclared by a derived class, or a redeclaration: callers choose it at run time, so its signature is fixed. */
  overridable: boolean;
  /** Used as a value, so its signature is fixed. */
  escapes: boolean;
  readonly isAbstract: boolean;
  readonly span: Span;
}

/** Whether the class is the SDK's: it always has all of its fields, and is not printed. */
export function isGiven({ kind }: ClassDeclaration): boolean {
  return kind === "tuple" || kind === "row";
}

/** All that one handler can reach. */
export interface Program {
  readonly handler: FunctionDeclaration;
  /** In an order in which each initializer's dependencies come first. */
  readonly globals: readonly Global[];
  readonly functions: readonly FunctionDeclaration[];
}

// ── Statements ───────────────────────────────────────────────────────────────────────────────────────────────────────

export type Statement =
  | BlockStatement
  | ExpressionStatement
  | VariableStatement
  | IfStatement
  | LoopStatement
  | SwitchStatement
  | ReturnStatement
  | ThrowStatement
  | BreakStatement
  | ContinueStatement;

export interface BlockStatement {
  readonly kind: "block";
  readonly body: readonly Statement[];
  readonly span: Span;
}
export interface ExpressionStatement {
  readonly kind: "expression";
  readonly expression: Expression;
  readonly span: Span;
  /** Shown behind the statement. */
  readonly comment?: string;
}
export interface VariableStatement {
  readonly kind: "variable";
  readonly local: Local;
  readonly initializer: Expression | null;
  /** The type is written out, as the initializer alone would not give it. */
  readonly annotated: boolean;
  readonly constant: boolean;
  readonly span: Span;
}
export interface IfStatement {
  readonly kind: "if";
  readonly condition: Expression;
  readonly consequent: readonly Statement[];
  readonly alternative: readonly Statement[];
  readonly span: Span;
}
export interface LoopStatement {
  readonly kind: "loop";
  readonly form: "for" | "while" | "do";
  readonly initial: readonly Statement[];
  /** Null: endless. */
  readonly condition: Expression | null;
  readonly update: Expression | null;
  readonly body: readonly Statement[];
  readonly span: Span;
}
export interface SwitchStatement {
  readonly kind: "switch";
  readonly discriminant: Expression;
  readonly cases: readonly SwitchCase[];
  readonly span: Span;
}
export interface SwitchCase {
  /** Null: `default`. Labels have no effects. */
  readonly label: Expression | null;
  readonly body: readonly Statement[];
}
export interface ReturnStatement {
  readonly kind: "return";
  readonly value: Expression | null;
  readonly span: Span;
}
/** Ends the execution with a trap. */
export interface ThrowStatement {
  readonly kind: "throw";
  readonly message: Expression;
  readonly span: Span;
}
export interface BreakStatement {
  readonly kind: "break";
  readonly span: Span;
}
export interface ContinueStatement {
  readonly kind: "continue";
  readonly span: Span;
}

// ── Expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Constant {
  readonly kind: "constant";
  /** As printed: `12`, `"a"`, `null`, `Math.PI`. */
  readonly text: string;
  readonly type: Type;
  readonly span: Span;
}
export interface LocalRead {
  readonly kind: "local";
  readonly local: Local;
  readonly type: Type;
  readonly span: Span;
}
export interface GlobalRead {
  readonly kind: "global";
  readonly global: Global;
  readonly type: Type;
  readonly span: Span;
}
export interface FieldRead {
  readonly kind: "field";
  readonly object: Expression;
  readonly field: FieldDeclaration;
  readonly type: Type;
  readonly span: Span;
}
/** A unary or binary operator, or a pure function of the language: without effects, and its result is not a reference. */
export interface Operation {
  readonly kind: "operation";
  readonly operator: string;
  readonly operands: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
/** `<T>x`; the value (and for references the object) of the operand. */
export interface Cast {
  readonly kind: "cast";
  readonly operand: Expression;
  readonly type: Type;
  readonly span: Span;
}
/** `x!`. */
export interface NonNull {
  readonly kind: "non-null";
  readonly operand: Expression;
  readonly type: Type;
  readonly span: Span;
}
export interface InstanceOf {
  readonly kind: "instance-of";
  readonly operand: Expression;
  readonly tested: Type;
  readonly type: Type;
  readonly span: Span;
}
export interface Template {
  readonly kind: "template";
  /** Raw source text around the operands: one more than operands. */
  readonly parts: readonly string[];
  readonly operands: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
export interface Sequence {
  readonly kind: "sequence";
  /** They run before the operands. Only while a function is lowered: `linearize` takes them out. */
  readonly statements?: readonly Statement[];
  readonly operands: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
export interface Logical {
  readonly kind: "logical";
  readonly operator: "&&" | "||";
  readonly left: Expression;
  readonly right: Expression;
  readonly type: Type;
  readonly span: Span;
}
export interface Conditional {
  readonly kind: "conditional";
  readonly condition: Expression;
  readonly consequent: Expression;
  readonly alternative: Expression;
  readonly type: Type;
  readonly span: Span;
}
export type AssignmentTarget =
  | { readonly kind: "local"; readonly local: Local }
  | { readonly kind: "global"; readonly global: Global }
  | { readonly kind: "field"; readonly object: Expression; readonly field: FieldDeclaration }
  | {
      readonly kind: "element";
      readonly member: LibraryMember;
      readonly container: Expression;
      readonly index: Expression;
    };
/** `target = value`, `target op= value`, and `++`/`--` (value null). */
export interface Assignment {
  readonly kind: "assignment";
  readonly target: AssignmentTarget;
  /** `""` for plain assignment, `"+"` for `+=`, `"++"`/`"--"` for updates. */
  readonly operator: string;
  readonly prefix: boolean;
  readonly value: Expression | null;
  readonly type: Type;
  readonly span: Span;
}
export interface Call {
  readonly kind: "call";
  /** More than one if chosen at run time. All have the same parameters. */
  readonly callees: readonly FunctionDeclaration[];
  /** `super.m()` and `super()` have `this` as receiver. */
  readonly receiver: Expression | null;
  readonly arguments: readonly Expression[];
  readonly isSuper: boolean;
  readonly type: Type;
  readonly span: Span;
}
/** Calls a function value. The callee expression has no effects. */
export interface IndirectCall {
  readonly kind: "indirect-call";
  readonly callee: Expression;
  readonly arguments: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
export interface Construction {
  readonly kind: "construction";
  readonly declaration: ClassDeclaration;
  readonly callee: FunctionDeclaration;
  readonly arguments: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
/** A member of the library: method, property, element, function or constructor. */
export interface LibraryCall {
  readonly kind: "library";
  readonly member: LibraryMember;
  readonly receiver: Expression | null;
  /** Printed before the parenthesis of functions and constructors: `Math.max`, `new Map`. */
  readonly name: string;
  readonly typeArguments: readonly Type[];
  readonly arguments: readonly Expression[];
  /** Methods of elements and arguments that the member calls by itself: comparisons, `toString`. */
  readonly calls: readonly FunctionDeclaration[];
  readonly type: Type;
  readonly span: Span;
}
export interface ArrayLiteral {
  readonly kind: "array";
  readonly elements: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}
export interface FunctionValue {
  readonly kind: "function-value";
  readonly declaration: FunctionDeclaration;
  readonly type: Type;
  readonly span: Span;
}
/** Declares a table; only as a global's initializer. */
export interface NewTable {
  readonly kind: "new-table";
  readonly name: string;
  readonly type: Type;
  readonly span: Span;
}
export interface Access {
  readonly kind: "access";
  /**
   * The last four exist in f^rw only: the access is said, its value is not known or not needed. `touchUnwritten` is a read
   * of what was not said to be written before.
   */
  readonly operation: "get" | "has" | "put" | "delete" | "touch" | "touchUnwritten" | "willPut" | "willDelete";
  readonly table: Expression;
  readonly key: Expression;
  readonly value: Expression | null;
  /** Distinguishes decoded objects. */
  readonly type: Type;
  readonly span: Span;
}
/** Reads rows of a range of keys, or their number. */
export interface Scan {
  readonly kind: "scan";
  /** The last three exist in f^rw only: the rows, or their number, are not needed. */
  readonly operation: "first" | "last" | "count" | "touchFirst" | "touchLast" | "touchCount";
  /** Points-to has for it the table that it is a view of. */
  readonly range: Expression;
  /** Of rows; null: all are counted. */
  readonly limit: Expression | null;
  /** Distinguishes decoded objects. */
  readonly type: Type;
  readonly span: Span;
}
/** A call of `random` or `uuid` in the source: its draws are counted apart from all others. */
export interface DrawSite {
  readonly kind: "draw-site";
  /** The name by which the host knows it: `file:line:column`. */
  readonly place: string;
}
/** Takes the next draw of its site. */
export interface Draw {
  readonly kind: "draw";
  readonly source: "random" | "uuid";
  readonly site: DrawSite;
  readonly type: Type;
  readonly span: Span;
}
export interface Now {
  readonly kind: "now";
  readonly type: Type;
  readonly span: Span;
}
/** On whose behalf the execution runs. Like the time it is the same throughout an execution. */
export interface Caller {
  readonly kind: "caller";
  readonly type: Type;
  readonly span: Span;
}
/** Ends the execution with an answer of its own. */
export interface Abort {
  readonly kind: "abort";
  readonly arguments: readonly Expression[];
  readonly type: Type;
  readonly span: Span;
}

/** Names the lane of a task, unless its key is null. */
export interface Lane {
  readonly kind: "lane";
  readonly key: Expression;
  readonly type: Type;
  readonly span: Span;
}

export type Expression =
  | Constant
  | LocalRead
  | GlobalRead
  | FieldRead
  | Operation
  | Cast
  | NonNull
  | InstanceOf
  | Template
  | Sequence
  | Logical
  | Conditional
  | Assignment
  | Call
  | IndirectCall
  | Construction
  | LibraryCall
  | ArrayLiteral
  | FunctionValue
  | NewTable
  | Access
  | Scan
  | Draw
  | Now
  | Caller
  | Abort
  | Lane;

// ── Traversal ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The expression that says in which table an access is made: the table, or a range of it. */
export function tableOf(access: Access | Scan): Expression {
  return access.kind === "scan" ? access.range : access.table;
}

/** Whether the expression itself reads or writes items. */
export function isAccess(expression: Expression): expression is Access | Scan {
  return expression.kind === "access" || expression.kind === "scan";
}

/** The initializers that decoding a value of the type may run, for keys that an item lacks: those of the fields that it has. */
export function decodedInitializers(
  type: Type,
  hasField: (field: FieldDeclaration) => boolean,
  seen = new Set<ClassDeclaration>(),
): Expression[] {
  const inner = nonNullable(type);
  // variant: container-fields
  if (inner.kind === "library") return inner.arguments.flatMap((part) => decodedInitializers(part, hasField, seen));
  if (inner.kind !== "class" || seen.has(inner.declaration)) return [];
  seen.add(inner.declaration);
  const fields: FieldDeclaration[] = [];
  for (
    let declaration: ClassDeclaration | null = inner.declaration;
    declaration !== null;
    declaration = declaration.base
  )
    fields.push(...declaration.fields.filter((field) => isGiven(field.owner) || hasField(field)));
  return fields.flatMap(({ type: held, initializer }) => [
    ...(initializer === null ? [] : [initializer]),
    ...decodedInitializers(held, hasField, seen),
  ]);
}

/** The direct operands of an expression in evaluation order. */
export function operands(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "constant":
    case "local":
    case "global":
    case "function-value":
    case "new-table":
    case "draw":
    case "now":
    case "caller":
      return [];
    case "field":
      return [expression.object];
    case "operation":
    case "template":
    case "sequence":
      return expression.operands;
    case "cast":
    case "non-null":
    case "instance-of":
      return [expression.operand];
    case "logical":
      return [expression.left, expression.right];
    case "conditional":
      return [expression.condition, expression.consequent, expression.alternative];
    case "assignment": {
      const value = expression.value === null ? [] : [expression.value];
      switch (expression.target.kind) {
        case "local":
        case "global":
          return value;
        case "field":
          return [expression.target.object, ...value];
        case "element":
          return [expression.target.container, expression.target.index, ...value];
      }
    }
    // falls through: the inner switch is exhaustive
    case "call":
    case "library":
      return expression.receiver === null ? expression.arguments : [expression.receiver, ...expression.arguments];
    case "indirect-call":
      return [expression.callee, ...expression.arguments];
    case "construction":
    case "abort":
      return expression.arguments;
    case "lane":
      return [expression.key];
    case "array":
      return expression.elements;
    case "access":
      return expression.value === null
        ? [expression.table, expression.key]
        : [expression.table, expression.key, expression.value];
    case "scan":
      return expression.limit === null ? [expression.range] : [expression.range, expression.limit];
  }
}

/** The expression with other direct operands: as many, in evaluation order. */
export function withOperands(expression: Expression, parts: readonly Expression[]): Expression {
  const [first, second, third] = parts as readonly [Expression, Expression, Expression];
  switch (expression.kind) {
    case "constant":
    case "local":
    case "global":
    case "function-value":
    case "new-table":
    case "draw":
    case "now":
    case "caller":
      return expression;
    case "field":
      return { ...expression, object: first };
    case "operation":
    case "template":
    case "sequence":
      return { ...expression, operands: parts };
    case "cast":
    case "non-null":
    case "instance-of":
      return { ...expression, operand: first };
    case "logical":
      return { ...expression, left: first, right: second };
    case "conditional":
      return { ...expression, condition: first, consequent: second, alternative: third };
    case "assignment": {
      const value = expression.value === null ? null : parts.at(-1)!;
      switch (expression.target.kind) {
        case "local":
        case "global":
          return { ...expression, value };
        case "field":
          return { ...expression, target: { ...expression.target, object: first }, value };
        case "element":
          return { ...expression, target: { ...expression.target, container: first, index: second }, value };
      }
    }
    // falls through: the inner switch is exhaustive
    case "call":
    case "library":
      return expression.receiver === null
        ? { ...expression, arguments: parts }
        : { ...expression, receiver: first, arguments: parts.slice(1) };
    case "indirect-call":
      return { ...expression, callee: first, arguments: parts.slice(1) };
    case "construction":
    case "abort":
      return { ...expression, arguments: parts };
    case "lane":
      return { ...expression, key: first };
    case "array":
      return { ...expression, elements: parts };
    case "access":
      return { ...expression, table: first, key: second, value: expression.value === null ? null : third };
    case "scan":
      return { ...expression, range: first, limit: expression.limit === null ? null : second };
  }
}

/** Whether statements stand in an expression: only while a function is lowered. */
export function hasStatements(expression: Expression): boolean {
  return (
    (expression.kind === "sequence" && expression.statements !== undefined) || operands(expression).some(hasStatements)
  );
}

/** Visits an expression and everything below it; functions that it calls are not entered. */
export function walkExpression(expression: Expression, visit: (expression: Expression) => void): void {
  visit(expression);
  if (expression.kind === "sequence" && expression.statements !== undefined)
    walkStatements(expression.statements, (statement) => {
      for (const inner of statementExpressions(statement)) walkExpression(inner, visit);
    });
  for (const operand of operands(expression)) walkExpression(operand, visit);
}

/** The expressions that a statement evaluates itself (not those of nested statements). */
export function statementExpressions(statement: Statement): readonly Expression[] {
  switch (statement.kind) {
    case "block":
    case "break":
    case "continue":
      return [];
    case "expression":
      return [statement.expression];
    case "variable":
      return statement.initializer === null ? [] : [statement.initializer];
    case "if":
      return [statement.condition];
    case "loop":
      return [statement.condition, statement.update].filter((part) => part !== null);
    case "switch":
      return [
        statement.discriminant,
        ...statement.cases.flatMap((choice) => (choice.label === null ? [] : [choice.label])),
      ];
    case "return":
      return statement.value === null ? [] : [statement.value];
    case "throw":
      return [statement.message];
  }
}

/** The statements directly inside a statement. */
export function nestedStatements(statement: Statement): readonly Statement[] {
  switch (statement.kind) {
    case "block":
      return statement.body;
    case "if":
      return [...statement.consequent, ...statement.alternative];
    case "loop":
      return [...statement.initial, ...statement.body];
    case "switch":
      return statement.cases.flatMap((choice) => choice.body);
    case "expression":
    case "variable":
    case "return":
    case "throw":
    case "break":
    case "continue":
      return [];
  }
}

export function walkStatements(statements: readonly Statement[], visit: (statement: Statement) => void): void {
  for (const statement of statements) {
    visit(statement);
    walkStatements(nestedStatements(statement), visit);
  }
}

/** Visits every expression of a function: defaults, field initializers and body. */
export function walkFunction(declaration: FunctionDeclaration, visit: (expression: Expression) => void): void {
  for (const parameter of declaration.parameters)
    if (parameter.defaultValue !== null) walkExpression(parameter.defaultValue, visit);
  const inStatement = (statement: Statement): void => {
    for (const expression of statementExpressions(statement)) walkExpression(expression, visit);
  };
  walkStatements(declaration.initializers, inStatement);
  walkStatements(declaration.body, inStatement);
}
