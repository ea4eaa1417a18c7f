/**
 * An operator's orders about tasks. An order waits until all of its tasks are known, and changes the records of those that it can, in
 * one commit. No attempt of them begins meanwhile. A task that is tried again keeps its place in its lane.
 */
import { type ExecutionId, type TaskOrder, type TaskOrderOutcome, UNKNOWN } from "@radical/protocol";
import type { CallerId } from "./events.ts";
import type { Task } from "./task.ts";
import type { Instant, TaskTable } from "./task-table.ts";

interface OrderedChange {
  readonly before: Task;
  /** Null: it is removed. */
  readonly after: Task | null;
}

export interface OrderUnderWay {
  readonly caller: CallerId;
  readonly order: TaskOrder;
  /** Tasks that stay as they are, and why. */
  readonly left: ReadonlyMap<ExecutionId, TaskOrderOutcome>;
  readonly changes: readonly OrderedChange[];
}

export class TaskOrders<Owner> {
  readonly #tasks: TaskTable<Owner>;
  /** Whether a task begins no more by itself. */
  readonly #isDead: (task: Task) => boolean;
  /** Orders that do not know all of their tasks yet. */
  readonly #waiting = new Map<CallerId, TaskOrder>();

  constructor(tasks: TaskTable<Owner>, isDead: (task: Task) => boolean) {
    this.#tasks = tasks;
    this.#isDead = isDead;
  }

  add(caller: CallerId, order: TaskOrder): void {
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
        const decided = task === "running" || task === null ? null : this.#decide(order, task, now);
        if (task === "running") left.set(id, "running");
        else if (task === null) left.set(id, "unknown");
        else if (typeof decided === "string") left.set(id, decided);
        else {
          this.#tasks.hold(task);
          changes.push({ before: task, after: decided });
        }
      }
      ready.push({ caller, order, left, changes });
    }
    return ready;
  }

  /** Null: not all of them are known. */
  #find(caller: CallerId, { ids }: TaskOrder): ReadonlyMap<ExecutionId, Task | "running" | null> | null {
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
