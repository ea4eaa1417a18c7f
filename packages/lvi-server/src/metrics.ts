/**
 * What the server counts, as Prometheus text: what the core observes, what its driver does, and how full everything is.
 * Names and labels are described in docs/operations.md, which a test holds to this file.
 */
import { type FollowupVerdict, type LviReply, type ServiceStatus, tableOf, type UnitId } from "@radical/protocol";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { Distribution } from "./core/distribution.ts";
import type { Load, Note, NoteName, ShedReason } from "./core/events.ts";
import type { LeaseCounts } from "./core/read-leases.ts";
import type { RunResult, RunAccess } from "./core/run.ts";
import { START_DELAYS_SECONDS, type TaskCounts } from "./core/task-table.ts";
import type { WorkflowCounts } from "./core/workflow-table.ts";
import type { WorkerLoad } from "./execution/worker-pool.ts";
import type { Totals } from "./minute-metrics.ts";
import type { TraceCounts } from "./traces.ts";
import { type Count, CounterTally, HistogramTally, KeptHistogram } from "./tallies.ts";

/** Most tables that are told apart: their names come from locations. */
const MAX_TABLES = 200;
const OTHER_TABLE = "(other)";

/** From a hot storage to a handler at its limit. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const ALARMS = {
  determinism_alarm: "determinism",
  lost_write_alarm: "lost_write",
  intent_alarm: "intent",
  overdue_intent_alarm: "overdue_intent",
  wrote_on_get_alarm: "wrote_on_get",
  outside_tables_alarm: "outside_tables",
  forged_alarm: "forged",
  workflow_stuck_alarm: "workflow_stuck",
  workflow_undo_failed: "workflow_undo_failed",
} as const satisfies Partial<Record<NoteName, string>>;

const BREAKER_STATES: readonly ServiceStatus["breaker"][] = ["closed", "open", "probing"];
const NO_DELAYS = new Distribution(START_DELAYS_SECONDS);

/** Of a tick that made no task. */
const MISSED = "missed";
const SHED_REASONS: readonly ShedReason[] = ["event_loop", "memory"];

/** Where the metrics look when they are asked for. */
export interface Gauges {
  /** Null: this server does not serve. */
  load(): Load | null;
  workflows(): WorkflowCounts | null;
  /** For how many seconds tasks that began might have begun before; null: this server does not serve. */
  taskStartDelays(): Distribution | null;
  /** Those that were called. */
  services(): readonly ServiceStatus[];
  workers(): WorkerLoad | null;
  /** Of the leadership; 0 before the server leads. */
  epoch(): number;
  /** Who listens for updates. */
  listeners(): number;
  /** Of read leases, since the server has started; null: this server does not serve. */
  leases(): LeaseCounts | null;
  /** How many requests of storage were throttled, since the server has started. */
  throttles(): number;
  /** Executions with spans; null: there are none. */
  traces(): TraceCounts | null;
  /** The memory that the process may take. */
  memoryBoundBytes(): number;
  /** The delay of the event loop in the last whole minute, 99th percentile. */
  loopDelayMs(): number;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #gauges: Gauges;
  /** As of the last time when metrics were wanted: many of them are parts of one. */
  #load: Load | null = null;
  #workflows: WorkflowCounts | null = null;
  readonly #tables = new Set<string>();

  readonly #replies = this.#counter("radical_replies_total", "LVI requests that were answered.");
  readonly #validReadOnly = this.#replies.child({ kind: "valid", reason: "read_only" });
  readonly #validIntent = this.#replies.child({ kind: "valid", reason: "intent" });
  readonly #followups = this.#counter("radical_followups_total", "Followups that were answered.");
  readonly #stale = this.#counter("radical_validation_failures_total", "Units whose version was not the primary's.");
  readonly #reExecutions = this.#counter(
    "radical_re_executions_total",
    "Handlers that were run in place of their followup.",
  );
  readonly #nearStorage = this.#counter("radical_near_storage_executions_total", "Executions that ran near storage.");
  readonly #alarms = this.#counter("radical_alarms_total", "What must never happen, and has.");
  readonly #ticks = this.#counter(
    "radical_schedule_ticks_total",
    "Ticks of schedules, by handler and what has become of them: a task, or nothing since they were missed.",
  );
  readonly #setsLeft = this.#counter(
    "radical_sets_left_total",
    "Executions that have left the read/write set of their handler.",
  );
  readonly #serviceCalls = this.#counter(
    "radical_service_calls_total",
    "Calls of services by their answer: value, refused, failed, not-called, lost.",
  );
  readonly #shed = this.#counter(
    "radical_shed_requests_total",
    "Requests that were refused because the server could not keep up, by what was used up: event_loop, memory.",
  );
  readonly #events = this.#counter("radical_events_total", "Other things that have happened to executions.");
  readonly #waits = this.#histogram("radical_lock_wait_seconds", "Waits for units that others held.");
  readonly #clearWaits = this.#histogram("radical_clear_wait_seconds", "Waits of writers for read leases to end.");
  readonly #updates = this.#counter(
    "radical_updates_total",
    "Units that locations were told of, and that were left out.",
  );
  readonly #updateBytes = this.#counter(
    "radical_updates_bytes_total",
    "Bytes of what locations that listen were told.",
  ).child({});
  readonly #storage = this.#histogram("radical_storage_operation_seconds", "Operations of primary storage.");
  readonly #storageFailures = this.#counter("radical_storage_failures_total", "Those that failed.");
  readonly #runs = this.#histogram("radical_run_seconds", "Runs in worker threads, without their wait for one.");
  readonly #requests = this.#histogram("radical_http_request_seconds", "HTTP requests.");
  /** By route and status: there are few of both. */
  readonly #requestsOf = new Map<string, Map<number, Distribution>>();
  readonly #signatures = this.#counter("radical_signed_requests_total", "Requests that were signed well.");
  readonly #signaturesOf = new Map<string, Count>();

  constructor(gauges: Gauges) {
    this.#gauges = gauges;
    for (const alarm of Object.values(ALARMS)) this.#alarms.child({ alarm });
    for (const reason of SHED_REASONS) this.#shed.child({ reason });
    this.#waits.child({});
    this.#clearWaits.child({});
    const ofLeases = (name: string, help: string, of: keyof LeaseCounts): void =>
      void new Counter({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.reset();
          this.inc(gauges.leases()?.[of] ?? 0);
        },
      });
    ofLeases("radical_read_leases_granted_total", "Units that a session of a location was leased.", "granted");
    ofLeases("radical_read_leases_revoked_total", "Those whose lease was revoked.", "revoked");
    ofLeases("radical_sessions_lapsed_total", "Sessions that did not hear of a revocation in time.", "lapsed");
    void new Counter({
      name: "radical_storage_throttles_total",
      help: "Requests of storage that were throttled, whether they succeeded later or not.",
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(gauges.throttles());
      },
    });
    void new Counter({
      name: "radical_traced_executions_total",
      help: "Executions whose spans a collector has taken, and those whose spans are lost.",
      labelNames: ["result"],
      registers: [this.#registry],
      collect() {
        this.reset();
        const { told, lost } = gauges.traces() ?? { told: 0, lost: 0 };
        this.inc({ result: "told" }, told);
        this.inc({ result: "lost" }, lost);
      },
    });
    const ofLoad = (name: string, help: string, of: Exclude<keyof Load, "tasks" | "workflows">): void =>
      this.#gauge(name, help, () => this.#load?.[of] ?? 0);
    ofLoad("radical_executions", "Executions under way.", "executions");
    ofLoad("radical_intents_pending", "Intents that are durable and not applied.", "pending");
    this.#gauge(
      "radical_intent_oldest_seconds",
      "Age of the oldest of those; 0 if there are none.",
      () => (this.#load?.oldestPendingMs ?? 0) / 1_000,
    );
    ofLoad("radical_intents_overdue", "Those of which a run in place of the followup was ended.", "overdue");
    ofLoad("radical_executions_waiting", "Executions that wait for units that others hold.", "waiting");
    ofLoad("radical_executions_clearing", "Executions that wait for read leases to end.", "clearing");
    ofLoad("radical_executions_running", "Executions whose handler runs here, or waits for a worker.", "running");
    ofLoad("radical_units_locked", "Units that are held or waited for.", "lockedUnits");
    ofLoad("radical_hot_units", "Units whose version is in memory.", "hotUnits");
    ofLoad("radical_hot_bytes", "Bytes of those.", "hotBytes");
    ofLoad("radical_finished_executions", "Done executions whose outcome is in memory.", "finished");
    ofLoad("radical_answered_requests", "Requests without a trace that are remembered.", "answered");
    ofLoad("radical_sessions", "Sessions of isolates of locations.", "sessions");
    ofLoad("radical_read_leased_units", "Units that a session may answer for, each session for itself.", "leasedUnits");
    this.#effectGauges(gauges);
    const ofWorkers = (name: string, help: string, of: keyof WorkerLoad): void =>
      this.#gauge(name, help, () => gauges.workers()?.[of] ?? 0);
    ofWorkers("radical_workers", "Worker threads.", "workers");
    ofWorkers("radical_workers_busy", "Those that run a handler.", "busy");
    ofWorkers("radical_workers_aside", "Those of the busy ones that others have taken the place of.", "aside");
    ofWorkers("radical_worker_queue", "Runs that wait for a worker.", "queued");
    this.#gauge("radical_memory_bound_bytes", "Memory that the process may take.", () => gauges.memoryBoundBytes());
    this.#gauge(
      "radical_event_loop_delay_seconds",
      "Delay of the event loop in the last whole minute, 99th percentile.",
      () => gauges.loopDelayMs() / 1_000,
    );
    this.#gauge("radical_serving", "1 if this server leads and serves.", () => (this.#load === null ? 0 : 1));
    this.#gauge("radical_update_listeners", "Isolates of locations that listen for updates.", () => gauges.listeners());
    this.#gauge("radical_epoch", "Epoch of the leadership; 0 before the server leads.", () => gauges.epoch());
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    this.#load = this.#gauges.load();
    this.#workflows = this.#gauges.workflows();
    return this.#registry.metrics();
  }

  /** Goes through what is counted. */
  get totals(): Totals {
    const sum = (counts: readonly Count[]): number => counts.reduce((all, { count }) => all + count, 0);
    const merged = (all: readonly Distribution[]): Distribution => {
      const one = new Distribution(SECONDS);
      for (const each of all) one.add(each);
      return one;
    };
    const replies = this.#replies.children;
    return {
      requests: sum(replies.map(({ child }) => child)),
      refused: sum(replies.flatMap(({ labels, child }) => (labels["kind"] === "refused" ? [child] : []))),
      missedTicks: sum(
        this.#ticks.children.flatMap(({ labels, child }) => (labels["result"] === MISSED ? [child] : [])),
      ),
      storageFailures: sum(this.#storageFailures.children.map(({ child }) => child)),
      throttles: this.#gauges.throttles(),
      latency: merged(
        this.#requests.children.flatMap(({ labels, child }) => (labels["route"] === "lvi" ? [child] : [])),
      ),
      storage: merged(this.#storage.children.map(({ child }) => child)),
    };
  }

  #effectGauges(gauges: Gauges): void {
    const ofTasks = (name: string, help: string, of: Exclude<keyof TaskCounts, "oldestReadyMs">): void =>
      this.#gauge(name, help, () => this.#load?.tasks[of] ?? 0);
    ofTasks("radical_tasks", "Tasks in storage, dead ones among them.", "all");
    ofTasks("radical_tasks_dead", "Those whose attempts are over, until somebody sees to them.", "dead");
    ofTasks("radical_tasks_ready", "Tasks in memory that may begin.", "ready");
    ofTasks("radical_tasks_running", "Tasks whose attempt is under way.", "running");
    ofTasks(
      "radical_tasks_delayed",
      "Tasks in memory that are not due, or stand behind others of their lane.",
      "delayed",
    );
    ofTasks("radical_task_argument_bytes", "Bytes of the arguments of tasks in memory.", "argumentBytes");
    ofTasks(
      "radical_task_lanes_blocked",
      "Lanes whose first task is dead or waits for its next attempt.",
      "blockedLanes",
    );
    this.#gauge(
      "radical_task_oldest_ready_seconds",
      "Time for which the oldest task that may begin has waited.",
      () => (this.#load?.tasks.oldestReadyMs ?? 0) / 1_000,
    );
    void new KeptHistogram(
      this.#registry,
      "radical_task_start_delay_seconds",
      "Time from when a task might begin to when it began.",
      () => gauges.taskStartDelays() ?? NO_DELAYS,
    );
    const ofWorkflows = (state: "running" | "waiting" | "undoing" | "stuck", help: string): void =>
      this.#gauge(`radical_workflows_${state}`, help, () => this.#workflows?.[state] ?? 0);
    ofWorkflows("running", "Workflows that run, or whose steps do.");
    ofWorkflows("waiting", "Workflows that wait for time or for a signal.");
    ofWorkflows("undoing", "Workflows that have failed, and undo what they had done.");
    ofWorkflows("stuck", "Workflows that can't go on until somebody sees to it.");
    this.#gauge("radical_workflow_oldest_seconds", "The age of the oldest workflow that has not ended.", () => {
      const oldestMs = this.#workflows?.oldestMs ?? null;
      return oldestMs === null ? 0 : (Date.now() - oldestMs) / 1_000;
    });
    const breakers: Gauge = new Gauge({
      name: "radical_service_breaker",
      help: "1 for the state in which the breaker of a service is: closed, open or probing.",
      labelNames: ["service", "state"],
      registers: [this.#registry],
      collect: () => {
        breakers.reset();
        for (const { name: service, breaker } of gauges.services())
          for (const state of BREAKER_STATES) breakers.set({ service, state }, breaker === state ? 1 : 0);
      },
    });
  }

  note({ name, cause, units, waitedMs, module, handler, times, answer }: Note): void {
    switch (name) {
      case "determinism_alarm":
      case "lost_write_alarm":
      case "intent_alarm":
      case "overdue_intent_alarm":
      case "wrote_on_get_alarm":
      case "outside_tables_alarm":
      case "forged_alarm":
      case "workflow_stuck_alarm":
      case "workflow_undo_failed":
        this.#alarms.child({ alarm: ALARMS[name] }).count++;
        return;
      case "set_left":
        // Builds and handlers are registered, so there are few.
        this.#setsLeft.child({ module: module ?? "", handler: handler ?? "" }).count++;
        return;
      case "ticks_made":
      case "ticks_missed":
        this.#ticks.child({ handler: handler ?? "", result: name === "ticks_made" ? "made" : MISSED }).count +=
          times ?? 0;
        return;
      case "stale":
        for (const unit of units ?? []) this.#stale.child({ table: this.#tableOf(unit) }).count++;
        return;
      case "re_execution":
        this.#reExecutions.child({ cause: cause ?? "" }).count++;
        return;
      case "near_storage":
        this.#nearStorage.child({ cause: cause ?? "" }).count++;
        return;
      case "waited":
        this.#waits.child({}).observe((waitedMs ?? 0) / 1_000);
        return;
      case "cleared":
        this.#clearWaits.child({}).observe((waitedMs ?? 0) / 1_000);
        return;
      case "shed":
        this.#shed.child({ reason: cause ?? "" }).count++;
        return;
      case "service_called":
        // Modules name the services, so there are few.
        this.#serviceCalls.child({ service: handler ?? "", answer: answer ?? "" }).count++;
        return;
      // The log has the lines.
      case "handler_log":
      case "valid":
      case "refused":
      case "followup_applied":
      case "followup_late":
      case "followup_unknown":
      case "followup_not_covered":
      case "storage_failed":
        // Counted where they are answered, or fail.
        return;
      case "own_write":
      case "queued_behind":
      case "joined":
      case "stored_outcome":
      case "followup_lost":
      case "re_execution_killed":
      case "audit_passed":
      case "audit_given_up":
      case "abandoned_intent":
      case "contended":
      case "task_done":
      case "task_failed":
      case "task_dead":
      case "workflow_started":
      case "workflow_step_failed":
      case "workflow_undoing":
      case "workflow_ended":
      case "task_cancelled":
      case "task_ordered":
      case "train":
      case "train_left":
      case "contention_round":
      case "gate":
      case "index_turned":
      case "service_refused":
      case "service_unknown":
      case "service_down":
      case "service_up":
        this.#events.child({ event: name }).count++;
        return;
      // Dashboards know the label by its first name.
      case "leadership_run_out":
        this.#events.child({ event: "lease_run_out" }).count++;
        return;
      case "leadership_regained":
        this.#events.child({ event: "lease_regained" }).count++;
        return;
    }
  }

  replied(reply: LviReply): void {
    switch (reply.kind) {
      case "valid":
        (reply.commitId === null ? this.#validReadOnly : this.#validIntent).count++;
        return;
      case "executed":
        this.#replies.child({ kind: "executed", reason: reply.cause, outcome: reply.outcome.kind }).count++;
        return;
      case "refused":
        this.#replies.child({ kind: "refused", reason: reply.code }).count++;
        return;
      case "working":
        this.#replies.child({ kind: "working", reason: reply.state }).count++;
        return;
    }
  }

  followed(result: FollowupVerdict): void {
    this.#followups.child({ result }).count++;
  }

  updated(isSent: boolean, units: number): void {
    this.#updates.child({ result: isSent ? "sent" : "left_out" }).count += units;
  }

  updateBytes(bytes: number): void {
    this.#updateBytes.count += bytes;
  }

  operated(operation: string, tookMs: number, failure: "none" | "unknown" | null): void {
    this.#storage.child({ operation }).observe(tookMs / 1_000);
    if (failure !== null) this.#storageFailures.child({ operation, effect: failure }).count++;
  }

  ran(mode: RunAccess["kind"], ending: RunResult["kind"], tookMs: number): void {
    this.#runs.child({ mode, ending }).observe(tookMs / 1_000);
  }

  requested(route: string, status: number, tookMs: number): void {
    let byStatus = this.#requestsOf.get(route);
    if (byStatus === undefined) this.#requestsOf.set(route, (byStatus = new Map<number, Distribution>()));
    let requests = byStatus.get(status);
    if (requests === undefined)
      byStatus.set(status, (requests = this.#requests.child({ route, status: String(status) })));
    requests.observe(tookMs / 1_000);
  }

  signed(key: string): void {
    let signed = this.#signaturesOf.get(key);
    if (signed === undefined) this.#signaturesOf.set(key, (signed = this.#signatures.child({ key })));
    signed.count++;
  }

  #tableOf(unit: UnitId): string {
    const table = tableOf(unit);
    if (this.#tables.size < MAX_TABLES) this.#tables.add(table);
    return this.#tables.has(table) ? table : OTHER_TABLE;
  }

  #counter(name: string, help: string): CounterTally {
    return new CounterTally(this.#registry, name, help);
  }

  #histogram(name: string, help: string): HistogramTally {
    return new HistogramTally(this.#registry, name, help, SECONDS);
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.#registry], collect: () => gauge.set(value()) });
  }
}
