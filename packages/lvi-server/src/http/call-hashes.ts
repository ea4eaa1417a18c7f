/**
 * Hashes of calls with secrets that are derived from the keys of the deployment, so that storage has none of them. Calls that
 * finished under a key that was taken away can be compared as long as the process lives.
 */
import { createHmac } from "node:crypto";
import type { CallHash, CallHasher } from "../core/call-hash.ts";
import { HmacKey } from "./hmac.ts";

const LABEL = "radical: hashes of calls";
const NAME_LABEL = "radical: name of the key of hashes of calls";
const NAME_LENGTH = 16;

export class CallHashes implements CallHasher {
  readonly #keys = new Map<string, HmacKey>();
  #current = "";

  /** From now on; the last one makes new hashes. */
  use(secrets: Iterable<Uint8Array>): void {
    for (const secret of secrets) {
      const derived = createHmac("sha256", secret).update(LABEL).digest();
      this.#current = createHmac("sha256", derived).update(NAME_LABEL).digest("hex").slice(0, NAME_LENGTH);
      if (!this.#keys.has(this.#current)) this.#keys.set(this.#current, new HmacKey(derived));
    }
  }

  hash(bytes: Uint8Array): CallHash {
    const hashed = this.hashWith(this.#current, bytes);
    if (hashed === null) throw new Error("there is no key to hash with");
    return hashed;
  }

  hashWith(key: string, bytes: Uint8Array): CallHash | null {
    const hash = this.#keys.get(key)?.sign("", bytes);
    return hash === undefined ? null : { key, hash };
  }
}
