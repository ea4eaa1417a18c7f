/** Values where they stand: their types hang on the tests before them. */
import { as, LocalFlags, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { boxedType } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import { assignedIn } from "./lambda.ts";

/** An expression with what is known where it stands. */
export interface Value<N extends as.Expression = as.Expression> {
  readonly node: N;
  readonly expansion: Expansion;
}

/** The type of a value. A variable that was tested for null is not null. */
export function typeOf({ typing, flow }: Expansion, value: as.Expression): as.Type | null {
  const type = typing.of(value, flow);
  const node = withoutParentheses(value);
  if (type?.isNullableReference !== true || !(node instanceof as.IdentifierExpression)) return type;
  const local = flow.lookupLocal(node.text);
  const isThere = local !== null && local.index >= 0 && flow.isLocalFlag(local.index, LocalFlags.NonNull, false);
  return isThere ? (boxedType(type) ?? type.nonNullableType) : type;
}

/**
 * The values of a choice, each with what the condition says of the variables in it. `changing`: those that may have another
 * value by then.
 */
export function sidesOf(value: Value, changing: ReadonlySet<string> = assignedIn(value.node)): readonly Value[] {
  const { expansion } = value;
  const node = withoutParentheses(value.node);
  if (!(node instanceof as.TernaryExpression)) return [value];
  const { condition, ifThen, ifElse } = node;
  return [
    ...sidesOf({ node: ifThen, expansion: knowing(expansion, thereIf(condition, true), changing) }, changing),
    ...sidesOf({ node: ifElse, expansion: knowing(expansion, thereIf(condition, false), changing) }, changing),
  ];
}

/** The same place, with names of its own. */
export function inside(expansion: Expansion): Expansion {
  return { ...expansion, flow: expansion.flow.fork() };
}

/** The same place with the knowledge that these variables are not null. */
export function knowing(expansion: Expansion, names: readonly string[], changing: ReadonlySet<string>): Expansion {
  const inner = inside(expansion);
  for (const name of new Set(names)) {
    // variant: changing-unknown
    const local = changing.has(name) ? null : expansion.flow.lookupLocal(name);
    const type = local?.type;
    if (type?.isNullableReference !== true) continue;
    // variant: known-there
    inner.flow.addScopedDummyLocal(name, boxedType(type) ?? type.nonNullableType, local!.declaration);
  }
  return inner;
}

const EQUAL: ReadonlySet<Token> = new Set([Token.Equals_Equals, Token.Equals_Equals_Equals]);
const DIFFERENT: ReadonlySet<Token> = new Set([Token.Exclamation_Equals, Token.Exclamation_Equals_Equals]);

/** The variables that are not null if a condition has this outcome. */
export function thereIf(condition: as.Expression, outcome: boolean): readonly string[] {
  const node = withoutParentheses(condition);
  if (node instanceof as.IdentifierExpression) return outcome ? [node.text] : [];
  if (node instanceof as.UnaryPrefixExpression)
    return node.operator === Token.Exclamation ? thereIf(node.operand, !outcome) : [];
  if (!(node instanceof as.BinaryExpression)) return [];
  const { operator, left, right } = node;
  if (operator === Token.Ampersand_Ampersand) return outcome ? [...thereIf(left, true), ...thereIf(right, true)] : [];
  if (operator === Token.Bar_Bar) return outcome ? [] : [...thereIf(left, false), ...thereIf(right, false)];
  if (!(outcome ? DIFFERENT : EQUAL).has(operator)) return [];
  const [one, other] = [withoutParentheses(left), withoutParentheses(right)];
  if (other.kind === NodeKind.Null) return one instanceof as.IdentifierExpression ? [one.text] : [];
  return one.kind === NodeKind.Null && other instanceof as.IdentifierExpression ? [other.text] : [];
}
