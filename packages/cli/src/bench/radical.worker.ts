/** A location of Radical in a benchmark: the Worker of every application, with a pace. */
import { createWorker, type RadicalWorker, type WorkerParts } from "@radical/runtime";
import { pace, takePace } from "./paced.worker.ts";

export function createBenchmarkWorker(parts: Omit<WorkerParts, "pace">): RadicalWorker {
  const worker = createWorker({ ...parts, pace });
  return { fetch: (request, env, context) => takePace(request) ?? worker.fetch(request, env, context) };
}
