/** `[...a, b]`, `{ ...record, field }`, `list.push(...a)`, and assignments to patterns. */
import { as, CommonFlags, ElementKind, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, NullishExpression, type RecordSpreadExpression } from "../forms-nodes.ts";
import { entriesOf, recordOf } from "../map-entries.ts";
import { partsOfTuple } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { fieldsOf } from "./fields.ts";
import { iteratedType } from "./loops.ts";
import { isSimple } from "./place.ts";
import { spreadType } from "./spread-types.ts";
import {
  access,
  again,
  assigned,
  binary,
  call,
  constant,
  counting,
  declared,
  element,
  emptyList,
  hasSpread,
  hidden,
  identifier,
  integer,
  isThere,
  run,
  slicedFrom,
  spreadIn,
  textLiteral,
  variable,
  when,
} from "./syntax.ts";
import { isNullable } from "./typing.ts";

// ── Arrays ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function elementOf(expansion: Expansion, { elementExpressions }: as.ArrayLiteralExpression): as.Type | null {
  const { typing, flow, context } = expansion;
  const wanted = typing.containerOf(context === as.Type.void ? null : context);
  if (wanted?.prototype.name === "Array") return wanted.typeArguments?.[0] ?? null;
  let all: as.Type | null = null;
  for (const node of elementExpressions) {
    if (node.kind === NodeKind.Omitted) return null;
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
  // Where the type of the elements is known, AssemblyScript fills a hole with zero.
  if (hasHole(node) && (hasSpread(elementExpressions) || elementOf(expansion, node) === null))
    return expansion.tell("hole", range);
  if (hasHole(node)) return null;
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

/** `list.push(a, ...b)`: all arguments are evaluated before the first is added. Null: the call is another. */
export function expandPush(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const { args, range } = node;
  const callee = withoutParentheses(node.expression);
  if (!(callee instanceof as.PropertyAccessExpression) || callee.property.text !== "push") return null;
  const [only] = args.map(spreadIn);
  if (args.length === 1 && only === null) return null;
  const { typing, flow } = expansion;
  const container = typing.containerOf(typing.of(callee.expression, flow));
  if (container?.prototype.name !== "Array") return null;
  const at = callee.property.range.start;
  const list = hidden("list", at, callee.expression.range);
  const added = (): as.Statement[] => {
    // variant: pushed-at-once
    if (args.every(isSimple)) return args.map((part) => pushing(list, part, at));
    if (args.length === 1 && typing.containerOf(typing.of(only!, flow))?.prototype.name !== "Array")
      return [pushing(list, args[0]!, at)];
    const all = args.length === 1 ? only! : as.Node.createArrayLiteralExpression(args, range);
    return pushingAll(list, all, args.length === 1 ? null : container.type, at);
  };
  const isUsed = expansion.context !== as.Type.void;
  return new BlockExpression(
    [constant(list, callee.expression), ...added()],
    isUsed ? access(again(list), "length", range) : null,
    range,
  );
}

/** Adds the elements that an array has now: it may be the list itself. */
function pushingAll(
  list: as.IdentifierExpression,
  all: as.Expression,
  type: as.Type | null,
  at: number,
): as.Statement[] {
  const { range } = all;
  const [added, count, index] = ["added", "count", "index"].map((purpose) => hidden(purpose, at, range)) as [
    as.IdentifierExpression,
    as.IdentifierExpression,
    as.IdentifierExpression,
  ];
  const isOld = counting(binary(Token.LessThan, again(index), again(count), range));
  const next = counting(as.Node.createUnaryPrefixExpression(Token.Plus_Plus, again(index), range));
  const add = run(call(again(list), "push", [element(again(added), again(index), range)], range));
  return [
    constant(added, all, type),
    constant(count, access(again(added), "length", range)),
    as.Node.createForStatement(variable(index, integer(0, range)), isOld, next, add, range),
  ];
}

// ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function recordType(expansion: Expansion, node: RecordSpreadExpression): as.Type | null {
  const { typing, flow, context } = expansion;
  const { parts } = node;
  const wanted = context === as.Type.void ? null : context.getClass();
  const isWanted = wanted !== null && (entriesOf(context) !== null || !wanted.declaration.range.source.isLibrary);
  if (isWanted) return wanted.type;
  const first = parts.find(({ kind }) => kind === "spread");
  if (first !== undefined) {
    const type = typing.of(first.value, flow)?.nonNullableType ?? null;
    return type === null || entriesOf(type) !== null ? type : spreadType(expansion, node);
  }
  let all: as.Type | null = null;
  for (const { value } of parts) {
    const type = typing.of(value, flow);
    if (type === null || type === as.Type.void) return null;
    all = all === null ? type : as.Type.commonType(all, type, as.Type.auto);
    if (all === null) return null;
  }
  return all === null ? null : recordOf(typing.program, all);
}

export function typeOfRecordSpread(expansion: Expansion, node: RecordSpreadExpression): as.Type | null {
  return recordType(expansion, node);
}

function hasHole({ elementExpressions }: as.ArrayLiteralExpression): boolean {
  return elementExpressions.some(({ kind }) => kind === NodeKind.Omitted);
}

/** Whether an expression has a spread or a hole, or is an assignment to a pattern. */
export function maySpread(node: as.Expression): boolean {
  if (node instanceof as.ArrayLiteralExpression) return hasSpread(node.elementExpressions) || hasHole(node);
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
  if (entriesOf(type) !== null) return expandEntries(expansion, node, type);
  const statements: as.Statement[] = [];
  const fields = fieldsOf(made);
  const values = new Map<string, { readonly name: as.IdentifierExpression; readonly held: as.IdentifierExpression }>();
  for (const [index, part] of parts.entries()) {
    const { value } = part;
    const where = value.range;
    if (part.kind === "entry") return expansion.tell("computed_field", part.key.range);
    if (part.kind === "field") {
      const { name } = part;
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
    const given = new Set(parts.slice(index + 1).flatMap((later) => (later.kind === "field" ? [later.name.text] : [])));
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

/** A map with the entries of others. They are set one after the other, each key before its value. */
function expandEntries(
  expansion: Expansion,
  { parts, range }: RecordSpreadExpression,
  type: as.Type,
): as.Expression | null {
  const made = hidden("entries", range.start, range);
  const set = (key: as.Expression, value: as.Expression, where: as.Range): as.Statement =>
    run(call(again(made), "set", [key, value], where));
  const statements: as.Statement[] = [constant(made, as.Node.createObjectLiteralExpression([], [], range), type)];
  for (const part of parts) {
    const { value } = part;
    const where = value.range;
    if (part.kind !== "spread") {
      const key = part.kind === "entry" ? part.key : textLiteral(part.name.text, part.name.range);
      statements.push(set(key, value, where));
      continue;
    }
    const source = expansion.typing.of(value, expansion.flow);
    if (source === null) return null;
    if (entriesOf(source) === null) return expansion.tell("spread_into_entries", where);
    const spread = hidden("spread", where.start, where);
    const key = hidden("key", where.start, where);
    const copy = as.Node.createForOfStatement(
      declared(key, null, CommonFlags.Const, null),
      call(again(spread), "keys", [], where),
      set(again(key), call(again(spread), "get", [again(key)], where), where),
      where,
    );
    // Of null nothing is spread.
    statements.push(
      constant(spread, value),
      isNullable(source) ? when(isThere(again(spread), where), copy, where) : copy,
    );
  }
  return new BlockExpression(statements, again(made), range);
}

/** Whether an object of the class may have fields that the class does not have. */
export function hasDerived({ prototype }: as.Class): boolean {
  for (const known of prototype.program.elementsByName.values())
    if (known.kind === ElementKind.ClassPrototype && (known as as.ClassPrototype).basePrototype === prototype)
      return true;
  return false;
}

// ── Assignments ──────────────────────────────────────────────────────────────────────────────────────────────────────

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
