/** The server that leads, of `radical dev`, of a primary that is named, or of the deployment of an environment. */
import type { PrimaryAddress } from "@radical/admin";
import { type Project, targetOf } from "@radical/app";
import { checkRegion } from "./deployed-options.ts";
import { primaryAddress } from "./primary-address.ts";

export interface PrimaryChoice {
  readonly env: string | null;
  readonly primary: string | null;
  readonly region: string | null;
}

/** Throws a CommandError if there is none, or it does not lead. */
export async function leadingPrimary(
  project: Project,
  { env, primary, region }: PrimaryChoice,
): Promise<PrimaryAddress> {
  checkRegion({ env, region });
  if (env === null) return primaryAddress(project, primary);
  const { findDeployed, leaderOf } = await import("@radical/deploy");
  const target = targetOf(project.config.name, env);
  return leaderOf((await findDeployed({ project, target, primary, region, url: null })).servers);
}
