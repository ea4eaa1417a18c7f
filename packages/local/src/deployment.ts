/**
 * A deployment on this machine. The LVI server with its storage is a process of its own. Delayed links lead to it. Locations are
 * Workers with caches, in this process or in others. `radical dev`, the benchmarks and the crash tests put theirs together from
 * this class. All that it has started ends with it.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Child, MODULE_ENDING } from "./child.ts";
import { type Closer, Closers } from "./closers.ts";
import { type Address, type DelayProxy, type DelayProxyOptions, startDelayProxy } from "./delay-proxy.ts";
import { type DeploymentKeys, newDeploymentKeys } from "@radical/admin";
import type { EdgeInput, LocationProcessInput } from "./location-input.ts";
import { type Edge, type EdgeOptions, type WorkerFiles, startEdge } from "./miniflare.ts";
import {
  type LaunchOptions,
  type LviServerOptions,
  type LviServerProcess,
  startLviServer,
  startStandby,
} from "./server-process.ts";

/** The module that a process with locations runs. */
export const LOCATION_MAIN: string = fileURLToPath(new URL(`location-process${MODULE_ENDING}`, import.meta.url));

export interface LocationsOptions {
  readonly buildFolder: string;
  readonly edges: readonly EdgeInput[];
  readonly logs: LocationProcessInput["logs"];
  /** Default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** The command that runs it, with its options. Default: none. */
  readonly under?: readonly string[];
}

/** Locations in a process of their own. */
export interface Locations {
  readonly child: Child;
  /** By the names of the edges. */
  readonly urls: Readonly<Record<string, string>>;
}

export class LocalDeployment {
  readonly folder: string;
  readonly keys: DeploymentKeys;
  readonly #closers: Closers;
  #server: LviServerProcess | null = null;

  constructor(folder: string, keys: DeploymentKeys, closers: Closers = new Closers()) {
    this.folder = folder;
    this.keys = keys;
    this.#closers = closers;
  }

  /** In a folder that is gone with it, under keys that nobody else has. */
  static async temporary(name: string): Promise<LocalDeployment> {
    const deployment = new LocalDeployment(await mkdtemp(join(tmpdir(), `radical-${name}-`)), newDeploymentKeys(name));
    deployment.onStop(() => rm(deployment.folder, { recursive: true, force: true, maxRetries: 5 }));
    return deployment;
  }

  /** Has this called when the deployment ends, before the ends of all that was started earlier. */
  onStop(closer: Closer): void {
    this.#closers.push(closer);
  }

  /** Ends every process and closes every port. */
  stop(): Promise<void> {
    return this.#closers.close();
  }

  get server(): LviServerProcess {
    if (this.#server === null) throw new Error("The deployment has no server: start it first.");
    return this.#server;
  }

  /** A server that is started again whenever it dies. Throws a CommandError if it does not come up. */
  async startServer(options: Omit<LviServerOptions, "stateFolder" | "keys">): Promise<LviServerProcess> {
    // Its data is of this machine: nobody goes back to an earlier release.
    const environment = { RADICAL_FINISH_UPGRADE: "yes", ...options.environment };
    const server = await startLviServer({ ...options, environment, stateFolder: this.folder, keys: this.keys });
    this.onStop(() => server.stop());
    return (this.#server = server);
  }

  /** A second server on the same storage, which waits for the leadership. */
  async startStandby(options: Omit<LaunchOptions, "stateFolder" | "keys" | "followupTimeoutMs">): Promise<void> {
    const standby = await startStandby({ ...options, stateFolder: this.folder, keys: this.keys });
    this.onStop(() => standby.stop());
  }

  /** A way that takes its time. `target`: where it ends; default: at the server. */
  async startLink(
    distance: Omit<DelayProxyOptions, "target">,
    target: () => Address = () => this.server.address(),
  ): Promise<DelayProxy> {
    const link = await startDelayProxy({ ...distance, target });
    this.onStop(() => link.close());
    return link;
  }

  /** Locations in this process. Throws a CommandError for a Worker that can't be started. */
  async startEdge(options: Omit<EdgeOptions, "key">, files: WorkerFiles): Promise<Edge> {
    const edge = await startEdge({ ...options, key: this.keys.location }, files);
    this.onStop(() => edge.close());
    return edge;
  }

  /** A process with locations, which may not serve yet. */
  launchLocations({ buildFolder, edges, logs, environment, under }: LocationsOptions): Child {
    const input: LocationProcessInput = { buildFolder, key: this.keys.location, edges, logs };
    return new Child({
      main: LOCATION_MAIN,
      args: [JSON.stringify(input)],
      environment: environment ?? process.env,
      ...(under === undefined ? {} : { under }),
      errors: logs === "lines" ? "lines" : "shown",
    });
  }

  /** Starts a process with locations, and resolves when they serve. */
  async startLocations(options: LocationsOptions): Promise<Locations> {
    for (const { cacheFolder } of options.edges) await mkdir(cacheFolder, { recursive: true });
    const child = this.launchLocations(options);
    this.onStop(() => child.leave());
    const { urls } = (await child.listening()) as unknown as Locations;
    return { child, urls };
  }
}
