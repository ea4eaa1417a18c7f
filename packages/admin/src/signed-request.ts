/** Requests to the LVI server, signed: as a location signs them, or as administration does. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import {
  administrativeText,
  BODY_HASH_HEADER,
  DEPLOYMENT_HEADER,
  KEY_HEADER,
  type NodeName,
  NODE_HEADER,
  NONCE_HEADER,
  SIGNATURE_HEADER,
  TIME_HEADER,
  signedBytes,
} from "@radical/protocol";
import { type AdministrationKey, signatureOf } from "./administration-key.ts";
import type { DeploymentKey } from "./deployment-key.ts";

const NONCE_BYTES = 16;

/** More that administration signs, as far as it is known. */
export interface Asked {
  /** The name of the deployment. */
  readonly deployment?: string | undefined;
  /** The machine, behind a relay. */
  readonly node?: NodeName | undefined;
}

/** `server`: its origin. The kind of the key decides how it is signed. */
export function signedRequest(
  server: string,
  key: DeploymentKey | AdministrationKey,
  method: "GET" | "POST" | "PUT",
  path: string,
  body: Uint8Array,
  signal?: AbortSignal,
  asked: Asked = {},
): Promise<Response> {
  return fetch(server + path, {
    method,
    ...(method === "GET" ? {} : { body: new Uint8Array(body) }),
    headers:
      "secret" in key ? signedHeaders(key, method, path, body) : administrativeHeaders(key, method, path, body, asked),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** As a location signs. */
export function signedHeaders(
  key: DeploymentKey,
  method: string,
  path: string,
  body: Uint8Array,
): Readonly<Record<string, string>> {
  const timeMs = Date.now();
  const signature = createHmac("sha256", Buffer.from(key.secret, "hex")).update(
    signedBytes(method, path, timeMs, body),
  );
  return {
    "content-type": "application/cbor",
    [KEY_HEADER]: key.id,
    [TIME_HEADER]: String(timeMs),
    [SIGNATURE_HEADER]: signature.digest("hex"),
  };
}

/** As administration signs. Each has a nonce of its own: the server answers it once. */
export function administrativeHeaders(
  key: AdministrationKey,
  method: string,
  path: string,
  body: Uint8Array,
  { deployment = "", node }: Asked = {},
): Readonly<Record<string, string>> {
  const timeMs = Date.now();
  const nonce = randomBytes(NONCE_BYTES).toString("hex");
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const text = administrativeText({ deployment, node: node ?? "", method, path, timeMs, nonce, bodyHash });
  return {
    "content-type": "application/cbor",
    [KEY_HEADER]: key.id,
    [TIME_HEADER]: String(timeMs),
    [NONCE_HEADER]: nonce,
    [BODY_HASH_HEADER]: bodyHash,
    [SIGNATURE_HEADER]: signatureOf(key, text),
    ...(deployment === "" ? {} : { [DEPLOYMENT_HEADER]: deployment }),
    ...(node === undefined ? {} : { [NODE_HEADER]: node }),
  };
}
