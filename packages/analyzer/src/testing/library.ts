/**
 * For tests: the files that a build needs besides the application's, read from the installed packages.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { SourceFile } from "../diagnostics/diagnostic.ts";
import type { BuildInput } from "../pipeline.ts";

function filesIn(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(folder, path).replaceAll("\\", "/"), text: readFileSync(path, "utf8") }));
}

const sdk = filesIn(join(dirname(fileURLToPath(import.meta.resolve("@radical/sdk/package.json"))), "assembly"));
const stdlib = new Map(
  filesIn(join(dirname(fileURLToPath(import.meta.resolve("assemblyscript/package.json"))), "std/assembly")).map(
    (file) => [file.path, file.text] as const,
  ),
);

/** The input of a build of these files; those in `handlers/` are handler files. */
export function buildInput(files: Readonly<Record<string, string>>): BuildInput {
  const sources = Object.entries(files).map(([path, text]) => ({ path, text }));
  const handlerFiles = sources.map((file) => file.path).filter((path) => path.startsWith("handlers/"));
  return { sources, handlerFiles, sdk, stdlib };
}
