/** `radical deploy` as a function: checks → plan → confirm → steps, primary first. */
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "../command-error.ts";
import type { Project } from "../config/load-config.ts";
import { type CheckedBuild, checkedBuild } from "./checks.ts";
import { createCloudflareApi } from "./edge/cloudflare-api.ts";
import { type Account, accountOf, authorizationOf } from "./edge/credentials.ts";
import { newDeploymentId } from "./edge/deployment-record.ts";
import { type EdgeState, edgeHalf } from "./edge/edge-steps.ts";
import { readUserConfig } from "./edge/user-config.ts";
import { createWrangler } from "./edge/wrangler.ts";
import { ownPrimary } from "./own-primary.ts";
import type { PrimaryHalf } from "./primary-half.ts";
import { type Half, type PlannedStep, type StepEvent, type StepsOutcome, applySteps, planSteps } from "./steps.ts";
import { type Target, targetOf } from "./target.ts";

export interface DeployOptions {
  readonly project: Project;
  readonly target: Target;
  readonly only: Half | null;
  /** Origins of the developer's own primary. */
  readonly primary: string | null;
  readonly url: string | null;
  readonly colours: boolean;
  readonly environment?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  /** Between attempts at something. Default: as long as it says. */
  readonly wait?: (ms: number) => Promise<void>;
  readonly onEvent: (event: DeployEvent) => void;
  /** Whether the plan is to be carried out; not asked if it is empty. */
  readonly confirm: (planned: readonly PlannedStep[]) => Promise<boolean>;
}

export type DeployEvent =
  | { readonly kind: "checked"; readonly build: CheckedBuild; readonly account: Account; readonly ms: number }
  | { readonly kind: "planned"; readonly planned: readonly PlannedStep[]; readonly ms: number }
  | StepEvent;

export type DeployOutcome =
  | { readonly kind: "declined"; readonly planned: readonly PlannedStep[] }
  | (StepsOutcome & { readonly planned: readonly PlannedStep[]; readonly edge: EdgeState | null });

/** Throws a CommandError before anything was changed; what fails later is in the outcome. */
export async function deploy(options: DeployOptions): Promise<DeployOutcome> {
  const { project, target, onEvent, signal, environment = process.env } = options;
  const { config, root } = project;
  const since = (startedAtMs: number): number => Math.round(performance.now() - startedAtMs);

  let startedAtMs = performance.now();
  const primary = primaryOf(options, environment);
  const [build, user] = await Promise.all([
    checkedBuild(project, config.deploy.strict, options.colours),
    readUserConfig(root, target.environment),
  ]);
  const wrangler = createWrangler({ project: root, environment, ...(signal === undefined ? {} : { signal }) });
  const api = createCloudflareApi({ authorization: await authorizationOf(wrangler, environment), environment });
  const account = await accountOf(api, user?.config.account_id ?? null, environment);
  onEvent({ kind: "checked", build, account, ms: since(startedAtMs) });

  startedAtMs = performance.now();
  const edge = edgeHalf({
    project,
    target,
    app: build.app,
    user,
    api,
    account,
    // Of the account that was found, whoever else these credentials reach.
    wrangler: createWrangler({
      project: root,
      environment: { ...environment, CLOUDFLARE_ACCOUNT_ID: account.id },
      ...(signal === undefined ? {} : { signal }),
    }),
    primary,
    url: options.url ?? config.deploy.url,
    deployment: newDeploymentId(Date.now()),
    wait: options.wait ?? ((ms) => sleep(ms, undefined, signal === undefined ? {} : { signal })),
    ...(signal === undefined ? {} : { signal }),
  });
  const steps = [...primary.steps, ...edge.steps].filter(({ half }) => options.only === null || half === options.only);
  const planned = await planSteps(steps);
  onEvent({ kind: "planned", planned, ms: since(startedAtMs) });

  const isEmpty = planned.every(({ changes }) => changes.length === 0);
  if (!isEmpty && !(await options.confirm(planned))) return { kind: "declined", planned };
  const outcome = await applySteps(planned, { onEvent, ...(signal === undefined ? {} : { signal }) });
  return { ...outcome, planned, edge: edge.state() };
}

function primaryOf({ primary, project }: DeployOptions, environment: NodeJS.ProcessEnv): PrimaryHalf {
  const urls = primary ?? project.config.deploy.primary;
  if (urls !== null) return ownPrimary(urls, environment);
  throw new CommandError("no_primary", "there is no primary", "name yours: --primary https://lvi.example.com");
}

/** The target of a command's options. */
export function targetOfProject({ config }: Project, environment: string): Target {
  return targetOf(config.name, environment);
}
