/** Writes a build to the project's output folder. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError, messageOf } from "../command-error.ts";
import type { Project } from "../config/load-config.ts";
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
    ["manifest.json", manifestText(app)],
  ];
  const written: WrittenFile[] = [];
  for (const [name, content] of files) {
    const path = join(folder, name);
    await writeFile(`${path}.part`, content);
    await rename(`${path}.part`, path);
    written.push({ path: `${config.outDir}/${name}`, bytes: Buffer.byteLength(content) });
  }
  return written;
}

function manifestText(app: AppBuild): string {
  return `${JSON.stringify(app.manifest, null, 2)}\n`;
}
