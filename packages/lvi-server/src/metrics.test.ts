import { readFile } from "node:fs/promises";
import { type ModuleHash, type UnitId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { Distribution } from "./core/distribution.ts";
import type { Load } from "./core/events.ts";
import { Metrics } from "./metrics.ts";

const LOAD = {
  executions: 7,
  pending: 3,
  oldestPendingMs: 4_500,
  waiting: 2,
  overdue: 19,
  running: 1,
  lockedUnits: 5,
  hotUnits: 11,
  hotBytes: 1_100,
  finished: 13,
  answered: 17,
  clearing: 19,
  sessions: 20,
  tasks: {
    all: 31,
    ready: 32,
    running: 33,
    delayed: 34,
    dead: 35,
    blockedLanes: 36,
    oldestReadyMs: 37_000,
    argumentBytes: 42,
  },
  workflows: 158,
  leasedUnits: 21,
};

const START_DELAYS = new Distribution([0.1, 1, 10]);
for (const seconds of [0.05, 0.5, 0.7, 60]) START_DELAYS.observe(seconds);

const CALLED = { failures: 0, calling: 0, error: null };
const SERVICES = [
  { ...CALLED, name: "charge", breaker: "open" },
  { ...CALLED, name: "sendMail", breaker: "closed" },
] as const;

function metricsOf(load: () => Load = () => LOAD): Metrics {
  return new Metrics({
    load,
    workflows: () => ({ running: 38, waiting: 39, undoing: 40, stuck: 41, oldestMs: null }),
    taskStartDelays: () => START_DELAYS,
    services: () => SERVICES,
    workers: () => ({ workers: 2, busy: 3, aside: 1, queued: 4 }),
    epoch: () => 3,
    listeners: () => 6,
    leases: () => ({ granted: 22, revoked: 23, lapsed: 24 }),
    throttles: () => 25,
    traces: () => ({ told: 7, lost: 2 }),
    memoryBoundBytes: () => 26_000,
    loopDelayMs: () => 27,
  });
}

/** The samples of our metrics, without the text about them. */
async function samples(metrics: Metrics): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith("radical_"));
}

test("what is counted comes out as Prometheus text", async () => {
  const metrics = metricsOf();
  metrics.note({ name: "stale", units: [unitId("users", "a"), unitId("users", "b"), unitId("posts", "a")] });
  metrics.note({ name: "re_execution", cause: "contention" });
  metrics.note({ name: "near_storage", cause: "stale" });
  metrics.note({ name: "determinism_alarm" });
  metrics.note({ name: "wrote_on_get_alarm" });
  metrics.note({ name: "set_left", module: "a".repeat(64) as ModuleHash, handler: "say", times: 1 });
  metrics.note({ name: "gate" });
  metrics.note({ name: "waited", waitedMs: 30 });
  const times = { receivedAtMs: 0, sentAtMs: 0 };
  metrics.replied({ kind: "valid", commitId: null, times, asOf: null });
  metrics.replied({ kind: "refused", code: "busy", message: "", retryAfterMs: 1_000, asOf: null });
  const outcome = { kind: "abort", status: 409, code: "taken", message: "" } as const;
  metrics.replied({ kind: "executed", cause: "stale", outcome, repairs: [], times, asOf: null });
  metrics.followed("applied");
  metrics.operated("load", 2, null);
  metrics.operated("store_intent", 20, "unknown");
  metrics.ran("derive", "completed", 3);
  metrics.requested("lvi", 200, 1);
  metrics.signed("main");
  const said = await samples(metrics);
  for (const line of [
    'radical_validation_failures_total{table="users"} 2',
    'radical_validation_failures_total{table="posts"} 1',
    'radical_re_executions_total{cause="contention"} 1',
    'radical_near_storage_executions_total{cause="stale"} 1',
    'radical_alarms_total{alarm="determinism"} 1',
    'radical_alarms_total{alarm="lost_write"} 0',
    'radical_alarms_total{alarm="wrote_on_get"} 1',
    `radical_sets_left_total{module="${"a".repeat(64)}",handler="say"} 1`,
    'radical_events_total{event="gate"} 1',
    'radical_lock_wait_seconds_bucket{le="0.025"} 0',
    'radical_lock_wait_seconds_bucket{le="0.05"} 1',
    'radical_replies_total{kind="valid",reason="read_only"} 1',
    'radical_replies_total{kind="refused",reason="busy"} 1',
    'radical_replies_total{kind="executed",reason="stale",outcome="abort"} 1',
    'radical_followups_total{result="applied"} 1',
    'radical_storage_operation_seconds_count{operation="load"} 1',
    'radical_storage_failures_total{operation="store_intent",effect="unknown"} 1',
    'radical_run_seconds_count{mode="derive",ending="completed"} 1',
    'radical_http_request_seconds_count{route="lvi",status="200"} 1',
    'radical_signed_requests_total{key="main"} 1',
    "radical_executions 7",
    "radical_executions_waiting 2",
    "radical_executions_running 1",
    "radical_intents_pending 3",
    "radical_intent_oldest_seconds 4.5",
    "radical_storage_throttles_total 25",
    'radical_traced_executions_total{result="told"} 7',
    'radical_traced_executions_total{result="lost"} 2',
    "radical_memory_bound_bytes 26000",
    "radical_event_loop_delay_seconds 0.027",
    "radical_units_locked 5",
    "radical_hot_units 11",
    "radical_hot_bytes 1100",
    "radical_finished_executions 13",
    "radical_answered_requests 17",
    "radical_workers 2",
    "radical_workers_busy 3",
    "radical_workers_aside 1",
    "radical_worker_queue 4",
    "radical_serving 1",
    "radical_epoch 3",
    "radical_tasks 31",
    "radical_tasks_dead 35",
    "radical_tasks_ready 32",
    "radical_tasks_running 33",
    "radical_tasks_delayed 34",
    "radical_task_lanes_blocked 36",
    "radical_task_oldest_ready_seconds 37",
    'radical_task_start_delay_seconds_bucket{le="0.1"} 1',
    'radical_task_start_delay_seconds_bucket{le="1"} 3',
    'radical_task_start_delay_seconds_bucket{le="10"} 3',
    'radical_task_start_delay_seconds_bucket{le="+Inf"} 4',
    "radical_task_start_delay_seconds_sum 61.25",
    "radical_task_start_delay_seconds_count 4",
    "radical_workflows_stuck 41",
    'radical_service_breaker{service="charge",state="open"} 1',
    'radical_service_breaker{service="charge",state="closed"} 0',
    'radical_service_breaker{service="sendMail",state="closed"} 1',
  ])
    expect(said).toContain(line);
});

test("what is under way is gone through once, however many metrics are parts of it", async () => {
  let times = 0;
  const metrics = metricsOf(() => {
    times++;
    return LOAD;
  });
  await metrics.text();
  expect(times).toBe(1);
});

test("the totals of a minute's metrics are sums over all labels", () => {
  const metrics = metricsOf();
  const times = { receivedAtMs: 0, sentAtMs: 0 };
  metrics.replied({ kind: "valid", commitId: null, times, asOf: null });
  metrics.replied({ kind: "refused", code: "busy", message: "", retryAfterMs: 1_000, asOf: null });
  metrics.note({ name: "ticks_missed", handler: "nightly", times: 3 });
  metrics.note({ name: "ticks_made", handler: "nightly", times: 2 });
  metrics.operated("load", 2, null);
  metrics.operated("store_intent", 20, "unknown");
  metrics.requested("lvi", 200, 1);
  metrics.requested("lvi", 503, 2);
  metrics.requested("status", 200, 9_000);
  const { latency, storage, ...counts } = metrics.totals;
  expect(counts).toEqual({ requests: 2, refused: 1, missedTicks: 3, storageFailures: 1, throttles: 25 });
  expect(latency.sum).toBeCloseTo(0.003);
  expect(storage.sum).toBeCloseTo(0.022);
});

test("tables are told apart up to a number: locations name them", async () => {
  const metrics = metricsOf();
  const units: UnitId[] = Array.from({ length: 300 }, (_, index) => unitId(`table-${index}`, "x"));
  metrics.note({ name: "stale", units });
  metrics.note({ name: "stale", units: units.slice(0, 1) });
  const said = (await samples(metrics)).filter((line) => line.startsWith("radical_validation_failures_total"));
  expect(said.length).toBe(201);
  expect(said).toContain('radical_validation_failures_total{table="(other)"} 100');
  expect(said).toContain('radical_validation_failures_total{table="table-0"} 2');
});

test("the documentation names all metrics, and no others", async () => {
  const text = await metricsOf().text();
  const names = [...text.matchAll(/^# TYPE (radical_\w+)/gm)].map(([, name]) => name!);
  const page = await readFile(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/`(radical_\w+)`/g)].map(([, name]) => name!);
  expect(new Set(documented)).toEqual(new Set(names));
});
