/** What a location of a benchmark is started with. */
import type { Address } from "../dev/delay-proxy.ts";
import type { DeploymentKey } from "../dev/deployment-key.ts";
import type { Reading } from "./baseline.ts";
import type { System } from "./result.ts";

export interface SystemInput {
  readonly system: System;
  /** Of the LVI server, for `radical`. */
  readonly primary: Address;
  /** Of a storage, for the others; empty: the data is in memory. */
  readonly store: string;
  readonly reading: Reading;
}

export interface LocationProcessInput {
  readonly location: string;
  /** With the files of {@link BUILD_FILES}. */
  readonly buildFolder: string;
  readonly cacheFolder: string;
  readonly key: DeploymentKey;
  readonly systems: readonly SystemInput[];
}

export const BUILD_FILES = {
  router: "router.js",
  radical: "radical.js",
  baseline: "baseline.js",
  wasm: "module.wasm",
  rwWasm: "module.rw.wasm",
  manifest: "manifest.json",
} as const;
