/**
 * `let total = 0; for (const price of prices) total += price;`. A number of TypeScript is a float. So a variable that begins with a
 * whole number is one too, where a float is assigned to it. Without a type, it would be an i32.
 */
import { as, CommonFlags, NodeKind, Token } from "../assemblyscript.ts";
import { ASSIGNMENTS } from "../assignments.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { pathTo } from "../conversions.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import { patternOf } from "../forms-parser.ts";
import { declarationsOf } from "../forms-patterns.ts";
import { boxedType } from "../nullable-numbers.ts";
import { calledFor } from "./callbacks.ts";
import type { Expansion } from "./expander.ts";
import { isOmitted } from "./lambda.ts";
import { iteratedType } from "./loops.ts";

/** Whether a statement may declare such a variable, as far as its words show it. */
export function mayBeFloat({ declarations }: as.VariableStatement): boolean {
  return declarations.some((declaration) => beginsWhole(declaration));
}

function beginsWhole(declaration: as.VariableDeclaration): boolean {
  const { type, initializer, range } = declaration;
  if (type !== null || initializer === null || range.source.isLibrary || declaration.is(CommonFlags.Const))
    return false;
  const value = withoutParentheses(initializer);
  const isNegative = value instanceof as.UnaryPrefixExpression && value.operator === Token.Minus;
  return (isNegative ? withoutParentheses(value.operand) : value) instanceof as.IntegerLiteralExpression;
}

/** The statement with the types of variables that become floats; null: none does. */
export function expandFloats(expansion: Expansion, node: as.VariableStatement): as.VariableStatement | null {
  let isChanged = false;
  const declarations = node.declarations.map((declaration) => {
    const { name, decorators, flags, initializer, range } = declaration;
    if (!declaresFloat(expansion, declaration)) return declaration;
    isChanged = true;
    const type = new ResolvedTypeNode(as.Type.f64, name.range);
    return as.Node.createVariableDeclaration(name, decorators, flags, type, initializer, range);
  });
  return isChanged ? as.Node.createVariableStatement(node.decorators, declarations, node.range) : null;
}

/** Whether a declaration without a type is one of a float, though it begins with a whole number. */
export function declaresFloat(expansion: Expansion, declaration: as.VariableDeclaration): boolean {
  return beginsWhole(declaration) && becomesFloat(expansion, declaration);
}

/** The declarations of a function that were asked about. Each search asks about those behind its own. */
const KNOWN = new WeakMap<as.Function, Map<as.Node, boolean>>();

function becomesFloat(expansion: Expansion, declaration: as.VariableDeclaration): boolean {
  const { typing, flow } = expansion;
  let known = KNOWN.get(flow.sourceFunction);
  if (known === undefined) KNOWN.set(flow.sourceFunction, (known = new Map<as.Node, boolean>()));
  let found = known.get(declaration);
  if (found !== undefined) return found;
  const { text } = declaration.name;
  const scope = scopeOf(declaration);
  const inner = flow.fork();
  inner.addScopedDummyLocal(text, as.Type.i32, declaration.name);
  found =
    scope.some((node) => assigns(node, text)) &&
    typing.quietly(() => new FloatSearch(expansion, text).isIn(scope, inner));
  known.set(declaration, found);
  return found;
}

/** The nodes behind a declaration in which its variable can be named. */
function scopeOf(declaration: as.VariableDeclaration): readonly as.Node[] {
  const path = pathTo(declaration.range);
  const at = path.findLastIndex((node) => node instanceof as.VariableStatement);
  const [around, statement] = [path[at - 1], path[at]];
  if (around instanceof as.BlockStatement || around instanceof as.SwitchCase) {
    const { statements } = around;
    return statements.slice(statements.indexOf(statement as as.Statement) + 1);
  }
  if (!(around instanceof as.ForStatement)) return [];
  return [around.condition, around.incrementor, around.body].filter((node) => node !== null);
}

/** Whether a name stands on the left of an assignment. */
function assigns(node: as.Node, name: string): boolean {
  if (node instanceof as.BinaryExpression && ASSIGNMENTS.has(node.operator) && isNamed(node.left, name)) return true;
  return childrenOf(node).some((child) => assigns(child, name));
}

function isNamed(node: as.Expression, name: string): boolean {
  const inner = withoutParentheses(node);
  return inner.kind === NodeKind.Identifier && (inner as as.IdentifierExpression).text === name;
}

/** Goes over code with the types of the variables that it declares, as far as they are known. */
class FloatSearch {
  readonly #expansion: Expansion;
  readonly #name: string;

  constructor(expansion: Expansion, name: string) {
    this.#expansion = expansion;
    this.#name = name;
  }

  /** Whether a float is assigned to the variable in nodes of one scope. */
  isIn(nodes: readonly as.Node[], flow: as.Flow): boolean {
    for (const node of nodes) {
      // From here on the name is that of another variable.
      // variant: shadowed-number
      if (node instanceof as.VariableStatement && node.declarations.some(({ name }) => name.text === this.#name))
        return false;
      if (this.#isAt(node, flow)) return true;
    }
    return false;
  }

  #isAt(node: as.Node, flow: as.Flow): boolean {
    if (node instanceof as.TypeNode) return false;
    if (node instanceof as.BlockStatement) return this.isIn(node.statements, flow.fork());
    if (node instanceof as.VariableStatement) {
      const found = node.declarations.some(({ initializer }) => initializer !== null && this.#isAt(initializer, flow));
      if (!found) for (const declaration of node.declarations) this.#declare(declaration, flow);
      return found;
    }
    if (node instanceof as.ForStatement) {
      const { initializer, condition, incrementor, body } = node;
      return this.isIn(
        [initializer, condition, body, incrementor].filter((part) => part !== null),
        flow.fork(),
      );
    }
    if (node instanceof as.ForOfStatement) return this.#isInLoop(node, flow);
    if (node instanceof as.CallExpression) return this.#isInCall(node, flow);
    if (node instanceof as.FunctionExpression) return this.#isInFunction(node, flow);
    if (node instanceof as.BinaryExpression && ASSIGNMENTS.has(node.operator) && isNamed(node.left, this.#name))
      return isFloat(this.#expansion.typing.of(node.right, flow)) || this.#isAt(node.right, flow);
    return childrenOf(node).some((child) => this.#isAt(child, flow));
  }

  #isInLoop({ variable, iterable, body }: as.ForOfStatement, flow: as.Flow): boolean {
    if (this.#isAt(iterable, flow)) return true;
    const inner = flow.fork();
    const declaration = variable instanceof as.VariableStatement ? variable.declarations[0] : undefined;
    const type = iteratedType({ ...this.#expansion, flow }, iterable);
    if (declaration !== undefined && type !== null) {
      inner.addScopedDummyLocal(declaration.name.text, type, declaration.name);
      const pattern = patternOf(declaration);
      const parts = pattern === null ? [] : declarationsOf(pattern, declaration.name, CommonFlags.Const);
      for (const part of parts) this.#declare(part, inner);
    }
    return declaration?.name.text !== this.#name && this.#isAt(body, inner);
  }

  #isInCall(node: as.CallExpression, flow: as.Flow): boolean {
    const called = calledFor({ ...this.#expansion, flow }, node);
    return [node.expression, ...node.args].some((part) => {
      if (called === null || withoutParentheses(part) !== called.lambda.node) return this.#isAt(part, flow);
      const inner = flow.fork();
      for (const [name, type] of called.names) inner.addScopedDummyLocal(name.text, type, name);
      return this.#isInFunction(called.lambda.node, inner);
    });
  }

  #isInFunction({ declaration: { signature, body } }: as.FunctionExpression, flow: as.Flow): boolean {
    if (body === null || signature.parameters.some(({ name }) => name.text === this.#name)) return false;
    const inner = flow.fork();
    for (const { name, type } of signature.parameters) {
      const known = isOmitted(type) ? null : this.#expansion.resolve(type);
      if (known !== null && flow.lookupLocal(name.text) === null) inner.addScopedDummyLocal(name.text, known, name);
    }
    return this.#isAt(body, inner);
  }

  #declare(declaration: as.VariableDeclaration, flow: as.Flow): void {
    const expansion = { ...this.#expansion, flow };
    const { name, type, initializer } = declaration;
    const given = initializer === null ? null : expansion.typing.of(initializer, flow);
    const isOne = beginsWhole(declaration) && becomesFloat(expansion, declaration);
    const known = isOne ? as.Type.f64 : type === null ? given : expansion.resolve(type);
    if (known !== null && known !== as.Type.void) flow.addScopedDummyLocal(name.text, known, name);
  }
}

function isFloat(type: as.Type | null): boolean {
  return type !== null && (boxedType(type) ?? type).isFloatValue;
}
