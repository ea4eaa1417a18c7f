/**
 * An operator's orders about tasks. An order waits until all of its tasks are known, and changes the records of those that it can, in
 * one commit. No attempt of them begins meanwhile. A task that is tried again keeps its place in its lane.
 */
import { type ExecutionId, type TaskOrder, type TaskOrderOutcome, UNKNOWN } from "@radical/protocol";
import type { CallerId, Fact } from "./events.ts";
import type { Task } from "./task.ts";
import type { Instant, TaskTable } from "./task-table.ts";
import type { Workflow } from "./workflow.ts";

interface OrderedChange {
  readonly before: Task;
  /** Null: it is removed. */
  readonly after: Task | null;
  /** See `Withdrawal`. */
  readonly leaves: Workflow | null;
}

/** Somebody who asks for the end of a workflow that is still a task. Other tasks count as unknown. */
export interface Withdrawer {
  readonly told: (outcome: TaskOrderOutcome, after: readonly Fact[]) => void;
}

export interface OrderUnderWay {
  readonly caller: CallerId | Withdrawer;
  readonly order: TaskOrder;
  /** Tasks that stay as they are, and why. */
  readonly left: ReadonlyMap<ExecutionId, TaskOrderOutcome>;
  readonly changes: readonly OrderedChange[];
}

export class TaskOrders<Owner> {
  readonly #tasks: TaskTable<Owner | Withdrawer>;
  /** Whether a task begins no more by itself. */
  readonly #isDead: (task: Task) => boolean;
  /** The workflow as which a task ends that is taken back; null: it was to become none. */
  readonly #withdrawnAs: (task: Task) => Workflow | null;
  /** Orders that do not know all of their tasks yet. */
  readonly #waiting = new Map<CallerId | Withdrawer, TaskOrder>();

  constructor(
    tasks: TaskTable<Owner | Withdrawer>,
    isDead: (task: Task) => boolean,
    withdrawnAs: (task: Task) => Workflow | null,
  ) {
    this.#tasks = tasks;
    this.#isDead = isDead;
    this.#withdrawnAs = withdrawnAs;
  }

  add(caller: CallerId | Withdrawer, order: TaskOrder): void {
    this.#waiting.set(caller, order);
  }

  /** The orders that can be carried out now. From now on no attempt of the tasks begins that they change. */
  takeReady(now: Instant): readonly OrderUnderWay[] {
    const ready: OrderUnderWay[] = [];
    for (const [caller, order] of this.#waiting) {
      const found = this.#find(caller, order);
      if (found === null) continue;
      this.#waiting.delete(caller);
      this.#tasks.lookups.ended(caller);
      const left = new Map<ExecutionId, TaskOrderOutcome>();
      const changes: OrderedChange[] = [];
      for (const [id, task] of found) {
        if (task === "running") left.set(id, "running");
        else if (task === null || (typeof caller === "object" && this.#withdrawnAs(task) === null))
          left.set(id, "unknown");
        else {
          const decided = this.#decide(order, task, now);
          if (typeof decided === "string") left.set(id, decided);
          else {
            this.#tasks.hold(task);
            const leaves = decided === null ? this.#withdrawnAs(task) : null;
            changes.push({ before: task, after: decided, leaves });
          }
        }
      }
      ready.push({ caller, order, left, changes });
    }
    return ready;
  }

  /** Null: not all of them are known. */
  #find(caller: CallerId | Withdrawer, { ids }: TaskOrder): ReadonlyMap<ExecutionId, Task | "running" | null> | null {
    const found = new Map<ExecutionId, Task | "running" | null>();
    let isWhole = true;
    for (const id of ids) {
      const known = this.#tasks.find(id);
      if (known?.state === "running") found.set(id, "running");
      else if (known?.state === "waits") found.set(id, known.task);
      // variant: order-held
      else if (known?.state === "held") isWhole = false;
      else {
        const task = this.#tasks.lookups.find(id, caller);
        if (task === undefined) isWhole = false;
        else found.set(id, task);
      }
    }
    return isWhole ? found : null;
  }

  /** The task as it is to be; null: it goes. */
  #decide({ action, callAgain }: TaskOrder, task: Task, { wallMs }: Instant): Task | null | TaskOrderOutcome {
    // A step of a workflow is under way until its workflow has heard of its end.
    if (task.step !== undefined && (action === "cancel" || action === "discard")) return "running";
    switch (action) {
      case "cancel":
        return null;
      case "discard":
        return this.#isDead(task) ? null : "not-dead";
      case "retry":
        if (task.state !== "dead" && task.failures === 0) return "not-failed";
        return this.#again(task, callAgain, wallMs);
      case "run":
        if (task.state === "dead") return this.#again(task, callAgain, wallMs);
        return { ...task, dueMs: Math.min(task.dueMs, wallMs) };
    }
  }

  /** A service that may have acted is called again only if the operator says so, as if it had never been called. */
  #again(task: Task, callAgain: boolean, wallMs: number): Task | TaskOrderOutcome {
    const again: Task = { ...task, state: "open", failures: 0, dueMs: wallMs };
    if (task.error?.code !== UNKNOWN) return again;
    return callAgain ? { ...again, sentAtMs: null } : "may-have-acted";
  }
}
