/**
 * Items as JSON, one a line: `{"table": "users", "key": "ann", "value": {…}}`.
 *
 * Nothing is lost on the way out: floats have a point or an exponent (`2.0`), which integers have not; integers have all
 * their digits. A value with what JSON lacks (NaN, the infinities) is given as its bytes in base 64, `"cbor"` instead of
 * `"value"`. On the way in a value gets the type of its table, or without types the one that it is written as.
 */
import {
  CborReader,
  CborWriter,
  encodeArguments,
  isKey,
  isTableName,
  MAX_DEPTH,
  MAX_KEY_BYTES,
  MAX_VALUE_BYTES,
  MalformedError,
  type Field,
  type RecordTypes,
  type ValueType,
} from "@radical/protocol";
import { problemOfValue, UNKNOWN_FIELD_HELP } from "./typed-value.ts";

/** The types of the application's tables; null: values are taken as they are written. */
export type TableTypes = {
  readonly tables: Readonly<Record<string, ValueType>>;
  readonly records: RecordTypes;
} | null;

export interface DataItem {
  readonly table: string;
  readonly key: string;
  /** Encoded. */
  readonly value: Uint8Array;
}

/** A fault of an item. Its message goes on after "The item". */
export class ItemProblem extends Error {
  override readonly name = "ItemProblem";
}

/** The item as a line of JSON. Throws a MalformedError for a value that is none. */
export function itemToJson({ table, key, value }: DataItem): string {
  const json = valueToExactJson(value);
  const head = `{"table":${JSON.stringify(table)},"key":${JSON.stringify(key)}`;
  return json === null ? `${head},"cbor":"${Buffer.from(value).toString("base64")}"}` : `${head},"value":${json}}`;
}

/** Throws an ItemProblem. */
export function itemOfJson(json: Json, types: TableTypes): DataItem {
  if (!isObject(json)) throw new ItemProblem("is not a JSON object");
  const { table, key, value, cbor, ...more } = json;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw new ItemProblem(`has a field "${unknown}"; the fields are table, key and value`);
  if (typeof table !== "string" || typeof key !== "string") throw new ItemProblem('has no "table" or no "key"');
  if ((value === undefined) === (cbor === undefined)) throw new ItemProblem('needs a "value", or its bytes as "cbor"');
  return itemOf(table, key, value === undefined ? bytesOf(cbor!) : value, types);
}

/** An item of a table. Throws an ItemProblem. */
export function itemOf(table: string, key: string, value: Uint8Array | Json, types: TableTypes): DataItem {
  checkPlace(table, key, types);
  const bytes = value instanceof Uint8Array ? value : encode(table, value, types);
  const wrong = types === null ? null : problemOfValue(bytes, types.tables[table]!, types.records);
  if (wrong !== null) throw new ItemProblem(`has a wrong value: ${wrong}`);
  if (bytes.length > MAX_VALUE_BYTES)
    throw new ItemProblem(`has a value of ${bytes.length} bytes; at most ${MAX_VALUE_BYTES}`);
  return { table, key, value: bytes };
}

/** Throws an ItemProblem unless the table and the key may be. */
export function checkPlace(table: string, key: string, types: TableTypes): void {
  if (!isTableName(table)) throw new ItemProblem(`has the table name "${table}", which a table can't have`);
  if (!isKey(key)) throw new ItemProblem(`has a wrong key: a key is text of 1 to ${MAX_KEY_BYTES} UTF-8 bytes`);
  if (types !== null && !Object.hasOwn(types.tables, table)) {
    const names = Object.keys(types.tables).toSorted().join(", ");
    throw new ItemProblem(`has the table "${table}", which no handler declares. The tables are: ${names}`);
  }
}

function encode(table: string, json: Json, types: TableTypes): Uint8Array {
  if (types === null) return encodeUntyped(json);
  const type = types.tables[table]!;
  const value = asStored(plain(json), type, types.records);
  const encoded = encodeArguments([{ name: "value", type, optional: false }], types.records, { value });
  if (encoded.kind === "problem") {
    const { code, message } = encoded.problem;
    const words = message.replace(/\.$/, "");
    throw new ItemProblem(`has a wrong value: ${words}${code === "unknown_argument" ? UNKNOWN_FIELD_HELP : ""}`);
  }
  // A map with the one name, of which the value is the rest.
  const reader = new CborReader(encoded.bytes);
  reader.map();
  reader.text();
  return encoded.bytes.slice(encoded.bytes.length - reader.remaining);
}

/** The value as this build stores it: without optional members that are null, and with the present names of fields. */
function asStored(value: unknown, type: ValueType, records: RecordTypes): unknown {
  switch (type.kind) {
    case "array":
      return Array.isArray(value) ? value.map((element) => asStored(element, type.element, records)) : value;
    case "tuple":
      if (!Array.isArray(value)) return value;
      return value.map((held: unknown, index) => {
        const element = type.elements[index];
        return element === undefined ? held : asStored(held, element, records);
      });
    case "nullable":
      return value === null ? value : asStored(value, type.inner, records);
    case "map":
      return ofEntries(value, (_key, held) => asStored(held, type.value, records));
    case "record": {
      const fields = records[type.name]?.fields ?? [];
      return ofEntries(withNewNames(value, fields), (name, held) => {
        const field = fields.find((known) => known.name === name);
        if (field === undefined) return held;
        return held === null && field.absent === true ? undefined : asStored(held, field.type, records);
      });
    }
    default:
      return value;
  }
}

/** A record whose fields have the names of the build, and not those that they were stored with. */
function withNewNames(value: unknown, fields: readonly Field[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).flatMap(([name, held]): readonly (readonly [string, unknown])[] => {
    const isKnown = fields.some((field) => field.name === name);
    const now = isKnown ? undefined : fields.find(({ was = [] }) => was.includes(name));
    if (now === undefined) return [[name, held]];
    return Object.hasOwn(value, now.name) ? [] : [[now.name, held]];
  });
  return Object.fromEntries(entries);
}

/** An object whose values are made anew, without those that are undefined; another value as it is. */
function ofEntries(value: unknown, make: (name: string, held: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, held]) => [name, make(name, held)] as const);
  return Object.fromEntries(entries.filter(([, held]) => held !== undefined));
}

/** A value as it is written: 2 is an integer, 2.0 a float. Throws an ItemProblem. */
export function encodeUntyped(json: Json): Uint8Array {
  const writer = new CborWriter();
  writeUntyped(writer, json, 0);
  return writer.finish();
}

/** Bytes in base 64. Throws an ItemProblem if they are not a value, unless it may be any bytes. */
export function bytesOf(cbor: Json, check: "checked" | "unchecked" = "checked"): Uint8Array {
  const bytes = typeof cbor === "string" ? new Uint8Array(Buffer.from(cbor, "base64")) : new Uint8Array();
  if (Buffer.from(bytes).toString("base64") !== cbor) throw new ItemProblem('has no base 64 in its "cbor"');
  if (check === "unchecked") return bytes;
  try {
    const reader = new CborReader(bytes);
    reader.skip();
    reader.end();
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    throw new ItemProblem(`has no value in its "cbor": ${error.message}`);
  }
  return bytes;
}

// ── JSON with its numbers as they are written ────────────────────────────────────────────────────────────────────────

export type Json = null | boolean | string | JsonNumber | readonly Json[] | { readonly [name: string]: Json };

class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  get isFloat(): boolean {
    return /[.eE]/.test(this.source);
  }
}

/** Throws a SyntaxError. */
export function parseJson(text: string): Json {
  const reviver = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" ? new JsonNumber(context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver) as Json;
}

/** The text that `parseJson` has read, without blanks between its parts. */
export function jsonText(json: Json): string {
  if (json instanceof JsonNumber) return json.source;
  if (Array.isArray(json)) return `[${(json as readonly Json[]).map(jsonText).join(",")}]`;
  if (isObject(json))
    return `{${Object.entries(json)
      .map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`)
      .join(",")}}`;
  return JSON.stringify(json);
}

/** As `JSON.parse` has it, but for integers that it would round: these are text. */
function plain(json: Json): unknown {
  if (json instanceof JsonNumber) {
    const number = Number(json.source);
    return json.isFloat || Number.isSafeInteger(number) ? number : json.source;
  }
  if (Array.isArray(json)) return json.map((element: Json) => plain(element));
  if (isObject(json)) return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, plain(value)]));
  return json;
}

function writeUntyped(writer: CborWriter, json: Json, depth: number): void {
  if (depth > MAX_DEPTH) throw new ItemProblem(`has a value nested deeper than ${MAX_DEPTH}`);
  if (json === null) writer.null();
  else if (typeof json === "boolean") writer.boolean(json);
  else if (typeof json === "string") {
    if (!json.isWellFormed()) throw new ItemProblem("has text with a lone surrogate");
    writer.text(json);
  } else if (json instanceof JsonNumber) {
    if (json.isFloat) writer.float(Number(json.source));
    else writeInteger(writer, json.source);
  } else if (Array.isArray(json)) {
    writer.array(json.length);
    for (const element of json as readonly Json[]) writeUntyped(writer, element, depth + 1);
  } else {
    const fields = Object.entries(json as Readonly<Record<string, Json>>);
    writer.map(fields.length);
    for (const [name, value] of fields) {
      writer.text(name);
      writeUntyped(writer, value, depth + 1);
    }
  }
}

function writeInteger(writer: CborWriter, source: string): void {
  try {
    writer.integer(BigInt(source));
  } catch {
    throw new ItemProblem(`has the integer ${source}, which is over 64 bits`);
  }
}

export function isObject(json: Json): json is { readonly [name: string]: Json } {
  return typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber);
}

/** `encodeUntyped` gives the value again. Null: JSON can't say it. Throws a MalformedError for bytes that are not a value. */
export function valueToExactJson(bytes: Uint8Array): string | null {
  return readExact(new CborReader(bytes), 0);
}

function readExact(reader: CborReader, depth: number): string | null {
  if (depth > MAX_DEPTH) return null;
  switch (reader.peek()) {
    case "null":
      reader.nullIfNext();
      return "null";
    case "boolean":
      return String(reader.boolean());
    case "integer":
      return String(reader.integer());
    case "float":
      return floatJson(reader.float());
    case "text":
      return JSON.stringify(reader.text());
    case "bytes":
      return null;
    case "array": {
      const elements: string[] = [];
      for (let left = reader.array(); left > 0; left--) {
        const element = readExact(reader, depth + 1);
        if (element === null) return null;
        elements.push(element);
      }
      return `[${elements.join(",")}]`;
    }
    case "map": {
      const pairs: string[] = [];
      for (let left = reader.map(); left > 0; left--) {
        const name = reader.text();
        const value = readExact(reader, depth + 1);
        // A name that would be put first, or taken for something else.
        if (value === null || name === "__proto__" || /^\d+$/.test(name)) return null;
        pairs.push(`${JSON.stringify(name)}:${value}`);
      }
      return `{${pairs.join(",")}}`;
    }
  }
}

function floatJson(value: number): string | null {
  if (!Number.isFinite(value)) return null;
  const text = Object.is(value, -0) ? "-0" : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
