import { as, NodeKind } from "./assemblyscript.ts";

/** Whatever nodes the node holds, whichever kind it has, in the order of its fields. */
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
