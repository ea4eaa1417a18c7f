/**
 * The file `radical.bench.ts` of an application, which says what `radical bench` measures. Everything in it is drawn from the
 * seed of the run, so that all systems get the same data and the same requests.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError, EXIT_USAGE, messageOf } from "../command-error.ts";
import type { Random } from "@radical/history";

const BENCHMARK_FILE = "radical.bench.ts";

export interface Benchmark {
  /** Makes the data that is there at the beginning; by default that of the seed file. Nothing of it is measured. */
  readonly prepare?: (preparation: Preparation) => void;
  /** The requests of clients; arrivals are shared out by `share`. */
  readonly requests: readonly BenchmarkRequest[];
  /**
   * Requests that bring to a location what its clients will ask for, as if it had served them for long. Every location begins
   * with them.
   */
  readonly warmUp?: (draw: Random) => Iterable<Call>;
}

export interface Call {
  readonly handler: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The result of `caller()`. Default: null. */
  readonly caller?: string;
}

export interface BenchmarkRequest {
  readonly handler: string;
  /** Of all requests, in any unit. */
  readonly share: number;
  /** The result of `caller()`. Default: null. */
  readonly caller?: (draw: Random) => string;
  /** Default: none. `caller` is the one that was drawn for the request, or an empty text. */
  readonly args?: (draw: Random, caller: string) => Readonly<Record<string, unknown>>;
}

export interface Preparation {
  /** Stores an item. */
  put(table: string, key: string, value: unknown): void;
  /** Runs a handler on the data so far, and gives its result. Throws if the handler aborts. */
  call(handler: string, args?: Readonly<Record<string, unknown>>, caller?: string): unknown;
  readonly draw: Random;
}

export function defineBenchmark(benchmark: Benchmark): Benchmark {
  return benchmark;
}

/** Throws a CommandError that says what is wrong with the file. */
export async function loadBenchmark(root: string, handlers: readonly string[]): Promise<Benchmark> {
  const file = join(root, BENCHMARK_FILE);
  const wrong = (words: string, hint: string): CommandError =>
    new CommandError("benchmark_invalid", words, hint, { exitCode: EXIT_USAGE });
  if ((await stat(file).catch(() => null)) === null)
    throw wrong(
      `There is no ${BENCHMARK_FILE} in ${root}.`,
      "It names the requests to send: docs/how-to/benchmark.md.",
    );
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(file).href)) as typeof loaded;
  } catch (error) {
    throw wrong(`${BENCHMARK_FILE} can't be loaded: ${messageOf(error)}`, "Correct the file named above.");
  }
  const benchmark = loaded.default as Partial<Benchmark> | undefined;
  if (!Array.isArray(benchmark?.requests) || benchmark.requests.length === 0)
    throw wrong(`${BENCHMARK_FILE} has no requests.`, "Write: export default defineBenchmark({ requests: [ … ] }).");
  for (const { handler, share } of benchmark.requests as readonly BenchmarkRequest[]) {
    if (!handlers.includes(handler))
      throw wrong(
        `${BENCHMARK_FILE} asks for "${handler}", which is not a handler.`,
        `The handlers are: ${handlers.join(", ")}.`,
      );
    if (!(share > 0)) throw wrong(`The share of "${handler}" in ${BENCHMARK_FILE} is not above 0.`, "Give one, say 1.");
  }
  return benchmark as Benchmark;
}
