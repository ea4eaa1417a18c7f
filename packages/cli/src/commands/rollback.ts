/** `radical rollback`: a version that served before serves again, with its module. */
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { EXIT_FAILED } from "@radical/app/command-error";
import { loadProject } from "@radical/app";
import type { PlannedStep } from "@radical/deploy";
import { showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, commandLine, interruptible, unfinishedJson } from "./command.ts";
import { confirmChanges } from "../terminal/confirm-changes.ts";
import { ENVIRONMENT } from "./deploy.ts";

const ROLLBACK = {
  name: "rollback",
  words: "let an earlier version serve again",
  options: {
    id: { kind: "operand", optional: true, words: "deployment or version (default: the deployment before this one)" },
    project: PROJECT,
    env: ENVIRONMENT,
    plan: { kind: "flag", words: "show what would change, and change nothing" },
    yes: { kind: "flag", short: "y", words: "do not ask for confirmation" },
    primary: {
      kind: "text",
      placeholder: "url",
      words: "LVI server of your own; RADICAL_KEYS and RADICAL_ADMIN_KEYS have its keys",
    },
    region: {
      kind: "text",
      placeholder: "name",
      words: "AWS region of the primary (default: AWS_REGION, or the region of the profile)",
    },
    url: {
      kind: "text",
      placeholder: "origin",
      words: "origin of the deployment, if neither a route nor a workers.dev name gives it",
    },
    acceptMisfits: {
      kind: "flag",
      words: "go back to types that stored items may not fit: handlers that read such an item fail",
    },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `If the primary has collected the module of that version, it gets the module again. Then the version answers one request, and
then it serves. Data stays as it is.`,
  examples: [
    ["radical rollback", "to the version that served before"],
    ["radical rollback 20261121-141503-3fa9", "as `radical deployments` names it, or the id of a version"],
    ["radical rollback --plan"],
  ],
} as const satisfies Command<Options>;

type RollbackOptions = Values<typeof ROLLBACK.options>;

export const rollbackCommand: Subcommand = subcommand(ROLLBACK, (options) =>
  interruptible(options, (signal) => rollback(options, signal)),
);

async function rollback(options: RollbackOptions, signal: AbortSignal): Promise<void> {
  const { applySteps, deployedPrimary, openEdge, planRollback, targetOfProject, unlessStopped } =
    await import("@radical/deploy");
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const target = targetOfProject(project, options.env);
  const { id: to, primary, region, url, acceptMisfits } = options;
  const planning = async (): Promise<readonly PlannedStep[]> => {
    const edge = await openEdge(project, target, process.env, signal);
    const reached = await deployedPrimary({ project, target, primary, region, url }, edge);
    const note = (words: string): void => terminal.note(terminal.style("dim", `  ${words}`));
    return planRollback({ project, edge, to, acceptMisfits, note, signal, ...reached });
  };
  const planned = await unlessStopped(planning(), signal);
  showPlan(planned, terminal);
  const plan = planned.flatMap(({ step, changes }) => ({ name: step.name, changes }));
  const tell = (outcome: string, more: object = {}): void => {
    if (options.json) print(JSON.stringify({ outcome, plan, ...more }));
  };
  if (planned.length === 0) {
    terminal.note("nothing had to be changed: that version serves");
    return tell("unchanged", { steps: [] });
  }
  if (!(await unlessStopped(confirmChanges(planned, options, terminal), signal))) {
    terminal.note("Nothing was changed.");
    if (!options.plan) process.exitCode = EXIT_FAILED;
    return tell(options.plan ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal), signal });
  if (outcome.kind === "done") return tell("rolled-back", { steps: outcome.reports });
  process.exitCode = EXIT_FAILED;
  showUnfinished(outcome, commandLine(), terminal);
  tell(outcome.kind, unfinishedJson(outcome));
}
