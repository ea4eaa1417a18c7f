/**
 * For the benchmark of read/write-set functions: the same host in workerd. Its clocks stand still while it executes. So
 * the benchmark times two requests from outside: one runs a function many times, and the other does not run it.
 */
import type { BuildResult } from "../pipeline.ts";
import type { BenchmarkRequest, BenchmarkStore } from "./benchmark.worker.ts";
import { startWorker } from "./workerd.ts";

export interface WorkerdRunner {
  /** Milliseconds of a request that runs the handler's function that many times. */
  time(run: Omit<BenchmarkRequest, "count">, count: number): Promise<number>;
  close(): Promise<void>;
}

/** A Worker with the modules of a build and its store. */
export async function startWorkerd(built: BuildResult, store: BenchmarkStore): Promise<WorkerdRunner> {
  const { url, close } = await startWorker(
    `import { createBenchmarkWorker } from "./benchmark.worker.ts";
import f from "./module.wasm";
import rw from "./module.rw.wasm";
import store from "./store.json";
export default createBenchmarkWorker({ f, rw }, store);`,
    {
      "module.wasm": { type: "wasm", contents: new Uint8Array(built.wasm) },
      "module.rw.wasm": { type: "wasm", contents: new Uint8Array(built.rwWasm) },
      "store.json": { type: "json", contents: JSON.stringify(store) },
    },
  );
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
    close,
  };
}
