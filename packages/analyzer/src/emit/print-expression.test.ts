import fc from "fast-check";
import { expect, test } from "vitest";
import type { Expression, Local, Type } from "../lower/ir.ts";
import { LiteralKind, NodeKind, Token, type as } from "../parse/assemblyscript.ts";
import { SyntaxTrees } from "../parse/syntax-trees.ts";
import { withoutParentheses } from "../parse/children.ts";
import { textOf } from "../parse/span.ts";
import { printExpression, printOperand, type Printer } from "./print-expression.ts";

const span = { file: "a.ts", start: 0, end: 0, line: 1, column: 1 };
const type: Type = { kind: "number", name: "i32" };
const nothing = (): string => "";
const printer: Printer = {
  className: nothing,
  functionName: nothing,
  globalName: nothing,
  libraryName: ({ name }) => name,
  lambda: nothing,
};

const locals: readonly Local[] = ["a", "b", "c"].map((name) => ({ name, type, span }));
const local = fc.constantFrom(...locals);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
  const operand = tie("expression");
  const common = { type: fc.constant(type), span: fc.constant(span) };
  const read = local.map((variable): Expression => ({ kind: "local", local: variable, type, span }));
  const constant = fc
    .constantFrom("1", "2.5", '"x"', "-3")
    .map((text): Expression => ({ kind: "constant", text, type, span }));
  return {
    expression: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      read,
      constant,
      fc.record({
        ...common,
        kind: fc.constant("operation" as const),
        operator: fc.constantFrom(
          "+",
          "-",
          "*",
          "/",
          "%",
          "**",
          "<<",
          ">>",
          ">>>",
          "&",
          "|",
          "^",
          "==",
          "!=",
          "<",
          "<=",
          ">",
          ">=",
        ),
        operands: fc.tuple(operand, operand),
      }),
      fc.record({
        ...common,
        kind: fc.constant("operation" as const),
        operator: fc.constantFrom("!", "-", "+", "~"),
        operands: fc.tuple(operand),
      }),
      fc.record({
        ...common,
        kind: fc.constant("logical" as const),
        operator: fc.constantFrom("&&" as const, "||" as const),
        left: operand,
        right: operand,
      }),
      fc.record({
        ...common,
        kind: fc.constant("conditional" as const),
        condition: operand,
        consequent: operand,
        alternative: operand,
      }),
      fc.record({ ...common, kind: fc.constant("sequence" as const), operands: fc.tuple(operand, operand) }),
      fc.record({ ...common, kind: fc.constant("cast" as const), operand }),
      fc.record({ ...common, kind: fc.constant("non-null" as const), operand }),
      fc.record({
        ...common,
        kind: fc.constant("assignment" as const),
        target: local.map((target) => ({ kind: "local" as const, local: target })),
        operator: fc.constantFrom("", "+", ">>>"),
        prefix: fc.constant(false),
        value: operand,
      }),
      fc.record({
        ...common,
        kind: fc.constant("assignment" as const),
        target: local.map((target) => ({ kind: "local" as const, local: target })),
        operator: fc.constantFrom("++", "--"),
        prefix: fc.boolean(),
        value: fc.constant(null),
      }),
      fc.record({
        ...common,
        kind: fc.constant("indirect-call" as const),
        callee: read,
        arguments: fc.array(operand, { maxLength: 2 }),
      }),
      fc.record({ ...common, kind: fc.constant("array" as const), elements: fc.array(operand, { maxLength: 2 }) }),
    ) as fc.Arbitrary<Expression>,
  };
});

/** The tree as text, every node in parentheses. */
function shape(tree: Expression): string {
  const list = (parts: readonly Expression[]): string => parts.map(shape).join(" ");
  switch (tree.kind) {
    case "constant":
      return tree.text.startsWith("-") ? `(- ${tree.text.slice(1)})` : tree.text;
    case "local":
      return tree.local.name;
    case "operation":
      return `(${tree.operator} ${list(tree.operands)})`;
    case "logical":
      return `(${tree.operator} ${shape(tree.left)} ${shape(tree.right)})`;
    case "conditional":
      return `(? ${list([tree.condition, tree.consequent, tree.alternative])})`;
    case "sequence":
      return `(, ${list(tree.operands)})`;
    case "cast":
      return `(cast ${shape(tree.operand)})`;
    case "non-null":
      return `(! ${shape(tree.operand)})`;
    case "assignment": {
      const target = tree.target.kind === "local" ? tree.target.local.name : "";
      if (tree.value !== null) return `(${tree.operator}= ${target} ${shape(tree.value)})`;
      return tree.prefix ? `(${tree.operator} ${target})` : `(${target} ${tree.operator})`;
    }
    case "indirect-call":
      return `(call ${list([tree.callee, ...tree.arguments])})`;
    case "array":
      return `[${list(tree.elements)}]`;
    default:
      throw new Error(`no shape for ${tree.kind}`);
  }
}

/** The shape of the tree that the compiler's parser makes of the printed text. */
function parsedShape(node: as.Expression): string {
  const inner = withoutParentheses(node);
  const list = (parts: readonly as.Expression[]): string => parts.map(parsedShape).join(" ");
  switch (inner.kind) {
    case NodeKind.Identifier:
      return textOf(inner);
    case NodeKind.Literal:
      return (inner as as.LiteralExpression).literalKind === LiteralKind.Array
        ? `[${list((inner as as.ArrayLiteralExpression).elementExpressions)}]`
        : textOf(inner);
    case NodeKind.Binary: {
      const { left, right } = inner as as.BinaryExpression;
      const operator = textOf(inner).slice(left.range.end - inner.range.start, right.range.start - inner.range.start);
      return `(${operator.replace(/[()\s]/g, "")} ${parsedShape(left)} ${parsedShape(right)})`;
    }
    case NodeKind.UnaryPrefix: {
      const { operator, operand } = inner as as.UnaryPrefixExpression;
      return `(${textOf(inner).slice(0, operator === Token.Plus_Plus || operator === Token.Minus_Minus ? 2 : 1)} ${parsedShape(operand)})`;
    }
    case NodeKind.UnaryPostfix:
      return `(${parsedShape((inner as as.UnaryPostfixExpression).operand)} ${textOf(inner).slice(-2)})`;
    case NodeKind.Ternary: {
      const { condition, ifThen, ifElse } = inner as as.TernaryExpression;
      return `(? ${list([condition, ifThen, ifElse])})`;
    }
    case NodeKind.Comma:
      return `(, ${list((inner as as.CommaExpression).expressions)})`;
    case NodeKind.Assertion: {
      const { toType, expression: asserted } = inner as as.AssertionExpression;
      return toType === null ? `(! ${parsedShape(asserted)})` : `(cast ${parsedShape(asserted)})`;
    }
    case NodeKind.Call: {
      const { expression: callee, args } = inner as as.CallExpression;
      return `(call ${list([callee, ...args])})`;
    }
    default:
      throw new Error(`unexpected syntax: ${textOf(inner)}`);
  }
}

function parse(text: string): string {
  const { source, messages } = new SyntaxTrees().get("a.ts", text);
  expect(messages.map(({ message }) => message)).toEqual([]);
  const [statement] = source.statements;
  if (statement?.kind === NodeKind.Variable)
    return parsedShape((statement as as.VariableStatement).declarations[0]!.initializer!);
  return parsedShape((statement as as.ExpressionStatement).expression);
}

test("what is printed parses to the same tree", () => {
  fc.assert(
    fc.property(expression, (tree) => {
      expect(parse(`${printExpression(tree, printer)};`)).toBe(shape(tree));
      expect(parse(`let x = ${printOperand(tree, printer)}, y = 1;`)).toBe(shape(tree));
    }),
    { numRuns: 3000 },
  );
});
