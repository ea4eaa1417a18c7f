/** What the benchmark measures: one LVI server, and locations each in a workerd of its own behind a delay of its own. */
import { randomBytes } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CommitId,
  decodeFollowupReply,
  decodeLviReply,
  encodeFollowup,
  encodeLviRequest,
  entryOf,
  type ExecutionId,
  FOLLOWUP_PATH,
  LVI_PATH,
  type ModuleHash,
  NO_COMMIT,
  unitId,
  type Version,
} from "@radical/protocol";
import { build } from "esbuild";
import { type AppBuild, buildApp, WORKER_OPTIONS, startCompiler, loadProject } from "@radical/app";
import { type Child, type Address, LocalDeployment, registerModule, BUILD_FILES, writeBuild } from "@radical/local";
import { type DeploymentKey, signedHeaders, signedRequest } from "@radical/admin";
import type { Cores } from "./cores.ts";

const PROJECT = fileURLToPath(new URL("../fixtures/edge-load", import.meta.url));
/** The file of the probe's Worker. */
const PROBE = "probe.js";

/** The Worker of {@link createProbe}, as that of a location is bundled. */
async function bundleProbe(): Promise<string> {
  const contents = `import { createProbe } from "./probe.ts";
import f from "./module.wasm";
import rw from "./module.rw.wasm";
import manifest from "./manifest.json";
export class RadicalCache {}
export default createProbe({ manifest, f, rw });
`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: "ts" },
    ...WORKER_OPTIONS,
  });
  return outputFiles[0]!.text;
}

interface Posted {
  readonly ms: number;
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly bytes: Buffer;
}

export interface Timed {
  /** From before the request was sent until all of the answer was there, by the clock of this process. */
  readonly ms: number;
  readonly status: number;
  readonly path: string;
  readonly reason: string;
}

export class Deployment {
  readonly #local: LocalDeployment;
  readonly #app: AppBuild;
  readonly #cores: Cores | null;

  private constructor(local: LocalDeployment, app: AppBuild, cores: Cores | null) {
    this.#local = local;
    this.#app = app;
    this.#cores = cores;
  }

  static async start(cores: Cores | null): Promise<Deployment> {
    const compiler = await startCompiler({ colours: false });
    const { app, report } = await buildApp(await loadProject(PROJECT), compiler, { optimize: true });
    await compiler.close();
    if (app === null) throw new Error(JSON.stringify(report.diagnostics));
    const local = await LocalDeployment.temporary("bench-edge");
    await writeBuild(local.folder, app, { [PROBE]: await bundleProbe() });
    await local.startServer({
      followupTimeoutMs: null,
      onStarted: ({ address }) => registerModule(address, local.keys.administration, app),
      onDied: ({ stderr }) => console.error(`the LVI server died: ${stderr}`),
      onLog: () => undefined,
    });
    return new Deployment(local, app, cores);
  }

  /** Resolves when it serves, with an empty cache and no connection to the primary. */
  location(name: string, roundTripMs: number, on: keyof Cores): Promise<BenchLocation> {
    return this.#start(name, roundTripMs, BUILD_FILES.worker, on);
  }

  /** The same for a probe, where locations are. */
  async probe(name: string, roundTripMs: number): Promise<Probe> {
    const worker = await this.#start(name, roundTripMs, PROBE, "location");
    return new Probe(worker, name, this.#app.manifest.module, this.#local);
  }

  async #start(name: string, roundTripMs: number, worker: string, on: keyof Cores): Promise<BenchLocation> {
    const link = await this.#local.startLink({ roundTripMs });
    const cores = this.#cores?.[on] ?? null;
    const cacheFolder = join(this.#local.folder, `cache-${name}`);
    const { child, urls } = await this.#local.startLocations({
      buildFolder: this.#local.folder,
      edges: [
        {
          name,
          worker,
          locations: [{ name, primaries: [link.address], nearStorageOnly: false }],
          cacheFolder,
          vars: {},
        },
      ],
      logs: "problems",
      ...(cores === null ? {} : { under: ["taskset", "-c", cores] }),
    });
    return new BenchLocation(name, child, new URL(urls[name]!));
  }

  stop(): Promise<void> {
    return this.#local.stop();
  }
}

export class BenchLocation {
  readonly name: string;
  readonly #child: Child;
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(name: string, child: Child, url: URL) {
    this.name = name;
    this.#child = child;
    this.#url = url;
  }

  async call(handler: string, args: unknown): Promise<Timed> {
    const body = Buffer.from(JSON.stringify(args));
    const { ms, status, headers } = await this.post(`/api/${handler}`, body, { "content-type": "application/json" });
    const header = (name: string): string => String(headers[name] ?? "");
    return { ms, status, path: header("x-radical-path"), reason: header("x-radical-reason") };
  }

  /** Over a connection that stays open. */
  post(path: string, body: Buffer, headers: Readonly<Record<string, string>>): Promise<Posted> {
    const { hostname: host, port } = this.#url;
    return new Promise((resolve, reject) => {
      const startedAtMs = performance.now();
      const sent = httpRequest(
        {
          host,
          port,
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
    await this.#child.leave();
  }
}

/** What total is compared with: the parts of it, each by itself. */
export class Probe {
  readonly #worker: BenchLocation;
  readonly #name: string;
  readonly #module: ModuleHash;
  readonly #key: DeploymentKey;
  readonly #server: Address;
  #seen: CommitId | null = null;
  #version: Version = { commitId: NO_COMMIT, hash: null };

  constructor(worker: BenchLocation, name: string, module: ModuleHash, { keys, server }: LocalDeployment) {
    this.#worker = worker;
    this.#name = name;
    this.#module = module;
    this.#key = keys.location;
    this.#server = server.address();
  }

  /** One LVI request for an item that is read and written, through a bare Worker; its followup goes by the short way. */
  async lvi(): Promise<number> {
    const executionId = randomBytes(16).toString("hex") as ExecutionId;
    const unit = unitId("items", this.#name);
    const request = encodeLviRequest({
      executionId,
      module: this.#module,
      handler: "change",
      args: Uint8Array.of(0xa0),
      environment: { timeMs: Date.now(), seed: randomBytes(16), caller: null },
      location: this.#name,
      units: [{ unit, mode: "read-write", version: this.#version }],
      retained: false,
      mustNotWrite: false,
      mayEffect: false,
      lanes: [],
      session: null,
      deadlineMs: 10_000,
      attempt: 1,
      seen: this.#seen,
    });
    const headers = signedHeaders(this.#key, "POST", LVI_PATH, request);
    const { ms, bytes } = await this.#worker.post("/lvi", Buffer.from(request), headers);
    const reply = decodeLviReply(bytes);
    this.#seen = reply.asOf ?? this.#seen;
    if (reply.kind === "refused" && reply.code === "in_doubt") return this.lvi();
    if (reply.kind !== "valid" || reply.commitId === null)
      throw new Error(`the probe was answered ${JSON.stringify(reply)}`);
    const value = Uint8Array.of(0xa0);
    const followup = encodeFollowup({
      executionId,
      commitId: reply.commitId,
      outcome: { kind: "result", value: Uint8Array.of(0) },
      writes: [{ unit, value }],
      effects: [],
    });
    const { host, port } = this.#server;
    const answer = await signedRequest(`http://${host}:${port}`, this.#key, "POST", FOLLOWUP_PATH, followup);
    const result = decodeFollowupReply(new Uint8Array(await answer.arrayBuffer()));
    if (result !== "applied") throw new Error(`the followup of the probe: ${result}`);
    this.#version = entryOf(reply.commitId, value).version;
    return ms;
  }

  /** One run of the handler in a bare Worker. */
  async f(rounds: number): Promise<number> {
    const { ms, status } = await this.#worker.post("/f", Buffer.from(JSON.stringify({ key: "own", rounds })), {});
    if (status !== 200) throw new Error(`f alone: status ${status}`);
    return ms;
  }
}
