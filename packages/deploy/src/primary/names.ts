/**
 * How the parts of a deployment's primary are called in an AWS account. Everything starts with the application and the
 * environment, so two environments share nothing, and the roles can be limited to what is theirs by name.
 */
import { createHash } from "node:crypto";
import type { NodeName } from "@radical/protocol";

/** Which deployment of which application. */
export interface DeploymentName {
  /** As in radical.config.ts. */
  readonly application: string;
  /** `--env`: own tables, secrets, machines. */
  readonly environment: string;
}

/** No dashes: the last one of a name parts the application from its environment, so no two deployments share a name. */
export const ENVIRONMENT_NAME = /^[a-z][a-z0-9]{0,31}$/;

/** In this environment a slip must not delete what the application has stored, and somebody must hear alarms. */
export const PROTECTED_ENVIRONMENT = "production";

/** The port of the LVI server on its machine, on the loopback interface, where only the tunnel reaches it. */
export const SERVER_PORT = 8788;
export const SERVER_HOST = "127.0.0.1";

export interface PrimaryNames {
  readonly stack: string;
  /** All tables: `<prefix>-items`, …; the server's `--storage dynamodb:<prefix>`. */
  readonly tablePrefix: string;
  /** Of the servers' own logs: each line is JSON. */
  readonly logGroup: string;
  /** Of images, for machines on Fargate. */
  readonly repository: string;
  /** Of the other programs of their machines. */
  readonly machineLogGroup: string;
  /** Namespace of the metrics. */
  readonly metrics: string;
  readonly parameters: {
    /** SecureString: the file of keys of the server: `<id>:<hex>,…`, the one that locations sign with first, and public halves. */
    readonly keys: string;
    /** SecureString: private halves of the administration keys, the one that commands sign with first. The machines can't read it. */
    readonly administration: string;
    /** SecureString: what `cloudflared` runs its tunnel with, by node. */
    readonly tunnelTokens: Readonly<Record<NodeName, string>>;
    /** What all of them start with that machines read. */
    readonly prefix: string;
  };
  /** Names of the Cloudflare Tunnels and of the Workers VPC services, by node: nothing of AWS, but named alike. */
  readonly tunnels: Readonly<Record<NodeName, string>>;
}

/** `tables`: the prefix of tables that were restored; left out or null: those that the first deployment has made. */
export function primaryNames({
  application,
  environment,
  tables = null,
}: DeploymentName & { readonly tables?: string | null }): PrimaryNames {
  const path = `/radical/${application}/${environment}`;
  const name = `radical-${application}-${environment}`;
  const byNode = (of: (node: NodeName) => string): Readonly<Record<NodeName, string>> => ({ a: of("a"), b: of("b") });
  return {
    stack: name,
    tablePrefix: tables ?? name,
    logGroup: path,
    repository: name,
    machineLogGroup: `${path}/machines`,
    metrics: `Radical/${application}/${environment}`,
    parameters: {
      keys: `${path}/keys`,
      administration: `/radical-administration/${application}/${environment}`,
      tunnelTokens: byNode((node) => `${path}/nodes/${node}/tunnel-token`),
      prefix: path,
    },
    tunnels: byNode((node) => `${name}-${node}`),
  };
}

/** Of all that CloudFormation makes for the deployment. `tags`: the developer's own. */
export function stackTags({
  tags,
  ...name
}: DeploymentName & { readonly tags: Readonly<Record<string, string>> }): Readonly<Record<string, string>> {
  return { "radical:deployment": primaryNames(name).stack, ...tags };
}

/**
 * Names of buckets are the world's, and have 63 characters at most. `account` and `region` may be placeholders of
 * CloudFormation.
 */
export function bucketName({ application, environment }: DeploymentName, account: string, region: string): string {
  const digest = createHash("sha256").update(`${application}/${environment}`).digest("hex").slice(0, 8);
  return `radical-${application.slice(0, 10).replace(/-+$/, "")}-${digest}-${account}-${region}`;
}

/** The binding in the Worker's environment by which a location reaches this node. */
export function bindingOf(node: NodeName): string {
  return `RADICAL_PRIMARY_${node.toUpperCase()}`;
}

/** What the server of this node says of itself in the leadership: no address that could be asked, but a name for who leads. */
export function advertisedBy(node: NodeName): string {
  return `http://${node}.primary.internal:${SERVER_PORT}`;
}
