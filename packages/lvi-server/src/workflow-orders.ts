/** An operator's order about several workflows. Each is a commit of its own, so the server may stop between two of them. */
import type { ExecutionId, WorkflowOrderAnswer, WorkflowOrderOutcome } from "@radical/protocol";
import type { Asker } from "./driver.ts";

/** The outcome of each, also of those that the server has not heard of before it stopped. Fails if there is no other outcome. */
export async function orderEach(
  ids: readonly ExecutionId[],
  order: (id: ExecutionId, asker: Asker<WorkflowOrderOutcome>) => void,
): Promise<WorkflowOrderAnswer> {
  const failures: unknown[] = [];
  const ordered = (id: ExecutionId): Promise<WorkflowOrderOutcome> =>
    new Promise<WorkflowOrderOutcome>((answered, failed) => order(id, { answered, failed })).catch((error: unknown) => {
      failures.push(error);
      return "in-doubt";
    });
  const results = await Promise.all(ids.map(async (id) => ({ id, outcome: await ordered(id) })));
  if (failures.length === ids.length) throw failures[0];
  return { results };
}
