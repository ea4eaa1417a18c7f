/** Gives a module to the LVI server, which must have it before a request names it. */
import {
  encodeModuleContent,
  INDEXES_PATH,
  type IndexList,
  type ModuleContent,
  type ModuleHash,
  MODULES_PATH,
} from "@radical/protocol";
import type { AppBuild } from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import { type AdministrationKey, signedRequest, untilIndexesBuilt } from "@radical/admin";
import type { Address } from "./delay-proxy.ts";

/** Throws a CommandError with the server's words if it refuses. */
export function registerModule(
  { host, port }: Address,
  key: AdministrationKey,
  { manifest, content }: Pick<AppBuild, "manifest" | "content">,
): Promise<void> {
  return putModule(`http://${host}:${port}`, key, manifest.module, content);
}

/** Resolves when the module's indexes are built. Throws a CommandError that lists the items which can't be indexed as they are. */
export function untilServable(
  { host, port }: Address,
  key: AdministrationKey,
  { content }: Pick<AppBuild, "content">,
  told?: (words: string) => void,
): Promise<void> {
  const ask = async (): Promise<IndexList["indexes"]> => {
    const response = await signedRequest(`http://${host}:${port}`, key, "GET", INDEXES_PATH, new Uint8Array());
    return ((await response.json()) as IndexList).indexes;
  };
  return untilIndexesBuilt({ indexes: content.indexes, ask, ...(told === undefined ? {} : { told }) });
}

/**
 * Registers a module, and does not wait for its indexes. `server`: its origin. `isAside`: a module of no application, so
 * tasks go on to run on the one that is there.
 */
export async function putModule(
  server: string,
  key: AdministrationKey,
  module: ModuleHash,
  content: ModuleContent,
  { isAside = false, deployment }: { readonly isAside?: boolean; readonly deployment?: string | undefined } = {},
): Promise<void> {
  const path = `${MODULES_PATH}${module}${isAside ? "?aside=yes" : ""}`;
  const response = await signedRequest(server, key, "PUT", path, encodeModuleContent(content), undefined, {
    deployment,
  });
  if (response.ok) return;
  throw new CommandError(
    "module_refused",
    `The LVI server refused the module: status ${response.status} ${await response.text()}`,
    "Stop radical dev, and start it again.",
  );
}
