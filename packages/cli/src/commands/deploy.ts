/** `radical deploy`: an application from this machine to the edge and the primary. */
import { createInterface } from "node:readline/promises";
import { Command, Option } from "commander";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import { type DeployEvent, type DeployOutcome, deploy, targetOfProject } from "../deploy/deploy.ts";
import type { Change, Half, PlannedStep, StepReport } from "../deploy/steps.ts";
import { DEFAULT_ENVIRONMENT, type Target } from "../deploy/target.ts";
import { type Terminal, counted, createTerminal } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, print, reportError } from "./command.ts";

const HELP = `
Checks the handlers, the credentials and the limits of both clouds, shows what would change, asks, and then: primary →
module registered there → Worker uploaded beside the one that serves → a request through it → it serves. Run again it
changes nothing; after a failure it goes on where it was. docs/deploy.md tells it in full.

Credentials: \`npx wrangler login\` or CLOUDFLARE_API_TOKEN; with --primary the key of that server in RADICAL_KEYS.

Examples:
  $ radical deploy                          # asks before it changes anything
  $ radical deploy --plan                   # what would change, and nothing else
  $ radical deploy --yes --json             # in CI
  $ radical deploy --env staging            # tables, names and secrets of its own
  $ RADICAL_KEYS=main:… radical deploy --primary https://lvi.example.com`;

const ENVIRONMENT_OPTION = ["--env <name>", "environment: own tables, names and secrets", DEFAULT_ENVIRONMENT] as const;

interface DeployCommandOptions extends CommonOptions {
  readonly plan?: true;
  readonly only?: Half;
  readonly env: string;
  readonly yes?: true;
  readonly primary?: string;
  readonly url?: string;
}

export function deployCommand(): Command {
  return new Command("deploy")
    .description("take the application to the edge and its primary")
    .option(...PROJECT_OPTION)
    .option("--plan", "show what would change, and change nothing")
    .addOption(new Option("--only <half>", "one half of the deployment").choices(["edge", "primary"]))
    .option(...ENVIRONMENT_OPTION)
    .option("-y, --yes", "ask nothing")
    .option("--primary <url>", "use an LVI server of your own; RADICAL_KEYS has its key")
    .option("--url <origin>", "where the deployment is reached, if no route and no workers.dev name says it")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action(async (options: DeployCommandOptions) => {
      try {
        await run(options);
      } catch (error) {
        reportError(error, options.json === true);
      }
    });
}

async function run(options: DeployCommandOptions): Promise<void> {
  const terminal = createTerminal({ quiet: options.json === true });
  const project = await loadProject(options.project);
  const target = targetOfProject(project, options.env);
  const stop = new AbortController();
  const interrupted = (): void => {
    terminal.note("stopping: what is under way is given up");
    stop.abort();
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  const startedAtMs = performance.now();
  try {
    const outcome = await deploy({
      project,
      target,
      only: options.only ?? null,
      primary: options.primary ?? null,
      url: options.url ?? null,
      colours: terminal.colours,
      signal: stop.signal,
      onEvent: (event) => show(event, target, terminal),
      confirm: (planned) => confirm(planned, options, terminal),
    });
    const ms = Math.round(performance.now() - startedAtMs);
    if (outcome.kind === "failed" || outcome.kind === "stopped") process.exitCode = EXIT_FAILED;
    if (options.json === true) print(JSON.stringify(jsonOf(outcome, target, options.plan === true, ms)));
    else tell(outcome, options, ms, terminal);
  } finally {
    process.removeListener("SIGINT", interrupted).removeListener("SIGTERM", interrupted);
  }
}

/** Asked only of a person, and only for what changes something. */
async function confirm(
  planned: readonly PlannedStep[],
  { plan, yes }: DeployCommandOptions,
  terminal: Terminal,
): Promise<boolean> {
  if (plan === true) return false;
  if (yes === true) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandError(
      "not_confirmed",
      `nobody can be asked whether to make ${counted(changesOf(planned).length, "change")}: this is no terminal`,
      "give --yes to make them, or --plan to see them only",
      { exitCode: EXIT_USAGE },
    );
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${terminal.style("bold", "Make these changes?")} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

const SIGNS: Readonly<Record<Change["kind"], string>> = {
  make: "+",
  change: "~",
  replace: "±",
  remove: "-",
  repair: "~",
};

function show(event: DeployEvent, { application, environment }: Target, terminal: Terminal): void {
  const { style } = terminal;
  switch (event.kind) {
    case "checked": {
      const { build, account, ms } = event;
      const words = [
        counted(build.handlers, "handler"),
        `module ${build.app.manifest.module.slice(0, 12)}`,
        `${(build.bundleBytes / 1024).toFixed(0)} KB compressed`,
        `Cloudflare account ${account.name ?? account.id}`,
      ];
      terminal.note(
        `${style("green", "✓")} ${application}, ${environment}: ${words.join(", ")} ${duration(ms, terminal)}`,
      );
      for (const hint of build.hints) terminal.note(`${style("yellow", "!")} ${hint}`);
      return;
    }
    case "planned": {
      const changes = changesOf(event.planned);
      if (changes.length > 0) terminal.note(style("bold", `\nThis would change:`));
      for (const { kind, what, detail } of changes)
        terminal.note(`  ${SIGNS[kind]} ${kind} ${what}${detail === "" ? "" : style("dim", `  ${detail}`)}`);
      if (changes.length > 0) terminal.note("");
      return;
    }
    case "begun":
      return;
    case "ended": {
      const { step, report } = event;
      const sign = report.outcome === "failed" ? style("red", "✗") : style("green", "✓");
      const unchanged = report.outcome === "unchanged" ? style("dim", " unchanged") : "";
      const found = report.found === null ? "" : style("dim", `  ${report.found}`);
      terminal.note(`${sign} ${step.title}${unchanged}${found} ${duration(report.ms, terminal)}`);
    }
  }
}

function tell(outcome: DeployOutcome, options: DeployCommandOptions, ms: number, terminal: Terminal): void {
  const { style } = terminal;
  const again = `radical deploy${options.env === DEFAULT_ENVIRONMENT ? "" : ` --env ${options.env}`}`;
  switch (outcome.kind) {
    case "declined":
      terminal.note(options.plan === true ? "Nothing was changed." : "Nothing was changed: not confirmed.");
      return;
    case "done": {
      const isUnchanged = changesOf(outcome.planned).length === 0;
      terminal.note(
        `${style("green", "✓")} ${isUnchanged ? "nothing had to be changed" : "deployed"} ${duration(ms, terminal)}`,
      );
      for (const url of outcome.edge?.urls ?? []) print(url);
      return;
    }
    case "stopped":
      terminal.note(
        `${style("yellow", "!")} stopped before "${outcome.next.title}". ${doneWords(outcome.reports)} ${outcome.next.ifFailed}\n  run \`${again}\` to go on`,
      );
      return;
    case "failed":
      terminal.note(
        `${style("red", "error")} ${outcome.error.message}\n  ${outcome.error.hint}\n${doneWords(outcome.reports)} ${outcome.failed.ifFailed}\n  run \`${again}\` to go on`,
      );
  }
}

function doneWords(reports: readonly StepReport[]): string {
  const done = reports.filter(({ outcome }) => outcome === "done").map(({ name }) => name);
  return done.length === 0 ? "Nothing was changed yet." : `Done before: ${done.join(", ")}.`;
}

function jsonOf(outcome: DeployOutcome, target: Target, isPlan: boolean, ms: number): unknown {
  const { application, environment } = target;
  const plan = outcome.planned.map(({ step: { name, half }, changes }) => ({ name, half, changes }));
  const head = { application, environment, plan, ms };
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
      return {
        outcome: "stopped",
        ...head,
        steps: outcome.reports,
        next: outcome.next.name,
        state: outcome.next.ifFailed,
      };
    case "failed": {
      const { code, message, hint } = outcome.error;
      return {
        outcome: "failed",
        ...head,
        steps: outcome.reports,
        failed: outcome.failed.name,
        state: outcome.failed.ifFailed,
        error: { code, message, hint },
      };
    }
  }
}

function changesOf(planned: readonly PlannedStep[]): readonly Change[] {
  return planned.flatMap(({ changes }) => changes);
}

function duration(ms: number, { style }: Terminal): string {
  return style("dim", ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
}
