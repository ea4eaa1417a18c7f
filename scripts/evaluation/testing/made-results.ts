/** Results that nobody measured, from formulas: for tests of what is made of results, and to look at the pictures before there are any. */
import {
  type BenchmarkResult,
  type Experiment,
  type ExecutionTimeRow,
  type ImprovementRow,
  type LatencyRow,
  type Selection,
  type Statistics,
  type System,
  SYSTEMS,
  type WorkloadRun,
} from "../../../packages/bench/src/result.ts";
import { type Results, workloadRuns } from "../results.ts";

interface MadeHandler {
  readonly name: string;
  readonly ms: number;
  readonly share: number;
  readonly writes: boolean;
}

const handler = (name: string, ms: number, share: number, writes = false): MadeHandler => ({ name, ms, share, writes });

const APPLICATIONS: Readonly<Record<string, readonly MadeHandler[]>> = {
  social: [
    handler("login", 213, 0.095),
    handler("post", 106, 0.005, true),
    handler("follow", 16, 0.005, true),
    handler("timeline", 120, 0.8),
    handler("profile", 124, 0.095),
  ],
  hotel: [
    handler("search", 161, 0.6),
    handler("recommend", 207, 0.3),
    handler("book", 272, 0.005, true),
    handler("review", 13, 0.005, true),
    handler("login", 213, 0.005),
    handler("attractions", 111, 0.085),
  ],
  forum: [
    handler("homepage", 209, 0.8),
    handler("post", 18, 0.01, true),
    handler("interact", 16, 0.09, true),
    handler("view", 123, 0.08),
    handler("login", 212, 0.02),
  ],
};

const LOCATIONS = { VA: 7, CA: 74, IE: 70, DE: 93, JP: 146 } as const;

function statistics(p50Ms: number, samples = 500): Statistics {
  const of = (times: number): number => p50Ms * times;
  return {
    samples,
    meanMs: of(1.03),
    p5Ms: of(0.96),
    p25Ms: of(0.98),
    p50Ms,
    p75Ms: of(1.05),
    p90Ms: of(1.1),
    p95Ms: of(1.15),
    p99Ms: of(1.3),
    p50LowMs: of(0.99),
    p50HighMs: of(1.01),
  };
}

function latency(system: System, f: number, roundTrip: number): number {
  switch (system) {
    case "radical":
      return Math.max(f, roundTrip) + 2;
    case "central":
      return f + roundTrip + 3;
    case "edge-direct":
      return f + 3 * roundTrip;
    case "ideal":
      return f + 1;
  }
}

/** How many ms slower than the formula `radical` is, and of its validations those that succeed. */
interface Made {
  readonly slowerMs?: number;
  readonly validShare?: number;
  readonly rwMs?: number;
}

export function madeResults(made: Made = {}): Results {
  const paper = endToEnd("end-to-end-paper", 1, made);
  return {
    "end-to-end-paper": paper,
    "end-to-end-native": endToEnd("end-to-end-native", 0.04, made),
    "execution-time": sensitivity(
      "execution-time",
      [1, 3, 10, 30, 100, 300].map((executionMs) => ({ executionMs })),
    ),
    skew: sensitivity(
      "skew",
      [0, 0.5, 0.8, 0.99, 1.2].map((zipf) => ({ zipf })),
    ),
    contention: sensitivity(
      "contention",
      [1, 5, 20, 50].map((clientsPerSecond) => ({ clientsPerSecond })),
    ),
    "cold-start": coldStart(),
    replication: replication(),
  };
}

function empty(experiment: Experiment, runs: readonly WorkloadRun[]): BenchmarkResult {
  return {
    format: 1,
    experiment,
    command: `pnpm bench ${experiment} --seed 1`,
    quick: true,
    interrupted: false,
    seed: 1,
    begunAt: "2026-01-02T03:04:05.000Z",
    tookMs: 120_000,
    machine: {
      cpu: "made up",
      cores: 2,
      memoryMb: 8_192,
      os: "none",
      node: "v24.0.0",
      loadBefore: 0.1,
      busyShare: 0.5,
    },
    locations: Object.entries(LOCATIONS).map(([name, roundTripMs]) => ({
      name,
      roundTripMs,
      measured: statistics(roundTripMs + 0.4),
    })),
    runs,
    latencies: [],
    improvements: [],
    differences: [],
    executionTimes: [],
    phases: [],
    validations: [],
    coldStarts: [],
    replications: [],
    operations: [],
    checks: runs.map(({ run }) => ({
      run,
      system: "radical",
      kind: "replay",
      passed: true,
      executions: 10,
      units: 20,
      problems: [],
    })),
  };
}

function runOf(run: number, application: string, experiment: Experiment): WorkloadRun {
  return {
    run,
    application,
    profile: experiment === "end-to-end-native" ? "native" : "paper",
    storage: "sqlite",
    zipf: 0.99,
    parameters: {},
    systems: SYSTEMS.map((system) => ({
      system,
      arrivalsPerSecond: 2,
      requests: 2_500,
      warmUpRequests: 100,
      aborted: 0,
      failed: 0,
    })),
    tookMs: 60_000,
  };
}

/** All rows of one application whose handlers take `times` as long as the paper's. */
function endToEnd(experiment: Experiment, times: number, made: Made): BenchmarkResult {
  const { slowerMs = 0, validShare = 0.995, rwMs = 0.04 } = made;
  const runs = Object.keys(APPLICATIONS).flatMap((application, place) =>
    ["paper", "equal"].map((mix, one) => ({ ...runOf(2 * place + one, application, experiment), parameters: { mix } })),
  );
  const each = runs.flatMap((run) =>
    [null, ...APPLICATIONS[run.application]!].flatMap((one) =>
      [null, ...Object.keys(LOCATIONS)].map((location) => ({ run, one, location })),
    ),
  );
  const ms = (system: System, run: WorkloadRun, one: MadeHandler | null, location: string | null): number => {
    const most = APPLICATIONS[run.application]!.toSorted((a, b) => b.share - a.share)[0]!;
    const roundTrip = location === null ? 78 : LOCATIONS[location as keyof typeof LOCATIONS];
    return latency(system, (one ?? most).ms * times, roundTrip) + (system === "radical" ? slowerMs : 0);
  };
  const selection = (run: WorkloadRun, one: MadeHandler | null, location: string | null): Selection => ({
    run: run.run,
    application: run.application,
    handler: one?.name ?? null,
    location,
  });
  return {
    ...empty(experiment, runs),
    latencies: each.flatMap(({ run, one, location }) =>
      SYSTEMS.map((system): LatencyRow => ({
        ...selection(run, one, location),
        system,
        latency: statistics(ms(system, run, one, location)),
      })),
    ),
    improvements: each.flatMap(({ run, one, location }) =>
      (["median", "mean"] as const).map((of): ImprovementRow => {
        const [radicalMs, centralMs, idealMs, edgeDirectMs] = (
          ["radical", "central", "ideal", "edge-direct"] as const
        ).map((system) => ms(system, run, one, location)) as [number, number, number, number];
        return {
          ...selection(run, one, location),
          of,
          radicalMs,
          centralMs,
          idealMs,
          edgeDirectMs,
          lowerShare: (centralMs - radicalMs) / centralMs,
          possibleShare: (centralMs - radicalMs) / (centralMs - idealMs),
        };
      }),
    ),
    differences: each.flatMap(({ run, one, location }) => {
      if (one === null || location === null) return [];
      const p50Ms = ms("radical", run, one, location) - ms("central", run, one, location);
      return [
        {
          ...selection(run, one, location),
          handler: one.name,
          location,
          p50Ms,
          p50LowMs: p50Ms - 0.5,
          p50HighMs: p50Ms + 0.5,
          p99Ms: p50Ms + 3,
        },
      ];
    }),
    executionTimes: workloadRuns({ runs }).flatMap((run) =>
      APPLICATIONS[run.application]!.map(({ name, ms: f, share, writes }): ExecutionTimeRow => ({
        run: run.run,
        application: run.application,
        handler: name,
        writes,
        plan: "sliced",
        dependent: name === "search",
        share,
        paperMs: f,
        paperShare: share,
        f: statistics(f * times),
        rw: statistics(rwMs),
      })),
    ),
    phases: runs.flatMap((run) =>
      (["speculative", "near-storage"] as const).map((path) => ({
        ...selection(run, null, null),
        path,
        samples: 500,
        phases: {
          queueMs: statistics(0.4),
          frontMs: statistics(1.2),
          rwMs: statistics(rwMs),
          cacheMs: statistics(0.3),
          fMs: statistics(120 * times),
          lviMs: statistics(path === "near-storage" ? 78 + 122 * times : 78),
          sendMs: statistics(38),
          lockWaitMs: statistics(0.02),
          validateMs: statistics(0.1),
          intentMs: statistics(0.4),
          ...(path === "near-storage" ? { nearStorageMs: statistics(122 * times) } : { waitMs: statistics(12) }),
          serverMs: statistics(1),
          receiveMs: statistics(38),
          totalMs: statistics(path === "near-storage" ? 82 + 122 * times : 15 + 120 * times),
        },
      })),
    ),
    validations: runs.map((run) => ({
      ...selection(run, null, null),
      requests: 2_500,
      speculative: 2_440,
      nearStorage: 60,
      validShare,
      reasons: { valid: 2_440, stale: 12, missing: 48 },
      staleTables: { timelines: 9, users: 3 },
    })),
    operations: runs.map((run) => ({
      run: run.run,
      application: run.application,
      requests: 2_500,
      unitsRead: 20,
      unitsWritten: 0.05,
      unitsRepaired: 0.1,
      writingShare: 0.02,
      followups: 0.02,
      storageBytes: 10_000,
      primaryBytes: 700,
      answerBytes: 4_000,
    })),
  };
}

/** Runs of one application that differ in one parameter, with latencies and validations over all handlers. */
function sensitivity(experiment: Experiment, parameters: readonly Readonly<Record<string, number>>[]): BenchmarkResult {
  const runs = parameters.map((each, run) => ({
    ...runOf(run, "simple", experiment),
    parameters: each,
    zipf: each["zipf"] ?? 0.99,
  }));
  return {
    ...empty(experiment, runs),
    latencies: runs.flatMap((run) =>
      [null, ...Object.keys(LOCATIONS)].flatMap((location) =>
        SYSTEMS.map((system): LatencyRow => {
          const roundTrip = location === null ? 78 : LOCATIONS[location as keyof typeof LOCATIONS];
          return {
            run: run.run,
            application: run.application,
            handler: null,
            location,
            system,
            latency: statistics(latency(system, run.parameters["executionMs"] ?? 100, roundTrip)),
          };
        }),
      ),
    ),
    validations: runs.map((run) => ({
      run: run.run,
      application: run.application,
      handler: null,
      location: null,
      requests: 1_000,
      speculative: 990 - 20 * run.run,
      nearStorage: 10 + 20 * run.run,
      validShare: 0.999 - 0.004 * run.run,
      reasons: { valid: 990 - 20 * run.run, stale: 10 + 20 * run.run },
      staleTables: {},
    })),
  };
}

function coldStart(): BenchmarkResult {
  const run = runOf(0, "social", "cold-start");
  return {
    ...empty("cold-start", [run]),
    coldStarts: Array.from({ length: 10 }, (_, part) => part).flatMap((part) =>
      (["radical", "central"] as const).map((system) => ({
        run: 0,
        application: "social",
        location: null,
        system,
        firstRequest: part * 50 + 1,
        lastRequest: part * 50 + 50,
        latency: statistics(system === "central" ? 200 : 130 + 70 / (part + 1)),
        speculativeShare: system === "central" ? null : 1 - 0.7 / (part + 1),
      })),
    ),
  };
}

function replication(): BenchmarkResult {
  const storages = ["sqlite", "dynamodb", "dynamodb-standby"] as const;
  const runs = storages.map((storage, run) => ({ ...runOf(run, "locks", "replication"), storage }));
  return {
    ...empty("replication", runs),
    replications: runs.flatMap(({ run, storage }) =>
      [1, 10, 100].map((locks) => ({
        run,
        storage,
        locks,
        writes: true,
        server: statistics(storage === "sqlite" ? 0.9 : 5),
        lvi: statistics(storage === "sqlite" ? 1.9 : 6),
        paperAddsMs: 3 + 2.3 * locks,
        storageOperations: 2,
      })),
    ),
  };
}
