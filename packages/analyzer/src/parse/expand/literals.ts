/**
 * Object literals without a written type. `{ id, title }` is the one record of the program that it fits, or else a record of
 * its own with the types of its values (`inferred-shapes.ts`). Where its place says the type, that type counts.
 */
import { as, NodeKind, TypeKind } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { inferredShapes, type InferredField } from "../inferred-shapes.ts";
import { entriesOf } from "../map-entries.ts";
import { boxedType, nullableOf } from "../nullable-numbers.ts";
import type { Expansion } from "./expander.ts";
import { isTupleClass } from "../tuples.ts";
import { fits, fittingRecord } from "./fitting.ts";
import { absenceOf, textsOfAll } from "./origins.ts";
import { cast, hasSpread } from "./syntax.ts";
import { sidesOf, typeOf, type Value } from "./values.ts";

/** Whether an expression is an object literal, and its place does not say of which type. */
export function isUntyped(node: as.Node, context: as.Type): node is as.ObjectLiteralExpression {
  return (
    node instanceof as.ObjectLiteralExpression &&
    node.names.length > 0 &&
    !hasLiterals(context) &&
    !node.range.source.isLibrary
  );
}

/** Whether a literal can be of the type: the compiler also asks for the type of `{ … }.name` with the type of the name. */
function hasLiterals(type: as.Type): boolean {
  const found = type.getClass();
  if (found === null) return false;
  return !found.declaration.range.source.isLibrary || entriesOf(type) !== null || isTupleClass(found);
}

/** Whether an expression holds such a literal: it is one, a list of some, or a choice between some. */
export function holdsUntyped(node: as.Node, context: as.Type): boolean {
  if (isUntyped(node, context)) return true;
  const isList = node instanceof as.ArrayLiteralExpression;
  if (isList && context.getClass() !== null && !isPlain(context)) return false;
  const wanted = isList ? as.Type.auto : context;
  return alternativesIn(node).some((part) => isUntyped(withoutParentheses(part), wanted));
}

/** Whether values of a type are texts, numbers or booleans, perhaps null. */
function isPlain(type: as.Type): boolean {
  return boxedType(type) !== null || type.getClass()?.prototype.name === "String";
}

/** The elements of a list, and the sides of a choice. */
function alternativesIn(node: as.Node): readonly as.Expression[] {
  if (node instanceof as.TernaryExpression) return [node.ifThen, node.ifElse];
  return node instanceof as.ArrayLiteralExpression && !hasSpread(node.elementExpressions)
    ? node.elementExpressions
    : [];
}

/** Null: the type of a value is not known, or the literal does not say whether a value is null or absent. */
export function typeOfUntyped(expansion: Expansion, node: as.Expression): as.Type | null {
  if (node instanceof as.ObjectLiteralExpression) return typeOfAll([{ node, expansion }]);
  const values = node instanceof as.ArrayLiteralExpression ? node.elementExpressions : [node];
  const found = commonTypeOf(values.map((part) => ({ node: part, expansion })));
  if (!(node instanceof as.ArrayLiteralExpression) || found === null) return found;
  const { program } = expansion.typing;
  return program.resolver.resolveClass(program.arrayPrototype, [found])?.type ?? null;
}

/** The expression as one of its type. */
export function expandUntyped(expansion: Expansion, node: as.Expression): as.Expression | null {
  const type = typeOfUntyped(expansion, node);
  return type === null ? null : cast(copyOf(node), type, node.range);
}

/** The same expression as another node: a node has one expansion. */
function copyOf(node: as.Expression): as.Expression {
  const { range } = node;
  if (node instanceof as.ObjectLiteralExpression)
    return as.Node.createObjectLiteralExpression(node.names, node.values, range);
  if (node instanceof as.ArrayLiteralExpression)
    return as.Node.createArrayLiteralExpression(node.elementExpressions, range);
  const { condition, ifThen, ifElse } = node as as.TernaryExpression;
  return as.Node.createTernaryExpression(condition, ifThen, ifElse, range);
}

/** Tells why a literal has no type. */
export function tellLiteral(expansion: Expansion, { values, range }: as.ObjectLiteralExpression): null {
  const unknown = values.find((value) => valueType(expansion, value) === null);
  if (unknown !== undefined) return expansion.tell("literal_value", unknown.range);
  const unclear = values.find(
    (value) => typeOf(expansion, value)?.isNullableReference === true && absenceOf(expansion, value) === "unknown",
  );
  return expansion.tell("literal_absence", unclear?.range ?? range);
}

/**
 * The type that several expressions have in common, object literals among them; null: there is none. Literals with different
 * fields have a type with all of them.
 */
export function commonTypeOf(values: readonly Value[], context: as.Type = as.Type.auto): as.Type | null {
  const literals: Value<as.ObjectLiteralExpression>[] = [];
  let all: as.Type | null = null;
  let isNullable = false;
  for (const { node, expansion } of values.flatMap((value) => sidesOf(value))) {
    const inner = withoutParentheses(node);
    const { typing, flow } = expansion;
    if (isUntyped(inner, context)) {
      literals.push({ node: inner, expansion });
      continue;
    }
    isNullable ||= inner.kind === NodeKind.Null;
    if (inner.kind === NodeKind.Null) continue;
    const type = context === as.Type.auto ? typeOf(expansion, node) : typing.of(node, flow, context);
    if (type === null) return null;
    // A number that may be null is an object to the compiler.
    const plain = boxedType(type) ?? type.nonNullableType;
    isNullable ||= plain !== type;
    // variant: no-number-for-bool
    if (all !== null && (all === as.Type.bool) !== (plain === as.Type.bool)) return null;
    all = all === null ? plain : as.Type.commonType(all, plain, context);
    if (all === null) return null;
  }
  const wanted = all?.getClass() ?? null;
  const type = literals.length === 0 || (wanted !== null && fits(literals, wanted)) ? all : typeOfAll(literals);
  if (type === null) return null;
  const common = literals.length === 0 || all === null ? type : as.Type.commonType(all, type, context);
  return common === null || !isNullable ? common : nullableOf(values[0]!.expansion.typing.program, common);
}

/** The type of all of these literals. */
function typeOfAll(literals: readonly Value<as.ObjectLiteralExpression>[]): as.Type | null {
  const known = fittingRecord(literals);
  if (known !== null) return known.type;
  const fields: InferredField[] = [];
  for (const name of new Set(literals.flatMap(({ node }) => node.names.map(({ text }) => text)))) {
    const values = literals.flatMap(({ node, expansion }) => {
      const value = valueIn(node, name);
      return value === null ? [] : [{ node: value, expansion }];
    });
    const field = fieldFor(name, values, values.length < literals.length);
    if (field === null) return null;
    fields.push(field);
  }
  const { node, expansion } = literals[0]!;
  return inferredShapes(expansion.typing.program).classOf(fields, node.range)?.type ?? null;
}

/** The value of a name; the last one counts. Null: the literal lacks the name. */
function valueIn({ names, values }: as.ObjectLiteralExpression, name: string): as.Expression | null {
  return values[names.findLastIndex(({ text }) => text === name)] ?? null;
}

/** A field for values; null: nothing says its type. */
export function fieldFor(name: string, values: readonly Value[], isMissing: boolean): InferredField | null {
  const found = commonTypeOf(values);
  if (found === null || !isStorable(found)) return null;
  const kinds = new Set(
    found.isNullableReference ? values.map(({ node, expansion }) => absenceOf(expansion, node)) : [],
  );
  // variant: missing-member-absent
  if (isMissing) kinds.add("absent");
  kinds.delete("never");
  // Null is a value, and an absent member is left out of JSON.
  if (kinds.has("unknown") || kinds.size > 1) return null;
  // variant: undefined-left-out
  const isOptional = kinds.has("absent");
  const type = isOptional ? nullableOf(values[0]!.expansion.typing.program, found) : found;
  return type === null ? null : { name, type, texts: textsOfAll(values), isOptional };
}

/** The type of a field for a value; null: nothing says it, or a field can't have it. */
function valueType(expansion: Expansion, value: as.Expression): as.Type | null {
  const type = typeOf(expansion, value);
  return type === null || !isStorable(type) ? null : type;
}

/** Whether fields can have the type: it is a value, has no functions in it, and is known. */
function isStorable(type: as.Type): boolean {
  if (type === as.Type.void || type.signatureReference !== null) return false;
  const found = type.getClass();
  if (found !== null) return (found.typeArguments ?? []).every(isStorable);
  // The compiler has a size of memory for null, and for the elements of an empty list.
  return !type.isReference && type.kind !== TypeKind.Usize;
}
