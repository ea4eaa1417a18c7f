/**
 * The keys that the server takes: secrets that locations share with it, and public halves of the keys of administration. Several of
 * each are accepted at once, so that they can be rotated while everything runs. First the new one is added here, then others sign with it,
 * then the old one is taken away.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { CallHashes } from "./call-hashes.ts";
import { HmacKey } from "./hmac.ts";

/** By key id. No id is in both. */
export interface Keys {
  /** Secrets. */
  readonly locations: ReadonlyMap<string, Uint8Array>;
  /** Ed25519 public halves, of 32 bytes. */
  readonly administration: ReadonlyMap<string, Uint8Array>;
}

/** Of locations, ready to be used, made once. */
export type PreparedKeys = ReadonlyMap<string, HmacKey>;

/** What is wrong with a text of keys; never shows a secret. */
export class KeysError extends Error {
  override readonly name = "KeysError";
}

/** The keys that are accepted as of now. */
export class KeyRing {
  /** Of locations. */
  #current!: PreparedKeys;
  #administration!: ReadonlyMap<string, KeyObject>;
  #publicHalves!: Readonly<Record<string, string>>;
  /** By which finished calls are compared. */
  readonly callHashes = new CallHashes();

  constructor(keys: Keys) {
    this.replace(keys);
  }

  get current(): PreparedKeys {
    return this.#current;
  }

  get administration(): ReadonlyMap<string, KeyObject> {
    return this.#administration;
  }

  /** Of the keys of administration, in hex. */
  get publicHalves(): Readonly<Record<string, string>> {
    return this.#publicHalves;
  }

  /** From the next request on. */
  replace({ locations, administration }: Keys): void {
    this.#current = new Map([...locations].map(([id, secret]) => [id, new HmacKey(secret)]));
    this.#administration = new Map([...administration].map(([id, bytes]) => [id, publicKeyOf(bytes)]));
    this.#publicHalves = Object.fromEntries(
      Array.from(administration, ([id, bytes]) => [id, Buffer.from(bytes).toString("hex")]),
    );
    this.callHashes.use(locations.values());
  }
}

/** The DER form of an Ed25519 public key begins with it (RFC 8410). */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

function publicKeyOf(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
}

const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Shortest secret, in bytes. */
const MIN_KEY_BYTES = 16;

/** Of the Ed25519 halves, in hexadecimal digits. */
const HALF = /^[0-9a-fA-F]{64}$/;

/**
 * `id:hex` of a location's key and `id:ed25519:hex` of the public half of an administration key, with commas or line ends in between. Lines
 * that begin with # are left out. Throws a KeysError.
 */
export function parseKeys(text: string): Keys {
  const locations = new Map<string, Uint8Array>();
  const administration = new Map<string, Uint8Array>();
  for (const part of partsOf(text)) {
    const [id = "", ...words] = part.split(":");
    if (!KEY_ID.test(id)) throw new KeysError(`a part is not id:hex; ${HINT}`);
    if (locations.has(id) || administration.has(id)) throw new KeysError(`the key "${id}" is there twice`);
    if (words.length < 2) locations.set(id, secretOf(id, words[0] ?? ""));
    else administration.set(id, publicHalfOf(id, words));
  }
  if (locations.size === 0) throw new KeysError(`there is no key, so no location could sign; ${HINT}`);
  return { locations, administration };
}

function secretOf(id: string, hex: string): Uint8Array {
  if (!/^(?:[0-9a-fA-F]{2})+$/.test(hex)) throw new KeysError(`the key "${id}" is not hexadecimal; ${HINT}`);
  if (hex.length < 2 * MIN_KEY_BYTES)
    throw new KeysError(`the key "${id}" is shorter than ${MIN_KEY_BYTES} bytes; ${HINT}`);
  return Buffer.from(hex, "hex");
}

function publicHalfOf(id: string, [kind, hex = "", ...rest]: readonly string[]): Uint8Array {
  if (kind === "ed25519-private")
    throw new KeysError(
      `"${id}" is the private half of an administration key; a server must have its public half only`,
    );
  if (kind !== "ed25519" || !HALF.test(hex) || rest.length > 0)
    throw new KeysError(`the key "${id}" is neither id:hex nor id:ed25519:<64 hexadecimal digits>; ${HINT}`);
  return Buffer.from(hex, "hex");
}

const HINT =
  'a key is "<id>:<hex>", for example with: openssl rand -hex 32; `radical secrets new-keys` makes all that are needed';

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
