/**
 * The types of an application's tables, in a custom section of its handlers' program. So the primary keeps them with each
 * module, and a later deployment asks for them.
 */
import { customSection, withCustomSection } from "@radical/wasm-host";
import type { RecordType, StoredTypes, ValueType } from "@radical/protocol";

const NAME = "radical.tables";

/** The program with the types of its tables in it. */
export function withStoredTypes(wasm: Uint8Array, types: StoredTypes): Uint8Array {
  return withCustomSection(wasm, NAME, new TextEncoder().encode(JSON.stringify(storedOnly(types))));
}

/** Null: an older release has built the program. */
export function storedTypesOf(wasm: Uint8Array): StoredTypes | null {
  const content = customSection(wasm, NAME);
  return content === null ? null : (JSON.parse(new TextDecoder().decode(content)) as StoredTypes);
}

/** Without the records that no item holds, in an order that says nothing: the module's hash covers it. */
function storedOnly({ tables, records }: StoredTypes): StoredTypes {
  const used = new Set<string>();
  const visit = (type: ValueType): void => {
    if (type.kind === "array") visit(type.element);
    else if (type.kind === "tuple") type.elements.forEach(visit);
    else if (type.kind === "map") visit(type.value);
    else if (type.kind === "nullable") visit(type.inner);
    else if (type.kind === "record" && !used.has(type.name)) {
      used.add(type.name);
      for (const field of records[type.name]?.fields ?? []) visit(field.type);
    }
  };
  for (const type of Object.values(tables)) visit(type);
  /** Neither names of types nor comments change what is stored. */
  const plain = (type: ValueType): ValueType => {
    switch (type.kind) {
      case "array":
        return { kind: "array", element: plain(type.element) };
      case "tuple":
        return { kind: "tuple", elements: type.elements.map(plain) };
      case "map":
        return { kind: "map", value: plain(type.value) };
      case "nullable":
        return { kind: "nullable", inner: plain(type.inner) };
      case "string":
        return type.oneOf === undefined ? { kind: "string" } : { kind: "string", oneOf: type.oneOf };
      case "record":
        return type;
      default:
        return { kind: type.kind };
    }
  };
  const plainRecord = ({ name, fields }: RecordType): RecordType => ({
    name,
    fields: fields.map(({ name: field, type, optional, absent, was }) => ({
      name: field,
      type: plain(type),
      optional,
      ...(absent === true ? { absent } : {}),
      ...(was === undefined ? {} : { was }),
    })),
  });
  const sorted = <T>(entries: readonly [string, T][]): Readonly<Record<string, T>> =>
    Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return {
    tables: sorted(Object.entries(tables).map(([name, type]) => [name, plain(type)])),
    records: sorted(
      Object.entries(records).flatMap(([name, record]) => (used.has(name) ? [[name, plainRecord(record)]] : [])),
    ),
  };
}
