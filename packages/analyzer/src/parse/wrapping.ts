/** Where the functions stand whose integers wrap around: those with the tag `@wrapping`. */
import { as } from "./assemblyscript.ts";
import { childrenOf, withoutParentheses } from "./children.ts";

export type FunctionRange = readonly [start: number, end: number];

/** Where the functions, methods and variables with a function are declared whose names begin at these places, by place. */
export function functionsNamedAt(
  { statements }: as.Source,
  starts: ReadonlySet<number>,
): ReadonlyMap<number, FunctionRange> {
  const found = new Map<number, FunctionRange>();
  const visit = (node: as.Node): void => {
    const name = isFunction(node) ? node.name.range.start : null;
    if (name !== null && starts.has(name)) found.set(name, [node.range.start, node.range.end]);
    childrenOf(node).forEach(visit);
  };
  statements.forEach(visit);
  return found;
}

function isFunction(node: as.Node): node is as.FunctionDeclaration | as.VariableDeclaration | as.FieldDeclaration {
  if (node instanceof as.FunctionDeclaration) return true;
  if (!(node instanceof as.VariableDeclaration || node instanceof as.FieldDeclaration)) return false;
  return node.initializer !== null && withoutParentheses(node.initializer) instanceof as.FunctionExpression;
}
