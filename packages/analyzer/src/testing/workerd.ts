/** For tests: a Worker in workerd, of the version that locations run on. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Of esbuild and miniflare what is used: they are dependencies of the command line, not of the analyzer. */
interface Bundler {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
}

interface Platform {
  readonly Miniflare: new (options: object) => { readonly ready: Promise<URL>; dispose(): Promise<void> };
}

export type WorkerModule =
  | { readonly type: "wasm"; readonly contents: Uint8Array }
  | { readonly type: "json"; readonly contents: string };

export interface WorkerProcess {
  readonly url: URL;
  readonly close: () => Promise<void>;
}

/** `contents`: the main module, as if it were beside this file; `modules`: what it imports besides, by file name. */
export async function startWorker(
  contents: string,
  modules: Readonly<Record<string, WorkerModule>>,
): Promise<WorkerProcess> {
  const load = createRequire(fileURLToPath(new URL("../../../cli/package.json", import.meta.url)));
  const bundler = load("esbuild") as Bundler;
  const { Miniflare } = load("miniflare") as Platform;
  const bundle = await bundler.build({
    stdin: { contents, resolveDir: join(fileURLToPath(import.meta.url), "..") },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    mainFields: ["module", "main"],
    conditions: ["source", "workerd", "worker", "import"],
    external: Object.keys(modules).map((name) => `./${name}`),
  });
  const workerd = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    telemetry: { enabled: false },
    workers: [
      {
        config: {
          name: "worker",
          compatibilityDate: "2026-11-01",
          manifest: {
            mainModule: "worker.js",
            modules: { "worker.js": { type: "esm", contents: bundle.outputFiles[0]!.text }, ...modules },
          },
        },
      },
    ],
  });
  const url = await workerd.ready;
  return { url, close: () => workerd.dispose() };
}
