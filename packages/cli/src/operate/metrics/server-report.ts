/** How a server does, from its metrics at two times. */
import { quantileOf } from "@radical/protocol";
import { histogram, type Samples, total } from "./prometheus-text.ts";

/** Of a time: seconds at three quantiles; null: nothing has taken any. */
export interface Quantiles {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

/** Rates are a second. */
export interface ServerReport {
  readonly serves: boolean;
  readonly epoch: number;
  readonly requests: {
    readonly rate: number;
    readonly valid: number;
    readonly executed: number;
    readonly refused: number;
    readonly seconds: Quantiles;
  };
  readonly followups: number;
  readonly storage: {
    readonly rate: number;
    readonly seconds: Quantiles;
    readonly failures: number;
    readonly throttles: number;
  };
  readonly intents: { readonly pending: number; readonly oldestSeconds: number };
  readonly executions: { readonly all: number; readonly waiting: number; readonly running: number };
  readonly workers: { readonly all: number; readonly busy: number; readonly queued: number };
  readonly tasks: {
    readonly all: number;
    readonly ready: number;
    readonly running: number;
    readonly dead: number;
    readonly oldestReadySeconds: number;
  };
  readonly workflows: { readonly running: number; readonly waiting: number; readonly stuck: number };
  readonly leases: {
    readonly sessions: number;
    readonly units: number;
    readonly granted: number;
    readonly revoked: number;
    readonly lapsed: number;
  };
  readonly memory: { readonly bytes: number; readonly boundBytes: number };
  readonly eventLoopSeconds: number;
  /** Since it has started, by the alarm. */
  readonly alarms: Readonly<Record<string, number>>;
  /** Requests since it has started, by the id of the key that signed them. */
  readonly signed: Readonly<Record<string, number>>;
  readonly upSeconds: number;
}

/** `before`: of so many seconds ago. A server that was started meanwhile has counted from 0. */
export function serverReport(before: Samples, after: Samples, seconds: number, nowMs: number): ServerReport {
  const startedAt = (samples: Samples): number => total(samples, "process_start_time_seconds");
  const since: Samples = startedAt(before) === startedAt(after) ? before : new Map();
  const now = (name: string, labels?: Readonly<Record<string, string>>): number => total(after, name, labels);
  const rate = (name: string, labels?: Readonly<Record<string, string>>): number =>
    Math.max(0, now(name, labels) - total(since, name, labels)) / seconds;
  const quantiles = (name: string, labels?: Readonly<Record<string, string>>): Quantiles => {
    const [first, { bounds, counts }] = [histogram(since, name, labels), histogram(after, name, labels)];
    const during = counts.map((count, at) => Math.max(0, count - (first.counts[at] ?? 0)));
    const at = (part: number): number | null => quantileOf(bounds, during, part);
    return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  };
  const counts = (name: string, label: string): Readonly<Record<string, number>> => {
    const counted = (after.get(name) ?? []).filter(({ value }) => value > 0);
    return Object.fromEntries(counted.map(({ labels, value }) => [labels[label] ?? "", value]));
  };
  return {
    serves: now("radical_serving") === 1,
    epoch: now("radical_epoch"),
    requests: {
      rate: rate("radical_replies_total"),
      valid: rate("radical_replies_total", { kind: "valid" }),
      executed: rate("radical_replies_total", { kind: "executed" }),
      refused: rate("radical_replies_total", { kind: "refused" }),
      seconds: quantiles("radical_http_request_seconds", { route: "lvi" }),
    },
    followups: rate("radical_followups_total"),
    storage: {
      rate: rate("radical_storage_operation_seconds_count"),
      seconds: quantiles("radical_storage_operation_seconds"),
      failures: rate("radical_storage_failures_total"),
      throttles: rate("radical_storage_throttles_total"),
    },
    intents: { pending: now("radical_intents_pending"), oldestSeconds: now("radical_intent_oldest_seconds") },
    executions: {
      all: now("radical_executions"),
      waiting: now("radical_executions_waiting"),
      running: now("radical_executions_running"),
    },
    workers: { all: now("radical_workers"), busy: now("radical_workers_busy"), queued: now("radical_worker_queue") },
    tasks: {
      all: now("radical_tasks"),
      ready: now("radical_tasks_ready"),
      running: now("radical_tasks_running"),
      dead: now("radical_tasks_dead"),
      oldestReadySeconds: now("radical_task_oldest_ready_seconds"),
    },
    workflows: {
      running: now("radical_workflows_running"),
      waiting: now("radical_workflows_waiting"),
      stuck: now("radical_workflows_stuck"),
    },
    leases: {
      sessions: now("radical_sessions"),
      units: now("radical_read_leased_units"),
      granted: rate("radical_read_leases_granted_total"),
      revoked: rate("radical_read_leases_revoked_total"),
      lapsed: rate("radical_sessions_lapsed_total"),
    },
    memory: { bytes: now("process_resident_memory_bytes"), boundBytes: now("radical_memory_bound_bytes") },
    eventLoopSeconds: now("radical_event_loop_delay_seconds"),
    alarms: counts("radical_alarms_total", "alarm"),
    signed: counts("radical_signed_requests_total", "key"),
    upSeconds: Math.max(0, nowMs / 1_000 - startedAt(after)),
  };
}
