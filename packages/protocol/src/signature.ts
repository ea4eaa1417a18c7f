/**
 * How requests to the LVI server are signed, in hex. A location signs with HMAC-SHA-256, by a secret that it shares with the server.
 * Administration signs with Ed25519, so a server and a relay have its public half only. The platform computes both.
 */
import { NODE_HEADER } from "./primary-node.ts";
import { encodeUtf8 } from "./text.ts";

/** Names the key, so that keys can be rotated. */
export const KEY_HEADER = "x-radical-key";
/** Milliseconds since the epoch at signing. */
export const TIME_HEADER = "x-radical-time";
export const SIGNATURE_HEADER = "x-radical-signature";

/** In a request of administration: 16 random bytes as hex. A server takes each of them once. */
export const NONCE_HEADER = "x-radical-nonce";
/** In a request of administration: the name of the deployment that is asked. Left out: not known. */
export const DEPLOYMENT_HEADER = "x-radical-deployment";
/** In a request of administration: the SHA-256 of its body, in hex. So the signature is checked before the body is read. */
export const BODY_HASH_HEADER = "x-radical-body";

/**
 * A request signed longer ago, or further ahead, is refused. Within it a replay meets the same execution id, or the same nonce of
 * administration.
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

/** A request of administration says this of itself, and signs it. */
export interface AdministrativeHead {
  /** Empty: not known. */
  readonly deployment: string;
  /** Of {@link NODE_HEADER}; empty: whichever machine answers. */
  readonly node: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly timeMs: number;
  readonly nonce: string;
  readonly bodyHash: string;
}

/** The text that an administration key signs. */
export function administrativeText(head: AdministrativeHead): string {
  const { deployment, node, method, path, timeMs, nonce, bodyHash } = head;
  return ["radical-administration-v1", deployment, node, method, path, timeMs, nonce, bodyHash, ""].join("\n");
}

const NONCE = /^[0-9a-f]{32}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const ED25519_SIGNATURE = /^[0-9a-f]{128}$/;
const TIME = /^\d{1,15}$/;
const LINE = /^[\x20-\x7e]{0,200}$/;

/** An administrative request as its headers say. */
export interface AdministrativeClaim {
  readonly keyId: string;
  readonly signature: string;
  readonly head: AdministrativeHead;
}

/** Null: the headers do not have the form of administration. `header`: null for one that is not there. */
export function administrativeClaim(
  method: string,
  path: string,
  header: (name: string) => string | null,
): AdministrativeClaim | null {
  const [keyId, signature] = [header(KEY_HEADER), header(SIGNATURE_HEADER)?.toLowerCase()];
  const [time, nonce, bodyHash] = [header(TIME_HEADER), header(NONCE_HEADER), header(BODY_HASH_HEADER)];
  const [deployment, node] = [header(DEPLOYMENT_HEADER) ?? "", header(NODE_HEADER) ?? ""];
  if (keyId === null || signature === undefined || time === null || nonce === null || bodyHash === null) return null;
  const isOfForm = ED25519_SIGNATURE.test(signature) && TIME.test(time) && NONCE.test(nonce) && SHA256.test(bodyHash);
  if (!isOfForm || !LINE.test(deployment) || !LINE.test(node)) return null;
  return { keyId, signature, head: { deployment, node, method, path, timeMs: Number(time), nonce, bodyHash } };
}

/** Largest bodies of administration, in bytes: of a module, of a change of items, and of a question. */
export const MAX_MODULE_BYTES = 64 * 1024 * 1024;
export const MAX_DATA_BYTES = 16 * 1024 * 1024;
export const MAX_QUESTION_BYTES = 64 * 1024;

/** Paths of the LVI server. */
export const LVI_PATH = "/v1/lvi";
export const FOLLOWUP_PATH = "/v1/followup";
export const WORKFLOW_PATH = "/v1/workflow";
export const MODULES_PATH = "/v1/modules/";
