/** `radical deployments`: what was deployed, and what serves. */
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { loadProject } from "@radical/app";
import { createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";
import { ENVIRONMENT } from "./deploy.ts";

const DEPLOYMENTS = {
  name: "deployments",
  words: "list what was deployed: when, by whom, which version and module",
  options: {
    project: PROJECT,
    env: ENVIRONMENT,
    json: { kind: "flag", words: "print JSON" },
  },
  notes: `Shows at most the last ten deployments. The first line is the latest one, which serves. A version that gets only a part of the
requests has its percentage beside it.`,
  examples: [["radical deployments"], ["radical deployments --env staging --json | jq '.deployments[0]'"]],
} as const satisfies Command<Options>;

type DeploymentsOptions = Values<typeof DEPLOYMENTS.options>;

export const deploymentsCommand: Subcommand = subcommand(DEPLOYMENTS, (options) =>
  reported(options, () => list(options)),
);

async function list({ project: folder, env, json }: DeploymentsOptions): Promise<void> {
  const { listDeployments, openEdge, targetOfProject } = await import("@radical/deploy");
  const project = await loadProject(folder);
  const target = targetOfProject(project, env);
  const edge = await openEdge(project, target);
  const deployments = await listDeployments(edge);
  const { application, environment } = target;
  if (json) return print(JSON.stringify({ application, environment, worker: edge.worker, deployments }));
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
