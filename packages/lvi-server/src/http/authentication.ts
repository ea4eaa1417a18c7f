/** Who may speak to the server: requests are signed with one of the deployment's keys, within a replay window. */
import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  KEY_HEADER,
  RadicalError,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import type { PreparedKeys } from "./keys.ts";

/** What a request says of its signature. */
interface Claim {
  readonly keyId: string;
  readonly secret: KeyObject;
  readonly timeMs: number;
  readonly signature: Buffer;
}

/** Looks at the headers only: whoever fails here need not be listened to. Throws a RadicalError `unauthorized`. */
export function claimOf(keys: PreparedKeys, headers: IncomingHttpHeaders, nowMs: number): Claim {
  const keyId = headers[KEY_HEADER];
  const time = headers[TIME_HEADER];
  const signature = headers[SIGNATURE_HEADER];
  if (typeof keyId !== "string" || typeof time !== "string" || typeof signature !== "string") {
    throw unauthorized(
      "the request is not signed",
      `send the headers ${KEY_HEADER}, ${TIME_HEADER} and ${SIGNATURE_HEADER}`,
    );
  }
  const secret = keys.get(keyId);
  if (secret === undefined)
    throw unauthorized(`there is no key "${keyId.slice(0, 64)}"`, "give both sides the same key");
  const timeMs = /^\d{1,15}$/.test(time) ? Number(time) : Number.NaN;
  if (!(Math.abs(nowMs - timeMs) <= REPLAY_WINDOW_MS)) {
    throw unauthorized("the request was signed too long ago, or in the future", "set the clocks of both sides");
  }
  return { keyId, secret, timeMs, signature: Buffer.from(signature, "hex") };
}

/** With which key the request is signed. Throws a RadicalError `unauthorized`. */
export function authenticate(
  keys: PreparedKeys,
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  nowMs: number,
): { readonly keyId: string } {
  const { keyId, secret, timeMs, signature } = claimOf(keys, headers, nowMs);
  const expected = createHmac("sha256", secret)
    .update(signedBytes(method, path, timeMs, body))
    .digest();
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw unauthorized("the signature does not fit the request", "give both sides the same key");
  }
  return { keyId };
}

function unauthorized(message: string, hint: string): RadicalError {
  return new RadicalError("unauthorized", message, hint);
}
