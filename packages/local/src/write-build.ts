/** A build as files, from which processes with locations start. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AppBuild, bundleOwnWorker } from "@radical/app";
import { BUILD_FILES } from "./location-input.ts";

/** The Worker in front of the locations. */
export function bundleRouter(): Promise<string> {
  return bundleOwnWorker(new URL("router.worker", import.meta.url));
}

/** `workers`: others than the application's own, by file. */
export async function writeBuild(
  folder: string,
  { worker, content, manifest }: AppBuild,
  workers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const files: Readonly<Record<string, string | Uint8Array>> = {
    [BUILD_FILES.router]: await bundleRouter(),
    [BUILD_FILES.worker]: worker,
    [BUILD_FILES.wasm]: content.wasm,
    [BUILD_FILES.rwWasm]: content.rwWasm,
    [BUILD_FILES.manifest]: JSON.stringify(manifest),
    ...workers,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}
