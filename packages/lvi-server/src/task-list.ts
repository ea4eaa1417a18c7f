/** Tasks as an operator sees them: pages of storage, with the state that the core gives each. */
import {
  type ListedTask,
  MalformedError,
  type TaskFilter,
  type TaskList,
  type TaskListQuestion,
  withoutSecrets,
} from "@radical/protocol";
import { toBase64 } from "./base64.ts";
import type { LviCore } from "./core/lvi-core.ts";
import { type Task, UNREADABLE } from "./core/task.ts";
import { ALL_ARGUMENTS, type KnownSecrets } from "./known-secrets.ts";
import type { Storage, TaskListPage, TaskSelection } from "./storage/storage.ts";

type Core = Pick<LviCore, "taskStateOf" | "canRun" | "taskAttemptsOf" | "openTasks" | "currentModule">;
type Lists = Pick<Storage, "listTasks" | "findTask">;

export async function listTasks(
  storage: Lists,
  core: Core,
  { secrets, wallMs: timeMs }: { readonly secrets: KnownSecrets; readonly wallMs: number },
  { filter, limit, after, withArguments }: TaskListQuestion,
): Promise<TaskList> {
  const { tasks, next } = await pageOf(storage, core, filter, after, limit);
  const current = core.currentModule;
  if (withArguments)
    await secrets.learn([...tasks.map(({ module }) => module), ...(current === null ? [] : [current])]);
  const argumentsOf = ({ args, module, handler }: Task): Uint8Array => {
    // Enqueued by one module, to be run by another.
    const hidden = [module, current ?? module].flatMap((one) => secrets.of(one, handler) ?? ALL_ARGUMENTS);
    return withoutSecrets(args, hidden);
  };
  const listed = tasks
    .filter((task) => filter.handler === undefined || task.handler === filter.handler)
    .filter((task) => filter.lane === undefined || task.lane === filter.lane)
    .map((task) => ({
      ...listedTask(core, task),
      ...(withArguments && task.isUnreadable !== true ? { args: toBase64(argumentsOf(task)) } : {}),
      ...(withArguments ? { caller: task.caller } : {}),
    }))
    .filter(({ state }) => filter.state === undefined || state === filter.state);
  return { tasks: listed, next, all: core.openTasks, timeMs };
}

/** A place is the number of a part, and the place in that. */
async function pageOf(
  storage: Lists,
  core: Core,
  filter: TaskFilter,
  after: string | null,
  limit: number,
): Promise<TaskListPage> {
  if (filter.ids !== undefined) {
    const found = await Promise.all(filter.ids.map((id) => storage.findTask(id)));
    return { tasks: found.filter((task) => task !== null), next: null };
  }
  const parts = partsOf(core, filter);
  const [, number = "0", place = ""] = after === null ? [] : (/^(\d) (.*)$/s.exec(after) ?? []);
  const selection = parts[Number(number)];
  if (selection === undefined || (after !== null && !after.startsWith(`${number} `)))
    throw new MalformedError("after is no place in such a list of tasks");
  const { tasks, next } = await storage.listTasks(selection, place === "" ? null : place, limit);
  if (next !== null) return { tasks, next: `${number} ${next}` };
  const following = Number(number) + 1;
  return { tasks, next: following < parts.length ? `${following} ` : null };
}

/** Dead tasks come first. Those whose handler is missing are among the others, so these are read as well if there may be some. */
function partsOf(core: Core, { state, handler, lane }: TaskFilter): readonly TaskSelection[] {
  if (lane !== undefined) return [{ lane }];
  if (state === undefined) return [{}];
  if (state !== "dead") return [{ state: "open" }];
  const isThere = handler !== undefined && core.canRun(handler);
  return isThere ? [{ state: "dead" }] : [{ state: "dead" }, { state: "open" }];
}

function listedTask(core: Core, task: Task): ListedTask {
  const { id, handler, lane, createdAtMs, dueMs, attempt, failures, parent, module, args, step } = task;
  const state = core.taskStateOf(task);
  const unreadable = task.isUnreadable === true ? { ...UNREADABLE, atMs: null } : null;
  const error = task.error ?? unreadable;
  const missing = { code: "no_handler", message: `The current module has no handler ${handler}.`, atMs: null };
  return {
    id,
    handler,
    state,
    lane,
    createdAtMs,
    dueMs,
    attempts: attempt,
    failures,
    mostFailures: step?.isUndo === true ? null : core.taskAttemptsOf(handler),
    parent,
    module,
    error: core.canRun(handler) ? error : missing,
    argumentBytes: args.length,
  };
}
