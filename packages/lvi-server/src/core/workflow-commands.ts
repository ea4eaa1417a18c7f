/** The records that the commands of workflows ask for: other workflows, tasks, and parts of workflows. */
import {
  CANCELLED,
  type CommitId,
  type ExecutionId,
  type IssuedCommand,
  isTaskId,
  isTaskOf,
  type ModuleHash,
  type RunEffect,
  stepIdOf,
  stepSeedOf,
  type WorkflowCommand,
} from "@radical/protocol";
import { bytesOfCall, callOf } from "./call-hash.ts";
import type { Withdrawal } from "./intent.ts";
import { placeOf, type Task } from "./task.ts";
import { begun, type Call, cancellationPart, isOver, signalPart, type StepName } from "./workflow.ts";
import type { Workflow, WorkflowPart } from "./workflow.ts";
import type { Made } from "./workflow-commit.ts";
import type { NamedTask, WorkflowsHost } from "./workflow-host.ts";
import type { Entry, WorkflowTable } from "./workflow-table.ts";

type Named = Parameters<typeof begun>[0];

export class WorkflowCommands {
  readonly #host: WorkflowsHost;
  readonly #table: WorkflowTable;

  constructor(host: WorkflowsHost, table: WorkflowTable) {
    this.#host = host;
    this.#table = table;
  }

  /** Tasks that it cancels, or that are to become workflows and get a signal. Null: they are not known yet. */
  tasksNamedBy(entry: Entry, commands: readonly IssuedCommand[]): ReadonlyMap<ExecutionId, NamedTask> | null {
    const named = new Map<ExecutionId, NamedTask>();
    let areKnown = true;
    for (const { command } of commands) {
      const id = command.kind === "cancel" ? command.task : command.kind === "send" ? command.workflow : null;
      if (id === null || !isTaskId(id) || this.#table.has(id)) continue;
      const found = this.#host.taskOf(id, entry);
      if (found === undefined) areKnown = false;
      else if (found !== null) named.set(id, found);
    }
    return areKnown ? named : null;
  }

  /** The records that new commands ask for. */
  asked(
    workflow: Workflow,
    first: number,
    commands: readonly IssuedCommand[],
    calls: readonly (Call | null)[],
    commit: CommitId,
    named: ReadonlyMap<ExecutionId, NamedTask>,
  ): Pick<Made, "children" | "tasks" | "parts" | "cancelled"> {
    const { id, round } = workflow;
    const children: Workflow[] = [];
    const tasks = new Map<ExecutionId, Task>();
    const cancelled = new Map<ExecutionId, Withdrawal>();
    const parts: WorkflowPart[] = [];
    const takesSignal = (other: ExecutionId): boolean => {
      if (this.#table.isOpen(other) || children.some((child) => child.id === other)) return true;
      const task = tasks.get(other) ?? named.get(other)?.task;
      // variant: signal-early-sent
      return task !== undefined && this.isToBe(task);
    };
    for (const [at, { command }] of commands.entries()) {
      const name: StepName = { workflow: id, round, command: first + at };
      switch (command.kind) {
        case "start": {
          const kind = calls[at]?.kind;
          if (kind === "workflow") children.push(this.childOf(workflow, name, command.callee, command.args));
          if (kind === "service") {
            const task = this.serviceTask(workflow, name, command, placeOf(commit, at), false);
            tasks.set(task.id, task);
          }
          break;
        }
        case "enqueue": {
          const task = taskOf(workflow, name, command, placeOf(commit, at), this.#host.now().wallMs);
          tasks.set(task.id, task);
          break;
        }
        case "send":
          if (takesSignal(command.workflow))
            parts.push(signalPart(command.workflow, commit, at, command.name, command.value));
          break;
        case "cancel": {
          const task = named.get(command.task);
          parts.push(...this.cancellationsOf(command.task, placeOf(commit, at)));
          if (tasks.get(command.task)?.step === undefined) tasks.delete(command.task);
          if (task !== undefined && !task.runs && task.task.step === undefined)
            cancelled.set(command.task, { task: task.task, leaves: this.withdrawnAs(task.task) });
          break;
        }
        case "undo":
        case "sleep":
        case "signal":
      }
    }
    // Its own tasks that it has cancelled again are not there at all.
    const isThere = ({ workflow: to }: WorkflowPart): boolean =>
      !isTaskOf(id, to) ||
      this.#table.isOpen(to) ||
      children.some((child) => child.id === to) ||
      tasks.has(to) ||
      named.has(to);
    return { children, tasks: [...tasks.values()], parts: parts.filter(isThere), cancelled: [...cancelled.values()] };
  }

  /** The call of a command; null: it calls nothing by itself. */
  callOf(command: WorkflowCommand): Call | null {
    if (command.kind !== "start" && command.kind !== "undo") return null;
    const { callee, args } = command;
    const current = this.#host.current();
    const isHandler = current === null || this.#host.plansOf(current.module)?.has(callee) === true;
    if (this.#isWorkflow(callee)) return { kind: "workflow", args };
    return { kind: !isHandler && current.services?.[callee] !== undefined ? "service" : "handler", args };
  }

  /** On the current code, if that has the workflow. */
  nextRound(workflow: Workflow, args: Uint8Array): Workflow {
    const { module, handler, round } = workflow;
    const current = this.#host.current()?.module ?? module;
    const next = this.#isWorkflow(handler) ? current : module;
    const state = { state: "open", again: null, untilMs: null } as const;
    return { ...workflow, ...state, module: next, args, round: round + 1, entries: 0, bytes: 0 };
  }

  /** Whether the task becomes a workflow when it begins, as far as the code says. */
  isToBe({ handler, module }: Task): boolean {
    const current = this.#host.current()?.module ?? module;
    const plan = this.#host.plansOf(current)?.get(handler) ?? this.#host.plansOf(module)?.get(handler);
    return plan === "workflow";
  }

  /** The workflow as which a task ends that is taken back; null: it was to become none. */
  withdrawnAs(task: Task): Workflow | null {
    if (!this.isToBe(task)) return null;
    const { id, handler, args, seed, caller } = task;
    const module = this.#host.current()?.module ?? task.module;
    const workflow = this.workflowOf({ id, handler, args, seed, caller, parent: null }, module);
    return {
      ...workflow,
      state: "ended",
      outcome: { kind: "abort", ...CANCELLED },
      endedAtMs: this.#host.now().wallMs,
    };
  }

  /** The part by which an effect asks for the end of a workflow; none, if it is not one that has to be asked. */
  cancellationsOf(id: ExecutionId, by: string): readonly WorkflowPart[] {
    const workflow = this.#table.get(id)?.workflow;
    return workflow === undefined || isOver(workflow) ? [] : [cancellationPart(id, by)];
  }

  serviceTask(
    workflow: Workflow,
    name: StepName,
    { callee, args }: { readonly callee: string; readonly args: Uint8Array },
    place: string,
    isUndo: boolean,
  ): Task {
    const enqueued = { kind: "enqueue", callee, args, delayMs: 0, key: null } as const;
    return { ...taskOf(workflow, name, enqueued, place, this.#host.now().wallMs), step: { ...name, isUndo } };
  }

  /** On the current code. */
  childOf({ id, module, seed, caller, round }: Workflow, parent: StepName, callee: string, args: Uint8Array): Workflow {
    const child = stepIdOf({ workflow: id, round }, parent.command);
    const drawn = stepSeedOf(seed, round, parent.command);
    return this.workflowOf(
      { id: child, handler: callee, args, seed: drawn, caller, parent },
      this.#host.current()?.module ?? module,
    );
  }

  /** One that no request has asked for. */
  workflowOf(named: Omit<Named, "module" | "call">, module: ModuleHash): Workflow {
    const { id, handler, args, seed, caller } = named;
    const environment = { timeMs: 0, seed, caller };
    const call = this.#host.hasher.hash(bytesOfCall(callOf({ executionId: id, module, handler, args, environment })));
    return begun({ ...named, module, call }, this.#host.now().wallMs);
  }

  #isWorkflow(callee: string): boolean {
    const current = this.#host.current();
    return current !== null && this.#host.plansOf(current.module)?.get(callee) === "workflow";
  }
}

function taskOf(
  { id, module, caller, seed }: Workflow,
  { workflow, round, command }: StepName,
  { callee, args, delayMs, key }: RunEffect & { kind: "enqueue" },
  place: string,
  wallMs: number,
): Task {
  return {
    id: stepIdOf({ workflow, round }, command),
    handler: callee,
    args,
    seed: stepSeedOf(seed, round, command),
    caller,
    parent: id,
    module,
    lane: key,
    place,
    createdAtMs: wallMs,
    dueMs: wallMs + delayMs,
    attempt: 0,
    failures: 0,
    state: "open",
    error: null,
    sentAtMs: null,
  };
}
