/**
 * Calls of JavaScript's library that AssemblyScript's lacks or takes in another way: `String(x)`, `Number(text)`,
 * `price.toFixed(2)`, `Object.keys(map)`, `JSON.stringify(record)`. They mean what they mean in TypeScript.
 */
import { as, AssertionKind, CommonFlags, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { entriesOf } from "../map-entries.ts";
import { boxedType } from "../nullable-numbers.ts";
import { sdkCall } from "../sdk-functions.ts";
import { tupleOf } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { expandJson } from "./json.ts";
import {
  access,
  again,
  assigned,
  call,
  constant,
  declared,
  hidden,
  integer,
  newList,
  not,
  run,
  template,
} from "./syntax.ts";
import { isNullable } from "./typing.ts";

interface LibraryCall {
  readonly expansion: Expansion;
  readonly node: as.CallExpression;
  readonly args: readonly as.Expression[];
  /** Of a method: the object and its type. */
  readonly receiver: as.Expression | null;
  readonly receiverType: as.Type | null;
  readonly range: as.Range;
  /** Where the name of the function stands: no other call has this place. */
  readonly at: number;
}

interface LibraryForm {
  /** How many arguments there are. */
  readonly args: readonly [least: number, most: number];
  /** Whether a method is one of an object of this type. */
  readonly owns?: (type: as.Type, call: LibraryCall) => boolean;
  /** Null: it is not known, or there is a mistake. */
  readonly type: (call: LibraryCall) => as.Type | null;
  /** Null: the same. */
  readonly expand: (call: LibraryCall) => as.Expression | null;
}

const text = ({ expansion }: LibraryCall): as.Type => expansion.typing.program.stringInstance.type;
const bool = (): as.Type => as.Type.bool;
const float = (): as.Type => as.Type.f64;

const isNumber = (type: as.Type): boolean => type.isNumericValue && type !== as.Type.bool;

/** Functions by their name, and by that of the object before it; methods by a point and their name. */
const FORMS: ReadonlyMap<string, LibraryForm> = new Map<string, LibraryForm>([
  ["String", { args: [1, 1], type: text, expand: ({ args, range }) => template(["", ""], [args[0]!], range) }],
  ["Number", { args: [1, 1], type: float, expand: expandNumber }],
  ["Boolean", { args: [1, 1], type: bool, expand: ({ args, range }) => not(not(args[0]!, range), range) }],
  [
    ".toFixed",
    {
      args: [0, 1],
      owns: isNumber,
      type: text,
      expand: ({ receiver, receiverType, args, range }) =>
        sdkCall("toFixed", [asFloat(receiver!, receiverType!), args[0] ?? integer(0, range)], range),
    },
  ],
  [
    ".toString",
    {
      args: [1, 1],
      owns: (type) => type.isFloatValue,
      type: text,
      expand: ({ expansion, range }) => expansion.tell("float_radix", range),
    },
  ],
  [
    ".concat",
    {
      args: [0, 99],
      owns: (type, { expansion, args }) => !isPlainConcat(expansion, type, args),
      type: ({ receiverType }) => receiverType,
      expand: expandConcat,
    },
  ],
  [".toSorted", copying("sort", 1)],
  [".toReversed", copying("reverse", 0)],
  ["Object.keys", overEntries("keys", ({ key }) => key)],
  ["Object.values", overEntries("values", ({ value }) => value)],
  ["Object.entries", { args: [1, 1], type: (found) => listOf(found, entryType(found)), expand: expandEntries }],
  ["Object.assign", { args: [1, 9], type: ({ expansion, args }) => typeOf(expansion, args[0]!), expand: expandAssign }],
  ["Object.fromEntries", { args: [1, 1], type: () => null, expand: refusedFromEntries }],
  ["JSON.stringify", { args: [1, 3], type: text, expand: expandStringify }],
]);

/** Whether a call may be one of these, as far as its words show it. */
export function mayBeOfLibrary({ expression, args }: as.CallExpression): boolean {
  if (expression.range.source.isLibrary) return false;
  return namesOf(withoutParentheses(expression)).some((name) => takes(FORMS.get(name), args.length));
}

function takes(form: LibraryForm | undefined, args: number): boolean {
  return form !== undefined && args >= form.args[0] && args <= form.args[1];
}

/** The names that a callee may have in the table. */
function namesOf(callee: as.Expression): string[] {
  if (callee instanceof as.IdentifierExpression) return [callee.text];
  if (!(callee instanceof as.PropertyAccessExpression)) return [];
  const { expression: object, property } = callee;
  const ofObject = object instanceof as.IdentifierExpression ? [`${object.text}.${property.text}`] : [];
  return [...ofObject, `.${property.text}`];
}

function find(
  expansion: Expansion,
  node: as.CallExpression,
): { readonly form: LibraryForm; readonly call: LibraryCall } | null {
  const { typing, flow } = expansion;
  const { expression, args, range } = node;
  const callee = withoutParentheses(expression);
  for (const name of namesOf(callee)) {
    const form = FORMS.get(name);
    if (form === undefined || !takes(form, args.length)) continue;
    const common = { expansion, node, args, range };
    if (!(callee instanceof as.PropertyAccessExpression)) {
      if (!typing.isGlobal(callee, flow)) continue;
      return { form, call: { ...common, receiver: null, receiverType: null, at: callee.range.start } };
    }
    const { expression: object, property } = callee;
    const at = property.range.start;
    if (form.owns === undefined) {
      if (!typing.isGlobal(object, flow)) continue;
      return { form, call: { ...common, receiver: null, receiverType: null, at } };
    }
    const type = typing.of(object, flow);
    if (type === null || isNullable(type)) continue;
    const called = { ...common, receiver: object, receiverType: type, at };
    if (form.owns(type, called)) return { form, call: called };
  }
  return null;
}

/** Undefined: the call is none of these. */
export function typeOfLibraryCall(expansion: Expansion, node: as.CallExpression): as.Type | null | undefined {
  const found = find(expansion, node);
  return found === null ? undefined : found.form.type(found.call);
}

/** Null: the call is none of these, or there is a mistake in it. */
export function expandLibraryCall(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  const found = find(expansion, node);
  return found === null ? null : found.form.expand(found.call);
}

function typeOf({ typing, flow }: Expansion, node: as.Expression): as.Type | null {
  return typing.of(node, flow);
}

// ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function cast(value: as.Expression, type: as.Type): as.Expression {
  const { range } = value;
  return as.Node.createAssertionExpression(AssertionKind.As, value, new ResolvedTypeNode(type, range), range);
}

/** A number where a float is wanted; the compiler itself converts all but the largest integers. */
function asFloat(value: as.Expression, type: as.Type): as.Expression {
  return type.isIntegerValue && type.size === 64 ? cast(value, as.Type.f64) : value;
}

function expandNumber({ expansion, args, range }: LibraryCall): as.Expression | null {
  const value = args[0]!;
  const type = typeOf(expansion, value);
  // Compiling it says what is wrong.
  if (type === null || type.isNumericValue) return cast(value, as.Type.f64);
  if (expansion.typing.isText(type.nonNullableType)) return sdkCall("numberOf", [value], range);
  return expansion.tell(boxedType(type) === null ? "number_of_object" : "number_of_null", range);
}

// ── Dates ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whether an expression may be `new Date(text)`, as far as its words show it. */
export function mayBeDate(node: as.Expression): node is as.NewExpression {
  if (!(node instanceof as.NewExpression) || node.range.source.isLibrary) return false;
  const { identifier: name, next } = node.typeName;
  return name.text === "Date" && next === null && node.args.length === 1;
}

/** `new Date(text)` is `Date.fromString(text)`; null: it is made of something else than a text. */
export function expandDate(expansion: Expansion, { typeName, args, range }: as.NewExpression): as.Expression | null {
  const { typing, flow } = expansion;
  const { identifier: name } = typeName;
  const type = typing.of(args[0]!, flow);
  if (type === null || isNullable(type) || !typing.isText(type) || !typing.isGlobal(name, flow)) return null;
  return call(again(name), "fromString", [args[0]!], range);
}

// ── Arrays ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `list.toSorted(…)` is `list.slice().sort(…)`. */
function copying(method: string, most: number): LibraryForm {
  return {
    args: [0, most],
    owns: (type, { expansion }) => expansion.typing.containerOf(type)?.prototype.name === "Array",
    type: ({ receiverType }) => receiverType,
    expand: ({ receiver, args, range }) => call(call(receiver!, "slice", [], range), method, [...args], range),
  };
}

/** Whether AssemblyScript's library has the call: one text to a text, or one array to an array of the same type. */
function isPlainConcat({ typing, flow }: Expansion, type: as.Type, args: readonly as.Expression[]): boolean {
  const isList = typing.containerOf(type)?.prototype.name === "Array";
  if (!isList && !typing.isText(type)) return true;
  return args.length === 1 && typing.of(args[0]!, flow, type) === type;
}

/** `list.concat(others, one)` is `[...list, ...others, one]`, and `text.concat(a, b)` is a template. */
function expandConcat({ expansion, receiver, receiverType, args, range, at }: LibraryCall): as.Expression | null {
  const { typing, flow } = expansion;
  if (typing.isText(receiverType)) return template(["", ...args.map(() => ""), ""], [receiver!, ...args], range);
  const statements: as.Statement[] = [];
  // All of them are evaluated before the first one is copied.
  const parts = [receiver!, ...args].map((part, index) => {
    const isList = typing.containerOf(typing.of(part, flow))?.prototype.name === "Array";
    const held = hidden(`part${index}`, at, part.range);
    const element = receiverType?.getClass()?.typeArguments?.[0] ?? null;
    statements.push(constant(held, part, isList ? null : element));
    return isList ? as.Node.createUnaryPrefixExpression(Token.Dot_Dot_Dot, again(held), part.range) : again(held);
  });
  const all = hidden("concat", at, range);
  statements.push(constant(all, as.Node.createArrayLiteralExpression(parts, range), receiverType));
  return new BlockExpression(statements, again(all), range);
}

// ── Objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Of `Record<string, T>`, in the order in which the keys were added. */
function overEntries(
  method: string,
  part: (entries: { readonly key: as.Type; readonly value: as.Type }) => as.Type,
): LibraryForm {
  return {
    args: [1, 1],
    type: (found) => {
      const entries = entriesOf(typeOf(found.expansion, found.args[0]!));
      return listOf(found, entries === null ? null : part(entries));
    },
    expand: (found) => {
      const type = typeOf(found.expansion, found.args[0]!);
      return type !== null && entriesOf(type) === null
        ? refusedEntries(found.expansion, type, found.range)
        : call(found.args[0]!, method, [], found.range);
    },
  };
}

function listOf({ expansion: { typing } }: LibraryCall, type: as.Type | null): as.Type | null {
  const { resolver, arrayPrototype } = typing.program;
  return type === null ? null : (resolver.resolveClass(arrayPrototype, [type])?.type ?? null);
}

function refusedEntries(expansion: Expansion, type: as.Type, range: as.Range): null {
  const isMap = expansion.typing.containerOf(type)?.prototype.name === "Map";
  return expansion.tell(isMap ? "entries_of_map" : "entries_of_record", range);
}

/** The tuple of a key and a value. */
function entryType({ expansion, args }: LibraryCall): as.Type | null {
  const entries = entriesOf(typeOf(expansion, args[0]!));
  return entries === null ? null : tupleOf(expansion.typing.program, [entries.key, entries.value]);
}

/** A list of tuples. A loop over the entries alone makes no list. */
function expandEntries(found: LibraryCall): as.Expression | null {
  const { expansion, node, args, range, at } = found;
  const type = typeOf(expansion, args[0]!);
  if (type === null) return args[0]!;
  const entry = entryType(found);
  if (entry === null) return refusedEntries(expansion, type, range);
  const all = hidden("entries", at, range);
  const each = hidden("entry", at, range);
  const add = run(call(again(all), "push", [again(each)], range));
  const loop = as.Node.createForOfStatement(declared(each, null, CommonFlags.Const, null), node, add, range);
  return new BlockExpression([newList(all, entry), loop], again(all), range);
}

function refusedFromEntries({ expansion, range }: LibraryCall): null {
  return expansion.tell("from_entries", range);
}

/** `Object.assign(target, { a, b })` sets the fields, after all values are evaluated. */
function expandAssign({ expansion, args, range, at }: LibraryCall): as.Expression | null {
  const [first, ...sources] = args as [as.Expression, ...as.Expression[]];
  if (withoutParentheses(first) instanceof as.ObjectLiteralExpression) return expansion.tell("object_assign", range);
  const type = typeOf(expansion, first);
  if (type === null) return first;
  const isRecord = type.getClass()?.declaration.range.source.isLibrary === false && !isNullable(type);
  const literals = sources.map((source) => withoutParentheses(source));
  if (!isRecord || literals.some((source) => !(source instanceof as.ObjectLiteralExpression)))
    return expansion.tell("object_assign", range);
  const target = hidden("target", at, first.range);
  const before: as.Statement[] = [constant(target, first)];
  const sets: as.Statement[] = [];
  for (const { names, values } of literals as as.ObjectLiteralExpression[])
    for (const [index, name] of names.entries()) {
      const value = values[index]!;
      const held = hidden("value", name.range.start, value.range);
      const field = access(again(target), name.text, name.range);
      before.push(constant(held, value, expansion.typing.within(field, expansion.flow, [[target, type]])));
      sets.push(run(assigned(field, again(held), value.range)));
    }
  const result = expansion.context === as.Type.void ? null : again(target);
  return new BlockExpression([...before, ...sets], result, range);
}

// ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

function expandStringify({ expansion, args, range, at }: LibraryCall): as.Expression | null {
  const [value, ...layout] = args as [as.Expression, ...as.Expression[]];
  if (layout.length > 0) return expansion.tell("json_layout", layout[0]!.range);
  return expandJson(expansion, value, at, range);
}
