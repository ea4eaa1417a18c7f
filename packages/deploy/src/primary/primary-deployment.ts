/**
 * The primary half of a deployment, as the command `radical deploy` sees it: what is to be changed, changing it, and what
 * the edge half must know of it. `aws-primary.ts` implements it; an application with `--primary URL` needs none of it.
 *
 *   checkAccess → plan → apply → (edge half) → later: plan → …, addKey → (edge signs with it) → dropOldKeys, destroy
 *
 * No call leaves the old deployment broken: what fails, fails before the serving machines are touched, or is rolled back. All
 * can be called again after a failure and go on from what is there. Errors are CommandErrors that say what to do.
 * Secrets are in `PrimaryState.keys` and in the parameters of the account, nowhere else: not in plans, progress, templates,
 * files or errors.
 */
import { DEFAULT_READ_LEASE_MS, type NodeName } from "@radical/protocol";
import type { AdministrationKey, DeploymentKey } from "@radical/admin";
import type { QuotaLook } from "../quotas.ts";
import type { DeploymentName } from "./names.ts";

export type PrimaryHost = "fargate" | "ec2";

export interface PrimarySettings extends DeploymentName {
  /** Where the machines and the tables are; null: as the AWS SDK finds it (AWS_REGION, the profile). */
  readonly region: string | null;
  /** The kind of the two machines: tasks of Fargate, or instances of EC2. */
  readonly host: PrimaryHost;
  /** Of a machine of EC2: an ARM type. */
  readonly instanceType: string;
  /** Of a machine on Fargate. */
  readonly vcpu: number;
  /** Of a machine on Fargate. */
  readonly memoryGb: number;
  /** Two availability zones; null: the first two of the region. */
  readonly zones: readonly [string, string] | null;
  /** The mail address, and the topic of SNS, that are told of alarms. Both null: alarms are only in the console. */
  readonly alarmEmail: string | null;
  readonly alarmTopic: string | null;
  /** Beside the tag that names the deployment. */
  readonly tags: Readonly<Record<string, string>>;
  /** ARN of the policy that bounds what the roles may; null: none does. */
  readonly permissionsBoundary: string | null;
  /** Lets those who may in the account open a shell: by SSM Session Manager, or by ECS Exec. */
  readonly shellAccess: boolean;
  /** How long its read leases last; 0: it grants none. */
  readonly readLeaseMs: number;
  /** Variables of the server's environment, for options that are not the server's defaults. */
  readonly server: Readonly<Record<string, string>>;
  /** Prefix of the tables, if they were restored; null: those that the first deployment makes. */
  readonly tables: string | null;
}

export const DEFAULT_PRIMARY_SETTINGS = {
  region: null,
  host: "fargate",
  instanceType: "t4g.small",
  vcpu: 0.5,
  memoryGb: 1,
  zones: null,
  alarmEmail: null,
  alarmTopic: null,
  tags: {},
  permissionsBoundary: null,
  shellAccess: false,
  readLeaseMs: DEFAULT_READ_LEASE_MS,
  server: {},
  tables: null,
} as const satisfies Omit<PrimarySettings, keyof DeploymentName>;

/** Who is asking, as AWS sees it. */
export interface PrimaryAccess {
  readonly account: string;
  readonly region: string;
  /** ARN of the user or role. */
  readonly identity: string;
  /** How far this machine's clock is from that of AWS, in milliseconds; signatures are refused beyond five minutes. */
  readonly clockSkewMs: number;
}

/** Null `name`: the whole of something without one. */
export interface PlannedChange {
  readonly kind: "make" | "change" | "replace" | "remove" | "repair";
  /** In the developer's words: "table radical-shop-production-items", "machine a". */
  readonly what: string;
  /** Why, and what it means for requests under way; empty if it is plain. */
  readonly detail: string;
}

export interface PrimaryPlan {
  readonly access: PrimaryAccess;
  /** SHA-256 of the server's artefact that will run. */
  readonly artefact: string;
  /** Empty: nothing to do. */
  readonly changes: readonly PlannedChange[];
  /** The CloudFormation template that would be deployed: what `--emit-template` prints. */
  readonly template: object;
  /** Machine that leads at this time, if it is known: it is replaced last. */
  readonly leader: NodeName | null;
}

/** A Cloudflare Tunnel, made by the caller: `wrangler tunnel create`, named `primaryNames(…).tunnels[node]`. */
export interface NodeTunnel {
  readonly id: string;
  /** Secret. What `cloudflared tunnel run --token` takes. */
  readonly token: string;
}

export type PrimaryStep =
  | "bucket"
  | "artefact"
  | "cloudflared"
  | "repository"
  | "images"
  | "tables"
  | "parameters"
  | "stack";

/** What happens while a plan is applied, for the lines on the terminal. */
export type PrimaryProgress =
  | { readonly kind: "step"; readonly step: PrimaryStep; readonly words: string }
  | { readonly kind: "step-done"; readonly step: PrimaryStep; readonly tookMs: number; readonly changed: boolean }
  /** Something that takes its time has begun within a step. */
  | { readonly kind: "note"; readonly words: string }
  /** Something that CloudFormation says of a resource. */
  | { readonly kind: "resource"; readonly what: string; readonly status: string; readonly reason: string | null };

/** What the edge half needs. */
export interface PrimaryState {
  readonly access: Pick<PrimaryAccess, "account" | "region">;
  readonly nodes: readonly PrimaryNode[];
  /** Secret. Those that the server takes; locations sign with the first. More than one: a rotation is under way. */
  readonly keys: readonly DeploymentKey[];
  /** Secret. Those whose public halves the server takes; commands sign with the first. More than one: a rotation of them is under way. */
  readonly administration: readonly AdministrationKey[];
  /** From then on (`Date.now()`) every machine takes all of both: nobody must sign with a fresh one before. */
  readonly keysReadAtMs: number;
  /** SHA-256 of the server's artefact that the machines run. */
  readonly artefact: string;
  readonly tablePrefix: string;
  /** In CloudWatch Logs: streams `<node>/<instance>`, one line of JSON each event. */
  readonly logGroup: string;
  readonly stack: string;
}

/** A machine, and the Workers VPC service that leads to it: `wrangler vpc service create --type http …`. */
export interface PrimaryNode {
  readonly name: NodeName;
  /** Name of the binding in the Worker. */
  readonly binding: string;
  /** Of the tunnel and of the VPC service. */
  readonly tunnelName: string;
  /** `--ipv4` and `--http-port` of the VPC service: the server as the tunnel's end on the machine sees it. */
  readonly host: string;
  readonly port: number;
}

/** What locations may sign with at a time: the first key, or the one behind it as long as a machine may not have read that. */
export function signingKey({ keys, keysReadAtMs }: PrimaryState, nowMs: number): DeploymentKey | null {
  return (nowMs < keysReadAtMs ? keys.at(-1) : keys[0]) ?? null;
}

/** The key that commands may sign with at a time, by the same rule as `signingKey`. */
export function operatingKey({ administration, keysReadAtMs }: PrimaryState, nowMs: number): AdministrationKey | null {
  return (nowMs < keysReadAtMs ? administration.at(-1) : administration[0]) ?? null;
}

/** Locations sign with the one, and operators' commands with the other. */
export type KeyKind = "location" | "administration";

/** What `destroy` would remove, and what it would leave. */
export interface Removal {
  readonly removes: readonly PlannedChange[];
  readonly stays: readonly string[];
}

export interface PrimaryDeployment {
  /** Credentials and region. Calls nothing that costs or changes. */
  checkAccess(): Promise<PrimaryAccess>;
  /** Compares what is there with what shall be. Leaves nothing behind. */
  plan(): Promise<PrimaryPlan>;
  /** What the account has left of what the plan uses up, as far as it may be asked. Changes nothing. */
  quotas(plan: PrimaryPlan): Promise<QuotaLook>;
  /**
   * Makes it so and waits until both machines run it. `tunnels`: null where the token that is stored stays.
   * A plan that has become outdated is refused, `plan_outdated`, before anything was changed.
   */
  apply(
    plan: PrimaryPlan,
    tunnels: Readonly<Record<NodeName, NodeTunnel | null>>,
    progress: (event: PrimaryProgress) => void,
  ): Promise<PrimaryState>;
  /** What is deployed; null: nothing. */
  state(): Promise<PrimaryState | null>;
  /**
   * What is gone or was altered of that, in the version that is deployed: `plan` would mend it. Changes nothing, and makes no
   * change set. Throws a CommandError if the stack is in a state in which nothing can be changed.
   */
  drift(deployed: PrimaryState): Promise<readonly PlannedChange[]>;
  /** Ids of the tunnels whose tokens are stored; null: none that can be read, so that `apply` needs one. */
  storedTunnels(): Promise<Readonly<Record<NodeName, string | null>>>;
  /**
   * First half of a rotation: a fresh key, which the machines take beside the old one by `keysReadAtMs`. Called again
   * before the second half it gives the same.
   */
  addKey(kind: KeyKind): Promise<PrimaryState>;
  /** Second half, when nobody signs with the old ones any more. */
  dropOldKeys(kind: KeyKind): Promise<PrimaryState>;
  /**
   * What there is to be removed: also what a removal that was broken off has left. Tables that restored ones have replaced stay, and so do
   * restored ones that are not in use. Changes nothing.
   */
  planDestroy(options: { readonly keepTables: boolean }): Promise<Removal>;
  /** Removes everything, in the order in which nothing is left that costs. Tables, and what is in them, only if told. */
  destroy(options: { readonly keepTables: boolean }, progress: (event: PrimaryProgress) => void): Promise<void>;
  /** Ends its connections. */
  close(): void;
}

/** The machines look for keys this often, and then some. */
export const KEYS_READ_WITHIN_MS = 90_000;
