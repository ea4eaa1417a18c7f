/**
 * How requests between a location and the LVI server are signed: HMAC-SHA-256 with the deployment's key over the
 * bytes below, in hex. The platform computes the HMAC.
 */
import { encodeUtf8 } from "./text.ts";

/** Names the key, so that keys can be rotated. */
export const KEY_HEADER = "x-radical-key";
/** Milliseconds since the epoch at signing. */
export const TIME_HEADER = "x-radical-time";
export const SIGNATURE_HEADER = "x-radical-signature";

/**
 * A request signed longer ago, or further ahead, is refused. Within it a replay meets the same execution id, or the same nonce of a
 * question (`administration.ts`).
 */
export const REPLAY_WINDOW_MS = 300_000;

export function signedBytes(method: string, path: string, timeMs: number, body: Uint8Array): Uint8Array {
  const head = encodeUtf8(signedHead(method, path, timeMs));
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

/** The bytes before the body, which are signed with it. */
export function signedHead(method: string, path: string, timeMs: number): string {
  return `radical-v1\n${method}\n${path}\n${timeMs}\n`;
}

/** Largest bodies of administration, in bytes: of a module, and of a question. */
export const MAX_MODULE_BYTES = 64 * 1024 * 1024;
export const MAX_QUESTION_BYTES = 64 * 1024;

/** Paths of the LVI server. */
export const LVI_PATH = "/v1/lvi";
export const FOLLOWUP_PATH = "/v1/followup";
export const WORKFLOW_PATH = "/v1/workflow";
export const MODULES_PATH = "/v1/modules/";
