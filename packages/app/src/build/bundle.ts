/** Bundles Workers with esbuild: one file, for the platform, from this package's own dependencies. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions } from "esbuild";
import { build } from "./esbuild.ts";

/** In a checkout the packages run from their sources; published, from what was compiled. */
export const FROM_SOURCE = import.meta.url.endsWith(".ts");

/** Files that stay imports of a bundle: they lie beside it. */
const BESIDE = ["./module.wasm", "./module.rw.wasm", "./manifest.json"];

/** How a Worker is bundled. */
export const WORKER_OPTIONS = {
  bundle: true,
  write: false,
  format: "esm",
  platform: "neutral",
  target: "es2024",
  mainFields: ["module", "main"],
  conditions: [...(FROM_SOURCE ? ["source"] : []), "workerd", "worker", "import"],
  external: ["cloudflare:*", ...BESIDE],
  legalComments: "inline",
  logLevel: "silent",
} as const satisfies BuildOptions;

interface BundleInput {
  readonly contents: string;
  /** For messages and relative imports. */
  readonly path: string;
}

async function bundleWorker(input: BundleInput): Promise<string> {
  const result = await build({
    stdin: { contents: input.contents, sourcefile: input.path, resolveDir: dirname(input.path), loader: "ts" },
    ...WORKER_OPTIONS,
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error("esbuild gave no output");
  return output.text;
}

/** Bundles a Worker that is a module of Radical's own. `module`: without its ending. */
export async function bundleOwnWorker(module: URL): Promise<string> {
  const path = pathOf(module);
  return bundleWorker({ contents: await readFile(path, "utf8"), path });
}

let appWorker: Promise<string> | null = null;
let devWorker: Promise<string> | null = null;

/** The Worker of an application: a location's runtime around its module. It is the same for all. */
export function bundleAppWorker(): Promise<string> {
  return (appWorker ??= bundleEntry("", "createWorker({ manifest, f, rw })"));
}

/** The Worker for `radical dev`: its module can be replaced while it runs. */
export function bundleDevWorker(): Promise<string> {
  return (devWorker ??= bundleEntry(
    `import { replaceable } from "./replaceable.worker${FROM_SOURCE ? ".ts" : ".js"}";`,
    "replaceable(createWorker, { manifest, f, rw })",
  ));
}

/** One made by a function of a module of Radical's own, from the same files. `module`: without its ending. */
export function bundleWorkerAround(module: URL, create: string): Promise<string> {
  const imports = `import { ${create} } from ${JSON.stringify(pathOf(module))};`;
  return bundleEntry(imports, `${create}({ manifest, f, rw })`);
}

function pathOf(module: URL): string {
  return `${fileURLToPath(module)}${FROM_SOURCE ? ".ts" : ".js"}`;
}

function bundleEntry(imports: string, worker: string): Promise<string> {
  return bundleWorker({
    path: fileURLToPath(import.meta.url),
    contents: `import { RadicalCache, createWorker } from "@radical/runtime";
import f from "./module.wasm";
import rw from "./module.rw.wasm";
import manifest from "./manifest.json";
${imports}
export { RadicalCache };
export default ${worker};
`,
  });
}
