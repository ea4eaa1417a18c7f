/**
 * `a?.b`, `a ?? b`, `a ??= b`, `a ||= b`, `a &&= b`. Only null is absent: not zero, not an empty text. The object of a chain
 * is evaluated once, and nothing of the chain behind it where the object is null.
 */
import { as, AssertionKind, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { boxedType, nullableOf } from "../nullable-numbers.ts";
import { BlockExpression, ChainExpression, NullishExpression, type AssignIfExpression } from "../forms-nodes.ts";
import { isOptionalMember } from "../forms-types.ts";
import type { Expansion } from "./expander.ts";
import { isNameOfTested } from "../tested-fields.ts";
import { missingIn, type Asked, type Missing } from "./missing.ts";
import { holdsUntyped } from "./literals.ts";
import { isSimple, localOf, onAnother } from "./place.ts";
import {
  access,
  again,
  assigned,
  binary,
  block,
  cast,
  choice,
  constant,
  element,
  hidden,
  integer,
  isNull,
  isThere,
  not,
  nothing,
  run,
  truth,
  variable,
  when,
} from "./syntax.ts";
import { fieldIn } from "./tuples.ts";
import { isNullable, isReference } from "./typing.ts";

// ── `a?.b` ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The part of a chain behind its object, where the object is there. */
interface Rest {
  readonly type: as.Type;
  readonly rest: as.Expression;
}

/** Null: it has no type. */
function restIn({ typing, flow }: Expansion, { object, held, rest }: ChainExpression): Rest | null {
  const owner = typing.of(object, flow);
  const type = owner === null ? null : typing.within(rest, flow, [[held, owner.nonNullableType]]);
  return type === null ? null : { type, rest };
}

/** The same, with null for an element or entry that is missing: `found?.lines[0]`. */
function restOrNull(expansion: Expansion, node: ChainExpression): Rest | null {
  const known = restIn(expansion, node);
  const { typing, flow } = expansion;
  const owner = typing.of(node.object, flow);
  if (known === null || known.type === as.Type.void || owner === null) return known;
  const inner = flow.fork();
  inner.addScopedDummyLocal(node.held.text, owner.nonNullableType, node.held);
  const missing = missingIn({ ...expansion, flow: inner }, node.rest);
  const type = missing === null ? null : nullableOf(typing.program, missing.type);
  // variant: missing-element
  if (missing === null || type === null) return known;
  const { range } = node.rest;
  return { type, rest: orNull(missing, hidden("element", range.end, range), type) };
}

/** The element or entry, or null. */
function orNull(missing: Missing, name: as.IdentifierExpression, type: as.Type | null): as.Expression {
  const { range } = name;
  const { statements, isKnown, found } = missing.ask(range.end, range);
  const value = choice(isKnown, found, nothing(range), range);
  return new BlockExpression([...statements, constant(name, value, type)], again(name), range);
}

function restType(expansion: Expansion, node: ChainExpression): as.Type | null {
  return restIn(expansion, node)?.type ?? null;
}

export function typeOfChain(expansion: Expansion, node: ChainExpression): as.Type | null {
  const type = restType(expansion, node);
  return type === null || type === as.Type.void ? type : (nullableOf(expansion.typing.program, type) ?? type);
}

/** The object of a chain under a name: its own if that is a variable, which the compiler then knows to be there. */
interface Held {
  readonly before: as.Statement[];
  readonly object: () => as.Expression;
  readonly rest: as.Expression;
}

function heldIn(expansion: Expansion, node: ChainExpression, rest: as.Expression = node.rest): Held {
  const { object, held } = node;
  const { flow } = expansion;
  const name = withoutParentheses(object);
  // variant: missing-object
  const missing = missingIn(expansion, object);
  if (missing !== null || localOf(object, flow) === null) {
    const found = hidden("element", object.range.end, object.range);
    const type = missing === null ? null : nullableOf(expansion.typing.program, missing.type);
    const value = missing === null ? object : orNull(missing, found, type);
    return { before: [constant(again(held), value, type)], object: () => again(held), rest };
  }
  const own = (): as.Expression => again(name as as.IdentifierExpression);
  const behindOwn =
    rest === node.rest
      ? onAnother(rest, held.text, own())
      : new BlockExpression([constant(again(held), own())], rest, rest.range);
  return { before: [], object: own, rest: behindOwn };
}

export function expandChain(expansion: Expansion, node: ChainExpression): as.Expression | null {
  const { context, typing, flow } = expansion;
  const { range, object } = node;
  const objectType = typing.of(object, flow);
  if (objectType !== null && !isNullable(objectType) && missingIn(expansion, object) === null) {
    if (isNameOfTested(object)) return onAnother(node.rest, node.held.text, object);
    return expansion.tell("never_null_chain", object.range);
  }
  const known = restOrNull(expansion, node);
  if (known === null) return null;
  const { type } = known;
  const { before, object: held, rest } = heldIn(expansion, node, known.rest);
  const there = isThere(held(), range);
  if (context === as.Type.void || type === as.Type.void)
    return new BlockExpression([...before, when(there, run(rest), range)], null, range);
  if (expansion.isCondition) return behind(before, binary(Token.Ampersand_Ampersand, there, rest, range), range);
  if (isReference(type)) return behind(before, choice(there, rest, nothing(range), range), range);
  const nullable = nullableOf(typing.program, type);
  if (nullable === null) return null;
  // Alone, neither side says that the whole is a number or null.
  const found = hidden("found", range.end, range);
  const set = when(there, run(assigned(again(found), rest, range)), range);
  return new BlockExpression([...before, variable(found, nothing(range), nullable), set], again(found), range);
}

function behind(before: as.Statement[], result: as.Expression, range: as.Range): as.Expression {
  return before.length === 0 ? result : new BlockExpression(before, result, range);
}

/** `!a?.b`, where `b` is a value that can't be null. */
export function expandNegation(expansion: Expansion, node: as.UnaryPrefixExpression): as.Expression | null {
  const chain = withoutParentheses(node.operand);
  if (node.operator !== Token.Exclamation || !(chain instanceof ChainExpression)) return null;
  const { range } = node;
  const type = restType(expansion, chain);
  if (type === null || isReference(type) || type === as.Type.void) return null;
  const { before, object, rest } = heldIn(expansion, chain);
  const absent = isNull(object(), range);
  return behind(before, binary(Token.Bar_Bar, absent, not(rest, rest.range), range), range);
}

const COMPARISONS: ReadonlySet<Token> = new Set([
  Token.Equals_Equals,
  Token.Equals_Equals_Equals,
  Token.Exclamation_Equals,
  Token.Exclamation_Equals_Equals,
  Token.LessThan,
  Token.LessThan_Equals,
  Token.GreaterThan,
  Token.GreaterThan_Equals,
]);

const UNEQUAL: ReadonlySet<Token> = new Set([Token.Exclamation_Equals, Token.Exclamation_Equals_Equals]);

/**
 * `a?.b == c` is `a != null && a.b == c`, so that the compiler knows in what follows that `a` is there; `a?.b != c` is
 * `a == null || a.b != c`. Null: the comparison has no chain on its left, or both sides may be null: the compiler knows
 * how to compare these.
 */
export function expandComparison(expansion: Expansion, node: as.BinaryExpression): as.Expression | null {
  const { operator, right, range } = node;
  const chain = withoutParentheses(node.left);
  if (!COMPARISONS.has(operator) || !(chain instanceof ChainExpression)) return null;
  const type = restType(expansion, chain);
  if (type === null || type === as.Type.void) return null;
  const { before, object, rest } = heldIn(expansion, chain);
  const isUnequal = UNEQUAL.has(operator);
  const combined = (compared: as.Expression): as.Expression =>
    isUnequal
      ? binary(Token.Bar_Bar, isNull(object(), chain.range), compared, range)
      : binary(Token.Ampersand_Ampersand, isThere(object(), chain.range), compared, range);
  if (withoutParentheses(right).kind === NodeKind.Null) {
    if (isReference(type)) return null;
    // The value behind the chain is not null, but evaluating it may do something.
    const known = as.Node.createCommaExpression([rest, truth(isUnequal, range)], range);
    const asked = isUnequal
      ? binary(Token.Ampersand_Ampersand, isThere(object(), range), known, range)
      : binary(Token.Bar_Bar, isNull(object(), range), known, range);
    return behind(before, asked, range);
  }
  const other = expansion.typing.of(right, expansion.flow, type);
  if (other === null || isNullable(other)) return null;
  if (isSimple(right)) return behind(before, combined(binary(operator, rest, right, range)), range);
  if (isReference(type)) return null;
  // The right side is evaluated also where the object is null.
  const found = hidden("found", chain.range.end, chain.range);
  const compared = hidden("compared", right.range.start, right.range);
  const statements = [
    ...before,
    variable(found, zeroOf(type, range), type),
    when(isThere(object(), range), run(assigned(again(found), rest, range)), range),
    constant(compared, right),
  ];
  return new BlockExpression(statements, combined(binary(operator, again(found), again(compared), range)), range);
}

/** A value of a number type or bool. */
export function zeroOf(type: as.Type, range: as.Range): as.Expression {
  return type.isBooleanValue ? truth(false, range) : integer(0, range);
}

// ── `a ?? b` ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How the left side of `??` says that there is nothing. */
type Left =
  /** By null. */
  | { readonly kind: "nullable"; readonly type: as.Type }
  /** A number or bool behind a chain: by the object of the chain. */
  | { readonly kind: "chain"; readonly chain: ChainExpression; readonly type: as.Type }
  /** An element or entry that may be missing. */
  | { readonly kind: "missing"; readonly type: as.Type; readonly missing: Missing }
  | { readonly kind: "null" }
  | { readonly kind: "never"; readonly type: as.Type };

function leftOf(expansion: Expansion, node: as.Expression): Left | null {
  const { typing, flow } = expansion;
  const inner = withoutParentheses(node);
  if (inner.kind === NodeKind.Null) return { kind: "null" };
  if (inner instanceof ChainExpression) {
    const type = restOrNull(expansion, inner)?.type ?? null;
    if (type === null || type === as.Type.void) return null;
    return isReference(type) ? { kind: "nullable", type: type.asNullable() } : { kind: "chain", chain: inner, type };
  }
  const type = typing.of(inner, flow);
  if (type === null || type === as.Type.void) return null;
  const missing = missingIn(expansion, inner);
  if (missing !== null) return { kind: "missing", type, missing };
  return isNullable(type) ? { kind: "nullable", type } : { kind: "never", type };
}

export function typeOfNullish(expansion: Expansion, { left, right, isDefault }: NullishExpression): as.Type | null {
  const { typing, flow, context } = expansion;
  const known = leftOf(expansion, left);
  if (known === null) return null;
  if (known.kind === "null") return typing.of(right, flow, context);
  if (isDefault && isElement(known) && isNullable(known.type)) return known.type;
  const there = boxedType(known.type) ?? known.type.nonNullableType;
  const other = typing.of(right, flow, there);
  if (other === null || other === as.Type.void) return there;
  return as.Type.commonType(there, other, context);
}

export function expandNullish(expansion: Expansion, node: NullishExpression): as.Expression | null {
  const { left, right, at, range, isDefault } = node;
  // A literal without a type is one of the left side, which is not null where the literal is not wanted.
  const literal = holdsUntyped(withoutParentheses(right), expansion.context);
  const type = literal ? typeOfNullish(expansion, node) : null;
  if (type !== null) {
    const typed = cast(right, type, right.range);
    return expandNullish(expansion, new NullishExpression(left, typed, at, range, isDefault));
  }
  const { typing, flow } = expansion;
  const known = leftOf(expansion, left);
  if (known === null) return null;
  const ends = typing.of(right, flow) === as.Type.void;
  switch (known.kind) {
    case "null":
      return right;
    case "never":
      return isDefault || isNameOfTested(left) ? left : expansion.tell("never_null", right.range);
    case "nullable": {
      if (isDefault && !isOptional(expansion, left)) {
        expansion.tell("default_for_null", right.range);
        return left;
      }
      if (ends) {
        const found = hidden("found", at, left.range);
        const statements = [constant(found, left), when(isNull(again(found), range), run(right), range)];
        return new BlockExpression(statements, again(found), range);
      }
      const inner = withoutParentheses(left);
      if (localOf(inner, flow) !== null) {
        const name = inner as as.IdentifierExpression;
        return choice(isThere(again(name), range), again(name), right, range);
      }
      const found = hidden("found", at, left.range);
      return new BlockExpression(
        [constant(found, left)],
        choice(isThere(again(found), range), again(found), right, range),
        range,
      );
    }
    case "chain": {
      const { before, object, rest } = heldIn(expansion, known.chain);
      if (ends) return new BlockExpression([...before, when(isNull(object(), range), run(right), range)], rest, range);
      return behind(before, choice(isThere(object(), range), rest, right, range), range);
    }
    case "missing": {
      const asked = known.missing.ask(at, range);
      if (!isNullable(known.type)) return present(asked, right, ends, range);
      if (!isDefault || !isElement(known)) return presentOrNull(asked, node, known.type, ends);
      // An element that is there may be null, and stays so.
      const value = hidden("found", at, left.range);
      const given = constant(value, choice(asked.isKnown, asked.found, right, range), known.type);
      return new BlockExpression([...asked.statements, given], again(value), range);
    }
  }
}

function isElement(left: Left): boolean {
  return left.kind === "missing" && left.missing.kind === "element";
}

/** Whether an expression is an optional member: null there means that it is absent. */
function isOptional({ typing, flow }: Expansion, node: as.Expression): boolean {
  const declaration = typing.fieldOf(node, flow);
  // variant: default-for-absent
  return declaration !== null && isOptionalMember(declaration);
}

/** The value that is there and is not null, else the right side; `ends`: the right side ends the handler. */
function presentOrNull(
  { statements, isKnown, found }: Asked,
  { left, right, at, range }: NullishExpression,
  type: as.Type,
  ends: boolean,
): as.Expression {
  const value = hidden("found", at, left.range);
  const ask = constant(value, choice(isKnown, found, nothing(range), range), type);
  if (ends) {
    const stop = when(isNull(again(value), range), run(right), range);
    return new BlockExpression([...statements, ask, stop], again(value), range);
  }
  const chosen = choice(isThere(again(value), range), again(value), right, range);
  return new BlockExpression([...statements, ask], chosen, range);
}

/** The value that is there, else the right side; `ends`: the right side ends the handler. */
function present(
  { statements, isKnown, found }: Asked,
  right: as.Expression,
  ends: boolean,
  range: as.Range,
): as.Expression {
  if (!ends) return new BlockExpression(statements, choice(isKnown, found, right, range), range);
  return new BlockExpression([...statements, when(not(isKnown, range), run(right), range)], found, range);
}

// ── `a ??= b` ────────────────────────────────────────────────────────────────────────────────────────────────────────

export function typeOfAssignIf({ typing, flow, context }: Expansion, node: AssignIfExpression): as.Type | null {
  const type = typing.of(node.target, flow, context);
  return type === null || node.operator === "&&" ? type : assignedType({ typing, flow }, node, type);
}

/** The type of the value that the target is given: null is one of its values if it is one of the right side. */
function assignedType(
  { typing, flow }: Pick<Expansion, "typing" | "flow">,
  { value }: AssignIfExpression,
  type: as.Type,
): as.Type {
  if (withoutParentheses(value).kind === NodeKind.Null) return type;
  const there = boxedType(type) ?? type.nonNullableType;
  const given = typing.of(value, flow, there);
  return given !== null && isNullable(given) ? type : there;
}

export function expandAssignIf(expansion: Expansion, node: AssignIfExpression): as.Expression | null {
  const { operator, value, at, range } = node;
  const { typing, flow, context } = expansion;
  const target = withoutParentheses(node.target);
  const type = typing.of(target, flow);
  if (type === null || type === as.Type.void) return null;
  if (operator === "??" && !isNullable(type)) return expansion.tell("never_null", value.range);
  const before: as.Statement[] = [];
  const held = (part: as.Expression, purpose: string): (() => as.Expression) => {
    // A class or namespace is not a value.
    if (typing.of(part, flow) === null) return () => part;
    const name = hidden(purpose, at, part.range);
    before.push(constant(name, part));
    return () => again(name);
  };
  let place: () => as.Expression;
  switch (target.kind) {
    case NodeKind.Identifier:
      place = () => again(target as as.IdentifierExpression);
      break;
    case NodeKind.PropertyAccess: {
      const { expression, property } = target as as.PropertyAccessExpression;
      const object = held(expression, "object");
      place = () => access(object(), property.text, target.range);
      break;
    }
    case NodeKind.ElementAccess: {
      const { expression, elementExpression } = target as as.ElementAccessExpression;
      const field = fieldIn(expansion, target as as.ElementAccessExpression);
      const object = held(expression, "object");
      if (field !== null) {
        place = () => access(object(), field, target.range);
        break;
      }
      const index = held(elementExpression, "index");
      place = () => element(object(), index(), target.range);
      break;
    }
    default:
      // The parser lets no other pass.
      return null;
  }
  const isWanted = (read: as.Expression): as.Expression =>
    operator === "??" ? isNull(read, range) : operator === "||" ? not(read, range) : read;
  // As a value of its own type: where the target may be null, the compiler would take the value for one that may be too.
  const given = hidden("value", at, value.range);
  const give = constant(given, value, assignedType(expansion, node, type));
  if (context === as.Type.void) {
    const set = block([give, run(assigned(place(), again(given), range))], range);
    return new BlockExpression([...before, when(isWanted(place()), set, range)], null, range);
  }
  // The value of the whole is what was there or what is assigned; it is not read again.
  const found = hidden("found", at, target.range);
  const set = block(
    [give, run(assigned(place(), again(given), range)), run(assigned(again(found), again(given), range))],
    range,
  );
  const statements = [...before, variable(found, place(), type), when(isWanted(again(found)), set, range)];
  const whole = again(found);
  // A value that counts as true is not null.
  const isNotNull = operator === "||" && isNullable(type) && !isNullable(assignedType(expansion, node, type));
  return new BlockExpression(
    statements,
    isNotNull ? as.Node.createAssertionExpression(AssertionKind.NonNull, whole, null, range) : whole,
    range,
  );
}
