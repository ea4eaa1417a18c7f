/** Indexes: the accesses of their ranges, and those with which a table keeps their entries. */
import { type IndexDeclaration, NOT_UNIQUE, notUniqueMessage } from "@radical/protocol";
import { type as, ElementKind, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { indexClass, indexesOfTable, isIndexRange, writtenIndexes, type WrittenIndex } from "../../parse/indexes.ts";
import {
  BOOL,
  STRING,
  VOID,
  type Access,
  type ClassDeclaration,
  type Expression,
  type FieldDeclaration,
  type Local,
  type Scan,
  type Statement,
  type Type,
} from "../ir.ts";
import { libraryMember } from "../library.ts";
import { Refusal } from "../refusal.ts";
import { typed } from "./conversions.ts";
import { originsOf } from "./index-origin.ts";
import { libraryCall, unknownMember } from "./library-members.ts";
import type { BodyLowering } from "./lower-body.ts";

const INT: Type = { kind: "number", name: "i32" };
const TEXT_OR_NULL: Type = { kind: "nullable", inner: STRING };

// ── Ranges of indexes ────────────────────────────────────────────────────────────────────────────────────────────────

/** A call of a method of an index or of one of its ranges; null: it is another. */
export function lowerIndexCall(
  lowering: BodyLowering,
  node: as.CallExpression,
  calleeNode: as.PropertyAccessExpression,
  callee: as.Function,
  span: Span,
): Expression | null {
  const { internalName } = (callee.parent as as.Class).prototype;
  const isIndex = indexClass(internalName) !== null;
  if (!isIndex && !isIndexRange(internalName)) return null;
  const { name } = callee.prototype;
  const { expression: receiver } = calleeNode;
  if (name === "equal" || name === "find") return lowerParts(lowering, node, callee, span);
  const [argument] = node.args;
  const object = lowering.expression(receiver);
  const args = argument === undefined ? [] : [lowering.expression(argument)];
  if (isIndex) return name === "all" ? libraryCall(libraryMember("Table", "all")!, object, [], RANGE, span) : null;
  switch (name) {
    case "after":
    case "before":
      return libraryCall(libraryMember("Range", name)!, object, args, RANGE, span);
    case "count":
      return { kind: "scan", operation: name, range: object, limit: null, type: INT, span };
    case "first":
    case "last":
      return lowerRows(lowering, name, object, args[0]!, indexed(lowering, receiver, callee, span), callee, span);
    default:
      throw unknownMember("IndexRange", name, span);
  }
}

/** An index in the IR is the table of its entries, whose values are the items' keys. */
const ENTRIES = { kind: "table", record: STRING } as const satisfies Type;
const RANGE: Type = { kind: "library", name: "Range", arguments: [STRING] };

/** `index.equal(a).equal(b)` is a range of the index's entries, and `find` one entry. */
function lowerParts(lowering: BodyLowering, node: as.CallExpression, callee: as.Function, span: Span): Expression {
  const values: Expression[] = [];
  let at: as.Expression = node;
  while (at.kind === NodeKind.Call) {
    const { expression, args } = at as as.CallExpression;
    const called = withoutParentheses(expression);
    const [value] = args;
    if (called.kind !== NodeKind.PropertyAccess || value === undefined) break;
    const property = called as as.PropertyAccessExpression;
    values.unshift(lowering.expression(value));
    at = withoutParentheses(property.expression);
  }
  // `check/check-indexes.ts` refuses other receivers.
  const index = lowering.expression(at);
  if (index.type.kind !== "table") throw unknownMember("IndexPart", callee.prototype.name, span);
  const prefix = joined(values.map((value) => entryPart(value, span)));
  if (callee.prototype.name === "equal")
    return libraryCall(libraryMember("Table", "prefix")!, index, [prefix], RANGE, span);
  const { table, record } = indexed(lowering, at, callee, span);
  const result: Type = { kind: "nullable", inner: record };
  return lowering.made("find", [prefix], result, span, ([entry]) => {
    const key: Local = { name: "key", type: TEXT_OR_NULL, span };
    return [
      declared(key, read(index, entry!, TEXT_OR_NULL, span)),
      when(isNull(local(key)), [{ kind: "return", value: nothing(result, span), span }], span),
      { kind: "return", value: read(table, some(local(key)), result, span), span },
    ];
  });
}

/** Each entry names an item. */
function lowerRows(
  lowering: BodyLowering,
  operation: "first" | "last",
  range: Expression,
  limit: Expression,
  { table, record }: Indexed,
  callee: as.Function,
  span: Span,
): Expression {
  const { declarations } = lowering;
  const result = declarations.type(callee.signature.returnType, span);
  const row = result.kind === "library" ? result.arguments[0]! : result;
  const entry = declarations.rowOfText(span);
  if (row.kind !== "class" || entry.kind !== "class") throw new Error("rows are objects");
  const listed: Type = { kind: "library", name: "Array", arguments: [entry] };
  return lowering.made(operation, [range, typed(limit, INT)], result, span, ([from, most]) => {
    const entries: Local = { name: "entries", type: listed, span };
    const rows: Local = { name: "rows", type: result, span };
    const index: Local = { name: "i", type: INT, span };
    const key: Local = { name: "key", type: STRING, span };
    const item: Local = { name: "item", type: { kind: "nullable", inner: record }, span };
    const scanned: Scan = { kind: "scan", operation, range: from!, limit: most!, type: listed, span };
    const element = (): Expression => member("Array", "[]", local(entries), [local(index)], entry, span);
    const made: Expression = {
      kind: "construction",
      declaration: row.declaration,
      callee: declarations.rowConstructor(row.declaration, span),
      arguments: [local(key), some(local(item)), fieldOf(element(), entry.declaration, "key", span)],
      type: row,
      span,
    };
    return [
      declared(entries, scanned),
      declared(rows, { kind: "array", elements: [], type: result, span }),
      {
        kind: "loop",
        form: "for",
        initial: [declared(index, { kind: "constant", text: "0", type: INT, span }, false)],
        condition: binary("<", local(index), member("Array", "length", local(entries), [], INT, span), BOOL, span),
        update: {
          kind: "assignment",
          target: { kind: "local", local: index },
          operator: "++",
          prefix: true,
          value: null,
          type: INT,
          span,
        },
        body: [
          declared(key, fieldOf(element(), entry.declaration, "value", span)),
          declared(item, read(table, local(key), item.type, span)),
          when(isThere(local(item)), [run(member("Array", "push", local(rows), [made], INT, span))], span),
        ],
        span,
      },
      { kind: "return", value: local(rows), span },
    ];
  });
}

interface Indexed {
  readonly table: Expression;
  readonly record: Type;
}

/**
 * The table whose items a range of an index has. It is the only table with indexes whose items have the type, or else the one of the
 * index that `range` comes from. `callee`: a method of the index or of one of its ranges.
 */
function indexed(lowering: BodyLowering, range: as.Expression, callee: as.Function, span: Span): Indexed {
  const { declarations } = lowering;
  const [item] = (callee.parent as as.Class).typeArguments ?? [];
  const ofType = writtenIndexes(declarations.program).filter(({ global }) => itemOf(global) === item);
  const table = onlyTable(ofType) ?? onlyTable([...(originsOf(lowering, range) ?? [])]);
  if (table === null)
    throw new Refusal("not_sliced_table_value", {
      message: `The analyzer can't tell the table of this range, because several tables of ${String(item)} have indexes.`,
      primary: span,
      help: "Get the range from the constant of its index, in the same function: `byAuthor.equal(author)`.",
    });
  const global = declarations.global(table, span);
  const { type } = global;
  if (type.kind !== "table") throw new Error("an index is one of a table");
  return { table: { kind: "global", global, type, span }, record: type.record };
}

/** Null: there are several, or none. */
function onlyTable(indexes: readonly WrittenIndex[]): as.Global | null {
  const [table = null, ...others] = new Set(indexes.map((index) => index.table));
  return others.length === 0 ? table : null;
}

/** The type of the items of a table, an index or a range. */
function itemOf({ type }: as.Global): as.Type | undefined {
  for (let owner = type.getClass(); owner !== null; owner = owner.base)
    if (owner.typeArguments !== null) return owner.typeArguments[0];
  return undefined;
}

// ── Entries ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A `put` or `delete` of a table with indexes. It compares the entries of the stored item with those of the new one, and
 * writes those that differ. Null: the table has no index.
 */
export function lowerKept(
  lowering: BodyLowering,
  operation: "put" | "delete",
  tableNode: as.Expression,
  table: Expression,
  [key, value]: readonly Expression[],
  callee: as.Function,
  span: Span,
): Expression | null {
  const { declarations } = lowering;
  const written = writtenIndexes(declarations.program);
  if (written.length === 0 || key === undefined || table.type.kind !== "table") return null;
  const { target } = lowering.factsOf(withoutParentheses(tableNode));
  if (table.kind !== "global" || target?.kind !== ElementKind.Global) {
    const [item] = (callee.parent as as.Class).typeArguments ?? [];
    if (!written.some(({ global }) => itemOf(global) === item)) return null;
    throw new Refusal("not_sliced_table_value", {
      message: `The analyzer can't tell whether the table of this ${operation} has indexes.`,
      primary: span,
      help: "Call the method of the table by its constant: `posts.put(key, post)`.",
    });
  }
  const indexes = indexesOfTable(declarations.program, target as as.Global);
  if (indexes.length === 0) return null;
  const { record } = table.type;
  const inputs = value === undefined ? [key] : [key, typed(value, record)];
  // `delete` is a word of the language.
  const name = operation === "put" ? "put" : "remove";
  return lowering.made(name, inputs, VOID, span, ([of, item]) => [
    ...indexes.flatMap((index, number) =>
      changed(lowering, index, number === 0 ? "" : `${number + 1}`, of!, item ?? null, record, span),
    ),
    run({ kind: "access", operation, table, key: of!, value: item ?? null, type: VOID, span }),
  ]);
}

/** The statements that bring the entries of one index to what they are with the new item. `suffix`: of their variables. */
function changed(
  { declarations }: BodyLowering,
  index: IndexDeclaration,
  suffix: string,
  key: Expression,
  item: Expression | null,
  record: Type,
  span: Span,
): readonly Statement[] {
  const before: Local = { name: `before${suffix}`, type: TEXT_OR_NULL, span };
  const after: Local = { name: `after${suffix}`, type: TEXT_OR_NULL, span };
  const stored = declarations.hiddenTable("stored", index.table, { ...ENTRIES, entriesOf: index.name }, span);
  const entries = declarations.hiddenTable("entries", index.name, ENTRIES, span);
  const access = (
    operation: Access["operation"],
    of: Expression,
    value: Expression | null,
    type: Type,
  ): Expression => ({
    kind: "access",
    operation,
    table: { kind: "global", global: entries, type: ENTRIES, span },
    key: of,
    value,
    type,
    span,
  });
  const found = read({ kind: "global", global: stored, type: stored.type, span }, key, TEXT_OR_NULL, span);
  const removed = run(access("delete", some(local(before)), null, VOID));
  // variant: stored-entry-goes
  const removal = when(isThere(local(before)), [removed], span);
  if (item === null) return [declared(before, found), removal];
  const refused: Statement = when(access("has", some(local(after)), null, BOOL), [run(notUnique(index, span))], span);
  const stores = run(access("put", some(local(after)), key, VOID));
  return [
    declared(before, found),
    declared(after, entryOf(index, key, item, record, span)),
    when(
      binary("!=", local(before), local(after), BOOL, span),
      [
        ...(index.unique ? [when(isThere(local(after)), [refused], span)] : []),
        removal,
        when(isThere(local(after)), [stores], span),
      ],
      span,
    ),
  ];
}

/** The key of the entry that a record has; null where it has none. */
function entryOf(
  { fields, unique }: IndexDeclaration,
  key: Expression,
  item: Expression,
  record: Type,
  span: Span,
): Expression {
  if (record.kind !== "class") throw new Error("items with an index are records");
  const values = fields.map((name) => fieldOf(item, record.declaration, name, span));
  const parts = values.map((value) => entryPart(value.type.kind === "nullable" ? some(value) : value, span));
  // variant: entry-made
  const entry = joined(unique ? parts : [...parts, key]);
  const tests = values.flatMap((value) => (value.type.kind === "nullable" ? [isThere(value)] : []));
  const [first, ...others] = tests;
  // variant: entry-of-null
  if (first === undefined) return entry;
  const condition = others.reduce<Expression>(
    (left, right) => ({ kind: "logical", operator: "&&", left, right, type: BOOL, span }),
    first,
  );
  const alternative = nothing(TEXT_OR_NULL, span);
  return { kind: "conditional", condition, consequent: entry, alternative, type: TEXT_OR_NULL, span };
}

function notUnique(index: IndexDeclaration, span: Span): Expression {
  const text = (value: string): Expression => ({ kind: "constant", text: JSON.stringify(value), type: STRING, span });
  const status: Expression = { kind: "constant", text: "409", type: INT, span };
  const words = [text(NOT_UNIQUE), text(notUniqueMessage(index))];
  return { kind: "abort", arguments: [status, ...words], type: VOID, span };
}

// ── Expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────

function local(variable: Local): Expression {
  return { kind: "local", local: variable, type: variable.type, span: variable.span };
}

function declared(variable: Local, initializer: Expression, constant = true): Statement {
  return { kind: "variable", local: variable, initializer, annotated: true, constant, span: variable.span };
}

function read(table: Expression, key: Expression, type: Type, span: Span): Expression {
  return { kind: "access", operation: "get", table: { ...table }, key, value: null, type, span };
}

function member(
  owner: string,
  name: string,
  receiver: Expression,
  args: readonly Expression[],
  type: Type,
  span: Span,
): Expression {
  return libraryCall(libraryMember(owner, name)!, receiver, args, type, span);
}

function entryPart(value: Expression, span: Span): Expression {
  const name = "entryPart";
  const call = { receiver: null, name, typeArguments: [], arguments: [value], calls: [], type: STRING, span };
  return { kind: "library", member: libraryMember("", name)!, ...call };
}

function joined([first, ...others]: readonly Expression[]): Expression {
  return others.reduce((left, right) => binary("+", left, right, STRING, right.span), first!);
}

function binary(operator: string, left: Expression, right: Expression, type: Type, span: Span): Expression {
  return { kind: "operation", operator, operands: [left, right], type, span };
}

function isThere(value: Expression): Expression {
  return binary("!=", value, nothing(value.type, value.span), BOOL, value.span);
}

function isNull(value: Expression): Expression {
  return binary("==", value, nothing(value.type, value.span), BOOL, value.span);
}

function nothing(type: Type, span: Span): Expression {
  return { kind: "constant", text: "null", type, span };
}

/** The value of an expression that is tested before. */
function some(operand: Expression): Expression {
  const { type, span } = operand;
  return { kind: "non-null", operand, type: type.kind === "nullable" ? type.inner : type, span };
}

function fieldOf(object: Expression, owner: ClassDeclaration, name: string, span: Span): Expression {
  let field: FieldDeclaration | undefined;
  for (let one: ClassDeclaration | null = owner; one !== null && field === undefined; one = one.base)
    field = one.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`class ${owner.name} has no field ${name}`);
  return { kind: "field", object, field, type: field.type, span };
}

function when(condition: Expression, consequent: readonly Statement[], span: Span): Statement {
  return { kind: "if", condition, consequent, alternative: [], span };
}

function run(expression: Expression): Statement {
  return { kind: "expression", expression, span: expression.span };
}
