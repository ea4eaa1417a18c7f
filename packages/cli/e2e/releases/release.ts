/** Releases for tests: a server's program, and the files of a location that was built for it. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type AppBuild, buildApp, loadProject, startCompiler } from "@radical/app";
import type { DeploymentKey } from "@radical/admin";
import { bundleRouter, type LviServerProcess, startEdge } from "@radical/local";
import {
  type CacheChoice,
  decodeModuleContent,
  DEFAULT_CACHE,
  type Manifest,
  type ModuleContent,
} from "@radical/protocol";
import { createFaultLink, type FaultLink } from "../fault-link.ts";

const BANK = fileURLToPath(new URL("../fixtures/bank", import.meta.url));

/** A server's program, and the files of a location that was built for it. */
export interface Release {
  /** Null: this release. */
  readonly program: string | null;
  readonly worker: string;
  readonly manifest: Manifest;
  readonly content: ModuleContent;
}

/** One that is kept, unpacked into a folder in this one. */
export async function unpacked(name: string, folder: string): Promise<Release> {
  const into = await mkdtemp(path.join(folder, `${name}-`));
  await promisify(execFile)("tar", ["-xzf", path.join(import.meta.dirname, `${name}.tgz`), "-C", into]);
  return {
    program: path.join(into, "server/main.js"),
    worker: await readFile(path.join(into, "location/worker.js"), "utf8"),
    manifest: JSON.parse(await readFile(path.join(into, "location/manifest.json"), "utf8")) as Manifest,
    content: decodeModuleContent(new Uint8Array(await readFile(path.join(into, "module.cbor")))),
  };
}

function releaseOf({ worker, manifest, content }: AppBuild): Release {
  return { program: null, worker, manifest, content };
}

/** This release, from its sources. */
export async function presentRelease(): Promise<Release> {
  const compiler = await startCompiler({ colours: false });
  const { app } = await buildApp(await loadProject(BANK), compiler, { optimize: false });
  await compiler.close();
  return releaseOf(app!);
}

export interface Answer {
  readonly status: number;
  readonly path: string | null;
  readonly reason: string | null;
  readonly result?: unknown;
  readonly error?: { readonly code: string };
}

export interface Locations {
  readonly close: () => Promise<void>;
  readonly faults: FaultLink;
  readonly post: (at: string, handler: string, args: object, key?: string) => Promise<Answer>;
  readonly get: (at: string, handler: string, args: Readonly<Record<string, string>>) => Promise<Answer>;
}

/** Two locations that run the Worker of one release on the module of another. `leader`: where the server is that leads now. */
export async function startLocations(
  { folder, key }: { readonly folder: string; readonly key: DeploymentKey },
  worker: Release,
  module: Release,
  leader: LviServerProcess["address"],
): Promise<Locations> {
  const faults = createFaultLink();
  const names = ["here", "there"];
  const links = await Promise.all(names.map((name) => faults.link({ name, roundTripMs: 0 }, leader)));
  const edge = await startEdge(
    {
      locations: names.map((name, index) => ({ name, primaries: [links[index]!.address], nearStorageOnly: false })),
      // Longer than this machine may stop for.
      vars: { RADICAL_ATTEMPT_MS: "15000" },
      key,
      routerWorker: await bundleRouter(),
      storageFolder: await mkdtemp(path.join(folder, "caches-")),
      onLog: () => {},
    },
    {
      worker: worker.worker,
      wasm: module.content.wasm,
      rwWasm: module.content.rwWasm,
      manifest: JSON.stringify(readingManifest(module.manifest)),
      cache: module.manifest.cache.kind,
      assets: null,
    },
  );
  const answerOf = async (response: Response): Promise<Answer> => ({
    status: response.status,
    path: response.headers.get("x-radical-path"),
    reason: response.headers.get("x-radical-reason"),
    ...((await response.json()) as Partial<Answer>),
  });
  return {
    close: async () => {
      await edge.close();
      for (const link of links) await link.close();
    },
    faults,
    post: async (at, handler, args, repeated) => {
      const keyed: Record<string, string> = repeated === undefined ? {} : { "idempotency-key": repeated };
      const headers = { "content-type": "application/json", "x-radical-location": at, ...keyed };
      const body = JSON.stringify(args);
      return answerOf(await fetch(`${edge.url}/api/${handler}`, { method: "POST", body, headers }));
    },
    get: async (at, handler, args) => {
      const url = `${edge.url}/api/${handler}?${new URLSearchParams(args)}`;
      return answerOf(await fetch(url, { headers: { "x-radical-location": at } }));
    },
  };
}

/**
 * A manifest that calls `increment` read-only, which a GET is not to be misled by. The Worker's own release would have written it, so
 * it says what the release of the module did not know.
 */
function readingManifest(manifest: Manifest): Manifest {
  const increment = { ...manifest.handlers["increment"]!, readOnly: true };
  const kept: Partial<CacheChoice> = manifest.cache;
  const cache = { ...manifest.cache, maxAgeHours: kept.maxAgeHours ?? DEFAULT_CACHE.maxAgeHours };
  return { ...manifest, cache, handlers: { ...manifest.handlers, increment } };
}
