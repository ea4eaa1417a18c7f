/** What there is to listen to of the deployment of an environment. */
import { CommandError } from "@radical/app/command-error";
import { type PrimaryChoice, findDeployed } from "@radical/deploy";
import { STATUS_PATH } from "@radical/protocol";
import { askPrimary, type PrimaryAddress, shortName } from "@radical/admin";
import type { PrimarySource } from "./sources.ts";

export interface DeployedSources {
  /** Each server of the primary: the one that leads, and the one that stands by. */
  readonly servers: readonly PrimarySource[];
  readonly worker: string;
  /** At Cloudflare. */
  readonly account: string;
}

/** Throws a CommandError if it is not deployed, or none of its servers answers. */
export async function deployedSources(choice: PrimaryChoice): Promise<DeployedSources> {
  const { edge, servers } = await findDeployed(choice);
  if ((await edge.versions.deployments()) === null)
    throw new CommandError(
      "not_deployed",
      `The Worker ${edge.worker} does not exist.`,
      `Run radical deploy --env ${choice.target.environment}.`,
    );
  await oneAnswers(servers);
  return {
    worker: edge.worker,
    account: edge.account.id,
    servers: servers.map((server, index) => ({
      name: servers.length === 1 ? null : shortName(server),
      address: addressOf(choice, server, index),
    })),
  };
}

/** The key may have been rotated since the last connection was made. */
function addressOf(choice: PrimaryChoice, found: PrimaryAddress, index: number): () => Promise<PrimaryAddress> {
  let known = found;
  let isFirst = true;
  return async () => {
    if (!isFirst) {
      const again = await findDeployed(choice).catch(() => null);
      known = again?.servers[index] ?? known;
    }
    isFirst = false;
    return known;
  };
}

/** Throws what the first one says if all of them fail. */
async function oneAnswers(servers: readonly PrimaryAddress[]): Promise<void> {
  const answers = await Promise.allSettled(servers.map((server) => askPrimary(server, "GET", STATUS_PATH)));
  const [first] = answers;
  if (answers.every(({ status }) => status === "rejected") && first?.status === "rejected") throw first.reason;
}
