/**
 * Between JSON, which clients speak, and encoded values, which handlers speak.
 *
 * Arguments are checked against the handler's declared types before anything is sent anywhere; every problem names
 * the parameter. Integers of 64 bits that JSON numbers can't carry exactly are taken as decimal strings.
 */
import { isBlobRecord, problemOfBlob } from "./blob.ts";
import { CborReader, CborWriter, MAX_DEPTH } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  INTEGER_RANGES,
  formatValueType,
  type IntegerKind,
  type Parameter,
  type RecordTypes,
  type ValueType,
} from "./value-type.ts";

export interface ArgumentProblem {
  readonly code: "missing_argument" | "unknown_argument" | "invalid_argument" | "argument_out_of_range";
  /** Path of the offending value: `post.tags[2]`; its first name is the parameter. */
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

export type EncodedArguments =
  | { readonly kind: "encoded"; readonly bytes: Uint8Array }
  | { readonly kind: "problem"; readonly problem: ArgumentProblem };

class Problem extends Error {
  readonly problem: ArgumentProblem;
  constructor(code: ArgumentProblem["code"], path: string, message: string, hint: string) {
    super(message);
    this.problem = { code, path, message, hint };
  }
}

/** Encodes a JSON object with the parameters by name; parameters that may be left out and are, stay out. */
export function encodeArguments(
  parameters: readonly Parameter[],
  records: RecordTypes,
  json: unknown,
): EncodedArguments {
  return encoded((writer) => {
    if (!isObject(json)) {
      throw new Problem(
        "invalid_argument",
        "",
        `The body must be a JSON object with the parameters by name, not ${describe(json)}.`,
        `Send ${example(parameters)}.`,
      );
    }
    writeFields(writer, parameters, records, json, "", 0);
  });
}

/** Encodes one value of a type. Its path in problems begins with `result`. */
export function encodeValue(type: ValueType, records: RecordTypes, json: unknown): EncodedArguments {
  return encoded((writer) => writeValue(writer, type, records, json, "result", 0));
}

function encoded(write: (writer: CborWriter) => void): EncodedArguments {
  try {
    const writer = new CborWriter();
    write(writer);
    return { kind: "encoded", bytes: writer.finish() };
  } catch (error) {
    if (error instanceof Problem) return { kind: "problem", problem: error.problem };
    throw error;
  }
}

function writeFields(
  writer: CborWriter,
  fields: readonly Parameter[],
  records: RecordTypes,
  json: Readonly<Record<string, unknown>>,
  path: string,
  depth: number,
): void {
  const noun = path === "" ? "parameter" : "field";
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  for (const name of Object.keys(json)) {
    if (!fields.some((field) => field.name === name)) {
      const known = fields.map((field) => field.name).join(", ");
      throw new Problem(
        "unknown_argument",
        at(name),
        `There is no ${noun} "${at(name)}".`,
        known === "" ? `Send no ${noun}s.` : `The ${noun}s are: ${known}.`,
      );
    }
  }
  const present = fields.filter((field) => {
    // Of a caller in this process; JSON has no undefined.
    const isLeftOut = !Object.hasOwn(json, field.name) || (field.optional && json[field.name] === undefined);
    if (!isLeftOut && field.absent === true && json[field.name] === null)
      throw new Problem(
        "invalid_argument",
        at(field.name),
        `"${at(field.name)}" must not be null.`,
        `Leave "${field.name}" out, or send ${formatValueType(field.type)}.`,
      );
    if (!isLeftOut) return true;
    if (field.optional) return false;
    throw new Problem(
      "missing_argument",
      at(field.name),
      `The ${noun} "${at(field.name)}" is missing.`,
      `Add "${field.name}" of type ${formatValueType(field.type)}.`,
    );
  });
  writer.map(present.length);
  for (const field of present) {
    writer.text(field.name);
    writeValue(writer, field.type, records, json[field.name], at(field.name), depth + 1);
  }
}

function writeValue(
  writer: CborWriter,
  type: ValueType,
  records: RecordTypes,
  json: unknown,
  path: string,
  depth: number,
): void {
  if (depth > MAX_DEPTH)
    throw new Problem(
      "invalid_argument",
      path,
      `"${path}" is nested deeper than ${MAX_DEPTH}.`,
      "Send a flatter value.",
    );
  switch (type.kind) {
    case "bool":
      if (typeof json !== "boolean") throw wrongType(type, json, path);
      writer.boolean(json);
      break;
    case "string":
      if (typeof json !== "string") throw wrongType(type, json, path);
      if (!json.isWellFormed())
        throw new Problem(
          "invalid_argument",
          path,
          `"${path}" has a lone surrogate.`,
          "Send well-formed Unicode text.",
        );
      if (type.oneOf !== undefined && !type.oneOf.includes(json)) throw notOneOf(type.oneOf, json, path);
      writer.text(json);
      break;
    case "f32":
    case "f64": {
      if (typeof json !== "number") throw wrongType(type, json, path);
      const value = type.kind === "f32" ? Math.fround(json) : json;
      if (!Number.isFinite(value))
        throw new Problem(
          "argument_out_of_range",
          path,
          `"${path}" is out of range for ${type.kind}.`,
          `Send a number that ${type.kind} can hold.`,
        );
      writer.float(value);
      break;
    }
    case "array":
      if (!Array.isArray(json)) throw wrongType(type, json, path);
      writer.array(json.length);
      json.forEach((element, index) =>
        writeValue(writer, type.element, records, element, `${path}[${index}]`, depth + 1),
      );
      break;
    case "tuple":
      if (!Array.isArray(json)) throw wrongType(type, json, path);
      if (json.length !== type.elements.length)
        throw new Problem(
          "invalid_argument",
          path,
          `"${path}" must have ${type.elements.length} values, not ${json.length}.`,
          `Send ${formatValueType(type)}.`,
        );
      writer.array(json.length);
      type.elements.forEach((element, index) =>
        writeValue(writer, element, records, json[index], `${path}[${index}]`, depth + 1),
      );
      break;
    case "map": {
      if (!isObject(json)) throw wrongType(type, json, path);
      // JavaScript puts names that are integers first, whatever their order in the text was.
      const keys = Object.keys(json);
      writer.map(keys.length);
      for (const key of keys) {
        const within = `${path}[${JSON.stringify(key)}]`;
        if (!key.isWellFormed())
          throw new Problem(
            "invalid_argument",
            within,
            `A key of "${path}" has a lone surrogate.`,
            "Send well-formed Unicode text.",
          );
        writer.text(key);
        writeValue(writer, type.value, records, json[key], within, depth + 1);
      }
      break;
    }
    case "nullable":
      if (json === null) writer.null();
      else writeValue(writer, type.inner, records, json, path, depth);
      break;
    case "record": {
      const record = records[type.name];
      if (record === undefined) throw new Error(`record ${type.name} is not declared`);
      if (!isObject(json)) throw wrongType(type, json, path);
      writeFields(writer, record.fields, records, json, path, depth);
      if (isBlobRecord(record)) checkBlob(json, path);
      break;
    }
    default:
      writer.integer(toInteger(type.kind, json, path));
  }
}

/** Of a record whose fields have their types. */
function checkBlob(json: Readonly<Record<string, unknown>>, path: string): void {
  const problem = problemOfBlob(json);
  if (problem === null) return;
  const field = `${path}.${problem.field}`;
  throw new Problem(
    "invalid_argument",
    field,
    `"${field}" must be ${problem.expected}.`,
    "Send the Blob as PUT /blobs has answered it.",
  );
}

function toInteger(kind: IntegerKind, json: unknown, path: string): bigint {
  let value: bigint;
  if (typeof json === "number" && Number.isInteger(json)) {
    if (!Number.isSafeInteger(json) && (kind === "i64" || kind === "u64")) {
      throw new Problem(
        "argument_out_of_range",
        path,
        `"${path}" is not exact as a JSON number.`,
        `Send ${kind} values beyond 2^53 as a decimal string.`,
      );
    }
    value = BigInt(json);
  } else if (typeof json === "bigint") {
    value = json;
  } else if ((kind === "i64" || kind === "u64") && typeof json === "string" && /^-?\d{1,20}$/.test(json)) {
    value = BigInt(json);
  } else throw wrongType({ kind }, json, path);
  const [min, max] = INTEGER_RANGES[kind];
  if (value < min || value > max) {
    throw new Problem(
      "argument_out_of_range",
      path,
      `"${path}" is out of range for ${kind}.`,
      `Send an integer from ${min} to ${max}.`,
    );
  }
  return value;
}

/** Of a long text the beginning is shown. */
const MOST_SHOWN = 80;

function notOneOf(texts: readonly string[], json: string, path: string): Problem {
  const listed = texts.map((text) => JSON.stringify(text)).join(", ");
  const shown = JSON.stringify(json.length > MOST_SHOWN ? `${json.slice(0, MOST_SHOWN)}…` : json);
  return new Problem(
    "invalid_argument",
    path,
    `"${path}" must be one of ${listed}, not ${shown}.`,
    `Send one of ${listed}.`,
  );
}

function wrongType(type: ValueType, json: unknown, path: string): Problem {
  const expected = formatValueType(type);
  return new Problem(
    "invalid_argument",
    path,
    `"${path}" must be of type ${expected}, not ${describe(json)}.`,
    `Send ${expected}.`,
  );
}

function describe(json: unknown): string {
  if (json === null) return "null";
  if (Array.isArray(json)) return "an array";
  if (typeof json === "object") return "an object";
  if (typeof json === "number" && !Number.isInteger(json)) return "a fraction";
  return `a ${typeof json}`;
}

function example(parameters: readonly Parameter[]): string {
  return `{${parameters.map((parameter) => `"${parameter.name}": …`).join(", ")}}`;
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/**
 * The JSON text of an encoded value. Integers are written with all their digits; floats that JSON lacks (NaN and the
 * infinities) as null. Throws a MalformedError.
 */
export function valueToJson(bytes: Uint8Array): string {
  const reader = new CborReader(bytes);
  const json = readJson(reader, 0);
  reader.end();
  return json;
}

function readJson(reader: CborReader, depth: number): string {
  const kind = reader.peek();
  if (depth > MAX_DEPTH) reader.skip(depth);
  switch (kind) {
    case "null":
      reader.nullIfNext();
      return "null";
    case "boolean":
      return String(reader.boolean());
    case "integer":
      return String(reader.integer());
    case "float":
      return JSON.stringify(reader.float());
    case "text":
      return JSON.stringify(reader.text());
    case "bytes":
      throw new MalformedError("a value has no byte strings");
    case "array": {
      const elements: string[] = [];
      for (let i = reader.array(); i > 0; i--) elements.push(readJson(reader, depth + 1));
      return `[${elements.join(",")}]`;
    }
    case "map": {
      const pairs: string[] = [];
      for (let i = reader.map(); i > 0; i--) {
        const key = JSON.stringify(reader.text());
        pairs.push(`${key}:${readJson(reader, depth + 1)}`);
      }
      return `{${pairs.join(",")}}`;
    }
  }
}
