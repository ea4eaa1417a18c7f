/** Which location may speak to the server: its requests are signed with one of the deployment's keys, within a replay window. */
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  KEY_HEADER,
  RadicalError,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  signedHead,
  TIME_HEADER,
} from "@radical/protocol";
import type { HmacKey } from "./hmac.ts";
import type { KeyRing } from "./keys.ts";

/** What a request of a location says of its signature. */
export interface Claim {
  readonly keyId: string;
  readonly key: HmacKey;
  readonly timeMs: number;
  readonly signature: string;
}

/** Looks at the headers only: whoever fails here need not be listened to. Throws a RadicalError `unauthorized`. */
export function claimOf(keys: KeyRing, headers: IncomingHttpHeaders, nowMs: number): Claim {
  const keyId = headers[KEY_HEADER];
  const time = headers[TIME_HEADER];
  const signature = headers[SIGNATURE_HEADER];
  if (typeof keyId !== "string" || typeof time !== "string" || typeof signature !== "string") {
    throw unauthorized(
      "The request is not signed.",
      `Send the headers ${KEY_HEADER}, ${TIME_HEADER} and ${SIGNATURE_HEADER}.`,
    );
  }
  const key = keys.current.get(keyId);
  if (key === undefined) {
    if (keys.administration.has(keyId))
      throw unauthorized(
        `"${keyId}" is an administration key, and this path is for locations.`,
        "Sign with the key of a location.",
      );
    throw unauthorized(`The server has no key "${keyId.slice(0, 64)}".`, "Give both sides the same key.");
  }
  const timeMs = /^\d{1,15}$/.test(time) ? Number(time) : Number.NaN;
  checkTime(timeMs, nowMs);
  return { keyId, key, timeMs, signature };
}

/** Throws a RadicalError `unauthorized`. */
export function checkTime(signedAtMs: number, nowMs: number): void {
  if (Math.abs(nowMs - signedAtMs) <= REPLAY_WINDOW_MS) return;
  throw unauthorized("The request was signed too long ago, or in the future.", "Set the clocks of both sides.");
}

/** Whether the claim is true of the whole request. Throws a RadicalError `unauthorized`. */
export function verify({ key, timeMs, signature }: Claim, method: string, path: string, body: Uint8Array): void {
  if (signature.length === SIGNATURE_LENGTH) {
    expected.write(key.sign(signedHead(method, path, timeMs), body), "latin1");
    claimed.write(signature.toLowerCase(), "latin1");
    if (timingSafeEqual(claimed, expected)) return;
  }
  throw unauthorized("The signature does not fit the request.", "Give both sides the same key.");
}

/** In hexadecimal. */
const SIGNATURE_LENGTH = 64;
/** Of the request that is looked at; it is looked at in one go. */
const expected = Buffer.alloc(SIGNATURE_LENGTH);
const claimed = Buffer.alloc(SIGNATURE_LENGTH);

export function unauthorized(message: string, hint: string): RadicalError {
  return new RadicalError("unauthorized", message, hint);
}
