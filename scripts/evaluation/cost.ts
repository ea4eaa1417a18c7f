/**
 * The cost of a month, from the operations of one request and the list prices. Radical stands beside three ways to run
 * the same application near its data. Everything that both sides pay alike for, logs say, is left out; what is assumed
 * stands in {@link ASSUMPTIONS}.
 */
import { HOURS, MACHINE_TYPES, type MachineType, PRICES, type PriceName } from "./prices.ts";

/** The operations of one request with Radical, on the average of a mix. */
export interface RadicalRequest {
  /** Of a location's processor: handler, *f^rw*, and the location's own work. */
  readonly locationCpuMs: number;
  /** Of the primary's, executions near storage included. */
  readonly primaryCpuMs: number;
  readonly cacheCalls: number;
  readonly cacheRowsRead: number;
  readonly cacheRowsWritten: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** From the primary to the location: replies, with the values that repair its cache. */
  readonly primaryBytes: number;
}

/** The operations of one request near the data. */
export interface CentralRequest {
  readonly cpuMs: number;
  /** For which it waits for storage, too. */
  readonly storageMs: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** Bytes of items that it reads, which leave AWS if the application runs elsewhere. */
  readonly storageBytes: number;
  /** Bytes of its answer to the client. */
  readonly answerBytes: number;
}

export interface Load {
  readonly requestsPerMonth: number;
  readonly locations: number;
  readonly storedGb: number;
  /** How DynamoDB's units are paid: each one, or as capacity that is there all the time. */
  readonly capacity: "on demand" | "provisioned";
}

/** A line of a bill. `handlers`: running them, which the paper leaves out of the cost of infrastructure. */
interface Line {
  readonly what: string;
  readonly group: "handlers" | "infrastructure";
  readonly dollars: number;
}

export interface Bill {
  readonly lines: readonly Line[];
  readonly dollars: number;
  readonly infrastructure: number;
}

const BYTES_PER_GB = 1e9;
const SECONDS = HOURS * 3600;
const MEGABYTES_OF_OBJECT = 128;
/** Calls that one Durable Object takes in a second. */
const OBJECT_CALLS_PER_SECOND = 1_000;
/** Of a processor or of provisioned capacity, what an average hour uses, so that a busy one has room. */
const USE_OF_PROCESSOR = 0.6;
const USE_OF_CAPACITY = 0.7;
const LAMBDA_GB_PER_VCPU = 1.769;
const DISK_GB = 8;
/** The least that a machine of the primary has. */
const PRIMARY_MEMORY_GB = 2;
const CACHED_GB_PER_LOCATION = 0.5;

/** The assumptions beside the measured counts, in the words of the page. */
export const ASSUMPTIONS: readonly string[] = [
  "The load is even over the month, and over the locations.",
  `A location's cache is one Durable Object, awake all month; one more for each ${OBJECT_CALLS_PER_SECOND.toLocaleString("en")} calls a second. It is full: ${CACHED_GB_PER_LOCATION} GB.`,
  "The primary is a leader and a standby on machines of EC2. Both are of the smallest type with 2 GiB or more whose processor is used to 60 % at most. Addresses, disks, alarms and metrics are included.",
  "*Worker near storage*: a Worker that Cloudflare places near DynamoDB. The items that it reads leave AWS.",
  `*Lambda*: ARM, ${LAMBDA_GB_PER_VCPU} GB, which is one vCPU, behind a function URL; it is paid while it waits for storage, too.`,
  "*Machines*: at least two, of the type that is cheapest at 60 % use, behind a load balancer, with addresses and disks.",
  "A millisecond of processor is the same everywhere, and a request to storage takes 5 ms.",
  "Near its data, an application reads each item with a strongly consistent read (1 unit for 4 KB). It writes each one in a transaction (2 units for 1 KB). A consistent snapshot of several items would be 2 units for each read; that is not counted.",
  "Radical's primary reads items that it lacks in memory (1 unit for 4 KB). An execution that writes takes 5 units for the intent, and 2 units for 1 KB of each item. One that the primary runs itself takes about 3 units more to keep its outcome for 15 minutes, and 1 to read. These are not counted.",
  "Provisioned capacity of DynamoDB is used to 70 %.",
];

export function radicalBill(request: RadicalRequest, load: Load): Bill {
  const calls = load.requestsPerMonth;
  const objects = Math.max(load.locations, Math.ceil((calls * request.cacheCalls) / SECONDS / OBJECT_CALLS_PER_SECOND));
  return bill(
    handlers("Workers: the plan", priced("plan", 1)),
    handlers("Workers: calls", priced("workerCalls", calls / 1e6)),
    handlers("Workers: computing", priced("workerMs", (calls * request.locationCpuMs) / 1e6)),
    infrastructure("caches: calls", priced("objectCalls", (calls * request.cacheCalls) / 1e6)),
    infrastructure("caches: awake", priced("objectAwake", (objects * SECONDS * MEGABYTES_OF_OBJECT) / 1000 / 1e6)),
    infrastructure("caches: rows read", priced("objectRowsRead", (calls * request.cacheRowsRead) / 1e6)),
    infrastructure("caches: rows written", priced("objectRowsWritten", (calls * request.cacheRowsWritten) / 1e6)),
    infrastructure("caches: stored", priced("objectStored", load.locations * CACHED_GB_PER_LOCATION)),
    infrastructure("primary: leader and standby", primaryDollars((calls * request.primaryCpuMs) / 1000 / SECONDS)),
    ...storageLines(request, load),
    infrastructure("traffic out of AWS", priced("traffic", (calls * request.primaryBytes) / BYTES_PER_GB)),
  );
}

/** One server is enough: the other is a standby. {@link radicalBill} throws where it is not. */
export function carried({ primaryCpuMs }: RadicalRequest, { requestsPerMonth }: Load): boolean {
  return machineFor((requestsPerMonth * primaryCpuMs) / 1000 / SECONDS) !== undefined;
}

/** A Worker that runs near the storage: the same platform, without locations. */
export function centralWorkerBill(request: CentralRequest, load: Load): Bill {
  const calls = load.requestsPerMonth;
  return bill(
    handlers("Workers: the plan", priced("plan", 1)),
    handlers("Workers: calls", priced("workerCalls", calls / 1e6)),
    handlers("Workers: computing", priced("workerMs", (calls * request.cpuMs) / 1e6)),
    ...storageLines(request, load),
    infrastructure("traffic out of AWS", priced("traffic", (calls * request.storageBytes) / BYTES_PER_GB)),
  );
}

/** AWS Lambda, as in the paper. */
export function centralLambdaBill(request: CentralRequest, load: Load): Bill {
  const calls = load.requestsPerMonth;
  const seconds = (calls * (request.cpuMs + request.storageMs)) / 1000;
  return bill(
    handlers("Lambda: calls", priced("lambdaCalls", calls / 1e6)),
    handlers("Lambda: time", priced("lambdaTime", (seconds * LAMBDA_GB_PER_VCPU) / 1e6)),
    ...storageLines(request, load),
    infrastructure("traffic out of AWS", priced("traffic", (calls * request.answerBytes) / BYTES_PER_GB)),
  );
}

/** Machines behind a load balancer. */
export function centralMachinesBill(request: CentralRequest, load: Load): Bill {
  const calls = load.requestsPerMonth;
  const perSecond = calls / SECONDS;
  const gbPerHour = (perSecond * 3600 * request.answerBytes) / BYTES_PER_GB;
  const balancerUnits = Math.max(gbPerHour, perSecond / 1000);
  const balancer =
    priced("balancer", HOURS) + priced("balancerUnit", HOURS * balancerUnits) + 2 * priced("address", HOURS);
  return bill(
    handlers("machines", machinesDollars((calls * request.cpuMs) / 1000 / SECONDS)),
    infrastructure("load balancer", balancer),
    ...storageLines(request, load),
    infrastructure("traffic out of AWS", priced("traffic", (calls * request.answerBytes) / BYTES_PER_GB)),
  );
}

/** Requests of a month at so many a second. */
export function perMonth(perSecond: number): number {
  return perSecond * SECONDS;
}

function storageLines(
  { readUnits, writeUnits }: { readonly readUnits: number; readonly writeUnits: number },
  { requestsPerMonth, storedGb, capacity }: Load,
): readonly Line[] {
  const dollars = (units: number, demand: PriceName, provisioned: PriceName): number =>
    capacity === "on demand"
      ? priced(demand, (requestsPerMonth * units) / 1e6)
      : priced(provisioned, ((requestsPerMonth * units) / SECONDS / USE_OF_CAPACITY) * HOURS);
  return [
    infrastructure("DynamoDB: reads", dollars(readUnits, "dynamoReads", "dynamoReadCapacity")),
    infrastructure("DynamoDB: writes", dollars(writeUnits, "dynamoWrites", "dynamoWriteCapacity")),
    infrastructure("DynamoDB: stored", priced("dynamoStored", storedGb) + priced("dynamoRecovery", storedGb)),
  ];
}

/** A leader that uses so many vCPUs, and a standby that uses none. Throws if no machine is large enough. */
function primaryDollars(vCpus: number): number {
  const type = machineFor(vCpus);
  if (type === undefined) throw new Error(`one server does not take ${vCpus.toFixed(1)} vCPUs`);
  const around =
    priced("address", 2 * HOURS) + priced("disk", 2 * DISK_GB) + priced("alarm", 17) + priced("metric", 14);
  return 2 * type.dollarsPerHour * HOURS + surplus(type, 1, vCpus) + around;
}

function machineFor(vCpus: number): MachineType | undefined {
  return MACHINE_TYPES.find((each) => each.memoryGb >= PRIMARY_MEMORY_GB && each.vCpus * USE_OF_PROCESSOR >= vCpus);
}

/** The cheapest machines that use so many vCPUs together. */
function machinesDollars(vCpus: number): number {
  const dollars = (type: MachineType): number => {
    const count = Math.max(2, Math.ceil(vCpus / USE_OF_PROCESSOR / type.vCpus));
    return count * type.dollarsPerHour * HOURS + surplus(type, count, vCpus) + priced("disk", count * DISK_GB);
  };
  return Math.min(...MACHINE_TYPES.map(dollars));
}

function surplus(type: MachineType, count: number, vCpus: number): number {
  return priced("surplusCpu", Math.max(0, vCpus - count * type.vCpus * type.share) * HOURS);
}

/** So many units of a price in a month, less those that are included. */
function priced(name: PriceName, units: number): number {
  const { dollars, included } = PRICES[name];
  return dollars * Math.max(0, units - included);
}

function handlers(what: string, dollars: number): Line {
  return { what, group: "handlers", dollars };
}

function infrastructure(what: string, dollars: number): Line {
  return { what, group: "infrastructure", dollars };
}

function bill(...lines: readonly Line[]): Bill {
  const sum = (some: readonly Line[]): number => some.reduce((total, { dollars }) => total + dollars, 0);
  return { lines, dollars: sum(lines), infrastructure: sum(lines.filter(({ group }) => group === "infrastructure")) };
}
