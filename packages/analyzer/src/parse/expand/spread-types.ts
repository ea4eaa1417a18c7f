/**
 * The type of `{ ...record, field }` where none is written. It is that of the first record where this has all of the fields.
 * Another literal has the fields of all parts, and a later part takes the place of an earlier one.
 */
import { as } from "../assemblyscript.ts";
import type { RecordSpreadExpression } from "../forms-nodes.ts";
import { inferredShapes, type InferredField } from "../inferred-shapes.ts";
import { boxedType, nullableOf } from "../nullable-numbers.ts";
import { textsOf, withoutAliases } from "../written-types.ts";
import type { Expansion } from "./expander.ts";
import { fieldsOfDeveloper, type Field } from "./fields.ts";
import { fitsField, recordWith } from "./fitting.ts";
import { fieldFor } from "./literals.ts";

/** Null: a part has no type, or one without fields. */
export function spreadType(expansion: Expansion, { parts, range }: RecordSpreadExpression): as.Type | null {
  const sources = parts.flatMap((part) => (part.kind === "spread" ? [recordIn(expansion, part.value)] : []));
  const [first] = sources;
  if (first === undefined || sources.includes(null)) return null;
  const known = fieldsOfDeveloper(first!);
  const hasAll =
    sources.every((source) =>
      [...fieldsOfDeveloper(source!)].every(([name, { type }]) => known.get(name)?.type === type),
    ) &&
    parts.every((part) => {
      const field = part.kind === "field" ? known.get(part.name.text) : undefined;
      return part.kind !== "field" || (field !== undefined && fitsField(expansion, part.value, field, first!));
    });
  // A computed name is refused, whatever the type.
  if (hasAll || parts.some(({ kind }) => kind === "entry")) return first!.type;
  const fields = new Map<string, InferredField>();
  for (const part of parts) {
    if (part.kind === "field") {
      const field = fieldFor(part.name.text, [{ node: part.value, expansion }], false);
      if (field === null) return null;
      fields.set(field.name, field);
    } else if (part.kind === "spread") {
      const source = recordIn(expansion, part.value)!;
      for (const [name, field] of fieldsOfDeveloper(source)) {
        const merged = over(expansion, fields.get(name), fieldOf(expansion, name, field, source));
        if (merged === null) return null;
        // variant: spread-fields
        fields.set(name, merged);
      }
    }
  }
  const all = [...fields.values()];
  const { program } = expansion.typing;
  return (recordWith(expansion, all) ?? inferredShapes(program).classOf(all, range))?.type ?? null;
}

function recordIn({ typing, flow }: Expansion, value: as.Expression): as.Class | null {
  const type = typing.of(value, flow);
  const found = type?.getClass() ?? null;
  return found === null || type?.isNullableReference !== false || typing.containerOf(type) !== null ? null : found;
}

function fieldOf({ typing }: Expansion, name: string, field: Field, owner: as.Class): InferredField {
  const { type, isOptional } = field;
  const { type: node } = field.declaration as as.FieldDeclaration;
  const written = textsOf(typing.program, withoutAliases(typing.program, { node, scope: owner }));
  return { name, type, isOptional, texts: written.kind === "texts" ? written.texts : null };
}

/** A field over one of the same name: where it is absent, the value before it stays. Null: they have no type in common. */
function over({ typing }: Expansion, before: InferredField | undefined, field: InferredField): InferredField | null {
  if (before === undefined || !field.isOptional) return field;
  const [one, other] = [before.type, field.type].map((type) => boxedType(type) ?? type.nonNullableType);
  const common = as.Type.commonType(one!, other!, as.Type.auto);
  if (common === null) return null;
  const type = before.type.isNullableReference ? nullableOf(typing.program, common) : common;
  const texts = before.texts === null || field.texts === null ? null : [...new Set([...before.texts, ...field.texts])];
  return type === null ? null : { name: field.name, type, isOptional: before.isOptional, texts };
}
