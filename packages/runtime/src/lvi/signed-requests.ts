/** Requests to this location that are signed with the deployment's key: by the primary, or by who deploys. */
import {
  KEY_HEADER,
  RadicalError,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import { fromHex } from "../hex.ts";
import type { PrimaryKey } from "./primary.ts";

export interface Claim {
  readonly timeMs: number;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** Looks at the headers only: a request that fails here is not read. Throws a RadicalError with the hint. */
export function claimOf({ headers }: Request, key: PrimaryKey, nowMs: number, hint: string): Claim {
  const signature = fromHex(headers.get(SIGNATURE_HEADER) ?? "");
  const time = headers.get(TIME_HEADER) ?? "";
  if (headers.get(KEY_HEADER) !== key.id || signature === null || signature.length === 0)
    throw unauthorized("The request is not signed with the key of this deployment.", hint);
  const timeMs = /^\d{1,15}$/.test(time) ? Number(time) : Number.NaN;
  if (!(Math.abs(nowMs - timeMs) <= REPLAY_WINDOW_MS))
    throw unauthorized("The request was signed too long ago, or in the future.", hint);
  return { timeMs, signature };
}

/** Throws a RadicalError with the hint unless the claim is true of the whole request. Gives the key, for a signed answer. */
export async function verifyClaim(
  { timeMs, signature }: Claim,
  key: PrimaryKey,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: Uint8Array },
  hint: string,
): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const hmac = await crypto.subtle.importKey("raw", key.secret, algorithm, false, ["sign", "verify"]);
  const signed = signedBytes(method, path, timeMs, body) as Uint8Array<ArrayBuffer>;
  if (await crypto.subtle.verify("HMAC", hmac, signature, signed)) return hmac;
  throw unauthorized("The signature does not fit the request.", hint);
}

function unauthorized(message: string, hint: string): RadicalError {
  return new RadicalError("unauthorized", message, hint);
}
