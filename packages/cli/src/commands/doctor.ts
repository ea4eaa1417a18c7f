/** `radical doctor`: what is wrong on this machine and with a deployment, a line each, with what to do. */
import { terminalText } from "@radical/protocol";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { givenLocationKey } from "@radical/admin";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "@radical/app/command-error";
import { loadProject, type Project, targetOf } from "@radical/app";
import { DEPLOYED } from "../operate/deployed-options.ts";
import type { Deployment } from "../operate/doctor/doctor.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { primaryAddress } from "../operate/primary-address.ts";
import { PROJECT, reported } from "./command.ts";

const DOCTOR = {
  name: "doctor",
  words: "look for what is wrong on this machine and with a deployment",
  options: {
    project: PROJECT,
    env: DEPLOYED.env,
    primary: {
      kind: "text",
      placeholder: "url",
      words:
        "LVI servers of your own, by commas; RADICAL_ADMIN_KEYS has their administration key, and RADICAL_KEYS the key of the locations",
    },
    region: DEPLOYED.region,
    url: { kind: "text", placeholder: "origin", words: "origin of the deployment (default: as it is deployed)" },
    json: { kind: "flag", words: "print all checks and findings as JSON" },
  },
  notes: `Prints a line for each problem, with the remedy. If all is well, it is silent.

On this machine it checks the version of Node and the port of radical dev. Then it checks radical dev, if that runs in the
project, or else the deployment that you name:
  the LVI server: it can be reached, takes the key, and leads; and the server that stands by
  the clock of this machine beside theirs
  the round trip of each location to the primary
  the primary has the module that the locations run
  how long writers wait for read leases

With --env it finds all of that by the names of the environment. It also checks the logins at Cloudflare and AWS, and their
clocks. Then it checks the Worker, the tables, whether an earlier state of them can be restored, and the other parts at AWS. Of
a deployment's locations it sees only the one that answers requests from here.`,
  exitCodes: ["it found no problems", "it found problems", "wrong usage"],
  examples: [
    ["radical doctor", "this machine, and radical dev if it runs"],
    ["radical doctor --json | jq .roundTrips"],
    ["radical doctor --json | jq .readLeases.locations", "for which location writers wait, and how long"],
    ["radical doctor --env production", "the Worker, and the primary at AWS"],
    ["RADICAL_ADMIN_KEYS=admin:… radical doctor --env production --primary https://lvi.example.com"],
  ],
} as const satisfies Command<Options>;

type DoctorOptions = Values<typeof DOCTOR.options>;

export const doctorCommand: Subcommand = subcommand(DOCTOR, (options) => reported(options, () => run(options)));

async function run(options: DoctorOptions): Promise<void> {
  const { examine } = await import("../operate/doctor/doctor.ts");
  const terminal = createTerminal({ stream: process.stdout });
  const project = await loadProject(options.project);
  const { findings, roundTrips, readLeases } = await examine(project, await named(project, options), process.version);
  const problems = findings.flatMap(({ problems: found }) => found);
  if (problems.length > 0) process.exitCode = EXIT_FAILED;
  if (options.json) {
    print(JSON.stringify({ ok: problems.length === 0, checks: findings, roundTrips, readLeases }));
    return;
  }
  for (const { message, hint } of problems)
    print(`${terminal.style("red", "✗")} ${sentence(message)} ${sentence(hint)}`);
}

/** On one line, with a capital and a full stop: the words of a cause and hints of a server come as they are. */
function sentence(text: string): string {
  const line = oneLine(text).replace(/^(?!(?:radical|npx|wrangler) )[a-z](?=[a-z]* )/, (letter) =>
    letter.toUpperCase(),
  );
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** Null: none is named. */
async function named(project: Project, options: DoctorOptions): Promise<Deployment | null> {
  const { env, primary, region, url } = options;
  if (url !== null && !URL.canParse(url)) {
    throw new CommandError(
      "usage",
      `--url must be a URL, and is "${url}".`,
      "Give for example --url https://app.example.com.",
      {
        exitCode: EXIT_USAGE,
      },
    );
  }
  if (env !== null) {
    const { lookAtDeployment } = await import("../operate/doctor/deployment.ts");
    return lookAtDeployment({ project, target: targetOf(project.config.name, env), primary, region, url });
  }
  if (primary === null && url === null) return null;
  const { deploy } = project.config;
  const servers = (primary ?? deploy.primary)?.split(",") ?? [];
  const site = url ?? deploy.url;
  return {
    primary: await Promise.all(servers.map((server) => primaryAddress(project, server.trim()))),
    sites: site === null ? [] : [{ url: new URL(site).origin, location: null, key: givenLocationKey(process.env) }],
    served: [],
    findings: [],
    clocks: [],
  };
}

function oneLine(text: string): string {
  return terminalText(text.replaceAll(/\s*\n\s*/g, "; "));
}
