/**
 * What durability costs: executions of so many locks at one location without delay, on storage in the LVI server's process and on
 * one in a process of its own.
 */
import type { Benchmark } from "@radical/app";
import { type Answered, executionOf, phasesOf, statisticsOf, type StorageSetup } from "@radical/bench";
import { type ApplicationSetup, type BenchContext, type EndedRun, LOCKS } from "./bench-context.ts";

const COUNTS = [1, 2, 5, 10, 20] as const;
const REQUESTS = 100;
const ARRIVALS_PER_SECOND = 10;
const KEYS = 400;

export function lockingSetups(context: BenchContext): readonly ApplicationSetup[] {
  return (["sqlite", "dynamodb", "dynamodb-standby"] as const).map((storage) => ({
    application: LOCKS,
    systems: ["radical"],
    locations: [{ name: "beside", roundTripMs: 0 }],
    storage,
    plans: COUNTS.map((locks) =>
      context.plan(
        LOCKS,
        "native",
        [{ system: "radical", requests: context.requests(REQUESTS), arrivalsPerSecond: ARRIVALS_PER_SECOND }],
        {
          storageSetup: storage,
          zipf: null,
          parameters: { locks },
          requestsOf: (benchmark) => locking(benchmark, locks),
        },
      ),
    ),
    onRun: (ended) => addRows(ended, storage),
  }));
}

/** Items next to each other, so that no two are the same. */
function locking(benchmark: Benchmark, locks: number): Benchmark {
  return {
    ...benchmark,
    requests: ["stamp", "look"].map((handler) => ({
      handler,
      share: 1,
      args: (draw) => {
        const first = draw.below(KEYS);
        return { keys: Array.from({ length: locks }, (_, index) => `key-${(first + index) % KEYS}`) };
      },
    })),
  };
}

function addRows({ plan, outcome, log, result }: EndedRun, storage: StorageSetup): void {
  const locks = Number(plan.parameters["locks"]);
  for (const handler of ["stamp", "look"]) {
    const own = outcome.answered.filter(
      (one) => one.handler === handler && one.headers["x-radical-path"] === "speculative",
    );
    const times = (phase: "serverMs" | "lviMs"): readonly number[] =>
      own.flatMap((one: Answered) => phasesOf(one, log.times.get(executionOf(one)), 0)[phase] ?? []);
    const stored = own.filter((one) => (log.times.get(executionOf(one))?.intentMs ?? 0) > 0).length;
    result.replications.push({
      run: result.runs.at(-1).run,
      storage,
      locks,
      writes: handler === "stamp",
      server: statisticsOf(times("serverMs")),
      lvi: statisticsOf(times("lviMs")),
      paperAddsMs: 3 + 2.3 * locks,
      storageOperations: own.length === 0 ? 0 : stored / own.length,
    });
  }
}
