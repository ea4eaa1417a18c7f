/** `radical secrets`: the secrets of the application's Worker, and the key that locations sign with. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { Argument, Command } from "commander";
import { EXIT_FAILED } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import { targetOfProject } from "../deploy/deploy.ts";
import { type OpenEdge, openEdge } from "../deploy/edge/open-edge.ts";
import { type Rotation, planRotation } from "../deploy/rotate-keys.ts";
import { applySteps } from "../deploy/steps.ts";
import { DEFAULT_ENVIRONMENT } from "../deploy/target.ts";
import { deleteSecret, listSecrets, setSecret } from "../deploy/worker-secrets.ts";
import { showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { type Terminal, createTerminal } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, print, reported } from "./command.ts";
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
    .action((options: RotateOptions) => reported(options, () => rotate(options)));
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
async function readValue(name: string): Promise<string> {
  if (!process.stdin.isTTY) return text(process.stdin);
  process.stderr.write(`Value of ${name} (not shown): `);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: hidden, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}

async function rotate(options: RotateOptions): Promise<void> {
  const terminal = createTerminal({ quiet: options.json === true });
  const project = await loadProject(options.project);
  const { primary = null, region = null, url = null } = options;
  const target = targetOfProject(project, options.env);
  const rotation = await planRotation({ project, target, primary, region, url, colours: terminal.colours });
  if (rotation.kind === "by-hand") {
    if (options.json === true) return print(JSON.stringify({ outcome: "by-hand", steps: rotation.steps }));
    terminal.note("The primary is your own, and so are its keys (docs/how-to/rotate-keys.md):");
    for (const [index, step] of rotation.steps.entries()) print(`${index + 1}. ${step}`);
    return;
  }
  try {
    await carryOut(rotation, options, terminal);
  } finally {
    rotation.close();
  }
}

async function carryOut(
  { planned }: Extract<Rotation, { readonly kind: "steps" }>,
  options: RotateOptions,
  terminal: Terminal,
): Promise<void> {
  const plan = planned.map(({ step, changes }) => ({ name: step.name, half: step.half, changes }));
  const report = (outcome: string, more: object = {}): void => {
    if (options.json === true) print(JSON.stringify({ outcome, plan, ...more }));
  };
  showPlan(planned, terminal);
  if (!(await confirmChanges(planned, options, terminal))) {
    terminal.note("Nothing was changed.");
    return report(options.plan === true ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal) });
  const { kind, reports: steps } = outcome;
  if (kind === "done") return report("rotated", { steps });
  process.exitCode = EXIT_FAILED;
  const environment = options.env === DEFAULT_ENVIRONMENT ? "" : ` --env ${options.env}`;
  showUnfinished(outcome, `radical secrets rotate-keys${environment}`, terminal);
  if (kind === "stopped") return report(kind, { steps });
  const { code, message, hint } = outcome.error;
  return report(kind, {
    steps,
    failed: outcome.failed.name,
    state: outcome.failed.ifFailed,
    error: { code, message, hint },
  });
}
