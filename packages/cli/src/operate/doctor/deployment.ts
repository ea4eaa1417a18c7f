/** The deployment of an environment, found by its names: the Worker at Cloudflare, and the primary that it was deployed with. */
import { placementOf } from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import {
  awsDescription,
  type Aws,
  type PrimaryChoice,
  PROTECTED_ENVIRONMENT,
  awsOf,
  deployedOrigin,
  relayOrigin,
  CloudflareError,
  type OpenEdge,
  openEdge,
  ownPrimary,
  primaryNames,
  type PlannedChange,
  operatingKey,
  serversOf,
  unheardAlarms,
  signingKey,
} from "@radical/deploy";
import { type DeploymentKey, givenLocationKey, type PrimaryAddress } from "@radical/admin";
import { StorageError } from "@radical/lvi-server";
import { lookAtCopies } from "./copy-checks.ts";
import type { Deployment } from "./doctor.ts";
import type { ServedModule } from "./edge-checks.ts";
import { type ClockReading, clockOf, type Finding, type Problem } from "./finding.ts";

const REQUEST_MS = 10_000;

/** All of it that can be found, and what is wrong with the rest. Throws a CommandError for wrong usage. */
export async function lookAtDeployment(choice: PrimaryChoice): Promise<Deployment> {
  const { environment = process.env } = choice;
  const urls = choice.primary ?? choice.project.config.deploy.primary;
  const own = urls === null ? null : ownPrimary(urls, choice.target, environment);
  const clock = await cloudflareClock(environment);
  const clocks = clock === null ? [] : [clock];
  const { edge, problem } = await opened(choice);
  const relay = own === null && edge !== null ? await relayOrigin(choice, edge) : null;
  const admin = own?.admin() ?? null;
  const primary =
    own === null || admin === null
      ? await lookAtAws(choice, relay)
      : {
          description: own.description,
          servers: serversOf({ description: own.description, admin }),
          key: givenLocationKey(environment),
          findings: [],
          clocks: [],
        };
  const findings: Finding[] = [{ check: "cloudflare", problems: problem === null ? [] : [problem] }];
  const served: ServedModule[] = [];
  let origin = choice.url ?? choice.project.config.deploy.url;
  if (edge !== null) {
    const worker = await lookAtWorker(edge, choice, primary.description);
    findings.push({ check: "worker", problems: worker.problems });
    served.push(...worker.served);
    if (worker.isThere) origin ??= await deployedOrigin(choice, edge);
  }
  return {
    primary: primary.servers,
    sites: origin === null ? [] : [{ url: new URL(origin).origin, location: null, key: primary.key }],
    served,
    findings: [...findings, ...primary.findings],
    clocks: [...clocks, ...primary.clocks],
  };
}

// ── Cloudflare ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Null `edge`: who may deploy is not known, or may not. */
async function opened({
  project,
  target,
  environment,
}: PrimaryChoice): Promise<{ readonly edge: OpenEdge | null; readonly problem: Problem | null }> {
  try {
    return { edge: await openEdge(project, target, environment), problem: null };
  } catch (error) {
    return { edge: null, problem: problemOf(error) };
  }
}

interface WorkerLook {
  readonly isThere: boolean;
  readonly problems: readonly Problem[];
  readonly served: readonly ServedModule[];
}

/** `primary`: the description of the one that there is; null: not known. */
async function lookAtWorker(
  { versions, worker }: OpenEdge,
  { target }: PrimaryChoice,
  primary: string | null,
): Promise<WorkerLook> {
  const hint = `Run \`radical deploy --env ${target.environment}\`.`;
  try {
    const [deployment] = (await versions.deployments()) ?? [];
    if (deployment === undefined)
      return { isThere: false, problems: [{ message: `The Worker ${worker} is not deployed.`, hint }], served: [] };
    const problems: Problem[] = [];
    const served: ServedModule[] = [];
    for (const { id, percentage } of deployment.versions) {
      if (percentage === 0) continue;
      const { record } = await versions.detail(id);
      if (record === null) {
        problems.push({ message: `Version ${id} of the Worker ${worker} was not made by radical deploy.`, hint });
        continue;
      }
      served.push({ version: id, module: record.module });
      if (primary !== null && !isSamePrimary(record.primary, primary))
        problems.push({
          message: `Version ${id} of the Worker ${worker} was made for the primary ${record.primary}, and this one is ${primary}.`,
          hint: `Name the right primary (--primary, --region). Or: ${hint}`,
        });
    }
    const placement = placementOf(await versions.placement());
    if (placement !== null)
      problems.push({
        message: `The Worker ${worker} has the placement ${placement}: it runs away from its users, so that calls take as long as at the primary.`,
        hint: "Turn it off in Cloudflare's dashboard (Settings, Runtime, Placement), and leave placement out of wrangler.jsonc.",
      });
    return { isThere: true, problems, served };
  } catch (error) {
    return { isThere: false, problems: [problemOf(error)], served: [] };
  }
}

/** A server of one's own that got a standby is still the same one. */
function isSamePrimary(one: string, other: string): boolean {
  return one.split(",").some((origin) => other.split(",").includes(origin));
}

/** Null: nobody answered, which whoever asks next is told. */
async function cloudflareClock(environment: NodeJS.ProcessEnv): Promise<ClockReading | null> {
  const base = environment["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4";
  const sentMs = Date.now();
  try {
    const response = await fetch(`${base.replace(/\/+$/, "")}/accounts`, { signal: AbortSignal.timeout(REQUEST_MS) });
    await response.arrayBuffer();
    return clockOf(response, "Cloudflare", sentMs, Date.now());
  } catch {
    return null;
  }
}

// ── AWS ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface AwsLook {
  /** Null: not known. */
  readonly description: string | null;
  readonly servers: readonly PrimaryAddress[];
  /** That locations sign with; null: not known. */
  readonly key: DeploymentKey | null;
  readonly findings: readonly Finding[];
  readonly clocks: readonly ClockReading[];
}

/** `relay`: its origin; null: not known, so nobody can ask the servers. */
async function lookAtAws(choice: PrimaryChoice, relay: string | null): Promise<AwsLook> {
  let aws: Aws;
  try {
    aws = await awsOf(choice);
  } catch (error) {
    return {
      description: null,
      servers: [],
      key: null,
      findings: [{ check: "aws", problems: [problemOf(error)] }],
      clocks: [],
    };
  }
  const { deployment, access } = aws;
  const description = awsDescription(access, primaryNames(choice.target).tablePrefix);
  const clocks = [{ whose: "AWS", aheadMs: access.clockSkewMs }];
  const [problems, tables]: [Problem[], Problem[]] = [[], []];
  let servers: readonly PrimaryAddress[] = [];
  let alarms: readonly Problem[] = [];
  let location: DeploymentKey | null = null;
  try {
    const state = await deployment.state();
    if (state === null) {
      problems.push({
        message: `${choice.target.name} has no primary in ${access.region} of the AWS account ${access.account}.`,
        hint: `Run \`radical deploy --env ${choice.target.environment}\`, or name another region or profile (--region, AWS_PROFILE).`,
      });
    } else {
      alarms = unheard(choice);
      location = signingKey(state, Date.now());
      const key = operatingKey(state, Date.now());
      if (relay !== null && key !== null)
        servers = serversOf({ description, admin: { urls: [relay], key, deployment: choice.target.name } });
      for (const change of await deployment.drift(state)) {
        const isTable = change.what.startsWith("table ");
        (isTable ? tables : problems).push(driftProblem(change, choice.target.environment));
      }
      if (choice.target.environment === PROTECTED_ENVIRONMENT)
        tables.push(...(await lookAtCopies(state.tablePrefix, access.region, PROTECTED_ENVIRONMENT)));
    }
  } catch (error) {
    problems.push(problemOf(error));
  } finally {
    deployment.close();
  }
  return {
    description,
    servers,
    key: location,
    findings: [
      { check: "aws", problems },
      { check: "tables", problems: tables },
      { check: "alarms", problems: alarms },
    ],
    clocks,
  };
}

function unheard({ project, target }: PrimaryChoice): readonly Problem[] {
  const problem = unheardAlarms(target, project.config.deploy);
  return problem === null ? [] : [problem];
}

function driftProblem({ kind, what, detail }: PlannedChange, environment: string): Problem {
  const isMissing = kind === "make" || what.startsWith("secret ");
  const mend = `\`radical deploy --env ${environment}\``;
  return {
    message: isMissing ? `The ${what} is missing.` : `The ${what} is not ${detail}.`,
    hint:
      isMissing && what.startsWith("table ")
        ? `Restore it from a backup if it held anything. ${mend} makes it empty.`
        : `Run ${mend}.`,
  };
}

function problemOf(error: unknown): Problem {
  if (error instanceof CloudflareError && [400, 401, 403].includes(error.status)) {
    return {
      message: `Cloudflare does not take these credentials: ${error.message}`,
      hint: "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token that may edit Workers.",
    };
  }
  if (error instanceof CommandError) return { message: error.message, hint: error.hint };
  if (error instanceof StorageError)
    return { message: `The tables at AWS don't answer: ${error.message}`, hint: "Run the command again." };
  throw error;
}
