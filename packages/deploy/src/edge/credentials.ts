/** Who deploys at Cloudflare, and in which account: as wrangler knows it. */
import { CommandError } from "@radical/app/command-error";
import type { CloudflareApi } from "./cloudflare-api.ts";
import type { Wrangler } from "./wrangler.ts";

/** Header names and values of requests to Cloudflare's API. */
export type Authorization = Readonly<Record<string, string>>;

export interface Account {
  readonly id: string;
  /** Null: it was given by its id. */
  readonly name: string | null;
}

const LOG_IN = "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.";

/** What the environment has, or else what `wrangler login` has left. Throws a CommandError without either. */
export async function authorizationOf(
  wrangler: Wrangler,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Authorization> {
  const token = environment["CLOUDFLARE_API_TOKEN"];
  if (token !== undefined && token !== "") return { authorization: `Bearer ${token}` };
  let stdout: string;
  try {
    ({ stdout } = await wrangler.run(["auth", "token", "--json"]));
  } catch (error) {
    throw new CommandError("not_logged_in", "wrangler is not logged in at Cloudflare.", LOG_IN, { cause: error });
  }
  const found = JSON.parse(stdout) as { readonly token?: string; readonly key?: string; readonly email?: string };
  if (found.token !== undefined) return { authorization: `Bearer ${found.token}` };
  if (found.key !== undefined && found.email !== undefined)
    return { "x-auth-key": found.key, "x-auth-email": found.email };
  throw new CommandError("not_logged_in", "wrangler has no token for Cloudflare's API.", LOG_IN);
}

/** The account that is named (`CLOUDFLARE_ACCOUNT_ID`, `account_id` of the wrangler configuration), or the only one. */
export async function accountOf(
  api: CloudflareApi,
  configured: string | null,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Account> {
  const named = environment["CLOUDFLARE_ACCOUNT_ID"] ?? "";
  if (named !== "") return { id: named, name: null };
  if (configured !== null) return { id: configured, name: null };
  const accounts = await api.list<{ readonly id: string; readonly name: string }>("/accounts");
  const [only, ...others] = accounts;
  if (only === undefined)
    throw new CommandError("no_account", "These credentials reach no account at Cloudflare.", LOG_IN);
  if (others.length === 0) return only;
  throw new CommandError(
    "several_accounts",
    `These credentials reach ${accounts.length} accounts: ${accounts.map(({ id, name }) => `${name} (${id})`).join(", ")}`,
    "Set CLOUDFLARE_ACCOUNT_ID, or account_id in wrangler.jsonc, to the right one.",
  );
}
