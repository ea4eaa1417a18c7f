/** `radical dashboard`: the page of `radical dev` for a deployment. It changes nothing. */
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { loadProject, targetOf } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { DEPLOYED } from "../operate/deployed-options.ts";
import { serveDeployedDashboard } from "../operate/deployed-dashboard.ts";
import { tailWorker } from "../operate/tail/sources.ts";
import { wranglerTail } from "../operate/tail/wrangler-tail.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { redactionChoice } from "../replay/redaction-choice.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";

const DASHBOARD = {
  name: "dashboard",
  words: "show a deployment in the dashboard, without changing anything",
  options: {
    project: PROJECT,
    env: DEPLOYED.env,
    region: DEPLOYED.region,
    primary: {
      kind: "text",
      placeholder: "url",
      words:
        "LVI server of the environment; RADICAL_ADMIN_KEYS has its administration key (default: the server of the deployment)",
    },
    port: {
      kind: "number",
      default: 0,
      least: 0,
      most: 65_535,
      words: "port of this machine for the page; 0 takes any free one",
    },
    every: {
      kind: "number",
      default: 1,
      least: 1,
      most: 999_999_999,
      words: "show one execution of the primary out of this number",
    },
    values: { kind: "flag", words: "record executions with the values that they read, redacted, for the view Replay" },
    redact: {
      kind: "list",
      placeholder: "what",
      words: "with --values: redact only these fields, as radical record does; may be given several times",
    },
    whole: { kind: "flag", words: "with --values: redact nothing" },
    json: { kind: "flag", words: "print the address as JSON" },
  },
  notes: `Serves the page of radical dev on this machine only, and prints its address with a token of this run. Ctrl-C ends it.

The page shows requests, locations, contention and caches, and with --values recorded executions. It can't call handlers, switch
faults or read and edit tables: radical dev and radical data do that. Requests to the primary are signed here, and the key never
reaches the browser. wrangler listens to the Worker, so it must be logged in, or have CLOUDFLARE_API_TOKEN.

A location tells one line for each request. With RADICAL_LIVES_EVERY=1 among the Worker's variables it also tells which items each
execution has read, and in which versions. On a busy deployment give --every a larger number.`,
  exitCodes: [
    "the command was ended",
    "the command could not listen to the locations, or to the LVI server",
    "wrong usage",
  ],
  examples: [
    ["radical dashboard --env production"],
    ["radical dashboard --env production --every 100", "one of 100 executions of the primary"],
    ["radical dashboard --env production --values", "Replay, on redacted values"],
  ],
} as const satisfies Command<Options>;

type DashboardOptions = Values<typeof DASHBOARD.options>;

export const dashboardCommand: Subcommand = subcommand(DASHBOARD, (options) => reported(options, () => run(options)));

async function run(options: DashboardOptions): Promise<void> {
  const { env, region, primary, port, every, values, redact, whole, json } = options;
  if (env === null)
    throw wrongUse(
      "No environment is named.",
      "Give --env <name>. radical dev prints the address of its own dashboard.",
    );
  if (!values && (whole || redact.length > 0))
    throw wrongUse("--redact and --whole are about recorded values.", "Add --values.");
  const redaction = redactionChoice({ redact, whole }) ?? "all";
  const terminal = createTerminal({ quiet: json });
  const project = await loadProject(options.project);
  const { deployedSources } = await import("../operate/tail/deployed-sources.ts");
  const { leaderOf } = await import("@radical/deploy");
  const target = targetOf(project.config.name, env);
  const found = await terminal.during(
    "Finding the deployment",
    deployedSources({ project, target, primary, region, url: null }),
  );
  const listener = wranglerTail(found.worker, project.root, found.account);
  const { signal, stopListening } = untilSignal();
  try {
    const dashboard = await serveDeployedDashboard({
      name: `${project.config.name} · ${env}`,
      leader: async () => leaderOf(await Promise.all(found.servers.map(({ address }) => address()))),
      tail: (sink, until) => tailWorker(listener, sink, until),
      every,
      values: values ? redaction : null,
      port,
      signal,
    });
    if (json) print(JSON.stringify({ url: dashboard.url }));
    else {
      print(dashboard.url);
      terminal.note(terminal.style("dim", `It shows ${found.worker}, and changes nothing. Ctrl-C ends it.`));
    }
    await dashboard.ended;
  } finally {
    stopListening();
  }
}

function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
