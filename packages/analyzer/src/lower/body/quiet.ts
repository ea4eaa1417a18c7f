/** The expressions that may be evaluated twice, or in another order. */
import { operands, type Expression } from "../ir.ts";

/** Whether evaluating the expression changes nothing and calls nothing of the application. */
export function isQuiet(expression: Expression): boolean {
  switch (expression.kind) {
    case "constant":
    case "local":
    case "global":
    case "field":
    case "operation":
    case "cast":
    case "non-null":
    case "instance-of":
    case "logical":
    case "conditional":
    case "now":
    case "caller":
    case "template":
    case "function-value":
      return operands(expression).every(isQuiet);
    case "sequence":
      return expression.statements === undefined && operands(expression).every(isQuiet);
    case "library":
      return (
        !expression.member.writes &&
        expression.member.callback === null &&
        expression.member.form !== "constructor" &&
        operands(expression).every(isQuiet)
      );
    case "assignment":
    case "call":
    case "indirect-call":
    case "construction":
    case "array":
    case "new-table":
    case "access":
    case "scan":
    case "draw":
    case "abort":
    case "lane":
      return false;
  }
}
