/** `radical deployments`: what was deployed, and what serves. */
import { Command } from "commander";
import { loadProject } from "../config/load-config.ts";
import { targetOfProject } from "../deploy/deploy.ts";
import { listDeployments } from "../deploy/deployments.ts";
import { openEdge } from "../deploy/edge/open-edge.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, reported } from "./command.ts";
import { ENVIRONMENT_OPTION } from "./deploy.ts";

const HELP = `
Ten at most, the last first; that one serves. A version that gets only a part of the requests is shown with its percentage.

Examples:
  $ radical deployments
  $ radical deployments --env staging --json | jq '.deployments[0]'`;

interface DeploymentsOptions extends CommonOptions {
  readonly env: string;
}

export function deploymentsCommand(): Command {
  return new Command("deployments")
    .description("list what was deployed: when, by whom, which version and module")
    .option(...PROJECT_OPTION)
    .option(...ENVIRONMENT_OPTION)
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action((options: DeploymentsOptions) => reported(options, () => list(options)));
}

async function list({ project: folder, env, json }: DeploymentsOptions): Promise<void> {
  const project = await loadProject(folder);
  const target = targetOfProject(project, env);
  const edge = await openEdge(project, target);
  const deployments = await listDeployments(edge);
  const { application, environment } = target;
  if (json === true) return print(JSON.stringify({ application, environment, worker: edge.worker, deployments }));
  const { style } = createTerminal({ stream: process.stdout });
  for (const { at, by, live, versions } of deployments) {
    for (const { version, percentage, deployment, module } of versions) {
      const mark = live && percentage > 0 ? style("green", "●") : " ";
      const of = deployment ?? "not by radical deploy";
      const share = percentage === 100 ? "" : `  ${percentage} %`;
      print(
        `${mark} ${of.padEnd(21)}  ${at.slice(0, 19).replace("T", " ")}  module ${module?.slice(0, 12) ?? "unknown     "}  version ${version}${share}${by === null ? "" : style("dim", `  ${by}`)}`,
      );
    }
  }
}
