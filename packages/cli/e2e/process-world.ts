/**
 * Servers and locations as processes of their own, with a real workerd each, for tests that stop and kill them. Their storage is SQLite
 * or DynamoDB Local.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import {
  type Child,
  type Address,
  LocalDeployment,
  BUILD_FILES,
  registerModule,
  launchServer,
  writeBuild,
} from "@radical/local";
import type { StorageChoice } from "./crash/deployment.ts";
import { descendantsOf } from "./radical-process.ts";

/** Bounded polls of conditions; none of them is a measure of time. */
export const SOON: { readonly timeout: number; readonly interval: number } = { timeout: 100_000, interval: 20 };

export interface Answer {
  readonly result?: unknown;
  readonly path: string | null;
}

export interface Times {
  readonly leaseMs: number;
  readonly readLeaseMs: number;
  /** A machine that runs tests may stand still for seconds, so a location is patient where no server is silent. */
  readonly attemptMs: number;
}

/** An application that was built once. */
export interface Built {
  readonly build: AppBuild;
  readonly folder: string;
  remove(): Promise<void>;
}

export async function built(project: string): Promise<Built> {
  const folder = await mkdtemp(join(tmpdir(), "radical-held-build-"));
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(project), compiler, { optimize: false });
  await compiler.close();
  if (app === null) throw new Error(`${project} is not built`);
  await writeBuild(folder, app);
  return { build: app, folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Servers of one storage, of which one leads, and locations that know all of them. */
export class World {
  readonly #built: Built;
  readonly #storage: StorageChoice;
  readonly #local: LocalDeployment;
  readonly #times: Times;
  readonly #servers: Child[] = [];
  readonly #addresses: Address[] = [];
  readonly #locations = new Map<string, { readonly child: Child; readonly url: string }>();

  private constructor(application: Built, storage: StorageChoice, local: LocalDeployment, times: Times) {
    this.#built = application;
    this.#storage = storage;
    this.#local = local;
    this.#times = times;
  }

  static async start(
    application: Built,
    storage: StorageChoice,
    times: Times,
    locations: readonly string[],
    standby = false,
  ): Promise<World> {
    const world = new World(application, storage, await LocalDeployment.temporary("held"), times);
    const leader = world.#launch();
    world.#addresses.push(addressIn(await leader.listening()));
    await registerModule(world.#addresses[0]!, world.#local.keys.administration, application.build);
    if (standby) {
      const other = world.#launch();
      world.#addresses.push(addressIn(await other.told("http_listening")));
      await other.told("waiting_for_leadership");
    }
    for (const name of locations) await world.startLocation(name);
    return world;
  }

  #launch(): Child {
    const { folder, keys } = this.#local;
    const { leaseMs, readLeaseMs } = this.#times;
    const server = launchServer({
      leaseMs,
      readLeaseMs,
      stateFolder: folder,
      keys,
      storage: this.#storage.address(folder),
      environment: { ...process.env, ...this.#storage.environment },
      followupTimeoutMs: 600_000,
      onLog: () => undefined,
    });
    this.#servers.push(server);
    return server;
  }

  async stop(): Promise<void> {
    // A process that stands still does not end.
    for (const name of this.#locations.keys()) await this.signal(name, "SIGCONT");
    for (const server of this.#servers) server.signal("SIGCONT");
    await Promise.all(this.#servers.map((server) => server.kill()));
    await this.#local.stop();
  }

  async startLocation(name: string): Promise<void> {
    const cacheFolder = join(this.#local.folder, `cache-${name}`);
    const [leader, standby] = this.#addresses;
    await mkdir(cacheFolder, { recursive: true });
    const { child, urls } = await this.#local.startLocations({
      buildFolder: this.#built.folder,
      edges: [
        {
          name,
          worker: BUILD_FILES.worker,
          locations: [
            { name, primaries: standby === undefined ? [leader!] : [leader!, standby], nearStorageOnly: false },
          ],
          cacheFolder,
          vars: { RADICAL_ATTEMPT_MS: String(this.#times.attemptMs) },
        },
      ],
      logs: "lines",
    });
    this.#locations.set(name, { child, url: urls[name]! });
  }

  async signal(location: string, what: "SIGSTOP" | "SIGCONT" | "SIGKILL"): Promise<void> {
    const { child } = this.#locations.get(location)!;
    if (child.pid === undefined || child.hasEnded) return;
    for (const pid of await descendantsOf(child.pid)) process.kill(pid, what);
  }

  /** `kill -9` of the leader. Its standby learns that it is dead, and leads before its term is over. */
  async killLeader(): Promise<void> {
    await this.#servers[0]!.kill();
    await this.#storage.endLease();
    await this.#servers[1]!.listening();
  }

  /** The leader stands still, and its standby waits its term out. Returns how it goes on: resolves when it has ended. */
  async stopLeader(): Promise<() => Promise<unknown>> {
    const leader = this.#servers[0]!;
    leader.signal("SIGSTOP");
    // In the middle of a transaction it would keep the file from its standby.
    while (this.#storage.kind === "sqlite" && isLocked(join(this.#local.folder, "data.sqlite"))) {
      leader.signal("SIGCONT");
      await new Promise((resolve) => setImmediate(resolve));
      leader.signal("SIGSTOP");
    }
    await this.#servers[1]!.listening();
    return () => {
      leader.signal("SIGCONT");
      return leader.ended;
    };
  }

  /** How often a writer has waited for read leases at the standby. */
  async waits(): Promise<number> {
    const { host, port } = this.#addresses[1]!;
    const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
    return Number(/^radical_clear_wait_seconds_count (\d+)/m.exec(text)?.[1]);
  }

  /** Where a location serves now. */
  urlOf(location: string): string {
    return this.#locations.get(location)!.url;
  }

  async call(at: string, handler: string, name: string): Promise<Answer> {
    const response = await fetch(`${this.urlOf(at)}/api/${handler}`, {
      method: "POST",
      body: JSON.stringify({ name }),
      headers: { "content-type": "application/json" },
    });
    const { result } = (await response.json()) as { readonly result?: unknown };
    return { result, path: response.headers.get("x-radical-path") };
  }

  async leasedAt(location: string, name: string): Promise<void> {
    while ((await this.call(location, "count", name)).path !== "leased") await sleep(SOON.interval);
  }

  /** Reads at a location again and again until `told.isOver`. Each read has the increments that were told before it. */
  async readAll(location: string, name: string, told: { count: number; isOver: boolean }): Promise<number> {
    let leased = 0;
    while (!told.isOver) {
      const least = told.count;
      const { result, path } = await this.call(location, "count", name);
      if (!(Number(result) >= least)) throw new Error(`${location} read ${String(result)} after ${least} was told`);
      if (path === "leased") leased++;
    }
    return leased;
  }
}

function addressIn(line: Readonly<Record<string, unknown>>): Address {
  return { host: "127.0.0.1", port: line["port"] as number };
}

function isLocked(file: string): boolean {
  const database = new DatabaseSync(file, { timeout: 100 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
