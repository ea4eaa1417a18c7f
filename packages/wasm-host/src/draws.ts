/**
 * The draws of an execution: randomness that a re-execution repeats. The read/write-set function, which leaves most of a
 * handler out, draws the same. Each call site has a count of its own, from 0, for numbers and UUIDs alike. Its draw
 * number n is SHA-256(seed ‖ call site as UTF-8 ‖ n as 32-bit big-endian). So a draw that is left out changes those of
 * its own call site only.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { SEED_BYTES } from "@radical/protocol";

export class Draws {
  readonly #seed: Uint8Array;
  readonly #nameOf: (site: string) => string;
  /** By call site, what the next draw hashes. */
  readonly #inputs = new Map<string, DataView<ArrayBuffer>>();

  /** Throws a RangeError unless the seed has 16 bytes. */
  constructor(seed: Uint8Array, nameOf: (site: string) => string = (site) => site) {
    if (seed.length !== SEED_BYTES) throw new RangeError(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
    this.#seed = seed;
    this.#nameOf = nameOf;
  }

  /** In [0, 1): the first 53 bits of the next draw. */
  number(site: string): number {
    const view = new DataView(this.#draw(site).buffer);
    return (view.getUint32(0) * 2 ** 21 + (view.getUint32(4) >>> 11)) / 2 ** 53;
  }

  /** The first 16 bytes of the next draw as a version 4 UUID (RFC 9562). */
  uuid(site: string): string {
    const bytes = this.#draw(site);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = bytesToHex(bytes.subarray(0, 16));
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #draw(ownName: string): Uint8Array<ArrayBuffer> {
    const site = this.#nameOf(ownName);
    let input = this.#inputs.get(site);
    if (input === undefined) this.#inputs.set(site, (input = inputOf(this.#seed, site)));
    const draw = Uint8Array.from(sha256(new Uint8Array(input.buffer)));
    const count = input.byteLength - COUNT_BYTES;
    input.setUint32(count, input.getUint32(count) + 1);
    return draw;
  }
}

const COUNT_BYTES = 4;

function inputOf(seed: Uint8Array, site: string): DataView<ArrayBuffer> {
  const text = utf8ToBytes(site);
  const input = new Uint8Array(SEED_BYTES + text.length + COUNT_BYTES);
  input.set(seed);
  input.set(text, SEED_BYTES);
  return new DataView(input.buffer);
}
