/** Requests of the primary to the application's Worker: each is signed with the deployment's key. */
import {
  KEY_HEADER,
  RadicalError,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import { fromHex } from "../hex.ts";
import type { PrimaryKey } from "../lvi/primary.ts";
import { readBounded } from "./body.ts";
import { MethodNotAllowed } from "./call.ts";

const ONLY_PRIMARY = "only the primary asks for this";

export interface SignedParts {
  readonly key: PrimaryKey;
  readonly now: () => number;
}

export interface SignedRequest {
  readonly body: Uint8Array;
  readonly signature: Uint8Array<ArrayBuffer>;
  /** It signs the answer. */
  readonly hmac: CryptoKey;
}

/** Throws a RadicalError unless it is a POST that the primary has signed, with at most so many bytes. */
export async function readSigned(request: Request, parts: SignedParts, maxBytes: number): Promise<SignedRequest> {
  if (request.method !== "POST") throw new MethodNotAllowed("the primary sends POST here", ONLY_PRIMARY, "POST");
  const { timeMs, signature } = claimOf(request, parts);
  const body = await readBounded(
    request,
    maxBytes,
    () => new RadicalError("request_too_large", `the call has more than ${maxBytes} bytes`, "send less"),
  );
  const hmac = await crypto.subtle.importKey("raw", parts.key.secret, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
    "verify",
  ]);
  const signed = signedBytes("POST", new URL(request.url).pathname, timeMs, body);
  if (await crypto.subtle.verify("HMAC", hmac, signature, signed)) return { body, signature, hmac };
  throw unauthorized("the signature does not fit the request");
}

interface Claim {
  readonly timeMs: number;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** Looks at the headers only: a request that fails here is not read. */
function claimOf({ headers }: Request, { key, now }: SignedParts): Claim {
  const signature = fromHex(headers.get(SIGNATURE_HEADER) ?? "");
  const time = headers.get(TIME_HEADER) ?? "";
  if (headers.get(KEY_HEADER) !== key.id || signature === null || signature.length === 0)
    throw unauthorized("the request is not signed with the key of this deployment");
  const timeMs = /^\d{1,15}$/.test(time) ? Number(time) : Number.NaN;
  if (!(Math.abs(now() - timeMs) <= REPLAY_WINDOW_MS))
    throw unauthorized("the request was signed too long ago, or in the future");
  return { timeMs, signature };
}

function unauthorized(message: string): RadicalError {
  return new RadicalError("unauthorized", message, ONLY_PRIMARY);
}
