/** The questions and orders of an operator about workflows: JSON over signed requests, like those of `task-administration.ts`. */
import { type ExecutionId, isExecutionId, type ModuleHash } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import type { TaskState } from "./task-administration.ts";
import { WORKFLOW_STATES, type WorkflowState } from "./messages/lvi-reply.ts";
import type { COMMAND_KINDS, Settled, Wait } from "./workflows.ts";

/** `POST` of a {@link WorkflowListQuestion}: {@link WorkflowList}. */
export const WORKFLOWS_PATH = "/v1/workflows";
/** `POST` of a {@link WorkflowHistoryQuestion}: {@link WorkflowHistory}, or null if there is no such workflow. */
export const WORKFLOW_HISTORY_PATH = "/v1/workflows/history";
/** `POST` of a {@link WorkflowOrder}: {@link WorkflowOrderAnswer}. */
export const WORKFLOW_ORDERS_PATH = "/v1/workflows/orders";

/** Those that have not ended. */
export interface WorkflowListQuestion {
  /** Null: any. */
  readonly state: WorkflowState | null;
  readonly handler: string | null;
  /** Most workflows that are looked at. */
  readonly limit: number;
  /** As the answer before has said; null: from the beginning. */
  readonly after: string | null;
}

/** Times are by the wall clock of the server, which `timeMs` tells. */
export interface WorkflowList {
  /** Fewer than asked for, or none, says nothing of the rest. */
  readonly workflows: readonly ListedWorkflow[];
  readonly next: string | null;
  /** The number of all that have not ended; null: the server does not know them all yet. */
  readonly all: number | null;
  readonly timeMs: number;
}

/** Times are by the wall clock of the server, in milliseconds since the epoch. */
export interface ListedWorkflow {
  readonly id: ExecutionId;
  readonly handler: string;
  readonly state: WorkflowState | "ended";
  readonly module: ModuleHash;
  readonly createdAtMs: number;
  /** When its timer is over; null: it waits for no timer. */
  readonly untilMs: number | null;
  /** How often it has gone on with an empty journal. */
  readonly round: number;
  /** Entries of its journal. */
  readonly entries: number;
  readonly bytes: number;
  /** The workflow whose step it is. */
  readonly parent: ExecutionId | null;
  /** The reason why it is stuck, or has failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly endedAtMs: number | null;
}

export interface WorkflowHistoryQuestion {
  readonly workflow: ExecutionId;
  /** Whether the caller, the arguments and the results are wanted. */
  readonly withArguments: boolean;
}

export interface WorkflowHistory {
  readonly workflow: ListedWorkflow;
  /** Of the server, by its wall clock. */
  readonly timeMs: number;
  /** In base 64; left out: not asked for. */
  readonly args?: string;
  readonly caller?: string | null;
  readonly result?: string;
  /** The journal of its round. */
  readonly entries: readonly ShownEntry[];
  /** Arrivals that no entry has yet. */
  readonly arrived: readonly ShownArrival[];
}

export interface ShownEntry {
  readonly timeMs: number;
  readonly arrivals: readonly ShownArrival[];
  readonly commands: readonly ShownCommand[];
  /** Null: the run has ended. */
  readonly wait: Wait | null;
}

export interface ShownArrival {
  readonly kind: Settled["kind"] | "cancelled";
  /** The command that has settled; null: a cancellation, or a signal that no command has taken. */
  readonly command: number | null;
  /** The name of a signal that no command has taken, or how a step has failed. */
  readonly words?: string;
  readonly value?: string;
}

export interface ShownCommand {
  readonly number: number;
  readonly kind: (typeof COMMAND_KINDS)[number];
  /** The callee, or the name of a signal. */
  readonly name: string;
  /** Of a call: the id of its execution, or of its task. */
  readonly execution?: ExecutionId;
  /** Of a step or an undo. */
  readonly callee?: "handler" | "service" | "workflow";
  /** Of a call that is under way; left out: it is not, or the server does not know it at the moment. */
  readonly attempts?: ShownAttempts;
  readonly args?: string;
}

/** The attempts of a call that has not ended. */
export interface ShownAttempts {
  readonly state: TaskState;
  /** That have failed. */
  readonly failures: number;
  /** Of the last one. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

export const WORKFLOW_ACTIONS = [
  /** A stuck workflow runs again. */
  "retry",
  /** A workflow is asked to end. */
  "cancel",
] as const;
export type WorkflowAction = (typeof WORKFLOW_ACTIONS)[number];

export const MAX_ORDERED_WORKFLOWS = 48;
export const MAX_LISTED_WORKFLOWS = 1_000;

export interface WorkflowOrder {
  readonly action: WorkflowAction;
  /** At most {@link MAX_ORDERED_WORKFLOWS}, each once. */
  readonly ids: readonly ExecutionId[];
}

export type WorkflowOrderOutcome =
  /** It is durable. */
  | "done"
  /** There is no such workflow, or it has ended. */
  | "unknown"
  /** Only a stuck workflow is tried again. */
  | "not-stuck"
  /** Its last run has ended: it only waits for its steps and undos. */
  | "ending"
  /** The server has stopped before it has heard whether it is durable. The same order again finds out. */
  | "in-doubt";

export interface WorkflowOrderAnswer {
  readonly results: readonly { readonly id: ExecutionId; readonly outcome: WorkflowOrderOutcome }[];
}

/** Throws a MalformedError. */
export function readWorkflowOrder({ action, ids }: Readonly<Record<string, unknown>>): WorkflowOrder {
  const known = WORKFLOW_ACTIONS.find((each) => each === action);
  if (known === undefined) throw new MalformedError(`action is none of ${WORKFLOW_ACTIONS.join(", ")}`);
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= MAX_ORDERED_WORKFLOWS;
  if (!isList || !ids.every((id) => typeof id === "string" && isExecutionId(id)))
    throw new MalformedError(`ids is not a list of 1 to ${MAX_ORDERED_WORKFLOWS} ids of workflows`);
  return { action: known, ids: [...new Set(ids as readonly ExecutionId[])] };
}

/** Throws a MalformedError. */
export function readWorkflowListQuestion(question: Readonly<Record<string, unknown>>): WorkflowListQuestion {
  const { state = null, handler = null, limit, after = null } = question;
  const known = WORKFLOW_STATES.find((each) => each === state) ?? null;
  if (state !== null && known === null) throw new MalformedError(`state is none of ${WORKFLOW_STATES.join(", ")}`);
  if (handler !== null && typeof handler !== "string") throw new MalformedError("handler is not a text");
  if (!Number.isSafeInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_LISTED_WORKFLOWS)
    throw new MalformedError(`limit is not a number from 1 to ${MAX_LISTED_WORKFLOWS}`);
  if (after !== null && typeof after !== "string") throw new MalformedError("after is not a text");
  return { state: known, handler, limit: limit as number, after };
}

/** Throws a MalformedError. */
export function readWorkflowHistoryQuestion(question: Readonly<Record<string, unknown>>): WorkflowHistoryQuestion {
  const { workflow, withArguments = false } = question;
  if (typeof workflow !== "string" || !isExecutionId(workflow))
    throw new MalformedError("workflow is not the id of a workflow");
  if (typeof withArguments !== "boolean") throw new MalformedError("withArguments is neither true nor false");
  return { workflow, withArguments };
}
