/**
 * Finds what is compiled: the handler files, directly under the handlers folder, and every file that they import by
 * a relative path, directly or not.
 */
import { readFile, readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import type { SourceFile } from "@radical/analyzer";
import { CommandError, EXIT_USAGE } from "../command-error.ts";

export interface AppSources {
  /** Relative to the project, `/` separated, sorted. */
  readonly handlerFiles: readonly string[];
  readonly sources: readonly SourceFile[];
  /** Folders with sources, relative to the project: what `radical dev` watches. */
  readonly folders: readonly string[];
}

/** The files of a project, by absolute path: an editor lays what it has not saved yet over those of the disk. */
export interface ProjectFiles {
  /** The names of the files directly in a folder; null: there is no such folder. */
  list(folder: string): Promise<readonly string[] | null>;
  /** Null: there is no such file. */
  read(path: string): Promise<string | null>;
}

export const FILES_ON_DISK: ProjectFiles = {
  list: async (folder) => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => null);
    return entries?.filter((entry) => entry.isFile()).map(({ name }) => name) ?? null;
  },
  read: async (path) => {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      if (["ENOENT", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
      throw error;
    }
  },
};

/** Throws a CommandError if there are no handler files. */
export async function discoverSources(
  root: string,
  handlers: string,
  files: ProjectFiles = FILES_ON_DISK,
): Promise<AppSources> {
  const names = await files.list(join(root, handlers));
  const handlerFiles = (names ?? [])
    .filter((name) => name.endsWith(".ts") && !/\.(d|test)\.ts$/.test(name))
    .map((name) => posix.join(handlers, name))
    .toSorted();
  if (handlerFiles.length === 0) {
    throw new CommandError(
      "no_handlers",
      names === null
        ? `The folder ${root} has no folder ${handlers}/.`
        : `The folder ${join(root, handlers)} has no .ts files.`,
      `Export a function from a file like ${handlers}/notes.ts, or name another folder as "handlers" in radical.config.ts.`,
      { exitCode: EXIT_USAGE },
    );
  }

  const texts = new Map<string, string>();
  const waiting = [...handlerFiles];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path)) continue;
    // A file that isn't there is named by the compiler, at the import.
    const text = await files.read(join(root, path));
    if (text === null) continue;
    texts.set(path, text);
    for (const imported of relativeImports(text)) {
      const found = await resolveImport(root, posix.join(posix.dirname(path), imported), files);
      if (found !== null && !texts.has(found)) waiting.push(found);
    }
  }
  const sources = [...texts].map(([path, text]) => ({ path, text })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const folders = [...new Set([handlers, ...sources.map(({ path }) => posix.dirname(path))])].toSorted();
  return { handlerFiles, sources, folders };
}

/** The relative paths that a file imports or re-exports. Words in comments may be among them: they find no file. */
function relativeImports(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:from|import)\s*["'](\.{1,2}\/[^"']+)["']/g)].map((match) => match[1] ?? "");
}

/** The path of the file that an import means: extensions are optional, a folder means its index. */
async function resolveImport(root: string, path: string, files: ProjectFiles): Promise<string | null> {
  // Nothing outside the project is read.
  if (path.startsWith("..")) return null;
  const base = path.replace(/\.ts$/, "");
  for (const candidate of [`${base}.ts`, `${base}/index.ts`]) {
    if ((await files.read(join(root, candidate))) !== null) return candidate;
  }
  return null;
}
