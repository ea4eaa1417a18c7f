/** What `radical tasks` asks the primary. */
import { askPrimary, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import {
  type ExecutionId,
  MAX_LISTED_TASKS,
  MAX_ORDERED_TASKS,
  type ListedTask,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  type TaskFilter,
  type TaskList,
  type TaskListQuestion,
  type TaskOrder,
  type TaskOrderAnswer,
  type TaskOrderOutcome,
} from "@radical/protocol";

export interface TaskPage {
  readonly tasks: readonly ListedTask[];
  /** Where the next page begins; null: there are no more. */
  readonly next: string | null;
}

/** The first tasks after a place, at most so many. It goes on over pages in which the primary has found none. */
export async function taskPage(
  primary: PrimaryAddress,
  { filter, limit, after, withArguments }: TaskListQuestion,
  signal: AbortSignal,
): Promise<TaskPage> {
  const tasks: ListedTask[] = [];
  let next: string | null = after;
  do {
    // With a filter most of a page may be left out, and a whole page costs as much as a part of one.
    const isFiltered = Object.keys(filter).length > 0;
    const most = isFiltered && limit - tasks.length >= MAX_LISTED_TASKS ? MAX_LISTED_TASKS : limit - tasks.length;
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page: TaskList = await ask(
      primary,
      { filter, limit: Math.min(most, MAX_LISTED_TASKS), after: next, withArguments },
      signal,
    );
    tasks.push(...page.tasks);
    ({ next } = page);
  } while (next !== null && tasks.length < limit && !signal.aborted);
  return { tasks, next };
}

/** Null: there is no such task. */
export async function findTask(
  primary: PrimaryAddress,
  id: ExecutionId,
  withArguments: boolean,
  signal: AbortSignal,
): Promise<ListedTask | null> {
  const { tasks } = await ask(primary, { filter: { ids: [id] }, limit: 1, after: null, withArguments }, signal);
  return tasks[0] ?? null;
}

/** The ids of all tasks that are wanted, page by page. */
export async function* taskIds(
  primary: PrimaryAddress,
  filter: TaskFilter,
  signal: AbortSignal,
): AsyncGenerator<readonly ExecutionId[], void> {
  let after: string | null = null;
  do {
    const question: TaskListQuestion = { filter, limit: MAX_LISTED_TASKS, after, withArguments: false };
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page: TaskList = await ask(primary, question, signal);
    for (let from = 0; from < page.tasks.length; from += MAX_ORDERED_TASKS)
      yield page.tasks.slice(from, from + MAX_ORDERED_TASKS).map(({ id }) => id);
    after = page.next;
  } while (after !== null && !signal.aborted);
}

/** Carries the order out, in as many parts as it takes; `told` hears of each. */
export async function orderTasks(
  primary: PrimaryAddress,
  { action, ids, callAgain }: TaskOrder,
  signal: AbortSignal,
): Promise<ReadonlyMap<ExecutionId, TaskOrderOutcome>> {
  const outcomes = new Map<ExecutionId, TaskOrderOutcome>();
  for (let from = 0; from < ids.length && !signal.aborted; from += MAX_ORDERED_TASKS) {
    const order: TaskOrder = { action, ids: ids.slice(from, from + MAX_ORDERED_TASKS), callAgain };
    // oxlint-disable-next-line no-await-in-loop -- one commit after another
    const answer = await asked(() => askPrimary(primary, "POST", TASK_ORDERS_PATH, order));
    // oxlint-disable-next-line no-await-in-loop -- of the same request
    const { results } = (await answer.json()) as TaskOrderAnswer;
    for (const { id, outcome } of results) outcomes.set(id, outcome);
  }
  return outcomes;
}

async function ask(primary: PrimaryAddress, question: TaskListQuestion, signal: AbortSignal): Promise<TaskList> {
  const answer = await asked(() => askPrimary(primary, "POST", TASKS_PATH, question, signal));
  return (await answer.json()) as TaskList;
}

/** A server of an earlier release has no tasks. */
async function asked(request: () => Promise<Response>): Promise<Response> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found")
      throw new CommandError(
        "no_tasks_there",
        "The LVI server knows no tasks: it is of an earlier version",
        "Bring it to the version of this command.",
      );
    throw error;
  }
}
