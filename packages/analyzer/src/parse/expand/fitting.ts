/**
 * The record of the program that an object literal fits. TypeScript gives such a literal to whatever wants a record with its
 * fields, and a class here is given to nothing but itself. So a literal that fits exactly one record is one of these.
 */
import { as, CommonFlags, ElementKind, NodeKind, Token } from "../assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { isDevelopers, isGenerated } from "../graft.ts";
import { inferredShapes, type InferredField } from "../inferred-shapes.ts";
import { boxedType } from "../nullable-numbers.ts";
import { partsOfTuple } from "../tuples.ts";
import { textsOf, withoutAliases } from "../written-types.ts";
import type { Expansion } from "./expander.ts";
import { spreadIn } from "./syntax.ts";
import { typeOf, type Value } from "./values.ts";
import { absenceOf, textsOfAll } from "./origins.ts";
import { fieldsOfDeveloper, type Field } from "./fields.ts";

/** How a value becomes one of a type: as it is, or as another number. */
type Fit = "same" | "converted";

/** The one record that all of the literals fit; null: there is none, or more than one. */
export function fittingRecord(literals: readonly Value<as.ObjectLiteralExpression>[]): as.Class | null {
  const found = { same: [] as as.Class[], converted: [] as as.Class[] };
  for (const record of recordsOf(literals[0]!.expansion)) {
    const fit = fitOfAll(literals, record);
    if (fit !== null) found[fit].push(record);
  }
  const { same, converted } = found;
  const fitting = same.length > 0 ? same : converted;
  return fitting.length === 1 ? fitting[0]! : null;
}

/** Whether all of the literals can be records of the class. */
export function fits(literals: readonly Value<as.ObjectLiteralExpression>[], record: as.Class): boolean {
  return isRecord(record.prototype) && fitOfAll(literals, record) !== null;
}

function fitOfAll(literals: readonly Value<as.ObjectLiteralExpression>[], record: as.Class): Fit | null {
  return worst(literals, ({ node, expansion }) => fitOfLiteral(expansion, node, record));
}

function worst<T>(parts: readonly T[], judge: (part: T) => Fit | null): Fit | null {
  let all: Fit = "same";
  for (const part of parts) {
    const fit = judge(part);
    if (fit === null) return null;
    if (fit === "converted") all = fit;
  }
  return all;
}

function fitOfLiteral(
  expansion: Expansion,
  { names, values }: as.ObjectLiteralExpression,
  record: as.Class,
): Fit | null {
  const fields = fieldsOfDeveloper(record);
  const given = new Set(names.map(({ text }) => text));
  if ([...given].some((name) => !fields.has(name))) return null;
  if ([...fields].some(([name, { isOptional }]) => !isOptional && !given.has(name))) return null;
  return worst([...values.keys()], (index) =>
    fitOfField(expansion, values[index]!, fields.get(names[index]!.text)!, record),
  );
}

/** Whether a value becomes one of the field by itself. */
export function fitsField(expansion: Expansion, value: as.Expression, field: Field, record: as.Class): boolean {
  return fitOfField(expansion, value, field, record) !== null;
}

function fitOfField(expansion: Expansion, value: as.Expression, field: Field, record: as.Class): Fit | null {
  const fit = fitOf(expansion, value, field.type);
  if (fit === null) return null;
  if (field.type.isNullableReference) {
    const absence = absenceOf(expansion, value);
    // variant: fitting-absence
    if (absence === (field.isOptional ? "null" : "absent")) return null;
  }
  const { program } = expansion.typing;
  const { type: node } = field.declaration as as.FieldDeclaration;
  const wanted = textsOf(program, withoutAliases(program, { node, scope: record }));
  if (wanted.kind !== "texts") return fit;
  const inner = withoutParentheses(value);
  if (inner.kind === NodeKind.Null) return fit;
  const texts = inner instanceof as.StringLiteralExpression ? [inner.value] : textsOfAll([{ node: inner, expansion }]);
  // variant: fitting-texts
  return texts !== null && texts.every((text) => wanted.texts.includes(text)) ? fit : null;
}

/** Null: the value does not become one of the type by itself. */
function fitOf(expansion: Expansion, value: as.Expression, wanted: as.Type): Fit | null {
  const node = withoutParentheses(value);
  if (node.kind === NodeKind.Null) return wanted.isNullableReference ? "same" : null;
  if (node instanceof as.TernaryExpression)
    return worst([node.ifThen, node.ifElse], (side) => fitOf(expansion, side, wanted));
  if (node instanceof as.ObjectLiteralExpression) {
    const record = wanted.getClass();
    return record === null || !isRecord(record.prototype) ? null : fitOfLiteral(expansion, node, record);
  }
  if (node instanceof as.ArrayLiteralExpression && !node.elementExpressions.some((each) => spreadIn(each) !== null)) {
    const { elementExpressions: elements } = node;
    const parts = partsOfTuple(wanted);
    if (parts !== null)
      return parts.length === elements.length
        ? worst([...elements.keys()], (index) => fitOf(expansion, elements[index]!, parts[index]!))
        : null;
    const list = expansion.typing.containerOf(wanted);
    const element = list?.prototype.name === "Array" ? list.typeArguments?.[0] : undefined;
    return element === undefined ? null : worst(elements, (each) => fitOf(expansion, each, element));
  }
  const number = boxedType(wanted) ?? wanted;
  if (isInteger(node)) return number === as.Type.i32 ? "same" : isNumber(number) ? "converted" : null;
  const type = typeOf(expansion, node);
  if (type === null || type === as.Type.void) return null;
  const plain = boxedType(type) ?? type;
  if (type.isNullableReference && !wanted.isNullableReference) return null;
  if (plain === number) return "same";
  if (isNumber(plain) && isNumber(number)) {
    const isWider = plain.isAssignableTo(number) || (plain === as.Type.i64 && number === as.Type.f64);
    return isWider ? "converted" : null;
  }
  if (!type.isReference || !wanted.isReference) return null;
  return type.isStrictlyAssignableTo(wanted) ? "same" : null;
}

function isInteger(node: as.Expression): boolean {
  if (node instanceof as.UnaryPrefixExpression && node.operator === Token.Minus)
    return isInteger(withoutParentheses(node.operand));
  return node instanceof as.IntegerLiteralExpression;
}

function isNumber(type: as.Type): boolean {
  return (type.isIntegerValue || type.isFloatValue) && type !== as.Type.bool;
}

// ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const RECORDS = new WeakMap<as.Program, readonly as.Class[]>();

/** The records that the sources declare. */
function recordsOf({ typing }: Expansion): readonly as.Class[] {
  const { program } = typing;
  const known = RECORDS.get(program);
  if (known !== undefined) return known;
  const tested = testedClasses(program);
  const shapes = inferredShapes(program);
  const elements = new Set(program.elementsByName.values());
  const records = [...elements].flatMap((element) => {
    if (element.kind !== ElementKind.ClassPrototype) return [];
    const prototype = element as as.ClassPrototype;
    if (!isRecord(prototype) || tested.has(prototype.name) || shapes.isInferred(prototype)) return [];
    return typing.quietly(() => program.resolver.resolveClass(prototype, null)) ?? [];
  });
  RECORDS.set(program, records);
  return records;
}

/** The one record of the program that has exactly these fields; null: there is none, or more than one. */
export function recordWith(expansion: Expansion, fields: readonly InferredField[]): as.Class | null {
  const { program } = expansion.typing;
  const found = recordsOf(expansion).filter((record) => {
    const own = fieldsOfDeveloper(record);
    return (
      own.size === fields.length &&
      fields.every(({ name, type, isOptional, texts }) => {
        const field = own.get(name);
        if (field === undefined || field.type !== type || field.isOptional !== isOptional) return false;
        const { type: node } = field.declaration as as.FieldDeclaration;
        const wanted = textsOf(program, withoutAliases(program, { node, scope: record }));
        const known = wanted.kind === "texts" ? wanted.texts : null;
        return JSON.stringify(known?.toSorted()) === JSON.stringify(texts?.toSorted());
      })
    );
  });
  return found.length === 1 ? found[0]! : null;
}

/** Whether a class has fields only, all of them public, and its objects are made of literals. */
function isRecord(prototype: as.ClassPrototype): boolean {
  const { declaration, typeParameterNodes, constructorPrototype, instanceMembers } = prototype;
  if (!isDevelopers(declaration.range.source) || constructorPrototype !== null) return false;
  if (typeParameterNodes !== null || prototype.isAny(CommonFlags.Abstract | CommonFlags.Ambient)) return false;
  const { basePrototype: base, implicitlyExtendsObject } = prototype;
  if (base !== null && !implicitlyExtendsObject && !isRecord(base)) return false;
  return [...(instanceMembers?.values() ?? [])].every(
    (member) =>
      isGenerated(member.declaration.range.source) ||
      (member.kind === ElementKind.PropertyPrototype &&
        (member as as.PropertyPrototype).fieldDeclaration !== null &&
        !member.isAny(CommonFlags.Private | CommonFlags.Protected)),
  );
}

/** The names of classes for which the sources test objects: a literal is not one of these to TypeScript. */
function testedClasses({ sources }: as.Program): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: as.Node): void => {
    if (node instanceof as.InstanceOfExpression && node.isType instanceof as.NamedTypeNode)
      names.add(node.isType.name.identifier.text);
    childrenOf(node).forEach(visit);
  };
  for (const source of sources) if (isDevelopers(source)) visit(source);
  return names;
}
