/** The storage of a deployment, its LVI server as a process, and the command `radical data` for it. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyRing, openStorage, parseStorageAddress } from "@radical/lvi-server";
import { CREDENTIALS, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { ADMIN_ID, ADMIN_PRIVATE_HALF, KEYS_VARIABLE } from "@radical/lvi-server/e2e/test-client";
import { type ServerProcess, startProcess } from "@radical/lvi-server/e2e/test-process";
import { commitId, type IndexList, INDEXES_PATH, type UnitId } from "@radical/protocol";
import { type AppBuild, buildApp, startCompiler, loadProject } from "@radical/app";
import type { DataServer } from "../src/data/data-server.ts";
import { type AdministrationKey, privateKeyText, signedRequest, untilIndexesBuilt } from "@radical/admin";
import { putModule } from "@radical/local";
import { type Finished, radical, spawnRadical } from "./radical-process.ts";

const KEY: AdministrationKey = { id: ADMIN_ID, privateHalf: ADMIN_PRIVATE_HALF };

export class DataPlace {
  readonly #address: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #close: () => Promise<void>;
  #server: ServerProcess | null = null;

  private constructor(address: string, environment: NodeJS.ProcessEnv, close: () => Promise<void>) {
    this.#address = address;
    this.#environment = { RADICAL_KEYS: KEYS_VARIABLE, RADICAL_ADMIN_KEYS: privateKeyText(KEY), ...environment };
    this.#close = close;
  }

  static async open(kind: "sqlite" | "dynamodb"): Promise<DataPlace> {
    if (kind === "dynamodb") {
      const local = await startDynamoDbLocal();
      // In this process too.
      Object.assign(process.env, CREDENTIALS);
      const address = `dynamodb:${randomBytes(8).toString("hex")}?endpoint=${local.endpoint}`;
      return new DataPlace(address, CREDENTIALS, () => local.stop());
    }
    const folder = await mkdtemp(join(tmpdir(), "radical-data-"));
    return new DataPlace(`sqlite:${join(folder, "data.sqlite")}`, {}, () => rm(folder, { recursive: true }));
  }

  async close(): Promise<void> {
    if (this.#server !== null) await this.stop();
    await this.#close();
  }

  async start(): Promise<DataServer> {
    this.#server = await startProcess(["--storage", this.#address, "--workers", "1"], this.#environment);
    return this.server;
  }

  get server(): DataServer {
    if (this.#server === null) throw new Error("the server does not run");
    return { url: this.#server.url, key: KEY };
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#server?.kill(signal);
    this.#server = null;
  }

  /** Registers a build, and waits for its indexes. */
  async register({ manifest, content }: AppBuild): Promise<void> {
    const { url, key } = this.server;
    await putModule(url, key, manifest.module, content);
    await untilIndexesBuilt({
      indexes: content.indexes,
      ask: async () => {
        const answer = await signedRequest(url, key, "GET", INDEXES_PATH, new Uint8Array());
        return ((await answer.json()) as IndexList).indexes;
      },
    });
  }

  /** Stores values past the server, which does not run: so nothing keeps indexes. */
  async store(items: readonly { readonly unit: UnitId; readonly value: Uint8Array | null }[]): Promise<void> {
    const address = parseStorageAddress(this.#address);
    if (typeof address === "string") throw new Error(address);
    const hasher = new KeyRing({ locations: new Map([["test", randomBytes(32)]]), administration: new Map() })
      .callHashes;
    const storage = await openStorage(address, { retentionMs: 60_000, hasher });
    const leadership = await storage.acquireLeadership(await storage.readLeadership(), 60_000, 0);
    if (leadership === null) throw new Error("a server leads the storage");
    const { epoch } = leadership;
    await storage.recover(epoch);
    const writes = items.map((item, at) => ({ ...item, commitId: commitId(epoch, at + 1) }));
    const { kind } = await storage.commit(epoch, { records: [], items: writes });
    if (kind !== "applied") throw new Error(`the storage did not take the items: ${kind}`);
    await storage.renewLeadership(epoch, 0);
    await storage.close();
  }

  #args(args: readonly string[]): readonly string[] {
    const server = this.#server === null ? [] : ["--server", this.#server.url];
    return ["data", ...args, "--storage", this.#address, ...server];
  }

  data(project: string, args: readonly string[], input?: string): Promise<Finished> {
    return radical(this.#args(args), {
      cwd: project,
      env: this.#environment,
      ...(input === undefined ? {} : { input }),
    });
  }

  spawn(project: string, args: readonly string[]): ReturnType<typeof spawnRadical> {
    return spawnRadical(this.#args(args), { cwd: project, env: this.#environment });
  }
}

/** The build of a project. */
export async function built(project: string): Promise<AppBuild> {
  const compiler = await startCompiler({ colours: false });
  try {
    const { app, report } = await buildApp(await loadProject(project), compiler, { optimize: false });
    if (app === null) throw new Error(JSON.stringify(report.diagnostics));
    return app;
  } finally {
    await compiler.close();
  }
}
