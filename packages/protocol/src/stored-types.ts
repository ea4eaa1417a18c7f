/**
 * The types that the items of an application's tables have, and the values that a build of these types reads. Two builds
 * may have other types: then the values that the one has stored may *misfit* the other.
 *
 * The rules are those of the SDK's codec (`codec.ts`). Names of records mean nothing to it. A field that an item lacks is
 * initialized, and an unknown field is kept. A field with the tag `@was` also reads what is stored under its earlier names.
 */
import { CborReader } from "./cbor.ts";
import { splitUnit, type UnitId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  type Field,
  formatValueType,
  INTEGER_RANGES,
  type IntegerKind,
  type RecordTypes,
  type ValueType,
} from "./value-type.ts";

export interface StoredTypes {
  /** By name of the table. */
  readonly tables: Readonly<Record<string, ValueType>>;
  /** The records that they are made of; perhaps more. */
  readonly records: RecordTypes;
}

/** A place in the items of a table whose values one build may have stored, and another build does not read. */
export interface Misfit {
  readonly table: string;
  /** `events[].sections[].title`; `[]` behind the name of the table stands for any item. */
  readonly path: string;
  /** As handler source would write it. */
  readonly before: string;
  readonly after: string;
}

export interface StoredTypesComparison {
  /** Every place where a build of the later types may not read the values, or not as the same values. */
  readonly misfits: readonly Misfit[];
  /** The paths of tables and fields that only the earlier types have. Items keep them. */
  readonly dropped: readonly string[];
}

/** Compares the types that items were stored by with those of a build that reads them. */
export function compareStoredTypes(before: StoredTypes, after: StoredTypes): StoredTypesComparison {
  const misfits: Misfit[] = [];
  const dropped: string[] = [];
  for (const [table, type] of Object.entries(before.tables)) {
    const now = after.tables[table];
    if (now === undefined) {
      dropped.push(table);
      continue;
    }
    const found = new TableComparison(table, before.records, after.records);
    found.compare(type, now, `${table}[]`);
    misfits.push(...found.misfits);
    dropped.push(...found.dropped);
  }
  return { misfits, dropped };
}

class TableComparison implements StoredTypesComparison {
  readonly misfits: Misfit[] = [];
  readonly dropped: string[] = [];
  readonly #table: string;
  readonly #before: RecordTypes;
  readonly #after: RecordTypes;
  /** Pairs of records that are compared already. */
  readonly #compared = new Set<string>();

  constructor(table: string, before: RecordTypes, after: RecordTypes) {
    this.#table = table;
    this.#before = before;
    this.#after = after;
  }

  compare(before: ValueType, after: ValueType, path: string): void {
    if (after.kind === "nullable") this.compare(before.kind === "nullable" ? before.inner : before, after.inner, path);
    else if (before.kind === "array" && after.kind === "array")
      this.compare(before.element, after.element, `${path}[]`);
    else if (before.kind === "tuple" && after.kind === "array")
      before.elements.forEach((element, index) => this.compare(element, after.element, `${path}[${index}]`));
    else if (before.kind === "tuple" && after.kind === "tuple" && before.elements.length === after.elements.length)
      before.elements.forEach((element, index) => this.compare(element, after.elements[index]!, `${path}[${index}]`));
    else if (before.kind === "map" && after.kind === "map") this.compare(before.value, after.value, `${path}[]`);
    else if (before.kind === "record" && after.kind === "record") this.#fields(before.name, after.name, path);
    else if (!isReadAs(before, after))
      this.misfits.push({
        table: this.#table,
        path,
        before: formatValueType(before),
        after: formatValueType(after),
      });
  }

  #fields(before: string, after: string, path: string): void {
    const pair = JSON.stringify([before, after]);
    if (this.#compared.has(pair)) return;
    this.#compared.add(pair);
    for (const field of fieldsOf(this.#before, before)) {
      // Items of builds before that one may have its earlier names.
      for (const name of [field.name, ...(field.was ?? [])]) {
        const now = fieldRead(fieldsOf(this.#after, after), name);
        if (now === undefined) this.dropped.push(`${path}.${name}`);
        // A stored null is read as absent.
        else this.compare(now.absent === true ? nonNull(field.type) : field.type, now.type, `${path}.${name}`);
      }
    }
  }
}

/** Of types that have no parts in common: whether each value of the one is read as the same value of the other. */
function isReadAs(before: ValueType, after: ValueType): boolean {
  switch (before.kind) {
    case "string":
      return after.kind === "string" && (after.oneOf === undefined || isPartOf(before.oneOf, after.oneOf));
    case "bool":
    case "array":
    case "map":
    case "record":
    case "nullable":
      return before.kind === after.kind;
    case "tuple":
      return false;
    case "f32":
      return after.kind === "f32" || after.kind === "f64";
    case "f64":
      return after.kind === "f64";
    default: {
      const [min, max] = INTEGER_RANGES[before.kind];
      const [least, most] = rangeOf(after) ?? [1n, 0n];
      return least <= min && max <= most;
    }
  }
}

/** The integers that a number type has without gaps; null: it is not a number type. */
function rangeOf(type: ValueType): readonly [min: bigint, max: bigint] | null {
  switch (type.kind) {
    case "bool":
    case "string":
    case "array":
    case "tuple":
    case "map":
    case "record":
    case "nullable":
      return null;
    case "f32":
      return [-(2n ** 24n), 2n ** 24n];
    case "f64":
      return [-(2n ** 53n), 2n ** 53n];
    default:
      return INTEGER_RANGES[type.kind];
  }
}

/** `some`: undefined stands for all texts. */
function isPartOf(some: readonly string[] | undefined, all: readonly string[]): boolean {
  return some !== undefined && some.every((text) => all.includes(text));
}

function nonNull(type: ValueType): ValueType {
  return type.kind === "nullable" ? type.inner : type;
}

/** The field that reads a stored one of that name; undefined: none does. */
function fieldRead(fields: readonly Field[], name: string): Field | undefined {
  return fields.find((known) => known.name === name) ?? fields.find(({ was = [] }) => was.includes(name));
}

function fieldsOf(records: RecordTypes, name: string): readonly Field[] {
  return records[name]?.fields ?? [];
}

// ── One value ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The words of the trap with which a build of these types refuses an item; null: the build reads it, or lacks the table. */
export function problemOfStored(unit: UnitId, value: Uint8Array, { tables, records }: StoredTypes): string | null {
  const type = tables[splitUnit(unit).table];
  if (type === undefined) return null;
  try {
    const reader = new CborReader(value);
    const found = problemOf(reader, type, records, "");
    if (found !== null) return `${unit}${found.path === "" ? "" : `, field ${found.path}`}: ${found.words}`;
    reader.end();
    return null;
  } catch (error) {
    if (error instanceof MalformedError) return `${unit}: malformed value`;
    throw error;
  }
}

interface Problem {
  readonly path: string;
  readonly words: string;
}

function problemOf(reader: CborReader, type: ValueType, records: RecordTypes, path: string): Problem | null {
  const mismatch = (expected: string): Problem => ({ path, words: `expected ${expected}, found ${foundIn(reader)}` });
  switch (type.kind) {
    case "nullable":
      return reader.nullIfNext() ? null : problemOf(reader, type.inner, records, path);
    case "bool":
      if (reader.peek() !== "boolean") return mismatch("a boolean");
      break;
    case "string":
      if (reader.peek() !== "text") return mismatch("text");
      return problemOfText(reader.text(), type.oneOf, path);
    case "f32":
    case "f64":
      if (reader.peek() !== "float" && reader.peek() !== "integer") return mismatch("a number");
      break;
    case "array":
      if (reader.peek() !== "array") return mismatch("an array");
      for (let index = 0, length = reader.array(); index < length; index++) {
        const found = problemOf(reader, type.element, records, `${path}[${index}]`);
        if (found !== null) return found;
      }
      return null;
    case "tuple": {
      if (reader.peek() !== "array") return mismatch("an array");
      const length = reader.array();
      if (length !== type.elements.length)
        return { path, words: `expected ${type.elements.length} values, found ${length}` };
      for (const [index, element] of type.elements.entries()) {
        const found = problemOf(reader, element, records, `${path}[${index}]`);
        if (found !== null) return found;
      }
      return null;
    }
    case "map":
      if (reader.peek() !== "map") return mismatch("a record");
      for (let left = reader.map(); left > 0; left--) {
        const key = reader.text();
        const found = problemOf(reader, type.value, records, path === "" ? key : `${path}.${key}`);
        if (found !== null) return found;
      }
      return null;
    case "record":
      if (reader.peek() !== "map") return mismatch("a record");
      for (let left = reader.map(), seen = new Set<Field>(); left > 0; left--) {
        const name = reader.text();
        const field = fieldRead(fieldsOf(records, type.name), name);
        const inner = path === "" ? name : `${path}.${name}`;
        // A value under the name that the field has comes first.
        if (field === undefined || (field.name !== name && seen.has(field))) {
          reader.skip();
          continue;
        }
        seen.add(field);
        if (field.absent === true && reader.nullIfNext()) continue;
        const found = problemOf(reader, field.type, records, inner);
        if (found !== null) return found;
      }
      return null;
    default:
      if (reader.peek() !== "integer") return mismatch("an integer");
      return problemOfInteger(reader, type.kind, path);
  }
  reader.skip();
  return null;
}

function problemOfText(text: string, oneOf: readonly string[] | undefined, path: string): Problem | null {
  if (oneOf === undefined || oneOf.includes(text)) return null;
  return { path, words: `expected ${oneOf.map((one) => JSON.stringify(one)).join(" or ")}, found another text` };
}

function problemOfInteger(reader: CborReader, kind: IntegerKind, path: string): Problem | null {
  const value = reader.integer();
  const [min, max] = INTEGER_RANGES[kind];
  if (value >= min && value <= max) return null;
  return { path, words: `expected an integer from ${min} to ${max}, found ${value}` };
}

/** The kind of the next value, in the words of the codec. */
function foundIn(reader: CborReader): string {
  const kind = reader.peek();
  switch (kind) {
    case "integer":
    case "array":
      return `an ${kind}`;
    case "map":
      return "a record";
    case "float":
    case "boolean":
      return `a ${kind}`;
    default:
      return kind;
  }
}
