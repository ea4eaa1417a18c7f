/** Routes and custom domains, as Cloudflare has them. What the credentials may not see counts as right: wrangler makes them anyhow. */
import { CommandError } from "@radical/app/command-error";
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import type { Route, WranglerConfig } from "@radical/app";

interface Domain {
  readonly hostname: string;
  /** The Worker. */
  readonly service: string;
}

type Reading = Pick<CloudflareApi, "list">;

/** All of the routes of a configuration, the one and the many. */
export function routesOf({ routes = [], route }: WranglerConfig): readonly Exclude<Route, string>[] {
  const all = [...routes, ...(route === undefined ? [] : [route])];
  return all.map((one) => (typeof one === "string" ? { pattern: one } : one));
}

/** Throws a CommandError if another Worker has a custom domain: wrangler would take it away without asking. */
export async function checkDomains(
  api: Reading,
  account: string,
  worker: string,
  config: WranglerConfig,
): Promise<void> {
  const wanted = domainsOf(config);
  if (wanted.length === 0) return;
  for (const { hostname, service } of (await readable(() => domainsAt(api, account))) ?? [])
    if (wanted.includes(hostname) && service !== worker)
      throw new CommandError(
        "domain_in_use",
        `The custom domain ${hostname} belongs to the Worker ${service}.`,
        `Remove it there first, at https://dash.cloudflare.com/${account}/workers/services/view/${service}. Or name another one in the wrangler configuration.`,
      );
}

/** Whether the Worker has all that its configuration names. */
export async function hasRoutes(
  api: Reading,
  account: string,
  worker: string,
  config: WranglerConfig,
): Promise<boolean> {
  const wanted = domainsOf(config);
  const domains = wanted.length === 0 ? [] : await readable(() => domainsAt(api, account));
  const hasDomain = (host: string): boolean =>
    domains === null || domains.some(({ hostname, service }) => hostname === host && service === worker);
  if (!wanted.every(hasDomain)) return false;
  for (const route of routesOf(config).filter(({ custom_domain: isDomain }) => isDomain !== true)) {
    const there = await readable(() => routesNear(api, account, route));
    if (there !== null && !there.some(({ pattern, script }) => pattern === route.pattern && script === worker))
      return false;
  }
  return true;
}

function domainsOf(config: WranglerConfig): readonly string[] {
  return routesOf(config).flatMap(({ pattern, custom_domain: isDomain }) => (isDomain === true ? [pattern] : []));
}

function domainsAt(api: Reading, account: string): Promise<readonly Domain[]> {
  return api.list<Domain>(`/accounts/${account}/workers/domains`);
}

/** Those of its zone, which is the longest ending of the host that the account has. Null: it has none. */
async function routesNear(
  api: Reading,
  account: string,
  { pattern, zone_id: id, zone_name: name }: Exclude<Route, string>,
): Promise<readonly { readonly pattern: string; readonly script?: string }[] | null> {
  const host =
    name ??
    pattern
      .replace(/^[a-z*]+:\/\//, "")
      .replace(/\/.*$/, "")
      .replace(/^\*\.?/, "");
  let zone = id;
  for (let rest = host.split("."); zone === undefined && rest.length > 1; rest = rest.slice(1)) {
    const zones = await api.list<{ readonly id: string }>("/zones", { name: rest.join("."), "account.id": account });
    zone = zones[0]?.id;
  }
  return zone === undefined ? null : api.list(`/zones/${zone}/workers/routes`);
}

/** Null: the credentials may not see it. */
async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CloudflareError && [400, 401, 403].includes(error.status)) return null;
    throw error;
  }
}
