/** `new Set(values)` and `new Map(entries)`: the collection is made empty, and a loop adds what it is to hold. */
import { as, CommonFlags, ReportMode } from "../assemblyscript.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { partsOfTuple, tupleOf } from "../tuples.ts";
import type { Expansion } from "./expander.ts";
import { iteratedType } from "./loops.ts";
import { again, call, constant, declared, element, hidden, run, spreadIn } from "./syntax.ts";

const CLASSES: ReadonlyMap<string, string> = new Map([
  ["Set", "~lib/set/Set"],
  ["Map", "~lib/map/Map"],
]);

/** Whether an expression may be one of these, as far as its words show it. */
export function mayFill(node: as.Expression): node is as.NewExpression {
  if (!(node instanceof as.NewExpression) || node.range.source.isLibrary || node.args.length !== 1) return false;
  const { identifier, next } = node.typeName;
  return next === null && CLASSES.has(identifier.text);
}

/** The collection that a construction makes, and the source of its elements. */
interface Filled {
  readonly type: as.Type;
  readonly types: readonly as.Type[];
  readonly values: as.Expression;
  /** The type of the values, if they are a literal. */
  readonly list: as.Type | null;
}

/** Null: the expression is another, or the type of its elements is not known. */
function filledIn(expansion: Expansion, node: as.NewExpression): Filled | null {
  const { typing, flow } = expansion;
  const { program } = typing;
  const { typeName, typeArguments, args } = node;
  const prototype = program.resolver.resolveTypeName(typeName, flow, flow.sourceFunction, ReportMode.Swallow);
  const isMap = typeName.identifier.text === "Map";
  if (prototype === null || prototype.internalName !== CLASSES.get(typeName.identifier.text)) return null;
  const [values] = args as [as.Expression];
  const types =
    typeArguments === null
      ? isMap
        ? entryTypes(expansion, values)
        : [iteratedType(expansion, values)]
      : typeArguments.map((argument) => expansion.resolve(argument));
  const known = types.filter((type) => type !== null);
  if (known.length !== (isMap ? 2 : 1) || known.length !== types.length) return null;
  const type = program.resolver.resolveClass(prototype as as.ClassPrototype, known)?.type ?? null;
  const held = isMap ? tupleOf(program, known) : known[0]!;
  if (type === null || held === null) return null;
  const isLiteral = values instanceof as.ArrayLiteralExpression;
  const list = isLiteral ? (program.resolver.resolveClass(program.arrayPrototype, [held])?.type ?? null) : null;
  return { type, types: known, values, list };
}

/** The types of the keys and values of `[["a", 1], …]`, or of what a loop goes over. */
function entryTypes(expansion: Expansion, values: as.Expression): readonly (as.Type | null)[] {
  if (!(values instanceof as.ArrayLiteralExpression)) return partsOfTuple(iteratedType(expansion, values)) ?? [];
  const { typing, flow } = expansion;
  const entries = values.elementExpressions.map((entry) => {
    if (entry instanceof as.ArrayLiteralExpression)
      return entry.elementExpressions.map((part) => typing.of(part, flow));
    const spread = spreadIn(entry);
    return partsOfTuple(spread === null ? typing.of(entry, flow) : iteratedType(expansion, spread)) ?? [];
  });
  return [0, 1].map((index) => commonOf(entries.map((entry) => entry[index] ?? null)));
}

function commonOf([first, ...others]: readonly (as.Type | null)[]): as.Type | null {
  return others.reduce<as.Type | null>(
    (all, type) => (all === null || type === null ? null : as.Type.commonType(all, type, as.Type.auto)),
    first ?? null,
  );
}

/** Null: nothing says the type. */
export function typeOfFilled(expansion: Expansion, node: as.NewExpression): as.Type | null {
  return filledIn(expansion, node)?.type ?? null;
}

export function expandFilled(expansion: Expansion, node: as.NewExpression): as.Expression | null {
  const filled = filledIn(expansion, node);
  if (filled === null) return null;
  const { types, values, list } = filled;
  const { range, typeName } = node;
  const at = typeName.range.start;
  const where = values.range;
  const made = hidden("made", at, range);
  const given = hidden("given", at, where);
  const each = hidden("each", at, where);
  const name = as.Node.createSimpleTypeName(typeName.identifier.text, typeName.range);
  const empty = as.Node.createNewExpression(
    name,
    types.map((type) => new ResolvedTypeNode(type, range)),
    [],
    range,
  );
  const add =
    types.length === 2
      ? call(again(made), "set", [element(again(each), 0, where), element(again(each), 1, where)], where)
      : call(again(made), "add", [again(each)], where);
  const loop = as.Node.createForOfStatement(
    declared(each, null, CommonFlags.Const, null),
    list === null ? values : again(given),
    run(add),
    where,
  );
  const before = list === null ? [] : [constant(given, values, list)];
  return new BlockExpression([...before, constant(made, empty), loop], again(made), range);
}
