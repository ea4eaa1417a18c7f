/** `key in prices` of a `Record<string, T>`. */
import { as, Token } from "../assemblyscript.ts";
import { BlockExpression } from "../forms-nodes.ts";
import { entriesOf } from "../map-entries.ts";
import type { Expansion } from "./expander.ts";
import { isSimple } from "./place.ts";
import { again, call, constant, hidden } from "./syntax.ts";

/** Whether an expression may be one of these, as far as its words show it. */
export function mayBeMembership(node: as.Expression): node is as.BinaryExpression {
  return node instanceof as.BinaryExpression && node.operator === Token.In && !node.range.source.isLibrary;
}

/** Undefined: the expression is another, or asks something else than a `Record`. */
export function typeOfMembership(expansion: Expansion, node: as.Expression): as.Type | undefined {
  return mayBeMembership(node) && asksEntries(expansion, node) ? as.Type.bool : undefined;
}

/** Null: the same. */
export function expandMembership(expansion: Expansion, node: as.Expression): as.Expression | null {
  if (!mayBeMembership(node) || !asksEntries(expansion, node)) return null;
  const { left, right, range } = node;
  // variant: membership-order
  if (isSimple(left) && isSimple(right)) return call(right, "has", [left], range);
  // The key is evaluated first.
  const key = hidden("key", left.range.start, left.range);
  return new BlockExpression([constant(key, left)], call(right, "has", [again(key)], range), range);
}

function asksEntries({ typing, flow }: Expansion, { right }: as.BinaryExpression): boolean {
  return entriesOf(typing.of(right, flow)) !== null;
}
