/** What the benchmark measures: one LVI server, and locations each in a workerd of its own behind a delay of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import {
  type CommitId,
  decodeLviReply,
  encodeLviRequest,
  type ExecutionId,
  KEY_HEADER,
  LVI_PATH,
  NO_COMMIT,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
  unitId,
} from "@radical/protocol";
import { type AppBuild, buildApp } from "../../src/build/build-app.ts";
import { startCompiler } from "../../src/build/compile.ts";
import { loadProject } from "../../src/config/load-config.ts";
import { type Address, type DelayProxy, startDelayProxy } from "../../src/dev/delay-proxy.ts";
import type { DeploymentKey } from "../../src/dev/deployment-key.ts";
import { type LviServerProcess, startLviServer } from "../../src/dev/lvi-server-process.ts";
import { registerModule } from "../../src/dev/register-module.ts";
import type { LocationProcessInput } from "../crash/location-input.ts";
import { writeWorkerFiles } from "../crash/worker-files.ts";

const PROJECT = fileURLToPath(new URL("../fixtures/edge-load", import.meta.url));
const LOCATION_MAIN = fileURLToPath(new URL("../crash/location-process.ts", import.meta.url));
const KEY: DeploymentKey = { id: "bench", secret: randomBytes(32).toString("hex") };

export interface Timed {
  /** From before the request was sent until all of the answer was there, by the clock of this process. */
  readonly ms: number;
  readonly status: number;
  readonly path: string;
  readonly reason: string;
}

export class Deployment {
  readonly #folder: string;
  readonly #app: AppBuild;
  readonly #server: LviServerProcess;
  readonly #locations: BenchLocation[] = [];

  private constructor(folder: string, app: AppBuild, server: LviServerProcess) {
    this.#folder = folder;
    this.#app = app;
    this.#server = server;
  }

  static async start(): Promise<Deployment> {
    const compiler = await startCompiler({ colours: false });
    const { app, report } = await buildApp(await loadProject(PROJECT), compiler, { optimize: true });
    await compiler.close();
    if (app === null) throw new Error(JSON.stringify(report.diagnostics));
    const folder = await mkdtemp(join(tmpdir(), "radical-bench-edge-"));
    await writeWorkerFiles(folder, app);
    const server = await startLviServer({
      stateFolder: folder,
      key: KEY,
      followupTimeoutMs: null,
      onStarted: ({ address }) => registerModule(address, KEY, app),
      onDied: ({ stderr }) => console.error(`the LVI server died: ${stderr}`),
      onLog: () => undefined,
    });
    return new Deployment(folder, app, server);
  }

  /** Resolves when it serves, with an empty cache and no connection to the primary. */
  async location(name: string, roundTripMs: number): Promise<BenchLocation> {
    const location = await BenchLocation.start({
      name,
      buildFolder: this.#folder,
      link: await startDelayProxy({ target: () => this.#server.address(), roundTripMs }),
      module: this.#app.manifest.module,
    });
    this.#locations.push(location);
    return location;
  }

  async stop(): Promise<void> {
    for (const location of this.#locations) await location.stop();
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

interface LocationOptions {
  readonly name: string;
  readonly buildFolder: string;
  readonly link: DelayProxy;
  readonly module: AppBuild["manifest"]["module"];
}

export class BenchLocation {
  readonly #options: LocationOptions;
  readonly #child: ChildProcess;
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true });
  #seen: CommitId | null = null;

  private constructor(options: LocationOptions, child: ChildProcess, url: URL) {
    this.#options = options;
    this.#child = child;
    this.#url = url;
  }

  static async start(options: LocationOptions): Promise<BenchLocation> {
    const { name, buildFolder, link } = options;
    const cacheFolder = join(buildFolder, `cache-${name}`);
    await mkdir(cacheFolder, { recursive: true });
    const input: LocationProcessInput = {
      buildFolder,
      cacheFolder,
      locations: [name],
      primaries: [link.address],
      key: KEY,
      failpoint: null,
    };
    const child = spawn(process.execPath, ["--conditions=source", LOCATION_MAIN, JSON.stringify(input)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    for await (const line of createInterface(child.stdout)) {
      if (!line.includes('"listening"')) continue;
      child.stdout.resume();
      return new BenchLocation(options, child, new URL((JSON.parse(line) as { url: string }).url));
    }
    throw new Error(`${name} ended before it listened`);
  }

  async call(handler: string, args: unknown): Promise<Timed> {
    const body = Buffer.from(JSON.stringify(args));
    const { ms, status, headers } = await this.#post(this.#url, `/api/${handler}`, body, {
      "content-type": "application/json",
    });
    const header = (name: string): string => String(headers[name] ?? "");
    return { ms, status, path: header("x-radical-path"), reason: header("x-radical-reason") };
  }

  /** One LVI request over an open connection, from this process: what a location waits for at the least. */
  async roundTrip(): Promise<number> {
    const { host, port }: Address = this.#options.link.address;
    const body = encodeLviRequest({
      executionId: randomBytes(16).toString("hex") as ExecutionId,
      module: this.#options.module,
      handler: "look",
      args: Uint8Array.of(0xa0),
      environment: { timeMs: Date.now(), seed: randomBytes(16), caller: null },
      location: "probe",
      units: [{ unit: unitId("items", "nothing"), mode: "read", version: { commitId: NO_COMMIT, hash: null } }],
      retained: false,
      deadlineMs: 10_000,
      attempt: 1,
      seen: this.#seen,
    });
    const timeMs = Date.now();
    const signature = createHmac("sha256", Buffer.from(KEY.secret, "hex")).update(
      signedBytes("POST", LVI_PATH, timeMs, body),
    );
    const { ms, bytes } = await this.#post(new URL(`http://${host}:${port}`), LVI_PATH, Buffer.from(body), {
      "content-type": "application/cbor",
      [KEY_HEADER]: KEY.id,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: signature.digest("hex"),
    });
    const reply = decodeLviReply(bytes);
    this.#seen = reply.asOf ?? this.#seen;
    if (reply.kind === "refused" && reply.code === "in_doubt") return this.roundTrip();
    if (reply.kind !== "valid") throw new Error(`the probe was answered ${JSON.stringify(reply)}`);
    return ms;
  }

  #post(
    origin: URL,
    path: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ ms: number; status: number; headers: NodeJS.Dict<string | string[]>; bytes: Buffer }> {
    return new Promise((resolve, reject) => {
      const startedAtMs = performance.now();
      const sent = httpRequest(
        {
          host: origin.hostname,
          port: origin.port,
          path,
          method: "POST",
          agent: this.#agent,
          headers: { ...headers, "content-length": body.length },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const ms = performance.now() - startedAtMs;
            const status = response.statusCode ?? 0;
            resolve({ ms, status, headers: response.headers, bytes: Buffer.concat(chunks) });
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** The process ends with its input, and workerd with it. */
  async stop(): Promise<void> {
    this.#agent.destroy();
    const ended = once(this.#child, "exit");
    this.#child.stdin?.end();
    await ended;
    await this.#options.link.close();
  }
}
