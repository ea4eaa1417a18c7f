/**
 * The right to administer the server: each request is signed with an Ed25519 key, of which the server has the public half. The signature
 * is over the hash of the body, so it is checked before a byte of the body is kept. Each request counts once.
 */
import { hash, type KeyObject, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import {
  type AdministrativeClaim,
  administrativeClaim,
  administrativeText,
  BODY_HASH_HEADER,
  KEY_HEADER,
  NONCE_HEADER,
  SIGNATURE_HEADER,
  TIME_HEADER,
} from "@radical/protocol";
import { checkTime, unauthorized } from "./authentication.ts";
import type { KeyRing } from "./keys.ts";

/** Of a request that is signed by an administration key, at a time that counts. Throws a RadicalError `unauthorized`. */
export function administrativeClaimOf(
  keys: KeyRing,
  { headers, method = "", url = "" }: Pick<IncomingMessage, "headers" | "method" | "url">,
  nowMs: number,
): AdministrativeClaim {
  const header = (name: string): string | null => {
    const value = headers[name];
    return typeof value === "string" ? value : null;
  };
  const claim = administrativeClaim(method, url, header);
  const keyId = claim?.keyId ?? header(KEY_HEADER);
  const key = keyId === null ? undefined : keys.administration.get(keyId);
  if (keyId !== null && key === undefined) throw noAdministrationKey(keys, keyId);
  if (claim === null || key === undefined) throw notSigned();
  const { head, signature } = claim;
  checkTime(head.timeMs, nowMs);
  if (!isSignedBy(key, administrativeText(head), signature))
    throw unauthorized(
      "The signature does not fit the request.",
      `Sign with the private half of "${claim.keyId}", whose public half this server has.`,
    );
  return claim;
}

/** Throws a RadicalError `unauthorized` unless the body is the one that was signed. */
export function checkBody({ head }: AdministrativeClaim, body: Uint8Array): void {
  if (hash("sha256", body, "hex") === head.bodyHash) return;
  throw unauthorized("The body is not the one that was signed.", "Send the body as it was signed.");
}

function isSignedBy(key: KeyObject, text: string, signature: string): boolean {
  return verify(null, Buffer.from(text, "latin1"), key, Buffer.from(signature, "hex"));
}

function noAdministrationKey(keys: KeyRing, keyId: string): Error {
  if (keys.current.has(keyId))
    return unauthorized(
      `"${keyId}" is the key of a location, and this path is for administration.`,
      "Sign with an administration key of RADICAL_ADMIN_KEYS.",
    );
  const hint =
    keys.administration.size === 0
      ? "This server has no administration key: `radical secrets new-keys` makes one, and its public half goes to the keys of the server."
      : "Give this server the public half of the key, or sign with a key whose public half it has.";
  return unauthorized(`The server has no administration key "${keyId.slice(0, 64)}".`, hint);
}

function notSigned(): Error {
  const names = [KEY_HEADER, TIME_HEADER, NONCE_HEADER, BODY_HASH_HEADER, SIGNATURE_HEADER];
  return unauthorized("The request is not signed by an administration key.", `Send the headers ${names.join(", ")}.`);
}
