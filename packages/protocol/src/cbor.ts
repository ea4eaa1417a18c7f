/**
 * The subset of CBOR (RFC 8949) that values and messages use: 64-bit integers and floats, text, bytes, arrays, maps
 * with text keys, booleans and null. Lengths are definite and heads the shortest. This is core deterministic encoding
 * (section 4.2.1), but maps keep the order of their record's fields.
 *
 * Values are written and read by shape, not as a tree. The reader checks every length against the bytes that are left
 * before it allocates anything.
 */
import { MalformedError } from "./malformed-error.ts";
import { decodeText, type Recent, type RecentTexts } from "./recent.ts";
import { encodeUtf8 } from "./text.ts";

/** An item nested deeper than {@link MAX_DEPTH}. */
class TooDeepError extends MalformedError {}

export type CborKind = "integer" | "float" | "text" | "bytes" | "array" | "map" | "boolean" | "null";

const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, simple: 7 } as const;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const FLOAT64 = 0xfb;

/** Deepest nesting that the reader follows. */
export const MAX_DEPTH = 64;

/** A float on its way between a number and its bytes. */
const float = new DataView(new ArrayBuffer(8));
const floatBytes = new Uint8Array(float.buffer);

/** The first size of the buffer; a short reply fits. */
const FIRST_BYTES = 64;

/** Longer texts are encoded by the platform. */
const SHORT_TEXT = 64;

export class CborWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;

  /** The bytes written so far, copied. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  null(): this {
    return this.#byte(NULL);
  }

  boolean(value: boolean): this {
    return this.#byte(value ? TRUE : FALSE);
  }

  /** Throws a RangeError for anything but an integer from −2⁶³ to 2⁶⁴−1. */
  integer(value: number | bigint): this {
    if (typeof value === "number") {
      if (!Number.isSafeInteger(value)) throw new RangeError(`not an exact integer: ${value}`);
      return value >= 0 ? this.#head(MAJOR.unsigned, value) : this.#head(MAJOR.negative, -1 - value);
    }
    if (value > 0xffff_ffff_ffff_ffffn || value < -0x8000_0000_0000_0000n)
      throw new RangeError(`integer over 64 bits: ${value}`);
    return value >= 0n ? this.#head(MAJOR.unsigned, value) : this.#head(MAJOR.negative, -1n - value);
  }

  /** A 64-bit float; every NaN is written with the same bits. */
  float(value: number): this {
    if (Number.isNaN(value)) float.setBigUint64(0, 0x7ff8_0000_0000_0000n);
    else float.setFloat64(0, value);
    return this.#byte(FLOAT64).raw(floatBytes);
  }

  /** Throws a RangeError for text with a lone surrogate. */
  text(value: string): this {
    if (value.length <= SHORT_TEXT && this.#asciiText(value)) return this;
    if (!value.isWellFormed()) throw new RangeError("text with a lone surrogate");
    const bytes = encodeUtf8(value);
    this.#head(MAJOR.text, bytes.length);
    return this.raw(bytes);
  }

  bytes(value: Uint8Array): this {
    this.#head(MAJOR.bytes, value.length);
    return this.raw(value);
  }

  /** Starts an array: its elements follow. */
  array(length: number): this {
    return this.#head(MAJOR.array, length);
  }

  /** Starts a map: `size` pairs of text key and value follow. */
  map(size: number): this {
    return this.#head(MAJOR.map, size);
  }

  /** Bytes that are CBOR already. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** Whether it was ASCII, and is written. */
  #asciiText(value: string): boolean {
    const before = this.#length;
    this.#head(MAJOR.text, value.length).#reserve(value.length);
    for (let i = 0; i < value.length; i++) {
      const character = value.charCodeAt(i);
      if (character > 0x7f) {
        this.#length = before;
        return false;
      }
      this.#bytes[this.#length++] = character;
    }
    return true;
  }

  #byte(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  #head(major: number, argument: number | bigint): this {
    this.#reserve(9);
    const initial = major << 5;
    if (argument < 24) {
      this.#bytes[this.#length++] = initial | Number(argument);
    } else if (argument < 0x100) {
      this.#bytes[this.#length++] = initial | 24;
      this.#bytes[this.#length++] = Number(argument);
    } else if (argument < 0x1_0000) {
      this.#bytes[this.#length++] = initial | 25;
      this.#bytes[this.#length++] = Number(argument) >>> 8;
      this.#bytes[this.#length++] = Number(argument);
    } else if (argument < 0x1_0000_0000) {
      this.#bytes[this.#length++] = initial | 26;
      this.#word(Number(argument));
    } else {
      this.#bytes[this.#length++] = initial | 27;
      const isExact = typeof argument === "number";
      this.#word(isExact ? Math.floor(argument / 2 ** 32) : Number(argument >> 32n));
      this.#word(isExact ? argument % 2 ** 32 : Number(argument & 0xffff_ffffn));
    }
    return this;
  }

  /** 32 bits, for which there is room. */
  #word(value: number): void {
    this.#bytes[this.#length++] = value >>> 24;
    this.#bytes[this.#length++] = value >>> 16;
    this.#bytes[this.#length++] = value >>> 8;
    this.#bytes[this.#length++] = value;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 4));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** Every method throws a {@link MalformedError} if the next item is not what it reads. */
export class CborReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    // A `Buffer` of Node has another `slice`, which copies nothing.
    this.#bytes =
      bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** Fails unless everything was read. */
  end(): void {
    if (this.remaining !== 0) throw new MalformedError(`${this.remaining} bytes after the end`);
  }

  /** The kind of the next item. */
  peek(): CborKind {
    const initial = this.#initial();
    switch (initial >> 5) {
      case MAJOR.unsigned:
      case MAJOR.negative:
        return "integer";
      case MAJOR.bytes:
        return "bytes";
      case MAJOR.text:
        return "text";
      case MAJOR.array:
        return "array";
      case MAJOR.map:
        return "map";
      default:
        if (initial === NULL) return "null";
        if (initial === FALSE || initial === TRUE) return "boolean";
        if (initial === FLOAT64) return "float";
        throw new MalformedError(`unsupported item 0x${initial.toString(16)}`);
    }
  }

  /** Reads a null if one is next, and says whether it did. */
  nullIfNext(): boolean {
    if (this.#initial() !== NULL) return false;
    this.#at++;
    return true;
  }

  boolean(): boolean {
    const initial = this.#initial();
    if (initial !== FALSE && initial !== TRUE) throw this.#expected("boolean");
    this.#at++;
    return initial === TRUE;
  }

  /** A number if it is exact as one, else a bigint. */
  integer(): number | bigint {
    const major = this.#initial() >> 5;
    if (major !== MAJOR.unsigned && major !== MAJOR.negative) throw this.#expected("integer");
    const argument = this.#head(major);
    if (major === MAJOR.unsigned) return argument;
    if (typeof argument === "number" && argument < Number.MAX_SAFE_INTEGER) return -1 - argument;
    const value = -1n - BigInt(argument);
    if (value < -0x8000_0000_0000_0000n) throw new MalformedError("integer over 64 bits");
    return value;
  }

  /** An integer from `min` to `max`, both exact as numbers. */
  integerIn(min: number, max: number): number {
    const value = this.integer();
    if (typeof value === "bigint" || value < min || value > max)
      throw new MalformedError(`integer ${value} outside ${min} to ${max}`);
    return value;
  }

  float(): number {
    if (this.#initial() !== FLOAT64) throw this.#expected("float");
    this.#need(9);
    for (let i = 0; i < 8; i++) floatBytes[i] = this.#bytes[this.#at + 1 + i]!;
    this.#at += 9;
    return float.getFloat64(0);
  }

  text(): string {
    const length = this.#length(MAJOR.text, "text");
    return decodeText(this.#bytes.subarray(this.#at, (this.#at += length)));
  }

  /** A text of a kind of which the same ones come again and again. */
  recentText<T extends string>(kind: RecentTexts<T>): T {
    const length = this.#length(MAJOR.text, "text");
    return kind.read(this.#view, this.#at, (this.#at += length));
  }

  /** A text of 32 bytes that are ASCII, as execution ids are, in a shorter way; null if it is none. */
  ascii32(): string | null {
    const bytes = this.#bytes;
    const at = this.#at + 2;
    if (bytes[at - 2] !== ((MAJOR.text << 5) | 24) || bytes[at - 1] !== 32 || at + 32 > bytes.length) return null;
    for (let i = at; i < at + 32; i++) if (bytes[i]! > 0x7f) return null;
    this.#at = at + 32;
    return ascii16(bytes, at) + ascii16(bytes, at + 16);
  }

  /** An item of a kind of which the same ones come again and again; `read` is for those that are not known. */
  recent<T>(kind: Recent<T>, read: () => T): T {
    const from = this.#at;
    const to = this.#plainEnd(from + kind.maxBytes);
    if (to === null) return read();
    const item = kind.read(this.#view, from, to, read);
    this.#at = to;
    return item;
  }

  /** A view into the bytes being read, not a copy. */
  bytes(): Uint8Array {
    return this.#run(MAJOR.bytes, "bytes");
  }

  copiedBytes(): Uint8Array {
    const length = this.#length(MAJOR.bytes, "bytes");
    return this.#bytes.slice(this.#at, (this.#at += length));
  }

  /** The length of an array whose elements follow. */
  array(): number {
    return this.#count(MAJOR.array, "array", 1);
  }

  /** The number of pairs of a map that follow. */
  map(): number {
    return this.#count(MAJOR.map, "map", 2);
  }

  /** Skips one item, whatever it is. */
  skip(depth = 0): void {
    if (depth > MAX_DEPTH) throw new TooDeepError(`nested deeper than ${MAX_DEPTH}`);
    switch (this.peek()) {
      case "integer":
        this.integer();
        break;
      case "float":
        this.float();
        break;
      case "boolean":
      case "null":
        this.#at++;
        break;
      case "text":
        this.#run(MAJOR.text, "text");
        break;
      case "bytes":
        this.#run(MAJOR.bytes, "bytes");
        break;
      case "array":
        for (let i = this.array(); i > 0; i--) this.skip(depth + 1);
        break;
      case "map":
        for (let i = this.map(); i > 0; i--) {
          this.#run(MAJOR.text, "text");
          this.skip(depth + 1);
        }
    }
  }

  /** Where the next item ends; null if it ends after `limit`, or has what small items of messages don't have. */
  #plainEnd(limit: number): number | null {
    const bytes = this.#bytes;
    const end = Math.min(limit, bytes.length);
    let at = this.#at;
    for (let items = 1; items > 0; items--) {
      if (at >= end) return null;
      const initial = bytes[at++]!;
      let argument = initial & 31;
      if (argument > 24) return null;
      if (argument === 24) {
        if (at >= end) return null;
        argument = bytes[at++]!;
      }
      switch (initial >> 5) {
        case MAJOR.unsigned:
          break;
        case MAJOR.text:
          at += argument;
          break;
        case MAJOR.array:
          items += argument;
          break;
        default:
          if (initial !== NULL) return null;
      }
    }
    return at <= end ? at : null;
  }

  #initial(): number {
    const initial = this.#bytes[this.#at];
    if (initial === undefined) throw new MalformedError("unexpected end");
    return initial;
  }

  #need(count: number): void {
    if (this.remaining < count) throw new MalformedError("unexpected end");
  }

  #expected(what: string): MalformedError {
    return new MalformedError(`expected ${what} at byte ${this.#at}, found ${this.peek()}`);
  }

  #count(major: number, what: string, bytesPerElement: number): number {
    const count = this.#argument(major, what);
    if (count > this.remaining / bytesPerElement) throw new MalformedError(`${what} longer than the message`);
    return Number(count);
  }

  #run(major: number, what: string): Uint8Array {
    const length = this.#length(major, what);
    return this.#bytes.subarray(this.#at, (this.#at += length));
  }

  /** Of the bytes that follow, which are all there. */
  #length(major: number, what: string): number {
    const length = this.#argument(major, what);
    if (length > this.remaining) throw new MalformedError("unexpected end");
    return Number(length);
  }

  #argument(major: number, what: string): number | bigint {
    const initial = this.#initial();
    if (initial >> 5 !== major) throw this.#expected(what);
    if ((initial & 31) >= 24) return this.#head(major);
    // Nearly all of them.
    this.#at++;
    return initial & 31;
  }

  #head(major: number): number | bigint {
    const info = this.#initial() & 31;
    if (this.#initial() >> 5 !== major || info > 27) throw new MalformedError("indefinite or reserved length");
    this.#at++;
    if (info < 24) return info;
    const size = 1 << (info - 24);
    this.#need(size);
    const at = this.#at;
    this.#at += size;
    let value: number;
    if (size === 1) value = this.#bytes[at]!;
    else if (size === 2) value = (this.#bytes[at]! << 8) | this.#bytes[at + 1]!;
    else if (size === 4) value = this.#word(at);
    else {
      const high = this.#word(at);
      const low = this.#word(at + 4);
      if (high === 0) throw new MalformedError("head is not the shortest");
      return high < 2 ** 21 ? high * 2 ** 32 + low : (BigInt(high) << 32n) | BigInt(low);
    }
    if (value < (size === 1 ? 24 : size === 2 ? 0x100 : 0x1_0000)) throw new MalformedError("head is not the shortest");
    return value;
  }

  #word(at: number): number {
    const bytes = this.#bytes;
    return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  }
}

/** Whether the item nests deeper than readers follow: {@link MAX_DEPTH}. */
export function isTooDeep(bytes: Uint8Array): boolean {
  try {
    new CborReader(bytes).skip();
    return false;
  } catch (error) {
    return error instanceof TooDeepError;
  }
}

function ascii16(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(
    bytes[at]!,
    bytes[at + 1]!,
    bytes[at + 2]!,
    bytes[at + 3]!,
    bytes[at + 4]!,
    bytes[at + 5]!,
    bytes[at + 6]!,
    bytes[at + 7]!,
    bytes[at + 8]!,
    bytes[at + 9]!,
    bytes[at + 10]!,
    bytes[at + 11]!,
    bytes[at + 12]!,
    bytes[at + 13]!,
    bytes[at + 14]!,
    bytes[at + 15]!,
  );
}
