/**
 * The keys that locations sign with. Several are accepted at once, so that they can be rotated while everything runs: the
 * new one is added here, then the locations sign with it, then the old one is taken away.
 */
import { CallHashes } from "./call-hashes.ts";
import { HmacKey } from "./hmac.ts";

/** Secrets by key id. */
export type Keys = ReadonlyMap<string, Uint8Array>;

/** Ready to be used, made once. */
export type PreparedKeys = ReadonlyMap<string, HmacKey>;

/** What is wrong with a text of keys; never shows a secret. */
export class KeysError extends Error {
  override readonly name = "KeysError";
}

/** The keys that are accepted as of now. */
export class KeyRing {
  #current: PreparedKeys;
  /** By which finished calls are compared. */
  readonly callHashes = new CallHashes();

  constructor(keys: Keys) {
    this.#current = prepared(keys);
    this.callHashes.use(keys.values());
  }

  get current(): PreparedKeys {
    return this.#current;
  }

  /** From the next request on. */
  replace(keys: Keys): void {
    this.#current = prepared(keys);
    this.callHashes.use(keys.values());
  }
}

function prepared(keys: Keys): PreparedKeys {
  return new Map([...keys].map(([id, secret]) => [id, new HmacKey(secret)]));
}

const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Shortest secret, in bytes. */
const MIN_KEY_BYTES = 16;

/** `id:hex`, with commas or line ends in between; lines that begin with # are left out. Throws a KeysError. */
export function parseKeys(text: string): Keys {
  const keys = new Map<string, Uint8Array>();
  for (const part of partsOf(text)) {
    const [id = "", hex = "", ...rest] = part.split(":");
    if (!KEY_ID.test(id) || rest.length > 0) throw new KeysError(`a part is not id:hex; ${HINT}`);
    if (!/^(?:[0-9a-fA-F]{2})+$/.test(hex)) throw new KeysError(`the key "${id}" is not hexadecimal; ${HINT}`);
    if (hex.length < 2 * MIN_KEY_BYTES)
      throw new KeysError(`the key "${id}" is shorter than ${MIN_KEY_BYTES} bytes; ${HINT}`);
    if (keys.has(id)) throw new KeysError(`the key "${id}" is there twice`);
    keys.set(id, Buffer.from(hex, "hex"));
  }
  if (keys.size === 0) throw new KeysError(`there is no key, so no location could sign; ${HINT}`);
  return keys;
}

const HINT = 'a key is "<id>:<hex>", for example with: openssl rand -hex 32';

/** Of a text that may be wrong. */
export function keyIdsOf(text: string): readonly string[] {
  return partsOf(text)
    .map((part) => part.split(":")[0]!)
    .filter((id) => KEY_ID.test(id));
}

function partsOf(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
