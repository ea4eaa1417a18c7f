/** Writes a new application: a copy of a template under its own name. */
import { cp, mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { appNameOf, problemOfName } from "./app-name.ts";
import { type LocalPackages, type PackageJson, withLocalPackages } from "./local-packages.ts";
import { ScaffoldError } from "./scaffold-error.ts";

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
  readonly localPackages: LocalPackages | null;
  /** Folder of the templates. Default: those in this package. */
  readonly templates?: string;
}

/** What a folder may hold and still count as empty. */
const IGNORED = new Set([".git", ".DS_Store"]);

/** Why an application can't be made in `directory`, or null. */
export async function problemOfDirectory(directory: string): Promise<string | null> {
  const problem = problemOfName(appNameOf(directory));
  if (problem !== null) return problem;
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

/** Gives the absolute path of the new application. Throws a ScaffoldError, with nothing written. */
export async function scaffold(options: ScaffoldOptions): Promise<string> {
  const { directory, template, localPackages } = options;
  if (!TEMPLATES.some(({ name }) => name === template)) {
    throw new ScaffoldError(
      `there is no template "${template}"`,
      `the templates are: ${TEMPLATES.map(({ name }) => name).join(", ")}`,
    );
  }
  const problem = await problemOfDirectory(directory);
  if (problem !== null) throw new ScaffoldError(problem, "choose another folder");

  const name = appNameOf(directory);
  const target = resolve(directory);
  const source = join(options.templates ?? fileURLToPath(new URL("../templates", import.meta.url)), template);
  await mkdir(target, { recursive: true });
  await cp(source, target, { recursive: true });
  // Packages can't hold a .gitignore.
  await rename(join(target, "gitignore"), join(target, ".gitignore"));

  const manifest = { ...(JSON.parse(await readFile(join(target, "package.json"), "utf8")) as PackageJson), name };
  const written = localPackages === null ? manifest : withLocalPackages(manifest, localPackages);
  await writeFile(join(target, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
  await replaceIn(join(target, "radical.config.ts"), `name: "${template}"`, `name: "${name}"`);
  await replaceIn(join(target, "README.md"), `# ${template}\n`, `# ${name}\n`);
  return target;
}

async function replaceIn(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  if (!text.includes(from)) throw new Error(`the template's ${file} lacks ${JSON.stringify(from)}`);
  await writeFile(
    file,
    text.replace(from, () => to),
  );
}
