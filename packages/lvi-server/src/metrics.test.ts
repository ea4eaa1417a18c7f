import { readFile } from "node:fs/promises";
import { type ModuleHash, type UnitId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { Metrics } from "./metrics.ts";

const LOAD = {
  executions: 7,
  pending: 3,
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
  workflows: { running: 38, waiting: 39, undoing: 40, stuck: 41, oldestMs: null },
  leasedUnits: 21,
};

function metricsOf(): Metrics {
  return new Metrics({
    load: () => LOAD,
    workers: () => ({ workers: 2, busy: 3, aside: 1, queued: 4 }),
    epoch: () => 3,
    listeners: () => 6,
    leases: () => ({ granted: 22, revoked: 23, lapsed: 24 }),
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
  ])
    expect(said).toContain(line);
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
