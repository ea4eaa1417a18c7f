/** Gives a module to the LVI server, which must have it before a location names it in a request. */
import { createHmac } from "node:crypto";
import {
  KEY_HEADER,
  MODULES_PATH,
  SIGNATURE_HEADER,
  TIME_HEADER,
  encodeModuleContent,
  signedBytes,
} from "@radical/protocol";
import type { AppBuild } from "../build/build-app.ts";
import { CommandError } from "../command-error.ts";
import type { Address } from "./delay-proxy.ts";
import type { DeploymentKey } from "./deployment-key.ts";

/** Throws a CommandError with the server's words if it refuses. */
export async function registerModule(server: Address, key: DeploymentKey, app: AppBuild): Promise<void> {
  const path = `${MODULES_PATH}${app.manifest.module}`;
  const body = encodeModuleContent(app.content);
  const timeMs = Date.now();
  const signature = createHmac("sha256", Buffer.from(key.secret, "hex"))
    .update(signedBytes("PUT", path, timeMs, body))
    .digest("hex");
  const response = await fetch(`http://${server.host}:${server.port}${path}`, {
    method: "PUT",
    body: new Uint8Array(body),
    headers: {
      "content-type": "application/cbor",
      [KEY_HEADER]: key.id,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: signature,
    },
  });
  if (response.ok) return;
  throw new CommandError(
    "module_refused",
    `the LVI server refused the module: status ${response.status} ${await response.text()}`,
    "stop radical dev and start it again",
  );
}
