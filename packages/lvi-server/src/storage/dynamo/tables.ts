/**
 * The tables of one deployment, by a common prefix:
 *
 *   <prefix>-items     unit → value, commit id, hash          what the application has stored
 *   <prefix>-intents   shard, execution id → record           pending intents, and what is known of done ones for a day
 *   <prefix>-parts     id, part → bytes                       what an execution under way needs beyond an item's size; usually empty
 *   <prefix>-blobs     id, part → bytes                       modules; outcomes beyond an item's size
 *   <prefix>-meta      kind, name → …                         the lease, its fences, the list of modules
 *
 * An index of the open intents, and of done ones whose outcome is to go, lets a starting server find them. It is a local one, because those of
 * DynamoDB that are global lag behind their table; its price is a partition key, of which a shard of the execution id
 * makes enough.
 */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import type { ExecutionId } from "@radical/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "../storage.ts";
import type { Item } from "./limits.ts";
import type { Requests } from "./requests.ts";

export interface Tables {
  readonly items: string;
  readonly intents: string;
  readonly parts: string;
  readonly blobs: string;
  readonly meta: string;
}

/** The index of the records that are pending or partly applied, or whose outcome is to go; and its sort key, which only these have. */
export const OPEN = "open";
export const OPEN_SINCE = "open_since";

/** The key of the lease in the table `meta`. */
export const LEASE: Item = { kind: { S: "lease" }, name: { S: "current" } };

/** When an item may go, in seconds. */
export const EXPIRY = "expires_at";

const SHARDS = 64;

/** Longest wait for a table to be made. */
const CREATION_MS = 60_000;

export function tablesOf(prefix: string): Tables {
  return {
    items: `${prefix}-items`,
    intents: `${prefix}-intents`,
    parts: `${prefix}-parts`,
    blobs: `${prefix}-blobs`,
    meta: `${prefix}-meta`,
  };
}

export function shardOf(id: ExecutionId): string {
  return shardName(Number.parseInt(id.slice(-2), 16) % SHARDS);
}

export function allShards(): readonly string[] {
  return Array.from({ length: SHARDS }, (_, index) => shardName(index));
}

function shardName(number: number): string {
  return number.toString().padStart(2, "0");
}

interface TableDefinition {
  readonly name: string;
  /** Partition key and, if there is one, sort key; all text. */
  readonly key: readonly string[];
  /** Sort key of the index by status. */
  readonly indexed?: string;
  readonly expires: boolean;
}

function definitionsOf({ items, intents, parts, blobs, meta }: Tables): readonly TableDefinition[] {
  return [
    { name: items, key: ["unit"], expires: false },
    { name: intents, key: ["shard", "execution_id"], indexed: OPEN_SINCE, expires: true },
    { name: parts, key: ["id", "part"], expires: false },
    { name: blobs, key: ["id", "part"], expires: true },
    { name: meta, key: ["kind", "name"], expires: false },
  ];
}

/** Makes the tables that are missing and waits until all can be used. Throws a StorageError that names the table. */
export async function ensureTables(client: DynamoDBClient, requests: Requests, tables: Tables): Promise<void> {
  const made = await Promise.allSettled(
    definitionsOf(tables).map((definition) => ensureTable(client, requests, definition)),
  );
  // Only when nothing is under way any more.
  for (const each of made) if (each.status === "rejected") throw each.reason;
}

async function ensureTable(client: DynamoDBClient, requests: Requests, definition: TableDefinition): Promise<void> {
  const { name, expires } = definition;
  const naming = async <T>(what: string, run: Promise<T>): Promise<T> => {
    try {
      return await run;
    } catch (error) {
      throw error instanceof StorageError
        ? new StorageError("none", `${what} ${name}: ${error.message}`, error)
        : error;
    }
  };
  let existing = await naming("can't use the table", describe(client, requests, name));
  if (existing === null) {
    await naming("can't make the table", create(client, requests, definition));
    const endsAtMs = performance.now() + CREATION_MS;
    while (existing?.status !== "ACTIVE") {
      if (performance.now() > endsAtMs)
        throw new StorageError("none", `the table ${name} is not ready after ${CREATION_MS} ms`);
      await sleep(existing === null ? 20 : 250);
      existing = await describe(client, requests, name);
    }
  }
  const expected = [...definition.key, ...(definition.indexed === undefined ? [] : [definition.indexed])].join(", ");
  if (existing.keys !== expected) {
    throw new StorageError(
      "none",
      `the table ${name} is not one of this server: its keys are ${existing.keys}, not ${expected}; choose another prefix`,
    );
  }
  if (expires) await naming("can't set the expiry of the table", ensureExpiry(client, requests, name));
}

async function describe(
  client: DynamoDBClient,
  requests: Requests,
  name: string,
): Promise<{ status: string; keys: string } | null> {
  return requests.read(async (abortSignal) => {
    try {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: name }), { abortSignal });
      const index = Table?.LocalSecondaryIndexes?.find(({ IndexName }) => IndexName === OPEN);
      const keys = [...(Table?.KeySchema ?? []), ...(index?.KeySchema?.slice(1) ?? [])];
      return { status: Table?.TableStatus ?? "", keys: keys.map(({ AttributeName }) => AttributeName).join(", ") };
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return null;
      throw error;
    }
  });
}

async function create(
  client: DynamoDBClient,
  requests: Requests,
  { name, key, indexed }: TableDefinition,
): Promise<void> {
  const [partition, sort] = key as [string, string?];
  const schema = (...names: string[]) =>
    names.map((AttributeName, index) => ({
      AttributeName,
      KeyType: index === 0 ? ("HASH" as const) : ("RANGE" as const),
    }));
  const input: CreateTableCommandInput = {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: schema(partition, ...(sort === undefined ? [] : [sort])),
    AttributeDefinitions: [...key, ...(indexed === undefined ? [] : [indexed])].map((AttributeName) => ({
      AttributeName,
      AttributeType: "S",
    })),
    ...(indexed === undefined
      ? {}
      : {
          LocalSecondaryIndexes: [
            {
              IndexName: OPEN,
              KeySchema: schema(partition, indexed),
              Projection: { ProjectionType: "KEYS_ONLY" },
            },
          ],
        }),
  };
  await requests.write(async (abortSignal) => {
    try {
      await client.send(new CreateTableCommand(input), { abortSignal });
    } catch (error) {
      // An earlier attempt, or another server that starts too.
      if (!(error instanceof ResourceInUseException)) throw error;
    }
  });
}

async function ensureExpiry(client: DynamoDBClient, requests: Requests, name: string): Promise<void> {
  const { TimeToLiveDescription } = await requests.read((abortSignal) =>
    client.send(new DescribeTimeToLiveCommand({ TableName: name }), { abortSignal }),
  );
  if (TimeToLiveDescription?.TimeToLiveStatus?.startsWith("ENABL") === true) return;
  await requests.write((abortSignal) =>
    client.send(
      new UpdateTimeToLiveCommand({
        TableName: name,
        TimeToLiveSpecification: { AttributeName: EXPIRY, Enabled: true },
      }),
      { abortSignal },
    ),
  );
}
