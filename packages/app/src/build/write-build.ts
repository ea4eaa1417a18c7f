/** Writes a build to the project's output folder. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasBlobs } from "@radical/protocol";
import { CommandError, messageOf } from "../command-error.ts";
import type { Project } from "../config/load-config.ts";
import { blobBindings, bindingsOf } from "./bindings.ts";
import type { AppBuild } from "./build-app.ts";

export interface WrittenFile {
  /** Relative to the project. */
  readonly path: string;
  readonly bytes: number;
}

/** Each file is complete under its name or not there; the manifest comes last. Throws a CommandError if it can't write. */
export async function writeBuild(project: Project, app: AppBuild): Promise<readonly WrittenFile[]> {
  try {
    return await writeFiles(project, app);
  } catch (error) {
    throw new CommandError(
      "output_not_written",
      `The build can't be written to ${project.config.outDir}/: ${messageOf(error)}`,
      "Make it a folder that you may write to, or name another as outDir in radical.config.ts.",
      { cause: error },
    );
  }
}

async function writeFiles({ root, config }: Project, app: AppBuild): Promise<readonly WrittenFile[]> {
  const folder = join(root, config.outDir);
  await mkdir(folder, { recursive: true });
  const files: readonly (readonly [name: string, content: string | Uint8Array])[] = [
    ["module.wasm", app.content.wasm],
    ["module.rw.wasm", app.content.rwWasm],
    ["worker.js", app.worker],
    ["handlers.d.ts", app.types],
    ["client.ts", app.client],
    ["openapi.json", app.openApi],
    [
      "bindings.json",
      jsonText({
        ...bindingsOf(app.manifest.cache, app.assets, folder),
        ...(hasBlobs(app.manifest.records) ? blobBindings(config.blobs.bucket) : {}),
      }),
    ],
    ["manifest.json", jsonText(app.manifest)],
  ];
  const written: WrittenFile[] = [];
  for (const [name, content] of files) {
    const path = join(folder, name);
    await writeFile(`${path}.part`, content);
    await rename(`${path}.part`, path);
    written.push({ path: `${config.outDir}/${name}`, bytes: Buffer.byteLength(content) });
  }
  await writeSources({ root, config }, app);
  return written;
}

/** Relative to the project: where editors and `tsc` find the types of `radical:worker`. */
const WORKER_TYPES_FILE = ".radical/worker.d.ts";
/** Likewise: the client that the import `#radical` of the templates' `package.json` leads to. */
const CLIENT_FILE = ".radical/client.ts";

/** Writes what the project's own sources import, as far as it has changed. Throws what the file system does. */
export async function writeSources({ root }: Project, { workerTypes, client }: AppBuild): Promise<void> {
  await writeSource(join(root, CLIENT_FILE), client);
  if (workerTypes !== null) await writeSource(join(root, WORKER_TYPES_FILE), workerTypes);
}

async function writeSource(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => "")) === text) return;
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.${process.pid}.part`;
  await writeFile(part, text);
  await rename(part, path);
}

function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
