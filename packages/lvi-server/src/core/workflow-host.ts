/** The rest of the core, as workflows see it, and the callers that ask for workflows. */
import type {
  CommitId,
  ExecutionId,
  LoggedLine,
  LviAnswer,
  ModuleHash,
  Outcome,
  TaskOrderOutcome,
  WorkflowOrderOutcome,
} from "@radical/protocol";
import type { CallHasher } from "./call-hash.ts";
import type { CallerId, Effect, Fact, NoteName } from "./events.ts";
import type { CurrentModule, Plans } from "./module-table.ts";
import type { Task } from "./task.ts";
import type { SampledActivation, SampleEffect } from "./sampling.ts";
import type { Instant } from "./task-table.ts";
import type { UndoFailure } from "./undo-failure.ts";
import type { Workflow } from "./workflow.ts";
import type { Step } from "./workflow-journal.ts";

export interface WorkflowsHost {
  /** In the step that is under way: the time of tasks. */
  readonly now: () => Instant;
  /** The machine's monotonic time, which is that of callers. */
  readonly machineMs: () => number;
  readonly nextName: () => number;
  readonly takeCommit: () => CommitId;
  readonly emit: (effect: Effect) => void;
  readonly note: (name: NoteName, workflow: Workflow, detail?: string) => void;
  /** Raises the alarm. */
  readonly undoFailed: (failure: UndoFailure) => void;
  readonly tellLogged: (workflow: Workflow, logged: readonly LoggedLine[]) => void;
  /** The samples of a run, which leave when it is durable. `outcome` null: the workflow goes on. */
  readonly sample: (
    workflow: Workflow,
    activation: SampledActivation,
    outcome: Outcome | null,
  ) => readonly SampleEffect[];
  readonly reply: (caller: WorkflowCaller, answer: LviAnswer, after: readonly Fact[]) => void;
  /** The answer to an operator. */
  readonly ordered: (caller: CallerId, outcome: WorkflowOrderOutcome, after: readonly Fact[]) => void;
  readonly times: (receivedAtMs: number) => { readonly receivedAtMs: number; readonly sentAtMs: number };
  readonly current: () => CurrentModule | null;
  readonly plansOf: (module: ModuleHash) => Plans | undefined;
  readonly hasher: CallHasher;
  /** Makes an attempt of a step. It ends by `stepEnded`, `putBack`, or a part. */
  readonly attempt: (step: Step) => void;
  readonly names: (owner: object, lanes: readonly string[], commit: CommitId) => void;
  readonly namesNoMore: (owner: object) => void;
  readonly added: (task: Task) => void;
  /** A task that somebody names; null: there is none. Undefined: not known yet. `owner`: wants to know it until `namesNoMore`. */
  readonly taskOf: (id: ExecutionId, owner: object) => NamedTask | null | undefined;
  /** No attempt of the task begins from now on. */
  readonly hold: (task: Task) => void;
  /** The task has become a workflow. */
  readonly taskGone: (task: Task) => void;
  /** It was taken back. */
  readonly taskCancelled: (task: Task) => void;
  /** Takes back a task that is to become a workflow. `running`: it begins just now. `unknown`: there is no such task. */
  readonly withdraw: (task: ExecutionId, told: (outcome: TaskOrderOutcome, after: readonly Fact[]) => void) => void;
  readonly ended: (workflow: Workflow, commit: CommitId) => void;
}

/** A task that has not begun, or an attempt of which is under way. */
export interface NamedTask {
  readonly task: Task;
  readonly runs: boolean;
}

/** Somebody who asks for the end of a workflow. */
export interface WorkflowCaller {
  readonly id: CallerId;
  readonly receivedAtMs: number;
  /** By the machine's monotonic clock, whatever the time of tasks: then it is told how the workflow stands. */
  readonly untilMs: number;
}
