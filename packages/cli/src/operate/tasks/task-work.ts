/** The subcommands of `radical tasks`. */
import {
  MAX_ORDERED_TASKS,
  type TaskAction,
  type TaskFilter,
  type TaskOrderOutcome,
  type TaskState,
} from "@radical/protocol";
import { CommandError } from "@radical/app/command-error";
import { shortenedTo } from "../../data/data-work.ts";
import { createTerminal, print } from "../../terminal/terminal.ts";
import { carryOut, idOf, type Many, type OperateOptions, type OrderOptions, primaryOf } from "../orders.ts";
import { describeTask, linesOfTasks } from "./task-lines.ts";
import { orderTasks, taskIds, taskPage } from "./task-requests.ts";

export interface ListOptions extends OperateOptions {
  readonly state: TaskState | null;
  readonly handler: string | null;
  readonly key: string | null;
  readonly limit: number;
  readonly after: string | null;
  readonly arguments: boolean;
}

export async function list(options: ListOptions, signal: AbortSignal): Promise<void> {
  const { limit, after, json, arguments: withArguments } = options;
  const terminal = createTerminal({ quiet: json });
  const primary = await primaryOf(options);
  const page = taskPage(primary, { filter: filterOf(options), limit, after, withArguments }, signal);
  const { items: tasks, next, timeMs } = await terminal.during("looking for tasks", page);
  if (json) return print(JSON.stringify({ tasks, next }));
  // Without a terminal there is none.
  const { columns } = process.stdout as { readonly columns?: number };
  if (tasks.length === 0) terminal.note("There are no such tasks.");
  else for (const line of linesOfTasks(tasks, timeMs)) print(shortenedTo(columns, line));
  if (next !== null) terminal.note(terminal.style("dim", `There may be more: --limit, or --after '${next}'`));
}

export interface ShowOptions extends OperateOptions {
  readonly arguments: boolean;
}

export async function show(id: string, options: ShowOptions, signal: AbortSignal): Promise<void> {
  const filter: TaskFilter = { ids: [idOf("task", id)] };
  const question = { filter, limit: 1, after: null, withArguments: options.arguments };
  const { items, timeMs } = await taskPage(await primaryOf(options), question, signal);
  const [task] = items;
  if (task === undefined) throw noSuchTask(id);
  if (options.json) return print(JSON.stringify(task));
  for (const line of describeTask(task, timeMs)) print(line);
}

/** Of tasks that are named, or of all of a kind, or of those of a handler. */
export function order(
  action: TaskAction,
  given: readonly string[],
  options: OrderOptions & { readonly callAgain?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { callAgain = false } = options;
  return carryOut<TaskOrderOutcome>(
    {
      noun: "task",
      action,
      ...WORDS[action],
      left: LEFT,
      many: MANY[action],
      most: MAX_ORDERED_TASKS,
      send: (primary, ids) => orderTasks(primary, { action, ids, callAgain }),
    },
    given,
    options,
    signal,
  );
}

const WORDS: Readonly<Record<TaskAction, { readonly doing: string; readonly done: string }>> = {
  retry: { doing: "trying again", done: "tried again" },
  run: { doing: "running", done: "begun, as soon as there is room" },
  discard: { doing: "discarding", done: "discarded" },
  cancel: { doing: "cancelling", done: "cancelled" },
};

const findBy =
  (filter: TaskFilter): Many["find"] =>
  (primary, handler, signal) =>
    taskIds(primary, { ...filter, ...(handler === null ? {} : { handler }) }, signal);

const MANY: Readonly<Record<TaskAction, Many | null>> = {
  retry: { words: "dead tasks", question: null, find: findBy({ state: "dead" }) },
  run: null,
  discard: { words: "dead tasks", question: "Discard", find: findBy({ state: "dead" }) },
  cancel: { words: "tasks", question: "Cancel", find: findBy({}) },
};

/** The reason why a task stays as it is, and what to do. */
const LEFT: Readonly<Record<Exclude<TaskOrderOutcome, "done">, string>> = {
  unknown: "there is no such task; it may be done",
  running: "it runs at the moment, or is a step that its workflow waits for; try again, or cancel the workflow",
  "not-dead": "it is not dead: radical tasks cancel gives up a task that waits",
  "not-failed": "no attempt of it has failed: radical tasks run begins a task before its time",
  "may-have-acted":
    "nobody knows whether its service has acted: look for its key there, and discard the task, or give --call-again to call the service once more",
};

function filterOf({ state, handler, key }: ListOptions): TaskFilter {
  return {
    ...(state === null ? {} : { state }),
    ...(handler === null ? {} : { handler }),
    ...(key === null ? {} : { lane: key }),
  };
}

function noSuchTask(id: string): CommandError {
  return new CommandError(
    "no_such_task",
    `There is no task ${id}.`,
    "It is done, or was cancelled or discarded: radical tasks list shows those that are left.",
  );
}
