/** The steps of workflows that are calls of handlers: those that may begin, those under way, and those that are tried again. */
import { DEFAULT_TASK_ATTEMPTS, type ExecutionId, type Outcome } from "@radical/protocol";
import { Deadlines } from "./deadlines.ts";
import type { Plans } from "./module-table.ts";
import { failureOf, isMisfit, pauseMs, type TaskError } from "./task.ts";
import { wordsOfFailures } from "./undo-failure.ts";
import { settledOf, type Workflow } from "./workflow.ts";
import type { WorkflowsHost } from "./workflow-host.ts";
import { type Loaded, type OpenStep, settle, type Step, undoEnded } from "./workflow-journal.ts";
import type { Entry, WorkflowTable } from "./workflow-table.ts";

export class WorkflowSteps {
  readonly #host: WorkflowsHost;
  readonly #table: WorkflowTable;
  readonly #retryMs: number;
  readonly #ready = new Set<OpenStep>();
  /** Attempts under way. */
  readonly #attempts = new Set<ExecutionId>();
  readonly #delays = new Deadlines<OpenStep>((open) => open.state !== "delayed");

  constructor(host: WorkflowsHost, table: WorkflowTable, retryMs: number) {
    this.#host = host;
    this.#table = table;
    this.#retryMs = retryMs;
  }

  /** Attempts under way. */
  get running(): number {
    return this.#attempts.size;
  }

  /** When the next attempt of one is due, by the time of tasks. Infinity: none is. */
  get dueAtMs(): number {
    return this.#delays.nextMs ?? Infinity;
  }

  pass(nowMs: number): void {
    for (let due = this.#delays.takeDue(nowMs); due !== undefined; due = this.#delays.takeDue(nowMs)) {
      if (due.state !== "delayed") continue;
      due.state = "ready";
      this.#ready.add(due);
    }
  }

  /** Begins those that may begin. `hasRoom`: for one more. */
  beginSome(plans: Plans | undefined, hasRoom: () => boolean): void {
    for (const open of this.#ready) {
      if (!hasRoom()) return;
      const plan = plans?.get(open.step.handler);
      // As a task, it waits for a module that can run it.
      if (plan === undefined || plan === "workflow") continue;
      this.#ready.delete(open);
      if (open.state !== "ready") continue;
      open.state = "running";
      this.#attempts.add(open.step.id);
      this.#host.attempt(open.step);
    }
  }

  begin(loaded: Loaded, open: OpenStep): void {
    if (loaded.open.get(open.step.command) !== open) return;
    open.state = "ready";
    this.#ready.add(open);
  }

  /** A step that has written nothing has ended. Returns the workflow that may go on; null: none. */
  ended(step: Step, outcome: Outcome): Entry | null {
    this.#attempts.delete(step.id);
    const found = this.#openStep(step);
    if (found?.open.state !== "running") return null;
    const { entry, open, loaded } = found;
    const failure = failureOf(outcome, this.#host.now().wallMs);
    open.error = failure;
    if (failure !== null) {
      open.failures++;
      const known = this.#host.current()?.rules[step.handler]?.attempts ?? DEFAULT_TASK_ATTEMPTS;
      const attempts = isMisfit(failure) ? 1 : known;
      // variant: undo-failures
      if (step.isUndo && open.failures === known) this.#undoFails(entry.workflow, open, failure);
      // variant: step-attempts
      if (step.isUndo || open.failures < attempts) {
        this.#delay(open, pauseMs(step.id, open.failures));
        return null;
      }
      this.#host.note("workflow_step_failed", entry.workflow, `${step.handler}: ${failure.code}: ${failure.message}`);
    }
    if (step.isUndo) undoEnded(loaded, step.command, settledOf(outcome));
    else settle(loaded, step.command, settledOf(outcome));
    return entry;
  }

  #undoFails({ module }: Workflow, { step, failures }: OpenStep, failure: TaskError): void {
    const reason = wordsOfFailures(failures, failure);
    this.#host.undoFailed({ step, module, callee: step.handler, kind: "handler", reason });
  }

  /** An attempt of it has had no effect: it is tried again. */
  putBack(step: Step): void {
    // It has ended before.
    if (!this.#attempts.delete(step.id)) return;
    const found = this.#openStep(step);
    if (found?.open.state !== "running") return;
    this.#delay(found.open, this.#retryMs);
  }

  /** The commit of its writes is done. */
  arrived(step: Step): void {
    this.#attempts.delete(step.id);
  }

  #openStep(step: Step): { readonly entry: Entry; readonly loaded: Loaded; readonly open: OpenStep } | null {
    const entry = this.#table.get(step.workflow);
    const loaded = entry?.loaded ?? null;
    const open = loaded?.open.get(step.command);
    if (entry === undefined || loaded === null || open?.kind !== "step" || open.step.id !== step.id) return null;
    return { entry, loaded, open };
  }

  #delay(open: OpenStep, ms: number): void {
    open.state = "delayed";
    this.#delays.add(this.#host.now().nowMs + ms, open);
  }
}
