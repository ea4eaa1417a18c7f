/**
 * Which files of an application are served and deployed as they are. `radical dev` and `radical deploy` hand on exactly
 * these, in a folder of links. workerd and wrangler would take all files of the application's own folder.
 */
import type { Dirent } from "node:fs";
import { mkdir, readdir, readlink, realpath, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

export interface StaticFile {
  /** Relative to the folder, with slashes. */
  readonly name: string;
  /** Absolute, without links. */
  readonly path: string;
}

export interface LeftOutFile {
  readonly name: string;
  /** Why it is left out, as a sentence without its end. */
  readonly reason: string;
}

export interface StaticFiles {
  /** By their names. */
  readonly files: readonly StaticFile[];
  /** Names of the folders below the folder. */
  readonly folders: readonly string[];
  readonly leftOut: readonly LeftOutFile[];
}

/** Its patterns name more files that wrangler leaves out. wrangler and miniflare read it, and it is never served. */
export const IGNORE_FILE = ".assetsignore";
/** Names with a dot that are public all the same (RFC 8615). */
const WELL_KNOWN = ".well-known";

/** Null: there is no such folder. */
export async function findStaticFiles(folder: string): Promise<StaticFiles | null> {
  const root = await realpath(folder).catch(() => null);
  if (root === null || !(await stat(root)).isDirectory()) return null;
  const files: StaticFile[] = [];
  const folders: string[] = [];
  const leftOut: LeftOutFile[] = [];
  const take = async (entry: Dirent, name: string): Promise<void> => {
    const path = join(root, name);
    if (isHidden(name)) leftOut.push({ name, reason: "its name begins with a dot" });
    else if (entry.isFile()) files.push({ name, path });
    else if (entry.isDirectory()) {
      folders.push(name);
      await look(name);
    } else if (entry.isSymbolicLink()) {
      const target = await targetOf(root, path);
      if (typeof target === "string") files.push({ name, path: target });
      else leftOut.push({ name, ...target });
    } else leftOut.push({ name, reason: "it is not a file" });
  };
  const look = async (below: string): Promise<void> => {
    // It may be gone by now.
    const entries = await readdir(join(root, below), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) await take(entry, below === "" ? entry.name : `${below}/${entry.name}`);
  };
  await look("");
  const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);
  return { files: files.toSorted(byName), folders: folders.toSorted(), leftOut: leftOut.toSorted(byName) };
}

async function targetOf(root: string, link: string): Promise<string | Pick<LeftOutFile, "reason">> {
  const target = await realpath(link).catch(() => null);
  if (target === null) return { reason: "it is a link that leads nowhere" };
  const name = relative(root, target).replaceAll(sep, "/");
  if (name === ".." || name.startsWith("../")) return { reason: "it is a link that leads out of the folder" };
  if (isHidden(name)) return { reason: "it is a link to a file whose name begins with a dot" };
  if ((await stat(target)).isFile()) return target;
  return { reason: "it is a link to something that is not a file" };
}

function isHidden(name: string): boolean {
  return (
    name !== IGNORE_FILE && name.split("/").some((part, at) => part.startsWith(".") && (at > 0 || part !== WELL_KNOWN))
  );
}

/** Has a folder hold links to these files and nothing else. A link that stays the same is never away. */
export async function linkStaticFiles(files: readonly StaticFile[], folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const kept = new Set<string>();
  const wanted = new Map(files.map(({ name, path }) => [join(folder, name), path]));
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() ? !wanted.has(path) : await isLinkTo(path, wanted.get(path))) kept.add(path);
    else await rm(path, { recursive: true, force: true });
  }
  for (const [path, target] of wanted) {
    if (kept.has(path)) continue;
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  }
}

async function isLinkTo(path: string, target: string | undefined): Promise<boolean> {
  // It may have gone with its folder, or be another kind of file.
  return target !== undefined && (await readlink(path).catch(() => null)) === target;
}
