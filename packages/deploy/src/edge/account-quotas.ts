/** What the Cloudflare account has left of what a plan makes. Its API names no limits: they are those that Cloudflare documents. */
import { messageOf } from "@radical/app/command-error";
import type { QuotaLook, QuotaUse } from "../quotas.ts";
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

/** With hints for what only the paid plan takes. */
export interface AccountLook extends QuotaLook {
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
  const looks = await Promise.all(
    KINDS.map(async (kind): Promise<{ readonly kind: Kind; readonly use: QuotaUse | string } | null> => {
      const adds = all.filter((what) => what.startsWith(kind.prefix)).length;
      if (adds === 0) return null;
      try {
        const { length: used } = await api.list(`/accounts/${account}${kind.path}`, kind.query);
        const { what, paid: limit } = kind;
        return { kind, use: { what: `${what} at Cloudflare`, used, adds, limit, fix: FIX } };
      } catch (error) {
        const reason = error instanceof CloudflareError ? `status ${error.status}` : messageOf(error);
        return { kind, use: `${kind.what} at Cloudflare (${reason})` };
      }
    }),
  );
  const found = looks.filter((look) => look !== null);
  return {
    uses: found.map(({ use }) => use).filter((use) => typeof use !== "string"),
    unasked: found.map(({ use }) => use).filter((use) => typeof use === "string"),
    hints: found.flatMap(({ kind, use }) =>
      typeof use === "string" || kind.free === null || use.used + use.adds <= kind.free
        ? []
        : [`there will be ${use.used + use.adds} ${kind.what}: Cloudflare takes that with the paid plan only`],
    ),
  };
}

const FIX = "remove what is not needed at https://dash.cloudflare.com, or ask Cloudflare for more";
