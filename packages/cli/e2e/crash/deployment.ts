/**
 * The processes of a crash test: one LVI server with its storage, one process with two locations, a link between them.
 * Each can be started with a failpoint armed, says when it is reached, and is killed there by its pid.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { encodeModuleContent, type Manifest, type ModuleContent, MODULES_PATH } from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { buildApp, startCompiler, loadProject } from "@radical/app";
import {
  type Child,
  type Line,
  type Address,
  type DelayProxy,
  LOCATION_MAIN,
  LocalDeployment,
  LOCATION_HEADER,
  BUILD_FILES,
  launchServer,
  SERVER_MAIN,
  writeBuild,
} from "@radical/local";
import { descendantsOf } from "../radical-process.ts";
import { signedRequest } from "@radical/admin";
import { Bank } from "./cash-desk.ts";

export const LOCATIONS = ["here", "there"] as const;

/** How long an intent waits for its followup before it is re-executed. */
export const FOLLOWUP_TIMEOUT_MS = 400;
/** A location answers by leases for about two thirds of this after each message. Messages that only renew come each second. */
const READ_LEASE_MS = 1_200;
/** A server that takes over from a killed one waits so long before it applies anything. So does the first writer after the end of a location. */
export const LONGEST_LEASE_MS: number = READ_LEASE_MS * 1.05;

const ROUND_TRIP_MS = 4;
/** Of requests to a server that may end by itself and be started again. */
const MOST_ATTEMPTS = 200;
/** Of a server that ends before it listens: its leadership may run out while it starts, on a machine that stands still. */
const MOST_STARTS = 20;
const ATTEMPT_PAUSE_MS = 50;
/** The fixtures whose handlers are the application of most crash tests. */
const PROJECTS: readonly string[] = ["bank", "post-office", "cash-desk"];

/** One worker, and modules that nobody asks for are removed soon. */
const SERVER_OPTIONS: readonly string[] = ["--workers=1", "--collect-interval-ms=200"];

/** The application as both sides need it, built once. */
export interface Application {
  readonly manifest: Manifest;
  readonly content: ModuleContent;
  readonly folder: string;
  /** Of all processes: they are started often, and what Node compiles is kept by those that end by themselves. */
  readonly environment: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

/** Of all these fixtures in one. */
export async function buildApplication(projects: readonly string[] = PROJECTS): Promise<Application> {
  const compiler = await startCompiler({ colours: false });
  const folder = await mkdtemp(join(tmpdir(), "radical-crash-build-"));
  const project = join(folder, "project");
  for (const name of projects)
    await cp(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), project, { recursive: true });
  const { app, report } = await buildApp(await loadProject(project), compiler, { optimize: false });
  await compiler.close();
  if (app === null) throw new Error(JSON.stringify(report.diagnostics));
  await writeBuild(folder, app);
  const environment = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  for (const main of [SERVER_MAIN, LOCATION_MAIN]) {
    const args = main === SERVER_MAIN ? ["--help"] : [];
    const child = spawn(process.execPath, ["--conditions=source", main, ...args], {
      env: environment,
      stdio: "ignore",
    });
    await once(child, "exit");
  }
  const { manifest, content } = app;
  return { manifest, content, folder, environment, remove: () => rm(folder, { recursive: true, force: true }) };
}

export interface StorageChoice {
  readonly kind: "sqlite" | "dynamodb";
  /** Its address; `folder` is the deployment's own. */
  address(folder: string): string;
  readonly leaseMs: number;
  readonly environment: Readonly<Record<string, string>>;
  /** As if the leadership of a server that was killed had run out. */
  endLease(): Promise<void>;
}

export interface ArmedAt {
  readonly name: string;
  /** At which time that it is reached. */
  readonly time: number;
}

/** What servers may never log. */
const ALARMS: readonly unknown[] = [
  "determinism_alarm",
  "lost_write_alarm",
  "intent_alarm",
  "wrote_on_get_alarm",
  "invariant_broken",
];

export class Deployment {
  readonly #application: Application;
  readonly #storage: StorageChoice;
  readonly #local: LocalDeployment;
  #link: DelayProxy | null = null;
  #server: Child | null = null;
  /** What the server can be armed for. */
  #prepared: ArmedAt | null = null;
  #serverPort = 0;
  /** Where the link ends: not at a standby that has taken over. */
  #linkedPort = 0;
  #standby: Child | null = null;
  #standbyAddress: readonly [standby?: Address] = [];
  #locations: Child | null = null;
  /** Resolved while they serve. */
  #url = Promise.withResolvers<string>();
  #areServing = false;
  readonly bank = new Bank();
  #bankUrl = "";
  /** Since the deployment was made. */
  kills = 0;
  readonly alarms: Line[] = [];

  private constructor(application: Application, storage: StorageChoice, local: LocalDeployment) {
    this.#application = application;
    this.#storage = storage;
    this.#local = local;
    local.onStop(() => this.#killAll());
  }

  /** `prepared`: see `startServer`. */
  static async start(
    application: Application,
    storage: StorageChoice,
    prepared: ArmedAt | null = null,
  ): Promise<Deployment> {
    const self = new Deployment(application, storage, await LocalDeployment.temporary("crash"));
    try {
      self.#bankUrl = await self.bank.start(application.manifest, self.#local.keys.location);
      self.#local.onStop(() => self.bank.close());
      self.#link = await self.#local.startLink({ roundTripMs: ROUND_TRIP_MS }, () => self.#at(self.#linkedPort));
      await self.startServer(prepared);
      await self.registerApplication();
      await self.startLocations(null);
    } catch (error) {
      await self.stop();
      throw error;
    }
    return self;
  }

  #at(port: number): Address {
    return { host: "127.0.0.1", port };
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Resolves when it listens. One that ends by itself is started again, as its unit would do it: on a machine that stands
   * still its leadership runs out. `prepared`: where it is to stop once `armServer` is called.
   */
  async startServer(prepared: ArmedAt | null = null): Promise<void> {
    for (let starts = 1; ; starts++) {
      const server = this.#launchServer(prepared, prepared === null ? "" : this.#armingFile);
      const line = await server.toldBeforeEnd("listening");
      // Killed while it started.
      if (this.#server !== server) return;
      if (line !== null) {
        this.#listensAt(line);
        this.#prepared = prepared;
        void server.ended.then(() => {
          if (this.#server !== server) return undefined;
          return this.startServer(prepared);
        });
        return;
      }
      if (starts === MOST_STARTS) throw new Error(`the server has ended before it listened: ${server.words}`);
    }
  }

  /** Whether the server that runs was started for it. */
  isPreparedFor(failpoint: ArmedAt): boolean {
    return this.#prepared === failpoint;
  }

  /** From now on the server that was started for it counts; resolves when it has stopped there, or has ended without it. */
  async armServer(onArmed: () => Promise<void>): Promise<"reached" | "ended"> {
    const reached = this.#server!.toldBeforeEnd("failpoint");
    await writeFile(this.#armingFile, "");
    void onArmed();
    return (await reached) === null ? "ended" : "reached";
  }

  /** There from when it is armed until it is killed. */
  get #armingFile(): string {
    return join(this.#local.folder, "armed");
  }

  /** Starts one that is to stop at a failpoint; resolves when it has, or has ended without it. */
  async serverAt(failpoint: ArmedAt, onListening: () => Promise<void>): Promise<"reached" | "ended"> {
    const server = this.#launchServer(failpoint, "");
    const reached = server.toldBeforeEnd("failpoint");
    void server.told("listening").then(async (line) => {
      this.#listensAt(line);
      await onListening();
    });
    return (await reached) === null ? "ended" : "reached";
  }

  #listensAt(line: Line): void {
    this.#serverPort = line["port"] as number;
    this.#linkedPort = this.#serverPort;
  }

  /** Starts a second server on the same storage, and the locations anew with a way to each. Resolves when it waits for the leadership. */
  async startStandby(): Promise<void> {
    const standby = this.#launch(null, "", "info");
    this.#standby = standby;
    const listening = await standby.toldBeforeEnd("http_listening");
    this.#standbyAddress = [this.#at(listening!["port"] as number)];
    await standby.told("waiting_for_leadership");
    await this.killLocations();
    await this.startLocations(null);
  }

  /** `kill -9` of the leader, which is not started again; resolves when the standby serves. */
  async takeOver(): Promise<void> {
    const standby = this.#standby;
    if (standby === null) throw new Error("there is no standby");
    this.#standby = null;
    const leader = this.#server;
    this.#server = standby;
    this.kills++;
    await leader?.kill();
    if (leader !== null) this.#serverPort = (await standby.listening())["port"] as number;
  }

  #launchServer(failpoint: ArmedAt | null, armingFile: string): Child {
    this.#prepared = null;
    this.#server = this.#launch(failpoint, armingFile, "warn");
    return this.#server;
  }

  #launch(failpoint: ArmedAt | null, armingFile: string, logLevel: "info" | "warn"): Child {
    return launchServer({
      stateFolder: this.#local.folder,
      keys: this.#local.keys,
      storage: this.#storage.address(this.#local.folder),
      leaseMs: this.#storage.leaseMs,
      followupTimeoutMs: FOLLOWUP_TIMEOUT_MS,
      readLeaseMs: READ_LEASE_MS,
      logLevel,
      args: [...SERVER_OPTIONS, `--worker-url=${this.#bankUrl}`],
      environment: {
        ...this.#application.environment,
        ...this.#storage.environment,
        RADICAL_FAILPOINT: failpoint === null ? "" : `${failpoint.name}:${failpoint.time}`,
        RADICAL_FAILPOINT_FILE: armingFile,
      },
      onLog: (line) => {
        if (ALARMS.includes(line["event"])) this.alarms.push(line);
      },
    });
  }

  /** False: it had ended before. */
  async killServer(): Promise<boolean> {
    const server = this.#server;
    if (server === null) return false;
    this.#server = null;
    this.#prepared = null;
    this.kills++;
    const isKilled = await server.kill();
    await rm(this.#armingFile, { force: true });
    if (isKilled) await this.#storage.endLease();
    return isKilled;
  }

  /** SIGTERM: it drains. */
  drainServer(): void {
    this.#server?.signal("SIGTERM");
  }

  /** The same, and it is not started again. Afterwards no read lease is left. */
  async stopServer(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#prepared = null;
    server?.signal("SIGTERM");
    await server?.ended;
  }

  /** Registers the application once more, whichever server takes it: one that has lost its leadership may end now. */
  async registerApplication(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.registerModule(this.#application.content);
        return;
      } catch (error) {
        if (attempt === MOST_ATTEMPTS) throw error;
        await sleep(ATTEMPT_PAUSE_MS);
      }
    }
  }

  /** As if nobody had asked for any module for long; with no server alive, on SQLite. */
  ageModules(): void {
    const database = new DatabaseSync(this.file);
    database.exec("UPDATE modules SET used_at_ms = 0");
    database.close();
  }

  /** Registers a module as `radical dev` and a deployment do. */
  async registerModule(content: ModuleContent): Promise<number> {
    return this.#signed("PUT", moduleHash(content), encodeModuleContent(content));
  }

  async hasModule(content: ModuleContent): Promise<boolean> {
    return (await this.#signed("GET", moduleHash(content), new Uint8Array())) === 204;
  }

  async #signed(method: "GET" | "PUT", hash: string, body: Uint8Array): Promise<number> {
    const { host, port } = this.#at(this.#serverPort);
    const response = await signedRequest(
      `http://${host}:${port}`,
      this.#local.keys.administration,
      method,
      MODULES_PATH + hash,
      body,
    );
    await response.arrayBuffer();
    return response.status;
  }

  /** Another build of the application: the same handlers under another hash. */
  variant(accesses: number): ModuleContent {
    const { content } = this.#application;
    return { ...content, limits: { ...content.limits, accesses } };
  }

  /** What the server says is under way; null: none answers now. */
  async load(): Promise<Health | null> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.#serverPort}/healthz`);
      return (await response.json()) as Health;
    } catch {
      return null;
    }
  }

  // ── The locations ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Resolves when they serve. */
  async startLocations(failpoint: ArmedAt | null): Promise<void> {
    this.#locations = this.#local.launchLocations({
      buildFolder: this.#application.folder,
      edges: [
        {
          name: "locations",
          worker: BUILD_FILES.worker,
          locations: LOCATIONS.map((name) => ({
            name,
            primaries: [this.#link!.address, ...this.#standbyAddress],
            nearStorageOnly: false,
          })),
          cacheFolder: join(this.#local.folder, "cache"),
          vars: {},
          ...(failpoint === null ? {} : { testHooks: { failpoint } }),
        },
      ],
      logs: "lines",
      environment: this.#application.environment,
    });
    const { urls } = (await this.#locations.listening()) as { readonly urls?: { readonly locations: string } };
    this.#url.resolve(urls!.locations);
    this.#areServing = true;
  }

  /** Resolves when an armed failpoint is reached. */
  async locationsAt(): Promise<"reached" | "ended"> {
    return (await this.#locations!.toldBeforeEnd("failpoint")) === null ? "ended" : "reached";
  }

  /** `kill -9` of workerd, and of the process around it. */
  async killLocations(): Promise<boolean> {
    const locations = this.#locations;
    if (locations === null) return false;
    this.kills++;
    // Those who wait for them already go on waiting for the same.
    if (this.#areServing) this.#url = Promise.withResolvers();
    this.#areServing = false;
    if (locations.pid !== undefined && !locations.hasEnded) {
      for (const pid of await descendantsOf(locations.pid)) process.kill(pid, "SIGKILL");
    }
    return locations.kill();
  }

  /**
   * One attempt, as soon as there are locations; null: no answer. Without a key read leases may answer it. `early`: a result
   * before its confirmation is asked for. It does not count as an answer.
   */
  async call(
    handler: string,
    args: unknown,
    location: string,
    idempotencyKey: string | null,
    early = false,
  ): Promise<Reply | null> {
    const url = await this.#url.promise;
    try {
      const response = await fetch(`${url}/api/${handler}`, {
        method: "POST",
        body: JSON.stringify(args),
        headers: {
          "content-type": "application/json",
          [LOCATION_HEADER]: location,
          ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
          ...(early ? { prefer: "speculative" } : {}),
        },
      });
      if (response.headers.has("preference-applied")) return lastLineOf(await response.text());
      const body = (await response.json()) as Omit<Reply, "status" | "path">;
      return { ...body, status: response.status, path: response.headers.get("x-radical-path") };
    } catch {
      return null;
    }
  }

  /** Of the storage, if it is one. */
  get file(): string {
    return join(this.#local.folder, "data.sqlite");
  }

  stop(): Promise<void> {
    return this.#local.stop();
  }

  async #killAll(): Promise<void> {
    await this.killLocations();
    await this.#standby?.kill();
    const server = this.#server;
    this.#server = null;
    await server?.kill();
  }
}

interface Health {
  readonly executions: number;
  readonly pending: number;
  /** Those that have not ended. */
  readonly workflows?: number | null;
  /** Left out: the server does not lead yet. */
  readonly tasks?: Tasks;
}

/** Tasks by their state. */
export interface Tasks {
  readonly all: number | null;
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
}

export interface Reply {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
  readonly path: string | null;
}

/** The answer of a stream; null: it has none. */
function lastLineOf(stream: string): Reply | null {
  type LineOfStream = Partial<{
    readonly speculative: { readonly result: unknown };
    readonly confirmed: true;
    readonly corrected: { readonly result: unknown };
    readonly failed: { readonly status: number; readonly code: string; readonly message: string };
    readonly path: string | null;
  }>;
  const lines = stream.split("\n").filter((line) => line !== "");
  const [first, last] = [lines[0], lines.at(-1)].map((line) => JSON.parse(line ?? "{}") as LineOfStream);
  const path = last?.path ?? null;
  if (last?.confirmed === true) return { status: 200, result: first?.speculative?.result, path };
  if (last?.corrected !== undefined) return { status: 200, result: last.corrected.result, path };
  return last?.failed === undefined ? null : { status: last.failed.status, error: last.failed, path };
}
