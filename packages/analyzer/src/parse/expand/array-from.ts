/**
 * `Array.from(values)` is `[...values]`, and `Array.from(values, f)` is `[...values].map(f)`. `Array.from({ length }, f)` is a loop
 * that counts: see `callbacks.ts`.
 */
import { as, AssertionKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import { access } from "./syntax.ts";

/** Whether a call is one of `Array.from`, as far as its words show it. */
export function isArrayFrom({ expression, args, range }: as.CallExpression): boolean {
  const callee = withoutParentheses(expression);
  if (!(callee instanceof as.PropertyAccessExpression) || range.source.isLibrary) return false;
  const { expression: owner, property } = callee;
  return (
    property.text === "from" &&
    owner instanceof as.IdentifierExpression &&
    owner.text === "Array" &&
    (args.length === 1 || args.length === 2)
  );
}

/** The length in `Array.from({ length: n }, …)`; null: the call is another. */
export function lengthIn(node: as.CallExpression): as.Expression | null {
  if (!isArrayFrom(node)) return null;
  const given = withoutParentheses(node.args[0]!);
  const isLength =
    given instanceof as.ObjectLiteralExpression && given.names.length === 1 && given.names[0]!.text === "length";
  return isLength ? given.values[0]! : null;
}

/** Undefined: the call is another. */
export function typeOfArrayFrom(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const tree = expandArrayFrom(expansion, node);
  return tree === null ? undefined : expansion.typing.of(tree, expansion.flow, expansion.context);
}

/** Null: the call is another. */
export function expandArrayFrom(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  if (!isArrayFrom(node) || lengthIn(node) !== null) return null;
  const { typing, flow } = expansion;
  const { args, typeArguments, range } = node;
  const [values, mapping] = args as [as.Expression, as.Expression | undefined];
  const isArray = typing.containerOf(typing.of(values, flow))?.prototype.name === "Array";
  const copy = spreadLiteral(values);
  if (mapping !== undefined) {
    const { property } = withoutParentheses(node.expression) as as.PropertyAccessExpression;
    const map = access(isArray ? values : copy, "map", property.range);
    return as.Node.createCallExpression(map, typeArguments?.slice(1) ?? null, [mapping], range);
  }
  const element = typeArguments?.[0] === undefined ? null : expansion.resolve(typeArguments[0]);
  if (element === null) return copy;
  const { program } = typing;
  const type = program.resolver.resolveClass(program.arrayPrototype, [element])?.type ?? null;
  return type === null
    ? copy
    : as.Node.createAssertionExpression(AssertionKind.As, copy, new ResolvedTypeNode(type, range), range);
}

function spreadLiteral(values: as.Expression): as.Expression {
  const { range } = values;
  return as.Node.createArrayLiteralExpression(
    [as.Node.createUnaryPrefixExpression(Token.Dot_Dot_Dot, values, range)],
    range,
  );
}
