/** The server that leads, of what a command names: `radical dev`, a server, or the primary of a deployment. Only it executes anything. */
import { type Project, targetOf } from "@radical/app";
import type { PrimaryAddress } from "@radical/admin";
import { primaryAddress } from "./primary-address.ts";

export interface PrimaryChoice {
  readonly env: string | null;
  readonly primary: string | null;
  readonly region: string | null;
}

/** Throws a CommandError if there is none, or none leads. */
export async function leadingPrimary(
  project: Project,
  { env, primary, region }: PrimaryChoice,
): Promise<PrimaryAddress> {
  if (env === null) return primaryAddress(project, primary);
  const { findDeployed, leaderOf } = await import("@radical/deploy");
  const target = targetOf(project.config.name, env);
  return leaderOf((await findDeployed({ project, target, primary, region, url: null })).servers);
}
