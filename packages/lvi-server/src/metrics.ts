/**
 * What the server counts, as Prometheus text: what the core observes, what its driver does, and how full everything is.
 * Names and labels are described in docs/operations.md, which a test holds to this file.
 */
import { type FollowupResult, type LviReply, splitUnit, type UnitId } from "@radical/protocol";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Load, Note, NoteName } from "./core/events.ts";
import type { ExecutionResult, TaskAccess } from "./core/execution-task.ts";
import type { WorkerLoad } from "./execution/worker-pool.ts";

/** Most tables that are told apart: their names come from locations. */
const MAX_TABLES = 200;
const OTHER_TABLE = "(other)";

/** From a hot storage to a handler at its limit. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const ALARMS = {
  determinism_alarm: "determinism",
  lost_write_alarm: "lost_write",
  intent_alarm: "intent",
} as const satisfies Partial<Record<NoteName, string>>;

/** Where the metrics look when they are asked for. */
export interface Gauges {
  /** Null: this server does not serve. */
  load(): Load | null;
  workers(): WorkerLoad | null;
  /** Of the lease; 0 without one. */
  epoch(): number;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #tables = new Set<string>();

  readonly #replies = this.#counter("radical_replies_total", "LVI requests that were answered.", [
    "kind",
    "reason",
    "outcome",
  ]);
  readonly #followups = this.#counter("radical_followups_total", "Followups that were answered.", ["result"]);
  readonly #stale = this.#counter("radical_validation_failures_total", "Units whose version was not the primary's.", [
    "table",
  ]);
  readonly #reExecutions = this.#counter(
    "radical_re_executions_total",
    "Handlers that were run in place of their followup.",
    ["cause"],
  );
  readonly #nearStorage = this.#counter("radical_near_storage_executions_total", "Executions that ran near storage.", [
    "cause",
  ]);
  readonly #alarms = this.#counter("radical_alarms_total", "What must never happen, and has.", ["alarm"]);
  readonly #events = this.#counter("radical_events_total", "Other things that have happened to executions.", ["event"]);
  readonly #waits = this.#histogram("radical_lock_wait_seconds", "Waits for units that others held.", []);
  readonly #storage = this.#histogram("radical_storage_operation_seconds", "Operations of primary storage.", [
    "operation",
  ]);
  readonly #storageFailures = this.#counter("radical_storage_failures_total", "Those that failed.", [
    "operation",
    "effect",
  ]);
  readonly #runs = this.#histogram("radical_run_seconds", "Runs in worker threads, without their wait for one.", [
    "mode",
    "ending",
  ]);
  readonly #requests = this.#histogram("radical_http_request_seconds", "HTTP requests.", ["route", "status"]);
  readonly #signatures = this.#counter("radical_signed_requests_total", "Requests that were signed well.", ["key"]);

  constructor(gauges: Gauges) {
    for (const alarm of Object.values(ALARMS)) this.#alarms.inc({ alarm }, 0);
    const ofLoad = (name: string, help: string, of: keyof Load): void =>
      this.#gauge(name, help, () => gauges.load()?.[of] ?? 0);
    ofLoad("radical_executions", "Executions under way.", "executions");
    ofLoad("radical_intents_pending", "Intents that are durable and not applied.", "pending");
    ofLoad("radical_executions_waiting", "Executions that wait for units that others hold.", "waiting");
    ofLoad("radical_executions_running", "Executions whose handler runs here, or waits for a worker.", "running");
    ofLoad("radical_units_locked", "Units that are held or waited for.", "lockedUnits");
    ofLoad("radical_hot_units", "Units whose version is in memory.", "hotUnits");
    ofLoad("radical_hot_bytes", "Bytes of those.", "hotBytes");
    ofLoad("radical_finished_executions", "Done executions whose outcome is in memory.", "finished");
    ofLoad("radical_answered_requests", "Requests without a trace that are remembered.", "answered");
    const ofWorkers = (name: string, help: string, of: keyof WorkerLoad): void =>
      this.#gauge(name, help, () => gauges.workers()?.[of] ?? 0);
    ofWorkers("radical_workers", "Worker threads.", "workers");
    ofWorkers("radical_workers_busy", "Those that run a handler.", "busy");
    ofWorkers("radical_workers_aside", "Those of the busy ones that others have taken the place of.", "aside");
    ofWorkers("radical_worker_queue", "Runs that wait for a worker.", "queued");
    this.#gauge("radical_serving", "1 if this server has the lease and serves.", () =>
      gauges.load() === null ? 0 : 1,
    );
    this.#gauge("radical_epoch", "Epoch of the lease; 0 without one.", () => gauges.epoch());
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  note({ name, cause, units, waitedMs }: Note): void {
    switch (name) {
      case "determinism_alarm":
      case "lost_write_alarm":
      case "intent_alarm":
        return this.#alarms.inc({ alarm: ALARMS[name] });
      case "stale":
        for (const unit of units ?? []) this.#stale.inc({ table: this.#tableOf(unit) });
        return;
      case "re_execution":
        return this.#reExecutions.inc({ cause: cause ?? "" });
      case "near_storage":
        return this.#nearStorage.inc({ cause: cause ?? "" });
      case "waited":
        return this.#waits.observe((waitedMs ?? 0) / 1_000);
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
      case "abandoned_intent":
      case "contention_round":
      case "gate":
        return this.#events.inc({ event: name });
    }
  }

  replied(reply: LviReply): void {
    switch (reply.kind) {
      case "valid":
        return this.#replies.inc({ kind: "valid", reason: reply.commitId === null ? "read_only" : "intent" });
      case "executed":
        return this.#replies.inc({ kind: "executed", reason: reply.cause, outcome: reply.outcome.kind });
      case "refused":
        return this.#replies.inc({ kind: "refused", reason: reply.code });
    }
  }

  followed(result: FollowupResult): void {
    this.#followups.inc({ result });
  }

  operated(operation: string, tookMs: number, failure: "none" | "unknown" | null): void {
    this.#storage.observe({ operation }, tookMs / 1_000);
    if (failure !== null) this.#storageFailures.inc({ operation, effect: failure });
  }

  ran(mode: TaskAccess["kind"], ending: ExecutionResult["kind"], tookMs: number): void {
    this.#runs.observe({ mode, ending }, tookMs / 1_000);
  }

  requested(route: string, status: number, tookMs: number): void {
    this.#requests.observe({ route, status }, tookMs / 1_000);
  }

  signed(key: string): void {
    this.#signatures.inc({ key });
  }

  #tableOf(unit: UnitId): string {
    const { table } = splitUnit(unit);
    if (this.#tables.size < MAX_TABLES) this.#tables.add(table);
    return this.#tables.has(table) ? table : OTHER_TABLE;
  }

  #counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  #histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Histogram<Label> {
    return new Histogram({
      name,
      help,
      labelNames: [...labelNames],
      buckets: SECONDS,
      registers: [this.#registry],
    });
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.#registry], collect: () => gauge.set(value()) });
  }
}
