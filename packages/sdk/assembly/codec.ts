/**
 * Values as deterministic CBOR (RFC 8949, section 4.2): 64-bit integers, 64-bit floats, text, arrays, maps with text
 * keys, booleans and null. Internal: generated code and the SDK use it.
 *
 * A record is a map of its fields in order of declaration, inherited ones first. The code for each record class
 * (`__radicalEncode`, `__radicalDecode`) is generated at build. Decoding initializes fields whose key is missing. Of a stored
 * record it keeps the fields that the class does not know, and storing the record writes them where they stood
 * (`UnknownFields`). So records can evolve, and builds with other fields can work side by side.
 */
import "./arithmetic";
import * as host from "./host";
import { Row } from "./rows";

// Initial bytes and major types (RFC 8949, section 3).
const UNSIGNED: u8 = 0 << 5;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const FLOAT64: u8 = 0xfb;

/** The one NaN that is ever written: engines differ in the bits of NaNs that arithmetic makes. */
const CANONICAL_NAN: u64 = 0x7ff8000000000000;

/**
 * The fields of a stored record that its class does not know, encoded, in the order in which they stood. A field's place
 * counts the fields of the class, in their order, up to the last one that stood before it.
 */
export class UnknownFields {
  private places: i32[] = [];
  /** Their keys and values. */
  private pairs: Writer = new Writer();

  /** Adds a field. Its key is the text of `keyLength` bytes at `key`, its value ends at `stop`. */
  add(place: i32, key: usize, keyLength: i32, stop: usize): void {
    this.places.push(place);
    this.pairs.encodedText(key, keyLength);
    const value = key + keyLength;
    this.pairs.copy(value, (stop - value) as i32);
  }

  /**
   * Writes these fields into the record of `size` fields that `writer` has written behind its first `before` bytes.
   * `leftOut`: among its numbers those of the optional fields that it has not.
   */
  insert(writer: Writer, before: i32, size: i32, leftOut: i32[] | null): void {
    const record = new Writer();
    record.map(size);
    const knownStop = writer.start + writer.length;
    let known = writer.start + before + record.length;
    record.length = 0;
    const count = this.places.length;
    record.map(size + count);
    const pairsStop = this.pairs.start + this.pairs.length;
    let pair = this.pairs.start;
    let written = 0;
    for (let i = 0; i < count; i++) {
      const start = known;
      for (const place = writtenBefore(this.places[i], leftOut); written < place; written++)
        known = skipped(skipped(known, knownStop), knownStop);
      record.copy(start, (known - start) as i32);
      const next = skipped(skipped(pair, pairsStop), pairsStop);
      record.copy(pair, (next - pair) as i32);
      pair = next;
    }
    record.copy(known, (knownStop - known) as i32);
    writer.length = before;
    writer.copy(record.start, record.length);
  }
}

/** How many of the first `count` fields of a record are written. */
function writtenBefore(count: i32, leftOut: i32[] | null): i32 {
  let written = count;
  if (leftOut !== null) for (let i = 0; i < leftOut.length; i++) if (leftOut[i] < count) written--;
  return written;
}

/** Writes values one after the other into a growing buffer. */
export class Writer {
  private buffer: ArrayBuffer = new ArrayBuffer(256);
  /** Bytes written so far. */
  length: i32 = 0;

  constructor(
    /** Whether what is written is stored. Then records keep the fields that their classes do not know. */
    readonly stores: bool = false,
    /** Of the item that is stored, for the words of a trap. */
    private table: string = "",
    private itemKey: string = "",
  ) {}

  /** Traps: the text at `path` is none of those that its type has. */
  refuseText(path: string, expected: string): void {
    const value = this.stores ? this.table + "/" + this.itemKey : "the result";
    abort(value + (path.length == 0 ? "" : ", field " + path) + ": " + foreignText(expected));
  }

  /** Address of the first byte; valid until the next write. */
  get start(): usize {
    return changetype<usize>(this.buffer);
  }

  null(): void {
    this.byte(NULL);
  }

  bool(value: bool): void {
    this.byte(value ? TRUE : FALSE);
  }

  signed(value: i64): void {
    if (value >= 0) this.head(UNSIGNED, value);
    else this.head(NEGATIVE, ~value);
  }

  unsigned(value: u64): void {
    this.head(UNSIGNED, value);
  }

  float(value: f64): void {
    const at = this.reserve(9);
    store<u8>(at, FLOAT64);
    store<u64>(at, bswap<u64>(value == value ? reinterpret<u64>(value) : CANONICAL_NAN), 1);
  }

  /** Traps for text with a lone surrogate. */
  text(value: string): void {
    const length = String.UTF8.byteLength(value);
    this.head(TEXT, length);
    const at = this.reserve(length);
    String.UTF8.encodeUnsafe(changetype<usize>(value), value.length, at, false, String.UTF8.ErrorMode.ERROR);
  }

  /** Starts an array: its elements follow. */
  array(length: i32): void {
    this.head(ARRAY, length);
  }

  /** Starts a map: `size` pairs of text and value follow. */
  map(size: i32): void {
    this.head(MAP, size);
  }

  /** Writes the text of `length` bytes of UTF-8 at `start`. */
  encodedText(start: usize, length: i32): void {
    this.head(TEXT, length);
    this.copy(start, length);
  }

  /** Writes the byte string of `length` bytes at `start`. */
  bytes(start: usize, length: i32): void {
    this.head(BYTES, length);
    this.copy(start, length);
  }

  /** Writes `length` bytes that are encoded already. */
  copy(start: usize, length: i32): void {
    memory.copy(this.reserve(length), start, length);
  }

  private byte(value: u8): void {
    store<u8>(this.reserve(1), value);
  }

  private head(major: u8, argument: u64): void {
    if (argument < 24) {
      store<u8>(this.reserve(1), major | (argument as u8));
    } else if (argument < 0x100) {
      const at = this.reserve(2);
      store<u8>(at, major | 24);
      store<u8>(at, argument as u8, 1);
    } else if (argument < 0x10000) {
      const at = this.reserve(3);
      store<u8>(at, major | 25);
      store<u16>(at, bswap<u16>(argument as u16), 1);
    } else if (argument < 0x100000000) {
      const at = this.reserve(5);
      store<u8>(at, major | 26);
      store<u32>(at, bswap<u32>(argument as u32), 1);
    } else {
      const at = this.reserve(9);
      store<u8>(at, major | 27);
      store<u64>(at, bswap<u64>(argument), 1);
    }
  }

  /** Makes room for `count` more bytes and returns the address of the first. */
  private reserve(count: i32): usize {
    const needed = this.length + count;
    if (needed > this.buffer.byteLength) {
      const grown = new ArrayBuffer(max(needed, this.buffer.byteLength << 1));
      memory.copy(changetype<usize>(grown), changetype<usize>(this.buffer), this.length);
      this.buffer = grown;
    }
    const at = changetype<usize>(this.buffer) + this.length;
    this.length = needed;
    return at;
  }
}

/**
 * Reads values one after the other. Traps if the next one is not of the kind that is read. The words of the trap name item,
 * field, expected kind and found kind.
 */
export class Reader {
  /** Table and key of the item that is read; both are empty for the arguments. */
  private table: string = "";
  private itemKey: string = "";
  /** Where the value begins whose places a trap names. */
  private from: usize = 0;
  private at: usize = 0;
  private stop: usize = 0;
  private keyStart: usize = 0;
  private keyLength: i32 = 0;
  private buffer: ArrayBuffer = new ArrayBuffer(256);

  constructor(
    /** Whether what is read was stored. Then records keep the fields that their classes do not know. */
    readonly stored: bool = false,
  ) {}

  /** Says which item is read next, for the words of a trap. */
  name(table: string, key: string): void {
    this.table = table;
    this.itemKey = key;
  }

  /** Address of the next value. */
  get next(): usize {
    return this.at;
  }

  /** Makes room for values of `length` bytes, and returns the address where they are expected. */
  expect(length: i32): usize {
    const size = this.buffer.byteLength;
    if (length > size) this.buffer = new ArrayBuffer(max(length, size << 1));
    this.at = changetype<usize>(this.buffer);
    this.from = this.at;
    this.stop = this.at + length;
    return this.at;
  }

  /** Goes back to the first value. */
  restart(): void {
    this.at = this.from;
  }

  /** Begins the value in a byte string, and returns the end of what is around it. */
  enter(): usize {
    if ((this.initial() & 0xe0) != BYTES) this.mismatch("bytes");
    const length = this.head();
    this.need(length);
    const around = this.stop;
    this.from = this.at;
    this.stop = this.at + (length as usize);
    return around;
  }

  /** Ends such a value. Traps unless it was read whole. */
  leave(around: usize): void {
    this.end();
    this.stop = around;
  }

  /** Traps unless everything was read. */
  end(): void {
    if (this.at != this.stop) this.refuse(this.at, "malformed value: bytes after the end");
  }

  /** Reads a null if one is next, and says whether it did. */
  nullIfNext(): bool {
    if (this.initial() != NULL) return false;
    this.at++;
    return true;
  }

  bool(): bool {
    const initial = this.initial();
    if (initial != TRUE && initial != FALSE) this.mismatch("a boolean");
    this.at++;
    return initial == TRUE;
  }

  signed(min: i64, max: i64): i64 {
    const initial = this.initial();
    const negative = (initial & 0xe0) == NEGATIVE;
    if (initial >= BYTES) this.mismatch("an integer");
    const argument = this.head();
    const value = negative ? ~(argument as i64) : (argument as i64);
    if (argument > (i64.MAX_VALUE as u64) || value < min || value > max)
      this.outOfRange(min.toString(), max.toString(), negative ? value.toString() : argument.toString());
    return value;
  }

  unsigned(max: u64): u64 {
    const initial = this.initial();
    if (initial >= BYTES) this.mismatch("an integer");
    const value = this.head();
    if (initial >= NEGATIVE) this.outOfRange("0", max.toString(), (~(value as i64)).toString());
    if (value > max) this.outOfRange("0", max.toString(), value.toString());
    return value;
  }

  /** A float; an integer too, so that a field may become a float later. */
  float(): f64 {
    const initial = this.initial();
    if (initial < BYTES) {
      const argument = this.head();
      return (initial & 0xe0) == NEGATIVE ? -1.0 - (argument as f64) : (argument as f64);
    }
    if (initial != FLOAT64) this.mismatch("a number");
    this.need(9);
    const bits = bswap<u64>(load<u64>(this.at, 1));
    this.at += 9;
    return reinterpret<f64>(bits);
  }

  text(): string {
    if ((this.initial() & 0xe0) != TEXT) this.mismatch("text");
    const length = this.head();
    this.need(length);
    const start = this.at;
    this.at += length as usize;
    return textAt(start, length as usize);
  }

  /** A byte string, copied. */
  bytes(): ArrayBuffer {
    if ((this.initial() & 0xe0) != BYTES) this.mismatch("bytes");
    const length = this.head();
    this.need(length);
    const bytes = new ArrayBuffer(length as i32);
    memory.copy(changetype<usize>(bytes), this.at, length as usize);
    this.at += length as usize;
    return bytes;
  }

  /** The length of an array whose elements follow. */
  array(): i32 {
    if ((this.initial() & 0xe0) != ARRAY) this.mismatch("an array");
    const length = this.head();
    this.need(length);
    return length as i32;
  }

  /** Begins an array of so many elements. Traps for another length. */
  tuple(length: i32): void {
    const start = this.at;
    const found = this.array();
    if (found != length) this.refuse(start, "expected " + length.toString() + " values, found " + found.toString());
  }

  /** The number of pairs of a map that follow. */
  map(): i32 {
    if ((this.initial() & 0xe0) != MAP) this.mismatch("a record");
    const size = this.head();
    this.need(size);
    return size as i32;
  }

  /** Reads the key of the next pair of a map, for `keyIs`. */
  key(): void {
    const initial = this.initial();
    if ((initial & 0xe0) != TEXT) this.mismatch("the name of a field");
    let length: u64 = initial & 31;
    if (length < 24) this.at++;
    else length = this.head();
    this.need(length);
    this.keyStart = this.at;
    this.keyLength = length as i32;
    this.at += length as usize;
  }

  /** Whether the key that was read last is `name`. */
  keyIs(name: string): bool {
    const length = name.length;
    // UTF-8 is never shorter than the count of UTF-16 units.
    if (this.keyLength < length) return false;
    const units = changetype<usize>(name);
    for (let i = 0; i < length; i++) {
      const unit = load<u16>(units + (i << 1));
      if (unit >= 0x80) return String.UTF8.decodeUnsafe(this.keyStart, this.keyLength) == name;
      if (load<u8>(this.keyStart + i) != unit) return false;
    }
    return this.keyLength == length;
  }

  /** Skips one value, whatever it is. */
  skip(): void {
    const end = skipped(this.at, this.stop);
    if (end == 0) this.refuse(this.at, "malformed value");
    this.at = end;
  }

  /**
   * Skips the value of the key that was read last, a key that a record's class does not know. A stored record keeps the
   * field: `at` is where the object refers to its `UnknownFields`, `place` is what is said there. Addresses cost a decoder
   * less than references, which it would hold for the garbage collector.
   */
  unknown(object: usize, at: usize, place: i32): void {
    this.skip();
    if (!this.stored) return;
    let fields = load<UnknownFields | null>(object + at);
    if (fields == null) {
      fields = new UnknownFields();
      setField<UnknownFields>(object, at, fields);
    }
    fields.add(place, this.keyStart, this.keyLength, this.at);
  }

  private initial(): u8 {
    this.need(1);
    return load<u8>(this.at);
  }

  /** The argument of a head: its number, or the length of what follows. */
  private head(): u64 {
    const info = load<u8>(this.at) & 31;
    if (info < 24) {
      this.at++;
      return info;
    }
    if (info > 27) this.refuse(this.at, "malformed value: reserved length");
    const size = (1 as usize) << (info - 24);
    this.need(1 + size);
    const start = this.at + 1;
    this.at = start + size;
    return argumentAt(start, size);
  }

  private need(count: u64): void {
    if (count > ((this.stop - this.at) as u64)) this.refuse(this.at, "malformed value: unexpected end");
  }

  /** Traps: the next value is not of the expected kind. */
  private mismatch(expected: string): void {
    this.refuse(this.at, "expected " + expected + ", found " + kindAt(this.at, this.stop));
  }

  /** Traps: the integer that was read last is not one of those. */
  private outOfRange(min: string, max: string, found: string): void {
    this.refuse(this.at - 1, "expected an integer from " + min + " to " + max + ", found " + found);
  }

  /** Traps: a text in the field that was read last is none of those that its type has. `inside`: its way there, `[3]`. */
  refuseText(inside: string, expected: string): void {
    this.refuse(this.keyStart + this.keyLength, foreignText(expected), inside);
  }

  /**
   * Traps with these words, and the place of the value that has a byte at `at`: `events/5c67, field sections[0].title: …`.
   * `inside`: the way from there.
   */
  refuse(at: usize, words: string, inside: string = ""): void {
    const path = pathTo(this.from, this.stop, at) + inside;
    const item = this.table.length == 0 ? "the arguments" : this.table + "/" + this.itemKey;
    // Not thrown: a place in this file tells nothing.
    abort(item + (path.length == 0 ? "" : ", field " + path) + ": " + words);
  }
}

/** The kind of the value at an address, in words. */
function kindAt(at: usize, stop: usize): string {
  if (at >= stop) return "nothing";
  const initial = load<u8>(at);
  if (initial < BYTES) return "an integer";
  if (initial < TEXT) return "bytes";
  if (initial < ARRAY) return "text";
  if (initial < MAP) return "an array";
  if (initial <= (MAP | 31)) return "a record";
  if (initial == TRUE || initial == FALSE) return "a boolean";
  if (initial == NULL) return "null";
  return initial == FLOAT64 ? "a float" : "no value";
}

/** The field that has a byte at `target`, in the value that begins at `at`: `sections[0].title`; empty for the value itself. */
function pathTo(at: usize, stop: usize, target: usize): string {
  let path = "";
  while (at < target) {
    const major = load<u8>(at) & 0xe0;
    if (major != ARRAY && major != MAP) break;
    at += headSize(at);
    if (at > target) break;
    // The bytes may be damaged there: a part without an end has the target.
    for (let index = 0, isFound = false; !isFound; index++) {
      const name = at;
      if (major == MAP) {
        at = skipped(at, stop);
        if (at == 0 || at > target || (load<u8>(name) & 0xe0) != TEXT) return path;
      }
      const end = skipped(at, stop);
      isFound = end == 0 || end > target;
      if (!isFound) {
        at = end;
      } else if (major == ARRAY) {
        path += "[" + index.toString() + "]";
      } else {
        const start = name + headSize(name);
        path += (path.length == 0 ? "" : ".") + textAt(start, argumentOf(name) as usize);
      }
    }
  }
  return path;
}

/** The bytes of the head at `at`, which is whole. */
function headSize(at: usize): usize {
  const info = load<u8>(at) & 31;
  return info < 24 ? 1 : 1 + ((1 as usize) << ((info - 24) as usize));
}

/** The argument of the head at `at`, which is whole. */
function argumentOf(at: usize): u64 {
  const info = load<u8>(at) & 31;
  return info < 24 ? (info as u64) : argumentAt(at + 1, headSize(at) - 1);
}

/** Where the value ends that begins at `at`, whatever it is; 0 if it is malformed. */
function skipped(at: usize, stop: usize): usize {
  // Items still to skip; containers add theirs.
  let pending: u64 = 1;
  do {
    if (pending > ((stop - at) as u64)) return 0;
    pending--;
    const initial = load<u8>(at++);
    let argument: u64 = initial & 31;
    if (argument >= 24) {
      if (argument > 27) return 0;
      const size = (1 as usize) << ((argument - 24) as usize);
      if (size > stop - at) return 0;
      argument = argumentAt(at, size);
      at += size;
    }
    const major = initial & 0xe0;
    if (major == TEXT || major == BYTES) {
      if (argument > ((stop - at) as u64)) return 0;
      at += argument as usize;
    } else if (major == ARRAY || major == MAP) {
      if (argument > ((stop - at) as u64)) return 0;
      pending += major == MAP ? argument << 1 : argument;
    } else if (major > MAP && initial != FLOAT64 && initial != NULL && initial != TRUE && initial != FALSE) {
      return 0;
    }
  } while (pending > 0);
  return at;
}

/** The number of `size` bytes behind an initial byte. */
function argumentAt(start: usize, size: usize): u64 {
  if (size == 1) return load<u8>(start);
  if (size == 2) return bswap<u16>(load<u16>(start));
  if (size == 4) return bswap<u32>(load<u32>(start));
  return bswap<u64>(load<u64>(start));
}

/** UTF-8 as a string. Nearly all of it is ASCII: four characters at a time. */
function textAt(start: usize, length: usize): string {
  const text = __new(length << 1, idof<String>());
  let at: usize = 0;
  while (at + 4 <= length) {
    const four = load<u32>(start + at);
    if (four & 0x80808080) break;
    const two = ((four as u64) | ((four as u64) << 16)) & 0x0000ffff0000ffff;
    store<u64>(text + (at << 1), (two | (two << 8)) & 0x00ff00ff00ff00ff);
    at += 4;
  }
  while (at < length) {
    const one = load<u8>(start + at);
    if (one >= 0x80) return String.UTF8.decodeUnsafe(start, length);
    store<u16>(text + (at << 1), one);
    at++;
  }
  return changetype<string>(text);
}

/** A reader that has come to its end. An instance is small, and in that of a read/write-set function nothing is freed. */
let idle: Reader | null = null;

/** Takes a reader of stored values, which the caller gives back. */
function idleReader(): Reader {
  const used = idle;
  // Decoding may read another item: initializers of fields are the developer's.
  idle = null;
  return used == null ? new Reader(true) : used;
}

/** Reads the item of a table that the host holds for `take`. */
export function takeValue<T>(length: i32, table: string, key: string): T {
  const reader = idleReader();
  reader.name(table, key);
  host.take(reader.expect(length));
  const value = decodeValue<T>(reader);
  reader.end();
  idle = reader;
  return value;
}

/** Reads the rows of a table that the host holds for `take`. */
export function takeRows<T>(length: i32, table: string): Row<T>[] {
  const reader = idleReader();
  host.take(reader.expect(length));
  const rows: Row<T>[] = [];
  for (let left = reader.array(); left > 0; left -= 2) {
    const key = reader.text();
    reader.name(table, key);
    const around = reader.enter();
    const value = decodeValue<T>(reader);
    reader.leave(around);
    rows.push(new Row<T>(key, value, key));
  }
  reader.end();
  idle = reader;
  return rows;
}

function foreignText(expected: string): string {
  return "expected " + expected + ", found another text";
}

/** Writes a value by its static type. */
export function encodeValue<T>(writer: Writer, value: T): void {
  if (isBoolean<T>()) {
    writer.bool(value as bool);
  } else if (isInteger<T>() && !isReference<T>()) {
    if (isSigned<T>()) writer.signed(value as i64);
    else writer.unsigned(value as u64);
  } else if (isFloat<T>()) {
    writer.float(value as f64);
  } else if (isNullable<T>()) {
    if (value === null) writer.null();
    else encodeValue<NonNullable<T>>(writer, value as NonNullable<T>);
  } else if (isString<T>()) {
    writer.text(value as string);
  } else if (isArray<T>()) {
    const length = value.length;
    writer.array(length);
    for (let i = 0; i < length; i++) encodeValue<valueof<T>>(writer, value[i]);
  } else if (isDefined(value.__radicalEncode)) {
    value.__radicalEncode(writer);
  } else {
    encodeMap(writer, value);
  }
}

/** Writes a map of texts to values, in the order in which they were added. */
export function encodeMap<K, V>(writer: Writer, map: Map<K, V>): void {
  const keys = map.keys();
  const values = map.values();
  writer.map(keys.length);
  for (let i = 0; i < keys.length; i++) {
    writer.text(changetype<string>(keys[i]));
    encodeValue<V>(writer, values[i]);
  }
}

export function decodeMap<K, V>(reader: Reader, map: Map<K, V>): void {
  for (let pairs = reader.map(); pairs > 0; pairs--) {
    const at = reader.next;
    const key = changetype<K>(reader.text());
    if (map.has(key)) reader.refuse(at, "the key " + changetype<string>(key) + " is there twice");
    map.set(key, decodeValue<V>(reader));
  }
}

/** Reads a value by its static type. */
export function decodeValue<T>(reader: Reader): T {
  if (isBoolean<T>()) return reader.bool() as T;
  if (isInteger<T>() && !isReference<T>()) {
    if (isSigned<T>()) {
      const shift: i64 = 64 - (sizeof<T>() << 3);
      return reader.signed(i64.MIN_VALUE >> shift, i64.MAX_VALUE >> shift) as T;
    }
    return reader.unsigned(u64.MAX_VALUE >> (64 - (sizeof<T>() << 3))) as T;
  }
  if (isFloat<T>()) return reader.float() as T;
  if (isNullable<T>()) {
    if (reader.nullIfNext()) return changetype<T>(0);
    return decodeValue<NonNullable<T>>(reader) as T;
  }
  if (isString<T>()) return changetype<T>(reader.text());
  if (isArray<T>()) {
    const length = reader.array();
    const array = instantiate<T>(length);
    for (let i = 0; i < length; i++) array[i] = decodeValue<valueof<T>>(reader);
    return array;
  }
  const none = changetype<T>(0);
  if (isDefined(none.__radicalDecode)) {
    // Not constructed: the constructor is the developer's. Every field is set by the generated code.
    const record = changetype<T>(__new(offsetof<T>(), idof<T>()));
    record.__radicalDecode(reader);
    return record;
  }
  const map = instantiate<T>();
  decodeMap(reader, map);
  return map;
}

/** The value of a field whose key is missing and which has no initializer. */
export function zeroValue<T>(): T {
  if (!isReference<T>()) return 0 as T;
  if (isNullable<T>()) return changetype<T>(0);
  if (isString<T>()) return changetype<T>("");
  if (isArray<T>()) return instantiate<T>();
  const none = changetype<T>(0);
  if (!isDefined(none.__radicalInitialize)) return instantiate<T>();
  const record = changetype<T>(__new(offsetof<T>(), idof<T>()));
  record.__radicalInitialize();
  return record;
}

/** Sets a field at an offset of an object, also a readonly one. */
export function setField<T>(object: usize, offset: usize, value: T): void {
  store<T>(object + offset, value);
  if (isManaged<T>()) __link(object, changetype<usize>(value), false);
}

/** The arguments of this execution. */
export function readArguments(): Reader {
  const reader = new Reader();
  host.args_read(reader.expect(host.args_size()));
  return reader;
}

/** Hands over the result of this execution. */
export function respond(writer: Writer): void {
  host.result(writer.start, writer.length);
}
