/** `delete record.member` gives an optional member null, and `delete record[key]` takes an entry away. Both give true. */
import { as, ElementKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { isOptionalMember } from "../forms-types.ts";
import { entriesOf } from "../map-entries.ts";
import type { Expansion } from "./expander.ts";
import { assigned, call, nothing, run, truth } from "./syntax.ts";

export function isDelete(node: as.Expression): node is as.UnaryPrefixExpression {
  return node instanceof as.UnaryPrefixExpression && node.operator === Token.Delete;
}

export function expandDelete(expansion: Expansion, node: as.UnaryPrefixExpression): as.Expression | null {
  const { range } = node;
  const deleting = deletion(expansion, withoutParentheses(node.operand), range);
  if (deleting === null) return expansion.tell("delete_operand", range);
  return expansion.context === as.Type.void
    ? deleting
    : new BlockExpression([run(deleting)], truth(true, range), range);
}

function deletion({ typing, flow }: Expansion, operand: as.Expression, range: as.Range): as.Expression | null {
  if (operand instanceof as.PropertyAccessExpression) {
    const owner = typing.of(operand.expression, flow)?.getClass() ?? null;
    const member = owner?.getMember(operand.property.text) ?? null;
    const field =
      member?.kind === ElementKind.PropertyPrototype ? (member as as.PropertyPrototype).fieldDeclaration : null;
    return field !== null && isOptionalMember(field) ? assigned(operand, nothing(range), range) : null;
  }
  if (!(operand instanceof as.ElementAccessExpression)) return null;
  const { expression: entries, elementExpression: key } = operand;
  return entriesOf(typing.of(entries, flow)) === null ? null : call(entries, "delete", [key], range);
}
