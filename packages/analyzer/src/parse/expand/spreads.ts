/** `[...a, b]`, `{ ...record, field }`, `list.push(...a)`, and assignments to patterns. */
import { as, CommonFlags, ElementKind, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, NullishExpression, type RecordSpreadExpression } from "../forms-nodes.ts";
import { isOptionalMember } from "../forms-types.ts";
import { partsOfTuple } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { iteratedType } from "./loops.ts";
import {
  access,
  again,
  assigned,
  call,
  constant,
  declared,
  element,
  emptyList,
  hidden,
  identifier,
  run,
  slicedFrom,
} from "./syntax.ts";

/** The value behind `...`; null: the node is another. */
export function spreadIn(node: as.Expression): as.Expression | null {
  if (!(node instanceof as.UnaryPrefixExpression) || node.operator !== Token.Dot_Dot_Dot) return null;
  return node.operand;
}

export function hasSpread(nodes: readonly as.Expression[]): boolean {
  return nodes.some((node) => spreadIn(node) !== null);
}

// --------------------------------------------------------------------------------------------------------------- arrays

function elementOf(expansion: Expansion, { elementExpressions }: as.ArrayLiteralExpression): as.Type | null {
  const { typing, flow, context } = expansion;
  const wanted = typing.containerOf(context === as.Type.void ? null : context);
  if (wanted?.prototype.name === "Array") return wanted.typeArguments?.[0] ?? null;
  let all: as.Type | null = null;
  for (const node of elementExpressions) {
    const spread = spreadIn(node);
    const type = spread === null ? typing.of(node, flow) : iteratedType(expansion, spread);
    if (type === null) return null;
    all = all === null ? type : as.Type.commonType(all, type, as.Type.auto);
    if (all === null) return null;
  }
  return all;
}

export function typeOfArraySpread(expansion: Expansion, node: as.ArrayLiteralExpression): as.Type | null {
  const found = elementOf(expansion, node);
  if (found === null) return null;
  const { program } = expansion.typing;
  return program.resolver.resolveClass(program.arrayPrototype, [found])?.type ?? null;
}

export function expandArraySpread(expansion: Expansion, node: as.ArrayLiteralExpression): as.Expression | null {
  const { typing, flow } = expansion;
  const { range, elementExpressions } = node;
  for (const part of elementExpressions) {
    const spread = spreadIn(part);
    if (spread !== null && partsOfTuple(typing.of(spread, flow)) !== null)
      return expansion.tell("tuple_spread", part.range);
  }
  const found = elementOf(expansion, node);
  if (found === null) return null;
  const at = range.start;
  const all = hidden("all", at, range);
  const [first, ...others] = elementExpressions as [as.Expression, ...as.Expression[]];
  const copied = spreadIn(first);
  const container = copied === null ? null : typing.containerOf(typing.of(copied, flow));
  const copying = COPYING.get(container?.prototype.name ?? "");
  const isCopy = copied !== null && copying !== undefined && container?.typeArguments?.[0] === found;
  const start = isCopy ? call(copied, copying, [], first.range) : emptyList(found, range);
  const added = (isCopy ? others : elementExpressions).map((part) => pushing(all, part, at));
  return new BlockExpression([constant(all, start), ...added], again(all), range);
}

/** The methods that give a list of its own, by container. */
const COPYING: ReadonlyMap<string, string> = new Map([
  ["Array", "slice"],
  ["Set", "values"],
]);

/** Adds an element, or all that is spread. */
function pushing(list: as.IdentifierExpression, part: as.Expression, at: number): as.Statement {
  const { range } = part;
  const spread = spreadIn(part);
  if (spread === null) return run(call(again(list), "push", [part], range));
  const each = hidden("each", at, range);
  const add = run(call(again(list), "push", [again(each)], range));
  return as.Node.createForOfStatement(declared(each, null, CommonFlags.Const, null), spread, add, range);
}

/** `list.push(a, ...b)`; null: the call is another. */
export function expandPush(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const { args, range } = node;
  const callee = withoutParentheses(node.expression);
  if (!(callee instanceof as.PropertyAccessExpression) || callee.property.text !== "push") return null;
  if (args.length === 1 && spreadIn(args[0]!) === null) return null;
  const { typing, flow } = expansion;
  if (typing.containerOf(typing.of(callee.expression, flow))?.prototype.name !== "Array") return null;
  const list = hidden("list", callee.property.range.start, callee.expression.range);
  const statements = [
    constant(list, callee.expression),
    ...args.map((part) => pushing(list, part, callee.property.range.start)),
  ];
  const isUsed = expansion.context !== as.Type.void;
  return new BlockExpression(statements, isUsed ? access(again(list), "length", range) : null, range);
}

// -------------------------------------------------------------------------------------------------------------- records

function recordType({ typing, flow, context }: Expansion, { parts }: RecordSpreadExpression): as.Type | null {
  const wanted = context === as.Type.void ? null : context.getClass();
  if (wanted !== null && !wanted.declaration.range.source.isLibrary) return wanted.type;
  const first = parts.find(({ name }) => name === null);
  const type = first === undefined ? null : typing.of(first.value, flow);
  return type?.nonNullableType ?? null;
}

export function typeOfRecordSpread(expansion: Expansion, node: RecordSpreadExpression): as.Type | null {
  return recordType(expansion, node);
}

/** Whether an expression has a spread, or is an assignment to a pattern. */
export function maySpread(node: as.Expression): boolean {
  if (node instanceof as.ArrayLiteralExpression) return hasSpread(node.elementExpressions);
  if (node instanceof as.BinaryExpression)
    return node.operator === Token.Equals && partsOf(withoutParentheses(node.left)) !== null;
  if (!(node instanceof as.CallExpression)) return false;
  const { expression, args } = node;
  return (
    expression instanceof as.PropertyAccessExpression &&
    expression.property.text === "push" &&
    (args.length > 1 || hasSpread(args))
  );
}

/**
 * A new record with the fields of others: those that the type of the others says. All values are there before the record
 * is made, since a field of a type has no value to begin with.
 */
export function expandRecordSpread(expansion: Expansion, node: RecordSpreadExpression): as.Expression | null {
  const { typing, flow } = expansion;
  const { range, parts } = node;
  const type = recordType(expansion, node);
  const made = type?.getClass() ?? null;
  if (made === null || type === null) return null;
  const statements: as.Statement[] = [];
  const fields = fieldsOf(made);
  const values = new Map<string, { readonly name: as.IdentifierExpression; readonly held: as.IdentifierExpression }>();
  for (const [index, { name, value }] of parts.entries()) {
    const where = value.range;
    if (name !== null) {
      const held = hidden("field", where.start, where);
      statements.push(constant(held, value, fields.get(name.text)?.type ?? null));
      values.set(name.text, { name, held });
      continue;
    }
    const source = typing.of(value, flow)?.getClass() ?? null;
    if (source === null) return null;
    if (hasDerived(source)) return expansion.tell("spread_of_base", where);
    const spread = hidden("spread", where.start, where);
    statements.push(constant(spread, value));
    const given = new Set(parts.slice(index + 1).map((part) => part.name?.text));
    for (const [field, { isOptional }] of fieldsOf(source)) {
      const wanted = fields.get(field);
      if (wanted === undefined || given.has(field)) continue;
      const held = hidden(`spread_${field}`, where.start, where);
      const read = access(again(spread), field, where);
      const before = isOptional ? values.get(field) : undefined;
      // A member that is absent leaves the value before it.
      const kept =
        before === undefined ? read : new NullishExpression(read, again(before.held), where.start, where, true);
      statements.push(constant(held, kept, wanted.type));
      values.set(field, { name: identifier(field, where), held });
    }
  }
  const record = hidden("record", range.start, range);
  const found = [...values.values()];
  const created = as.Node.createObjectLiteralExpression(
    found.map(({ name }) => name),
    found.map(({ held }) => again(held)),
    range,
  );
  return new BlockExpression([...statements, constant(record, created, type)], again(record), range);
}

/** Whether an object of the class may have fields that the class does not have. */
export function hasDerived({ prototype }: as.Class): boolean {
  for (const known of prototype.program.elementsByName.values())
    if (known.kind === ElementKind.ClassPrototype && (known as as.ClassPrototype).basePrototype === prototype)
      return true;
  return false;
}

export interface Field {
  readonly type: as.Type;
  readonly isOptional: boolean;
  readonly declaration: as.Node;
}

/** By name. */
export function fieldsOf(owner: as.Class): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  for (const [name, member] of owner.members ?? []) {
    if (member.kind !== ElementKind.PropertyPrototype) continue;
    const { instance, fieldDeclaration } = member as as.PropertyPrototype;
    if (instance?.isField !== true || instance.is(CommonFlags.Static)) continue;
    fields.set(name, {
      type: instance.type,
      isOptional: fieldDeclaration !== null && isOptionalMember(fieldDeclaration),
      declaration: instance.declaration,
    });
  }
  return fields;
}

// ---------------------------------------------------------------------------------------------------------- assignments

/** `[a, b] = [b, a]` and `({ a } = record)`; null: the assignment is another. */
export function expandPatternAssignment(expansion: Expansion, node: as.BinaryExpression): as.Expression | null {
  const { operator, right, range } = node;
  const left = withoutParentheses(node.left);
  if (operator !== Token.Equals) return null;
  const parts = partsOf(left);
  if (parts === null) return null;
  const at = left.range.start;
  const literal = withoutParentheses(right);
  const statements: as.Statement[] = [];
  const give = (target: as.Expression, value: as.Expression): void => {
    const inner = withoutParentheses(target);
    if (inner instanceof as.BinaryExpression && inner.operator === Token.Equals) {
      const given = new NullishExpression(value, inner.right, inner.range.start, inner.range, true);
      statements.push(run(assigned(inner.left, given, inner.range)));
    } else statements.push(run(assigned(inner, value, inner.range)));
  };
  const isSwap =
    left instanceof as.ArrayLiteralExpression &&
    literal instanceof as.ArrayLiteralExpression &&
    literal.elementExpressions.length === parts.length &&
    !hasSpread([...literal.elementExpressions, ...left.elementExpressions]) &&
    literal.elementExpressions.every(({ kind }) => kind !== NodeKind.Omitted) &&
    expansion.context === as.Type.void;
  if (isSwap) {
    const names = literal.elementExpressions.map((value) => {
      const name = hidden("part", value.range.start, value.range);
      statements.push(constant(name, value));
      return name;
    });
    for (const [index, part] of parts.entries()) if (part !== null) give(part.target, again(names[index]!));
    return new BlockExpression(statements, null, range);
  }
  const held = hidden("parts", at, right.range);
  statements.push(constant(held, right));
  for (const part of parts) if (part !== null) give(part.target, part.of(again(held)));
  return new BlockExpression(statements, expansion.context === as.Type.void ? null : again(held), range);
}

interface AssignedPart {
  readonly target: as.Expression;
  of(whole: as.Expression): as.Expression;
}

/** Null: the expression is not a pattern. */
function partsOf(pattern: as.Expression): (AssignedPart | null)[] | null {
  if (pattern instanceof as.ArrayLiteralExpression)
    return pattern.elementExpressions.map((target, index) => {
      if (target.kind === NodeKind.Omitted) return null;
      const rest = spreadIn(target);
      if (rest !== null) return { target: rest, of: (whole) => slicedFrom(whole, index, target.range) };
      return { target, of: (whole) => element(whole, index, target.range) };
    });
  if (pattern instanceof as.ObjectLiteralExpression)
    return pattern.names.map((name, index) => ({
      target: pattern.values[index]!,
      of: (whole) => access(whole, name.text, name.range),
    }));
  return null;
}
