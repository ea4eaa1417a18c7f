/** The binary format of WebAssembly (specification, chapter 5): numbers, vectors and sections, read and written. */

export class BinaryReader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Error("the module ends within something");
    return byte;
  }

  /** An unsigned LEB128 number, exact up to 53 bits. */
  unsigned(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  }

  /** Passes over a LEB128 number of any length. */
  skipNumber(): void {
    while (this.byte() >= 0x80);
  }

  skip(count: number): void {
    this.at += count;
  }

  text(): string {
    const length = this.unsigned();
    const start = this.at;
    this.skip(length);
    // Names that matter here are ASCII.
    return String.fromCharCode(...this.bytes.subarray(start, this.at));
  }
}

/** Bytes that grow. */
export class BinaryWriter {
  #bytes = new Uint8Array(4096);
  length = 0;

  byte(...bytes: readonly number[]): this {
    this.#reserve(bytes.length);
    for (const byte of bytes) this.#bytes[this.length++] = byte;
    return this;
  }

  bytes(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
    return this;
  }

  unsigned(value: number): this {
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) this.byte((left % 0x80) | 0x80);
    return this.byte(left);
  }

  /** A signed LEB128 number: what `i32.const` and `i64.const` take. */
  signed(value: number): this {
    let left = value;
    for (; left < -64 || left > 63; left = Math.floor(left / 0x80)) this.byte((((left % 0x80) + 0x80) % 0x80) | 0x80);
    return this.byte(left & 0x7f);
  }

  text(text: string): this {
    return this.unsigned(text.length).byte(...Array.from(text, (character) => character.charCodeAt(0)));
  }

  /** Something with its length in bytes before it. */
  sized(write: (content: BinaryWriter) => void): this {
    const content = new BinaryWriter();
    write(content);
    return this.unsigned(content.length).bytes(content.finish());
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.length + count, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

export const MAGIC = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

export const Section = {
  Custom: 0,
  Type: 1,
  Import: 2,
  Function: 3,
  Table: 4,
  Memory: 5,
  Global: 6,
  Export: 7,
  Start: 8,
  Element: 9,
  Code: 10,
  Data: 11,
  DataCount: 12,
} as const;

export const ValueKind = { I32: 0x7f, I64: 0x7e, F32: 0x7d, F64: 0x7c } as const;

/** The block type of what has no result. */
export const EMPTY_BLOCK = 0x40;

/** The kind of an import or export. */
export const ExternalKind = { Function: 0, Table: 1, Memory: 2, Global: 3 } as const;

/** By section: where its content is. Custom sections are left out: they say nothing about what a program does. */
export function sectionsOf(wasm: Uint8Array): ReadonlyMap<number, Uint8Array> {
  if (MAGIC.some((byte, index) => wasm[index] !== byte)) throw new Error("this is no WebAssembly module");
  const reader = new BinaryReader(wasm, MAGIC.length);
  const sections = new Map<number, Uint8Array>();
  while (reader.at < wasm.length) {
    const id = reader.byte();
    const size = reader.unsigned();
    if (id !== Section.Custom) sections.set(id, wasm.subarray(reader.at, reader.at + size));
    reader.skip(size);
  }
  return sections;
}

/** The content of the custom section of this name; null: the program has none. */
export function customSection(wasm: Uint8Array, name: string): Uint8Array | null {
  const reader = new BinaryReader(wasm, MAGIC.length);
  while (reader.at < wasm.length) {
    const id = reader.byte();
    const size = reader.unsigned();
    const end = reader.at + size;
    if (id === Section.Custom && reader.text() === name) return wasm.subarray(reader.at, end);
    reader.at = end;
  }
  return null;
}

/** The program with another custom section, which hosts ignore (specification, section 5.5.3). */
export function withCustomSection(wasm: Uint8Array, name: string, content: Uint8Array): Uint8Array {
  const write = (section: BinaryWriter): void => void section.text(name).bytes(content);
  return new BinaryWriter().bytes(wasm).byte(Section.Custom).sized(write).finish();
}
