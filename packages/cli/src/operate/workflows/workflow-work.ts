/** The subcommands of `radical workflows`. */
import { CommandError } from "@radical/app/command-error";
import {
  MAX_ORDERED_WORKFLOWS,
  type WorkflowAction,
  type WorkflowOrderOutcome,
  type WorkflowState,
} from "@radical/protocol";
import { shortenedTo } from "../../data/data-work.ts";
import { createTerminal, print } from "../../terminal/terminal.ts";
import { carryOut, idOf, type Many, type OperateOptions, type OrderOptions, primaryOf } from "../orders.ts";
import { describeWorkflow, linesOfWorkflows } from "./workflow-lines.ts";
import { orderWorkflows, workflowHistory, workflowIds, workflowPage } from "./workflow-requests.ts";

export interface ListOptions extends OperateOptions {
  readonly state: WorkflowState | null;
  readonly handler: string | null;
  readonly limit: number;
  readonly after: string | null;
}

export async function list(options: ListOptions, signal: AbortSignal): Promise<void> {
  const { json } = options;
  const terminal = createTerminal({ quiet: json });
  const page = workflowPage(await primaryOf(options), options, signal);
  const { items: workflows, next, timeMs } = await terminal.during("looking for workflows", page);
  if (json) return print(JSON.stringify({ workflows, next }));
  // Without a terminal there is none.
  const { columns } = process.stdout as { readonly columns?: number };
  if (workflows.length === 0) terminal.note("There are no such workflows.");
  else for (const line of linesOfWorkflows(workflows, timeMs)) print(shortenedTo(columns, line));
  if (next !== null) terminal.note(terminal.style("dim", `There may be more: --limit, or --after '${next}'`));
}

export async function show(
  id: string,
  options: OperateOptions & { readonly arguments: boolean },
  signal: AbortSignal,
): Promise<void> {
  const question = { workflow: idOf("workflow", id), withArguments: options.arguments };
  const history = await workflowHistory(await primaryOf(options), question, signal);
  if (history === null)
    throw new CommandError(
      "no_such_workflow",
      `There is no workflow ${id}.`,
      "It may wait as a task, which radical tasks list shows, or have ended long ago. radical workflows list shows those that have not.",
    );
  if (options.json) return print(JSON.stringify(history));
  for (const line of describeWorkflow(history)) print(line);
}

/** Of workflows that are named, or of all of a kind, or of those of a name. */
export function order(
  action: WorkflowAction,
  given: readonly string[],
  options: OrderOptions,
  signal: AbortSignal,
): Promise<void> {
  return carryOut<WorkflowOrderOutcome>(
    {
      noun: "workflow",
      action,
      ...WORDS[action],
      left: LEFT,
      many: MANY[action],
      most: MAX_ORDERED_WORKFLOWS,
      send: (primary, ids) => orderWorkflows(primary, { action, ids }),
    },
    given,
    options,
    signal,
  );
}

const WORDS: Readonly<Record<WorkflowAction, { readonly doing: string; readonly done: string }>> = {
  retry: { doing: "trying again", done: "tried again" },
  cancel: { doing: "cancelling", done: "asked to end: what is done is undone first" },
};

const findIn =
  (state: WorkflowState | null): Many["find"] =>
  (primary, handler, signal) =>
    workflowIds(primary, { state, handler }, signal);

const MANY: Readonly<Record<WorkflowAction, Many>> = {
  retry: { words: "stuck workflows", question: null, find: findIn("stuck") },
  cancel: { words: "workflows", question: "Cancel", find: findIn(null) },
};

/** The reason why a workflow stays as it is. */
const LEFT: Readonly<Record<Exclude<WorkflowOrderOutcome, "done">, string>> = {
  unknown: "there is no such workflow; it may have ended, or not begun: radical tasks list shows those that have not",
  "not-stuck": "it is not stuck",
  ending: "its run has ended: it only waits for its steps, and for what it undoes",
  "in-doubt": "the server has stopped, and nobody knows whether it was done: give the same order again",
};
