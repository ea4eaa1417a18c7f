/** The numbers of a minute, for the line of metrics and for warnings: made of what was counted before it and after it. */
import { quantileOf, SERVER_METRICS, type ServerMetric, VITAL_LIMITS } from "@radical/protocol";
import type { Distribution } from "./core/distribution.ts";
import type { Load } from "./core/events.ts";
import type { Fields } from "./log.ts";

/** Counts since the process has started. */
export interface Totals {
  readonly requests: number;
  readonly refused: number;
  readonly missedTicks: number;
  readonly storageFailures: number;
  readonly throttles: number;
  /** Seconds of the requests of locations, and of operations of storage. */
  readonly latency: Distribution;
  readonly storage: Distribution;
}

/** How things stand at the end of the minute. */
export interface Standing {
  /** Null: this server does not serve. */
  readonly load: Pick<Load, "pending" | "oldestPendingMs" | "tasks" | "leasedUnits"> | null;
  readonly memoryBytes: number;
  readonly memoryBoundBytes: number;
  readonly loopDelayMs: number;
}

export type MinuteMetrics = Readonly<Partial<Record<ServerMetric, number>>>;

/** Of a server that does not serve: only what is about its process and its storage. */
export function minuteMetrics(before: Totals, after: Totals, standing: Standing): MinuteMetrics {
  const { load, memoryBytes, memoryBoundBytes, loopDelayMs } = standing;
  const more = (of: "requests" | "refused" | "missedTicks" | "storageFailures" | "throttles"): number =>
    after[of] - before[of];
  const ms = (of: "latency" | "storage", part: number): number =>
    rounded((quantileBetween(before[of], after[of], part) ?? 0) * 1_000);
  const values: Record<ServerMetric, number | null> = {
    Requests: load && more("requests"),
    Refused: more("refused"),
    LatencyP50Ms: load && ms("latency", 0.5),
    LatencyP99Ms: load && ms("latency", 0.99),
    Pending: load && load.pending,
    OldestPendingSeconds: load && Math.floor(load.oldestPendingMs / 1_000),
    TasksReady: load && load.tasks.ready,
    MissedTicks: more("missedTicks"),
    LeasedUnits: load && load.leasedUnits,
    StorageP99Ms: ms("storage", 0.99),
    StorageFailures: more("storageFailures"),
    Throttles: more("throttles"),
    MemoryPercent: rounded((100 * memoryBytes) / memoryBoundBytes),
    LoopDelayMs: rounded(loopDelayMs),
  };
  const told = (Object.keys(values) as ServerMetric[]).flatMap((name): [ServerMetric, number][] => {
    const value = values[name];
    return value === null || (value === 0 && SERVER_METRICS[name].kind === "trouble") ? [] : [[name, value]];
  });
  return Object.fromEntries(told);
}

/** The metrics as CloudWatch takes them out of a line of log. */
export function embedded(metrics: MinuteMetrics, namespace: string, timeMs: number): Readonly<Record<string, unknown>> {
  const Metrics = (Object.keys(metrics) as ServerMetric[]).map((Name) => ({ Name, Unit: SERVER_METRICS[Name].unit }));
  return {
    _aws: { Timestamp: timeMs, CloudWatchMetrics: [{ Namespace: namespace, Dimensions: [[]], Metrics }] },
    ...metrics,
  };
}

/** Warnings by their event. */
export function warningsOf(
  metrics: MinuteMetrics,
  { memoryBytes, memoryBoundBytes }: Standing,
): ReadonlyMap<string, Fields> {
  const { MemoryPercent = 0, LoopDelayMs = 0, Pending = 0, OldestPendingSeconds = 0, Throttles = 0 } = metrics;
  const warnings = new Map<string, Fields>();
  if (MemoryPercent > VITAL_LIMITS.memoryPercent)
    warnings.set("memory_near_bound", { memoryBytes, boundBytes: memoryBoundBytes, percent: MemoryPercent });
  if (OldestPendingSeconds > VITAL_LIMITS.oldestPendingSeconds)
    warnings.set("intents_wait", { pending: Pending, oldestSeconds: OldestPendingSeconds });
  if (LoopDelayMs > VITAL_LIMITS.loopDelayMs) warnings.set("event_loop_late", { delayMs: LoopDelayMs });
  if (Throttles > 0) warnings.set("storage_throttled", { times: Throttles });
  return warnings;
}

function quantileBetween(before: Distribution, after: Distribution, part: number): number | null {
  const counts = after.counts.map((count, at) => count - (before.counts[at] ?? 0));
  return quantileOf(after.bounds, counts, part);
}

/** To a hundredth. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
