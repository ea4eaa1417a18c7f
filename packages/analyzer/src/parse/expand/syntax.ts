/** Nodes of AssemblyScript that stand for what a developer wrote in another form, with the ranges of the developer's text. */
import { as, AssertionKind, CommonFlags, Token } from "../assemblyscript.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import { written } from "../written.ts";

/**
 * A name that no developer can write: what stands before the `@` is the purpose. `at` is a place in the source that is no
 * other name's.
 */
export function hidden(purpose: string, at: number, range: as.Range): as.IdentifierExpression {
  return identifier(`${purpose}@${at}`, range);
}

export function identifier(name: string, range: as.Range): as.IdentifierExpression {
  return as.Node.createIdentifierExpression(name, range);
}

/** Another mention of a name: what is known of a node is known of one mention. */
export function again({ text, range }: as.IdentifierExpression): as.IdentifierExpression {
  return identifier(text, range);
}

/** Arithmetic and comparisons that count, which the developer did not write: nothing is judged or checked there. */
const COUNTING = new WeakSet<as.Node>();

export function counting<N extends as.Node>(node: N): N {
  COUNTING.add(node);
  return node;
}

export function isCounting(node: as.Node): boolean {
  return COUNTING.has(node);
}

export function access(object: as.Expression, name: string, range: as.Range): as.PropertyAccessExpression {
  return as.Node.createPropertyAccessExpression(object, identifier(name, range), range);
}

/** Integers of the compiler have two halves. */
type Integer = as.IntegerLiteralExpression["value"];
const { i64_new: integerOf } = globalThis as unknown as { readonly i64_new: (low: number, high: number) => Integer };

export function integer(value: number, range: as.Range): as.Expression {
  return written(as.Node.createIntegerLiteralExpression(integerOf(value, 0), range), String(value));
}

export function textLiteral(value: string, range: as.Range): as.Expression {
  return written(as.Node.createStringLiteralExpression(value, range), JSON.stringify(value));
}

/** A template of texts with values between them. */
export function template(parts: string[], values: as.Expression[], range: as.Range): as.Expression {
  const raw = parts.map((part) => part.replaceAll(/[\\`]|\$\{/g, "\\$&"));
  return as.Node.createTemplateLiteralExpression(null, parts, raw, values, range);
}

export function nothing(range: as.Range): as.Expression {
  return written(as.Node.createNullExpression(range), "null");
}

export function truth(value: boolean, range: as.Range): as.Expression {
  return value
    ? written(as.Node.createTrueExpression(range), "true")
    : written(as.Node.createFalseExpression(range), "false");
}

export function binary(operator: Token, left: as.Expression, right: as.Expression, range: as.Range): as.Expression {
  return as.Node.createBinaryExpression(operator, left, right, range);
}

export function isNull(value: as.Expression, range: as.Range): as.Expression {
  return binary(Token.Equals_Equals, value, nothing(range), range);
}

export function isThere(value: as.Expression, range: as.Range): as.Expression {
  return binary(Token.Exclamation_Equals, value, nothing(range), range);
}

export function not(value: as.Expression, range: as.Range): as.Expression {
  return as.Node.createUnaryPrefixExpression(
    Token.Exclamation,
    as.Node.createParenthesizedExpression(value, value.range),
    range,
  );
}

export function choice(
  condition: as.Expression,
  yes: as.Expression,
  no: as.Expression,
  range: as.Range,
): as.Expression {
  return as.Node.createTernaryExpression(condition, yes, no, range);
}

export function element(list: as.Expression, index: number | as.Expression, range: as.Range): as.Expression {
  const at = typeof index === "number" ? integer(index, range) : index;
  return as.Node.createElementAccessExpression(list, at, range);
}

export function call(object: as.Expression, method: string, args: as.Expression[], range: as.Range): as.CallExpression {
  return as.Node.createCallExpression(access(object, method, range), null, args, range);
}

export function emptyList(type: as.Type, range: as.Range): as.Expression {
  const name = as.Node.createSimpleTypeName("Array", range);
  return as.Node.createNewExpression(name, [new ResolvedTypeNode(type, range)], [], range);
}

/** `value as type`. */
export function cast(value: as.Expression, type: as.Type, range: as.Range): as.Expression {
  return as.Node.createAssertionExpression(AssertionKind.As, value, new ResolvedTypeNode(type, range), range);
}

/** The elements of an array from an index on. */
export function slicedFrom(list: as.Expression, index: number, range: as.Range): as.Expression {
  return call(list, "slice", [integer(index, range)], range);
}

export function assigned(target: as.Expression, value: as.Expression, range: as.Range): as.Expression {
  return binary(Token.Equals, target, value, range);
}

/** The value behind `...`; null: the node is another. */
export function spreadIn(node: as.Expression): as.Expression | null {
  if (!(node instanceof as.UnaryPrefixExpression) || node.operator !== Token.Dot_Dot_Dot) return null;
  return node.operand;
}

export function hasSpread(nodes: readonly as.Expression[]): boolean {
  return nodes.some((node) => spreadIn(node) !== null);
}

// ── Statements ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** `const name = value;` */
export function constant(
  name: as.IdentifierExpression,
  value: as.Expression,
  type: as.Type | null = null,
): as.VariableStatement {
  return declared(name, value, CommonFlags.Const, type);
}

/** `let name = value;` */
export function variable(
  name: as.IdentifierExpression,
  value: as.Expression | null,
  type: as.Type | null = null,
): as.VariableStatement {
  return declared(name, value, CommonFlags.Let, type);
}

export function declared(
  name: as.IdentifierExpression,
  value: as.Expression | null,
  flags: CommonFlags,
  type: as.Type | null,
): as.VariableStatement {
  const { range } = name;
  const typeNode = type === null ? null : new ResolvedTypeNode(type, range);
  return as.Node.createVariableStatement(
    null,
    [as.Node.createVariableDeclaration(name, null, flags, typeNode, value, range)],
    range,
  );
}

/** `const name: type[] = [];` */
export function newList(name: as.IdentifierExpression, type: as.Type): as.Statement {
  return constant(name, emptyList(type, name.range));
}

export function run(expression: as.Expression): as.Statement {
  return as.Node.createExpressionStatement(expression);
}

export function block(statements: as.Statement[], range: as.Range): as.BlockStatement {
  return as.Node.createBlockStatement(statements, range);
}

export function when(condition: as.Expression, then: as.Statement, range: as.Range): as.Statement {
  return as.Node.createIfStatement(condition, then, null, range);
}

/** `for (let index = 0; index < list.length; ++index) { … }` */
export function counted(
  index: as.IdentifierExpression,
  list: as.IdentifierExpression,
  body: as.Statement[],
  range: as.Range,
): as.Statement {
  return as.Node.createForStatement(
    variable(index, integer(0, index.range)),
    counting(binary(Token.LessThan, again(index), access(again(list), "length", list.range), list.range)),
    counting(as.Node.createUnaryPrefixExpression(Token.Plus_Plus, again(index), index.range)),
    block(body, range),
    range,
  );
}
