/**
 * A primary in the developer's AWS account: two machines without an open port, each with a Cloudflare Tunnel of its own. Workers reach
 * them by Workers VPC services; this machine reaches the one that leads through a relay, a Worker with the same
 * services.
 *
 *   tunnels → services → primary (machines, tables, secrets) → relay → one of the machines leads
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ModuleHash, NODES, type NodeName } from "@radical/protocol";
import { bundleOwnWorker, type Target } from "@radical/app";
import { COMPATIBILITY_DATE } from "@radical/app/workers";
import { CommandError } from "@radical/app/command-error";
import { type DeploymentKey, type AdminAddress, hasModule, PrimaryError } from "@radical/admin";
import type { CloudflareApi } from "./edge/cloudflare-api.ts";
import type { Account } from "./edge/credentials.ts";
import { deployFolder, sha256 } from "./edge/worker-files.ts";
import { workerVersions } from "./edge/worker-versions.ts";
import type { Wrangler } from "./edge/wrangler.ts";
import type { PrimaryHalf } from "./primary-half.ts";
import { SERVER_HOST, SERVER_PORT, bindingOf, primaryNames } from "./primary/names.ts";
import {
  KEYS_READ_WITHIN_MS,
  type NodeTunnel,
  type PrimaryAccess,
  type PrimaryDeployment,
  type PrimaryPlan,
  type PrimaryState,
  operatingKey,
  signingKey,
} from "./primary/primary-deployment.ts";
import { refuseExceeded, unaskedNote } from "./quotas.ts";
import type { Change, Half, Step } from "./steps.ts";

export interface AwsHalfContext {
  /** Folder of the application. */
  readonly project: string;
  readonly target: Target;
  readonly deployment: PrimaryDeployment;
  readonly access: PrimaryAccess;
  /** `edge`: the primary stays as it is, even if it would be changed. */
  readonly only: Half | null;
  readonly api: CloudflareApi;
  readonly account: Account;
  readonly wrangler: Wrangler;
  /** Origin at which a Worker is reached; null: the account has no name under workers.dev. */
  readonly originOf: (worker: string) => Promise<string | null>;
  readonly wait: (ms: number) => Promise<void>;
  /** `Date.now()`. */
  readonly nowMs: number;
  /** Told what happens at AWS while it takes its time. */
  readonly note: (words: string) => void;
}

interface Tunnel {
  readonly id: string;
  readonly name: string;
}

interface Service {
  readonly service_id: string;
  readonly name: string;
  readonly http_port?: number;
  readonly host?: { readonly ipv4?: string; readonly network?: { readonly tunnel_id?: string } };
}

type ByNode<T> = Record<NodeName, T>;

/** Each minute the relay asks both servers. */
const PROBE_CRON = "* * * * *";
/** Among the modules of this package. */
const RELAY = new URL("edge/relay.worker", import.meta.url);
const LEADS_ATTEMPTS = 60;
const LEADS_WAIT_MS = 3_000;
/** Of no module: whoever answers that it is not there leads. */
const NO_MODULE = "0".repeat(64) as ModuleHash;
const STILL_SERVES = "The version that served before goes on serving.";

export function awsHalf(context: AwsHalfContext): PrimaryHalf {
  const { target, deployment, access, api, account, wrangler } = context;
  const names = primaryNames(target);
  const accountPath = `/accounts/${account.id}`;
  const tunnels: ByNode<Tunnel | null> = { a: null, b: null };
  const services: ByNode<string | null> = { a: null, b: null };
  let plan: PrimaryPlan | null = null;
  let state: PrimaryState | null = null;
  let relay: string | null = null;
  /** Whether the primary answers as it is: nothing of it is to be changed, or has been. */
  let isReady = false;

  const tunnelsStep: Step = {
    name: "tunnels",
    title: "Cloudflare Tunnels to the machines",
    half: "primary",
    ifFailed: STILL_SERVES,
    plan: async () => {
      for (const node of NODES) {
        const found = await api.list<Tunnel>(`${accountPath}/cfd_tunnel`, {
          name: names.tunnels[node],
          is_deleted: "false",
        });
        tunnels[node] = found.find(({ name }) => name === names.tunnels[node]) ?? null;
      }
      return NODES.filter((node) => tunnels[node] === null).map((node) => make(`tunnel ${names.tunnels[node]}`));
    },
    apply: async () => {
      for (const node of NODES) {
        if (tunnels[node] !== null) continue;
        tunnels[node] = await api.post<Tunnel>(`${accountPath}/cfd_tunnel`, {
          name: names.tunnels[node],
          config_src: "cloudflare",
        });
      }
      return undefined;
    },
  };

  const servicesStep: Step = {
    name: "services",
    title: "Workers VPC services of the machines",
    half: "primary",
    ifFailed: STILL_SERVES,
    plan: async () => {
      const found = await api.list<Service>(`${accountPath}/connectivity/directory/services`);
      return NODES.flatMap((node): readonly Change[] => {
        const name = names.tunnels[node];
        const service = found.find((one) => one.name === name);
        services[node] = service?.service_id ?? null;
        if (service === undefined) return [make(`VPC service ${name}`)];
        const leads = service.host?.network?.tunnel_id === tunnels[node]?.id && service.http_port === SERVER_PORT;
        return leads ? [] : [{ kind: "repair", what: `VPC service ${name}`, detail: "it leads to another tunnel" }];
      });
    },
    apply: async (changes) => {
      for (const node of NODES) {
        const name = names.tunnels[node];
        if (!changes.some(({ what }) => what.endsWith(` ${name}`))) continue;
        const host = { ipv4: SERVER_HOST, network: { tunnel_id: known(tunnels[node]).id } };
        const body = { type: "http", name, host, http_port: SERVER_PORT };
        const path = `${accountPath}/connectivity/directory/services`;
        const id = services[node];
        if (id === null) services[node] = (await api.post<Service>(path, body)).service_id;
        else await api.put(`${path}/${id}`, body);
      }
      return undefined;
    },
  };

  /** Whether the machine has the token of the tunnel that is there. */
  const isStored = (node: NodeName, stored: Readonly<ByNode<string | null>>): boolean =>
    stored[node] !== null && stored[node] === tunnels[node]?.id;

  const checkQuotas = async (planned: PrimaryPlan): Promise<void> => {
    const look = await deployment.quotas(planned);
    const note = unaskedNote(look);
    if (note !== null) context.note(note);
    refuseExceeded(look.uses);
  };

  const primaryStep: Step = {
    name: "primary",
    title: "Machines, tables and secrets at AWS",
    half: "primary",
    ifFailed: `${STILL_SERVES} Machines that serve are replaced one after the other, and a change that is under way goes on at AWS. AWS rolls back one that fails.`,
    plan: async () => {
      plan = await deployment.plan();
      state = await deployment.state();
      const isThere = state !== null && NODES.every((node) => tunnels[node] !== null && services[node] !== null);
      if (context.only === "edge" && !isThere)
        throw new CommandError("no_primary", "This environment has no primary yet.", "Leave out --only edge.");
      // A run that was broken off may have made a tunnel anew and not told the machine.
      const stored = await deployment.storedTunnels();
      const outdated = NODES.filter(
        (node) => stored[node] !== null && tunnels[node] !== null && !isStored(node, stored),
      );
      const changes = [
        ...plan.changes,
        ...outdated.map((node): Change => {
          const what = `secret ${names.parameters.tunnelTokens[node]}`;
          return { kind: "repair", what, detail: "it is of a tunnel that is gone" };
        }),
      ];
      isReady = isThere && (changes.length === 0 || context.only === "edge");
      if (context.only !== "edge") await checkQuotas(plan);
      return changes;
    },
    apply: async () => {
      const stored = await deployment.storedTunnels();
      const given: ByNode<NodeTunnel | null> = { a: null, b: null };
      for (const node of NODES) {
        if (isStored(node, stored)) continue;
        const { id } = known(tunnels[node]);
        given[node] = { id, token: await api.get<string>(`${accountPath}/cfd_tunnel/${id}/token`) };
      }
      const isUnchanged = known(plan).changes.length === 0 && NODES.every((node) => given[node] === null);
      state =
        (isUnchanged ? await deployment.state() : null) ??
        (await deployment.apply(known(plan), given, (event) => {
          if (event.kind === "step" || event.kind === "note") context.note(event.words);
          if (event.kind === "resource")
            context.note(`${event.what}: ${event.status}${event.reason === null ? "" : `, ${event.reason}`}`);
        }));
      return `${access.region}, ${state.stack}`;
    },
  };

  const versions = workerVersions(api, account.id, target.relay);
  const relayFiles = async (): Promise<{
    readonly config: object;
    readonly code: string;
    readonly message: string;
  }> => {
    const code = await bundleOwnWorker(RELAY);
    const config = {
      name: target.relay,
      main: "relay.js",
      compatibility_date: COMPATIBILITY_DATE,
      workers_dev: true,
      preview_urls: false,
      triggers: { crons: [PROBE_CRON] },
      observability: { enabled: true },
      vpc_services: NODES.map((node) => ({ binding: bindingOf(node), service_id: services[node] })),
    };
    return { config, code, message: relayMessage(config, code) };
  };
  /** An upload that was broken off may have left it without its name. */
  const isRelayThere = async (message: string): Promise<boolean> => {
    if ((await versions.serving())?.message !== message) return false;
    const named = await api.get<{ readonly enabled: boolean }>(
      `${accountPath}/workers/scripts/${target.relay}/subdomain`,
    );
    return named.enabled;
  };

  const relayStep: Step = {
    name: "relay",
    title: "Relay to the primary",
    half: "primary",
    ifFailed: STILL_SERVES,
    plan: async () => {
      relay = await context.originOf(target.relay);
      if (relay === null) {
        throw new CommandError(
          "no_workers_dev",
          "The account has no workers.dev name yet, which the relay to the primary needs.",
          `Choose one at https://dash.cloudflare.com/${account.id}/workers/onboarding.`,
        );
      }
      const isThere =
        NODES.every((node) => services[node] !== null) && (await isRelayThere((await relayFiles()).message));
      isReady &&= isThere;
      return isThere ? [] : [make(`Worker ${target.relay}`, "forwards signed administrative requests")];
    },
    apply: async (changes) => {
      if (changes.length > 0) {
        const { config, code, message } = await relayFiles();
        const folder = join(deployFolder(context.project, target), "relay");
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, "relay.js"), code);
        const path = join(folder, "wrangler.json");
        await writeFile(path, `${JSON.stringify(config, null, 2)}\n`);
        await wrangler.run(["deploy", "--config", path, "--message", message]);
      }
      return known(relay);
    },
  };

  const leadsStep: Step = {
    name: "leader",
    title: "One of the machines leads",
    half: "primary",
    ifFailed: `${STILL_SERVES} The machines are there; their logs say why none of them leads.`,
    plan: () => Promise.resolve([]),
    apply: async () => {
      isReady = true;
      for (let attempt = 1; ; attempt++) {
        try {
          await hasModule(known(admin()), NO_MODULE);
          return undefined;
        } catch (error) {
          if (attempt === LEADS_ATTEMPTS || !mayLeadSoon(error, attempt)) throw error;
          await context.wait(LEADS_WAIT_MS);
        }
      }
    },
  };

  const key = (): DeploymentKey | null => (state === null ? null : signingKey(state, context.nowMs));
  const admin = (): AdminAddress | null => {
    const signing = state === null ? null : operatingKey(state, context.nowMs);
    return isReady && relay !== null && signing !== null
      ? { urls: [relay], key: signing, deployment: target.name }
      : null;
  };

  return {
    steps: [tunnelsStep, servicesStep, primaryStep, relayStep, leadsStep],
    description: awsDescription(access, names.tablePrefix),
    way: () => ({ kind: "vpc", services: Object.fromEntries(NODES.map((node) => [bindingOf(node), services[node]])) }),
    key,
    admin,
    servers: () => {
      const address = admin();
      if (address === null) return [];
      const { urls, ...of } = address;
      return NODES.map((node) => ({ url: urls[0]!, ...of, node }));
    },
  };
}

/** Account and region of a primary that {@link awsDescription} describes; null: it describes another one. */
export function awsPlaceOf(description: string): Pick<PrimaryAccess, "account" | "region"> | null {
  const [, account, region] = /^aws (\S+) (\S+) \S+$/.exec(description) ?? [];
  return account === undefined || region === undefined ? null : { account, region };
}

/** Two primaries at AWS are the same one if they have the same tables. */
export function awsDescription({ account, region }: Pick<PrimaryAccess, "account" | "region">, tables: string): string {
  return `aws ${account} ${region} ${tables}`;
}

/** A key that was stored a moment ago is refused until the machines have read it; after that it is refused for good. */
function mayLeadSoon(error: unknown, attempt: number): boolean {
  if (!(error instanceof PrimaryError)) return false;
  return error.failure !== "primary_refused_key" || attempt * LEADS_WAIT_MS < KEYS_READ_WITHIN_MS;
}

function known<T>(value: T | null): T {
  if (value === null) throw new Error("a step has not made what this one needs");
  return value;
}

/** The message of the relay's version, by which a later deployment knows it. */
function relayMessage(config: object, code: string): string {
  return `relay ${sha256(JSON.stringify([config, code])).slice(0, 32)}`;
}

function make(what: string, detail = ""): Change {
  return { kind: "make", what, detail };
}
