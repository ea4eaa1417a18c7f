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

/** An id, and the secret of a location's key or a half of an administration key. */
const KEY = /^([A-Za-z0-9._-]{1,64}):(?:(ed25519|ed25519-private):)?((?:[0-9a-fA-F]{2})+)$/;

/** A secret in the place of an id. */
const SECRET = /^[0-9a-fA-F]{32,}$/;

/** Shortest secret, in bytes. */
const MIN_KEY_BYTES = 16;

/** Of the Ed25519 halves. */
const HALF_BYTES = 32;

interface KeyText {
  readonly id: string;
  readonly kind: "location" | "ed25519" | "ed25519-private";
  readonly bytes: Uint8Array;
}

/**
 * `id:hex` of a location's key and `id:ed25519:hex` of the public half of an administration key, with commas or line ends in between. Lines
 * that begin with # are left out. Throws a KeysError, which names an id only if the whole key has its form.
 */
export function parseKeys(text: string): Keys {
  const locations = new Map<string, Uint8Array>();
  const administration = new Map<string, Uint8Array>();
  for (const [index, part] of partsOf(text).entries()) {
    const key = keyIn(part);
    const place = `Key ${index + 1}`;
    if (key === null) throw new KeysError(`${place} is neither <id>:<hex> nor <id>:ed25519:<hex>. ${HINT}`);
    const { id, kind, bytes } = key;
    if (kind === "ed25519-private")
      throw new KeysError(
        `"${id}" is the private half of an administration key. Give the server its public half only.`,
      );
    if (kind === "location" && bytes.length < MIN_KEY_BYTES)
      throw new KeysError(`${place} is shorter than ${MIN_KEY_BYTES} bytes. ${HINT}`);
    if (kind === "ed25519" && bytes.length !== HALF_BYTES)
      throw new KeysError(`${place} does not have the ${HALF_BYTES} bytes of a public half. ${HINT}`);
    if (locations.has(id) || administration.has(id)) throw new KeysError(`The key "${id}" is there twice.`);
    (kind === "location" ? locations : administration).set(id, bytes);
  }
  if (locations.size === 0) throw new KeysError(`There is no key, so no location could sign. ${HINT}`);
  return { locations, administration };
}

/** Null: it has no form of a key. Its parts may be anything then, also a secret. */
function keyIn(part: string): KeyText | null {
  const [, id, kind = "location", hex] = KEY.exec(part) ?? [];
  if (id === undefined || hex === undefined || SECRET.test(id)) return null;
  return { id, kind: kind as KeyText["kind"], bytes: Buffer.from(hex, "hex") };
}

const HINT =
  'A key is "<id>:<hex>", for example with: openssl rand -hex 32. `radical secrets new-keys` makes all that are needed.';

/** Of a text that may be wrong: the ids of the keys in it that have their form. */
export function keyIdsOf(text: string): readonly string[] {
  return partsOf(text).flatMap((part) => keyIn(part)?.id ?? []);
}

function partsOf(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
