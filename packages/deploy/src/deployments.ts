/** What was deployed, as Cloudflare remembers it: which versions served since when, with which module, by whom. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { OpenEdge } from "./edge/open-edge.ts";
import { type VersionDetail, type WorkerDeployment, leadingVersion } from "./edge/worker-versions.ts";

export interface ServedVersion {
  readonly version: string;
  /** Of requests, in the deployment that was made then. */
  readonly percentage: number;
  /** Of the `radical deploy` that made it; null: it was not made by one. */
  readonly deployment: string | null;
  readonly module: string | null;
}

export interface PastDeployment {
  readonly at: string;
  /** Who made it, if Cloudflare says so. */
  readonly by: string | null;
  readonly live: boolean;
  readonly versions: readonly ServedVersion[];
}

/** The last first; `at` is since when these versions serve. Throws a CommandError if there is nothing. */
export async function listDeployments(edge: OpenEdge): Promise<readonly PastDeployment[]> {
  const { deployments, details } = await readDeployments(edge);
  // `radical deploy` has the version of a first deployment serve once more when its routes are right.
  const changes = deployments.filter((deployment, index) => !serveTheSame(deployment, deployments[index + 1]));
  return changes.map((deployment, index) => ({
    at: deployment.createdAt,
    by: deployment.author,
    live: index === 0,
    versions: deployment.versions.map(({ id, percentage }) => {
      const record = details.get(id)?.record ?? null;
      return { version: id, percentage, deployment: record?.deployment ?? null, module: record?.module ?? null };
    }),
  }));
}

function serveTheSame({ versions }: WorkerDeployment, before: WorkerDeployment | undefined): boolean {
  const shares = new Map(before?.versions.map(({ id, percentage }) => [id, percentage]));
  return shares.size === versions.length && versions.every(({ id, percentage }) => shares.get(id) === percentage);
}

/** The version to go back to: the one that is named, by its deployment or its own id, or that of the deployment which served before. */
export async function versionToServe(
  edge: OpenEdge,
  named: string | null,
): Promise<{ readonly live: VersionDetail; readonly wanted: VersionDetail }> {
  const { deployments, details } = await readDeployments(edge);
  const served = deployments.flatMap((deployment) => details.get(leadingVersion(deployment) ?? "") ?? []);
  const [live] = served;
  if (live === undefined) throw nothingDeployed(edge.worker);
  if (named === null) {
    // Each change of a secret makes a version of the same deployment.
    const isOther = ({ id, record }: VersionDetail): boolean =>
      id !== live.id && (record === null || record.deployment !== live.record?.deployment);
    const wanted = served.find(isOther);
    if (wanted !== undefined) return { live, wanted };
    throw new CommandError(
      "no_other_version",
      "No other deployment has served before.",
      "See `radical deployments`. Name a version of this deployment by its id.",
    );
  }
  for (const { id, tag } of await edge.versions.list())
    if (id === named || tag === named) return { live, wanted: await edge.versions.detail(id) };
  const wanted = served.find(({ id, record }) => id === named || record?.deployment === named);
  if (wanted !== undefined) return { live, wanted };
  throw new CommandError(
    "unknown_deployment",
    `No deployment or version "${named}" of ${edge.worker} can be served.`,
    "See `radical deployments`.",
    { exitCode: EXIT_USAGE },
  );
}

async function readDeployments(edge: OpenEdge) {
  const deployments = await edge.versions.deployments();
  if (deployments === null) throw nothingDeployed(edge.worker);
  const ids = new Set(deployments.flatMap(({ versions }) => versions.map(({ id }) => id)));
  const details = new Map<string, VersionDetail>();
  for (const id of ids) details.set(id, await edge.versions.detail(id));
  return { deployments, details };
}

function nothingDeployed(worker: string): CommandError {
  return new CommandError(
    "not_deployed",
    `The Worker ${worker} does not exist.`,
    "Run `radical deploy`, or name another --env.",
  );
}
