/**
 * Texts of one kind that were read lately. The same units, commit ids and hashes are in one message after another: what
 * comes again is found by its bytes, and neither decoded nor checked again.
 */
import { MalformedError } from "./malformed-error.ts";
import { decodeUtf8 } from "./text.ts";

/** A text that was read later takes the slot of an earlier one. */
const SLOTS = 2_048;
/** Longer ones are read each time. */
const MAX_BYTES = 64;

export class RecentTexts<T extends string> {
  readonly #what: string;
  readonly #isValid: (text: string) => text is T;
  readonly #texts: (T | undefined)[] = Array.from({ length: SLOTS });
  /** Of the text in each slot, and how many; 0: there is none. */
  readonly #bytes = new Uint8Array(SLOTS * MAX_BYTES);
  readonly #lengths = new Uint8Array(SLOTS);

  /** `what`: for the words of an error. */
  constructor(what: string, isValid: (text: string) => text is T) {
    this.#what = what;
    this.#isValid = isValid;
  }

  /** The text of these UTF-8 bytes. Throws a MalformedError if it is none of the kind. */
  read(bytes: Uint8Array, from: number, to: number): T {
    const length = to - from;
    if (length > MAX_BYTES || length === 0) return this.#decode(bytes, from, to);
    const slot = hashOf(bytes, from, to) & (SLOTS - 1);
    const start = slot * MAX_BYTES;
    if (this.#lengths[slot] === length && areEqual(bytes, from, to, this.#bytes, start)) return this.#texts[slot]!;
    const text = this.#decode(bytes, from, to);
    for (let i = 0; i < length; i++) this.#bytes[start + i] = bytes[from + i]!;
    this.#lengths[slot] = length;
    return (this.#texts[slot] = text);
  }

  #decode(bytes: Uint8Array, from: number, to: number): T {
    const text = decodeText(bytes, from, to);
    if (!this.#isValid(text)) throw new MalformedError(`malformed ${this.#what}`);
    return text;
  }
}

/** Throws a MalformedError. */
export function decodeText(bytes: Uint8Array, from: number, to: number): string {
  try {
    return decodeUtf8(bytes.subarray(from, to));
  } catch {
    throw new MalformedError("text is not UTF-8");
  }
}

function areEqual(bytes: Uint8Array, from: number, to: number, others: Uint8Array, otherFrom: number): boolean {
  for (let i = from, j = otherFrom; i < to; i++, j++) if (bytes[i] !== others[j]) return false;
  return true;
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  for (let i = from; i + 4 <= to; i += 4) hash = mixed(hash, word(bytes, i));
  // The rest, with some of what went before it.
  hash = mixed(hash, to - from >= 4 ? word(bytes, to - 4) : bytes[from]!);
  // All bits of the last word have a say in the lowest ones.
  return mixed(hash ^ (hash >>> 16), 0);
}

function mixed(hash: number, more: number): number {
  const product = Math.imul(hash ^ more, 0x5bd1e995);
  return product ^ (product >>> 15);
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
