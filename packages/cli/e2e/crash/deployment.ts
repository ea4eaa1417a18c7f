/**
 * The processes of a crash test: one LVI server with its storage, one process with two locations, a link between them.
 * Each can be started with a failpoint armed, says when it is reached, and is killed there by its pid.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import {
  encodeModuleContent,
  KEY_HEADER,
  type ModuleContent,
  MODULES_PATH,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { buildApp } from "../../src/build/build-app.ts";
import { startCompiler } from "../../src/build/compile.ts";
import { loadProject } from "../../src/config/load-config.ts";
import { type Address, type DelayProxy, startDelayProxy } from "../../src/dev/delay-proxy.ts";
import type { DeploymentKey } from "../../src/dev/deployment-key.ts";
import { LOCATION_HEADER } from "../../src/dev/location-choice.ts";
import { descendantsOf } from "../radical-process.ts";
import type { LocationProcessInput } from "./location-input.ts";
import { writeWorkerFiles } from "./worker-files.ts";

export const LOCATIONS = ["here", "there"] as const;

/** How long an intent waits for its followup before it is re-executed. */
export const FOLLOWUP_TIMEOUT_MS = 400;

const ROUND_TRIP_MS = 4;
/** Of requests to a server that may end by itself and be started again. */
const MOST_ATTEMPTS = 200;
/** Of a server that ends before it listens: its lease may run out while it starts, on a machine that stands still. */
const MOST_STARTS = 20;
const ATTEMPT_PAUSE_MS = 50;
const KEY: DeploymentKey = { id: "crash", secret: randomBytes(32).toString("hex") };
const PROJECT = fileURLToPath(new URL("../fixtures/bank", import.meta.url));
const LOCATION_MAIN = fileURLToPath(new URL("location-process.ts", import.meta.url));
const SERVER_MAIN = fileURLToPath(new URL("main.ts", import.meta.resolve("@radical/lvi-server")));

const SERVER_OPTIONS: readonly string[] = [
  "--port=0",
  "--workers=1",
  "--log-level=warn",
  "--exit-with-parent",
  `--followup-timeout-ms=${FOLLOWUP_TIMEOUT_MS}`,
  "--collect-interval-ms=200",
];

/** The application as both sides need it, built once. */
export interface Application {
  readonly content: ModuleContent;
  readonly folder: string;
  /** Of all processes: they are started often, and what Node compiles is kept by those that end by themselves. */
  readonly environment: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

export async function buildApplication(): Promise<Application> {
  const compiler = await startCompiler({ colours: false });
  const { app, report } = await buildApp(await loadProject(PROJECT), compiler, { optimize: false });
  await compiler.close();
  if (app === null) throw new Error(JSON.stringify(report.diagnostics));
  const folder = await mkdtemp(join(tmpdir(), "radical-crash-build-"));
  await writeWorkerFiles(folder, app);
  const environment = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  for (const main of [SERVER_MAIN, LOCATION_MAIN]) {
    const child = spawn(process.execPath, ["--conditions=source", main, "--help"], {
      env: environment,
      stdio: "ignore",
    });
    await once(child, "exit");
  }
  return { content: app.content, folder, environment, remove: () => rm(folder, { recursive: true, force: true }) };
}

export interface StorageChoice {
  readonly kind: "sqlite" | "dynamodb";
  /** Options of the server; `folder` is the deployment's own. */
  options(folder: string): readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** As if the lease of a server that was killed had run out. */
  endLease(): Promise<void>;
}

export interface ArmedAt {
  readonly name: string;
  /** At which time that it is reached. */
  readonly time: number;
}

interface Line {
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** A child process that tells of itself in lines of JSON. */
class Speaker {
  readonly child: ChildProcess;
  readonly ended: Promise<NodeJS.Signals | number | null>;
  readonly lines: Line[] = [];
  #listeners: ((line: Line) => void)[] = [];
  hasEnded = false;

  constructor(child: ChildProcess) {
    this.child = child;
    this.ended = (once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>).then(([code, signal]) => {
      this.hasEnded = true;
      return signal ?? code;
    });
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface(stream).on("line", (text) => {
        const line = parse(text);
        this.lines.push(line);
        for (const listener of this.#listeners) listener(line);
      });
    }
  }

  /** Resolves with the first such line, said already or later. */
  said(event: string): Promise<Line> {
    const known = this.lines.find((line) => line.event === event);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      const listener = (line: Line): void => {
        if (line.event !== event) return;
        this.#listeners = this.#listeners.filter((other) => other !== listener);
        resolve(line);
      };
      this.#listeners.push(listener);
    });
  }

  /** The same, or null if the process ends before. */
  async saidBeforeEnd(event: string): Promise<Line | null> {
    return Promise.race([this.said(event), this.ended.then(() => null)]);
  }

  async listening(): Promise<Line> {
    const line = await this.saidBeforeEnd("listening");
    if (line === null) throw new Error(`ended before it listened: ${JSON.stringify(this.lines)}`);
    return line;
  }

  /** `kill -9`, by pid. False: it had ended before. */
  async kill(): Promise<boolean> {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(this.child.pid, "SIGKILL");
    return (await this.ended) === "SIGKILL";
  }
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
  readonly #folder: string;
  readonly #link: DelayProxy;
  #server: Speaker | null = null;
  /** What the server can be armed for. */
  #prepared: ArmedAt | null = null;
  #serverPort = 0;
  /** Where the link ends: not at a standby that has taken over. */
  #linkedPort = 0;
  #standby: Speaker | null = null;
  #standbyAddress: readonly [standby?: Address] = [];
  #locations: Speaker | null = null;
  /** Resolved while they serve. */
  #url = Promise.withResolvers<string>();
  #areServing = false;
  /** Since the deployment was made. */
  kills = 0;
  readonly alarms: Line[] = [];

  private constructor(application: Application, storage: StorageChoice, folder: string, link: DelayProxy) {
    this.#application = application;
    this.#storage = storage;
    this.#folder = folder;
    this.#link = link;
  }

  /** `prepared`: see `startServer`. */
  static async start(
    application: Application,
    storage: StorageChoice,
    prepared: ArmedAt | null = null,
  ): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), "radical-crash-"));
    await mkdir(join(folder, "cache"));
    let self: Deployment | null = null;
    const link = await startDelayProxy({
      target: () => ({ host: "127.0.0.1", port: self?.linkedPort ?? 0 }),
      roundTripMs: ROUND_TRIP_MS,
    });
    self = new Deployment(application, storage, folder, link);
    try {
      await self.startServer(prepared);
      await self.registerApplication();
      await self.startLocations(null);
    } catch (error) {
      await self.stop();
      throw error;
    }
    return self;
  }

  get linkedPort(): number {
    return this.#linkedPort;
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Resolves when it listens. One that ends by itself is started again, as its unit would do it: on a machine that stands
   * still its lease runs out. `prepared`: where it is to stop once `armServer` is called.
   */
  async startServer(prepared: ArmedAt | null = null): Promise<void> {
    for (let starts = 1; ; starts++) {
      const server = this.#spawnServer(prepared, prepared === null ? "" : this.#armingFile);
      const line = await server.saidBeforeEnd("listening");
      // Killed while it started.
      if (this.#server !== server) return;
      if (line !== null) {
        this.#listensAt(line);
        this.#prepared = prepared;
        void server.ended.then(() => {
          if (this.#server !== server) return undefined;
          this.#noteAlarms(server);
          return this.startServer(prepared);
        });
        return;
      }
      this.#noteAlarms(server);
      if (starts === MOST_STARTS) throw new Error(`ended before it listened: ${JSON.stringify(server.lines)}`);
    }
  }

  /** Whether the server that runs was started for it. */
  isPreparedFor(failpoint: ArmedAt): boolean {
    return this.#prepared === failpoint;
  }

  /** From now on the server that was started for it counts; resolves when it has stopped there, or has ended without it. */
  async armServer(onArmed: () => Promise<void>): Promise<"reached" | "ended"> {
    const reached = this.#server!.saidBeforeEnd("failpoint");
    await writeFile(this.#armingFile, "");
    void onArmed();
    return (await reached) === null ? "ended" : "reached";
  }

  /** There from when it is armed until it is killed. */
  get #armingFile(): string {
    return join(this.#folder, "armed");
  }

  /** Starts one that is to stop at a failpoint; resolves when it has, or has ended without it. */
  async serverAt(failpoint: ArmedAt, onListening: () => Promise<void>): Promise<"reached" | "ended"> {
    const server = this.#spawnServer(failpoint, "");
    const reached = server.saidBeforeEnd("failpoint");
    void server.said("listening").then(async (line) => {
      this.#listensAt(line);
      await onListening();
    });
    return (await reached) === null ? "ended" : "reached";
  }

  #listensAt(line: Line): void {
    this.#serverPort = line["port"] as number;
    this.#linkedPort = this.#serverPort;
  }

  /** Starts a second server on the same storage, and the locations anew with a way to each. Resolves when it waits for the lease. */
  async startStandby(): Promise<void> {
    const standby = this.#spawnProcess(null, "", "--log-level=info");
    this.#standby = standby;
    const listening = await standby.saidBeforeEnd("http_listening");
    this.#standbyAddress = [{ host: "127.0.0.1", port: listening!["port"] as number }];
    await standby.said("waiting_for_leadership");
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
    if (leader !== null) this.#noteAlarms(leader);
    this.#serverPort = (await standby.listening())["port"] as number;
  }

  #spawnServer(failpoint: ArmedAt | null, armingFile: string): Speaker {
    this.#prepared = null;
    this.#server = this.#spawnProcess(failpoint, armingFile);
    return this.#server;
  }

  #spawnProcess(failpoint: ArmedAt | null, armingFile: string, ...options: readonly string[]): Speaker {
    const child = spawn(
      process.execPath,
      ["--conditions=source", SERVER_MAIN, ...SERVER_OPTIONS, ...this.#storage.options(this.#folder), ...options],
      {
        env: {
          ...this.#application.environment,
          ...this.#storage.environment,
          RADICAL_KEYS: `${KEY.id}:${KEY.secret}`,
          RADICAL_FAILPOINT: failpoint === null ? "" : `${failpoint.name}:${failpoint.time}`,
          RADICAL_FAILPOINT_FILE: armingFile,
        },
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    return new Speaker(child);
  }

  /** False: it had ended before. */
  async killServer(): Promise<boolean> {
    const server = this.#server;
    if (server === null) return false;
    this.#server = null;
    this.#prepared = null;
    this.kills++;
    const isKilled = await server.kill();
    this.#noteAlarms(server);
    await rm(this.#armingFile, { force: true });
    if (isKilled) await this.#storage.endLease();
    return isKilled;
  }

  #noteAlarms({ lines }: Speaker): void {
    this.alarms.push(...lines.filter(({ event }) => ALARMS.includes(event)));
  }

  /** SIGTERM: it drains. */
  drainServer(): void {
    this.#server?.child.kill("SIGTERM");
  }

  /** Registers the application once more, whichever server takes it: one that has lost its lease may end now. */
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
    return this.#signed("PUT", moduleHash(content), Buffer.from(encodeModuleContent(content)));
  }

  async hasModule(content: ModuleContent): Promise<boolean> {
    return (await this.#signed("GET", moduleHash(content), null)) === 204;
  }

  async #signed(method: string, hash: string, body: Buffer<ArrayBuffer> | null): Promise<number> {
    const path = MODULES_PATH + hash;
    const timeMs = Date.now();
    const signature = createHmac("sha256", Buffer.from(KEY.secret, "hex"))
      .update(signedBytes(method, path, timeMs, body ?? new Uint8Array()))
      .digest("hex");
    const response = await fetch(`http://127.0.0.1:${this.#serverPort}${path}`, {
      method,
      headers: { [KEY_HEADER]: KEY.id, [TIME_HEADER]: String(timeMs), [SIGNATURE_HEADER]: signature },
      ...(body === null ? {} : { body }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** Another build of the application: the same handlers under another hash. */
  variant(accesses: number): ModuleContent {
    const { content } = this.#application;
    return { ...content, limits: { ...content.limits, accesses } };
  }

  /** What the server says is under way; null: none answers now. */
  async load(): Promise<{ readonly executions: number; readonly pending: number } | null> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.#serverPort}/healthz`);
      return (await response.json()) as { executions: number; pending: number };
    } catch {
      return null;
    }
  }

  // ── The locations ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Resolves when they serve. */
  async startLocations(failpoint: ArmedAt | null): Promise<void> {
    const input: LocationProcessInput = {
      buildFolder: this.#application.folder,
      cacheFolder: join(this.#folder, "cache"),
      locations: LOCATIONS,
      primaries: [this.#link.address, ...this.#standbyAddress],
      key: KEY,
      failpoint,
    };
    const child = spawn(process.execPath, ["--conditions=source", LOCATION_MAIN, JSON.stringify(input)], {
      env: this.#application.environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#locations = new Speaker(child);
    this.#url.resolve((await this.#locations.listening())["url"] as string);
    this.#areServing = true;
  }

  /** Resolves when an armed failpoint is reached. */
  async locationsAt(): Promise<"reached" | "ended"> {
    return (await this.#locations!.saidBeforeEnd("failpoint")) === null ? "ended" : "reached";
  }

  /** `kill -9` of workerd, and of the process around it. */
  async killLocations(): Promise<boolean> {
    const locations = this.#locations;
    if (locations === null) return false;
    this.kills++;
    // Those who wait for them already go on waiting for the same.
    if (this.#areServing) this.#url = Promise.withResolvers();
    this.#areServing = false;
    if (locations.child.pid !== undefined && !locations.hasEnded) {
      for (const pid of await descendantsOf(locations.child.pid)) process.kill(pid, "SIGKILL");
    }
    return locations.kill();
  }

  /** One attempt, as soon as there are locations; null: no answer. */
  async call(handler: string, args: unknown, location: string, idempotencyKey: string): Promise<Reply | null> {
    const url = await this.#url.promise;
    try {
      const response = await fetch(`${url}/api/${handler}`, {
        method: "POST",
        body: JSON.stringify(args),
        headers: {
          "content-type": "application/json",
          [LOCATION_HEADER]: location,
          "idempotency-key": idempotencyKey,
        },
      });
      const body = (await response.json()) as Omit<Reply, "status" | "path">;
      return { ...body, status: response.status, path: response.headers.get("x-radical-path") };
    } catch {
      return null;
    }
  }

  /** Of the storage, if it is one. */
  get file(): string {
    return join(this.#folder, "data.sqlite");
  }

  async stop(): Promise<void> {
    await this.killLocations();
    await this.#standby?.kill();
    const server = this.#server;
    this.#server = null;
    await server?.kill();
    await this.#link.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export interface Reply {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
  readonly path: string | null;
}

function parse(text: string): Line {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === "object" && line !== null) return line as Line;
  } catch {
    // Not one of ours.
  }
  return { text };
}
