/**
 * A value as attributes of DynamoDB that a person can read, and back, byte for byte.
 *
 * DynamoDB has no order in its maps and one type of number. What its attributes lose stands beside them in the *shape*:
 *
 *   .                      as the attribute says: text, bytes, boolean, null, a whole number, or a list of such
 *   f                      a float; text if DynamoDB has no such number (NaN, -0, infinities, exponents over 125)
 *   [s]  [s,s,…]           a list whose elements have all this shape, or one each
 *   {"name":s,"age":s}     a map, with its keys in order
 *   raw                    bytes that have no other form here: not CBOR, not in shortest form, nested too deep
 *
 * Every conversion is tried backwards before it is used, so whatever this file does not think of is stored raw.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { CborReader, CborWriter } from "@radical/protocol";
import { sizeOfAttribute } from "./limits.ts";

export interface NativeValue {
  readonly value: AttributeValue;
  /** Null: `.` */
  readonly shape: string | null;
}

const RAW = "raw";
/** DynamoDB takes 32 levels, of which the item and an attribute around the value are some. */
const MAX_LEVELS = 28;
/** Larger values are stored raw, where they take the fewest bytes. */
const MAX_NATIVE_BYTES = 200_000;

export function toNative(bytes: Uint8Array): NativeValue {
  try {
    if (bytes.length <= MAX_NATIVE_BYTES) {
      const reader = new CborReader(bytes);
      const [value, shape] = read(reader, 0);
      reader.end();
      const native = { value, shape: shape === "." ? null : shape };
      if (sizeOfAttribute(value) + shape.length <= MAX_NATIVE_BYTES && isSame(fromNative(native), bytes)) return native;
    }
  } catch {
    // No CBOR of the kinds above.
  }
  return { value: { B: bytes }, shape: RAW };
}

/** Throws for attributes that `toNative` did not make. */
export function fromNative({ value, shape }: NativeValue): Uint8Array {
  if (shape === RAW) {
    if (value.B === undefined) throw new Error("a raw value that is no binary attribute");
    return value.B;
  }
  const writer = new CborWriter();
  const shapes = new Shapes(shape ?? ".");
  write(writer, value, shapes.next());
  shapes.end();
  return writer.finish();
}

type Shape =
  | { readonly kind: "plain" }
  | { readonly kind: "float" }
  | { readonly kind: "list"; readonly elements: readonly Shape[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [key: string, shape: Shape])[] };

function read(reader: CborReader, level: number): [AttributeValue, string] {
  if (level > MAX_LEVELS) throw new Error("nested too deep");
  const kind = reader.peek();
  switch (kind) {
    case "null":
      reader.nullIfNext();
      return [{ NULL: true }, "."];
    case "boolean":
      return [{ BOOL: reader.boolean() }, "."];
    case "integer":
      return [{ N: String(reader.integer()) }, "."];
    case "float": {
      const float = reader.float();
      return [isDynamoNumber(float) ? { N: String(float) } : { S: Object.is(float, -0) ? "-0" : String(float) }, "f"];
    }
    case "text":
      return [{ S: reader.text() }, "."];
    case "bytes":
      return [{ B: reader.bytes() }, "."];
    case "array": {
      const list: AttributeValue[] = [];
      const shapes: string[] = [];
      for (let left = reader.array(); left > 0; left--) {
        const [value, shape] = read(reader, level + 1);
        list.push(value);
        shapes.push(shape);
      }
      const first = shapes[0] ?? ".";
      const same = shapes.every((shape) => shape === first);
      return [{ L: list }, same ? (first === "." ? "." : `[${first}]`) : `[${shapes.join(",")}]`];
    }
    case "map": {
      const map: Record<string, AttributeValue> = {};
      const shapes: string[] = [];
      for (let left = reader.map(); left > 0; left--) {
        const key = reader.text();
        // An empty name is refused by DynamoDB, and `__proto__` is no name for an object's property.
        if (key === "" || key === "__proto__" || Object.hasOwn(map, key)) throw new Error(`the key ${key}`);
        const [value, shape] = read(reader, level + 1);
        map[key] = value;
        shapes.push(`${JSON.stringify(key)}:${shape}`);
      }
      return [{ M: map }, `{${shapes.join(",")}}`];
    }
  }
}

/** DynamoDB's numbers have 38 digits and exponents from -130 to 125. */
function isDynamoNumber(float: number): boolean {
  const magnitude = Math.abs(float);
  return Object.is(float, 0) || (magnitude >= 1e-120 && magnitude <= 1e120);
}

function write(writer: CborWriter, value: AttributeValue, shape: Shape): void {
  switch (shape.kind) {
    case "float":
      writer.float(Number(value.N ?? value.S));
      return;
    case "list": {
      const { elements } = shape;
      const list = value.L ?? [];
      if (elements.length > 1 && elements.length !== list.length) throw new Error("a list of another length");
      writer.array(list.length);
      list.forEach((element, index) => write(writer, element, elements.length === 1 ? elements[0]! : elements[index]!));
      return;
    }
    case "map":
      writer.map(shape.entries.length);
      for (const [key, entry] of shape.entries) {
        const attribute = value.M?.[key];
        if (attribute === undefined) throw new Error(`no attribute ${key}`);
        writer.text(key);
        write(writer, attribute, entry);
      }
      return;
    case "plain":
      if (value.S !== undefined) writer.text(value.S);
      else if (value.N !== undefined) writer.integer(wholeNumber(value.N));
      else if (value.B !== undefined) writer.bytes(value.B);
      else if (value.BOOL !== undefined) writer.boolean(value.BOOL);
      else if (value.NULL !== undefined) writer.null();
      else if (value.L !== undefined) {
        writer.array(value.L.length);
        for (const element of value.L) write(writer, element, shape);
      } else throw new Error(`an attribute of type ${Object.keys(value).join()}`);
  }
}

function wholeNumber(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** Reads a shape from its text. */
class Shapes {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Shape {
    const first = this.#text[this.#at++];
    switch (first) {
      case ".":
        return { kind: "plain" };
      case "f":
        return { kind: "float" };
      case "[": {
        const elements: Shape[] = [];
        do elements.push(this.next());
        while (this.#separated("]"));
        return { kind: "list", elements };
      }
      case "{": {
        const entries: [string, Shape][] = [];
        if (this.#text[this.#at] === "}") this.#at++;
        else {
          do {
            const key = this.#key();
            entries.push([key, this.next()]);
          } while (this.#separated("}"));
        }
        return { kind: "map", entries };
      }
      default:
        throw new Error(`the shape ${this.#text} at ${this.#at - 1}`);
    }
  }

  end(): void {
    if (this.#at !== this.#text.length) throw new Error(`the shape ${this.#text} goes on after ${this.#at}`);
  }

  /** Whether another element follows; else takes the end of the list or map. */
  #separated(end: string): boolean {
    const next = this.#text[this.#at++];
    if (next !== "," && next !== end) throw new Error(`the shape ${this.#text} at ${this.#at - 1}`);
    return next === ",";
  }

  #key(): string {
    const from = this.#at;
    let at = from + 1;
    while (at < this.#text.length && this.#text[at] !== '"') at += this.#text[at] === "\\" ? 2 : 1;
    this.#at = at + 2;
    return JSON.parse(this.#text.slice(from, at + 1)) as string;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
