/** List prices, in US dollars, region us-east-1, without contracts or commitments. Prices change: each one has the page it is from. */

/** When the pages were looked at. */
export const LOOKED_UP = "2026-11-21";

/** The hours of a month, as both providers count. */
export const HOURS = 730;

interface Price {
  readonly what: string;
  /** For one {@link Price.unit}, beyond what is included. */
  readonly dollars: number;
  readonly unit: string;
  /** Units of a month that the plan, or the account, has for nothing. */
  readonly included: number;
  readonly page: string;
}

const WORKERS = "https://developers.cloudflare.com/workers/platform/pricing/";
const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/pricing/";
const KV = "https://developers.cloudflare.com/kv/platform/pricing/";
const ON_DEMAND = "https://aws.amazon.com/dynamodb/pricing/on-demand/";
const PROVISIONED = "https://aws.amazon.com/dynamodb/pricing/provisioned/";
const LAMBDA = "https://aws.amazon.com/lambda/pricing/";
const MACHINES = "https://aws.amazon.com/ec2/pricing/on-demand/";
const BALANCERS = "https://aws.amazon.com/elasticloadbalancing/pricing/";
const ADDRESSES = "https://aws.amazon.com/vpc/pricing/";
const DISKS = "https://aws.amazon.com/ebs/pricing/";
const ALARMS = "https://aws.amazon.com/cloudwatch/pricing/";

const price = (what: string, dollars: number, unit: string, page: string, included = 0): Price => ({
  what,
  dollars,
  unit,
  included,
  page,
});

export const PRICES = {
  plan: price("Workers, the paid plan", 5, "month", WORKERS),
  workerCalls: price("calls of a Worker", 0.3, "million", WORKERS, 10),
  workerMs: price("computing of Workers", 0.02, "million ms", WORKERS, 30),
  objectCalls: price("calls of Durable Objects", 0.15, "million", OBJECTS, 1),
  objectAwake: price("time that Durable Objects are awake, 128 MB each", 12.5, "million GB-s", OBJECTS, 0.4),
  objectRowsRead: price("rows that Durable Objects read", 0.001, "million", OBJECTS, 25_000),
  objectRowsWritten: price("rows that Durable Objects write", 1, "million", OBJECTS, 50),
  objectStored: price("what Durable Objects store", 0.2, "GB a month", OBJECTS, 5),
  kvReads: price("reads of KV", 0.5, "million", KV, 10),
  kvWrites: price("writes to KV", 5, "million", KV, 1),
  dynamoReads: price("DynamoDB on demand: units of reading", 0.125, "million", ON_DEMAND),
  dynamoWrites: price("DynamoDB on demand: units of writing", 0.625, "million", ON_DEMAND),
  dynamoReadCapacity: price("DynamoDB provisioned: a unit of reading a second", 0.00013, "hour", PROVISIONED),
  dynamoWriteCapacity: price("DynamoDB provisioned: a unit of writing a second", 0.00065, "hour", PROVISIONED),
  dynamoStored: price("DynamoDB: what is stored", 0.25, "GB a month", ON_DEMAND),
  dynamoRecovery: price("DynamoDB: recovery to any moment", 0.2, "GB a month", ON_DEMAND),
  lambdaCalls: price("calls of Lambda", 0.2, "million", LAMBDA, 1),
  lambdaTime: price("Lambda on ARM", 13.3334, "million GB-s", LAMBDA, 0.4),
  surplusCpu: price("t4g beyond its share of the processor", 0.04, "vCPU-hour", MACHINES),
  traffic: price("traffic from AWS to the internet", 0.09, "GB", MACHINES, 100),
  balancer: price("Application Load Balancer", 0.0225, "hour", BALANCERS),
  balancerUnit: price("its capacity units (a GB an hour, or 1,000 rules a second)", 0.008, "hour", BALANCERS),
  address: price("a public IPv4 address", 0.005, "hour", ADDRESSES),
  disk: price("disk, gp3", 0.08, "GB a month", DISKS),
  alarm: price("an alarm", 0.1, "month", ALARMS),
  metric: price("a metric", 0.3, "month", ALARMS),
} as const satisfies Readonly<Record<string, Price>>;

export type PriceName = keyof typeof PRICES;

export interface MachineType {
  readonly name: string;
  readonly memoryGb: number;
  readonly dollarsPerHour: number;
  readonly vCpus: number;
  /** Of each vCPU, what is paid with the hour; what is used beyond is {@link PRICES.surplusCpu}. */
  readonly share: number;
}

/** Amazon's burstable ARM machines, the smallest first. */
export const MACHINE_TYPES: readonly [MachineType, ...MachineType[]] = [
  { name: "t4g.micro", memoryGb: 1, dollarsPerHour: 0.0084, vCpus: 2, share: 0.1 },
  { name: "t4g.small", memoryGb: 2, dollarsPerHour: 0.0168, vCpus: 2, share: 0.2 },
  { name: "t4g.medium", memoryGb: 4, dollarsPerHour: 0.0336, vCpus: 2, share: 0.2 },
  { name: "t4g.large", memoryGb: 8, dollarsPerHour: 0.0672, vCpus: 2, share: 0.3 },
  { name: "t4g.xlarge", memoryGb: 16, dollarsPerHour: 0.1344, vCpus: 4, share: 0.4 },
  { name: "t4g.2xlarge", memoryGb: 32, dollarsPerHour: 0.2688, vCpus: 8, share: 0.4 },
];

/** Where the shares of the machines are from. */
export const SHARES_PAGE =
  "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-credits-baseline-concepts.html";
export const MACHINES_PAGE = MACHINES;
