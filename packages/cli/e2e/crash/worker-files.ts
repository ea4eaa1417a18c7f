/** What a build leaves for the location processes of tests and benchmarks, as files. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AppBuild } from "../../src/build/build-app.ts";
import { bundleOwnWorker } from "../../src/build/bundle.ts";
import { WORKER_FILES } from "./location-input.ts";

export async function writeWorkerFiles(folder: string, app: AppBuild): Promise<void> {
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    [WORKER_FILES.router, await bundleOwnWorker("dev/router.worker")],
    [WORKER_FILES.worker, app.worker],
    [WORKER_FILES.wasm, app.content.wasm],
    [WORKER_FILES.rwWasm, app.content.rwWasm],
    [WORKER_FILES.manifest, JSON.stringify(app.manifest)],
  ];
  await Promise.all(files.map(([name, content]) => writeFile(join(folder, name), content)));
}
