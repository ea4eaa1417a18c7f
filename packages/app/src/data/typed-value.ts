/** Whether an encoded value is one of a type: what came as bytes was not made from JSON by that type. */
import {
  type CborKind,
  CborReader,
  type Field,
  formatValueType,
  INTEGER_RANGES,
  type RecordTypes,
  type ValueType,
} from "@radical/protocol";

/** The way out for a field that the types lack: builds side by side may have other fields. */
export const UNKNOWN_FIELD_HELP = "; --untyped writes all fields as they are";

/** The fault of a value for its type; null: it has none. The bytes are a value of some type. */
export function problemOfValue(bytes: Uint8Array, type: ValueType, records: RecordTypes): string | null {
  return problem(new CborReader(bytes), type, records, "value");
}

function problem(reader: CborReader, type: ValueType, records: RecordTypes, path: string): string | null {
  if (type.kind === "nullable") return reader.nullIfNext() ? null : problem(reader, type.inner, records, path);
  const kind = reader.peek();
  if (kind !== KINDS[type.kind]) return `"${path}" must be of type ${formatValueType(type)}, not of the kind ${kind}`;
  switch (type.kind) {
    case "array": {
      const length = reader.array();
      for (let index = 0; index < length; index++) {
        const found = problem(reader, type.element, records, `${path}[${index}]`);
        if (found !== null) return found;
      }
      return null;
    }
    case "tuple": {
      const length = reader.array();
      if (length !== type.elements.length) return `"${path}" must have ${type.elements.length} values, not ${length}`;
      for (const [index, element] of type.elements.entries()) {
        const found = problem(reader, element, records, `${path}[${index}]`);
        if (found !== null) return found;
      }
      return null;
    }
    case "map": {
      const keys = new Set<string>();
      for (let left = reader.map(); left > 0; left--) {
        const key = reader.text();
        const within = `${path}[${JSON.stringify(key)}]`;
        if (keys.has(key)) return `"${within}" comes twice`;
        keys.add(key);
        const found = problem(reader, type.value, records, within);
        if (found !== null) return found;
      }
      return null;
    }
    case "record":
      return problemOfFields(reader, records[type.name]?.fields ?? [], records, path);
    case "bool":
    case "f32":
    case "f64":
      reader.skip();
      return null;
    case "string": {
      const text = reader.text();
      return type.oneOf === undefined || type.oneOf.includes(text)
        ? null
        : `"${path}" must be one of ${type.oneOf.map((one) => JSON.stringify(one)).join(", ")}`;
    }
    default: {
      const value = BigInt(reader.integer());
      const [min, max] = INTEGER_RANGES[type.kind];
      return value < min || value > max ? `"${path}" is out of range for ${type.kind}` : null;
    }
  }
}

function problemOfFields(
  reader: CborReader,
  fields: readonly Field[],
  records: RecordTypes,
  path: string,
): string | null {
  const missing = new Set(fields.filter(({ optional }) => !optional).map(({ name }) => name));
  for (let left = reader.map(); left > 0; left--) {
    const name = reader.text();
    const field = fields.find((known) => known.name === name) ?? fields.find(({ was = [] }) => was.includes(name));
    if (field === undefined) return `There is no field "${path}.${name}"${UNKNOWN_FIELD_HELP}`;
    missing.delete(field.name);
    // An earlier build may have stored null.
    if (field.absent === true && reader.nullIfNext()) continue;
    const found = problem(reader, field.type, records, `${path}.${name}`);
    if (found !== null) return found;
  }
  const [name] = missing;
  return name === undefined ? null : `The field "${path}.${name}" is missing`;
}

const KINDS: Readonly<Record<Exclude<ValueType["kind"], "nullable">, CborKind>> = {
  bool: "boolean",
  i8: "integer",
  u8: "integer",
  i16: "integer",
  u16: "integer",
  i32: "integer",
  u32: "integer",
  i64: "integer",
  u64: "integer",
  f32: "float",
  f64: "float",
  string: "text",
  array: "array",
  tuple: "array",
  map: "map",
  record: "map",
};
