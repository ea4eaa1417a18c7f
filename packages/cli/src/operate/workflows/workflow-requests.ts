/** Questions of `radical workflows` to the primary, and its orders. */
import type { PrimaryAddress } from "@radical/admin";
import {
  type ExecutionId,
  type ListedWorkflow,
  MAX_LISTED_WORKFLOWS,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  type WorkflowOrder,
  type WorkflowOrderAnswer,
  WORKFLOWS_PATH,
} from "@radical/protocol";
import { answerOf } from "../older-server.ts";
import { allPages, itemsAfter, type Page, type PageReader } from "../pages.ts";

type WorkflowFilter = Pick<WorkflowListQuestion, "state" | "handler">;

export function workflowPage(
  primary: PrimaryAddress,
  { limit, after, ...filter }: WorkflowListQuestion,
  signal: AbortSignal,
): Promise<Page<ListedWorkflow>> {
  return itemsAfter(reader(primary, filter, signal), MAX_LISTED_WORKFLOWS, { limit, after }, signal);
}

/** The ids of all workflows that are wanted, page by page. */
export async function* workflowIds(
  primary: PrimaryAddress,
  filter: WorkflowFilter,
  signal: AbortSignal,
): AsyncGenerator<readonly ExecutionId[], void> {
  for await (const workflows of allPages(reader(primary, filter, signal), MAX_LISTED_WORKFLOWS, signal))
    yield workflows.map(({ id }) => id);
}

/** Null: there is no such workflow. */
export function workflowHistory(
  primary: PrimaryAddress,
  question: WorkflowHistoryQuestion,
  signal: AbortSignal,
): Promise<WorkflowHistory | null> {
  return answerOf("workflows", primary, WORKFLOW_HISTORY_PATH, question, signal);
}

export async function orderWorkflows(
  primary: PrimaryAddress,
  order: WorkflowOrder,
): Promise<WorkflowOrderAnswer["results"]> {
  return (await answerOf<WorkflowOrderAnswer>("workflows", primary, WORKFLOW_ORDERS_PATH, order)).results;
}

function reader(
  primary: PrimaryAddress,
  { state, handler }: WorkflowFilter,
  signal: AbortSignal,
): PageReader<ListedWorkflow> {
  return async (limit, after) => {
    const question: WorkflowListQuestion = { state, handler, limit, after };
    const answer = await answerOf<WorkflowList>("workflows", primary, WORKFLOWS_PATH, question, signal);
    return { items: answer.workflows, next: answer.next, timeMs: answer.timeMs };
  };
}
