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
  readonly #isValid: (text: string) => text is T;
  readonly #what: string;
  readonly #slots: (T | undefined)[] = [];

  /** `what`: for the words of an error. */
  constructor(what: string, isValid: (text: string) => text is T) {
    this.#what = what;
    this.#isValid = isValid;
  }

  /** The text of these UTF-8 bytes. Throws a MalformedError if it is none of the kind. */
  read(bytes: Uint8Array, from: number, to: number): T {
    const length = to - from;
    if (length > MAX_BYTES) return this.#decode(bytes, from, to);
    let hash = length;
    for (let i = from; i < to; i++) {
      hash = Math.imul(hash ^ bytes[i]!, 0x5bd1e995);
      hash ^= hash >>> 15;
    }
    const slot = hash & (SLOTS - 1);
    const recent = this.#slots[slot];
    if (recent !== undefined && isAscii(recent, bytes, from, to)) return recent;
    return (this.#slots[slot] = this.#decode(bytes, from, to));
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

/** Whether the bytes are the characters of the text, each of one byte. */
function isAscii(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let i = from; i < to; i++) if (bytes[i]! > 0x7f || bytes[i] !== text.charCodeAt(i - from)) return false;
  return true;
}
