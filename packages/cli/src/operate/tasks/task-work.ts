/** What the subcommands of `radical tasks` do. */
import {
  type ExecutionId,
  isExecutionId,
  type TaskAction,
  type TaskFilter,
  type TaskOrderOutcome,
  type TaskState,
} from "@radical/protocol";
import { counted, loadProject } from "@radical/app";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "@radical/app/command-error";
import type { PrimaryAddress } from "@radical/admin";
import { shortenedTo } from "../../data/data-work.ts";
import { ask } from "../../terminal/ask.ts";
import { createTerminal, print, type Terminal } from "../../terminal/terminal.ts";
import { leadingPrimary, type PrimaryChoice } from "../leading-primary.ts";
import { describeTask, linesOfTasks } from "./task-lines.ts";
import { findTask, orderTasks, taskIds, taskPage } from "./task-requests.ts";

export interface TaskOptions extends PrimaryChoice {
  readonly project: string;
  readonly json: boolean;
}

export interface ListOptions extends TaskOptions {
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
  const { tasks, next } = await terminal.during("looking for tasks", page);
  if (json) return print(JSON.stringify({ tasks, next }));
  // Without a terminal there is none.
  const { columns } = process.stdout as { readonly columns?: number };
  if (tasks.length === 0) terminal.note("There are no such tasks.");
  else for (const line of linesOfTasks(tasks, Date.now())) print(shortenedTo(columns, line));
  if (next !== null) terminal.note(terminal.style("dim", `There may be more: --limit, or --after '${next}'`));
}

export interface ShowOptions extends TaskOptions {
  readonly arguments: boolean;
}

export async function show(id: string, options: ShowOptions, signal: AbortSignal): Promise<void> {
  const task = await findTask(await primaryOf(options), idOf(id), options.arguments, signal);
  if (task === null) throw noSuchTask(id);
  if (options.json) return print(JSON.stringify(task));
  for (const line of describeTask(task, Date.now())) print(line);
}

export interface OrderOptions extends TaskOptions {
  readonly handler?: string | null;
  /** All dead tasks. */
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly callAgain?: boolean;
}

/** Of tasks that are named, or of all dead ones, or of those of a handler. */
export async function order(
  action: TaskAction,
  given: readonly string[],
  options: OrderOptions,
  signal: AbortSignal,
): Promise<void> {
  const { handler = null, all = false, json, callAgain = false } = options;
  const terminal = createTerminal({ quiet: json });
  const ids = given.map(idOf);
  if ((ids.length > 0 ? 1 : 0) + (handler !== null ? 1 : 0) + (all ? 1 : 0) !== 1)
    throw new CommandError(
      "usage",
      `radical tasks ${action} takes the ids of tasks${action === "retry" || action === "discard" ? ", or --handler, or --all" : ""}.`,
      "radical tasks list shows the ids.",
      { exitCode: EXIT_USAGE },
    );
  const primary = await primaryOf(options);
  const filter: TaskFilter = { state: "dead", ...(handler === null ? {} : { handler }) };
  if (ids.length === 0 && action === "discard" && !(await isConfirmed(handler, options, terminal))) {
    terminal.note("Nothing was changed.");
    process.exitCode = EXIT_FAILED;
    return;
  }
  const outcomes = new Map<ExecutionId, TaskOrderOutcome>();
  const carryOut = async (some: readonly ExecutionId[]): Promise<void> => {
    for (const [id, outcome] of await orderTasks(primary, { action, ids: some, callAgain }, signal))
      outcomes.set(id, outcome);
  };
  const work = async (): Promise<void> => {
    if (ids.length > 0) return carryOut(ids);
    for await (const some of taskIds(primary, filter, signal)) {
      await carryOut(some);
      if (signal.aborted) break;
    }
  };
  try {
    await terminal.during(WORDS[action].doing, work());
  } catch (error) {
    // Parts of the order that were carried out stay so.
    if (!signal.aborted) throw error;
  }
  tell(action, outcomes, signal.aborted, options, terminal);
}

const WORDS: Readonly<Record<TaskAction, { readonly doing: string; readonly done: string }>> = {
  retry: { doing: "trying tasks again", done: "tried again" },
  run: { doing: "running tasks", done: "begun, as soon as there is room" },
  discard: { doing: "discarding tasks", done: "discarded" },
  cancel: { doing: "cancelling tasks", done: "cancelled" },
};

/** Why a task stays as it is, and what to do. */
const LEFT: Readonly<Record<Exclude<TaskOrderOutcome, "done">, string>> = {
  unknown: "there is no such task; it may be done",
  running: "it runs at the moment; try again",
  "not-dead": "it is not dead: radical tasks cancel gives up a task that waits",
  "not-failed": "no attempt of it has failed: radical tasks run begins a task before its time",
  "may-have-acted":
    "nobody knows whether its service has acted: look for its key there, and discard the task, or give --call-again to call the service once more",
};

function tell(
  action: TaskAction,
  outcomes: ReadonlyMap<ExecutionId, TaskOrderOutcome>,
  isStopped: boolean,
  { json }: TaskOptions,
  terminal: Terminal,
): void {
  const results = Array.from(outcomes, ([id, outcome]) => ({ id, outcome }));
  const left = results.filter(({ outcome }) => outcome !== "done");
  if (left.length > 0 || isStopped) process.exitCode = EXIT_FAILED;
  if (json) return print(JSON.stringify({ action, results, stopped: isStopped }));
  for (const { id, outcome } of left)
    if (outcome !== "done") terminal.note(`${terminal.style("red", "✗")} ${id} ${LEFT[outcome]}`);
  const done = results.length - left.length;
  if (done > 0 || left.length === 0)
    terminal.note(`${terminal.style("green", "✓")} ${counted(done, "task")} ${WORDS[action].done}`);
  if (isStopped) terminal.note("The command was told to stop: the other tasks are as they were.");
}

/** Asked only of a person. Throws a CommandError where nobody can be asked. */
async function isConfirmed(
  handler: string | null,
  { yes = false }: OrderOptions,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true;
  const which = handler === null ? "all dead tasks" : `all dead tasks of ${handler}`;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CommandError(
      "not_confirmed",
      `The command must ask whether to discard ${which}, and can't: this is not a terminal.`,
      "Give --yes to do it.",
      { exitCode: EXIT_USAGE },
    );
  return /^y(es)?$/i.test((await ask(`${terminal.style("bold", `Discard ${which}?`)} [y/N] `)).trim());
}

async function primaryOf(options: TaskOptions): Promise<PrimaryAddress> {
  return leadingPrimary(await loadProject(options.project), options);
}

function filterOf({ state, handler, key }: ListOptions): TaskFilter {
  return {
    ...(state === null ? {} : { state }),
    ...(handler === null ? {} : { handler }),
    ...(key === null ? {} : { lane: key }),
  };
}

function idOf(text: string): ExecutionId {
  if (isExecutionId(text)) return text;
  throw new CommandError(
    "usage",
    `"${text}" is not the id of a task: that has 32 hexadecimal digits.`,
    "radical tasks list shows the ids, as enqueue returns them.",
    { exitCode: EXIT_USAGE },
  );
}

function noSuchTask(id: string): CommandError {
  return new CommandError(
    "no_such_task",
    `There is no task ${id}.`,
    "It is done, or was cancelled or discarded: radical tasks list shows those that are left.",
  );
}
