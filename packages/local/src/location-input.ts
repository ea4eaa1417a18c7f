/** The input of a process with locations. */
import type { TestHooks } from "@radical/protocol";
import type { DeploymentKey } from "@radical/admin";
import type { EdgeLocation } from "./miniflare.ts";

/** A workerd of its own. */
export interface EdgeInput {
  readonly name: string;
  /** The file of its Worker in the build's folder. */
  readonly worker: string;
  readonly locations: readonly EdgeLocation[];
  readonly cacheFolder: string;
  readonly vars: Readonly<Record<string, string>>;
  /** Default: what the manifest says. */
  readonly cache?: "memory";
  /** Put into the manifest. */
  readonly testHooks?: TestHooks;
}

export interface LocationProcessInput {
  /** With the files of {@link BUILD_FILES}. */
  readonly buildFolder: string;
  readonly key: DeploymentKey;
  readonly edges: readonly EdgeInput[];
  /**
   * Where the lines go that Workers log. `lines`: all but the requests go to standard output as they are. `problems`: warnings
   * and errors go to standard error, for people.
   */
  readonly logs: "lines" | "problems";
}

/** Files that `writeBuild` writes. The Worker of the application is one of those that an edge can name. */
export const BUILD_FILES = {
  router: "router.js",
  worker: "worker.js",
  wasm: "module.wasm",
  rwWasm: "module.rw.wasm",
  manifest: "manifest.json",
} as const;
