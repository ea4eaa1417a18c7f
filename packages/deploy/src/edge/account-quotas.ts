/**
 * What the Cloudflare account has left of what a plan makes. Its API names no limits, and an account may have more than the pages of
 * November 2026 say, if its owner has asked for it. So what exceeds them is a hint, and Cloudflare itself refuses.
 */
import { messageOf } from "@radical/app/command-error";
import type { QuotaLook } from "../quotas.ts";
import type { Change } from "../steps.ts";
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";

interface Kind {
  /** What such a change is of begins with it. */
  readonly prefix: string;
  readonly what: string;
  /** Below the account. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Null: the same without the paid plan. */
  readonly free: number | null;
  readonly paid: number;
}

/** How many an account may have, with the paid plan. */
const PAID = { workers: 500, classes: 500, namespaces: 1_000, tunnels: 1_000, services: 1_000 };
/** Without it, where that is less. */
const FREE = { workers: 100, classes: 100 };

const WORKERS: Kind = {
  prefix: "Worker ",
  what: "Workers",
  path: "/workers/scripts",
  free: FREE.workers,
  paid: PAID.workers,
};
const CLASSES: Kind = {
  prefix: "class ",
  what: "Durable Object classes",
  path: "/workers/durable_objects/namespaces",
  free: FREE.classes,
  paid: PAID.classes,
};
const KV_NAMESPACES: Kind = {
  prefix: "KV namespace ",
  what: "KV namespaces",
  path: "/storage/kv/namespaces",
  free: null,
  paid: PAID.namespaces,
};
const TUNNELS: Kind = {
  prefix: "tunnel ",
  what: "tunnels",
  path: "/cfd_tunnel",
  query: { is_deleted: "false" },
  free: null,
  paid: PAID.tunnels,
};
const VPC_SERVICES: Kind = {
  prefix: "VPC service ",
  what: "VPC services",
  path: "/connectivity/directory/services",
  free: null,
  paid: PAID.services,
};
const KINDS = [WORKERS, CLASSES, KV_NAMESPACES, TUNNELS, VPC_SERVICES];

export interface AccountLook extends Pick<QuotaLook, "unasked"> {
  readonly hints: readonly string[];
}

/** `classes`: Durable Object classes that come with it. Asks only about what is made. */
export async function lookAtAccount(
  api: Pick<CloudflareApi, "list">,
  account: string,
  changes: readonly Change[],
  classes: readonly string[],
): Promise<AccountLook> {
  const made = changes.filter(({ kind }) => kind === "make").map(({ what }) => what);
  const all = [...made, ...classes.map((name) => `${CLASSES.prefix}${name}`)];
  const [hints, unasked]: [string[], string[]] = [[], []];
  await Promise.all(
    KINDS.map(async (kind) => {
      const adds = all.filter((what) => what.startsWith(kind.prefix)).length;
      if (adds === 0) return;
      try {
        const { length: used } = await api.list(`/accounts/${account}${kind.path}`, kind.query);
        const hint = hintOf(kind, used + adds);
        if (hint !== null) hints.push(hint);
      } catch (error) {
        const reason = error instanceof CloudflareError ? `status ${error.status}` : messageOf(error);
        unasked.push(`${kind.what} at Cloudflare (${reason})`);
      }
    }),
  );
  return { hints, unasked };
}

function hintOf({ what, free, paid }: Kind, count: number): string | null {
  if (count > paid)
    return `there will be ${count} ${what}, and by Cloudflare's pages of November 2026 it takes ${paid}: if it refuses, remove what is not needed at https://dash.cloudflare.com, or ask Cloudflare for more`;
  if (free === null || count <= free) return null;
  return `there will be ${count} ${what}: Cloudflare takes that with the paid plan only`;
}
