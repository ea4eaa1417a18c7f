import { SERVER_METRICS, VITAL_LIMITS } from "@radical/protocol";
import { expect, test } from "vitest";
import { Distribution } from "./core/distribution.ts";
import type { Load } from "./core/events.ts";
import { embedded, minuteMetrics, type Standing, type Totals, warningsOf } from "./minute-metrics.ts";

const TASKS = { ready: 4 } as Load["tasks"];
const STANDING: Standing = {
  load: { pending: 3, oldestPendingMs: 1_900, tasks: TASKS, leasedUnits: 7 },
  memoryBytes: 250,
  memoryBoundBytes: 1_000,
  loopDelayMs: 1.234,
};

function totals(more: Partial<Totals> = {}, observed: readonly number[] = []): Totals {
  const [latency, storage] = [new Distribution([0.001, 0.01, 0.1]), new Distribution([0.001, 0.01, 0.1])];
  for (const seconds of observed) latency.observe(seconds);
  return { requests: 0, refused: 0, missedTicks: 0, storageFailures: 0, throttles: 0, latency, storage, ...more };
}

test("a quiet minute has no metrics of troubles", () => {
  expect(minuteMetrics(totals(), totals(), STANDING)).toEqual({
    Requests: 0,
    Pending: 3,
    OldestPendingSeconds: 1,
    TasksReady: 4,
    LeasedUnits: 7,
    MemoryPercent: 25,
    LoopDelayMs: 1.23,
  });
});

test("counts are those of the minute, and so are quantiles", () => {
  const before = totals({ requests: 10, refused: 1, throttles: 5 }, [0.09, 0.09]);
  const after = totals({ requests: 30, refused: 4, throttles: 7, missedTicks: 1, storageFailures: 2 }, [
    0.09,
    0.09,
    ...Array.from({ length: 20 }, () => 0.0005),
  ]);
  expect(minuteMetrics(before, after, STANDING)).toMatchObject({
    Requests: 20,
    Refused: 3,
    Throttles: 2,
    MissedTicks: 1,
    StorageFailures: 2,
    LatencyP50Ms: 0.5,
    LatencyP99Ms: 0.99,
  });
});

test("a server that does not serve tells of its process only", () => {
  const metrics = minuteMetrics(totals(), totals({ requests: 1 }, [0.05]), { ...STANDING, load: null });
  expect(metrics).toEqual({ MemoryPercent: 25, LoopDelayMs: 1.23 });
});

test("embedded, each metric is named with its unit, and is a field of the line", () => {
  const metrics = minuteMetrics(totals(), totals({ throttles: 2 }), STANDING);
  const line = embedded(metrics, "Radical/shop/production", 17);
  expect(line).toMatchObject({
    ...metrics,
    _aws: { Timestamp: 17, CloudWatchMetrics: [{ Namespace: "Radical/shop/production", Dimensions: [[]] }] },
  });
  const told = line["_aws"] as { CloudWatchMetrics: [{ Metrics: { Name: string; Unit: string }[] }] };
  const [{ Metrics }] = told.CloudWatchMetrics;
  expect(Metrics.map(({ Name }) => Name)).toEqual(Object.keys(metrics));
  for (const { Name, Unit } of Metrics) expect(Unit).toBe(SERVER_METRICS[Name as keyof typeof SERVER_METRICS].unit);
});

test("what is beyond a bound is a warning, and what is at it is none", () => {
  const warned = (standing: Partial<Standing>, more: Partial<Totals> = {}): readonly string[] => {
    const stands = { ...STANDING, ...standing };
    return [...warningsOf(minuteMetrics(totals(), totals(more), stands), stands).keys()];
  };
  const { memoryPercent, oldestPendingSeconds, loopDelayMs } = VITAL_LIMITS;
  const pending = (seconds: number): Standing["load"] => ({ ...STANDING.load!, oldestPendingMs: seconds * 1_000 });
  expect(warned({ memoryBytes: memoryPercent * 10, load: pending(oldestPendingSeconds), loopDelayMs })).toEqual([]);
  expect(warned({ memoryBytes: memoryPercent * 10 + 1 })).toEqual(["memory_near_bound"]);
  expect(warned({ load: pending(oldestPendingSeconds + 1) })).toEqual(["intents_wait"]);
  expect(warned({ loopDelayMs: loopDelayMs + 1 })).toEqual(["event_loop_late"]);
  expect(warned({}, { throttles: 1 })).toEqual(["storage_throttled"]);
});
