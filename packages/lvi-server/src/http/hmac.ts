/**
 * HMAC-SHA-256 (RFC 2104) from two one-shot hashes: to set up an `Hmac` object takes longer than to hash a message of the
 * usual size.
 */
import { createHmac, hash } from "node:crypto";

const BLOCK = 64;
const DIGEST = 32;

/** Of larger messages the time goes into the hash, and none is spent on a copy of them. */
const MAX_COPIED = 16 * 1024;

/** A key that is used again and again. */
export class HmacKey {
  readonly #secret: Uint8Array;
  /** The padded key, and room for what comes after it in each of the two hashes. */
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(secret: Uint8Array) {
    this.#secret = Buffer.from(secret);
    const key = secret.length > BLOCK ? hash("sha256", secret, "buffer") : secret;
    this.#inner = Buffer.alloc(BLOCK + MAX_COPIED, 0x36);
    this.#outer = Buffer.alloc(BLOCK + DIGEST, 0x5c);
    for (const [index, byte] of key.entries()) {
      this.#inner[index]! ^= byte;
      this.#outer[index]! ^= byte;
    }
  }

  /** Of `head`, which is ASCII, and `body` after it: 64 lowercase hex characters. */
  sign(head: string, body: Uint8Array): string {
    const length = BLOCK + head.length + body.length;
    if (length > this.#inner.length) return createHmac("sha256", this.#secret).update(head).update(body).digest("hex");
    this.#inner.write(head, BLOCK, "latin1");
    this.#inner.set(body, BLOCK + head.length);
    // As text: Node makes a buffer of a digest in a slower way.
    this.#outer.write(hash("sha256", this.#inner.subarray(0, length), "binary"), BLOCK, "latin1");
    return hash("sha256", this.#outer, "hex");
  }
}
