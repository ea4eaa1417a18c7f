/**
 * The one place that speaks to miniflare, whose options change between versions (here: 5.20261117). It runs workerd
 * with one Worker and its cache for each location, and the router in front.
 */
import type { CacheKind } from "@radical/protocol";
import { Log, LogLevel, Miniflare, type MiniflareOptions } from "miniflare";
import type { DeploymentKey } from "./deployment-key.ts";
import type { Address } from "./delay-proxy.ts";
import { bindingOf } from "./location-choice.ts";

/** Within what the pinned workerd supports. */
const COMPATIBILITY_DATE = "2026-11-01";

/** The files of a built application's Worker. */
export interface WorkerFiles {
  readonly worker: string;
  readonly wasm: Uint8Array;
  readonly rwWasm: Uint8Array;
  /** `manifest.json`. */
  readonly manifest: string;
  /** What the manifest says of the cache. */
  readonly cache: CacheKind;
}

export interface EdgeLocation {
  readonly name: string;
  /** Where its requests to the primary go. */
  readonly primary: Address;
  /** Every execution runs at the primary. */
  readonly nearStorageOnly: boolean;
}

export interface EdgeOptions {
  readonly host: string;
  /** 0 takes a free one, once: it stays the same over reloads. */
  readonly port: number;
  readonly locations: readonly EdgeLocation[];
  readonly key: DeploymentKey;
  readonly routerWorker: string;
  /** Where Durable Objects and KV keep the caches. */
  readonly cacheFolder: string;
  /** Called with each line that a Worker logs. */
  readonly onLog: (level: string, message: string) => void;
}

export interface Edge {
  readonly url: string;
  /** Serves another build from now on. What is under way in workerd ends: its executions are completed by the primary. */
  reload(files: WorkerFiles): Promise<void>;
  close(): Promise<void>;
}

export async function startEdge(options: EdgeOptions, files: WorkerFiles): Promise<Edge> {
  const miniflare = withoutSignalHandlers(() => new Miniflare(miniflareOptions(options, options.port, files)));
  let url: URL;
  try {
    url = await miniflare.ready;
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
  return {
    url: url.origin,
    reload: async (next) => {
      await miniflare.setOptions(miniflareOptions(options, Number(url.port), next));
      await miniflare.ready;
    },
    close: () => miniflare.dispose(),
  };
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * On a signal miniflare ends this process at once, before the LVI server has stopped. What a signal means is for the
 * program to say that started us; on its exit miniflare still ends workerd.
 */
function withoutSignalHandlers<T>(make: () => T): T {
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const made = make();
  for (const [index, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (before[index]?.includes(listener) !== true) process.removeListener(signal, listener);
    }
  }
  return made;
}

function miniflareOptions(options: EdgeOptions, port: number, files: WorkerFiles): MiniflareOptions {
  const modules = {
    "worker.js": { type: "esm", contents: files.worker },
    "module.wasm": { type: "wasm", contents: ownBuffer(files.wasm) },
    "module.rw.wasm": { type: "wasm", contents: ownBuffer(files.rwWasm) },
    "manifest.json": { type: "json", contents: files.manifest },
  } as const;
  const text = (value: string) => ({ type: "text", value }) as const;

  const router = {
    config: {
      name: "router",
      compatibilityDate: COMPATIBILITY_DATE,
      manifest: {
        mainModule: "router.js",
        modules: { "router.js": { type: "esm", contents: options.routerWorker } as const },
      },
      env: {
        LOCATIONS: { type: "json", value: options.locations.map(({ name }) => name) } as const,
        ...Object.fromEntries(
          options.locations.map(({ name }) => [bindingOf(name), { type: "worker", worker: workerName(name) } as const]),
        ),
      },
    },
  };
  const workers = options.locations.map((location) => ({
    config: {
      name: workerName(location.name),
      compatibilityDate: COMPATIBILITY_DATE,
      manifest: { mainModule: "worker.js", modules },
      exports: { RadicalCache: { type: "durable-object", storage: "sqlite" } as const },
      env: {
        RADICAL_PRIMARY_URL: text(`http://${location.primary.host}:${location.primary.port}`),
        RADICAL_KEY_ID: text(options.key.id),
        RADICAL_KEY: text(options.key.secret),
        RADICAL_LOCATION: text(location.name),
        RADICAL_NEAR_STORAGE_ONLY: text(location.nearStorageOnly ? "1" : "0"),
        ...cacheBinding(files.cache, workerName(location.name)),
      },
    },
  }));
  return {
    host: options.host,
    port,
    cf: false,
    telemetry: { enabled: false },
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: ({ level, message }) => options.onLog(level, message),
    resourcePersistencePath: options.cacheFolder,
    workers: [router, ...workers],
  };
}

/** As `wrangler` binds it for a deployment. KV is one namespace for all locations. */
function cacheBinding(cache: CacheKind, worker: string) {
  switch (cache) {
    case "memory":
      return {};
    case "durable-object":
      return { RADICAL_CACHE: { type: "durable-object", worker, exportName: "RadicalCache" } as const };
    case "kv":
      return { RADICAL_CACHE_KV: { type: "kv", id: "radical-cache" } as const };
  }
}

function workerName(location: string): string {
  return `location-${location}`;
}

/** miniflare wants bytes that own their whole buffer. */
function ownBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
