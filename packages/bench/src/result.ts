/**
 * What a benchmark leaves: one JSON file for each experiment, self-contained, so that tables and pictures need nothing
 * else. Times are milliseconds by the clock of the process that sends the requests, shares are of 1. Statistics are of
 * requests after the warm-up. Figures are to be compared within one file only: another run is another hour of the machine.
 */

/** In the order in which they are shown. */
export const SYSTEMS = ["radical", "central", "edge-direct", "ideal"] as const;

/**
 * The same compiled handlers on the same data, in four places.
 *
 * - `radical`: at the location, beside one LVI request.
 * - `central`: beside the primary storage; the client is as far away as its location is. All reads of a run in one
 *   request to the storage, all writes in one more.
 * - `edge-direct`: at the location; each read is a round trip to the primary storage, and so are all writes together.
 * - `ideal`: at the location on data of its own, which nobody else sees. Not consistent: the least there can be.
 */
export type System = (typeof SYSTEMS)[number];

/** `paper`: each handler takes at least the time that the paper's table has. `native`: as long as it takes here. */
export type Profile = "paper" | "native";

/**
 * `sqlite`: in the process of the primary. `dynamodb`: DynamoDB Local, a process of its own. `-standby`: a second LVI server
 * waits for the leadership, so that the leadership is renewed and each write is fenced.
 */
export type StorageSetup = "sqlite" | "dynamodb" | "dynamodb-standby";

export const EXPERIMENTS = [
  "end-to-end-paper",
  "end-to-end-native",
  "validation",
  "execution-time",
  "skew",
  "cold-start",
  "contention",
  "replication",
  "near-primary",
  "app",
] as const;

/** Names the file: `benchmarks/results/<experiment>.json`. `app`: what `radical bench` measures of an application. */
export type Experiment = (typeof EXPERIMENTS)[number];

/** The file. Parts that an experiment does not measure are empty lists. */
export interface BenchmarkResult {
  readonly format: 1;
  readonly experiment: Experiment;
  /** The command that gives the same requests again. */
  readonly command: string;
  /** A run that is too short for conclusions. */
  readonly quick: boolean;
  /** It was ended early: what was measured until then is here, and no check has been made on `radical` for what was cut. */
  readonly interrupted: boolean;
  /** All requests are drawn from it. */
  readonly seed: number;
  /** UTC, ISO 8601. */
  readonly begunAt: string;
  readonly tookMs: number;
  readonly machine: Machine;
  readonly locations: readonly MeasuredLocation[];
  /** In the order in which they ran. Rows name one by `run`. */
  readonly runs: readonly WorkloadRun[];
  readonly latencies: readonly LatencyRow[];
  readonly improvements: readonly ImprovementRow[];
  readonly differences: readonly DifferenceRow[];
  readonly executionTimes: readonly ExecutionTimeRow[];
  readonly phases: readonly PhaseRow[];
  readonly validations: readonly ValidationRow[];
  readonly coldStarts: readonly ColdStartRow[];
  readonly replications: readonly ReplicationRow[];
  readonly operations: readonly OperationRow[];
  /** All passed, or the command has failed. */
  readonly checks: readonly CheckRow[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryMb: number;
  readonly os: string;
  readonly node: string;
  /** Processes that ran or wanted to, over the minute before: near 0 on a quiet machine. */
  readonly loadBefore: number;
  /** Share of all cores that was busy while requests were sent; null where the system does not tell. */
  readonly busyShare: number | null;
}

export interface MeasuredLocation {
  readonly name: string;
  /** What the delay proxy was told. */
  readonly roundTripMs: number;
  /** What a bare request over an open connection took through the proxy, before the runs: `p50Ms − roundTripMs` is its error. */
  readonly measured: Statistics;
}

/** Requests of one application with one set of parameters, at all locations and systems at once. */
export interface WorkloadRun {
  /** Unique in the file, from 0. */
  readonly run: number;
  readonly application: string;
  readonly profile: Profile;
  readonly storage: StorageSetup;
  /** Of the choice of users, posts, keys; null: each is as likely, or the workload has no such choice. */
  readonly zipf: number | null;
  /** What the experiment varies, by name: `executionMs`, `zipf`, `clientsPerSecond`, … */
  readonly parameters: Readonly<Record<string, number | string>>;
  readonly systems: readonly SystemLoad[];
  readonly tookMs: number;
}

export interface SystemLoad {
  readonly system: System;
  /** At each location, in the mean; arrivals are a Poisson process that waits for no answer. */
  readonly arrivalsPerSecond: number;
  /** After the warm-up, at all locations. */
  readonly requests: number;
  /** Before that; not in any row. */
  readonly warmUpRequests: number;
  /** Answers that are errors of the handler by design (a name that is taken, a room that is booked). They count as answers. */
  readonly aborted: number;
  /** Requests that got no answer of the handler. A run with more than one in a hundred of them fails. */
  readonly failed: number;
}

/** Of how many, and of what; quantiles by the nearest rank. With no sample all are null. */
export interface Statistics {
  readonly samples: number;
  readonly meanMs: number | null;
  readonly p5Ms: number | null;
  readonly p25Ms: number | null;
  readonly p50Ms: number | null;
  readonly p75Ms: number | null;
  readonly p90Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** Bounds of a 95 % confidence interval of the median, by order statistics. */
  readonly p50LowMs: number | null;
  readonly p50HighMs: number | null;
}

/** Which requests of a run. Null: all, in the shares of the workload. */
export interface Selection {
  readonly run: number;
  readonly application: string;
  readonly handler: string | null;
  readonly location: string | null;
}

/**
 * End-to-end latency: from the time at which a request was to be sent until the client had all of the answer. There is a
 * row for each combination of handler, location and system, for each sum over handlers, over locations, and over both.
 */
export interface LatencyRow extends Selection {
  readonly system: System;
  readonly latency: Statistics;
}

/**
 * Of what an ideal system would win over `central`, how much `radical` wins. For the whole workload and for each handler,
 * everywhere and at each location.
 */
export interface ImprovementRow extends Selection {
  /** `median` is the paper's figure. `mean`: of all requests, so that each counts what it takes. */
  readonly of: "median" | "mean";
  readonly radicalMs: number;
  readonly centralMs: number;
  readonly idealMs: number;
  readonly edgeDirectMs: number | null;
  /** (central − radical) / central. */
  readonly lowerShare: number;
  /** (central − radical) / (central − ideal): 1 is ideal. Null: central is no slower than ideal by 1 ms. */
  readonly possibleShare: number | null;
}

/** Radical beside central for one handler at one location. */
export interface DifferenceRow extends Selection {
  readonly handler: string;
  readonly location: string;
  /** radical − central, of the medians: the worst that may come out is 2. */
  readonly p50Ms: number;
  /** Bounds of a 95 % interval of that, by resampling with the seed. */
  readonly p50LowMs: number;
  readonly p50HighMs: number;
  readonly p99Ms: number;
}

/** Time of f alone at the execution host (without queue, network or storage), and of f^rw. */
export interface ExecutionTimeRow {
  readonly run: number;
  readonly application: string;
  readonly handler: string;
  readonly writes: boolean;
  /** How its read/write set is known: `sliced`, `recorded`, `given`, `near-storage`. */
  readonly plan: string;
  /** The set depends on values that are read: the paper's asterisk. */
  readonly dependent: boolean;
  /** Of the workload, of 1. */
  readonly share: number;
  /** In the paper's Table 1; null: the handler is not in it. */
  readonly paperMs: number | null;
  readonly paperShare: number | null;
  /** At the locations of `radical`. */
  readonly f: Statistics;
  readonly rw: Statistics;
}

/** In the order of a request's life. */
export const PHASES = [
  "queueMs",
  "frontMs",
  "rwMs",
  "cacheMs",
  "fMs",
  "lviMs",
  "sendMs",
  "lockWaitMs",
  "validateMs",
  "intentMs",
  "nearStorageMs",
  "serverMs",
  "receiveMs",
  "waitMs",
  "totalMs",
  "followupMs",
] as const;

/**
 * - `queueMs`: from the scheduled time until the client had sent it.
 * - `frontMs`: client and platform before and behind the Worker: total − queue − what the Worker took.
 * - `rwMs`, `cacheMs`, `fMs`: f^rw; the cache's round trips; f at the location. The two with their instances, which are made or
 *   made as good as new.
 * - `lviMs`: the LVI request as the Worker saw it. Its parts: `sendMs` (half of the round trip of the
 *   location's link), `receiveMs` (the rest: the way back, and until the Worker took it, which has one thread for f too), `lockWaitMs`, `validateMs` (reading what the primary had to look up, and everything else in the server that
 *   is none of the others), `intentMs` (the durable write), `nearStorageMs` (f near storage, with its reads and durable write),
 *   `serverMs` (all of the server's).
 * - `waitMs`: that the answer was held for the LVI reply after f had ended (0 if f ended later).
 * - `totalMs`: end to end.
 * - `followupMs`: after the answer, nobody waits for it: how long the primary took to apply it.
 */
export type Phase = (typeof PHASES)[number];

/** Of `radical`: each phase over the requests that had it, of a handler or of a location. */
export interface PhaseRow extends Selection {
  /**
   * `speculative`: the location's run was the answer, confirmed by the primary. `leased`: the same without a request to the
   * primary. `near-storage`: the primary's run was. Null: all.
   */
  readonly path: "speculative" | "leased" | "near-storage" | null;
  readonly samples: number;
  readonly phases: Readonly<Partial<Record<Phase, Statistics>>>;
}

/** What became of the speculation of `radical`. Counts are of requests. */
export interface ValidationRow extends Selection {
  readonly requests: number;
  /** Answered by the location's own run, which the primary has confirmed. */
  readonly speculative: number;
  /** Answered by the location's own run on read leases, without a request to the primary. A result of before there were any has none. */
  readonly leased?: number;
  /** Answered by the primary's run. */
  readonly nearStorage: number;
  /** Of the requests that sent a set to be validated, those that were valid; null: there were none. */
  readonly validShare: number | null;
  /** By `x-radical-reason`, as docs/http.md explains it: `valid`, `stale`, `missing`, … */
  readonly reasons: Readonly<Record<string, number>>;
  /** Units whose version was stale, by table. Only where all handlers and locations are taken together. */
  readonly staleTables: Readonly<Record<string, number>>;
}

/** Requests to locations with empty caches and no connections, in the order of their arrival. */
export interface ColdStartRow {
  readonly run: number;
  readonly application: string;
  /** Null: all. */
  readonly location: string | null;
  readonly system: System;
  /** Of the location's requests, from 1. */
  readonly firstRequest: number;
  readonly lastRequest: number;
  readonly latency: Statistics;
  /** Of `radical`; null for the others. */
  readonly speculativeShare: number | null;
}

/** What the LVI server took for a request, and what the storage under it adds to it. */
export interface ReplicationRow {
  readonly run: number;
  readonly storage: StorageSetup;
  /** Units that the request locks: the paper adds 3 + 2.3 · L ms when it replicates. */
  readonly locks: number;
  readonly writes: boolean;
  /** Of all the server did for the request, beside it. */
  readonly server: Statistics;
  /** Of the LVI request through a link without delay. */
  readonly lvi: Statistics;
  /** 3 + 2.3 · locks. */
  readonly paperAddsMs: number;
  /** Storage operations while it was hot, in the mean of the requests. */
  readonly storageOperations: number;
}

/**
 * What one request to `radical` took of what a bill counts, in the mean of a run's requests. What that costs is worked out in
 * `scripts/evaluation/cost.ts`, with assumptions about all that a run at a small load on one machine does not tell.
 */
export interface OperationRow {
  readonly run: number;
  readonly application: string;
  /** Over which the means are. */
  readonly requests: number;
  /** Units that the execution that counts read and wrote. */
  readonly unitsRead: number;
  readonly unitsWritten: number;
  /** That the primary's answers brought to the locations' caches. Absent: not counted. */
  readonly unitsRepaired?: number;
  /** Of the requests, those that wrote something. */
  readonly writingShare: number;
  readonly followups: number;
  /** Of the requests, those that were answered by read leases. Absent: there were none yet. */
  readonly leasedShare?: number;
  /** Of the values that were read, as they were at the beginning of the measurement. */
  readonly storageBytes: number;
  /** From the primary to the locations: replies, updates, and what HTTP adds. */
  readonly primaryBytes: number;
  /** Of the answer to the client. */
  readonly answerBytes: number;
}

export interface CheckRow {
  readonly run: number;
  readonly system: System;
  /**
   * - `replay`: a pure replay of all executions in the order of their commits, of `ideal` at each location for itself, gives
   *   the same answers, and the storage's final state.
   * - `strict-serializability`: there is one order of all executions that each answer and the clients' clocks agree with.
   */
  readonly kind: "replay" | "strict-serializability";
  readonly passed: boolean;
  /** How many were checked. */
  readonly executions: number;
  readonly units: number;
  /** What was wrong, the first few. */
  readonly problems: readonly string[];
}
