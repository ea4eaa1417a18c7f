/**
 * For the benchmark of read/write-set functions: the same host in workerd, of the version that locations run on. Its clocks
 * stand still while it executes, so what is timed, from outside, is a request that runs a function many times, beside one
 * that does not run it.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { BuildResult } from "../pipeline.ts";
import type { BenchmarkRequest, BenchmarkStore } from "./benchmark.worker.ts";

/** Of esbuild and miniflare what is used: they are dependencies of the command line, not of the analyzer. */
interface Bundler {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
}

interface Platform {
  readonly Miniflare: new (options: object) => { readonly ready: Promise<URL>; dispose(): Promise<void> };
}

export interface WorkerdRunner {
  /** Milliseconds of a request that runs the handler's function that many times. */
  time(run: Omit<BenchmarkRequest, "count">, count: number): Promise<number>;
  close(): Promise<void>;
}

/** A Worker with the modules of a build and its store. `root`: the checkout. */
export async function startWorkerd(root: string, built: BuildResult, store: BenchmarkStore): Promise<WorkerdRunner> {
  const load = createRequire(join(root, "packages/cli/package.json"));
  const bundler = load("esbuild") as Bundler;
  const { Miniflare } = load("miniflare") as Platform;
  const bundle = await bundler.build({
    stdin: {
      contents: `import { createBenchmarkWorker } from "./benchmark.worker.ts";
import f from "./module.wasm";
import rw from "./module.rw.wasm";
import store from "./store.json";
export default createBenchmarkWorker({ f, rw }, store);`,
      resolveDir: join(root, "packages/analyzer/src/testing"),
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    mainFields: ["module", "main"],
    conditions: ["source", "workerd", "worker", "import"],
    external: ["./module.wasm", "./module.rw.wasm", "./store.json"],
  });
  const workerd = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    telemetry: { enabled: false },
    workers: [
      {
        config: {
          name: "benchmark",
          compatibilityDate: "2026-11-01",
          manifest: {
            mainModule: "worker.js",
            modules: {
              "worker.js": { type: "esm", contents: bundle.outputFiles[0]!.text },
              "module.wasm": { type: "wasm", contents: new Uint8Array(built.wasm) },
              "module.rw.wasm": { type: "wasm", contents: new Uint8Array(built.rwWasm) },
              "store.json": { type: "json", contents: JSON.stringify(store) },
            },
          },
        },
      },
    ],
  });
  const url = await workerd.ready;
  return {
    async time(run, count) {
      const body = JSON.stringify({ ...run, count } satisfies BenchmarkRequest);
      const before = performance.now();
      const response = await fetch(url, { method: "POST", body });
      const answer = await response.text();
      const elapsed = performance.now() - before;
      if (!response.ok) throw new Error(`workerd: ${answer}`);
      return elapsed;
    },
    close: () => workerd.dispose(),
  };
}
