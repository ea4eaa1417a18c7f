/**
 * The types of an application's tables, in a custom section of its handlers' program. So the primary keeps them with each
 * module, and a later deployment asks for them. A host ignores custom sections (WebAssembly specification, section
 * 5.5.3).
 */
import type { RecordType, StoredTypes, ValueType } from "@radical/protocol";

const NAME = "radical.tables";
const HEADER_BYTES = 8;
const CUSTOM = 0;

/** The program with the types of its tables in it. */
export function withStoredTypes(wasm: Uint8Array, types: StoredTypes): Uint8Array {
  const name = new TextEncoder().encode(NAME);
  const json = new TextEncoder().encode(JSON.stringify(storedOnly(types)));
  const content = [...leb(name.length), ...name];
  const head = [CUSTOM, ...leb(content.length + json.length), ...content];
  const extended = new Uint8Array(wasm.length + head.length + json.length);
  extended.set(wasm);
  extended.set(head, wasm.length);
  extended.set(json, wasm.length + head.length);
  return extended;
}

/** Null: an older release has built the program. */
export function storedTypesOf(wasm: Uint8Array): StoredTypes | null {
  let at = HEADER_BYTES;
  // LEB128 of 32 bits.
  const number = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = wasm[at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  };
  while (at < wasm.length) {
    const section = wasm[at++];
    const size = number();
    const stop = at + size;
    if (section === CUSTOM) {
      const length = number();
      const name = new TextDecoder().decode(wasm.subarray(at, at + length));
      if (name === NAME) return JSON.parse(new TextDecoder().decode(wasm.subarray(at + length, stop))) as StoredTypes;
    }
    at = stop;
  }
  return null;
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

function leb(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return [...bytes, left];
    bytes.push((left & 0x7f) | 0x80);
  }
}
