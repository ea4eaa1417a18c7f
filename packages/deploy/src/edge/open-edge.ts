/** The edge half of a deployment that is there: who asks, in which account, and the Worker with its versions. */
import { type Project, type Target, type UserConfig, readUserConfig } from "@radical/app";
import { type CloudflareApi, createCloudflareApi } from "./cloudflare-api.ts";
import { type Account, accountOf, authorizationOf } from "./credentials.ts";
import { type WorkerVersions, workerVersions } from "./worker-versions.ts";
import { type Wrangler, createWrangler } from "./wrangler.ts";

export interface OpenEdge {
  readonly api: CloudflareApi;
  readonly account: Account;
  /** In that account. */
  readonly wrangler: Wrangler;
  readonly user: UserConfig | null;
  /** Name of the Worker. */
  readonly worker: string;
  readonly versions: WorkerVersions;
}

/** Throws a CommandError if nobody is logged in. Changes nothing. */
export async function openEdge(
  { root }: Project,
  target: Target,
  environment: NodeJS.ProcessEnv = process.env,
  signal?: AbortSignal,
): Promise<OpenEdge> {
  const aborted = signal === undefined ? {} : { signal };
  const user = await readUserConfig(root, target.environment);
  const anywhere = createWrangler({ project: root, environment, ...aborted });
  const api = createCloudflareApi({ authorization: await authorizationOf(anywhere, environment), environment });
  const account = await accountOf(api, user?.config.account_id ?? null, environment);
  // Whoever else these credentials reach.
  const ofAccount = { ...environment, CLOUDFLARE_ACCOUNT_ID: account.id };
  const wrangler = createWrangler({ project: root, environment: ofAccount, ...aborted });
  const worker = user?.config.name ?? target.name;
  return { api, account, wrangler, user, worker, versions: workerVersions(api, account.id, worker) };
}
