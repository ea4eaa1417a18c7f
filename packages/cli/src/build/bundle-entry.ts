/**
 * Bundles the Worker of an application that has an entry of its own, `src/worker.ts`: its code and packages around the
 * runtime. The import `radical:worker` becomes the runtime bound to the application's module.
 */
import { stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildFailure, type Plugin, build, formatMessages } from "esbuild";
import { CommandError, messageOf } from "../command-error.ts";
import { WORKER_OPTIONS } from "./bundle.ts";
import { WORKER_MODULE } from "./worker-types.ts";

export interface BundledEntry {
  readonly worker: string;
  /** Folders with sources of it, relative to the project. */
  readonly folders: readonly string[];
}

/** From here the runtime is found: this package depends on it. */
const OWN_FOLDER = dirname(fileURLToPath(import.meta.url));

const BOUND_RUNTIME = `import f from "./module.wasm";
import rw from "./module.rw.wasm";
import manifest from "./manifest.json";
import { bindRadical } from "@radical/runtime";

export { CallError } from "@radical/runtime";
export const createRadical = bindRadical({ manifest, f, rw });
`;

const boundRuntime: Plugin = {
  name: WORKER_MODULE,
  setup(bundle) {
    bundle.onResolve({ filter: /^radical:worker$/ }, ({ path }) => ({ path, namespace: WORKER_MODULE }));
    bundle.onLoad({ filter: /.*/, namespace: WORKER_MODULE }, () => ({
      contents: BOUND_RUNTIME,
      resolveDir: OWN_FOLDER,
    }));
  },
};

/** Null: the project has no such file. Throws a CommandError for one that can't be bundled. */
export async function bundleEntry(root: string, entry: string, colours: boolean): Promise<BundledEntry | null> {
  const path = join(root, entry);
  if ((await stat(path).catch(() => null)) === null) return null;
  const imported = JSON.stringify(path);
  const contents = `import * as application from ${imported};
import { RadicalCache, entryOf } from "@radical/runtime";
import manifest from "./manifest.json";

export * from ${imported};
export { RadicalCache };
export default entryOf(application.default, manifest);
`;
  try {
    const { outputFiles, metafile } = await build({
      ...WORKER_OPTIONS,
      stdin: { contents, sourcefile: `the entry around ${entry}`, resolveDir: OWN_FOLDER, loader: "ts" },
      absWorkingDir: root,
      metafile: true,
      plugins: [boundRuntime],
    });
    const [output] = outputFiles;
    if (output === undefined) throw new Error("esbuild gave no output");
    const folders = Object.keys(metafile.inputs)
      .filter((input) => !input.startsWith(`${WORKER_MODULE}:`))
      .map((input) => dirname(relative(root, join(root, input))).replaceAll(sep, "/"))
      .filter((folder) => !folder.startsWith("..") && !folder.split("/").includes("node_modules"));
    return { worker: output.text, folders: [...new Set(folders)].toSorted() };
  } catch (error) {
    const errors = (error as Partial<BuildFailure>).errors ?? [];
    const frames = await formatMessages(errors, { kind: "error", color: colours });
    throw new CommandError(
      "worker_not_bundled",
      errors.length === 0 ? `${entry}: ${messageOf(error)}` : frames.join("\n").trimEnd(),
      `correct ${entry} or what it imports; packages must be made for Workers or browsers`,
      { cause: error },
    );
  }
}
