/** Where a deployment has its data, found by the name of its environment. */
import type { PrimaryAddress } from "@radical/admin";
import { type Project, targetOf } from "@radical/app";

export interface DeployedData {
  /** Of the primary: one of them leads. */
  readonly servers: readonly PrimaryAddress[];
  /** Address of the tables, like `dynamodb:<prefix>?region=…`; null: a primary of one's own does not say. */
  readonly storage: string | null;
}

/** Asks the accounts, and no server. Throws a CommandError if there is no such deployment. */
export async function findDeployedData(project: Project, env: string, region: string | null): Promise<DeployedData> {
  const { findDeployed } = await import("@radical/deploy");
  const target = targetOf(project.config.name, env);
  return findDeployed({ project, target, primary: null, region, url: null });
}
