/** Questions of `radical tasks` to the primary, and its orders. */
import type { PrimaryAddress } from "@radical/admin";
import {
  type ExecutionId,
  MAX_LISTED_TASKS,
  type ListedTask,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  type TaskFilter,
  type TaskList,
  type TaskListQuestion,
  type TaskOrder,
  type TaskOrderAnswer,
} from "@radical/protocol";
import { answerOf } from "../older-server.ts";
import { allPages, itemsAfter, type Page, type PageReader } from "../pages.ts";

export function taskPage(
  primary: PrimaryAddress,
  { filter, limit, after, withArguments }: TaskListQuestion,
  signal: AbortSignal,
): Promise<Page<ListedTask>> {
  const read = reader(primary, filter, withArguments, signal);
  return itemsAfter(read, MAX_LISTED_TASKS, { limit, after }, signal);
}

/** The ids of all tasks that are wanted, page by page. */
export async function* taskIds(
  primary: PrimaryAddress,
  filter: TaskFilter,
  signal: AbortSignal,
): AsyncGenerator<readonly ExecutionId[], void> {
  for await (const tasks of allPages(reader(primary, filter, false, signal), MAX_LISTED_TASKS, signal))
    yield tasks.map(({ id }) => id);
}

export async function orderTasks(primary: PrimaryAddress, order: TaskOrder): Promise<TaskOrderAnswer["results"]> {
  return (await answerOf<TaskOrderAnswer>("tasks", primary, TASK_ORDERS_PATH, order)).results;
}

function reader(
  primary: PrimaryAddress,
  filter: TaskFilter,
  withArguments: boolean,
  signal: AbortSignal,
): PageReader<ListedTask> {
  return async (limit, after) => {
    const question: TaskListQuestion = { filter, limit, after, withArguments };
    const { tasks: items, next, timeMs } = await answerOf<TaskList>("tasks", primary, TASKS_PATH, question, signal);
    return { items, next, timeMs };
  };
}
