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

/** Throws a CommandError if there are no handler files. */
export async function discoverSources(root: string, handlers: string): Promise<AppSources> {
  const entries = await readdir(join(root, handlers), { withFileTypes: true }).catch(() => null);
  const handlerFiles = (entries ?? [])
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !/\.(d|test)\.ts$/.test(entry.name))
    .map((entry) => posix.join(handlers, entry.name))
    .toSorted();
  if (handlerFiles.length === 0) {
    throw new CommandError(
      "no_handlers",
      entries === null
        ? `there is no folder ${handlers}/ in ${root}`
        : `there are no .ts files in ${join(root, handlers)}`,
      `export a function from a file like ${handlers}/notes.ts, or name another folder as "handlers" in radical.config.ts`,
      { exitCode: EXIT_USAGE },
    );
  }

  const texts = new Map<string, string>();
  const waiting = [...handlerFiles];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path)) continue;
    const text = await readFile(join(root, path), "utf8");
    texts.set(path, text);
    for (const imported of relativeImports(text)) {
      const found = await resolveImport(root, posix.join(posix.dirname(path), imported));
      // A file that isn't there is named by the compiler, at the import.
      if (found !== null && !texts.has(found)) waiting.push(found);
    }
  }
  const sources = [...texts].map(([path, text]) => ({ path, text })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const folders = [...new Set([handlers, ...sources.map(({ path }) => posix.dirname(path))])].toSorted();
  return { handlerFiles, sources, folders };
}

/** What a file imports or re-exports by a relative path. Words in comments may be among it: they find no file. */
function relativeImports(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:from|import)\s*["'](\.{1,2}\/[^"']+)["']/g)].map((match) => match[1] ?? "");
}

/** The path of the file that an import means: extensions are optional, a folder means its index. */
async function resolveImport(root: string, path: string): Promise<string | null> {
  // Nothing outside the project is read.
  if (path.startsWith("..")) return null;
  const base = path.replace(/\.ts$/, "");
  for (const candidate of [`${base}.ts`, `${base}/index.ts`]) {
    const readable = await readFile(join(root, candidate)).then(
      () => true,
      () => false,
    );
    if (readable) return candidate;
  }
  return null;
}
