/** The deployment of an environment, found by its names: its Worker, and each server of its primary. */
import { type PrimaryChoice, deployedPrimary } from "./deploy.ts";
import { awsPlaceOf } from "./aws-half.ts";
import { type AdminAddress, askPrimary, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { type OpenEdge, openEdge } from "./edge/open-edge.ts";
import { MODULE_LIST_PATH, NODES } from "@radical/protocol";

export interface Deployed {
  readonly edge: OpenEdge;
  /** Of one storage: one of them leads. */
  readonly servers: readonly PrimaryAddress[];
  /** Where the application is reached; null: its configuration names no host. */
  readonly origin: string | null;
  /** Address of the stored data, like `dynamodb:<prefix>?region=…`; null: a primary of one's own does not say. */
  readonly storage: string | null;
}

/** Throws a CommandError if nobody is logged in, or there is no primary. */
export async function findDeployed(choice: PrimaryChoice): Promise<Deployed> {
  const edge = await openEdge(choice.project, choice.target, choice.environment);
  const { primary, ...reached } = await deployedPrimary(choice, edge);
  return { edge, servers: serversOf(primary), ...reached };
}

/** `description`: of a primary, as `radical deploy` keeps it. */
export function serversOf(primary: {
  readonly description: string;
  readonly admin: AdminAddress;
}): readonly PrimaryAddress[] {
  const { urls, ...of } = primary.admin;
  return awsPlaceOf(primary.description) === null
    ? urls.map((url) => ({ url, ...of }))
    : urls.flatMap((url) => NODES.map((node) => ({ url, ...of, node })));
}

/** The one of the servers that leads. Throws a PrimaryError if none does. */
export async function leaderOf(servers: readonly PrimaryAddress[]): Promise<PrimaryAddress> {
  let failure: unknown = null;
  for (const server of servers) {
    try {
      // Answered by none but the leader.
      await askPrimary(server, "GET", MODULE_LIST_PATH);
      return server;
    } catch (error) {
      if (!(error instanceof PrimaryError)) throw error;
      // What one that answers says tells more.
      if (!(failure instanceof PrimaryError) || failure.failure === "primary_not_reached") failure = error;
    }
  }
  throw failure;
}
