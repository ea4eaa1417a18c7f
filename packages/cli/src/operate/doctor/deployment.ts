/** The deployment of an environment, found by its names: the Worker at Cloudflare, and the primary that it was deployed with. */
import { CommandError } from "../../command-error.ts";
import type { Project } from "../../config/load-config.ts";
import { CloudflareError, createCloudflareApi } from "../../deploy/edge/cloudflare-api.ts";
import { accountOf, type Authorization, authorizationOf } from "../../deploy/edge/credentials.ts";
import { readUserConfig, type UserConfig } from "../../deploy/edge/user-config.ts";
import { leadingVersion, workerVersions } from "../../deploy/edge/worker-versions.ts";
import { createWrangler } from "../../deploy/edge/wrangler.ts";
import type { Target } from "../../deploy/target.ts";
import { type ClockReading, clockOf, type Finding, type Problem } from "./finding.ts";

export interface CloudflareLook {
  readonly findings: readonly Finding[];
  readonly clocks: readonly ClockReading[];
}

const REQUEST_MS = 10_000;

/** Who may deploy, and whether the environment's Worker is there. */
export async function lookAtCloudflare(
  project: Project,
  target: Target,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<CloudflareLook> {
  const { root } = project;
  try {
    const authorization = await authorizationOf(createWrangler({ project: root, environment }), environment);
    const clock = await cloudflareClock(authorization, environment);
    const clocks = clock === null ? [] : [clock];
    try {
      const user = await readUserConfig(root, target.environment);
      return { findings: await workerFindings(authorization, user, target, environment), clocks };
    } catch (error) {
      return { findings: [{ check: "cloudflare", problems: [problemOf(error)] }], clocks };
    }
  } catch (error) {
    return { findings: [{ check: "cloudflare", problems: [problemOf(error)] }], clocks: [] };
  }
}

async function workerFindings(
  authorization: Authorization,
  user: UserConfig | null,
  target: Target,
  environment: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  const api = createCloudflareApi({ authorization, environment });
  const account = await accountOf(api, user?.config.account_id ?? null, environment);
  const worker = user?.config.name ?? target.name;
  const deployments = await workerVersions(api, account.id, worker).deployments();
  const version = deployments?.[0] === undefined ? null : leadingVersion(deployments[0]);
  const problems: readonly Problem[] =
    version === null
      ? [{ message: `the Worker ${worker} is not deployed`, hint: `radical deploy --env ${target.environment}` }]
      : [];
  return [
    { check: "cloudflare", problems: [] },
    { check: "worker", problems },
  ];
}

/** Null: nobody answered, which whoever asks next is told. */
async function cloudflareClock(
  authorization: Authorization,
  environment: NodeJS.ProcessEnv,
): Promise<ClockReading | null> {
  const base = environment["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4";
  const sentMs = Date.now();
  try {
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(`${base.replace(/\/+$/, "")}/accounts`, { headers: authorization, signal });
    await response.arrayBuffer();
    return clockOf(response, "Cloudflare", sentMs, Date.now());
  } catch {
    return null;
  }
}

function problemOf(error: unknown): Problem {
  if (error instanceof CloudflareError && [400, 401, 403].includes(error.status)) {
    return {
      message: `Cloudflare does not take these credentials: ${error.message}`,
      hint: "log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token that may edit Workers",
    };
  }
  if (error instanceof CommandError) return { message: error.message, hint: error.hint };
  throw error;
}
