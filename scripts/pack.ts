/**
 * Packs every public package as it would be published: `pnpm run pack:all [folder]`, default `packed/`. The packages
 * must have been built (`pnpm run build`). It prints one path for each tarball.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Paths of the tarballs in `folder`, which is emptied first. */
export async function packAll(folder: string): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(join(ROOT, "packages"))) {
    const path = join(ROOT, "packages", name);
    const text = await readFile(join(path, "package.json"), "utf8").catch(() => null);
    if (text === null) continue;
    const manifest = JSON.parse(text) as { readonly private?: boolean; readonly files?: readonly string[] };
    if (manifest.private === true) continue;
    // The SDK is source only; a package that ships what is built must have been built.
    if (manifest.files?.includes("dist") === true) await stat(join(path, "dist"));
    await promisify(execFile)("pnpm", ["pack", "--pack-destination", folder], {
      cwd: path,
      shell: process.platform === "win32",
    });
  }
  return (await readdir(folder)).toSorted().map((file) => join(folder, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const path of await packAll(resolve(process.argv[2] ?? join(ROOT, "packed")))) console.log(path);
}
