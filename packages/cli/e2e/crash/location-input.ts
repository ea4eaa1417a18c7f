/** What a location process is started with. */
import type { DeploymentKey } from "../../src/dev/deployment-key.ts";
import type { Primaries } from "../../src/dev/miniflare.ts";

export interface LocationProcessInput {
  /** With the files of {@link WORKER_FILES}. */
  readonly buildFolder: string;
  readonly cacheFolder: string;
  readonly locations: readonly string[];
  readonly primaries: Primaries;
  readonly key: DeploymentKey;
  readonly failpoint: { readonly name: string; readonly time: number } | null;
}

export const WORKER_FILES = {
  router: "router.js",
  worker: "worker.js",
  wasm: "module.wasm",
  rwWasm: "module.rw.wasm",
  manifest: "manifest.json",
} as const;
