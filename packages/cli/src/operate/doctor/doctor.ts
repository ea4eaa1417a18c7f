/**
 * Looks at all that a deployment needs, from this machine outwards. Whatever can be looked at is, though something else is wrong.
 */
import { join } from "node:path";
import type { ReadLeaseStatus } from "@radical/protocol";
import type { Project } from "@radical/app";
import { readRunning } from "@radical/local";
import { loadDeploymentKeys, type PrimaryAddress } from "@radical/admin";
import { runningPrimary } from "../primary-address.ts";
import { lookAtEdge, type RoundTrip, type ServedModule, type Site } from "./edge-checks.ts";
import { type ClockReading, clockFinding, type Finding } from "./finding.ts";
import { leaseFinding } from "./lease-checks.ts";
import { devPortFinding, nodeFinding } from "./machine-checks.ts";
import { lookAtPrimary, setFindings } from "./primary-checks.ts";

/** What is looked at beside this machine. */
export interface Deployment {
  /** The servers of one storage; empty: none is known. */
  readonly primary: readonly PrimaryAddress[];
  readonly sites: readonly Site[];
  /** What is known to be deployed at the locations, whether they are reached or not. */
  readonly served: readonly ServedModule[];
  /** What was found while this was found out. */
  readonly findings: readonly Finding[];
  readonly clocks: readonly ClockReading[];
}

export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly roundTrips: readonly RoundTrip[];
  /** Of the primary; null: nothing is known of them. */
  readonly readLeases: ReadLeaseStatus | null;
}

export async function examine(
  project: Project,
  deployment: Deployment | null,
  nodeVersion: string,
): Promise<Diagnosis> {
  const dev = await runningDeployment(project);
  const { primary, sites, served, findings, clocks } = deployment ?? dev ?? NOTHING;
  const port = await devPortFinding(project.config.dev.port, dev !== null);
  const look = primary.length === 0 ? null : await lookAtPrimary(primary);
  const isAnywhere = sites.length > 0 || served.length > 0;
  const edge = isAnywhere ? await lookAtEdge(sites, served, look?.modules ?? null) : null;
  const known = [...served, ...(edge?.roundTrips ?? [])].map(({ module }) => module);
  return {
    findings: [
      nodeFinding(nodeVersion),
      port,
      ...findings,
      ...(look?.findings ?? []),
      ...setFindings(look?.setsLeft ?? [], new Set(known)),
      ...leaseFinding(look?.readLeases ?? null, project.config.readLeaseMs),
      ...(edge?.findings ?? []),
      clockFinding([...clocks, ...(look?.clocks ?? [])]),
    ],
    roundTrips: edge?.roundTrips ?? [],
    readLeases: look?.readLeases ?? null,
  };
}

const NOTHING: Deployment = { primary: [], sites: [], served: [], findings: [], clocks: [] };

/** The `radical dev` that runs in the project; null: none does. */
async function runningDeployment(project: Project): Promise<Deployment | null> {
  const primary = await runningPrimary(project);
  const stateFolder = join(project.root, ".radical");
  const edge = (await readRunning(stateFolder))?.edge ?? null;
  if (primary === null) return null;
  const { location: key } = await loadDeploymentKeys(stateFolder);
  const sites = edge?.locations.map((location) => ({ url: edge.url, location, key })) ?? [];
  return { ...NOTHING, primary: [primary], sites };
}
