/** Requests to the LVI server, signed with the deployment's key. */
import { createHmac } from "node:crypto";
import { KEY_HEADER, SIGNATURE_HEADER, TIME_HEADER, signedBytes } from "@radical/protocol";
import type { DeploymentKey } from "./deployment-key.ts";

/** `server`: its origin. `headers`: more of them, which are not signed. */
export function signedRequest(
  server: string,
  key: DeploymentKey,
  method: "GET" | "POST" | "PUT",
  path: string,
  body: Uint8Array,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(server + path, {
    method,
    ...(method === "GET" ? {} : { body: new Uint8Array(body) }),
    headers: { ...signedHeaders(key, method, path, body), ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
}

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
