/** Functions that are written where they are used: what they use of the variables around them, and what they give. */
import { ArrowKind, as, CommonFlags, NodeKind, ParameterKind, Token } from "../assemblyscript.ts";
import { ASSIGNMENTS, INCREMENTS } from "../assignments.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { boxedType } from "../nullable-numbers.ts";
import { AssignIfExpression } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import { block, when } from "./syntax.ts";

export interface Lambda {
  readonly node: as.FunctionExpression;
  readonly parameters: readonly as.ParameterNode[];
  /** Null: the type is not written. */
  readonly result: as.TypeNode | null;
  readonly body: LambdaBody;
}

type LambdaBody =
  | { readonly kind: "value"; readonly value: as.Expression }
  | { readonly kind: "statements"; readonly statements: readonly as.Statement[] };

/** Null: the expression is not a function, or can't be the body of a loop. */
export function lambdaOf(node: as.Expression | undefined): Lambda | null {
  const inner = node === undefined ? null : withoutParentheses(node);
  if (!(inner instanceof as.FunctionExpression)) return null;
  const { signature, body, typeParameters } = inner.declaration;
  if (body === null || typeParameters !== null || signature.explicitThisType !== null) return null;
  const { parameters, returnType } = signature;
  if (parameters.some(({ initializer }) => initializer !== null)) return null;
  return {
    node: inner,
    parameters,
    result: isOmitted(returnType) ? null : returnType,
    body:
      body.kind === NodeKind.Block
        ? { kind: "statements", statements: (body as as.BlockStatement).statements }
        : { kind: "value", value: (body as as.ExpressionStatement).expression },
  };
}

/** `(…names) => value`, without types. */
export function lambdaFor(names: readonly as.IdentifierExpression[], value: as.Expression): as.FunctionExpression {
  const { range } = value;
  const omitted = (): as.TypeNode => as.Node.createOmittedType(range);
  const parameters = names.map((name) => as.Node.createParameter(ParameterKind.Default, name, omitted(), null, range));
  const declaration = as.Node.createFunctionDeclaration(
    as.Node.createIdentifierExpression("", range),
    null,
    CommonFlags.None,
    null,
    as.Node.createFunctionType(parameters, omitted(), null, false, range),
    as.Node.createExpressionStatement(value),
    ArrowKind.Single,
    range,
  );
  return as.Node.createFunctionExpression(declaration);
}

export function isOmitted(type: as.TypeNode): boolean {
  return type instanceof as.NamedTypeNode && type.name.identifier.text === "";
}

/** Whether a function uses variables of the function around it, which AssemblyScript has no way for. */
export function captures({ node }: Lambda, { closures, flow }: Expansion): boolean {
  const own = declaredIn(node);
  for (const name of namesIn(node)) {
    const local = own.has(name) ? null : closures.scope.localOf(name, flow);
    // The compiler puts the value of an inlined constant in its place.
    if (local !== null && !local.is(CommonFlags.Inlined)) return true;
  }
  return false;
}

/** Whether the body of a function mentions a name. */
export function mentions({ body }: Lambda, name: string): boolean {
  let found = false;
  for (const node of body.kind === "value" ? [body.value] : body.statements)
    visitNames(node, (one, isDeclared) => (found ||= one === name && !isDeclared));
  return found;
}

/** Whether a function holds for all values of its parameter but null: `(e) => e != null`, and `(e) => !!e` of objects. */
export function provesThere({ parameters, body }: Lambda, type: as.Type): boolean {
  const [first] = parameters;
  const value = body.kind === "value" ? body.value : onlyReturned(body.statements);
  if (first === undefined || value === null || !type.isNullableReference) return false;
  const isFirst = (node: as.Expression): boolean => {
    const inner = withoutParentheses(node);
    return inner instanceof as.IdentifierExpression && inner.text === first.name.text;
  };
  const test = withoutParentheses(value);
  if (test instanceof as.BinaryExpression) {
    const { operator, left, right } = test;
    const isTest = operator === Token.Exclamation_Equals || operator === Token.Exclamation_Equals_Equals;
    const isNull = (node: as.Expression): boolean => withoutParentheses(node).kind === NodeKind.Null;
    return isTest && ((isFirst(left) && isNull(right)) || (isNull(left) && isFirst(right)));
  }
  // Empty texts and zeros are false too.
  const isObject = boxedType(type) === null && type.getClass()?.prototype.name !== "String";
  const negated = isObject ? negatedIn(test) : null;
  const named = negated === null ? null : negatedIn(negated);
  return named !== null && isFirst(named);
}

function onlyReturned([only, ...others]: readonly as.Statement[]): as.Expression | null {
  return only instanceof as.ReturnStatement && others.length === 0 ? only.value : null;
}

function negatedIn(node: as.Expression): as.Expression | null {
  const inner = withoutParentheses(node);
  return inner instanceof as.UnaryPrefixExpression && inner.operator === Token.Exclamation ? inner.operand : null;
}

/** The names that a node uses as variables, `this` among them. */
export function namesIn(node: as.Node): ReadonlySet<string> {
  const names = new Set<string>();
  visitNames(node, (name, isDeclared) => {
    if (!isDeclared) names.add(name);
  });
  return names;
}

/** The names that a node declares. */
export function declaredIn(node: as.Node): ReadonlySet<string> {
  const names = new Set<string>();
  visitNames(node, (name, isDeclared) => {
    if (isDeclared) names.add(name);
  });
  return names;
}

/** The names that a node assigns to. */
export function assignedIn(node: as.Node): ReadonlySet<string> {
  const names = new Set<string>();
  const target = (place: as.Expression): void => {
    const inner = withoutParentheses(place);
    if (inner instanceof as.IdentifierExpression) names.add(inner.text);
    // Of a pattern, every name counts.
    else if (inner instanceof as.LiteralExpression) for (const name of namesIn(inner)) names.add(name);
  };
  const visit = (part: as.Node): void => {
    if (part instanceof as.BinaryExpression && ASSIGNMENTS.has(part.operator)) target(part.left);
    else if (part instanceof AssignIfExpression) target(part.target);
    else if (part instanceof as.UnaryPostfixExpression) target(part.operand);
    else if (part instanceof as.UnaryPrefixExpression && INCREMENTS.has(part.operator)) target(part.operand);
    else if (part instanceof as.ForOfStatement && part.variable instanceof as.ExpressionStatement)
      target(part.variable.expression);
    childrenOf(part).forEach(visit);
  };
  visit(node);
  return names;
}

/** The names in a node that are variables, and those that it declares. */
function visitNames(node: as.Node, visit: (name: string, isDeclared: boolean) => void): void {
  if (node instanceof as.TypeNode) return;
  if (node instanceof as.IdentifierExpression) {
    visit(node.kind === NodeKind.This ? "this" : node.text, false);
    return;
  }
  if (node instanceof as.PropertyAccessExpression) return visitNames(node.expression, visit);
  if (node instanceof as.ObjectLiteralExpression) {
    for (const value of node.values) visitNames(value, visit);
    return;
  }
  if (node instanceof as.FunctionExpression) {
    const { signature, body, name } = node.declaration;
    if (name.text !== "") visit(name.text, true);
    for (const parameter of signature.parameters) {
      visit(parameter.name.text, true);
      if (parameter.initializer !== null) visitNames(parameter.initializer, visit);
    }
    if (body !== null) visitNames(body, visit);
    return;
  }
  if (node instanceof as.VariableDeclaration) {
    visit(node.name.text, true);
    if (node.initializer !== null) visitNames(node.initializer, visit);
    return;
  }
  for (const child of childrenOf(node)) visitNames(child, visit);
}

// ── Types ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Names with their types. */
export type Names = readonly (readonly [name: as.IdentifierExpression, type: as.Type])[];

// ── Returns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The values that a function returns. */
export function returnedBy({ body }: Lambda): readonly as.Expression[] {
  return body.kind === "value" ? [body.value] : body.statements.flatMap(returnedIn);
}

/** The values that a statement returns, and the statements in it. */
export function returnedIn(node: as.Node): readonly as.Expression[] {
  if (node instanceof as.ReturnStatement) return node.value === null ? [] : [node.value];
  return node instanceof as.Expression ? [] : childrenOf(node).flatMap(returnedIn);
}

/** Whether statements leave the function on every path. */
export function alwaysReturns(statements: readonly as.Statement[]): boolean {
  return statements.some((statement) => {
    if (statement instanceof as.ReturnStatement || statement instanceof as.ThrowStatement) return true;
    if (statement instanceof as.BlockStatement) return alwaysReturns(statement.statements);
    if (statement instanceof as.IfStatement)
      return statement.ifFalse !== null && alwaysReturns([statement.ifTrue]) && alwaysReturns([statement.ifFalse]);
    if (statement instanceof as.SwitchStatement)
      return (
        statement.cases.some(({ label }) => label === null) &&
        statement.cases.every(({ statements: body }, index) =>
          body.length === 0 ? index < statement.cases.length - 1 : alwaysReturns(body),
        )
      );
    if (statement instanceof as.ExpressionStatement) {
      const call = withoutParentheses(statement.expression);
      if (!(call instanceof as.CallExpression)) return false;
      const callee = withoutParentheses(call.expression);
      return callee instanceof as.IdentifierExpression && callee.text === "abort";
    }
    return false;
  });
}

/** How the statements of a function give its value, in a round of a loop. */
export interface Giving {
  /** Uses a returned value; null: nothing is returned. */
  give(value: as.Expression | null): as.Statement[];
  /** Leaves the round from where no other loop or switch is around. */
  next(range: as.Range): as.Statement;
  /** A returned value while it goes out of inner loops, and whether there is one. */
  keep(value: as.Expression | null, range: as.Range): as.Statement[];
  kept(range: as.Range): { readonly is: as.Expression; readonly value: as.Expression | null };
}

/** The statements of a function with what it returns given on, and those that have no `return` as they are. */
export function given(
  statements: readonly as.Statement[],
  giving: Giving,
  depth = 0,
  isLast = true,
): { readonly statements: as.Statement[]; readonly keeps: boolean } {
  let keeps = false;
  const inner = (statement: as.Statement, at: number, last: boolean): as.Statement => {
    const list = statement instanceof as.BlockStatement ? statement.statements : [statement];
    const made = given(list, giving, at, last);
    keeps ||= made.keeps;
    return block(made.statements, statement.range);
  };
  const all = statements.flatMap((statement, index): as.Statement[] => {
    const last = isLast && index === statements.length - 1;
    const { range } = statement;
    if (!hasReturn(statement)) return [statement];
    if (statement instanceof as.ReturnStatement) {
      if (depth === 0) return [...giving.give(statement.value), ...(last ? [] : [giving.next(range)])];
      keeps = true;
      return [...giving.keep(statement.value, range), as.Node.createBreakStatement(null, range)];
    }
    if (statement instanceof as.BlockStatement) return [inner(statement, depth, last)];
    if (statement instanceof as.IfStatement) {
      const yes = inner(statement.ifTrue, depth, last);
      const no = statement.ifFalse === null ? null : inner(statement.ifFalse, depth, last);
      return [as.Node.createIfStatement(statement.condition, yes, no, range)];
    }
    const loop = around(statement, (body) => inner(body, depth + 1, false));
    keeps = true;
    const kept = giving.kept(range);
    const leave =
      depth === 0
        ? [...giving.give(kept.value), ...(last ? [] : [giving.next(range)])]
        : [as.Node.createBreakStatement(null, range)];
    return [loop, when(kept.is, block(leave, range), range)];
  });
  return { statements: all, keeps };
}

/** A statement with other statements in place of each `return`. */
export function withReturns(
  statement: as.Statement,
  returned: (value: as.Expression | null, range: as.Range) => as.Statement[],
): as.Statement {
  const { range } = statement;
  const inner = (part: as.Statement): as.Statement => withReturns(part, returned);
  if (!hasReturn(statement)) return statement;
  if (statement instanceof as.ReturnStatement) return block(returned(statement.value, range), range);
  if (statement instanceof as.BlockStatement) return block(statement.statements.map(inner), range);
  if (statement instanceof as.IfStatement) {
    const { condition, ifTrue, ifFalse } = statement;
    return as.Node.createIfStatement(condition, inner(ifTrue), ifFalse === null ? null : inner(ifFalse), range);
  }
  return around(statement, inner);
}

/** A loop or switch with another body. */
function around(statement: as.Statement, map: (body: as.Statement) => as.Statement): as.Statement {
  const { range } = statement;
  if (statement instanceof as.ForStatement)
    return as.Node.createForStatement(
      statement.initializer,
      statement.condition,
      statement.incrementor,
      map(statement.body),
      range,
    );
  if (statement instanceof as.ForOfStatement)
    return as.Node.createForOfStatement(statement.variable, statement.iterable, map(statement.body), range);
  if (statement instanceof as.WhileStatement)
    return as.Node.createWhileStatement(statement.condition, map(statement.body), range);
  if (statement instanceof as.DoStatement)
    return as.Node.createDoStatement(map(statement.body), statement.condition, range);
  if (statement instanceof as.SwitchStatement)
    return as.Node.createSwitchStatement(
      statement.condition,
      statement.cases.map(({ label, statements, range: where }) => {
        const body = map(block(statements, where)) as as.BlockStatement;
        return as.Node.createSwitchCase(label, body.statements, where);
      }),
      range,
    );
  return statement;
}

function hasReturn(node: as.Node): boolean {
  if (node instanceof as.ReturnStatement) return true;
  if (node instanceof as.Expression) return false;
  return childrenOf(node).some(hasReturn);
}
