/**
 * The tasks that executions name: those that they take back by `cancel`, and those that are to become workflows and get a signal.
 * In the commit of its canceller the record of a task goes, if no attempt of it is under way at that moment. Nobody else changes the
 * records of tasks, so what the core knows of a task then is what storage has.
 *
 * An execution waits until this is known of all tasks that it names. It waits for executions that were told before it, and may have
 * enqueued one of them: their commit ids are smaller than its own. So no circle forms. After a start a canceller waits until all
 * workflows are known: one that it cancels may be among them.
 */
import { compareCommits, type ExecutionId, isTaskId, isTaskOf, type RunEffect } from "@radical/protocol";
import type { Ended, Ending, Execution } from "./execution.ts";
import type { Withdrawal } from "./intent.ts";
import type { Task } from "./task.ts";
import type { TaskTable } from "./task-table.ts";
import type { NamedTask } from "./workflow-host.ts";
import type { Workflows } from "./workflows.ts";

export class Cancellations {
  readonly #tasks: TaskTable<object>;
  readonly #workflows: Pick<Workflows, "table" | "commands">;
  /** All that are under way. */
  readonly #executions: ReadonlyMap<ExecutionId, Execution>;

  constructor(
    tasks: TaskTable<object>,
    workflows: Pick<Workflows, "table" | "commands">,
    executions: ReadonlyMap<ExecutionId, Execution>,
  ) {
    this.#tasks = tasks;
    this.#workflows = workflows;
    this.#executions = executions;
  }

  /** Executions to wait for before the ending may commit; null: there is nothing to wait for. Empty: storage is asked. */
  awaits({ execution, commit, ended }: Ending): readonly Execution[] | null {
    const named = namedBy(execution.id, ended, NAMING);
    let awaited: Execution[] | null = null;
    for (const effect of ended.effects ?? NONE)
      // variant: cancel-walk
      if (effect.kind === "cancel" && this.#workflows.table.awaits(effect.task)) awaited ??= [];
    for (const id of named) {
      const found = this.#tasks.find(id);
      // variant: cancel-held
      if (found?.state === "held") awaited ??= [];
      if (found !== null || this.#workflows.table.has(id)) continue;
      // variant: cancel-parent
      const parent = this.#parentOf(id, commit.id);
      if (parent !== null) (awaited ??= []).push(parent);
      else if (this.#tasks.lookups.find(id, execution) === undefined) awaited ??= [];
    }
    return awaited;
  }

  /** The tasks that the ending takes back, all of which are known. From now on no attempt of them begins. */
  take({ execution, ended }: Pick<Ending, "execution" | "ended">): readonly Withdrawal[] {
    const taken: Withdrawal[] = [];
    for (const id of namedBy(execution.id, ended, CANCELLING)) {
      const found = this.#tasks.find(id);
      // variant: cancel-running
      if (found !== null && found.state !== "waits") continue;
      const task = found?.task ?? this.#tasks.lookups.find(id, execution) ?? null;
      // The workflow of a step waits for its end.
      if (task === null || task.step !== undefined) continue;
      // variant: cancel-hold
      this.#tasks.hold(task);
      // variant: withdrawn-ends
      taken.push({ task, leaves: this.#workflows.commands.withdrawnAs(task) });
    }
    return taken;
  }

  /** Whether a task, or a workflow that was one, takes a signal of the execution. `own`: the tasks that the execution enqueues. */
  takesSignal(id: ExecutionId, execution: Execution, own: readonly Task[]): boolean {
    if (this.#workflows.table.isOpen(id)) return true;
    if (!isTaskId(id)) return false;
    const others = (): Task | null =>
      isTaskOf(execution.id, id) ? null : (this.#tasks.lookups.find(id, execution) ?? null);
    const task = own.find((each) => each.id === id) ?? this.#tasks.find(id)?.task ?? others();
    // variant: signal-early
    return task !== null && this.#workflows.commands.isToBe(task);
  }

  /**
   * The task that a workflow names, null: there is none. Or that it is not known yet, and which execution is to end first, since it may
   * bring the task. `owner`: wants to know it, until it says otherwise.
   */
  find(id: ExecutionId, owner: object): NamedTask | null | { readonly awaits: Execution | null } {
    const found = this.#tasks.find(id);
    if (found?.state === "held") return { awaits: null };
    if (found !== null) return { task: found.task, runs: found.state === "running" };
    const parent = this.#parentOf(id, null);
    if (parent !== null) return { awaits: parent };
    const task = this.#tasks.lookups.find(id, owner);
    if (task === undefined) return { awaits: null };
    return task === null ? null : { task, runs: false };
  }

  /** An execution whose commit may bring the task, and is before the other one. `before`: null for one that is not told yet. */
  #parentOf(task: ExecutionId, before: Ending["commit"]["id"] | null): Execution | null {
    const isBefore = (commit: Ending["commit"]["id"]): boolean => before === null || compareCommits(commit, before) < 0;
    for (const execution of this.#executions.values()) {
      const { phase } = execution;
      if (phase.kind !== "completing" && phase.kind !== "pending" && phase.kind !== "clearing") continue;
      if (!isTaskOf(execution.id, task)) continue;
      // It waits for storage only.
      if (phase.kind === "completing") return execution;
      if (phase.kind === "pending") return isBefore(phase.intent.commitId) ? execution : null;
      const { next } = phase;
      const wasTold = next.kind === "complete" && next.ending.of.kind === "pending";
      return wasTold && isBefore(next.ending.commit.id) ? execution : null;
    }
    return null;
  }
}

/** The tasks of others that an execution names by these effects. Its own ones that it cancels are not enqueued at all (`tasksOf`). */
function namedBy(
  execution: ExecutionId,
  { effects }: Ended,
  kinds: ReadonlySet<RunEffect["kind"]>,
): readonly ExecutionId[] {
  if (effects === undefined) return NONE;
  const ids = new Set<ExecutionId>();
  for (const effect of effects) {
    const id = effect.kind === "cancel" ? effect.task : effect.kind === "send" ? effect.workflow : null;
    if (id !== null && kinds.has(effect.kind) && isTaskId(id) && !isTaskOf(execution, id)) ids.add(id);
  }
  return ids.size === 0 ? NONE : [...ids];
}

const CANCELLING: ReadonlySet<RunEffect["kind"]> = new Set(["cancel"]);
// variant: signal-looked-up
const NAMING: ReadonlySet<RunEffect["kind"]> = new Set(["cancel", "send"]);

const NONE: readonly never[] = [];
