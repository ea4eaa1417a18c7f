/** The questions and orders of an operator about tasks: JSON over signed requests, like those of `administration.ts`. */
import type { ExecutionId, ModuleHash } from "./ids.ts";
import { isExecutionId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";

/** `POST` of a {@link TaskListQuestion}: {@link TaskList}. A server of a release without tasks has nothing there. */
export const TASKS_PATH = "/v1/tasks";
/** `POST` of a {@link TaskOrder}: {@link TaskOrderAnswer}. */
export const TASK_ORDERS_PATH = "/v1/tasks/orders";

export const TASK_STATES = [
  /** It may begin as soon as there is room for it. */
  "ready",
  /** An attempt of it is under way. */
  "running",
  /** Its time has not come: it was enqueued with a delay, or an attempt has failed. */
  "delayed",
  /** Others of its lane are before it. */
  "waiting",
  /** It begins no more by itself: its attempts are over, or the current module lacks its handler. */
  "dead",
] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Which tasks are asked for. Left out: any. */
export interface TaskFilter {
  readonly state?: TaskState;
  readonly handler?: string;
  /** The key of its tasks. */
  readonly lane?: string;
  /** At most {@link MAX_ORDERED_TASKS}. */
  readonly ids?: readonly ExecutionId[];
}

export interface TaskListQuestion {
  readonly filter: TaskFilter;
  /** Most tasks of the answer. */
  readonly limit: number;
  /** As the answer before has said; null: from the beginning. */
  readonly after: string | null;
  /** Whether the arguments and the caller of each task are wanted. */
  readonly withArguments: boolean;
}

export interface TaskList {
  /** Fewer than asked for, or none, says nothing of the rest. */
  readonly tasks: readonly ListedTask[];
  /** Where the next question begins; null: there are no more. */
  readonly next: string | null;
  /** The number of all tasks, whatever was asked for; null: the server has not counted them yet. */
  readonly all: number | null;
  /** Of the server, by its wall clock. */
  readonly timeMs: number;
}

/** Times are by the wall clock of the server, in milliseconds since the epoch. */
export interface ListedTask {
  readonly id: ExecutionId;
  readonly handler: string;
  readonly state: TaskState;
  /** Null: it is in no lane. */
  readonly lane: string | null;
  readonly createdAtMs: number;
  /** When it may begin at the earliest. */
  readonly dueMs: number;
  /** Attempts that have ended, all of them without effect. */
  readonly attempts: number;
  /** Failures that count, and after how many the task is dead. Null: it undoes, so it has no last attempt. */
  readonly failures: number;
  readonly mostFailures: number | null;
  /** The execution that has enqueued it, and the module of that. */
  readonly parent: ExecutionId;
  readonly module: ModuleHash;
  /** Of the last attempt, or why it can't run. Null: nothing is wrong. */
  readonly error: { readonly code: string; readonly message: string; readonly atMs: number | null } | null;
  readonly argumentBytes: number;
  /** Encoded, in base 64. Left out: not asked for, or storage can't open them. */
  readonly args?: string;
  /** Left out: not asked for. */
  readonly caller?: string | null;
}

export const TASK_ACTIONS = [
  /** A dead task, or one whose attempt has failed, begins at once, with no failure that counts. */
  "retry",
  /** A task begins at once, whatever its time. */
  "run",
  /** A dead task is removed. */
  "discard",
  /** A task is removed. */
  "cancel",
] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

/** A commit has room for so many. */
export const MAX_ORDERED_TASKS = 48;
export const MAX_LISTED_TASKS = 1_000;

export interface TaskOrder {
  readonly action: TaskAction;
  /** At most {@link MAX_ORDERED_TASKS}, each once. */
  readonly ids: readonly ExecutionId[];
  /** `retry` also calls services of which nobody knows whether they have acted. */
  readonly callAgain: boolean;
}

export type TaskOrderOutcome =
  /** It is durable. */
  | "done"
  /** There is no such task, or it is done. */
  | "unknown"
  /** An attempt of it is under way. */
  | "running"
  /** Only a dead task can be discarded. */
  | "not-dead"
  /** No attempt of it has failed. */
  | "not-failed"
  /** Nobody knows whether its service has acted for it. */
  | "may-have-acted";

export interface TaskOrderAnswer {
  readonly results: readonly { readonly id: ExecutionId; readonly outcome: TaskOrderOutcome }[];
}

/** Throws a MalformedError. */
export function readTaskOrder(order: Readonly<Record<string, unknown>>): TaskOrder {
  const { action, ids, callAgain = false } = order;
  const known = TASK_ACTIONS.find((each) => each === action);
  if (known === undefined) throw new MalformedError(`action is none of ${TASK_ACTIONS.join(", ")}`);
  const read = readIds(ids);
  if (read.length === 0) throw new MalformedError("ids is empty");
  if (typeof callAgain !== "boolean") throw new MalformedError("callAgain is neither true nor false");
  return { action: known, ids: read, callAgain };
}

/** Throws a MalformedError. */
export function readTaskListQuestion(question: Readonly<Record<string, unknown>>): TaskListQuestion {
  const { filter = {}, limit, after = null, withArguments = false } = question;
  if (typeof filter !== "object" || filter === null || Array.isArray(filter))
    throw new MalformedError("filter is no object");
  if (!Number.isSafeInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_LISTED_TASKS)
    throw new MalformedError(`limit is not a number from 1 to ${MAX_LISTED_TASKS}`);
  if (after !== null && typeof after !== "string") throw new MalformedError("after is no text");
  if (typeof withArguments !== "boolean") throw new MalformedError("withArguments is neither true nor false");
  return {
    filter: readFilter(filter as Readonly<Record<string, unknown>>),
    limit: limit as number,
    after,
    withArguments,
  };
}

function readFilter({ state, handler, lane, ids }: Readonly<Record<string, unknown>>): TaskFilter {
  const known = TASK_STATES.find((each) => each === state);
  if (state !== undefined && known === undefined)
    throw new MalformedError(`state is none of ${TASK_STATES.join(", ")}`);
  if (handler !== undefined && typeof handler !== "string") throw new MalformedError("handler is no text");
  if (lane !== undefined && typeof lane !== "string") throw new MalformedError("lane is no text");
  return {
    ...(known === undefined ? {} : { state: known }),
    ...(handler === undefined ? {} : { handler }),
    ...(lane === undefined ? {} : { lane }),
    ...(ids === undefined ? {} : { ids: readIds(ids) }),
  };
}

function readIds(ids: unknown): readonly ExecutionId[] {
  if (
    !Array.isArray(ids) ||
    ids.length > MAX_ORDERED_TASKS ||
    !ids.every((id) => typeof id === "string" && isExecutionId(id))
  )
    throw new MalformedError(`ids is no list of at most ${MAX_ORDERED_TASKS} ids of tasks`);
  return [...new Set(ids)];
}
