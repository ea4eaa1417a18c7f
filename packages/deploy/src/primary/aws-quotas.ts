/**
 * What the AWS account has left of what a first deployment, or larger machines, use up. CloudFormation would find out as well, but
 * minutes later, and take everything back. A deployment needs none of the permissions that these questions need.
 */
import { messageOf } from "@radical/app/command-error";
import type { QuotaLook, QuotaUse } from "../quotas.ts";
import { AwsRefusal, type AwsQuestions } from "./aws-questions.ts";
import type { PlannedChange, PrimaryHost } from "./primary-deployment.ts";

export interface AwsNeeds {
  readonly region: string;
  readonly host: PrimaryHost;
  readonly instanceType: string;
  /** Of a machine on Fargate. */
  readonly vcpu: number;
  /** Name of the cluster of machines on Fargate, which do not count twice when they are replaced. */
  readonly cluster: string;
  /** Names of the machines, which do not count twice when they are replaced. */
  readonly machines: readonly string[];
  readonly changes: readonly PlannedChange[];
  /** How many stacks there are. */
  readonly stacks: () => Promise<number>;
}

/** One quota: what of it is used, and how much there may be. */
interface Question {
  readonly what: string;
  readonly adds: number | (() => Promise<number>);
  readonly used: () => Promise<number>;
  readonly limit: () => Promise<number>;
}

/** Services and codes of Service Quotas. */
const NETWORKS = { ServiceCode: "vpc", QuotaCode: "L-F678F1CE" };
const GATEWAYS = { ServiceCode: "vpc", QuotaCode: "L-A4707A72" };
const ENDPOINTS = { ServiceCode: "vpc", QuotaCode: "L-1B52E74A" };
const STANDARD_VCPUS = { ServiceCode: "ec2", QuotaCode: "L-1216C47A" };
const FARGATE_VCPUS = { ServiceCode: "fargate", QuotaCode: "L-3032A538" };
const TABLES = { ServiceCode: "dynamodb", QuotaCode: "L-F98FE922" };
const STACKS = { ServiceCode: "cloudformation", QuotaCode: "L-0485CB21" };

/** Types whose vCPUs have one quota together: A, C, D, H, I, M, R, T and Z. */
const STANDARD_TYPE = /^(?!dl|hpc|inf|mac|trn)[acdhimrtz][a-z]*\d/;

/** In one request. */
const MOST_TASKS = 100;
const UNITS_OF_A_VCPU = 1_024;

/** Each is asked for by itself: what is not answered is told, and stops nothing. */
export async function lookAtQuotas(ask: AwsQuestions, needs: AwsNeeds): Promise<QuotaLook> {
  const looks = await Promise.all(
    questionsOf(ask, needs).map(async ({ what, adds, used, limit }): Promise<QuotaUse | string> => {
      try {
        const [usedNow, most, more] = await Promise.all([used(), limit(), typeof adds === "number" ? adds : adds()]);
        return { what, used: usedNow, adds: more, limit: most, fix: fixOf(needs.region) };
      } catch (error) {
        return `${what} (${error instanceof AwsRefusal ? error.code : messageOf(error)})`;
      }
    }),
  );
  return {
    uses: looks.filter((look) => typeof look !== "string"),
    unasked: looks.filter((look) => typeof look === "string"),
  };
}

function questionsOf(ask: AwsQuestions, needs: AwsNeeds): readonly Question[] {
  const { region, host, instanceType, vcpu, cluster, changes, stacks } = needs;
  const makes = changes.filter(({ kind }) => kind === "make").map(({ what }) => what);
  const tables = makes.filter((what) => what.startsWith("table ")).length;
  const hasMachines = changes.some(({ kind, what }) => kind !== "remove" && /^machine [ab]$/.test(what));
  const counted =
    (action: string, tag: string, more: Readonly<Record<string, string>> = {}): (() => Promise<number>) =>
    () =>
      countOf(ask, action, tag, more);
  let summary: Promise<string> | null = null;
  const summed = (key: string) => async (): Promise<number> =>
    summaryOf(await (summary ??= ask.query("iam", "GetAccountSummary")), key);
  const gatewayEndpoints = { "Filter.1.Name": "vpc-endpoint-type", "Filter.1.Value.1": "Gateway" };
  return [
    ...(makes.includes("network")
      ? [
          {
            what: `networks (VPCs) in ${region}`,
            adds: 1,
            used: counted("DescribeVpcs", "vpcId"),
            limit: () => limitOf(ask, NETWORKS),
          },
          {
            what: `internet gateways in ${region}`,
            adds: 1,
            used: counted("DescribeInternetGateways", "internetGatewayId"),
            limit: () => limitOf(ask, GATEWAYS),
          },
          {
            what: `gateway endpoints in ${region}`,
            adds: 2,
            used: counted("DescribeVpcEndpoints", "vpcEndpointId", gatewayEndpoints),
            limit: () => limitOf(ask, ENDPOINTS),
          },
          { what: `CloudFormation stacks in ${region}`, adds: 1, used: stacks, limit: () => limitOf(ask, STACKS) },
          {
            what: "roles (IAM)",
            adds: host === "ec2" ? 1 : 2,
            used: summed("Roles"),
            limit: summed("RolesQuota"),
          },
          ...(host === "ec2"
            ? [
                {
                  what: "instance profiles (IAM)",
                  adds: 1,
                  used: summed("InstanceProfiles"),
                  limit: summed("InstanceProfilesQuota"),
                },
              ]
            : []),
        ]
      : []),
    ...(hasMachines && host === "fargate"
      ? [
          {
            what: `vCPUs on Fargate (on demand) in ${region}`,
            adds: 2 * vcpu,
            used: () => usedFargateVCpus(ask, cluster),
            limit: () => limitOf(ask, FARGATE_VCPUS),
          },
        ]
      : []),
    ...(hasMachines && host === "ec2" && STANDARD_TYPE.test(instanceType)
      ? [
          {
            what: `vCPUs of standard machines (on demand) in ${region}`,
            adds: async () => 2 * (await vCpusOf(ask, instanceType)),
            used: () => usedVCpus(ask, needs.machines),
            limit: () => limitOf(ask, STANDARD_VCPUS),
          },
        ]
      : []),
    ...(tables > 0
      ? [
          {
            what: `DynamoDB tables in ${region}`,
            adds: tables,
            used: () => countTables(ask),
            limit: () => limitOf(ask, TABLES),
          },
        ]
      : []),
  ];
}

/** The account's, or what everybody has. */
async function limitOf(ask: AwsQuestions, quota: { ServiceCode: string; QuotaCode: string }): Promise<number> {
  const asked = async (operation: string): Promise<number> => {
    const { Quota } = await ask.json<{ readonly Quota?: { readonly Value?: number } }>(
      "servicequotas",
      operation,
      quota,
    );
    if (typeof Quota?.Value !== "number") throw new Error("AWS named no number");
    return Quota.Value;
  };
  try {
    return await asked("GetServiceQuota");
  } catch (error) {
    if (!(error instanceof AwsRefusal && error.code === "NoSuchResourceException")) throw error;
    return asked("GetAWSDefaultServiceQuota");
  }
}

/** How often a tag is in all pages of a list. */
async function countOf(
  ask: AwsQuestions,
  action: string,
  tag: string,
  parameters: Readonly<Record<string, string>>,
): Promise<number> {
  const pages = await pagesOf(ask, action, parameters);
  return pages.reduce((sum, page) => sum + page.split(`<${tag}>`).length - 1, 0);
}

async function pagesOf(
  ask: AwsQuestions,
  action: string,
  parameters: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const pages: string[] = [];
  let token: string | undefined;
  do {
    const page = await ask.query("ec2", action, token === undefined ? parameters : { ...parameters, NextToken: token });
    pages.push(page);
    token = /<nextToken>([^<]+)</.exec(page)?.[1];
  } while (token !== undefined);
  return pages;
}

async function vCpusOf(ask: AwsQuestions, type: string): Promise<number> {
  const text = await ask.query("ec2", "DescribeInstanceTypes", { "InstanceType.1": type });
  const count = Number(/<defaultVCpus>(\d+)</.exec(text)?.[1]);
  if (Number.isNaN(count)) throw new Error(`AWS names no vCPUs of ${type}`);
  return count;
}

/** Of all machines that run, but for these. */
async function usedVCpus(ask: AwsQuestions, machines: readonly string[]): Promise<number> {
  const states = {
    "Filter.1.Name": "instance-state-name",
    "Filter.1.Value.1": "pending",
    "Filter.1.Value.2": "running",
  };
  const pages = await pagesOf(ask, "DescribeInstances", states);
  return pages
    .flatMap((page) => page.split("<instanceId>").slice(1))
    .filter((one) => STANDARD_TYPE.test(/<instanceType>([^<]*)</.exec(one)?.[1] ?? ""))
    .filter((one) => !one.includes("<instanceLifecycle>spot<"))
    .filter((one) => !machines.some((name) => one.includes(`<value>${name}</value>`)))
    .reduce((sum, one) => {
      const [cores, threads] = ["coreCount", "threadsPerCore"].map((tag) =>
        Number(new RegExp(`<${tag}>(\\d+)<`).exec(one)?.[1] ?? 1),
      );
      return sum + cores! * threads!;
    }, 0);
}

/** Of all tasks on Fargate, but for those of this cluster. */
async function usedFargateVCpus(ask: AwsQuestions, except: string): Promise<number> {
  const clusters = await allOf(ask, "ListClusters", {}, "clusterArns");
  let units = 0;
  for (const cluster of clusters.filter((arn) => !arn.endsWith(`/${except}`))) {
    const tasks = await allOf(ask, "ListTasks", { cluster, launchType: "FARGATE" }, "taskArns");
    for (let from = 0; from < tasks.length; from += MOST_TASKS) {
      const described = await ask.json<{ readonly tasks?: readonly { readonly cpu?: string }[] }>(
        "ecs",
        "DescribeTasks",
        {
          cluster,
          tasks: tasks.slice(from, from + MOST_TASKS),
        },
      );
      for (const { cpu } of described.tasks ?? []) units += Number(cpu ?? 0);
    }
  }
  return units / UNITS_OF_A_VCPU;
}

/** Of one question to ECS: as many as there are. */
async function allOf(
  ask: AwsQuestions,
  operation: string,
  input: object,
  field: "clusterArns" | "taskArns",
): Promise<readonly string[]> {
  const all: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await ask.json<Partial<Record<typeof field, readonly string[]>> & { readonly nextToken?: string }>(
      "ecs",
      operation,
      nextToken === undefined ? input : { ...input, nextToken },
    );
    all.push(...(page[field] ?? []));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  return all;
}

async function countTables(ask: AwsQuestions): Promise<number> {
  let count = 0;
  let from: string | undefined;
  do {
    const { TableNames = [], LastEvaluatedTableName: last } = await ask.json<{
      readonly TableNames?: readonly string[];
      readonly LastEvaluatedTableName?: string;
    }>("dynamodb", "ListTables", from === undefined ? {} : { ExclusiveStartTableName: from });
    count += TableNames.length;
    from = last;
  } while (from !== undefined);
  return count;
}

function summaryOf(text: string, key: string): number {
  const value = new RegExp(`<key>${key}</key>\\s*<value>(\\d+)</value>`).exec(text)?.[1];
  if (value === undefined) throw new Error(`AWS names no ${key}`);
  return Number(value);
}

function fixOf(region: string): string {
  return `remove what is not needed there, choose another region (--region), or ask AWS for more: https://${region}.console.aws.amazon.com/servicequotas/home`;
}
