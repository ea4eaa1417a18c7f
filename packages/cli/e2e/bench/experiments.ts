/** The experiments of `pnpm bench`: each is what one file of `benchmarks/results` has. */
import {
  durationMs,
  withEqualShares,
  type Experiment,
  type System,
  SYSTEMS,
  type ResultBuilder,
  type RunPlan,
  type Load,
} from "@radical/bench";
import { type Benchmark, type BenchmarkRequest, PAPER_LOCATIONS } from "@radical/app";
import { type ApplicationSetup, type BenchContext, LOCKS } from "./bench-context.ts";
import { lockingSetups } from "./replication.ts";
import { PAPER_TABLE, paperMs } from "./paper.ts";

export type Measured = Exclude<Experiment, "app">;

/** What it takes, for the estimate; and how it is done. */
export interface ExperimentPlan {
  readonly setups: readonly ApplicationSetup[];
  /** What fails leaves the others; each is written to the file as it ends. */
  readonly run: (result: ResultBuilder, onFailed: (error: unknown) => void) => Promise<void>;
}

const PAPER_APPLICATIONS = ["social", "hotel", "forum"] as const;
export const APPLICATIONS = [...PAPER_APPLICATIONS, "images", "board"] as const;
const NEAR = PAPER_LOCATIONS.slice(0, 1);
/** To build an application, to start it, to fill its caches, and to check it. */
const SETUP_MS = 30_000;
/** Of the processors: queues stay short. */
const UTILIZATION = 0.4;
const CORES = 2;
const COLD_STEP = 10;
/** Of one item, by Zipf's law. */
const readingOne = { radical: 9, central: 9, ideal: 7, "edge-direct": 7 } as const;
/** Of processor for a request, besides its run: client, platform, server. */
const OVERHEAD_MS = 12;
/** Of processor for the password of a login, at its own speed. */
const LOGIN_MS = 210;

export function planOf(experiment: Measured, context: BenchContext, applications: readonly string[]): ExperimentPlan {
  const setups = setupsOf(experiment, context, applications);
  return {
    setups,
    run: async (result, onFailed) => {
      for (const setup of setups) {
        try {
          await context.run(result, setup);
        } catch (error) {
          onFailed(error);
        }
        await context.save(result);
      }
    },
  };
}

export function estimateMs({ setups }: ExperimentPlan): number {
  return setups.reduce((sum, { plans }) => sum + SETUP_MS + plans.reduce((all, plan) => all + durationMs(plan), 0), 0);
}

function setupsOf(experiment: Measured, context: BenchContext, wanted: readonly string[]): readonly ApplicationSetup[] {
  const ofPaper = PAPER_APPLICATIONS.filter((name) => wanted.includes(name));
  const named = APPLICATIONS.filter((name) => wanted.includes(name));
  switch (experiment) {
    case "end-to-end-paper":
      return ofPaper.map((application) => ({
        application,
        systems: SYSTEMS,
        executionTimes: true,
        plans: [
          paced(context, application, { radical: 60, central: 60, ideal: 30, "edge-direct": 6 }, "paper"),
          paced(context, application, { radical: 36, central: 36, ideal: 8 }, "equal"),
        ],
      }));
    case "end-to-end-native":
      return named.map((application) => ({
        application,
        systems: SYSTEMS,
        executionTimes: true,
        plans: [
          atOwnSpeed(context, application, { radical: 100, central: 100, ideal: 40, "edge-direct": 10 }, "paper"),
          // Each handler 12 to 15 times at each location.
          PAPER_TABLE[application] === undefined
            ? atOwnSpeed(context, application, { radical: 120, central: 120, ideal: 24 }, "equal")
            : atOwnSpeed(context, application, { radical: 72, central: 72, ideal: 12 }, "equal"),
        ],
      }));
    case "validation":
      return named.map((application) => ({
        application,
        systems: ["radical"],
        plans: [context.plan(application, "native", loads(context, { radical: 80 }, 2))],
      }));
    case "execution-time":
      return [
        {
          application: LOCKS,
          systems: SYSTEMS,
          plans: [1, 5, 10, 20, 50, 100, 150, 200, 300].map((executionMs) =>
            context.plan(LOCKS, "paper", shared(context, readingOne, executionMs + OVERHEAD_MS), {
              parameters: { executionMs },
              leastMs: { look: executionMs },
              requestsOf: only("look"),
            }),
          ),
        },
      ];
    case "skew":
      return [
        {
          application: "social",
          systems: ["radical", "central"],
          plans: [0, 0.5, 0.8, 0.99, 1.2, 1.4].map((zipf) =>
            context.plan("social", "native", loads(context, { radical: 52, central: 26 }, 4), {
              zipf,
              parameters: { zipf, mix: "many writes" },
              requestsOf: withManyWrites,
            }),
          ),
        },
      ];
    case "cold-start":
      return named.map((application) => ({
        application,
        systems: ["radical", "central"],
        warm: false,
        plans: [
          context.plan(application, "native", loads(context, { radical: 100, central: 20 }, 4), { warmUpRequests: 0 }),
        ],
        onRun: ({ plan, outcome, result }) => result.addColdStart(plan, outcome, COLD_STEP),
      }));
    case "contention":
      return [
        {
          application: "social",
          systems: ["radical", "central"],
          plans: [1, 2, 4, 8].map((arrivalsPerSecond) =>
            context.plan("social", "native", loads(context, { radical: 30, central: 30 }, arrivalsPerSecond), {
              parameters: { arrivalsPerSecond, mix: "one post" },
              requestsOf: ofOnePost,
            }),
          ),
        },
      ];
    case "near-primary":
      return ofPaper.map((application) => ({
        application,
        systems: ["radical", "central"],
        locations: NEAR,
        plans: [
          context.plan(application, "native", loads(context, { radical: 150, central: 150 }, 5), {
            parameters: { mix: "equal" },
            ...EQUAL,
          }),
        ],
      }));
    case "replication":
      return lockingSetups(context);
  }
}

// ── Loads ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Each handler, user and item is as likely: with that many writes, what is popular would be stale most of the time, and the
 * times of handlers would be those of the runs near storage.
 */
const EQUAL = { requestsOf: withEqualShares, zipf: 0 } as const;

type Requests = Readonly<Partial<Record<System, number>>>;

/** All systems are asked during the same time, warm-up included; those with the most requests so often a second. */
function loads(
  context: BenchContext,
  requests: Requests,
  arrivalsPerSecond: number,
  warmUpRequests = context.warmUpRequests,
): readonly Load[] {
  const entries = Object.entries(requests) as [System, number][];
  const all = (count: number): number => context.requests(count) + warmUpRequests;
  const most = Math.max(...entries.map(([, count]) => all(count)));
  return entries.map(([system, count]) => ({
    system,
    requests: context.requests(count),
    arrivalsPerSecond: (arrivalsPerSecond * all(count)) / most,
  }));
}

/** The same with as many arrivals as keep the processors as busy as they may be, if a request takes so long. */
function shared(
  context: BenchContext,
  requests: Requests,
  meanMs: number,
  warmUpRequests = context.warmUpRequests,
): readonly Load[] {
  const counts = Object.values(requests);
  const sum = counts.reduce((all, count) => all + count, 0) * PAPER_LOCATIONS.length;
  const durationS = (sum * meanMs) / (1_000 * UTILIZATION * CORES);
  return loads(context, requests, Math.max(...counts) / durationS, warmUpRequests);
}

/** At the paper's times of execution. */
function paced(context: BenchContext, application: string, requests: Requests, mix: "paper" | "equal"): RunPlan {
  const handlers = Object.values(PAPER_TABLE[application]!);
  const meanMs =
    mix === "paper"
      ? handlers.reduce((sum, { ms, share }) => sum + ms * share, 0)
      : handlers.reduce((sum, { ms }) => sum + ms, 0) / handlers.length;
  return context.plan(application, "paper", shared(context, requests, meanMs + OVERHEAD_MS), {
    parameters: { mix },
    leastMs: paperMs(application),
    ...(mix === "equal" ? EQUAL : {}),
  });
}

/** With whatever time the handlers take here: nearly none, but for passwords. */
function atOwnSpeed(context: BenchContext, application: string, requests: Requests, mix: "paper" | "equal"): RunPlan {
  const handlers = PAPER_TABLE[application] ?? {};
  const logins = mix === "equal" ? 1 / Object.keys(handlers).length : (handlers["login"]?.share ?? 0);
  const meanMs = OVERHEAD_MS + (handlers["login"] === undefined ? 0 : logins * LOGIN_MS);
  if (mix === "paper")
    return context.plan(application, "native", shared(context, requests, meanMs), { parameters: { mix } });
  // Leases follow what is read and written with a delay of a minute, and a mix of readers has come before.
  const warmUpRequests = context.requests(60);
  return context.plan(application, "native", shared(context, requests, meanMs, warmUpRequests), {
    parameters: { mix },
    warmUpRequests,
    ...EQUAL,
  });
}

// ── Other requests ───────────────────────────────────────────────────────────────────────────────────────────────────

function only(handler: string): (benchmark: Benchmark) => Benchmark {
  return (benchmark) => ({ ...benchmark, requests: benchmark.requests.filter((one) => one.handler === handler) });
}

/** Every tenth request follows somebody or posts; nobody logs in. */
function withManyWrites(benchmark: Benchmark): Benchmark {
  const requests = benchmark.requests.flatMap((one): BenchmarkRequest[] => {
    if (one.handler === "login") return [];
    return [one.handler === "follow" || one.handler === "post" ? { ...one, share: 5 } : one];
  });
  return { ...benchmark, requests };
}

/** The first one of person-0, as the benchmark of the template has it. */
const ONE_POST = "person-0/8000019b76daa800-10000000-0000-4000-8000-000000000000";

/** Everybody likes one post, or looks at it. */
function ofOnePost(benchmark: Benchmark): Benchmark {
  const somebody = benchmark.requests.find(({ handler }) => handler === "follow");
  if (somebody === undefined) throw new Error("nobody follows anybody");
  return {
    ...benchmark,
    requests: [
      { ...somebody, handler: "like", share: 1, args: () => ({ id: ONE_POST }) },
      { handler: "profile", share: 1, args: () => ({ name: "person-0" }) },
    ],
  };
}
