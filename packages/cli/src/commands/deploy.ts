/** `radical deploy`: an application from this machine to the edge and the primary. */
import {
  type Command,
  type Option,
  type Options,
  type Subcommand,
  subcommand,
  type Values,
} from "@radical/command-line";
import { EXIT_FAILED } from "@radical/app/command-error";
import { loadProject, DEFAULT_ENVIRONMENT, type Target, counted } from "@radical/app";
import type { DeployEvent, DeployOutcome } from "@radical/deploy";
import { changesOf, duration, showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, commandLine, interruptible, unfinishedJson } from "./command.ts";
import { confirmChanges } from "../terminal/confirm-changes.ts";

export const ENVIRONMENT = {
  kind: "text",
  placeholder: "name",
  default: DEFAULT_ENVIRONMENT,
  words: "environment, with tables, names and secrets of its own",
} as const satisfies Option;

const DEPLOY = {
  name: "deploy",
  words: "take the application to the edge and its primary",
  options: {
    project: PROJECT,
    plan: { kind: "flag", words: "show what would change, and change nothing" },
    emitTemplate: {
      kind: "flag",
      words: "print the CloudFormation template of the primary at AWS, and do nothing else",
    },
    only: {
      kind: "choice",
      of: ["edge", "primary"],
      default: null,
      placeholder: "half",
      words: "one half of the deployment",
    },
    env: ENVIRONMENT,
    yes: { kind: "flag", short: "y", words: "do not ask for confirmation" },
    primary: {
      kind: "text",
      placeholder: "url",
      words: "use LVI server of your own; RADICAL_KEYS and RADICAL_ADMIN_KEYS have its keys",
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
    strandPending: {
      kind: "flag",
      words:
        "change the primary though intents are pending, or tasks or workflows wait at the one that serves, and lose them",
    },
    acceptMisfits: {
      kind: "flag",
      words: "deploy types that stored items may not fit: handlers that read such an item fail",
    },
    finalize: {
      kind: "flag",
      words:
        "finish the upgrade to this release: the primary writes its storage anew, and no earlier release can serve it then",
    },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Checks the handlers, the credentials and the limits of both clouds, shows what would change, and asks for confirmation. Then it goes
in these steps:
  1  the primary gets what it lacks
  2  the module is registered there
  3  the new Worker is uploaded beside the one that serves
  4  the new Worker answers a request
  5  the new Worker serves

A second run changes nothing. After a failure the next run goes on at the step that failed: docs/deploy.md.

Cloudflare takes the credentials of \`npx wrangler login\` or CLOUDFLARE_API_TOKEN, and AWS those that its SDK finds. A server
that --primary names needs its keys: RADICAL_KEYS has that of the locations, and RADICAL_ADMIN_KEYS one of administration. The
command radical secrets new-keys makes them.`,
  examples: [
    ["radical deploy", "asks before it changes anything"],
    ["radical deploy --plan", "what would change, and nothing else"],
    ["radical deploy --yes --json", "in CI"],
    ["radical deploy --emit-template", "what CloudFormation would get; no account is asked"],
    ["radical deploy --finalize", "after an upgrade of Radical, when you need no way back"],
    ["radical deploy --env staging", "tables, names and secrets of its own"],
    ["RADICAL_KEYS=main:… RADICAL_ADMIN_KEYS=admin:… radical deploy --primary https://lvi.example.com"],
  ],
} as const satisfies Command<Options>;

type DeployOptions = Values<typeof DEPLOY.options>;

export const deployCommand: Subcommand = subcommand(DEPLOY, (options) =>
  interruptible(options, (signal) => run(options, signal)),
);

async function run(options: DeployOptions, signal: AbortSignal): Promise<void> {
  const { deploy, primaryTemplate, targetOfProject } = await import("@radical/deploy");
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const target = targetOfProject(project, options.env);
  const { primary, region, only, url, strandPending, acceptMisfits, finalize } = options;
  if (options.emitTemplate)
    return print(JSON.stringify(await primaryTemplate({ project, target, primary, region }), null, 2));
  const startedAtMs = performance.now();
  const outcome = await deploy({
    project,
    target,
    only,
    primary,
    region,
    url,
    strandPending,
    acceptMisfits,
    finalize,
    colours: terminal.colours,
    signal,
    onEvent: (event) => show(event, target, terminal),
    confirm: (planned) => confirmChanges(planned, options, terminal),
  });
  const ms = Math.round(performance.now() - startedAtMs);
  const isPlan = options.plan;
  if (outcome.kind !== "done" && !(outcome.kind === "declined" && isPlan)) process.exitCode = EXIT_FAILED;
  if (options.json) print(JSON.stringify(jsonOf(outcome, target, isPlan, ms)));
  else tell(outcome, isPlan, ms, terminal);
}

function show(event: DeployEvent, { application, environment }: Target, terminal: Terminal): void {
  const { style } = terminal;
  switch (event.kind) {
    case "checked": {
      const { build, account, ms } = event;
      const words = [
        counted(build.handlers, "handler"),
        `module ${build.app.manifest.module.slice(0, 12)}`,
        `${(build.bundleBytes / 1024).toFixed(0)} KB`,
        `Cloudflare account ${account.name ?? account.id}`,
      ];
      terminal.note(
        `${style("green", "✓")} ${application}, ${environment}: ${words.join(", ")} ${duration(ms, terminal)}`,
      );
      for (const hint of build.hints) terminal.note(`${style("yellow", "!")} ${hint}`);
      return;
    }
    case "planned":
      return showPlan(event.planned, terminal);
    case "warning":
      return terminal.note(`${style("yellow", "!")} ${event.words}`);
    case "note":
      return terminal.note(style("dim", `  ${event.words}`));
    case "begun":
    case "ended":
      return showStep(event, terminal);
  }
}

function tell(outcome: DeployOutcome, isPlan: boolean, ms: number, terminal: Terminal): void {
  const { style } = terminal;
  switch (outcome.kind) {
    case "declined":
      return terminal.note(isPlan ? "Nothing was changed." : "Nothing was changed: not confirmed.");
    case "done": {
      const words = changesOf(outcome.planned).length === 0 ? "nothing had to be changed" : "deployed";
      terminal.note(`${style("green", "✓")} ${words} ${duration(ms, terminal)}`);
      for (const url of outcome.edge?.urls ?? []) print(url);
      return;
    }
    case "stopped":
    case "failed":
      return showUnfinished(outcome, commandLine(), terminal);
  }
}

function jsonOf(outcome: DeployOutcome, target: Target, isPlan: boolean, ms: number): unknown {
  const { application, environment } = target;
  const plan = outcome.planned.map(({ step: { name, half }, changes }) => ({ name, half, changes }));
  const head = { application, environment, plan, workflowsOnOlderCode: outcome.older, warnings: outcome.warnings, ms };
  switch (outcome.kind) {
    case "declined":
      return { outcome: isPlan ? "planned" : "declined", ...head };
    case "done":
      return {
        outcome: changesOf(outcome.planned).length === 0 ? "unchanged" : "deployed",
        ...head,
        steps: outcome.reports,
        ...outcome.edge,
      };
    case "stopped":
    case "failed":
      return { outcome: outcome.kind, ...head, ...unfinishedJson(outcome) };
  }
}
