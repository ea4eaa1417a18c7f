/**
 * Bundles the Worker of an application that has an entry of its own, `src/worker.ts`: its code and packages around the
 * runtime. The import `radical:worker` becomes the runtime bound to the application's module.
 */
import { stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildFailure, type BuildOptions, type OutputFile, type Plugin, formatMessages } from "esbuild";
import { CommandError, messageOf } from "../command-error.ts";
import { FROM_SOURCE, WORKER_OPTIONS } from "./bundle.ts";
import { build } from "./esbuild.ts";
import { WORKER_MODULE } from "./worker-types.ts";

export interface BundledEntry {
  readonly worker: string;
  /** Folders with sources of it, relative to the project. */
  readonly folders: readonly string[];
}

/** The application's own Worker, or its page, can't be bundled. */
export class EntryError extends CommandError {
  /** Folders with what was read of it, or looked for, relative to the project. */
  readonly folders: readonly string[];

  constructor(
    code: "worker_not_bundled" | "page_not_bundled",
    message: string,
    entry: string,
    folders: readonly string[],
    cause: unknown,
  ) {
    const platforms = code === "worker_not_bundled" ? "Workers or browsers" : "browsers";
    super(code, message, `Correct ${entry} or what it imports. Packages must be made for ${platforms}.`, { cause });
    this.folders = folders;
  }
}

/** From here the runtime is found: this package depends on it. */
const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));

const PARTS = `import f from "./module.wasm";
import rw from "./module.rw.wasm";
import manifest from "./manifest.json";
`;

/** `createRadical` is what the entry imports, and `entry` makes the Worker of its export. */
const BOUND_RUNTIME = `${PARTS}
import { bindRadical, entryOf } from "@radical/runtime";

export const createRadical = bindRadical({ manifest, f, rw });
export const entry = (application) => entryOf(application, { manifest, f, rw });
`;

/** For `radical dev`: the module can be replaced while the Worker runs. */
const REPLACEABLE_RUNTIME = `${PARTS}
import { bindRadical, entryOf } from "@radical/runtime";
import { replaceableRuntime } from "./replaceable.worker${FROM_SOURCE ? ".ts" : ".js"}";

export const { createRadical, entry } = replaceableRuntime({ bindRadical, entryOf }, { manifest, f, rw });
`;

const RUNTIME_MODULE = "radical:runtime";
const CONTENTS = {
  [WORKER_MODULE]: `export { CallError, Refused } from "@radical/runtime"; export { createRadical } from "${RUNTIME_MODULE}";`,
  [RUNTIME_MODULE]: BOUND_RUNTIME,
};

function boundRuntime(isReplaceable: boolean): Plugin {
  const contents: Readonly<Record<string, string>> = isReplaceable
    ? { ...CONTENTS, [RUNTIME_MODULE]: REPLACEABLE_RUNTIME }
    : CONTENTS;
  return {
    name: WORKER_MODULE,
    setup(bundle) {
      bundle.onResolve({ filter: /^radical:(worker|runtime)$/ }, ({ path }) => ({ path, namespace: WORKER_MODULE }));
      bundle.onLoad({ filter: /.*/, namespace: WORKER_MODULE }, ({ path }) => ({
        contents: contents[path]!,
        resolveDir: OWN_FOLDER,
      }));
    },
  };
}

/** Tells each file that is read, and each that a relative import looks for. It takes a quarter of the time of a bundle. */
function tellsFiles(onFile: (path: string) => void): Plugin {
  return {
    name: "radical:files",
    setup(bundle) {
      bundle.onResolve({ filter: /^\.\.?\//, namespace: "file" }, ({ path, resolveDir }) => {
        onFile(join(resolveDir, path));
        return undefined;
      });
      bundle.onLoad({ filter: /.*/, namespace: "file" }, ({ path }) => {
        onFile(path);
        return undefined;
      });
    },
  };
}

/** Null: the project has no such file. Throws an EntryError for one that can't be bundled. */
export async function bundleEntry(
  root: string,
  entry: string,
  { colours, isReplaceable }: { readonly colours: boolean; readonly isReplaceable: boolean },
): Promise<BundledEntry | null> {
  const path = join(root, entry);
  if ((await stat(path).catch(() => null)) === null) return null;
  const imported = JSON.stringify(path);
  const contents = `import * as application from ${imported};
import { entry } from "${RUNTIME_MODULE}";

export * from ${imported};
export { RadicalCache } from "@radical/runtime";
export default entry(application.default);
`;
  const options = {
    ...WORKER_OPTIONS,
    stdin: { contents, sourcefile: `the entry around ${entry}`, resolveDir: OWN_FOLDER, loader: "ts" },
    absWorkingDir: root,
    plugins: [boundRuntime(isReplaceable)],
  } as const;
  const { outputFiles, folders } = await bundled(options, "worker_not_bundled", entry, colours);
  return { worker: outputFiles[0]!.text, folders };
}

export interface Bundled {
  readonly outputFiles: readonly OutputFile[];
  /** Folders with sources of it, relative to the project. */
  readonly folders: readonly string[];
}

/** Throws an EntryError. */
export async function bundled(
  options: Omit<BuildOptions, "plugins"> & { readonly absWorkingDir: string; readonly plugins: readonly Plugin[] },
  code: "worker_not_bundled" | "page_not_bundled",
  entry: string,
  colours: boolean,
): Promise<Bundled> {
  const { absWorkingDir: root } = options;
  try {
    const { outputFiles, metafile } = await build({
      ...options,
      plugins: [...options.plugins],
      write: false,
      metafile: true,
    });
    const inputs = Object.keys(metafile.inputs).filter((input) => !input.startsWith("radical:"));
    const files = inputs.map((input) => join(root, input));
    return { outputFiles, folders: foldersOf(files, root) };
  } catch (error) {
    const errors = (error as Partial<BuildFailure>).errors ?? [];
    const frames = await formatMessages(errors, { kind: "error", color: colours });
    const words = errors.length === 0 ? `${entry}: ${messageOf(error)}` : frames.join("\n").trimEnd();
    // Of a bundle that has failed esbuild names no files: it is made again.
    const files: string[] = [];
    const plugins = [...options.plugins, tellsFiles((file) => files.push(file))];
    await build({ ...options, plugins, write: false }).catch(() => undefined);
    throw new EntryError(code, words, entry, foldersOf(files, root), error);
  }
}

/** Those of the project itself. */
function foldersOf(files: readonly string[], root: string): readonly string[] {
  const folders = files
    .map((file) => dirname(relative(root, file)).replaceAll(sep, "/"))
    .filter((folder) => !folder.startsWith("..") && !folder.split("/").includes("node_modules"));
  return [...new Set(folders)].toSorted();
}
