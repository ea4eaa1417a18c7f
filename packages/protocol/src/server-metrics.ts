/**
 * The metrics that each server writes into one line of log a minute, in the embedded metric format of CloudWatch. Alarms and
 * the dashboard of a deployment know them by these names, so the names stay.
 */

/** The signed address at which a server tells its metrics to operators, as Prometheus text. */
export const METRICS_PATH = "/v1/metrics";

/** The address, not signed, at which a server says what it is, and writes into its log that it was asked through its tunnel. */
export const PROBE_PATH = "/probez";

/** The event of the line. */
export const METRICS_EVENT = "metrics";

export type ServerMetric =
  | "Requests"
  | "Refused"
  | "LatencyP50Ms"
  | "LatencyP99Ms"
  | "Pending"
  | "OldestPendingSeconds"
  | "TasksReady"
  | "MissedTicks"
  | "LeasedUnits"
  | "StorageP99Ms"
  | "StorageFailures"
  | "Throttles"
  | "MemoryPercent"
  | "LoopDelayMs";

interface MetricKind {
  readonly unit: "Count" | "Milliseconds" | "Seconds" | "Percent";
  /** How values of several servers, and of several minutes, become one. */
  readonly statistic: "Sum" | "Maximum";
  /** `trouble`: a line has it only if it is above 0, since CloudWatch charges for each metric that it is told. */
  readonly kind: "always" | "trouble";
  readonly words: string;
}

export const SERVER_METRICS: Readonly<Record<ServerMetric, MetricKind>> = {
  Requests: { unit: "Count", statistic: "Sum", kind: "always", words: "requests of locations that were answered" },
  Refused: { unit: "Count", statistic: "Sum", kind: "trouble", words: "requests that were refused" },
  LatencyP50Ms: { unit: "Milliseconds", statistic: "Maximum", kind: "trouble", words: "median time of a request" },
  LatencyP99Ms: {
    unit: "Milliseconds",
    statistic: "Maximum",
    kind: "trouble",
    words: "time of a request, 99th percentile",
  },
  Pending: { unit: "Count", statistic: "Maximum", kind: "always", words: "intents that are not applied yet" },
  OldestPendingSeconds: { unit: "Seconds", statistic: "Maximum", kind: "always", words: "age of the oldest of them" },
  TasksReady: { unit: "Count", statistic: "Maximum", kind: "always", words: "tasks that may begin" },
  MissedTicks: { unit: "Count", statistic: "Sum", kind: "trouble", words: "ticks of schedules that made no call" },
  LeasedUnits: {
    unit: "Count",
    statistic: "Maximum",
    kind: "always",
    words: "units that locations answer for by read leases",
  },
  StorageP99Ms: {
    unit: "Milliseconds",
    statistic: "Maximum",
    kind: "trouble",
    words: "time of an operation of storage, 99th percentile",
  },
  StorageFailures: { unit: "Count", statistic: "Sum", kind: "trouble", words: "operations of storage that failed" },
  Throttles: { unit: "Count", statistic: "Sum", kind: "trouble", words: "requests that DynamoDB throttled" },
  MemoryPercent: {
    unit: "Percent",
    statistic: "Maximum",
    kind: "always",
    words: "memory of the server, of what it may take",
  },
  LoopDelayMs: {
    unit: "Milliseconds",
    statistic: "Maximum",
    kind: "always",
    words: "delay of the event loop, 99th percentile",
  },
};

/** Beyond these a server warns in its log, and the alarms of a deployment go off if it lasts. */
export const VITAL_LIMITS = {
  memoryPercent: 85,
  oldestPendingSeconds: 60,
  loopDelayMs: 500,
} as const;
