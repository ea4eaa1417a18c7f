/** Writes a new application: a copy of a template under its own name. */
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { appNameOf, problemOfName } from "./app-name.ts";
import { type LocalPackages, overriding, type PackageJson, withLocalPackages } from "./local-packages.ts";
import {
  fieldsFor,
  filesFor,
  inWordsOf,
  isLateNode,
  LEAST_NODE_MAJOR,
  type PackageManager,
  peersFor,
} from "./package-manager.ts";
import { ScaffoldError } from "./scaffold-error.ts";
import { WORKFLOW_FILE, workflowFor } from "./workflow.ts";

export interface Template {
  readonly name: string;
  readonly description: string;
}

export const TEMPLATES: readonly Template[] = [
  {
    name: "social",
    description: "accounts, followers, posts and timelines, with password hashes: what Radical is for",
  },
  { name: "forum", description: "stories, comment trees, votes and karma" },
  { name: "hotel", description: "search on a map, and booking without double booking" },
  { name: "images", description: "an image board: tags, searches over them, favourites and pools" },
  { name: "board", description: "a project board: columns, cards, assignments and activity" },
  { name: "minimal", description: "notes and a counter in one file: a place to start from" },
];

export interface ScaffoldOptions {
  readonly directory: string;
  readonly template: string;
  readonly manager: PackageManager;
  /** Of the package manager; null: not known. */
  readonly managerVersion: string | null;
  /** The version of the developer's Node, without the `v`. */
  readonly nodeVersion: string;
  readonly localPackages: LocalPackages | null;
  /** Aborted, it ends the work. */
  readonly signal: AbortSignal;
  /** Folder of the templates. Default: those in this package. */
  readonly templates?: string;
}

/** Names that a folder may hold and still count as empty. */
const IGNORED = new Set([".git", ".DS_Store"]);

/** Why an application can't be made in `directory`, or null. */
export async function problemOfDirectory(directory: string): Promise<string | null> {
  return (await problemOfContent(directory)) ?? problemOfName(appNameOf(directory));
}

/** The folder comes before its name: another name would not help. */
async function problemOfContent(directory: string): Promise<string | null> {
  try {
    // Resolved: an empty path is the current folder, and none that `readdir` knows.
    const entries = (await readdir(resolve(directory))).filter((name) => !IGNORED.has(name));
    return entries.length === 0
      ? null
      : `${resolve(directory)} is not empty (it holds ${entries.slice(0, 3).join(", ")}${entries.length > 3 ? ", …" : ""})`;
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case "ENOENT":
        return null;
      case "ENOTDIR":
        return `${resolve(directory)} is a file`;
      default:
        throw error;
    }
  }
}

export interface Scaffolded {
  /** Absolute. */
  readonly path: string;
  /** Removes all that was made, also what was added to the application since then. */
  readonly undo: () => Promise<void>;
}

/** Throws a ScaffoldError, or the signal's reason, with nothing left behind. */
export async function scaffold(options: ScaffoldOptions): Promise<Scaffolded> {
  const { directory, template } = options;
  if (!TEMPLATES.some(({ name }) => name === template)) {
    throw new ScaffoldError(
      `The template "${template}" does not exist.`,
      `Name one of these: ${TEMPLATES.map(({ name }) => name).join(", ")}.`,
    );
  }
  const problem = await problemOfDirectory(directory);
  if (problem !== null) throw new ScaffoldError(problem, "Choose another folder.");

  const path = resolve(directory);
  const firstMade = await mkdir(path, { recursive: true });
  const kept = new Set(await readdir(path));
  const undo = async (): Promise<void> => {
    const added = firstMade === undefined ? (await readdir(path)).filter((name) => !kept.has(name)) : [];
    const all = firstMade === undefined ? added.map((name) => join(path, name)) : [firstMade];
    for (const each of all) await rm(each, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await writeApplication(path, options);
  } catch (error) {
    await undo();
    throw error;
  }
  return { path, undo };
}

async function writeApplication(
  path: string,
  { directory, template, manager, managerVersion, nodeVersion, localPackages, signal, templates }: ScaffoldOptions,
): Promise<void> {
  const name = appNameOf(directory);
  const source = join(templates ?? fileURLToPath(new URL("../templates", import.meta.url)), template);
  await cp(source, path, { recursive: true });
  signal.throwIfAborted();
  // Packages can't hold a .gitignore.
  await rename(join(path, "gitignore"), join(path, ".gitignore"));

  const original = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as PackageJson;
  const { node, ...others } = { ...original.devDependencies, ...peersFor(manager) };
  // The package has the headers of C too, 190 MB in all.
  const bringsNode = node !== undefined && !isLateNode(nodeVersion);
  const named = {
    ...original,
    name,
    ...(bringsNode ? {} : { engines: { node: `>=${LEAST_NODE_MAJOR}` } }),
    devDependencies: bringsNode ? { ...others, node } : others,
  };
  const manifest = localPackages === null ? named : withLocalPackages(named, localPackages);
  const overrides = localPackages === null ? null : overriding(manager, manifest, localPackages);
  const fields = { ...fieldsFor(manager, managerVersion), ...overrides?.fields };
  const files: Record<string, string> = {
    ...filesFor(manager),
    [WORKFLOW_FILE]: workflowFor(manager, managerVersion),
    "package.json": `${JSON.stringify({ ...manifest, ...fields }, null, 2)}\n`,
  };
  if (overrides !== null && overrides.workspace.length > 0)
    files["pnpm-workspace.yaml"] = `${files["pnpm-workspace.yaml"] ?? ""}${overrides.workspace.join("\n")}\n`;
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  await replaceIn(join(path, "radical.config.ts"), `name: "${template}"`, `name: "${name}"`);
  await replaceIn(join(path, "README.md"), `# ${template}\n`, `# ${name}\n`);
  for (const file of ["README.md", "AGENTS.md"]) await inWordsOfFile(manager, join(path, file));
  signal.throwIfAborted();
}

async function inWordsOfFile(manager: PackageManager, file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text !== null) await writeFile(file, inWordsOf(manager, text));
}

async function replaceIn(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  if (!text.includes(from)) throw new Error(`the template's ${file} lacks ${JSON.stringify(from)}`);
  await writeFile(
    file,
    text.replace(from, () => to),
  );
}
