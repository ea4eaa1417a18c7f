/** The Worker of the benchmark: runs a read/write-set function as many times as a request says. */
import { NO_EXECUTION } from "@radical/protocol";
import { deriveAccessSet, type HandlerModule } from "@radical/wasm-host";
import { preparedSnapshotOf } from "./complete-snapshot.ts";

/** The module and the items of a benchmark. */
export interface BenchmarkStore extends Pick<HandlerModule, "hash" | "limits"> {
  /** Values by unit; as all bytes here, in hexadecimal digits. */
  readonly items: Readonly<Record<string, string>>;
}

export interface BenchmarkRequest {
  readonly handler: string;
  readonly args: string;
  readonly seed: string;
  readonly timeMs: number;
  readonly caller: string | null;
  readonly count: number;
}

/** Answers with the number of units that the last run said. */
export function createBenchmarkWorker(
  programs: Pick<HandlerModule, "f" | "rw">,
  { hash, limits, items }: BenchmarkStore,
): { fetch(request: Request): Promise<Response> } {
  const module = { ...programs, hash, limits };
  const snapshot = preparedSnapshotOf(new Map(Object.entries(items).map(([unit, hex]) => [unit, bytesOf(hex)])));
  return {
    async fetch(request) {
      const { handler, args, seed, timeMs, caller, count } = (await request.json()) as BenchmarkRequest;
      const invocation = {
        executionId: NO_EXECUTION,
        handler,
        args: bytesOf(args),
        environment: { seed: bytesOf(seed), timeMs, caller },
      };
      let said = 0;
      for (let run = 0; run < count; run++) {
        const derived = deriveAccessSet(module, invocation, snapshot);
        if (derived.kind === "failed") throw new Error(derived.reason);
        said = derived.set.reads.size + derived.set.writes.size;
      }
      return new Response(String(said));
    },
  };
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}
