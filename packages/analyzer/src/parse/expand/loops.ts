/**
 * `for…of`. Over arrays and texts it counts: the length and the elements are those of each moment, as in JavaScript. Over sets
 * and maps it goes over what they hold at the start.
 */
import { as, CommonFlags, NodeKind, Token } from "../assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { declarationsOf, heldBy, type Pattern } from "../forms-patterns.ts";
import { patternOf } from "../forms-parser.ts";
import { entriesOf } from "../map-entries.ts";
import { tupleOf } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { pathOf } from "./place.ts";
import {
  access,
  again,
  assigned,
  binary,
  block,
  call,
  choice,
  constant,
  counted,
  counting,
  declared as declaration,
  element,
  hidden,
  integer,
  run,
  variable,
} from "./syntax.ts";
import type { Typing } from "./typing.ts";

const ARRAYS = /^(Static|(Int|Uint|Float)\d+(Clamped)?)?Array$/;

/** The values that a loop goes over. */
type Source =
  | { readonly kind: "list"; readonly list: as.Expression }
  | { readonly kind: "text"; readonly text: as.Expression }
  /** The keys and values of a map. */
  | { readonly kind: "entries"; readonly map: as.Expression }
  /** The indexes and elements of an array. */
  | { readonly kind: "indexed"; readonly list: as.Expression }
  | { readonly kind: "indexes"; readonly list: as.Expression };

export function expandForOf(expansion: Expansion, node: as.ForOfStatement): as.Statement | null {
  const { iterable, body, range } = node;
  const at = range.start;
  const source = sourceOf(expansion, iterable);
  if (source === null) return null;
  const changed = changedIn(expansion, node);
  if (changed !== null) return expansion.tell("changed_while_looping", changed.range);
  const target = targetOf(node);
  const where = iterable.range;
  const list = hidden("list", at, where);
  const index = hidden("index", at, where);
  const inner: as.Statement[] = body.kind === NodeKind.Empty ? [] : [body];
  switch (source.kind) {
    case "list": {
      const found = element(again(list), again(index), where);
      return block(
        [constant(list, source.list), counted(index, list, [...given(target, found), ...inner], range)],
        range,
      );
    }
    case "text":
      return overText(source.text, target, inner, at, range);
    case "entries": {
      const pair = pairOf(expansion, target, source, at);
      if (pair === null) return null;
      const map = hidden("map", at, where);
      const values = hidden("values", at, where);
      return block(
        [
          constant(map, source.map),
          constant(list, call(again(map), "keys", [], where)),
          constant(values, call(again(map), "values", [], where)),
          counted(
            index,
            list,
            [...pair(element(again(list), again(index), where), element(again(values), again(index), where)), ...inner],
            range,
          ),
        ],
        range,
      );
    }
    case "indexed": {
      const pair = pairOf(expansion, target, source, at);
      if (pair === null) return null;
      const parts = pair(again(index), element(again(list), again(index), where));
      return block([constant(list, source.list), counted(index, list, [...parts, ...inner], range)], range);
    }
    case "indexes":
      return block(
        [constant(list, source.list), counted(index, list, [...given(target, again(index)), ...inner], range)],
        range,
      );
  }
}

/** Characters, of which some are two units of a text. */
function overText(
  text: as.Expression,
  target: Target,
  inner: as.Statement[],
  at: number,
  range: as.Range,
): as.Statement {
  const where = text.range;
  const list = hidden("text", at, where);
  const index = hidden("index", at, where);
  const next = hidden("next", at, where);
  const length = choice(
    counting(
      binary(Token.GreaterThan, call(again(list), "codePointAt", [again(index)], where), integer(0xffff, where), where),
    ),
    integer(2, where),
    integer(1, where),
    where,
  );
  const loop = as.Node.createForStatement(
    variable(index, integer(0, where)),
    counting(binary(Token.LessThan, again(index), access(again(list), "length", where), where)),
    assigned(again(index), again(next), where),
    block(
      [
        run(
          assigned(
            again(next),
            counting(binary(Token.Plus, again(index), as.Node.createParenthesizedExpression(length, where), where)),
            where,
          ),
        ),
        ...given(target, call(again(list), "substring", [again(index), again(next)], where)),
        ...inner,
      ],
      range,
    ),
    range,
  );
  return block([constant(list, text), variable(next, integer(0, where)), loop], range);
}

function sourceOf({ typing, flow }: Expansion, iterable: as.Expression): Source | null {
  const inner = withoutParentheses(iterable);
  if (inner.kind === NodeKind.Call) {
    const { expression, args } = inner as as.CallExpression;
    const callee = withoutParentheses(expression);
    const [argument] = args;
    if (callee.kind === NodeKind.PropertyAccess && argument !== undefined && isEntriesCall(typing, flow, callee))
      return entriesOf(typing.of(argument, flow)) === null ? null : { kind: "entries", map: argument };
    if (callee.kind === NodeKind.PropertyAccess && argument === undefined) {
      const { expression: owner, property } = callee as as.PropertyAccessExpression;
      const name = typing.containerOf(typing.of(owner, flow))?.prototype.name ?? "";
      if (property.text === "entries" && name === "Map") return { kind: "entries", map: owner };
      if (property.text === "entries" && ARRAYS.test(name)) return { kind: "indexed", list: owner };
      if (property.text === "keys" && ARRAYS.test(name)) return { kind: "indexes", list: owner };
      // An array is its own list of values.
      if (property.text === "values" && ARRAYS.test(name)) return { kind: "list", list: owner };
    }
  }
  const type = typing.of(iterable, flow);
  if (type === null) return null;
  if (typing.isText(type)) return { kind: "text", text: iterable };
  const name = typing.containerOf(type)?.prototype.name ?? "";
  if (ARRAYS.test(name)) return { kind: "list", list: iterable };
  if (name === "Map") return { kind: "entries", map: iterable };
  if (name === "Set") return { kind: "list", list: call(iterable, "values", [], iterable.range) };
  return null;
}

/** The type of the values that a loop or spread goes over; null: the expression has none. */
export function iteratedType(expansion: Expansion, iterable: as.Expression): as.Type | null {
  const { typing, flow } = expansion;
  const source = sourceOf(expansion, iterable);
  switch (source?.kind) {
    case "list":
      return typing.of(element(source.list, 0, iterable.range), flow);
    case "text":
      return typing.of(source.text, flow);
    case "entries":
    case "indexed":
      return entryType(expansion, source);
    case "indexes":
      return as.Type.i32;
    case undefined:
      return null;
  }
}

/** The tuple that an entry is. */
function entryType({ typing, flow }: Expansion, source: Source): as.Type | null {
  switch (source.kind) {
    case "entries": {
      const [key, value] = typing.containerOf(typing.of(source.map, flow))?.typeArguments ?? [];
      return key === undefined || value === undefined ? null : tupleOf(typing.program, [key, value]);
    }
    case "indexed": {
      const value = typing.of(element(source.list, 0, source.list.range), flow);
      return value === null ? null : tupleOf(typing.program, [as.Type.i32, value]);
    }
    default:
      return null;
  }
}

/** `Object.entries`. */
function isEntriesCall(typing: Typing, flow: as.Flow, callee: as.Expression): boolean {
  const { expression: owner, property } = callee as as.PropertyAccessExpression;
  return property.text === "entries" && pathOf(owner) === "Object" && typing.isGlobal(owner, flow);
}

// ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The names or the place for the value of each round. */
type Target =
  | { readonly kind: "name"; readonly name: as.IdentifierExpression; readonly flags: CommonFlags }
  | { readonly kind: "pattern"; readonly pattern: Pattern; readonly flags: CommonFlags }
  | { readonly kind: "place"; readonly place: as.Expression };

function targetOf({ variable: declared }: as.ForOfStatement): Target {
  if (declared.kind !== NodeKind.Variable)
    return { kind: "place", place: (declared as as.ExpressionStatement).expression };
  const first = (declared as as.VariableStatement).declarations[0]!;
  const pattern = patternOf(first);
  const { name, flags } = first;
  return pattern === null
    ? { kind: "name", name, flags: (flags & CommonFlags.Const) === 0 ? CommonFlags.Let : flags }
    : { kind: "pattern", pattern, flags: CommonFlags.Let };
}

function given(target: Target, value: as.Expression): as.Statement[] {
  switch (target.kind) {
    case "name":
      return [declaration(target.name, value, target.flags, null)];
    case "pattern": {
      const held = heldBy(target.pattern);
      return [constant(held, value), ...declarations(target.pattern, held, target.flags)];
    }
    case "place":
      return [run(assigned(target.place, value, value.range))];
  }
}

function declarations(pattern: Pattern, held: as.IdentifierExpression, flags: CommonFlags): as.Statement[] {
  const all = declarationsOf(pattern, held, flags);
  return all.length === 0 ? [] : [as.Node.createVariableStatement(null, all, pattern.range)];
}

/** Gives a key and a value to the two parts of `[key, value]`, or as a tuple; null: their type is not known. */
function pairOf(
  expansion: Expansion,
  target: Target,
  source: Source,
  at: number,
): ((first: as.Expression, second: as.Expression) => as.Statement[]) | null {
  if (target.kind !== "pattern" || target.pattern.kind !== "array") return asTuple(expansion, target, source, at);
  const { elements, rest } = target.pattern;
  if (rest !== null || elements.length > 2) return asTuple(expansion, target, source, at);
  return (first, second) =>
    [first, second].flatMap((value, index) => {
      const part = elements[index] ?? null;
      if (part === null) return [];
      if (part.target instanceof as.IdentifierExpression) return [declaration(part.target, value, target.flags, null)];
      const held = heldBy(part.target);
      return [constant(held, value), ...declarations(part.target, held, target.flags)];
    });
}

function asTuple(expansion: Expansion, target: Target, source: Source, at: number): ReturnType<typeof pairOf> {
  const type = entryType(expansion, source);
  if (type === null) return null;
  return (first, second) => {
    const { range } = first;
    const entry = hidden("entry", at, range);
    const literal = as.Node.createArrayLiteralExpression([first, second], range);
    return [constant(entry, literal, type), ...given(target, again(entry))];
  };
}

// ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const CHANGING = new Set(["set", "add", "delete", "clear"]);

/** A call in the body of a loop over a set or map that changes it; null: none is seen. An array may change. */
function changedIn(
  { typing, flow }: Expansion,
  { iterable, variable: declared, body }: as.ForOfStatement,
): as.Node | null {
  const inner = withoutParentheses(iterable);
  const callee = inner.kind === NodeKind.Call ? withoutParentheses((inner as as.CallExpression).expression) : inner;
  const owner =
    inner.kind === NodeKind.Call && callee.kind === NodeKind.PropertyAccess
      ? (callee as as.PropertyAccessExpression).expression
      : inner;
  const isOfValues =
    inner.kind === NodeKind.Call && (callee as as.PropertyAccessExpression).property?.text === "values";
  const path = pathOf(owner);
  const name = typing.containerOf(typing.of(owner, flow))?.prototype.name ?? "";
  if (path === null || (name !== "Map" && name !== "Set")) return null;
  const key = isOfValues && name === "Map" ? new Set<string>() : keyNames(declared);
  const visit = (node: as.Node): as.Node | null => {
    if (node.kind === NodeKind.Call) {
      const { expression, args } = node as as.CallExpression;
      const method = withoutParentheses(expression);
      if (method.kind === NodeKind.PropertyAccess) {
        const { expression: object, property } = method as as.PropertyAccessExpression;
        const [first] = args;
        // Another value for the key of the round, or no value: what comes later stays as it is.
        const isOfRound = first !== undefined && key.has(pathOf(first) ?? "") && property.text !== "add";
        if (CHANGING.has(property.text) && pathOf(object) === path && !isOfRound) return node;
      }
    }
    for (const child of childrenOf(node)) {
      const found = visit(child);
      if (found !== null) return found;
    }
    return null;
  };
  return visit(body);
}

/** The names that hold the key of each round. */
function keyNames(declared: as.Statement): ReadonlySet<string> {
  if (declared.kind !== NodeKind.Variable) return new Set();
  const first = (declared as as.VariableStatement).declarations[0]!;
  const pattern = patternOf(first);
  if (pattern === null) return new Set([first.name.text]);
  const key = pattern.kind === "array" ? (pattern.elements[0]?.target ?? null) : null;
  return new Set(key instanceof as.IdentifierExpression ? [key.text] : []);
}
