/**
 * The one place that speaks to miniflare, whose options change between versions (here: 5.20261117). It runs workerd
 * with one Worker and its cache for each location, and the router in front.
 */
import { randomUUID } from "node:crypto";
import { BLOB_CRON, type CacheKind, CborWriter, type HeldItem, type Manifest, type UnitId } from "@radical/protocol";
import type { Miniflare, MiniflareOptions } from "miniflare";
import { isDeepStrictEqual } from "node:util";
import type { Assets } from "@radical/app";
import {
  AHEAD_PATH,
  CACHED_PATH,
  HAS_SCHEDULED_PATH,
  COMPATIBILITY_DATE,
  CACHE_CLASS,
  DEV_TOKEN_HEADER,
  ENTRY_TOKEN_HEADER,
  MODULE_PATH,
} from "@radical/app/workers";
import { CommandError, messageOf } from "@radical/app/command-error";
import type { AppBindings } from "./app-bindings.ts";
import type { DeploymentKey } from "@radical/admin";
import type { Address } from "./delay-proxy.ts";
import { LOCATION_HEADER, bindingOf } from "./location-choice.ts";

/** The files of a built application's Worker. */
export interface WorkerFiles {
  readonly worker: string;
  readonly wasm: Uint8Array;
  readonly rwWasm: Uint8Array;
  /** `manifest.json`. */
  readonly manifest: string;
  /** The Worker takes another module while it runs (`replaceable.worker.ts`). */
  readonly isReplaceable?: boolean;
  /** The cache that the manifest names. */
  readonly cache: CacheKind;
  readonly assets: Assets | null;
}

export type Primaries = readonly [leader?: Address, standby?: Address];

export interface EdgeLocation {
  readonly name: string;
  /** Where its requests to the servers of the primary go: one, or leader and standby; none if its Worker asks nobody. */
  readonly primaries: Primaries;
  /** Every execution runs at the primary. */
  readonly nearStorageOnly: boolean;
}

export interface EdgeOptions {
  readonly locations: readonly EdgeLocation[];
  /** Requests are served only with it, in the header `ENTRY_TOKEN_HEADER`. Default: without. */
  readonly entryToken?: string;
  readonly key: DeploymentKey;
  /** Of the application, for its own Worker. */
  readonly vars: Readonly<Record<string, string>>;
  /** Bindings of the application's wrangler configuration. Default: none. */
  readonly bindings?: AppBindings;
  readonly routerWorker: string;
  /** Where workerd keeps the caches, and what the application's own bindings store. */
  readonly storageFolder: string;
  /** Default false; whether `wipeCaches` is called. */
  readonly isWipeable?: boolean;
  /** Called with each line that a Worker logs. */
  readonly onLog: (level: string, message: string) => void;
  /** Called if locations have lost the time that was moved, when they were started again. */
  readonly onTimeLost?: (error: unknown) => void;
}

export interface Edge {
  /** On loopback; it stays the same over reloads. */
  readonly url: string;
  /**
   * Serves another build from now on. Requests under way go on with their build, unless the Worker itself has changed.
   * Then workerd is started again, requests under way end, and the primary completes their executions. Throws a
   * CommandError for a Worker that can't be started; the build before it then serves on.
   */
  reload(files: WorkerFiles): Promise<void>;
  /** Looks for these items in the cache of a location. A look counts as no use of them. A text says why that is not possible. */
  heldItems(location: string, units: readonly UnitId[]): Promise<readonly HeldItem[] | string>;
  /** From now on the time of handlers is so far ahead of this machine's, at all locations. Throws if one of them can't be told. */
  moveTime(aheadMs: number): Promise<void>;
  /** Empties all that these locations remember. */
  wipeCaches(locations: readonly string[]): Promise<void>;
  /** Has a location collect blobs, as the schedule of a deployment does. */
  collectBlobs(location: string): Promise<void>;
  close(): Promise<void>;
}

/** Throws a CommandError for a Worker that can't be started. */
export async function startEdge(options: EdgeOptions, files: WorkerFiles): Promise<Edge> {
  const token = randomUUID();
  let current = servableHere(files);
  // It is large: commands that start nothing do without it.
  const { Log, LogLevel, Miniflare } = await import("miniflare");
  const optionsFor = (port: number): MiniflareOptions => ({
    ...miniflareOptions(options, port, token, current),
    log: new Log(LogLevel.NONE),
  });
  const miniflare = withoutSignalHandlers(() => new Miniflare(optionsFor(0)));
  let url: URL;
  try {
    url = await miniflare.ready;
  } catch (error) {
    // It says the same again.
    await miniflare.dispose().catch(() => undefined);
    throw notStarted(error, options.bindings);
  }
  const tell = (path: string, location: string, body: Uint8Array<ArrayBuffer> | string): Promise<Response> =>
    fetch(new URL(path, url), {
      method: "POST",
      body,
      headers: {
        [DEV_TOKEN_HEADER]: token,
        [LOCATION_HEADER]: location,
        [ENTRY_TOKEN_HEADER]: options.entryToken ?? "",
      },
    });
  /** Whether all of these locations have taken the current module; what their isolates had in memory is gone. */
  const replaceModules = async (locations: readonly string[]): Promise<boolean> => {
    if (current.isReplaceable !== true) return false;
    const { manifest, wasm, rwWasm } = current;
    const module = ownBuffer(new CborWriter().array(3).text(manifest).bytes(wasm).bytes(rwWasm).finish());
    const told = await Promise.all(
      locations.map((name) =>
        tell(MODULE_PATH, name, module).then(
          ({ status }) => status === 204,
          () => false,
        ),
      ),
    );
    return told.every(Boolean);
  };

  /** As the locations were told. */
  let aheadMs = 0;
  const tellAhead = async (toMs: number): Promise<void> => {
    await Promise.all(
      options.locations.map(async ({ name }) => {
        const { status } = await tell(AHEAD_PATH, name, String(toMs));
        if (status !== 204) throw new Error(`the location ${name} was told of its time, and answered ${status}`);
      }),
    );
  };

  const restart = async (): Promise<void> => {
    await miniflare.setOptions(optionsFor(Number(url.port)));
    await miniflare.ready;
    if (aheadMs === 0) return;
    try {
      await tellAhead(aheadMs);
    } catch (error) {
      // The build serves: it began with this machine's time.
      aheadMs = 0;
      options.onTimeLost?.(error);
    }
  };

  return {
    url: url.origin,
    reload: async (given) => {
      const next = servableHere(given);
      const before = current;
      const isSame = next.worker === before.worker && isDeepStrictEqual(next.assets, before.assets);
      current = next;
      if (isSame && (await replaceModules(options.locations.map(({ name }) => name)))) return;
      try {
        await restart();
      } catch (error) {
        current = before;
        await restart();
        throw notStarted(error, options.bindings);
      }
    },
    moveTime: async (toMs) => {
      await tellAhead(toMs);
      aheadMs = toMs;
    },
    heldItems: async (location, units) => {
      const answer = await tell(CACHED_PATH, location, JSON.stringify(units)).catch(() => null);
      if (answer?.status === 200) return (await answer.json()) as readonly HeldItem[];
      await answer?.body?.cancel();
      if (answer?.status === 204) return "No call has come there since this build serves.";
      return "Its Worker can't be asked.";
    },
    wipeCaches: async (locations) => {
      for (const location of locations) await wipeCache(miniflare, location, options, current);
      if (!(await replaceModules(locations))) await restart();
    },
    collectBlobs: async (location) => {
      const worker = (await miniflare.getWorker(workerName(options, location))) as unknown as Schedulable;
      await worker.scheduled({ cron: BLOB_CRON });
    },
    close: () => miniflare.dispose(),
  };
}

/** workerd has no jurisdictions, and all of it is on one machine. */
function servableHere(files: WorkerFiles): WorkerFiles {
  const manifest = JSON.parse(files.manifest) as Manifest;
  if (manifest.cache.kind !== "durable-object" || manifest.cache.jurisdiction === undefined) return files;
  const { jurisdiction: _, ...cache } = manifest.cache;
  return { ...files, manifest: JSON.stringify({ ...manifest, cache } satisfies Manifest) };
}

/** An error that an application's own Worker throws when it is loaded, as workerd writes it to its log. */
const THROWN_AT_START = /"message":("service core:user:[^"]*: Uncaught (?:[^"\\]|\\.)*")/;

/** An error of miniflare's wrapper around a class that the Worker does not export. */
const CLASS_MISSING = /Class extends value undefined[^]*createDurableObjectWrapper/;

function notStarted(error: unknown, bindings: AppBindings | undefined): unknown {
  const line = THROWN_AT_START.exec(messageOf(error))?.[1];
  if (line === undefined) return error;
  const classes = Object.keys(bindings?.classes ?? {});
  if (classes.length > 0 && CLASS_MISSING.test(line))
    return new CommandError(
      "worker_not_started",
      `The application's own Worker does not export each class that ${bindings!.told.file} names: ${classes.join(", ")}.`,
      "Export these classes of Durable Objects from the Worker's entry, or take their bindings out of the file.",
      { cause: error },
    );
  const thrown = (JSON.parse(line) as string).replace(/^.*?: Uncaught /, "").replace(/\n[^]*/, "");
  return new CommandError(
    "worker_not_started",
    `The application's own Worker can't be started: ${thrown}`,
    "Correct the code that runs when it is loaded, outside of its functions.",
    { cause: error },
  );
}

async function wipeCache(
  miniflare: Miniflare,
  location: string,
  options: EdgeOptions,
  { cache, manifest }: WorkerFiles,
): Promise<void> {
  const worker = workerName(options, location);
  switch (cache) {
    case "memory":
      return;
    case "durable-object":
      return wipeObjects(miniflare, worker);
    case "kv":
      return wipeKeys(miniflare, worker, `${(JSON.parse(manifest) as Manifest).application}/${location}/`);
  }
}

/** Deletes the location's keys: all locations share a namespace. */
async function wipeKeys(miniflare: Miniflare, worker: string, prefix: string): Promise<void> {
  const namespace = await miniflare.getKVNamespace("RADICAL_CACHE_KV", worker);
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const found: KeyList = await namespace.list({ prefix, cursor });
    for (const { name } of found.keys) await namespace.delete(name);
    cursor = found.cursor;
  }
}

/** The part of miniflare's fetcher that its types lack. */
interface Schedulable {
  scheduled(event: { readonly cron: string }): Promise<unknown>;
}

interface KeyList {
  readonly keys: readonly { readonly name: string }[];
  /** Undefined: there are no more. */
  readonly cursor?: string;
}

/** Drops what the Worker's cache objects have stored, and the objects with what they have in memory. */
async function wipeObjects(miniflare: Miniflare, worker: string): Promise<void> {
  for (const id of await miniflare.listDurableObjectIds(CACHE_CLASS, worker)) {
    const storage = await miniflare.unsafeGetDurableObjectStorage(worker, CACHE_CLASS, { id });
    const tables = await storage.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    for (const { name } of tables) {
      // The platform's own.
      if (!/^(_cf_|sqlite_)/.test(name)) await storage.exec(`DROP TABLE "${name}"`);
    }
    await miniflare.unsafeEvictDurableObject(worker, CACHE_CLASS, { id });
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * On a signal miniflare ends this process at once, before the LVI server has stopped. The program that started us decides
 * what a signal means. On its exit miniflare still ends workerd.
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

function miniflareOptions(options: EdgeOptions, port: number, token: string, files: WorkerFiles): MiniflareOptions {
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
      // It fires scheduled events.
      compatibilityFlags: ["service_binding_extra_handlers"],
      manifest: {
        mainModule: "router.js",
        modules: { "router.js": { type: "esm", contents: options.routerWorker } as const },
      },
      env: {
        LOCATIONS: { type: "json", value: options.locations.map(({ name }) => name) } as const,
        ENTRY_TOKEN: text(options.entryToken ?? ""),
        DEV_TOKEN: text(files.isReplaceable === true ? token : ""),
        ...Object.fromEntries(
          options.locations.map(({ name }) => [
            bindingOf(name),
            { type: "worker", worker: workerName(options, name) } as const,
          ]),
        ),
      },
    },
  };
  const { bindings } = options;
  const host = options.locations[0]?.name;
  const workers = options.locations.map((location) => ({
    config: {
      name: workerName(options, location.name),
      compatibilityDate: bindings?.compatibilityDate ?? COMPATIBILITY_DATE,
      compatibilityFlags: [...(bindings?.compatibilityFlags ?? [])],
      manifest: { mainModule: "worker.js", modules },
      ...(location.name === host && bindings !== undefined ? { triggers: [...bindings.consumers] } : {}),
      exports: {
        ...(location.name === host ? bindings?.classes : {}),
        [CACHE_CLASS]: { type: "durable-object", storage: "sqlite", unsafeUniqueKey: cacheKey(location.name) } as const,
      },
      ...assetsOption(files.assets),
      env: {
        ...bindings?.env(workerName(options, location.name), workerName(options, host ?? "")),
        ...assetsBinding(files.assets, bindings?.assets ?? null),
        ...Object.fromEntries(Object.entries(options.vars).map(([name, value]) => [name, text(value)])),
        ...waysTo(location.primaries),
        RADICAL_KEY_ID: text(options.key.id),
        RADICAL_KEY: text(options.key.secret),
        RADICAL_LOCATION: text(location.name),
        RADICAL_NEAR_STORAGE_ONLY: text(location.nearStorageOnly ? "1" : "0"),
        RADICAL_DEV_TOKEN: text(token),
        ...cacheBinding(files.cache, workerName(options, location.name)),
        RADICAL_BLOBS: { type: "r2", name: "radical-blobs" } as const,
      },
    },
    ...(files.isReplaceable === true ? { dev: { unsafeEvalBinding: "RADICAL_DEV_EVAL" } } : {}),
  }));
  return {
    host: "127.0.0.1",
    port,
    cf: false,
    // It would tell other programs of the Workers, and open a port for them.
    enableDevRegistry: false,
    telemetry: { enabled: false },
    // For `wipeCaches`.
    unsafeInspectDurableObjects: options.isWipeable === true,
    handleStructuredLogs: ({ level, message }) => options.onLog(level, message),
    resourcePersistencePath: options.storageFolder,
    workers: [router, ...workers],
  };
}

/** Files come before the Worker, but for the handlers' paths. */
function assetsOption(assets: Assets | null) {
  if (assets === null) return {};
  const { folder: directory, notFound: notFoundHandling, workerFirst } = assets;
  return {
    assets: {
      directory,
      notFoundHandling,
      hasUserWorker: true,
      runWorkerFirst: [MODULE_PATH, CACHED_PATH, AHEAD_PATH, HAS_SCHEDULED_PATH, ...workerFirst],
    },
  };
}

function assetsBinding(assets: Assets | null, name: string | null) {
  return assets === null || name === null ? {} : { [name]: { type: "assets" } as const };
}

/** As `wrangler` binds it for a deployment. KV is one namespace for all locations. */
function cacheBinding(cache: CacheKind, worker: string) {
  switch (cache) {
    case "memory":
      return {};
    case "durable-object":
      return { RADICAL_CACHE: { type: "durable-object", worker, exportName: CACHE_CLASS } as const };
    case "kv":
      return { RADICAL_CACHE_KV: { type: "kv", id: "radical-cache" } as const };
  }
}

/** By the Worker's names of them, as `settings.ts` of the runtime has them. */
function waysTo([leader, standby]: Primaries) {
  return {
    ...(leader === undefined ? {} : { RADICAL_PRIMARY_A: wayTo(leader) }),
    ...(standby === undefined ? {} : { RADICAL_PRIMARY_B: wayTo(standby) }),
  };
}

/**
 * A way that the platform knows and the Worker doesn't, as in a deployment. A request to a URL would go through a Worker of
 * miniflare's first, in this very thread.
 */
function wayTo({ host, port }: Address): { type: "external"; address: string; http: Record<string, never> } {
  return { type: "external", address: `${host}:${port}`, http: {} };
}

/**
 * Miniflare lets a header of the request name the Worker that serves it, past the router. Nobody knows the name without
 * the token.
 */
function workerName({ entryToken }: EdgeOptions, location: string): string {
  return entryToken === undefined ? `location-${location}` : `location-${location}-${entryToken}`;
}

/** Under which a location's cache objects are kept on disk, whatever its Worker is called. */
function cacheKey(location: string): string {
  return `location-${location}-${CACHE_CLASS}`;
}

/** miniflare wants bytes that own their whole buffer. */
function ownBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
