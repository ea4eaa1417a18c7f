/**
 * The last attempt of each series of sendings, by execution and seed. It is a hash table of numbers alone, since there are
 * very many and most live for long. To the garbage collector a map of texts would be most of what a busy server keeps.
 */
import type { ExecutionId, LviRequest } from "@radical/protocol";

/** A slot is so many 32-bit words: the execution id, the seed, and the attempt in two parts; attempt 0: free. */
const SLOT = 10;
const ID = 0;
const SEED = 4;
const ATTEMPT_HIGH = 8;
const ATTEMPT_LOW = 9;
const FIRST_SLOTS = 64;

export class AttemptTable {
  #words = new Uint32Array(FIRST_SLOTS * SLOT);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** 0: none. */
  get(request: LviRequest): number {
    const at = this.#find(request);
    return this.#words[at + ATTEMPT_HIGH]! * 2 ** 32 + this.#words[at + ATTEMPT_LOW]!;
  }

  set(request: LviRequest, attempt: number): void {
    // At most three quarters are taken.
    if (4 * (this.#size + 1) > 3 * (this.#words.length / SLOT)) this.#grow();
    const at = this.#find(request);
    if (this.#isFree(at)) {
      this.#size++;
      this.#words.set(keyOf(request), at);
    }
    this.#words[at + ATTEMPT_HIGH] = Math.floor(attempt / 2 ** 32);
    this.#words[at + ATTEMPT_LOW] = attempt % 2 ** 32;
  }

  /** The slot of the request's series, or the free one where it would be. */
  #find(request: LviRequest): number {
    return slotOf(this.#words, keyOf(request), 0);
  }

  #isFree(at: number): boolean {
    return this.#words[at + ATTEMPT_HIGH] === 0 && this.#words[at + ATTEMPT_LOW] === 0;
  }

  #grow(): void {
    const old = this.#words;
    this.#words = new Uint32Array(2 * old.length);
    for (let from = 0; from < old.length; from += SLOT) {
      if (old[from + ATTEMPT_HIGH] === 0 && old[from + ATTEMPT_LOW] === 0) continue;
      this.#words.set(old.subarray(from, from + SLOT), slotOf(this.#words, old, from));
    }
  }
}

const key = new Uint32Array(ATTEMPT_HIGH);
let keyed: LviRequest | null = null;

/** Of the request's series. It is asked for several times in a row. */
function keyOf(request: LviRequest): Uint32Array {
  if (request === keyed) return key;
  const { executionId, environment } = request;
  for (let i = 0; i < SEED; i++) {
    key[ID + i] = hexWord(executionId, 8 * i);
    key[SEED + i] = byteWord(environment.seed, 4 * i);
  }
  keyed = request;
  return key;
}

/** Where the key is that begins at an offset of `from`, or the free slot where it would be. */
function slotOf(words: Uint32Array, from: Uint32Array, offset: number): number {
  const count = words.length / SLOT;
  let hash = 0;
  for (let i = 0; i < ATTEMPT_HIGH; i++) {
    hash = Math.imul(hash ^ from[offset + i]!, 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  for (let slot = (hash ^ (hash >>> 13)) & (count - 1); ; slot = (slot + 1) & (count - 1)) {
    const at = slot * SLOT;
    if (words[at + ATTEMPT_HIGH] === 0 && words[at + ATTEMPT_LOW] === 0) return at;
    let i = 0;
    while (i < ATTEMPT_HIGH && words[at + i] === from[offset + i]) i++;
    if (i === ATTEMPT_HIGH) return at;
  }
}

/** Of 8 lowercase hex characters. */
function hexWord(id: ExecutionId, from: number): number {
  let word = 0;
  for (let i = from; i < from + 8; i++) {
    const character = id.charCodeAt(i);
    // Letters are nine more than their lowest bits say.
    word = (word << 4) | ((character & 15) + 9 * (character >>> 6));
  }
  return word;
}

function byteWord(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}
