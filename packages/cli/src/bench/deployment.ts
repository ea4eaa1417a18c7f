/**
 * What a benchmark measures: one application in four systems, on the same data, at the same locations. Each location is processes
 * of its own, the LVI server is one, the storage of the other systems is one. Delays stand in front of the LVI server, between
 * clients and `central`, and between `edge-direct` and its storage.
 */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openItems, parseStorageAddress, type StorageAddress } from "@radical/lvi-server";
import { type SampleLine, SAMPLES_PATH, type UnitId } from "@radical/protocol";
import type { AppBuild } from "../build/build-app.ts";
import { bundleOwnWorker, bundleWorkerAround } from "../build/bundle.ts";
import type { Location } from "../config/config.ts";
import { type Address, type DelayProxy, startDelayProxy } from "../dev/delay-proxy.ts";
import type { DeploymentKey } from "../dev/deployment-key.ts";
import { type LviServerProcess, startLviServer, startStandby } from "../dev/lvi-server-process.ts";
import { registerModule } from "../dev/register-module.ts";
import { askPrimary, linesOf } from "../operate/ask-primary.ts";
import { FILL_PATH, PACE_PATH } from "./bench-requests.ts";
import { type Child, startChild } from "./child.ts";
import { BUILD_FILES, type LocationProcessInput, type SystemInput } from "./location-input.ts";
import type { Items } from "./model.ts";
import type { System } from "./result.ts";
import { Store } from "./store.ts";
import { encodeAccess } from "./store-messages.ts";
import type { StoreProcessInput } from "./store-process.ts";

export type Sample = SampleLine & { readonly kind: "sample" };

export interface DeploymentOptions {
  readonly app: AppBuild;
  readonly items: Items;
  readonly locations: readonly Location[];
  readonly systems: readonly System[];
  /** Of the storage of a system by its name; null: SQLite in a folder that is gone afterwards. */
  readonly storage: { readonly addressOf: (name: string) => string; readonly environment: NodeJS.ProcessEnv } | null;
  /** A second LVI server waits for the lease, which is then one of seconds. */
  readonly standby: boolean;
  /** Each line that the LVI server logs. */
  readonly onServerLog?: (line: Readonly<Record<string, unknown>>) => void;
}

const KEY_BYTES = 32;
/** Runs that are paced, on a machine that may be busy, are nobody's endless loops. */
const CROWDED_LIMIT_MS = 10_000;
/** Beside a standby: renewed every few seconds, and not lost by a machine that stands still for a moment. */
const LEASE_MS = 15_000;
const SETTLE_POLL_MS = 20;
const MOST_SETTLE_POLLS = 1_000;

export class Deployment {
  readonly options: DeploymentOptions;
  readonly server: LviServerProcess;
  readonly key: DeploymentKey;
  /** Of every execution that the LVI server has seen end. */
  readonly samples: Sample[] = [];
  readonly #folder: string;
  readonly #paceFile: string;
  readonly #addresses: ReadonlyMap<string, StorageAddress>;
  readonly #closers: (() => Promise<unknown>)[];
  /** Where clients of a location find a system. */
  readonly #urls = new Map<string, string>();
  /** Where the system is, without delay. */
  readonly #near = new Map<string, string>();
  readonly #links = new Map<string, DelayProxy>();

  private constructor(
    options: DeploymentOptions,
    parts: {
      readonly server: LviServerProcess;
      readonly key: DeploymentKey;
      readonly folder: string;
      readonly paceFile: string;
      readonly addresses: ReadonlyMap<string, StorageAddress>;
      readonly closers: (() => Promise<unknown>)[];
    },
  ) {
    this.options = options;
    this.server = parts.server;
    this.key = parts.key;
    this.#folder = parts.folder;
    this.#paceFile = parts.paceFile;
    this.#addresses = parts.addresses;
    this.#closers = parts.closers;
  }

  static async start(options: DeploymentOptions): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), "radical-bench-"));
    const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 5 })];
    try {
      return await startAll(options, folder, closers);
    } catch (error) {
      await closeAll(closers);
      throw error;
    }

    async function startAll(
      { app, items, storage, systems, standby, onServerLog }: DeploymentOptions,
      root: string,
      onStop: (() => Promise<unknown>)[],
    ): Promise<Deployment> {
      const key: DeploymentKey = { id: "bench", secret: randomBytes(KEY_BYTES).toString("hex") };
      await writeBuild(root, app);
      const textOf = (name: string): string => storage?.addressOf(name) ?? `sqlite:${join(root, `${name}.sqlite`)}`;
      const addresses = new Map(
        ["radical", "central", "edge-direct"].map((name) => [name, storageAddressOf(textOf(name))] as const),
      );
      const filled = await Store.open(addresses.get("radical")!);
      await filled.begin(items);
      await filled.close();
      const paceFile = join(root, "pace.json");
      await writeFile(paceFile, "{}");
      let deployment: Deployment | null = null;
      const both = {
        stateFolder: root,
        storage: textOf("radical"),
        environment: {
          ...storage?.environment,
          RADICAL_PACE_FILE: paceFile,
          RADICAL_CROWDED_LIMIT_MS: String(CROWDED_LIMIT_MS),
        },
        key,
        ...(standby ? { leaseMs: LEASE_MS } : {}),
      };
      const server = await startLviServer({
        ...both,
        logLevel: onServerLog === undefined ? "info" : "debug",
        followupTimeoutMs: null,
        onStarted: ({ address }) => registerModule(address, key, app),
        onDied: ({ stderr }) => process.stderr.write(`the LVI server died: ${stderr}\n`),
        onLog: (line) => onServerLog?.(line),
      });
      onStop.push(() => server.stop());
      if (standby) {
        const second = await startStandby({ ...both, onLog: () => undefined });
        onStop.push(() => second.stop());
      }
      deployment = new Deployment(options, { server, key, folder: root, paceFile, addresses, closers: onStop });
      await deployment.#follow();
      const baselines = systems.filter((system) => system === "central" || system === "edge-direct");
      const store = baselines.length === 0 ? null : await deployment.#startStore(baselines);
      const starting = deployment;
      const started = await Promise.allSettled(
        options.locations.map((location) => starting.#startLocation(location, store)),
      );
      for (const one of started) if (one.status === "rejected") throw one.reason;
      return deployment;
    }
  }

  /** Where the clients of a location send what is for a system. */
  urlOf(location: string, system: System): string {
    return this.#urls.get(`${location} ${system}`)!;
  }

  /** The LVI server's health, as far away as it is from a location. */
  linkOf(location: string): string {
    const { host, port } = this.#links.get(location)!.address;
    return `http://${host}:${port}/readyz`;
  }

  /** That locations have got from the LVI server so far. */
  bytesFromPrimary(): number {
    return Array.from(this.#links.values(), (link) => link.bytesBack()).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Least times of handlers from now on, wherever they run. */
  async setPace(leastMs: Readonly<Record<string, number>>): Promise<void> {
    await writeFile(this.#paceFile, JSON.stringify(leastMs));
    await Promise.all(
      Array.from(this.#near.values(), async (url) => {
        const { status } = await fetch(`${url}${PACE_PATH}`, { method: "POST", body: JSON.stringify(leastMs) });
        if (status !== 204) throw new Error(`the pace was not taken: ${status}`);
      }),
    );
  }

  /** Resolves when the primary has applied all that it has promised. */
  async settled(): Promise<void> {
    const { host, port } = this.server.address();
    for (let poll = 0; poll < MOST_SETTLE_POLLS; poll++) {
      const health = (await (await fetch(`http://${host}:${port}/healthz`)).json()) as {
        readonly pending?: number;
        readonly executions?: number;
      };
      if (health.pending === 0 && health.executions === 0) return;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_POLL_MS));
    }
    throw new Error("executions are still pending");
  }

  /** What is stored of a system. */
  async stored(system: "radical" | "central" | "edge-direct"): Promise<Items> {
    const reader = await openItems(this.#addresses.get(system)!);
    try {
      const items: Items = new Map();
      for await (const { unit, value } of reader.items(null)) items.set(unit, value);
      return items;
    } finally {
      await reader.close();
    }
  }

  async stop(): Promise<void> {
    await closeAll(this.#closers);
  }

  /** Has the server tell of every execution. */
  async #follow(): Promise<void> {
    const { host, port } = this.server.address();
    const ending = new AbortController();
    const primary = { url: `http://${host}:${port}`, key: this.key };
    const question = { every: 1, handlers: [], values: false, redact: [] };
    const response = await askPrimary(primary, "POST", SAMPLES_PATH, question, ending.signal);
    const reading = (async () => {
      try {
        for await (const text of linesOf(response)) {
          const line = JSON.parse(text) as SampleLine;
          if (line.kind === "sample") this.samples.push(line);
        }
      } catch (error) {
        if (!ending.signal.aborted) throw error;
      }
    })();
    reading.catch((error: unknown) =>
      process.stderr.write(`the history of the LVI server has ended: ${String(error)}\n`),
    );
    this.#closers.push(() => {
      ending.abort();
      return reading.catch(() => undefined);
    });
  }

  async #startStore(names: readonly System[]): Promise<Address> {
    const itemsFile = join(this.#folder, "items.json");
    const items = Array.from(this.options.items, ([unit, value]) => [unit, Buffer.from(value).toString("base64")]);
    await writeFile(itemsFile, JSON.stringify(items));
    const storages = Object.fromEntries(names.map((name) => [name, this.#addresses.get(name)!]));
    const environment = this.options.storage?.environment ?? {};
    const input: StoreProcessInput = { storages, itemsFile };
    const child = await startChild<{ readonly port: number }>("store-process", input, environment);
    this.#closers.push(() => child.stop());
    return { host: "127.0.0.1", port: child.told.port };
  }

  async #startLocation({ name, roundTripMs }: Location, store: Address | null): Promise<void> {
    const delayed = async (target: () => Address): Promise<DelayProxy> => {
      const proxy = await startDelayProxy({ target, roundTripMs });
      this.#closers.push(() => proxy.close());
      return proxy;
    };
    const link = await delayed(() => this.server.address());
    this.#links.set(name, link);
    const systems: SystemInput[] = [];
    for (const system of this.options.systems) {
      const address = system === "edge-direct" && store !== null ? (await delayed(() => store)).address : store;
      const isLocal = system === "radical" || system === "ideal" || address === null;
      systems.push({
        system,
        primary: link.address,
        store: isLocal ? "" : `http://${address.host}:${address.port}/${system}`,
        reading: system === "edge-direct" ? "in-turn" : "at-once",
      });
    }
    const input: LocationProcessInput = {
      location: name,
      buildFolder: this.#folder,
      cacheFolder: join(this.#folder, `cache-${name}`),
      key: this.key,
      systems,
    };
    await mkdir(input.cacheFolder);
    const child: Child<{ readonly urls: Readonly<Partial<Record<System, string>>> }> = await startChild(
      "location-process",
      input,
    );
    this.#closers.push(() => child.stop());
    for (const [system, url] of Object.entries(child.told.urls)) {
      this.#near.set(`${name} ${system}`, url);
      const { hostname: host, port } = new URL(url);
      const far = system === "central" ? await delayed(() => ({ host, port: Number(port) })) : null;
      const address = far === null ? url : `http://${far.address.host}:${far.address.port}`;
      this.#urls.set(`${name} ${system}`, address);
      if (system === "ideal") await this.#fill(url);
    }
  }

  async #fill(url: string): Promise<void> {
    const access = { reads: [], expects: new Map<UnitId, number>(), writes: this.options.items };
    const body = new Uint8Array(encodeAccess(access));
    const { status } = await fetch(`${url}${FILL_PATH}`, { method: "POST", body });
    if (status !== 204) throw new Error(`the data of the ideal system was not taken: ${status}`);
  }
}

async function writeBuild(folder: string, app: AppBuild): Promise<void> {
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    [BUILD_FILES.router, await bundleOwnWorker("dev/router.worker")],
    [BUILD_FILES.radical, await bundleWorkerAround("bench/radical.worker", "createBenchmarkWorker")],
    [BUILD_FILES.baseline, await bundleWorkerAround("bench/baseline.worker", "createBaselineWorker")],
    [BUILD_FILES.wasm, app.content.wasm],
    [BUILD_FILES.rwWasm, app.content.rwWasm],
    [BUILD_FILES.manifest, JSON.stringify(app.manifest)],
  ];
  await Promise.all(files.map(([name, content]) => writeFile(join(folder, name), content)));
}

function storageAddressOf(text: string): StorageAddress {
  const address = parseStorageAddress(text);
  if (typeof address === "string") throw new Error(`the storage "${text}" ${address}`);
  return address;
}

/** In reverse: who sends ends before whom it sends to. */
async function closeAll(closers: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const close of closers.toReversed()) await close();
}
