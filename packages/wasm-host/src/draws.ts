/**
 * The draws of an execution: randomness that a re-execution repeats. Draw number n is SHA-256(seed ‖ n as 32-bit
 * big-endian); numbers and UUIDs share the count.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { SEED_BYTES } from "@radical/protocol";

export class Draws {
  readonly #input = new Uint8Array(SEED_BYTES + 4);
  #next = 0;

  /** Throws a RangeError unless the seed has 16 bytes. */
  constructor(seed: Uint8Array) {
    if (seed.length !== SEED_BYTES) throw new RangeError(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
    this.#input.set(seed);
  }

  /** In [0, 1): the first 53 bits of the next draw. */
  number(): number {
    const view = new DataView(this.#draw().buffer);
    return (view.getUint32(0) * 2 ** 21 + (view.getUint32(4) >>> 11)) / 2 ** 53;
  }

  /** The first 16 bytes of the next draw as a version 4 UUID (RFC 9562). */
  uuid(): string {
    const bytes = this.#draw();
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #draw(): Uint8Array<ArrayBuffer> {
    new DataView(this.#input.buffer).setUint32(SEED_BYTES, this.#next++);
    return Uint8Array.from(sha256(this.#input));
  }
}
