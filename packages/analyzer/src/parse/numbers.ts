/** Types of numbers, and numbers that are written. */
import { as, NodeKind } from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";

/** Whether a type is an integer that counts: `bool` does not. */
export function isInteger(type: as.Type): boolean {
  return type.isIntegerValue && type !== as.Type.bool && !type.isReference;
}

export function isSigned(type: as.Type): boolean {
  return isInteger(type) && type.isSignedIntegerValue;
}

/** Whether an expression is made of literal numbers alone. */
export function isWritten(expression: as.Expression): boolean {
  const node = withoutParentheses(expression);
  switch (node.kind) {
    case NodeKind.Literal:
      return node.isNumericLiteral;
    case NodeKind.UnaryPrefix:
      return isWritten((node as as.UnaryPrefixExpression).operand);
    case NodeKind.Binary:
      return isWritten((node as as.BinaryExpression).left) && isWritten((node as as.BinaryExpression).right);
    default:
      return false;
  }
}
