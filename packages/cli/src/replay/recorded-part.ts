/** The parts of a record's line: values as JSON text and back, and checked reading of fields. */
import { MalformedError } from "@radical/protocol";
import { bytesOf, encodeUntyped, isObject, type Json, parseJson, valueToExactJson } from "@radical/app";

/** The reason why a line is not a record. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
}

/** The value as JSON text for people; what JSON can't say as its bytes. */
export function shownValue(value: Uint8Array | null): string {
  if (value === null) return "absent";
  return exactJson(value) ?? `cbor ${Buffer.from(value).toString("base64")}`;
}

/** The field of an object that has the value: `value`, or `cbor` for what JSON can't say. {@link valueIn} reads it. */
export function valueFields(value: Uint8Array): string {
  const json = exactJson(value);
  return json === null ? `"cbor":"${Buffer.from(value).toString("base64")}"` : `"value":${json}`;
}

/** Null unless the JSON gives the very same bytes again. */
function exactJson(value: Uint8Array): string | null {
  try {
    const json = valueToExactJson(value);
    return json !== null && Buffer.compare(encodeUntyped(parseJson(json)), value) === 0 ? json : null;
  } catch (error) {
    // A handler's arguments and items may be any bytes.
    if (error instanceof MalformedError) return null;
    throw error;
  }
}

/** The value of {@link valueFields}. Throws a RecordProblem. */
export function valueIn(json: Json | undefined): Uint8Array {
  if (json !== undefined && isObject(json)) {
    const { value, cbor } = json;
    if (value !== undefined) return encodeUntyped(value);
    if (typeof cbor === "string") return bytesOf(cbor, "unchecked");
  }
  throw new RecordProblem("lacks a value");
}

/** A part of a line that is read. Its methods throw a RecordProblem. */
export class RecordedPart {
  /** As `JSON.parse` has it. */
  readonly plain: unknown;
  /** With numbers as they are written. */
  readonly exact: Json | undefined;

  constructor(plain: unknown, exact: Json | undefined) {
    this.plain = plain;
    this.exact = exact;
  }

  static ofLine(line: string): RecordedPart {
    try {
      return new RecordedPart(JSON.parse(line), parseJson(line));
    } catch (error) {
      throw new RecordProblem(`is not JSON: ${(error as Error).message}`);
    }
  }

  /** Undefined: the part is not an object, or lacks the field. */
  get(name: string): unknown {
    const { plain } = this;
    const isThere = typeof plain === "object" && plain !== null && Object.hasOwn(plain, name);
    return isThere ? (plain as Readonly<Record<string, unknown>>)[name] : undefined;
  }

  field(name: string): RecordedPart {
    const { exact } = this;
    return new RecordedPart(this.get(name), exact !== undefined && isObject(exact) ? exact[name] : undefined);
  }

  list(name: string): readonly RecordedPart[] {
    const { plain } = this.field(name);
    if (!Array.isArray(plain)) throw new RecordProblem(`has a wrong "${name}"`);
    const exact = this.field(name).exact as readonly Json[];
    return plain.map((each: unknown, at) => new RecordedPart(each, exact[at]));
  }

  text(name: string): string {
    return this.checked(name, (value) => typeof value === "string") as string;
  }

  textOrNull(name: string): string | null {
    return this.checked(name, (value) => value === null || typeof value === "string") as string | null;
  }

  number(name: string): number {
    return this.checked(name, Number.isSafeInteger) as number;
  }

  numberOrNull(name: string): number | null {
    return this.checked(name, (value) => value === null || Number.isSafeInteger(value)) as number | null;
  }

  texts(name: string): readonly string[] {
    return this.checked(
      name,
      (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
    ) as readonly string[];
  }

  checked(name: string, isRight: (value: unknown) => boolean): unknown {
    const value = this.get(name);
    if (isRight(value)) return value;
    throw new RecordProblem(`has a wrong "${name}"`);
  }

  get value(): Uint8Array {
    return valueIn(this.exact);
  }
}
