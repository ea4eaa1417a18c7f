/**
 * The files that wrangler uploads, in `.radical/deploy/<environment>/`, and the file by which every wrangler command in the
 * project finds them: so plain `wrangler deploy` uploads the same.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import {
  type AppBuild,
  type Assets,
  linkStaticFiles,
  type StaticFile,
  type Target,
  type WranglerConfig,
} from "@radical/app";
import { WORKER_FILE } from "./wrangler-config.ts";

const CONFIG_FILE = "wrangler.json";

/** Absolute. */
export function deployFolder(project: string, { environment }: Target): string {
  return join(project, ".radical", "deploy", environment);
}

/** The static files as wrangler finds them: their links lie beside the Worker's files. */
export function deployedAssets(folder: string, { assets }: AppBuild): Assets | null {
  return assets === null ? null : { ...assets, folder: join(folder, "static") };
}

/** Path of the configuration. */
export async function writeWorkerFiles(folder: string, app: AppBuild, config: WranglerConfig): Promise<string> {
  await mkdir(folder, { recursive: true });
  const files = {
    [WORKER_FILE]: app.worker,
    "module.wasm": app.content.wasm,
    "module.rw.wasm": app.content.rwWasm,
    "manifest.json": `${JSON.stringify(app.manifest)}\n`,
    [CONFIG_FILE]: `${JSON.stringify(config, null, 2)}\n`,
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  const assets = deployedAssets(folder, app);
  if (assets !== null) await linkStaticFiles(assets.files, assets.folder);
  return join(folder, CONFIG_FILE);
}

/** Has wrangler find the configuration when it is started in the project: its official hand-over between tools. */
export async function writeRedirect(project: string, config: string): Promise<void> {
  const folder = join(project, ".wrangler", "deploy");
  await mkdir(folder, { recursive: true });
  const configPath = relative(folder, config).replaceAll(sep, "/");
  await writeFile(join(folder, "config.json"), `${JSON.stringify({ configPath })}\n`);
}

/** Changes if anything changes that is uploaded. */
export async function digestOf(
  app: AppBuild,
  config: WranglerConfig,
  others: readonly (string | null)[],
): Promise<string> {
  const assets = app.assets === null ? [] : await fileDigests(app.assets.files);
  return sha256(
    JSON.stringify([sha256(app.worker), app.manifest.module, JSON.stringify(app.manifest), config, assets, others]),
  );
}

async function fileDigests(
  files: readonly StaticFile[],
): Promise<readonly (readonly [name: string, digest: string])[]> {
  return Promise.all(files.map(async ({ name, path }) => [name, sha256(await readFile(path))] as const));
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
