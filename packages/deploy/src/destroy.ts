/**
 * Removes a deployment, in the order in which nothing is left that answers without what is behind it, and nothing that costs:
 *
 *   Worker → nothing is left pending → machines and secrets at AWS → relay → VPC services → tunnels → KV namespace
 *
 * Tables stay unless told. As in a deployment, each step looks at what is there: a removal that was broken off is continued by
 * running it again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type Aws, type PrimaryChoice, awsAddresses, awsOf, workersDevOrigin } from "./deploy.ts";
import { awsDescription } from "./aws-half.ts";
import type { OpenEdge } from "./edge/open-edge.ts";
import { workerVersions } from "./edge/worker-versions.ts";
import { PrimaryError } from "@radical/admin";
import { ownOrigins } from "./own-primary.ts";
import { checkNothingPending } from "./pending-intents.ts";
import { NODES } from "@radical/protocol";
import { primaryNames } from "./primary/names.ts";
import { type PlannedStep, type Step, planSteps } from "./steps.ts";
import type { Target } from "@radical/app";

export interface DestroyOptions extends Omit<PrimaryChoice, "url"> {
  readonly edge: OpenEdge;
  /** Whether the tables go too, with everything that they hold. */
  readonly tables: boolean;
  /** Whether intents may be pending at the primary that is removed. */
  readonly strandPending: boolean;
  readonly wait?: (ms: number) => Promise<void>;
  /** Told what happens at AWS while it takes its time. */
  readonly note: (words: string) => void;
}

export interface PlannedRemoval {
  readonly planned: readonly PlannedStep[];
  /** What is there and will not be removed, in words. */
  readonly stays: readonly string[];
  /** Ends the connections to AWS. */
  readonly close: () => void;
}

interface Found {
  readonly id: string;
  readonly what: string;
}

const APPLIED_ATTEMPTS = 60;
const APPLIED_WAIT_MS = 1_000;
const AGAIN = "What is left is found by running the same command again.";

/** What a removal would do. Throws a CommandError if it can't be done. */
export async function planDestroy(options: DestroyOptions): Promise<PlannedRemoval> {
  const { project } = options;
  const urls = options.primary ?? project.config.deploy.primary;
  if (urls !== null) {
    const origins = ownOrigins(urls);
    const stays = [`the LVI server at ${origins.join(", ")}, with its storage`];
    return { ...(await planned(options, null, origins.join(","), stays)), close: () => undefined };
  }
  const aws = await awsOf(options);
  try {
    const description = awsDescription(aws.access, primaryNames(options.target).tablePrefix);
    return { ...(await planned(options, aws, description, [])), close: () => aws.deployment.close() };
  } catch (error) {
    aws.deployment.close();
    throw error;
  }
}

async function planned(
  options: DestroyOptions,
  aws: Aws | null,
  description: string,
  stays: string[],
): Promise<Omit<PlannedRemoval, "close">> {
  const worker = workerStep(options.edge, description, stays);
  const { relay, services, tunnels, cache } = cloudflareSteps(options.edge, options.target);
  const steps =
    aws === null
      ? [worker, cache]
      : [worker, ...awsSteps(options, aws, description, stays), relay, services, tunnels, cache];
  return { planned: await planSteps(steps), stays };
}

/** One that was not made by Radical is left alone. */
function workerStep({ api, account, worker, versions }: OpenEdge, description: string, stays: string[]): Step {
  return {
    name: "worker",
    title: "Worker",
    half: "edge",
    ifFailed: `It may still serve. ${AGAIN}`,
    plan: async () => {
      const live = await versions.serving();
      if (live === null) return [];
      if (live.record === null) {
        stays.push(`Worker ${worker}: it was not made by radical deploy`);
        return [];
      }
      if (live.record.primary !== description) {
        throw new CommandError(
          "other_primary",
          `Worker ${worker} was deployed with another primary (${live.record.primary}) than the one that is looked at (${description})`,
          "Name that one: --primary, or --region and the credentials of its account.",
          { exitCode: EXIT_USAGE },
        );
      }
      for (const { name, bucket_name: bucket } of live.bindings)
        if (name === "RADICAL_BLOBS" && bucket !== undefined)
          stays.push(
            `R2 bucket ${bucket}: it has the bytes of blobs; remove it in the dashboard, under R2, if nobody needs them`,
          );
      const hasObjects = live.bindings.some(
        ({ type, name }) => type === "durable_object_namespace" && !name.startsWith("RADICAL_"),
      );
      const detail = hasObjects
        ? "with its secrets, and its Durable Objects with all that they hold"
        : "with its secrets";
      return [{ kind: "remove", what: `Worker ${worker}`, detail }];
    },
    apply: async (changes) => {
      if (changes.length > 0) await api.remove(`/accounts/${account.id}/workers/scripts/${worker}`);
      return undefined;
    },
  };
}

function awsSteps(options: DestroyOptions, aws: Aws, description: string, stays: string[]): readonly Step[] {
  const { edge, target, tables, strandPending, note } = options;
  const wait = options.wait ?? ((ms: number) => sleep(ms));
  const originOf = options.originOf ?? ((worker: string) => workersDevOrigin(edge.api, edge.account, worker));
  let isDeployed = false;
  const checkPending = async (): Promise<void> => {
    const addresses = async () => awsAddresses(aws.deployment, target, await originOf(target.relay), Date.now());
    await checkNothingPending(description, addresses, "would be removed");
  };
  return [
    {
      name: "intents",
      title: "Nothing is left pending at the primary",
      half: "primary",
      ifFailed: `The Worker is removed; the primary runs, and goes on with what is pending. ${AGAIN}`,
      plan: async () => {
        isDeployed = (await aws.deployment.state()) !== null;
        if (isDeployed && !strandPending) await checkPending();
        return [];
      },
      apply: async () => {
        if (!isDeployed || strandPending) return undefined;
        // Of the last requests before the Worker was gone.
        for (let attempt = 1; ; attempt++) {
          try {
            await checkPending();
            return undefined;
          } catch (error) {
            if (attempt === APPLIED_ATTEMPTS || isRefused(error)) throw error;
            await wait(APPLIED_WAIT_MS);
          }
        }
      },
    },
    {
      name: "primary",
      title: tables ? "Machines, secrets and tables at AWS" : "Machines and secrets at AWS",
      half: "primary",
      ifFailed: `The Worker is removed, so nothing is served. ${AGAIN}`,
      plan: async () => {
        const { removes, stays: left } = await aws.deployment.planDestroy({ keepTables: !tables });
        stays.push(...left);
        return removes;
      },
      apply: async (changes) => {
        if (changes.length === 0) return undefined;
        await aws.deployment.destroy({ keepTables: !tables }, (event) => {
          if (event.kind === "resource")
            note(`${event.what}: ${event.status}${event.reason === null ? "" : `, ${event.reason}`}`);
        });
        return aws.access.region;
      },
    },
  ];
}

/** What no waiting mends: the primary does not take the key. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof CommandError ? error.cause : null;
  return cause instanceof PrimaryError && cause.failure === "primary_refused_key";
}

function cloudflareSteps(
  { api, account }: OpenEdge,
  target: Target,
): Readonly<Record<"relay" | "services" | "tunnels" | "cache", Step>> {
  const accountPath = `/accounts/${account.id}`;
  const directory = `${accountPath}/connectivity/directory/services`;
  const { tunnels } = primaryNames(target);
  const names = NODES.map((node) => tunnels[node]);
  return {
    relay: removal("relay", "Relay to the primary", "primary", {
      find: async () => {
        const live = await workerVersions(api, account.id, target.relay).serving();
        return live === null ? [] : [{ id: target.relay, what: `Worker ${target.relay}` }];
      },
      remove: (id) => api.remove(`${accountPath}/workers/scripts/${id}`),
    }),
    services: removal("services", "Workers VPC services", "primary", {
      find: async () =>
        (await api.list<{ readonly service_id: string; readonly name: string }>(directory)).flatMap(
          ({ service_id: id, name }) => (names.includes(name) ? [{ id, what: `VPC service ${name}` }] : []),
        ),
      remove: (id) => api.remove(`${directory}/${id}`),
    }),
    tunnels: removal("tunnels", "Cloudflare Tunnels", "primary", {
      find: async () => {
        const found: Found[] = [];
        for (const name of names) {
          const query = { name, is_deleted: "false" };
          const listed = await api.list<{ readonly id: string; readonly name: string }>(
            `${accountPath}/cfd_tunnel`,
            query,
          );
          found.push(...listed.flatMap((one) => (one.name === name ? [{ id: one.id, what: `tunnel ${name}` }] : [])));
        }
        return found;
      },
      remove: async (id) => {
        // Cloudflare keeps a tunnel that it believes to be connected.
        await api.remove(`${accountPath}/cfd_tunnel/${id}/connections`);
        await api.remove(`${accountPath}/cfd_tunnel/${id}`);
      },
    }),
    cache: removal("cache", "KV namespace of the caches", "edge", {
      find: async () =>
        (
          await api.list<{ readonly id: string; readonly title: string }>(`${accountPath}/storage/kv/namespaces`)
        ).flatMap(({ id, title }) => (title === target.cacheNamespace ? [{ id, what: `KV namespace ${title}` }] : [])),
      remove: (id) => api.remove(`${accountPath}/storage/kv/namespaces/${id}`),
    }),
  };
}

/** A step that finds things by their names and removes them. */
function removal(
  name: string,
  title: string,
  half: Step["half"],
  { find, remove }: { readonly find: () => Promise<readonly Found[]>; readonly remove: (id: string) => Promise<void> },
): Step {
  let found: readonly Found[] = [];
  return {
    name,
    title,
    half,
    ifFailed: `The Worker is removed, so nothing is served. ${AGAIN}`,
    plan: async () => {
      found = await find();
      return found.map(({ what }) => ({ kind: "remove", what, detail: "" }));
    },
    apply: async () => {
      for (const { id } of found) await remove(id);
      return undefined;
    },
  };
}
