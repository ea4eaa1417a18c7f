/**
 * Attempts of tasks whose callee is a service: the primary calls the application's Worker in place of running a handler.
 *
 *   marking ── calling ── settling ──┬── gone
 *                                    └── delayed (the next attempt), or dead
 *
 * Before the first call the record is marked with the time, which is durable before anything leaves. All calls of a task have one
 * key. Services forget keys, so nothing is sent when the key window since the mark is over: nobody knows then whether the last
 * call was done. The answer is kept in memory until its settlement is durable, and the service is not called again for it.
 */
import {
  assert,
  type ExecutionId,
  present,
  type Settled,
  type ServiceAnswer,
  serviceKeyOf,
  type ServiceRules,
  type ServiceStatus,
  UNKNOWN,
} from "@radical/protocol";
import { Breaker, type BreakerOptions, type Probe } from "./breaker.ts";
import type { CompleteResult, Effect, Fact, NoteName, Note, OperationId } from "./events.ts";
import type { Instant } from "./task-table.ts";
import { errorOf, settled, type Task, type TaskError } from "./task.ts";
import { type UndoFailure, wordsOfFailures } from "./undo-failure.ts";
import { stepPart, type Workflow, type WorkflowPart } from "./workflow.ts";

export interface ServiceOptions extends BreakerOptions {
  /** Longest time of a call. */
  readonly timeoutMs: number;
  /** Most calls of one service at once. */
  readonly atOnce: number;
}

export const DEFAULT_SERVICE_OPTIONS: ServiceOptions = {
  timeoutMs: 30_000,
  atOnce: 32,
  opensAfter: 5,
  firstPauseMs: 1_000,
  longestPauseMs: 60_000,
};

/** Names a call of a service. */
export type CallId = number;

/** How a call has ended. */
export type CallAnswer =
  | ServiceAnswer
  /** No answer came that could be trusted: it may have been done. */
  | { readonly kind: "lost"; readonly message: string };

/** A record of a task that changes outside of any execution. */
export interface TaskChange {
  readonly id: ExecutionId;
  readonly expects: { readonly attempt: number; readonly lane: string | null };
  /** Null: it is removed. */
  readonly becomes: Task | null;
  /** In place of the one that is removed: `Withdrawal`. Left out: nothing is. */
  readonly leaves?: Workflow;
  /** Of a step of a workflow that has ended: it arrives there. Left out: nothing does. */
  readonly arrival?: WorkflowPart;
}

/** The record of a task as storage has it after a change; null: there is none. Somebody else may have changed it before. */
export function taskAfter(
  { becomes }: TaskChange,
  result: Exclude<CompleteResult, { readonly kind: "fenced" }>,
): Task | null {
  if (result.kind === "applied") return becomes;
  return result.record?.state === "task" ? result.record.task : null;
}

/** The part of the core that services need. */
export interface ServiceGround {
  readonly nextName: () => number;
  readonly emit: (effect: Effect) => void;
  /** Carries the effect out again, after a pause. */
  readonly retry: (operation: OperationId, effect: Effect) => void;
  readonly rulesOf: (service: string) => ServiceRules | null;
  readonly attemptsOf: (service: string) => number;
  /** It is durable. */
  readonly arrived: (part: WorkflowPart) => void;
  /** The record of the task has changed: it runs no more. */
  readonly settled: (task: Task, next: Task | null) => void;
  readonly note: (name: NoteName, task: Task, more: Omit<Note, "name" | "executionId" | "module">) => void;
  readonly undoFailed: (failure: UndoFailure) => void;
  readonly replaced: () => void;
}

/** An attempt that is under way. */
interface Call {
  task: Task;
  readonly rules: ServiceRules;
  readonly probe: Probe;
  /** Nothing was ever sent for the task before this attempt. */
  readonly isFirst: boolean;
  /** Storage is asked for it. Null: it is asked for nothing. */
  change: { readonly kind: "mark" | "settle"; readonly effect: Effect & { kind: "change-task" } } | null;
}

interface Service {
  readonly breaker: Breaker;
  calling: number;
  error: TaskError | null;
}

export class Services {
  readonly #options: ServiceOptions;
  readonly #ground: ServiceGround;
  readonly #services = new Map<string, Service>();
  readonly #calls = new Map<CallId, Call>();
  readonly #changes = new Map<OperationId, Call>();
  #calling = 0;

  constructor(options: ServiceOptions, ground: ServiceGround) {
    this.#options = options;
    this.#ground = ground;
  }

  /** The record of a task is about to change. */
  get isChanging(): boolean {
    return this.#changes.size > 0;
  }

  /** Attempts under way. */
  get calling(): number {
    return this.#calling;
  }

  /** Those that were called since the server has started. */
  get statuses(): readonly ServiceStatus[] {
    return Array.from(this.#services, ([name, { breaker, calling, error }]) => ({
      name,
      breaker: breaker.state,
      failures: breaker.failures,
      calling,
      error: error === null ? null : { ...error },
    })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Whether a task of the service may begin. */
  mayCall(service: string, nowMs: number): boolean {
    if (this.#ground.rulesOf(service) === null) return false;
    const known = this.#services.get(service);
    return known === undefined || (known.calling < this.#options.atOnce && known.breaker.mayCall(nowMs));
  }

  /** When a breaker lets its probe begin. Infinity: none waits for a time. */
  wakeAtMs(nowMs: number): number {
    let atMs = Infinity;
    for (const { breaker } of this.#services.values()) atMs = Math.min(atMs, breaker.wakeAtMs(nowMs));
    return atMs;
  }

  // ── An attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────

  begin(task: Task, now: Instant): void {
    const rules = present(this.#ground.rulesOf(task.handler), "a service that may be called is known");
    const service = this.#service(task.handler);
    service.calling++;
    this.#calling++;
    // variant: service-first
    const isFirst = task.sentAtMs === null;
    const call: Call = { task, rules, probe: service.breaker.began(), isFirst, change: null };
    if (isFirst) return this.#mark(call, now);
    const why = this.#mayNotRepeat(call, now);
    if (why === null) return this.#send(call);
    service.breaker.gaveUp(call.probe);
    this.#unknown(call, why, now);
  }

  /** Why the service is not called again for the task; null: it may be. */
  #mayNotRepeat(call: Call, now: Instant): string | null {
    // variant: service-once
    if (call.rules.once) return wordsOfOnce(call.task);
    // variant: service-window
    return this.#isWindowOver(call, now) ? wordsOfWindow(call.task, call.rules) : null;
  }

  #mark(call: Call, { wallMs }: Instant): void {
    const marked = { ...call.task, sentAtMs: wallMs };
    // variant: service-marked
    this.#change(call, "mark", marked);
    call.task = marked;
  }

  /** A call may arrive as late as its time allows. */
  #isWindowOver({ task, rules }: Call, { wallMs }: Instant): boolean {
    const { sentAtMs } = task;
    return sentAtMs !== null && wallMs + this.#options.timeoutMs > sentAtMs + rules.keyWindowMs;
  }

  #send(call: Call): void {
    const id = this.#ground.nextName();
    this.#calls.set(id, call);
    const { id: task, handler: service, args, attempt } = call.task;
    const sentAtMs = present(call.task.sentAtMs, "a task is marked before its service is called");
    // variant: service-key
    const key = serviceKeyOf(task);
    // variant: service-facts
    const after: readonly Fact[] = [
      { kind: "owed", task, attempt },
      { kind: "marked", task, sentAtMs },
    ];
    this.#ground.emit({
      kind: "call-service",
      call: id,
      task,
      service,
      key,
      args,
      timeoutMs: this.#options.timeoutMs,
      after,
    });
  }

  answered(id: CallId, answer: CallAnswer, now: Instant): void {
    const call = present(this.#calls.get(id), `call ${id} is answered, which is under way`);
    this.#calls.delete(id);
    this.#heard(call, answer, now);
    const { task, rules } = call;
    if (answer.kind === "value" || answer.kind === "refused")
      // variant: service-refused
      return this.#change(call, "settle", null, settledBy(answer));
    const error = errorIn(answer, now.wallMs);
    if (answer.kind === "not-called")
      // variant: service-not-called
      return this.#change(call, "settle", this.#putOff(call, error, now));
    // variant: service-once-lost
    if (rules.once && answer.kind === "lost") return this.#unknown(call, wordsOfOnce(task), now);
    this.#change(call, "settle", this.#afterFailure(call, error, rules.once, now), settledBy(answer));
  }

  /** The breaker and the log hear of each answer. */
  #heard(call: Call, answer: CallAnswer, { nowMs, wallMs }: Instant): void {
    const service = this.#service(call.task.handler);
    const error = answer.kind === "value" ? null : errorIn(answer, wallMs);
    const detail = error === null ? {} : { detail: detailOf(error) };
    this.#note("service_called", call, { answer: answer.kind, ...detail });
    if (answer.kind === "refused") this.#note("service_refused", call, detail);
    if (answer.kind === "value" || answer.kind === "refused") {
      service.error = null;
      if (service.breaker.succeeded()) this.#note("service_up", call, {});
      return;
    }
    service.error = error;
    if (service.breaker.failed(call.probe, answer.kind === "not-called", nowMs))
      this.#note("service_down", call, detail);
  }

  #afterFailure({ task }: Call, error: TaskError, isFinal: boolean, { wallMs }: Instant): Task | null {
    const { handler: callee, step, module, failures } = task;
    const attempts = this.#ground.attemptsOf(callee);
    const isEndless = step?.isUndo === true && !isFinal;
    if (isEndless && failures + 1 === attempts)
      this.#ground.undoFailed({ step, module, callee, kind: "service", reason: wordsOfFailures(attempts, error) });
    return settled(task, error, isFinal ? 0 : isEndless ? Infinity : attempts, wallMs);
  }

  /** Nothing was done: no failure of the task, and the key is as new as before. The breaker says when it is tried again. */
  #putOff({ task, isFirst }: Call, error: TaskError, { wallMs }: Instant): Task {
    // variant: service-put-off
    const sentAtMs = isFirst ? null : task.sentAtMs;
    return { ...task, sentAtMs, attempt: task.attempt + 1, dueMs: wallMs, error };
  }

  #unknown(call: Call, reason: string, { wallMs }: Instant): void {
    const { task } = call;
    const key = serviceKeyOf(task.id);
    const message = `${reason} ${lookFor(key, task)}`;
    this.#note("service_unknown", call, { key, detail: message });
    const dead = settled(task, errorOf({ code: UNKNOWN, message }, wallMs), 0, wallMs);
    this.#change(call, "settle", dead, { kind: "unknown", message: wordsForCaller(task) });
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `end`: of a step of a workflow, if the record goes or is dead. A workflow is told, so nobody has to see to the task. */
  #change(call: Call, kind: "mark" | "settle", becomes: Task | null, end?: Settled): void {
    const operation = this.#ground.nextName();
    const { id, attempt, lane, step } = call.task;
    const isOver = becomes === null || becomes.state === "dead";
    const arrives = kind === "settle" && step !== undefined && end !== undefined && isOver;
    const expects = { attempt, lane };
    // variant: service-step-arrives
    const change = arrives ? { id, expects, becomes: null, arrival: stepPart(step, end) } : { id, expects, becomes };
    const effect = { kind: "change-task", operation, change } as const;
    call.change = { kind, effect };
    this.#changes.set(operation, call);
    this.#ground.emit(effect);
  }

  /** Whether the operation is one of a service. */
  isChange(operation: OperationId): boolean {
    return this.#changes.has(operation);
  }

  changed(operation: OperationId, result: CompleteResult, now: Instant): void {
    const call = present(this.#changes.get(operation), `storage answers operation ${operation}, which is under way`);
    if (result.kind === "fenced") return this.#ground.replaced();
    this.#changes.delete(operation);
    const { kind, effect } = present(call.change, "storage was asked for the change");
    call.change = null;
    const task = taskAfter(effect.change, result);
    if (kind === "settle") {
      this.#end(call, task);
      const { arrival } = effect.change;
      if (arrival !== undefined && task === null) this.#ground.arrived(arrival);
      return;
    }
    if (result.kind === "exists") {
      // Somebody else has settled the task, and nothing was sent for it.
      this.#service(call.task.handler).breaker.gaveUp(call.probe);
      return this.#end(call, task);
    }
    // Storage has taken long: the mark is of this time, as nothing was sent.
    if (this.#isWindowOver(call, now)) return this.#mark(call, now);
    this.#send(call);
  }

  /** The change can be made again whatever became of it: it is conditional, and its answer is known. */
  failed(operation: OperationId): void {
    const call = present(this.#changes.get(operation), `storage fails operation ${operation}, which is under way`);
    const { effect } = present(call.change, "storage was asked for the change");
    // variant: service-answer-kept
    this.#ground.retry(operation, effect);
  }

  #end(call: Call, next: Task | null): void {
    const { task } = call;
    const service = this.#service(task.handler);
    service.calling--;
    this.#calling--;
    assert(service.calling >= 0, "a call that ends has begun");
    this.#ground.settled(task, next);
  }

  #service(name: string): Service {
    let service = this.#services.get(name);
    if (service === undefined)
      this.#services.set(name, (service = { breaker: new Breaker(this.#options), calling: 0, error: null }));
    return service;
  }

  #note(name: NoteName, { task }: Call, more: Omit<Note, "name" | "executionId" | "module">): void {
    this.#ground.note(name, task, { handler: task.handler, times: task.attempt + 1, ...more });
  }
}

/** As the workflow of a step sees it. */
function settledBy(answer: CallAnswer): Settled {
  switch (answer.kind) {
    case "value":
      return { kind: "value", value: answer.bytes };
    case "refused":
      return { kind: "failed", status: 422, code: answer.code, message: answer.message };
    case "failed":
    case "not-called":
      return { kind: "failed", status: 502, code: answer.code, message: answer.message };
    case "lost":
      return { kind: "failed", status: 502, code: LOST, message: answer.message };
  }
}

/** Of all answers but a value. */
function errorIn(answer: Exclude<CallAnswer, { readonly kind: "value" }>, wallMs: number): TaskError {
  const code = answer.kind === "lost" ? LOST : answer.code;
  return errorOf({ code, message: answer.message }, wallMs);
}

/** The code of an attempt whose answer did not come. */
const LOST = "service_unanswered";

function detailOf({ code, message }: TaskError): string {
  return `${code}: ${message}`;
}

function wordsOfOnce({ handler }: Task): string {
  return `${handler} may have been called, no answer came, and it has the tag @service once.`;
}

function wordsOfWindow({ handler, sentAtMs }: Task, { keyWindowMs }: ServiceRules): string {
  const since = new Date(sentAtMs ?? 0).toISOString();
  return `${handler} was first called at ${since}, and knows its key for ${keyWindowMs} ms. The last call may have been done.`;
}

/** For operators. */
function lookFor(key: string, { step }: Task): string {
  const look = `Look for the key ${key} at the service`;
  return step === undefined
    ? `${look}, and discard the task.`
    : `${look}. The workflow ${step.workflow} has called it.`;
}

/** A workflow may tell its caller. */
function wordsForCaller({ handler }: Task): string {
  return `Nobody knows whether ${handler} was done, and it is not called again.`;
}
