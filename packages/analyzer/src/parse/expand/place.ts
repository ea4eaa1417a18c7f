/** Answers that the tree of an expression gives by itself: whether it may stand at two places, and the name that it is. */
import { as, NodeKind } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";

/** The local variable that an expression names; null: it is something else, or its value is known to the compiler. */
export function localOf(node: as.Expression, flow: as.Flow): as.Local | null {
  const inner = withoutParentheses(node);
  if (inner.kind !== NodeKind.Identifier) return null;
  const local = flow.lookupLocal((inner as as.IdentifierExpression).text);
  return local !== null && local.index >= 0 ? local : null;
}

/** Whether evaluating the expression has no effect and its value is the same a moment later: names and literals. */
export function isSimple(node: as.Expression): boolean {
  const inner = withoutParentheses(node);
  switch (inner.kind) {
    case NodeKind.Identifier:
    case NodeKind.Null:
    case NodeKind.True:
    case NodeKind.False:
    case NodeKind.This:
      return true;
    case NodeKind.Literal:
      return (
        inner instanceof as.StringLiteralExpression ||
        inner instanceof as.IntegerLiteralExpression ||
        inner instanceof as.FloatLiteralExpression
      );
    default:
      return false;
  }
}

/** A copy of members, elements and calls of an object, with another object in its place. */
export function onAnother(path: as.Expression, held: string, object: as.Expression): as.Expression {
  if (path.kind === NodeKind.Identifier && (path as as.IdentifierExpression).text === held) return object;
  if (!("expression" in path)) return path;
  const changes = { expression: onAnother(path.expression as as.Expression, held, object) };
  return Object.assign(Object.create(Object.getPrototypeOf(path) as object) as as.Expression, path, changes);
}

/** `a.b.c` as a text; null: the expression is more than names. */
export function pathOf(node: as.Expression): string | null {
  const inner = withoutParentheses(node);
  if (inner.kind === NodeKind.Identifier) return (inner as as.IdentifierExpression).text;
  if (inner.kind === NodeKind.This) return "this";
  if (inner.kind !== NodeKind.PropertyAccess) return null;
  const { expression, property } = inner as as.PropertyAccessExpression;
  const object = pathOf(expression);
  return object === null ? null : `${object}.${property.text}`;
}
