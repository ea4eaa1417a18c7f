/** `radical rollback`: a version that served before serves again, with its module. */
import { Argument, Command } from "commander";
import { EXIT_FAILED } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import { deployedPrimary, targetOfProject } from "../deploy/deploy.ts";
import { openEdge } from "../deploy/edge/open-edge.ts";
import { planRollback } from "../deploy/rollback.ts";
import { type PlannedStep, applySteps, unlessStopped } from "../deploy/steps.ts";
import { showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, commandLine, interruptible, unfinishedJson } from "./command.ts";
import { confirmChanges } from "./confirm-changes.ts";
import { ENVIRONMENT_OPTION } from "./deploy.ts";

const HELP = `
The primary gets the module of that version again if it has collected it; then the version answers a request, and then it
serves. Data stays as it is.

Examples:
  $ radical rollback                          # to the version that served before
  $ radical rollback 20261121-141503-3fa9     # as \`radical deployments\` names it, or the id of a version
  $ radical rollback --plan`;

interface RollbackCommandOptions extends CommonOptions {
  readonly env: string;
  readonly plan?: true;
  readonly yes?: true;
  readonly primary?: string;
  readonly region?: string;
  readonly url?: string;
}

export function rollbackCommand(): Command {
  return new Command("rollback")
    .description("have a version serve again that served before")
    .addArgument(new Argument("[id]", "a deployment or a version (default: the one before)"))
    .option(...PROJECT_OPTION)
    .option(...ENVIRONMENT_OPTION)
    .option("--plan", "show what would change, and change nothing")
    .option("-y, --yes", "ask nothing")
    .option("--primary <url>", "an LVI server of your own; RADICAL_KEYS has its key")
    .option("--region <name>", "of the primary at AWS (default: that of AWS_REGION or of the profile)")
    .option("--url <origin>", "where the deployment is reached, if no route and no workers.dev name says it")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action((id: string | undefined, options: RollbackCommandOptions) =>
      interruptible(options, (signal) => rollback(id ?? null, options, signal)),
    );
}

async function rollback(to: string | null, options: RollbackCommandOptions, signal: AbortSignal): Promise<void> {
  const terminal = createTerminal({ quiet: options.json === true });
  const project = await loadProject(options.project);
  const target = targetOfProject(project, options.env);
  const { primary = null, region = null, url = null } = options;
  const planning = async (): Promise<readonly PlannedStep[]> => {
    const edge = await openEdge(project, target, process.env, signal);
    const reached = await deployedPrimary({ project, target, primary, region, url }, edge);
    return planRollback({ project, edge, to, signal, ...reached });
  };
  const planned = await unlessStopped(planning(), signal);
  showPlan(planned, terminal);
  const plan = planned.flatMap(({ step, changes }) => ({ name: step.name, changes }));
  const tell = (outcome: string, more: object = {}): void => {
    if (options.json === true) print(JSON.stringify({ outcome, plan, ...more }));
  };
  if (planned.length === 0) {
    terminal.note("nothing had to be changed: that version serves");
    return tell("unchanged", { steps: [] });
  }
  if (!(await unlessStopped(confirmChanges(planned, options, terminal), signal))) {
    terminal.note("Nothing was changed.");
    if (options.plan !== true) process.exitCode = EXIT_FAILED;
    return tell(options.plan === true ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal), signal });
  if (outcome.kind === "done") return tell("rolled-back", { steps: outcome.reports });
  process.exitCode = EXIT_FAILED;
  showUnfinished(outcome, commandLine(), terminal);
  tell(outcome.kind, unfinishedJson(outcome));
}
