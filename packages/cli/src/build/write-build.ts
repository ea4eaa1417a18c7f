/** Writes a build to the project's output folder. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CommandError, messageOf } from "../command-error.ts";
import type { Project } from "../config/load-config.ts";
import { bindingsOf } from "./bindings.ts";
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
      `the build can't be written to ${project.config.outDir}/: ${messageOf(error)}`,
      "make it a folder that you may write to, or name another as outDir in radical.config.ts",
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
    ["bindings.json", jsonText(bindingsOf(app.manifest.cache, app.assets, folder))],
    ["manifest.json", jsonText(app.manifest)],
  ];
  const written: WrittenFile[] = [];
  for (const [name, content] of files) {
    const path = join(folder, name);
    await writeFile(`${path}.part`, content);
    await rename(`${path}.part`, path);
    written.push({ path: `${config.outDir}/${name}`, bytes: Buffer.byteLength(content) });
  }
  await writeWorkerTypes({ root, config }, app);
  return written;
}

/** Relative to the project: where editors and `tsc` find the types of `radical:worker`. */
const WORKER_TYPES_FILE = ".radical/worker.d.ts";

/** Writes the types for the application's own Worker, if it has one and they have changed. Throws what the file system does. */
export async function writeWorkerTypes({ root }: Project, { workerTypes }: AppBuild): Promise<void> {
  if (workerTypes === null) return;
  const path = join(root, WORKER_TYPES_FILE);
  if ((await readFile(path, "utf8").catch(() => "")) === workerTypes) return;
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.${process.pid}.part`;
  await writeFile(part, workerTypes);
  await rename(part, path);
}

function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
