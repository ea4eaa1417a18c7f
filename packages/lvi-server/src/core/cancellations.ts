/**
 * The tasks that executions take back by `cancel`. In the commit of its canceller the record of a task goes, if no attempt of it is
 * under way at that moment. Nobody else changes the records of tasks, so what the core knows of a task then is what storage has.
 *
 * A canceller waits until this is known of all its tasks. It waits for executions that were told before it, and may have enqueued
 * one of them: their commit ids are smaller than its own. So no circle forms. After a start it waits until all workflows are known:
 * one that it cancels may be among them.
 */
import { compareCommits, type ExecutionId, isTaskId, isTaskOf } from "@radical/protocol";
import type { Ended, Ending, Execution } from "./execution.ts";
import type { Task } from "./task.ts";
import type { TaskTable } from "./task-table.ts";
import type { Workflows } from "./workflows.ts";

export class Cancellations {
  readonly #tasks: TaskTable<object>;
  readonly #workflows: Pick<Workflows, "awaits">;
  /** All that are under way. */
  readonly #executions: ReadonlyMap<ExecutionId, Execution>;

  constructor(
    tasks: TaskTable<object>,
    workflows: Pick<Workflows, "awaits">,
    executions: ReadonlyMap<ExecutionId, Execution>,
  ) {
    this.#tasks = tasks;
    this.#workflows = workflows;
    this.#executions = executions;
  }

  /** Executions to wait for before the ending may commit; null: there is nothing to wait for. Empty: storage is asked. */
  awaits({ execution, commit, ended }: Ending): readonly Execution[] | null {
    const cancelled = cancelledBy(execution.id, ended);
    let awaited: Execution[] | null = null;
    for (const effect of ended.effects ?? NONE)
      // variant: cancel-walk
      if (effect.kind === "cancel" && this.#workflows.awaits(effect.task)) awaited ??= [];
    for (const id of cancelled) {
      const found = this.#tasks.find(id);
      // variant: cancel-held
      if (found?.state === "held") awaited ??= [];
      if (found !== null) continue;
      // variant: cancel-parent
      const parent = this.#parentOf(id, commit.id);
      if (parent !== null) (awaited ??= []).push(parent);
      else if (this.#tasks.lookups.find(id, execution) === undefined) awaited ??= [];
    }
    return awaited;
  }

  /** The tasks that the ending takes back, all of which are known. From now on no attempt of them begins. */
  take({ execution, ended }: Pick<Ending, "execution" | "ended">): readonly Task[] {
    const taken: Task[] = [];
    for (const id of cancelledBy(execution.id, ended)) {
      const found = this.#tasks.find(id);
      // variant: cancel-running
      if (found !== null && found.state !== "waits") continue;
      const task = found?.task ?? this.#tasks.lookups.find(id, execution) ?? null;
      // The workflow of a step waits for its end.
      if (task === null || task.step !== undefined) continue;
      // variant: cancel-hold
      this.#tasks.hold(task);
      taken.push(task);
    }
    return taken;
  }

  /** An execution whose commit may bring the task, and is before the other one. */
  #parentOf(task: ExecutionId, before: Ending["commit"]["id"]): Execution | null {
    for (const execution of this.#executions.values()) {
      const { phase } = execution;
      if (phase.kind !== "completing" && phase.kind !== "pending" && phase.kind !== "clearing") continue;
      if (!isTaskOf(execution.id, task)) continue;
      // It waits for storage only.
      if (phase.kind === "completing") return execution;
      if (phase.kind === "pending") return compareCommits(phase.intent.commitId, before) < 0 ? execution : null;
      const { next } = phase;
      const wasTold = next.kind === "complete" && next.ending.of.kind === "pending";
      return wasTold && compareCommits(next.ending.commit.id, before) < 0 ? execution : null;
    }
    return null;
  }
}

/** The tasks of others that an execution cancels. Its own ones that it has cancelled are not enqueued at all (`tasksOf`). */
function cancelledBy(execution: ExecutionId, { effects }: Ended): readonly ExecutionId[] {
  if (effects === undefined) return NONE;
  const ids = new Set<ExecutionId>();
  for (const effect of effects)
    if (effect.kind === "cancel" && isTaskId(effect.task) && !isTaskOf(execution, effect.task)) ids.add(effect.task);
  return ids.size === 0 ? NONE : [...ids];
}

const NONE: readonly never[] = [];
