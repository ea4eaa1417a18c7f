/** `radical secrets`: the secrets of the application's Worker, and the key that locations sign with. */
import { text } from "node:stream/consumers";
import { Argument, Command } from "commander";
import { EXIT_FAILED } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import { targetOfProject } from "../deploy/deploy.ts";
import { type OpenEdge, openEdge } from "../deploy/edge/open-edge.ts";
import { type Rotation, planRotation } from "../deploy/rotate-keys.ts";
import { applySteps, unlessStopped } from "../deploy/steps.ts";
import { deleteSecret, listSecrets, setSecret } from "../deploy/worker-secrets.ts";
import { ask } from "../terminal/ask.ts";
import { showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, commandLine, interruptible, reported, unfinishedJson } from "./command.ts";
import { confirmChanges } from "./confirm-changes.ts";
import { ENVIRONMENT_OPTION } from "./deploy.ts";

const HELP = `
Secrets of your own Worker (docs/worker.md) are variables of its environment. They are kept by Cloudflare and can't be read back; a
deployment keeps them. A value is asked for, or read from standard input, and never shown. It serves at once.

Examples:
  $ radical secrets list
  $ radical secrets set SESSION_SECRET                      # asks for the value
  $ openssl rand -hex 32 | radical secrets set SESSION_SECRET --env staging
  $ radical secrets delete SESSION_SECRET
  $ radical secrets rotate-keys                             # another key between the locations and the primary`;

interface SecretsOptions extends CommonOptions {
  readonly env: string;
}

interface RotateOptions extends SecretsOptions {
  readonly plan?: true;
  readonly yes?: true;
  readonly primary?: string;
  readonly region?: string;
  readonly url?: string;
}

export function secretsCommand(): Command {
  const secrets = new Command("secrets").description(
    "list, set and delete secrets of the Worker; rotate the primary's keys",
  );
  secrets.exitOverride().showHelpAfterError("(radical secrets --help shows how it is used)").addHelpText("after", HELP);
  const add = (name: string, description: string): Command =>
    secrets
      .command(name)
      .description(description)
      .option(...PROJECT_OPTION)
      .option(...ENVIRONMENT_OPTION)
      .option("--json", "print the result as JSON");
  const secret = (): Argument => new Argument("<name>", "name of the secret");

  add("list", "print the names of the Worker's secrets")
    .addHelpText("after", "\nExamples:\n  $ radical secrets list --env staging")
    .action((options: SecretsOptions) => reported(options, () => list(options)));
  add("set", "give the Worker a secret; its value is asked for, or read from standard input")
    .addArgument(secret())
    .addHelpText("after", "\nExamples:\n  $ openssl rand -hex 32 | radical secrets set SESSION_SECRET")
    .action((name: string, options: SecretsOptions) =>
      reported(options, async () => {
        await setSecret(await edgeOf(options), name, () => readValue(name));
        tell(options, "set", name);
      }),
    );
  add("delete", "take a secret from the Worker")
    .addArgument(secret())
    .addHelpText("after", "\nExamples:\n  $ radical secrets delete SESSION_SECRET")
    .action((name: string, options: SecretsOptions) =>
      reported(options, async () => {
        await deleteSecret(await edgeOf(options), name);
        tell(options, "deleted", name);
      }),
    );
  add("rotate-keys", "replace the key that locations sign with, while everything runs")
    .option("--plan", "show what would change, and change nothing")
    .option("-y, --yes", "ask nothing")
    .option("--primary <url>", "an LVI server of your own: tells what to do there")
    .option("--region <name>", "of the primary at AWS (default: that of AWS_REGION or of the profile)")
    .option("--url <origin>", "where the deployment is reached, if no route and no workers.dev name says it")
    .addHelpText("after", ROTATE_HELP)
    .action((options: RotateOptions) => interruptible(options, (signal) => rotate(options, signal)));
  return secrets;
}

const ROTATE_HELP = `
At AWS: a fresh key beside the old one, 90 seconds for both machines to read it, a version of the Worker that signs with it, and two
minutes later the old key is dropped. No request fails. Broken off, it goes on where it was when it is run again.

Examples:
  $ radical secrets rotate-keys
  $ radical secrets rotate-keys --env staging --yes`;

async function edgeOf({ project: folder, env }: SecretsOptions): Promise<OpenEdge> {
  const project = await loadProject(folder);
  return openEdge(project, targetOfProject(project, env));
}

async function list(options: SecretsOptions): Promise<void> {
  const edge = await edgeOf(options);
  const secrets = await listSecrets(edge);
  if (options.json === true) return print(JSON.stringify({ worker: edge.worker, secrets }));
  if (secrets.length === 0) createTerminal().note(`${edge.worker} has no secrets of its own`);
  for (const name of secrets) print(name);
}

function tell({ json }: CommonOptions, outcome: "set" | "deleted", secret: string): void {
  if (json === true) print(JSON.stringify({ outcome, secret }));
  else createTerminal().note(`${secret} is ${outcome}`);
}

/** Typed without being shown, or all of standard input. */
function readValue(name: string): Promise<string> {
  return process.stdin.isTTY ? ask(`Value of ${name} (not shown): `, { isHidden: true }) : text(process.stdin);
}

async function rotate(options: RotateOptions, signal: AbortSignal): Promise<void> {
  const terminal = createTerminal({ quiet: options.json === true });
  const project = await loadProject(options.project);
  const { primary = null, region = null, url = null } = options;
  const target = targetOfProject(project, options.env);
  const planning = planRotation({ project, target, primary, region, url, colours: terminal.colours, signal });
  const rotation = await unlessStopped(planning, signal);
  if (rotation.kind === "by-hand") {
    if (options.json === true) return print(JSON.stringify({ outcome: "by-hand", steps: rotation.steps }));
    terminal.note("The primary is your own, and so are its keys (docs/how-to/rotate-keys.md):");
    for (const [index, step] of rotation.steps.entries()) print(`${index + 1}. ${step}`);
    return;
  }
  try {
    await carryOut(rotation, options, terminal, signal);
  } finally {
    rotation.close();
  }
}

async function carryOut(
  { planned }: Extract<Rotation, { readonly kind: "steps" }>,
  options: RotateOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const plan = planned.map(({ step, changes }) => ({ name: step.name, half: step.half, changes }));
  const report = (outcome: string, more: object = {}): void => {
    if (options.json === true) print(JSON.stringify({ outcome, plan, ...more }));
  };
  showPlan(planned, terminal);
  if (!(await unlessStopped(confirmChanges(planned, options, terminal), signal))) {
    terminal.note("Nothing was changed.");
    if (options.plan !== true) process.exitCode = EXIT_FAILED;
    return report(options.plan === true ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal), signal });
  if (outcome.kind === "done") return report("rotated", { steps: outcome.reports });
  process.exitCode = EXIT_FAILED;
  showUnfinished(outcome, commandLine(), terminal);
  report(outcome.kind, unfinishedJson(outcome));
}
