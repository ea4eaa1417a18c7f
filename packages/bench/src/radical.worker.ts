/**
 * A location of Radical in a benchmark: the Worker of every application, with a pace. It remembers the executions that the primary
 * knows nothing of, until the benchmark asks for them.
 */
import { sampledVersion } from "@radical/protocol";
import { bindRadical, entryOf, type LeasedExecution, type RadicalWorker, type WorkerParts } from "@radical/runtime";
import { callerIn, LEASED_PATH, type LeasedLine } from "./bench-requests.ts";
import { pace, takePace } from "./paced.worker.ts";

let leased: LeasedLine[] = [];

export function createBenchmarkWorker(parts: Omit<WorkerParts, "pace" | "onLeased">): RadicalWorker {
  const bound: WorkerParts = { ...parts, pace, onLeased: (execution) => void leased.push(lineOf(execution)) };
  const services = Object.fromEntries(Object.keys(parts.manifest.services ?? {}).map((name) => [name, notHere]));
  const worker = entryOf(bindRadical(bound)({ authenticate: callerIn, services }), bound) as RadicalWorker;
  return {
    fetch: (request, env, context) => takePace(request) ?? takeLeased(request) ?? worker.fetch(request, env, context),
  };
}

/** In place of a service: the application's own Worker does not run in a benchmark, and its primary calls none. */
function notHere(): never {
  throw new Error("A benchmark calls no services.");
}

function takeLeased(request: Request): Promise<Response> | null {
  if (!request.url.endsWith(LEASED_PATH)) return null;
  const lines = leased;
  leased = [];
  return Promise.resolve(Response.json(lines));
}

function lineOf({ executionId, handler, args, environment, versions }: LeasedExecution): LeasedLine {
  const { timeMs, seed, caller } = environment;
  return {
    execution: executionId,
    handler,
    args: base64(args),
    timeMs,
    seed: base64(seed),
    caller,
    versions: Array.from(versions, ([unit, version]) => sampledVersion(unit, version)),
  };
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
