/**
 * Tasks: executions that the primary owes itself. The commit of its parent inserts the record of a task, and the commit of its own
 * writes removes it. That alone makes a task happen exactly once, whatever fails in between.
 *
 *   delayed ── ready ── running ──┬── gone
 *      └────────────────────────── │ ── delayed (the next attempt), or dead
 *
 * A task in a *lane* runs when all tasks before it in the lane are gone. Their order is that of the commits that have enqueued them.
 */
import {
  CborWriter,
  type CommitId,
  type ContentHash,
  contentHash,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  type RunEffect,
  taskIdOf,
  taskSeedOf,
} from "@radical/protocol";
import type { StepName } from "./workflow.ts";
import type { Invocation } from "./intent.ts";

export interface Task {
  readonly id: ExecutionId;
  readonly handler: string;
  readonly args: Uint8Array;
  /** Storage can't open the arguments now. An attempt fails before it begins. Left out: it can. */
  readonly isUnreadable?: true;
  /** All attempts draw by this seed. */
  readonly seed: Uint8Array;
  /** Of the execution that has enqueued it. */
  readonly caller: string | null;
  readonly parent: ExecutionId;
  /** The module of its parent. A task runs on the current one. */
  readonly module: ModuleHash;
  /** Null: it is in no lane. */
  readonly lane: string | null;
  /** In its lane: {@link placeOf}. */
  readonly place: string;
  /** The time of its parent. */
  readonly createdAtMs: number;
  /** By the wall clock. */
  readonly dueMs: number;
  /** Attempts that have ended. An operator may let the task try again, so the failures that count may be fewer. */
  readonly attempt: number;
  readonly failures: number;
  /** When its service was about to be called for the first time, by the wall clock. Null: it was not, or its callee is a handler. */
  readonly sentAtMs: number | null;
  /** The step of a workflow that it is: its end arrives there. Left out: it is none. */
  readonly step?: TaskStep;
  readonly state: "open" | "dead";
  /** Of the last attempt. */
  readonly error: TaskError | null;
}

/** The part of a task by which memory decides when it begins. Arguments may be large, so memory may lack them. */
export type TaskOutline = Pick<
  Task,
  "id" | "handler" | "lane" | "place" | "parent" | "dueMs" | "state" | "failures" | "error"
>;

/** Where storage has the record of a task. */
export type TaskName = Pick<Task, "id" | "lane">;

export function hasArguments(task: Task | TaskOutline): task is Task {
  return "args" in task;
}

export function outlineOf({ id, handler, lane, place, parent, dueMs, state, failures, error }: Task): TaskOutline {
  return { id, handler, lane, place, parent, dueMs, state, failures, error };
}

/** Bytes of the arguments that memory has. */
export function argumentBytesOf(task: Task | TaskOutline): number {
  return hasArguments(task) ? task.args.length : 0;
}

/** A call of a service by a workflow. */
export interface TaskStep extends StepName {
  /** It is tried until it is done. */
  readonly isUndo: boolean;
}

export interface TaskError {
  readonly code: string;
  readonly message: string;
  readonly atMs: number;
}

/** In the order of due tasks. */
export interface TaskPlace {
  readonly dueMs: number;
  readonly id: ExecutionId;
}

/** Two hexadecimal digits, by which a storage can keep the tasks of a lane together. */
export function laneByteOf(lane: string): string {
  return hashOf(lane).slice(0, 2);
}

/** The order of tasks in a lane, as text: that of commits, and of the effects of one execution. */
export function placeOf(commit: CommitId, ordinal: number): string {
  return `${commit}-${ordinal.toString(16).padStart(4, "0")}`;
}

/** Whether a task with this place was enqueued under the commit id. */
export function isPlaceOf(place: string, commit: CommitId): boolean {
  return place.startsWith(commit);
}

export function compareDue(a: TaskPlace, b: TaskPlace): number {
  if (a.dueMs !== b.dueMs) return a.dueMs - b.dueMs;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function hashOf(text: string): ContentHash {
  return contentHash(new CborWriter().text(text).finish());
}

// ── The end of an attempt ────────────────────────────────────────────────────────────────────────────────────────────

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;
/** Of the words of an error, in a record. */
const MOST_WORDS = 1_000;

/** The failure of an attempt; null: the task has its answer. An abort with 4xx is an answer too. */
export function failureOf(outcome: Outcome, nowMs: number): TaskError | null {
  switch (outcome.kind) {
    case "result":
      return null;
    case "abort":
      // variant: task-final
      if (outcome.status < 500) return null;
      return errorOf(outcome, nowMs);
    case "trap":
      return errorOf(isMisfit(outcome) ? { ...outcome, code: MISFIT } : outcome, nowMs);
  }
}

/** The code of a failure: the parameters of the handler do not fit the arguments, since the module is another one than at the enqueue. */
const MISFIT = "arguments";
/** As the codec of handlers begins its words, before the handler itself begins. */
const MISFIT_WORDS = /^(?:the arguments[:,]|missing argument )/i;

/** The error of a task whose arguments can't be opened. As with others that misfit, the next start of the server tries again. */
export const UNREADABLE = {
  code: MISFIT,
  message:
    "The arguments, which are sealed, can't be opened: their key is missing. Put it back, and start the server again.",
} as const;

/** Of an attempt of such a task. */
export const UNREADABLE_OUTCOME: Outcome = { kind: "trap", code: "assertion_failed", message: UNREADABLE.message };

/** Whether an outcome, or the error in a record, says that arguments do not fit. No attempt by the same module ends otherwise. */
export function isMisfit({ code, message }: { readonly code: string; readonly message: string }): boolean {
  return (code === "assertion_failed" || code === MISFIT) && MISFIT_WORDS.test(message);
}

export function errorOf({ code, message }: Pick<TaskError, "code" | "message">, atMs: number): TaskError {
  return { code, message: message.slice(0, MOST_WORDS), atMs };
}

/** The record after an attempt; null: the task is gone. */
export function settled(task: Task, failure: TaskError | null, attempts: number, nowMs: number): Task | null {
  if (failure === null) return null;
  const failures = task.failures + 1;
  const attempt = task.attempt + 1;
  // variant: task-attempts
  if (failures >= attempts) return { ...task, attempt, failures, state: "dead", error: failure };
  return { ...task, attempt, failures, dueMs: nowMs + pauseMs(task.id, failures), error: failure };
}

/** Twice as long each time. A part that the task's id decides keeps tasks that failed together from trying again together. */
export function pauseMs(id: ExecutionId, failures: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  const part = Number.parseInt(hashOf(`${id} ${failures}`).slice(0, 8), 16) / 2 ** 32;
  return Math.round(longest * (0.75 + part / 4));
}

// ── What a run enqueues ──────────────────────────────────────────────────────────────────────────────────────────────

/** The tasks that an execution enqueues, if it commits, without those that it has cancelled after that. */
export function tasksOf(
  effects: readonly RunEffect[],
  { executionId: parent, module, environment }: Invocation,
  commit: CommitId,
): readonly Task[] {
  // variant: task-caller
  const { caller } = environment;
  const tasks = new Map<ExecutionId, Task>();
  for (const [ordinal, effect] of effects.entries()) {
    if (effect.kind === "cancel") {
      // variant: cancel-own
      tasks.delete(effect.task);
      continue;
    }
    if (effect.kind !== "enqueue") continue;
    const { callee: handler, args, delayMs, key: lane } = effect;
    const id = taskIdOf(parent, ordinal);
    tasks.set(id, {
      id,
      handler,
      args,
      seed: taskSeedOf(environment.seed, ordinal),
      caller,
      parent,
      module,
      lane,
      place: placeOf(commit, ordinal),
      createdAtMs: environment.timeMs,
      dueMs: environment.timeMs + delayMs,
      attempt: 0,
      failures: 0,
      sentAtMs: null,
      state: "open",
      error: null,
    });
  }
  return [...tasks.values()];
}
