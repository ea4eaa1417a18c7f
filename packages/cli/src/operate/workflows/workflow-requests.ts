/** Questions of `radical workflows` to the primary, and its orders. */
import { askPrimary, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import {
  type ExecutionId,
  type ListedWorkflow,
  MAX_LISTED_WORKFLOWS,
  MAX_ORDERED_WORKFLOWS,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  type WorkflowAction,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  type WorkflowOrder,
  type WorkflowOrderAnswer,
  type WorkflowOrderOutcome,
  WORKFLOWS_PATH,
} from "@radical/protocol";

interface WorkflowPage {
  readonly workflows: readonly ListedWorkflow[];
  /** Where the next page begins; null: there are no more. */
  readonly next: string | null;
}

/** The first workflows after a place, at most so many. It goes on over pages in which the primary has found none. */
export async function workflowPage(
  primary: PrimaryAddress,
  { state, handler, limit, after }: WorkflowListQuestion,
  signal: AbortSignal,
): Promise<WorkflowPage> {
  const workflows: ListedWorkflow[] = [];
  let next: string | null = after;
  do {
    const most = Math.min(limit - workflows.length, MAX_LISTED_WORKFLOWS);
    const question: WorkflowListQuestion = { state, handler, limit: most, after: next };
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page = await asked<WorkflowList>(primary, WORKFLOWS_PATH, question, signal);
    workflows.push(...page.workflows);
    ({ next } = page);
  } while (next !== null && workflows.length < limit && !signal.aborted);
  return { workflows, next };
}

/** Null: there is no such workflow. */
export function workflowHistory(
  primary: PrimaryAddress,
  question: WorkflowHistoryQuestion,
  signal: AbortSignal,
): Promise<WorkflowHistory | null> {
  return asked<WorkflowHistory | null>(primary, WORKFLOW_HISTORY_PATH, question, signal);
}

/** Carries the order out, in as many parts as it takes. */
export async function orderWorkflows(
  primary: PrimaryAddress,
  action: WorkflowAction,
  ids: readonly ExecutionId[],
  signal: AbortSignal,
): Promise<ReadonlyMap<ExecutionId, WorkflowOrderOutcome>> {
  const outcomes = new Map<ExecutionId, WorkflowOrderOutcome>();
  for (let from = 0; from < ids.length && !signal.aborted; from += MAX_ORDERED_WORKFLOWS) {
    const order: WorkflowOrder = { action, ids: ids.slice(from, from + MAX_ORDERED_WORKFLOWS) };
    // oxlint-disable-next-line no-await-in-loop -- a part of the order after the other
    const { results } = await asked<WorkflowOrderAnswer>(primary, WORKFLOW_ORDERS_PATH, order);
    for (const { id, outcome } of results) outcomes.set(id, outcome);
  }
  return outcomes;
}

async function asked<Answer>(
  primary: PrimaryAddress,
  path: string,
  question: object,
  signal?: AbortSignal,
): Promise<Answer> {
  try {
    return (await (await askPrimary(primary, "POST", path, question, signal)).json()) as Answer;
  } catch (error) {
    // A server of an earlier release has nothing there.
    if (error instanceof PrimaryError && error.answered === "not_found")
      throw new CommandError(
        "no_workflows_there",
        "The LVI server knows no workflows: it is of an earlier version",
        "Bring it to the version of this command.",
      );
    throw error;
  }
}
