/** The fields of a record's class. */
import { type as, CommonFlags, ElementKind } from "../assemblyscript.ts";
import { isOptionalMember } from "../forms-types.ts";
import { isGenerated } from "../graft.ts";

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

/** The same without those that generated code has added. */
export function fieldsOfDeveloper(owner: as.Class): ReadonlyMap<string, Field> {
  return new Map([...fieldsOf(owner)].filter(([, { declaration }]) => !isGenerated(declaration.range.source)));
}
