import { as, NodeKind } from "./assemblyscript.ts";

/** All nodes in the fields of a node of any kind, in the order of the fields. */
export function childrenOf(node: as.Node): as.Node[] {
  const children: as.Node[] = [];
  for (const value of Object.values(node) as unknown[]) {
    if (value instanceof as.Node) children.push(value);
    else if (Array.isArray(value)) children.push(...value.filter((item) => item instanceof as.Node));
  }
  return children;
}

export function withoutParentheses(expression: as.Expression): as.Expression {
  let inner = expression;
  while (inner.kind === NodeKind.Parenthesized) inner = (inner as as.ParenthesizedExpression).expression;
  return inner;
}
