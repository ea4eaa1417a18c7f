/** `radical deploy` as a function: checks → plan → confirm → steps, primary first. */
import { setTimeout as sleep } from "node:timers/promises";
import { type AppBuild, fargateMemoryGb, type Project, type Target, targetOf } from "@radical/app";
import { hasBlobs } from "@radical/protocol";
import { CommandError, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import { type AdminAddress, operatorKeys } from "@radical/admin";
import { awsDescription, awsHalf, awsPlaceOf } from "./aws-half.ts";
import { type CheckedBuild, checkedBuild } from "./checks.ts";
import { checkDeployedTypes } from "./deployed-types.ts";
import { lookAtAccount } from "./edge/account-quotas.ts";
import type { CloudflareApi } from "./edge/cloudflare-api.ts";
import type { Account } from "./edge/credentials.ts";
import { newDeploymentId } from "./edge/deployment-record.ts";
import { type EdgeState, edgeHalf, subdomainOf } from "./edge/edge-steps.ts";
import { type OpenEdge, openEdge } from "./edge/open-edge.ts";
import { originsOf } from "./edge/wrangler-config.ts";
import { jurisdictionWords } from "./jurisdiction.ts";
import { ownPrimary } from "./own-primary.ts";
import { checkNothingPending } from "./pending-intents.ts";
import { type OlderWorkflows, olderWorkflows, olderWorkflowsWords } from "./planned-effects.ts";
import {
  DEFAULT_PRIMARY_SETTINGS,
  type PrimaryAccess,
  type PrimaryDeployment,
  type PrimarySettings,
  operatingKey,
  signingKey,
} from "./primary/primary-deployment.ts";
import { primaryNames } from "./primary/names.ts";
import { serverVariables } from "./primary/server-variables.ts";
import { template } from "./primary/template.ts";
import type { PrimaryHalf } from "./primary-half.ts";
import { unaskedNote } from "./quotas.ts";
import { unheardAlarms } from "./unheard-alarms.ts";
import type { RollbackOptions } from "./rollback.ts";
import { upgradeNote, upgradeStep } from "./upgrade-step.ts";
import {
  type Half,
  type PlannedStep,
  type StepEvent,
  type StepsOutcome,
  applySteps,
  planSteps,
  unlessStopped,
} from "./steps.ts";

export interface DeployOptions {
  readonly project: Project;
  readonly target: Target;
  readonly only: Half | null;
  /** Origins of the developer's own primary. */
  readonly primary: string | null;
  /** At AWS; null: as the configuration or the AWS SDK has it. */
  readonly region: string | null;
  readonly url: string | null;
  /** Whether intents may be left behind that are pending at a primary which is no longer used. */
  readonly strandPending: boolean;
  /** Whether the primary is to write its storage as this release does, after which no earlier one can serve it. Default: no. */
  readonly finalize?: boolean;
  /** Whether stored items may misfit the types of the build. */
  readonly acceptMisfits: boolean;
  readonly colours: boolean;
  readonly environment?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  /** Between attempts at something. Default: as long as it says. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Default: `Date.now`. */
  readonly now?: () => number;
  /** Where a Worker is reached in place of workers.dev, and what is in place of AWS; for tests. */
  readonly originOf?: (worker: string) => Promise<string | null>;
  readonly primaryDeployment?: (settings: PrimarySettings) => Promise<PrimaryDeployment>;
  readonly onEvent: (event: DeployEvent) => void;
  /** Whether the plan is to be carried out; not asked if it is empty. */
  readonly confirm: (planned: readonly PlannedStep[]) => Promise<boolean>;
}

export type DeployEvent =
  | { readonly kind: "checked"; readonly build: CheckedBuild; readonly account: Account; readonly ms: number }
  | { readonly kind: "planned"; readonly planned: readonly PlannedStep[]; readonly ms: number }
  /** What goes on within a step that takes its time. */
  | { readonly kind: "note"; readonly words: string }
  /** Something that the developer should mend some time. It is in the plan too. */
  | { readonly kind: "warning"; readonly words: string }
  | StepEvent;

export interface Plan {
  readonly planned: readonly PlannedStep[];
  /** Workflows that stay on the code of earlier modules. */
  readonly older: readonly OlderWorkflows[];
  /** Things to be mended some time. None of them is in the way of the deployment. */
  readonly warnings: readonly string[];
}

export type DeployOutcome = Plan &
  ({ readonly kind: "declined" } | (StepsOutcome & { readonly edge: EdgeState | null }));

/** Throws a CommandError before anything was changed; what fails later is in the outcome. */
export async function deploy(options: DeployOptions): Promise<DeployOutcome> {
  const { project, environment = process.env } = options;
  const startedAtMs = performance.now();
  const urls = options.primary ?? project.config.deploy.primary;
  const own = urls === null ? null : ownPrimary(urls, options.target, environment);
  // Before anything takes its time: it throws if there is none.
  own?.key();
  if (own !== null && options.only === "primary") {
    throw new CommandError(
      "usage",
      "This command does not deploy a primary of your own.",
      "Leave out --only primary.",
      {
        exitCode: EXIT_USAGE,
      },
    );
  }
  if (options.finalize === true && options.only === "edge")
    throw new CommandError(
      "usage",
      "The primary finishes an upgrade, and --only edge leaves it out.",
      "Leave out --only edge.",
      {
        exitCode: EXIT_USAGE,
      },
    );
  const aws = own === null ? await unlessStopped(awsOf(options), options.signal) : null;
  try {
    return await deployTo(options, own, aws, startedAtMs);
  } finally {
    aws?.deployment.close();
  }
}

async function deployTo(
  options: DeployOptions,
  own: PrimaryHalf | null,
  aws: Aws | null,
  checksSinceMs: number,
): Promise<DeployOutcome> {
  const { project, target, onEvent, signal, environment = process.env } = options;
  const { config, root } = project;
  let startedAtMs = checksSinceMs;
  const checking = Promise.all([
    checkedBuild(project, config.deploy.strict, options.colours),
    openEdge(project, target, environment, signal),
  ]);
  const [build, opened] = await unlessStopped(checking, signal);
  const { api, account, wrangler, user } = opened;
  onEvent({ kind: "checked", build, account, ms: since(startedAtMs) });

  startedAtMs = performance.now();
  const wait = options.wait ?? ((ms: number) => sleep(ms, undefined, signal === undefined ? {} : { signal }));
  const originOf = options.originOf ?? ((worker: string) => workersDevOrigin(api, account, worker));
  const primary =
    own ??
    awsHalf({
      project: root,
      target,
      ...present(aws),
      only: options.only,
      api,
      account,
      wrangler,
      originOf,
      wait,
      nowMs: (options.now ?? Date.now)(),
      note: (words) => onEvent({ kind: "note", words }),
    });
  if (options.only !== "primary" && !options.strandPending)
    await unlessStopped(checkNothingStranded(options, opened, primary.description, originOf), signal);
  const edge = edgeHalf({
    project,
    target,
    app: build.app,
    user,
    api,
    account,
    wrangler,
    primary,
    url: options.url ?? config.deploy.url,
    deployment: newDeploymentId(Date.now()),
    wait,
    onProgress: (words) => onEvent({ kind: "note", words }),
    ...(signal === undefined ? {} : { signal }),
  });
  const { jurisdiction } = config;
  if (jurisdiction !== null) {
    const at = { jurisdiction, region: aws?.access.region ?? null, hasBlobs: hasBlobs(build.app.manifest.records) };
    onEvent({ kind: "note", words: jurisdictionWords(at) });
  }
  // The one half needs to know what the other one finds.
  const primarySteps = options.finalize === true ? [...primary.steps, upgradeStep(primary)] : primary.steps;
  const steps = options.only === "primary" ? primarySteps : [...primarySteps, ...edge.steps];
  const all = await unlessStopped(planSteps(steps), signal);
  const planned = all.filter(({ step }) => options.only === null || step.half === options.only);
  const changes = planned.flatMap((one) => one.changes);
  if (options.only !== "primary" && !options.acceptMisfits)
    await unlessStopped(checkTypes(options, build.app, opened, primary), signal);
  const classes = options.only === "primary" ? [] : edge.newClasses();
  const look = await unlessStopped(lookAtAccount(api, account.id, changes, classes), signal);
  for (const words of [...look.hints, unaskedNote(look)]) if (words !== null) onEvent({ kind: "note", words });
  const { module } = build.app.manifest;
  const older = options.only === "primary" ? [] : await unlessStopped(olderWorkflows(primary.admin(), module), signal);
  onEvent({ kind: "planned", planned, ms: since(startedAtMs) });
  const words = olderWorkflowsWords(older);
  if (words !== null) onEvent({ kind: "note", words });

  const unheard = own === null ? unheardAlarms(target, config.deploy) : null;
  const warnings = unheard === null ? [] : [`${unheard.message} ${unheard.hint}`];
  for (const warning of warnings) onEvent({ kind: "warning", words: warning });

  const isEmpty = changes.length === 0;
  if (!isEmpty && !(await unlessStopped(options.confirm(planned), signal)))
    return { kind: "declined", planned, older, warnings };
  const outcome = await applySteps(planned, { onEvent, ...(signal === undefined ? {} : { signal }) });
  if (outcome.kind === "done" && options.finalize !== true) {
    // All is deployed by now, whether this can be found out or not.
    const left = await unlessStopped(upgradeNote(primary, target.environment), signal).catch(
      (error: unknown) => `whether an upgrade is to be finished was not found out: ${messageOf(error)}`,
    );
    if (left !== null) onEvent({ kind: "note", words: left });
  }
  return { ...outcome, planned, older, warnings, edge: edge.state() };
}

/** Nothing is stored at a primary that is still to be made. Throws a MisfitError. */
async function checkTypes(
  { project, onEvent }: DeployOptions,
  { manifest }: AppBuild,
  { versions }: OpenEdge,
  primary: PrimaryHalf,
): Promise<void> {
  const admin = primary.admin();
  if (admin === null) return;
  await checkDeployedTypes({
    admin,
    project: project.root,
    serving: (await versions.serving())?.record?.module ?? null,
    module: manifest.module,
    types: manifest,
    note: (words) => onEvent({ kind: "note", words }),
  });
}

/** The deployment that serves may have another primary, with intents that nobody would ask for any more. Throws a CommandError. */
export async function checkNothingStranded(
  options: Pick<DeployOptions, "project" | "target" | "region" | "primaryDeployment" | "environment" | "now">,
  { versions }: OpenEdge,
  description: string,
  originOf: (worker: string) => Promise<string | null>,
): Promise<void> {
  const former = (await versions.serving())?.record?.primary;
  // A server of one's own that got a standby is still the same one.
  if (former === undefined || former.split(",").some((origin) => description.split(",").includes(origin))) return;
  const addresses = async (): Promise<readonly AdminAddress[]> => {
    const place = awsPlaceOf(former);
    if (place === null) {
      const keys = operatorKeys(options.environment ?? process.env);
      return keys.map((key) => ({ urls: former.split(","), key, deployment: options.target.name }));
    }
    const { deployment, access } = await awsOf({ ...options, region: place.region });
    try {
      return access.account === place.account
        ? await awsAddresses(
            deployment,
            options.target,
            await originOf(options.target.relay),
            (options.now ?? Date.now)(),
          )
        : [];
    } finally {
      deployment.close();
    }
  };
  await checkNothingPending(former, addresses, "this deployment would leave");
}

/** Where a primary at AWS is administered; empty: it is not there. */
export async function awsAddresses(
  deployment: PrimaryDeployment,
  { name }: Pick<Target, "name">,
  relay: string | null,
  nowMs: number,
): Promise<readonly AdminAddress[]> {
  const state = await deployment.state();
  const key = state === null ? null : operatingKey(state, nowMs);
  return relay === null || key === null ? [] : [{ urls: [relay], key, deployment: name }];
}

function since(startedAtMs: number): number {
  return Math.round(performance.now() - startedAtMs);
}

export interface Aws {
  readonly deployment: PrimaryDeployment;
  readonly access: PrimaryAccess;
}

/** Credentials and region at AWS. */
export async function awsOf(
  options: Pick<DeployOptions, "project" | "target" | "region" | "primaryDeployment">,
): Promise<Aws> {
  const deployment = await (options.primaryDeployment ?? awsDeployment)(settingsOf(options));
  try {
    return { deployment, access: await deployment.checkAccess() };
  } catch (error) {
    deployment.close();
    throw error;
  }
}

export type PrimaryChoice = Pick<
  DeployOptions,
  "project" | "target" | "primary" | "region" | "url" | "originOf" | "primaryDeployment" | "environment"
>;

/** Where a deployment is reached, as its configuration says; null: it names no host, and the account has none. */
export async function deployedOrigin(
  { target }: PrimaryChoice,
  { api, account, user }: OpenEdge,
): Promise<string | null> {
  const subdomain = await subdomainOf(api, `/accounts/${account.id}`);
  const [first = null] = originsOf({ name: target.name, ...user?.config }, subdomain);
  return first;
}

/** Where the relay is reached; null: the account has no name under workers.dev. */
export function relayOrigin({ originOf, target }: PrimaryChoice, { api, account }: OpenEdge): Promise<string | null> {
  return (originOf ?? ((worker: string) => workersDevOrigin(api, account, worker)))(target.relay);
}

export interface ReachedPrimary extends Pick<RollbackOptions, "primary" | "origin"> {
  /** Address of the tables that the configuration names, as `--storage` of the server takes it; null: one's own does not say. */
  readonly storage: string | null;
}

/** A primary that is there, and where the deployment before it is reached. Throws a CommandError if there is none. */
export async function deployedPrimary(options: PrimaryChoice, edge: OpenEdge): Promise<ReachedPrimary> {
  const { project, target, environment = process.env } = options;
  const origin = options.url ?? project.config.deploy.url ?? (await deployedOrigin(options, edge));
  const urls = options.primary ?? project.config.deploy.primary;
  if (urls !== null) {
    const own = ownPrimary(urls, options.target, environment);
    return {
      primary: { description: own.description, admin: present(own.admin()), key: () => present(own.key()) },
      origin,
      storage: null,
    };
  }
  const { deployment, access } = await awsOf(options);
  try {
    const [admin] = await awsAddresses(deployment, target, await relayOrigin(options, edge), Date.now());
    const state = await deployment.state();
    if (admin === undefined || state === null)
      throw new CommandError("no_primary", "This environment has no primary at AWS.", "Run `radical deploy`.");
    const description = awsDescription(access, primaryNames(target).tablePrefix);
    // A deployment may have been set back to other tables than its first ones.
    const storage = `dynamodb:${state.tablePrefix}?region=${access.region}`;
    return { primary: { description, admin, key: () => present(signingKey(state, Date.now())) }, origin, storage };
  } finally {
    deployment.close();
  }
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error("there is a primary of one's own, or one at AWS");
  return value;
}

/** What is deployed at AWS, by what the command and the configuration say. */
function settingsOf({
  project,
  target,
  region,
}: Pick<DeployOptions, "project" | "target" | "region">): PrimarySettings {
  const { application, environment } = target;
  const { deploy: configured, readLeaseMs } = project.config;
  const { aws } = configured;
  const vcpu = aws.vcpu ?? DEFAULT_PRIMARY_SETTINGS.vcpu;
  return {
    host: aws.host ?? DEFAULT_PRIMARY_SETTINGS.host,
    vcpu,
    memoryGb: aws.memoryGb ?? fargateMemoryGb(vcpu),
    instanceType: aws.instanceType ?? DEFAULT_PRIMARY_SETTINGS.instanceType,
    zones: aws.zones ?? DEFAULT_PRIMARY_SETTINGS.zones,
    alarmEmail: aws.alarmEmail ?? DEFAULT_PRIMARY_SETTINGS.alarmEmail,
    alarmTopic: aws.alarmTopic ?? DEFAULT_PRIMARY_SETTINGS.alarmTopic,
    tags: aws.tags ?? DEFAULT_PRIMARY_SETTINGS.tags,
    permissionsBoundary: aws.permissionsBoundary ?? DEFAULT_PRIMARY_SETTINGS.permissionsBoundary,
    shellAccess: aws.shellAccess ?? DEFAULT_PRIMARY_SETTINGS.shellAccess,
    tables: aws.tables?.[environment] ?? DEFAULT_PRIMARY_SETTINGS.tables,
    readLeaseMs,
    server: serverVariables(aws.server ?? {}),
    application,
    environment,
    region: region ?? configured.region,
  };
}

/** The CloudFormation template with which a first deployment would make the primary at AWS. Asks nobody. */
export async function primaryTemplate(
  options: Pick<DeployOptions, "project" | "target" | "primary" | "region">,
): Promise<object> {
  if ((options.primary ?? options.project.config.deploy.primary) !== null) {
    throw new CommandError("usage", "A primary of your own has no template.", "Leave out --emit-template.", {
      exitCode: EXIT_USAGE,
    });
  }
  const settings = settingsOf(options);
  return template({ settings, artefact: await serverNameOf(settings), last: "b" });
}

/** The bundler is loaded by those who need it. */
async function serverNameOf({ host }: PrimarySettings): Promise<string> {
  if (host === "ec2") return (await (await import("./primary/server-artefact.ts")).buildServerArtefact()).sha256;
  return (await (await import("./image/server-image.ts")).buildServerLayer()).sha256;
}

/** The AWS SDK is large: only who deploys there waits for it. */
async function awsDeployment(settings: PrimarySettings): Promise<PrimaryDeployment> {
  const { AwsPrimary } = await import("./primary/aws-primary.ts");
  return new AwsPrimary(settings);
}

export async function workersDevOrigin(api: CloudflareApi, account: Account, worker: string): Promise<string | null> {
  const subdomain = await subdomainOf(api, `/accounts/${account.id}`);
  return subdomain === null ? null : `https://${worker}.${subdomain}.workers.dev`;
}

/** The target of a command's options. */
export function targetOfProject({ config }: Project, environment: string): Target {
  return targetOf(config.name, environment);
}
