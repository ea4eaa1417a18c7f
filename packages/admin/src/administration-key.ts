/**
 * Keys of administration: Ed25519. Operators have the private half, and servers have the public one. So neither a server nor a relay
 * nor a location can sign in an operator's name.
 */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";

export interface AdministrationKey {
  readonly id: string;
  /** 32 bytes as 64 hexadecimal characters. */
  readonly privateHalf: string;
}

const ID = /^[A-Za-z0-9._-]{1,64}$/;
const HALF = /^[0-9a-f]{64}$/;
const KIND = "ed25519";
const PRIVATE_KIND = "ed25519-private";
/** The DER form of a private half begins with it, and that of a public one with so many bytes (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_HEAD_BYTES = 12;
const SEPARATOR = /[\n,]/;

/** 32 bytes of any kind are one. */
export function newAdministrationKey(id: string): AdministrationKey {
  return { id, privateHalf: randomBytes(32).toString("hex") };
}

export function isPrivateHalf(text: string): boolean {
  return HALF.test(text);
}

/** `<id>:ed25519:<hex>`: for a server. */
export function publicKeyText(key: AdministrationKey): string {
  const der = createPublicKey(privateKeyOf(key)).export({ format: "der", type: "spki" });
  return `${key.id}:${KIND}:${der.subarray(SPKI_HEAD_BYTES).toString("hex")}`;
}

/** `<id>:ed25519-private:<hex>`: for who operates the deployment. */
export function privateKeyText({ id, privateHalf }: AdministrationKey): string {
  return `${id}:${PRIVATE_KIND}:${privateHalf}`;
}

/** Of texts of private halves, with commas or line ends in between. Null: one of them is something else. */
export function parseAdministrationKeys(text: string): readonly AdministrationKey[] | null {
  const parts = text
    .split(SEPARATOR)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const keys = parts.map(keyOf);
  return keys.every((key) => key !== null) ? keys : null;
}

function keyOf(text: string): AdministrationKey | null {
  const [id = "", kind, half = "", ...rest] = text.split(":");
  const privateHalf = half.toLowerCase();
  return ID.test(id) && kind === PRIVATE_KIND && HALF.test(privateHalf) && rest.length === 0
    ? { id, privateHalf }
    : null;
}

/** In hex. */
export function signatureOf(key: AdministrationKey, text: string): string {
  return sign(null, Buffer.from(text, "latin1"), privateKeyOf(key)).toString("hex");
}

function privateKeyOf({ privateHalf }: AdministrationKey): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, Buffer.from(privateHalf, "hex")]),
    format: "der",
    type: "pkcs8",
  });
}
