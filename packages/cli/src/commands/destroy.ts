/** `radical destroy`: removes a deployment, but for its tables. */
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { EXIT_FAILED } from "@radical/app/command-error";
import { loadProject, type Target } from "@radical/app";
import type { PlannedRemoval } from "@radical/deploy";
import { changesOf, showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, commandLine, interruptible, unfinishedJson } from "./command.ts";
import { confirmByName } from "../terminal/confirm-changes.ts";
import { ENVIRONMENT } from "./deploy.ts";

const DESTROY = {
  name: "destroy",
  words: "remove a deployment, and its tables only with --tables",
  options: {
    project: PROJECT,
    env: ENVIRONMENT,
    plan: { kind: "flag", words: "show what would be removed, and change nothing" },
    tables: { kind: "flag", words: "also remove the tables at AWS, with everything that they hold" },
    yes: { kind: "flag", short: "y", words: "do not ask for confirmation" },
    primary: { kind: "text", placeholder: "url", words: "LVI server of your own, if the deployment has one; it stays" },
    region: {
      kind: "text",
      placeholder: "name",
      words: "AWS region of the primary (default: AWS_REGION, or the region of the profile)",
    },
    strandPending: {
      kind: "flag",
      words: "remove the primary though intents are pending, or tasks or workflows wait there, and lose them",
    },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Shows what would be removed, and asks for the name of the deployment before it removes anything. The tables with the data of the
application stay, unless --tables is given. A primary of your own always stays. After an interruption run the command again: it
goes on where it was.`,
  examples: [
    ["radical destroy --plan", "what would be removed, and what stays"],
    ["radical destroy --env staging", "asks"],
    ["radical destroy --env pr17 --tables --yes", "in CI: everything, with the data"],
  ],
} as const satisfies Command<Options>;

type DestroyOptions = Values<typeof DESTROY.options>;

export const destroyCommand: Subcommand = subcommand(DESTROY, (options) =>
  interruptible(options, (signal) => destroy(options, signal)),
);

async function destroy(options: DestroyOptions, signal: AbortSignal): Promise<void> {
  const { openEdge, planDestroy, targetOfProject, unlessStopped } = await import("@radical/deploy");
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const target = targetOfProject(project, options.env);
  const planning = async (): Promise<PlannedRemoval> =>
    planDestroy({
      project,
      target,
      edge: await openEdge(project, target, process.env, signal),
      primary: options.primary,
      region: options.region,
      tables: options.tables,
      strandPending: options.strandPending,
      note: (words) => terminal.note(terminal.style("dim", `  ${words}`)),
    });
  const removal = await unlessStopped(planning(), signal);
  try {
    await carryOut(removal, target, options, terminal, signal);
  } finally {
    removal.close();
  }
}

async function carryOut(
  { planned, stays }: PlannedRemoval,
  target: Target,
  options: DestroyOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { applySteps, unlessStopped } = await import("@radical/deploy");
  const { application, environment, name } = target;
  const plan = planned.map(({ step, changes }) => ({ name: step.name, half: step.half, changes }));
  const tell = (outcome: string, more: object = {}): void => {
    if (options.json) print(JSON.stringify({ outcome, application, environment, plan, stays, ...more }));
  };
  showPlan(planned, terminal);
  for (const what of stays) terminal.note(`  stays: ${what}`);
  if (changesOf(planned).length === 0) {
    terminal.note(`nothing of ${name} is left to be removed`);
    return tell("unchanged");
  }
  if (!(await unlessStopped(confirmByName(name, options, terminal), signal))) {
    terminal.note("Nothing was changed.");
    if (!options.plan) process.exitCode = EXIT_FAILED;
    return tell(options.plan ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal), signal });
  if (outcome.kind === "done") {
    terminal.note(`${terminal.style("green", "✓")} ${name} is removed`);
    return tell("destroyed", { steps: outcome.reports });
  }
  process.exitCode = EXIT_FAILED;
  showUnfinished(outcome, commandLine(), terminal);
  tell(outcome.kind, unfinishedJson(outcome));
}
