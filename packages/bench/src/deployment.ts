/**
 * What a benchmark measures: one application in four systems, on the same data, at the same locations. Each location is processes
 * of its own, the LVI server is one, the storage of the other systems is one. Delays stand in front of the LVI server, between
 * clients and `central`, and between `edge-direct` and its storage.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openItems, parseStorageAddress, type StorageAddress } from "@radical/lvi-server";
import {
  INDEX_STATES,
  type SampleLine,
  type SamplePath,
  SAMPLES_PATH,
  SCHEDULE_STATES,
  tableOf,
  type UnitId,
} from "@radical/protocol";
import { type AppBuild, bundleWorkerAround, type Location } from "@radical/app";
import {
  Child,
  MODULE_ENDING,
  type Address,
  type DelayProxy,
  LocalDeployment,
  type EdgeInput,
  type LviServerProcess,
  registerModule,
  untilServable,
  writeBuild,
} from "@radical/local";
import { type DeploymentKey, askPrimary, linesOf } from "@radical/admin";
import { FILL_PATH, LEASED_PATH, type LeasedLine, PACE_PATH } from "./bench-requests.ts";
import type { Reading } from "./baseline.ts";
import type { InitialVersions } from "./history.ts";
import type { Items } from "./model.ts";
import type { System } from "./result.ts";
import { Store } from "./store.ts";
import { encodeAccess } from "./store-messages.ts";
import type { StoreProcessInput } from "./store-process.ts";

type SampleOfServer = SampleLine & { readonly kind: "sample" };

/** An execution, as the primary tells of it. Of one that was answered by read leases its location tells the same. */
export interface Sample extends LeasedLine, Pick<SampleOfServer, "commit" | "ended"> {
  readonly path: SamplePath | "leased";
}

export interface DeploymentOptions {
  readonly app: AppBuild;
  readonly items: Items;
  readonly locations: readonly Location[];
  readonly systems: readonly System[];
  /** Of the storage of a system by its name; null: SQLite in a folder that is gone afterwards. */
  readonly storage: { readonly addressOf: (name: string) => string; readonly environment: NodeJS.ProcessEnv } | null;
  /** Of the LVI server; 0: it grants no read leases. */
  readonly readLeaseMs: number;
  /** A second LVI server waits for the leadership, which is then one of seconds. */
  readonly standby: boolean;
  /** Each line that the LVI server logs. */
  readonly onServerLog?: (line: Readonly<Record<string, unknown>>) => void;
}

/** The files of the systems' Workers. */
const WORKERS = { radical: "radical.js", baseline: "baseline.js" } as const;
const STORE_MAIN = fileURLToPath(new URL(`store-process${MODULE_ENDING}`, import.meta.url));
/** Runs that are paced, on a machine that may be busy, are nobody's endless loops. */
const CROWDED_LIMIT_MS = 10_000;
/** Beside a standby: renewed every few seconds, and not lost by a machine that stands still for a moment. */
const LEASE_MS = 15_000;
const SETTLE_POLL_MS = 20;
const MOST_SETTLE_POLLS = 1_000;

export class Deployment {
  readonly options: DeploymentOptions;
  /** Of every execution that the LVI server has seen end, and of those that a location has answered by read leases, up to {@link takeLeased}. */
  readonly samples: Sample[] = [];
  readonly #local: LocalDeployment;
  #initial: InitialVersions = new Map();
  readonly #paceFile: string;
  readonly #addresses: ReadonlyMap<string, StorageAddress>;
  /** Where clients of a location find a system. */
  readonly #urls = new Map<string, string>();
  /** Where the system is, without delay. */
  readonly #near = new Map<string, string>();
  readonly #links = new Map<string, DelayProxy>();

  private constructor(
    options: DeploymentOptions,
    local: LocalDeployment,
    paceFile: string,
    addresses: ReadonlyMap<string, StorageAddress>,
  ) {
    this.options = options;
    this.#local = local;
    this.#paceFile = paceFile;
    this.#addresses = addresses;
  }

  static async start(options: DeploymentOptions): Promise<Deployment> {
    const local = await LocalDeployment.temporary("bench");
    try {
      const textOf = (name: string): string =>
        options.storage?.addressOf(name) ?? `sqlite:${join(local.folder, `${name}.sqlite`)}`;
      const addresses = new Map(
        ["radical", "central", "edge-direct"].map((name) => [name, storageAddressOf(textOf(name))] as const),
      );
      const deployment = new Deployment(options, local, join(local.folder, "pace.json"), addresses);
      await deployment.#start(textOf("radical"));
      return deployment;
    } catch (error) {
      await local.stop();
      throw error;
    }
  }

  async #start(storage: string): Promise<void> {
    const { app, items, systems, locations } = this.options;
    await writeBuild(this.#local.folder, app, {
      [WORKERS.radical]: await bundleWorkerAround(new URL("radical.worker", import.meta.url), "createBenchmarkWorker"),
      [WORKERS.baseline]: await bundleWorkerAround(new URL("baseline.worker", import.meta.url), "createBaselineWorker"),
    });
    const filled = await Store.open(this.#addresses.get("radical")!);
    this.#initial = await filled.begin(items);
    await filled.close();
    await writeFile(this.#paceFile, "{}");
    await this.#startServers(storage);
    await this.#follow();
    const baselines = systems.filter((system) => system === "central" || system === "edge-direct");
    const store = baselines.length === 0 ? null : await this.#startStore(baselines);
    const started = await Promise.allSettled(locations.map((location) => this.#startLocation(location, store)));
    for (const one of started) if (one.status === "rejected") throw one.reason;
  }

  async #startServers(storage: string): Promise<void> {
    const { app, readLeaseMs, standby, onServerLog } = this.options;
    const both = {
      storage,
      readLeaseMs,
      environment: {
        ...this.options.storage?.environment,
        RADICAL_PACE_FILE: this.#paceFile,
        RADICAL_CROWDED_LIMIT_MS: String(CROWDED_LIMIT_MS),
      },
      ...(standby ? { leaseMs: LEASE_MS } : {}),
    };
    await this.#local.startServer({
      ...both,
      logLevel: onServerLog === undefined ? "info" : "debug",
      followupTimeoutMs: null,
      onStarted: async ({ address }) => {
        await registerModule(address, this.#local.keys.administration, app);
        await untilServable(address, this.#local.keys.administration, app);
      },
      onDied: ({ stderr }) => process.stderr.write(`the LVI server died: ${stderr}\n`),
      onLog: (line) => onServerLog?.(line),
    });
    if (standby) await this.#local.startStandby({ ...both, onLog: () => undefined });
  }

  /** Versions of the items that Radical has begun with. */
  get initial(): InitialVersions {
    return this.#initial;
  }

  get server(): LviServerProcess {
    return this.#local.server;
  }

  get key(): DeploymentKey {
    return this.#local.keys.location;
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

  /** Asks the locations for the executions that they have answered by read leases since the last time. */
  async takeLeased(): Promise<void> {
    const { locations, systems } = this.options;
    if (!systems.includes("radical")) return;
    const lines = await Promise.all(
      locations.map(async ({ name }) => {
        const response = await fetch(`${this.#near.get(`${name} radical`)}${LEASED_PATH}`, { method: "POST" });
        return (await response.json()) as readonly LeasedLine[];
      }),
    );
    for (const line of lines.flat()) this.samples.push({ ...line, commit: null, ended: null, path: "leased" });
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
      for await (const { unit, value } of reader.items(null)) {
        // How far an index is built, and a schedule has come, is the primary's own: no execution writes it.
        const table = tableOf(unit);
        if (table !== INDEX_STATES && table !== SCHEDULE_STATES) items.set(unit, value);
      }
      return items;
    } finally {
      await reader.close();
    }
  }

  async stop(): Promise<void> {
    await this.#local.stop();
  }

  /** Has the server tell of every execution. */
  async #follow(): Promise<void> {
    const { host, port } = this.server.address();
    const ending = new AbortController();
    const primary = { url: `http://${host}:${port}`, key: this.#local.keys.administration };
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
    this.#local.onStop(() => {
      ending.abort();
      return reading.catch(() => undefined);
    });
  }

  async #startStore(names: readonly System[]): Promise<Address> {
    const itemsFile = join(this.#local.folder, "items.json");
    const items = Array.from(this.options.items, ([unit, value]) => [unit, Buffer.from(value).toString("base64")]);
    await writeFile(itemsFile, JSON.stringify(items));
    const storages = Object.fromEntries(names.map((name) => [name, this.#addresses.get(name)!]));
    const input: StoreProcessInput = { storages, itemsFile };
    const child = new Child({
      main: STORE_MAIN,
      args: [JSON.stringify(input)],
      environment: { ...process.env, ...this.options.storage?.environment },
      errors: "shown",
    });
    this.#local.onStop(() => child.leave());
    return { host: "127.0.0.1", port: (await child.listening())["port"] as number };
  }

  async #startLocation({ name, roundTripMs }: Location, store: Address | null): Promise<void> {
    const link = await this.#local.startLink({ roundTripMs });
    this.#links.set(name, link);
    const edges: EdgeInput[] = [];
    for (const system of this.options.systems)
      edges.push(await this.#edgeOf(system, { name, roundTripMs }, link, store));
    const { urls } = await this.#local.startLocations({ buildFolder: this.#local.folder, edges, logs: "problems" });
    for (const system of this.options.systems) {
      const url = urls[`${name} ${system}`]!;
      this.#near.set(`${name} ${system}`, url);
      const far = system === "central" ? await this.#local.startLink({ roundTripMs }, () => addressOf(url)) : null;
      const address = far === null ? url : `http://${far.address.host}:${far.address.port}`;
      this.#urls.set(`${name} ${system}`, address);
      if (system === "ideal") await this.#fill(url);
    }
  }

  /** A workerd of its own for each system. */
  async #edgeOf(
    system: System,
    { name, roundTripMs }: Location,
    link: DelayProxy,
    store: Address | null,
  ): Promise<EdgeInput> {
    const own = { name: `${name} ${system}`, cacheFolder: join(this.#local.folder, `cache-${name}`, system) };
    if (system === "radical") {
      const locations = [{ name, primaries: [link.address], nearStorageOnly: false }] as const;
      return { ...own, worker: WORKERS.radical, locations, vars: {} };
    }
    const isDirect = system === "edge-direct" && store !== null;
    // The data of `ideal` is in memory.
    const stored =
      system === "ideal"
        ? null
        : isDirect
          ? (await this.#local.startLink({ roundTripMs }, () => store)).address
          : store;
    return {
      ...own,
      worker: WORKERS.baseline,
      locations: [{ name, primaries: stored === null ? [] : [stored], nearStorageOnly: false }],
      vars: {
        BENCH_STORE: stored === null ? "" : `http://${stored.host}:${stored.port}/${system}`,
        BENCH_READING: (isDirect ? "in-turn" : "at-once") satisfies Reading,
      },
      cache: "memory",
    };
  }

  async #fill(url: string): Promise<void> {
    const access = { reads: [], queries: [], expects: new Map<UnitId, number>(), writes: this.options.items };
    const body = new Uint8Array(encodeAccess(access));
    const { status } = await fetch(`${url}${FILL_PATH}`, { method: "POST", body });
    if (status !== 204) throw new Error(`the data of the ideal system was not taken: ${status}`);
  }
}

function storageAddressOf(text: string): StorageAddress {
  const address = parseStorageAddress(text);
  if (typeof address === "string") throw new Error(`the storage "${text}" ${address}`);
  return address;
}

function addressOf(url: string): Address {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}
