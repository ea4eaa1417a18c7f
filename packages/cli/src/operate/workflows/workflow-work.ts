/** The subcommands of `radical workflows`. */
import { counted, loadProject } from "@radical/app";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "@radical/app/command-error";
import type { PrimaryAddress } from "@radical/admin";
import {
  type ExecutionId,
  isExecutionId,
  type WorkflowAction,
  type WorkflowOrderOutcome,
  type WorkflowState,
} from "@radical/protocol";
import { shortenedTo } from "../../data/data-work.ts";
import { createTerminal, print } from "../../terminal/terminal.ts";
import { leadingPrimary, type PrimaryChoice } from "../leading-primary.ts";
import { describeWorkflow, linesOfWorkflows } from "./workflow-lines.ts";
import { orderWorkflows, workflowHistory, workflowPage } from "./workflow-requests.ts";

export interface WorkflowOptions extends PrimaryChoice {
  readonly project: string;
  readonly json: boolean;
}

export interface ListOptions extends WorkflowOptions {
  readonly state: WorkflowState | null;
  readonly handler: string | null;
  readonly limit: number;
  readonly after: string | null;
}

export async function list(options: ListOptions, signal: AbortSignal): Promise<void> {
  const { json } = options;
  const terminal = createTerminal({ quiet: json });
  const page = workflowPage(await primaryOf(options), options, signal);
  const { workflows, next } = await terminal.during("looking for workflows", page);
  if (json) return print(JSON.stringify({ workflows, next }));
  // Without a terminal there is none.
  const { columns } = process.stdout as { readonly columns?: number };
  if (workflows.length === 0) terminal.note("There are no such workflows.");
  else for (const line of linesOfWorkflows(workflows, Date.now())) print(shortenedTo(columns, line));
  if (next !== null) terminal.note(terminal.style("dim", `There may be more: --limit, or --after '${next}'`));
}

export async function show(
  id: string,
  options: WorkflowOptions & { readonly arguments: boolean },
  signal: AbortSignal,
): Promise<void> {
  const question = { workflow: idOf(id), withArguments: options.arguments };
  const history = await workflowHistory(await primaryOf(options), question, signal);
  if (history === null)
    throw new CommandError(
      "no_such_workflow",
      `There is no workflow ${id}.`,
      "It may wait as a task, which radical tasks list shows, or have ended long ago. radical workflows list shows those that have not.",
    );
  if (options.json) return print(JSON.stringify(history));
  for (const line of describeWorkflow(history, Date.now())) print(line);
}

export async function order(
  action: WorkflowAction,
  given: readonly string[],
  options: WorkflowOptions,
  signal: AbortSignal,
): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  const ids = given.map(idOf);
  if (ids.length === 0)
    throw new CommandError(
      "usage",
      `radical workflows ${action} takes the ids of workflows.`,
      "radical workflows list shows the ids.",
      { exitCode: EXIT_USAGE },
    );
  const outcomes = await orderWorkflows(await primaryOf(options), action, ids, signal);
  const results = Array.from(outcomes, ([id, outcome]) => ({ id, outcome }));
  const left = results.filter(({ outcome }) => outcome !== "done");
  if (left.length > 0 || signal.aborted) process.exitCode = EXIT_FAILED;
  if (options.json) return print(JSON.stringify({ action, results, stopped: signal.aborted }));
  for (const { id, outcome } of left)
    if (outcome !== "done") terminal.note(`${terminal.style("red", "✗")} ${id} ${LEFT[outcome]}`);
  const done = results.length - left.length;
  if (done > 0) terminal.note(`${terminal.style("green", "✓")} ${counted(done, "workflow")} ${DONE[action]}`);
  if (signal.aborted) terminal.note("The command was told to stop: the other workflows are as they were.");
}

const DONE: Readonly<Record<WorkflowAction, string>> = {
  retry: "tried again",
  cancel: "asked to end: what is done is undone first",
};

/** The reason why a workflow stays as it is. */
const LEFT: Readonly<Record<Exclude<WorkflowOrderOutcome, "done">, string>> = {
  unknown: "there is no such workflow; it may have ended, or wait as a task",
  "not-stuck": "it is not stuck",
  ending: "its run has ended: it only waits for its steps, and for what it undoes",
};

async function primaryOf(options: WorkflowOptions): Promise<PrimaryAddress> {
  return leadingPrimary(await loadProject(options.project), options);
}

function idOf(text: string): ExecutionId {
  if (isExecutionId(text)) return text;
  throw new CommandError(
    "usage",
    `"${text}" is not the id of a workflow: that has 32 hexadecimal digits.`,
    "radical workflows list shows the ids.",
    { exitCode: EXIT_USAGE },
  );
}
