/** A build as files, from which processes with locations start. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AppBuild } from "../build/build-app.ts";
import { bundleOwnWorker } from "../build/bundle.ts";
import { BUILD_FILES } from "./location-input.ts";

/** `workers`: others than the application's own, by file. */
export async function writeBuild(
  folder: string,
  { worker, content, manifest }: AppBuild,
  workers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const files: Readonly<Record<string, string | Uint8Array>> = {
    [BUILD_FILES.router]: await bundleOwnWorker("local/router.worker"),
    [BUILD_FILES.worker]: worker,
    [BUILD_FILES.wasm]: content.wasm,
    [BUILD_FILES.rwWasm]: content.rwWasm,
    [BUILD_FILES.manifest]: JSON.stringify(manifest),
    ...workers,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}
