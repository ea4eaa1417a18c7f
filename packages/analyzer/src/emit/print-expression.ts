/** Expressions as AssemblyScript source, with the parentheses they need and no others. */
import type {
  AssignmentTarget,
  ClassDeclaration,
  Expression,
  FieldDeclaration,
  FunctionDeclaration,
  Global,
  LibraryCall,
  Type,
} from "../lower/ir.ts";
import { tupleClass } from "../parse/tuples.ts";
import { printType } from "./print-type.ts";

/** Names of declarations, and how function bodies are printed. */
export interface Printer {
  className(declaration: ClassDeclaration): string;
  functionName(declaration: FunctionDeclaration): string;
  globalName(global: Global): string;
  libraryName(call: LibraryCall): string;
  /** An arrow function. */
  lambda(declaration: FunctionDeclaration): string;
}

/** The function of the SDK that says the key of a task. */
export const LANE_FUNCTION = "touchLane";

/** The functions of `@radical/sdk/draws` that draw as a handler does at a given place. */
export const DRAW_FUNCTIONS = { random: "randomAt", uuid: "uuidAt" } as const;

/** Binding strength, from the comma to primary expressions. */
const LOOSEST = 0;
const ASSIGNMENT = 1;
const CONDITIONAL = 2;
const SHIFT = 10;
const UNARY = 14;
const POSTFIX = 15;
const PRIMARY = 16;

const BINARY: Readonly<Record<string, number>> = {
  "||": 3,
  "&&": 4,
  "|": 5,
  "^": 6,
  "&": 7,
  "==": 8,
  "===": 8,
  "!=": 8,
  "!==": 8,
  "<": 9,
  "<=": 9,
  ">": 9,
  ">=": 9,
  instanceof: 9,
  "<<": 10,
  ">>": 10,
  ">>>": 10,
  "+": 11,
  "-": 11,
  "*": 12,
  "/": 12,
  "%": 12,
  "**": 13,
};

export function printExpression(expression: Expression, printer: Printer): string {
  return at(expression, LOOSEST, printer);
}

/** The expression where a comma would mean something else: as an initial value, an argument, a result. */
export function printOperand(expression: Expression, printer: Printer): string {
  return at(expression, ASSIGNMENT, printer);
}

/** The expression as an operand of something that binds with `strength`. */
function at(expression: Expression, strength: number, printer: Printer): string {
  const [text, own] = print(expression, printer);
  if (own >= strength) return text;
  // AssemblyScript's parser takes `(a, b) :` for the start of a function.
  return expression.kind === "sequence" ? `((${text}))` : `(${text})`;
}

function print(expression: Expression, printer: Printer): [text: string, strength: number] {
  const list = (parts: readonly Expression[]): string => printList(parts, ASSIGNMENT, printer);
  const type = (inner: Type): string => printType(inner, (declaration) => printer.className(declaration));
  switch (expression.kind) {
    case "constant":
      // `1.toString()` is not valid syntax.
      return [
        expression.text,
        expression.text.startsWith("-") ? UNARY : /^\d/.test(expression.text) ? POSTFIX : PRIMARY,
      ];
    case "local":
      return [expression.local.name, PRIMARY];
    case "global":
      return [printer.globalName(expression.global), PRIMARY];
    case "field":
      return [`${at(expression.object, PRIMARY, printer)}${memberOf(expression.field)}`, PRIMARY];
    case "operation": {
      const [left, right] = expression.operands;
      if (left === undefined) throw new Error("an operation has operands");
      if (right === undefined) return [`${expression.operator}${at(left, POSTFIX, printer)}`, UNARY];
      return binary(expression.operator, left, right, printer);
    }
    case "logical":
      return binary(expression.operator, expression.left, expression.right, printer);
    case "instance-of":
      return [
        `${at(expression.operand, BINARY["instanceof"]!, printer)} instanceof ${type(expression.tested)}`,
        BINARY["instanceof"]!,
      ];
    case "cast":
      // AssemblyScript's parser takes `<T>x++` for `(<T>x)++`.
      return [
        `<${type(expression.type)}>${at(expression.operand, expression.operand.kind === "constant" ? POSTFIX : PRIMARY, printer)}`,
        UNARY,
      ];
    case "non-null":
      return [`${at(expression.operand, PRIMARY, printer)}!`, PRIMARY];
    case "template":
      return [
        `\`${expression.parts.map((part, index) => part + (index < expression.operands.length ? `\${${list([expression.operands[index]!])}}` : "")).join("")}\``,
        PRIMARY,
      ];
    case "sequence":
      // AssemblyScript's parser takes `a ? b : c, d` for `a ? b : (c, d)`.
      return [printList(expression.operands, CONDITIONAL + 1, printer), LOOSEST];
    case "conditional": {
      const parts = [
        at(expression.condition, CONDITIONAL + 1, printer),
        at(expression.consequent, ASSIGNMENT, printer),
        at(expression.alternative, ASSIGNMENT, printer),
      ];
      return [`${parts[0]} ? ${parts[1]} : ${parts[2]}`, CONDITIONAL];
    }
    case "assignment": {
      const target = assignmentTarget(expression.target, printer);
      if (expression.value !== null)
        return [`${target} ${expression.operator}= ${at(expression.value, ASSIGNMENT, printer)}`, ASSIGNMENT];
      return expression.prefix
        ? [`${expression.operator}${target}`, UNARY]
        : [`${target}${expression.operator}`, POSTFIX];
    }
    case "call":
      return call(expression, printer);
    case "indirect-call":
      return [`${at(expression.callee, PRIMARY, printer)}(${list(expression.arguments)})`, PRIMARY];
    case "construction": {
      const { declaration } = expression;
      // Its parts are assigned one by one.
      if (declaration.kind === "tuple")
        return [`new ${tupleClass(declaration.fields.map((field) => type(field.type)))}()`, PRIMARY];
      // A row is one of items of its type.
      const name = declaration.kind === "row" ? type(expression.type) : printer.className(declaration);
      return [`new ${name}(${list(expression.arguments)})`, PRIMARY];
    }
    case "library": {
      const { member, receiver, typeArguments } = expression;
      const generics = typeArguments.length === 0 ? "" : `<${typeArguments.map(type).join(", ")}>`;
      const object = receiver === null ? "" : at(receiver, PRIMARY, printer);
      switch (member.form) {
        case "constructor":
          return [`new ${expression.name}${generics}(${list(expression.arguments)})`, PRIMARY];
        case "element":
          return [`${object}[${list(expression.arguments)}]`, PRIMARY];
        case "property": {
          // The setter of a property.
          const [value] = expression.arguments;
          if (value !== undefined)
            return [`${object}.${expression.name.slice(0, -1)} = ${at(value, ASSIGNMENT, printer)}`, ASSIGNMENT];
          return [`${object}.${expression.name}`, PRIMARY];
        }
        case "method":
        case "function":
          return [
            `${object === "" ? "" : `${object}.`}${printer.libraryName(expression)}${generics}(${list(expression.arguments)})`,
            PRIMARY,
          ];
      }
    }
    // falls through: the inner switch is exhaustive
    case "array":
      return [`[${list(expression.elements)}]`, PRIMARY];
    case "function-value":
      return expression.declaration.kind === "lambda"
        ? [printer.lambda(expression.declaration), ASSIGNMENT]
        : [printer.functionName(expression.declaration), PRIMARY];
    case "new-table": {
      const { entriesOf = expression.name } = expression.type as Extract<Type, { kind: "table" }>;
      return [`new ${type(expression.type)}(${JSON.stringify(entriesOf)})`, PRIMARY];
    }
    case "access": {
      const args = expression.value === null ? [expression.key] : [expression.key, expression.value];
      return [`${at(expression.table, PRIMARY, printer)}.${expression.operation}(${list(args)})`, PRIMARY];
    }
    case "scan":
      return [
        `${at(expression.range, PRIMARY, printer)}.${expression.operation}(${expression.limit === null ? "" : list([expression.limit])})`,
        PRIMARY,
      ];
    case "draw":
      return [`${DRAW_FUNCTIONS[expression.source]}(${JSON.stringify(expression.site.place)})`, PRIMARY];
    case "now":
    case "caller":
      return [`${expression.kind}()`, PRIMARY];
    case "lane":
      return [`${LANE_FUNCTION}(${list([expression.key])})`, PRIMARY];
    case "abort":
      return [`abort(${list(expression.arguments)})`, PRIMARY];
  }
}

/** Operands between commas. */
function printList(parts: readonly Expression[], strength: number, printer: Printer): string {
  const texts = parts.map((part, index) => {
    const text = at(part, strength, printer);
    // AssemblyScript's parser takes `name < a, (` for the start of type arguments.
    return index < parts.length - 1 && text.includes(" < ") ? `(${text})` : text;
  });
  return texts.join(", ");
}

function binary(operator: string, left: Expression, right: Expression, printer: Printer): [string, number] {
  const strength = BINARY[operator];
  if (strength === undefined) throw new Error(`unknown operator ${operator}`);
  // `**` binds to the right and takes no unary operator on its left: always in parentheses.
  // AssemblyScript's parser takes `name < a | (` and `name < a > (` for type arguments: no comparison unwrapped there.
  const first = at(
    left,
    operator === "**" ? POSTFIX : operator === "|" || operator === ">" ? SHIFT : strength,
    printer,
  );
  const second = at(right, operator === "**" ? POSTFIX : strength + 1, printer);
  // AssemblyScript's parser takes `name < (` for the start of type arguments.
  if (operator === "<" && second.startsWith("(")) return [`(${first}) < ${second}`, strength];
  return [`${first} ${operator} ${second}`, strength];
}

function memberOf(field: FieldDeclaration): string {
  return field.owner.kind === "tuple" ? `[${field.owner.fields.indexOf(field)}]` : `.${field.name}`;
}

function assignmentTarget(target: AssignmentTarget, printer: Printer): string {
  switch (target.kind) {
    case "local":
      return target.local.name;
    case "global":
      return printer.globalName(target.global);
    case "field":
      return `${at(target.object, PRIMARY, printer)}${memberOf(target.field)}`;
    case "element":
      return `${at(target.container, PRIMARY, printer)}[${at(target.index, LOOSEST, printer)}]`;
  }
}

function call(expression: Extract<Expression, { kind: "call" }>, printer: Printer): [string, number] {
  const [callee] = expression.callees;
  if (callee === undefined) throw new Error("a call has callees");
  const args = printList(expression.arguments, ASSIGNMENT, printer);
  if (callee.kind === "constructor") return [`super(${args})`, PRIMARY];
  if (expression.receiver === null && callee.owner === null)
    return [`${printer.functionName(callee)}(${args})`, PRIMARY];
  const object = expression.isSuper
    ? "super"
    : expression.receiver === null
      ? "this"
      : at(expression.receiver, PRIMARY, printer);
  switch (callee.kind) {
    case "getter":
      return [`${object}.${callee.name}`, PRIMARY];
    case "setter":
      return [`${object}.${callee.name} = ${args}`, ASSIGNMENT];
    case "method":
    case "function":
    case "lambda":
      return [`${object}.${printer.functionName(callee)}(${args})`, PRIMARY];
  }
}
