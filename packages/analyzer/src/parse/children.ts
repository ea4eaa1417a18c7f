import { as, NodeKind } from "./assemblyscript.ts";

/** All nodes in the fields of a node of any kind, in the order of the fields. */
export function childrenOf(node: as.Node): as.Node[] {
  const children: as.Node[] = [];
  const fields = node as unknown as Readonly<Record<string, unknown>>;
  // Most fields are numbers, texts and places: whole trees are walked several times in a build.
  for (const name in fields) {
    if (name === "range") continue;
    const value = fields[name];
    if (typeof value !== "object" || value === null) continue;
    if (value instanceof as.Node) children.push(value);
    else if (Array.isArray(value)) for (const item of value) if (item instanceof as.Node) children.push(item);
  }
  return children;
}

export function withoutParentheses(expression: as.Expression): as.Expression {
  let inner = expression;
  while (inner.kind === NodeKind.Parenthesized) inner = (inner as as.ParenthesizedExpression).expression;
  return inner;
}
