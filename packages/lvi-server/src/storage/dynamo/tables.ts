/**
 * The tables of one deployment, by a common prefix:
 *
 *   <prefix>-items        bucket, key → value, commit id, hash    what the application has stored
 *   <prefix>-executions   bucket, id → record                     pending intents, and what is known of done executions for a day
 *   <prefix>-parts        id, part → bytes                        what an execution under way needs beyond an item's size; usually empty
 *   <prefix>-overflow     id, part → bytes                        modules; outcomes beyond an item's size
 *   <prefix>-keys         id → secret, times                      the keys that executions and recordings are sealed with
 *   <prefix>-meta         kind, name → …                          the layout, the leadership, its fences, the list of modules
 *
 * A bucket is a partition key. The items of a table of the application are spread over several buckets, each in the order
 * of its keys, so that a table has an order and no hot partition. The numbers of buckets are kept in `meta`: a deployment
 * keeps those that it was made with.
 *
 * The index `open` has the records that a starting server must find. It is a local one: global indexes of DynamoDB lag
 * behind their table and can't be read consistently, so that a starting server could miss a pending intent. A local index
 * bounds each bucket to 10 GB.
 */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type TransactWriteItem,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { type ExecutionId, splitUnit, type UnitId } from "@radical/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { checkSchema, isServed, newestOf, type SchemaVersion } from "../schema.ts";
import { DYNAMO_SCHEMAS } from "../schemas.ts";
import { StorageError, type StorageSchema } from "../storage.ts";
import { number, text } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";
import type { Requests } from "./requests.ts";

export interface Tables {
  readonly items: string;
  readonly executions: string;
  readonly parts: string;
  readonly overflow: string;
  readonly keys: string;
  readonly meta: string;
}

/** The index of the table of executions, and its sort key, which only the records in it have. */
export const OPEN = "open";

/** The key of the leadership in the table `meta`. */
export const LEADERSHIP: Item = { kind: { S: "leadership" }, name: { S: "current" } };

/** The key of the layout in the table `meta`. */
export const LAYOUT: Item = { kind: { S: "layout" }, name: { S: "current" } };
/** Of tables that no server may serve, of whatever version: they were replaced, or are restored and not yet taken over. */
const CLOSED_SCHEMA = 0;
/** Of new tables. */
const FRESH: Item = {
  ...LAYOUT,
  ...schemaAttributes(newestOf(DYNAMO_SCHEMAS)),
  item_buckets: { N: "16" },
  execution_buckets: { N: "64" },
};

/** When an item may go, in seconds. */
export const EXPIRY = "expires_at";

/** Longest wait for a table to be made. */
const CREATION_MS = 60_000;

export function tablesOf(prefix: string): Tables {
  return {
    items: `${prefix}-items`,
    executions: `${prefix}-executions`,
    parts: `${prefix}-parts`,
    overflow: `${prefix}-overflow`,
    keys: `${prefix}-keys`,
    meta: `${prefix}-meta`,
  };
}

/** The end of the prefix of tables that are restored to a second. */
const RESTORED = String.raw`-at-\d{8}T\d{6}Z`;

/** The prefix of the tables that these were restored from, at first; of others their own. */
export function firstPrefixOf(prefix: string): string {
  return prefix.replace(new RegExp(`${RESTORED}$`), "");
}

/** Whether a table of this name is one that was restored from those of the prefix, at first. */
export function isRestoredFrom(prefix: string, name: string): boolean {
  const ends = Object.keys(tablesOf(prefix)).join("|");
  return name.startsWith(prefix) && new RegExp(`^${RESTORED}-(?:${ends})$`).test(name.slice(prefix.length));
}

/** Where things stand in the tables of a deployment. */
export class Layout {
  /** Buckets of each table of the application, and of all executions. */
  readonly #items: number;
  readonly #executions: number;

  constructor(items: number, executions: number) {
    this.#items = items;
    this.#executions = executions;
  }

  /** As it is kept; of new tables it is decided here. Throws a StorageError if they are of another schema. */
  static async keep(dynamo: Dynamo, { meta }: Tables): Promise<Layout> {
    const kept = await dynamo.get(meta, LAYOUT);
    if (kept !== null) return layoutOf(meta, kept);
    const met = await dynamo.put({
      TableName: meta,
      Item: FRESH,
      ConditionExpression: "attribute_not_exists(kind)",
    });
    // Another server has started at the same time, or an earlier attempt of this very request has succeeded.
    return layoutOf(meta, met?.item ?? FRESH);
  }

  /** The same, and nothing is written: of new tables it is what a server would decide. */
  static async read(dynamo: Dynamo, { meta }: Tables): Promise<Layout> {
    return layoutOf(meta, opened((await dynamo.get(meta, LAYOUT)) ?? FRESH));
  }

  /** Whether a server may serve them, once they are not closed any more. */
  static isUsable(kept: Item | null): boolean {
    return kept !== null && isServed(schemaOf(opened(kept)), DYNAMO_SCHEMAS);
  }

  itemKey(unit: UnitId): Item {
    const { table, key } = splitUnit(unit);
    return { bucket: { S: bucketName(table, hashOf(key) % this.#items) }, key: { S: key } };
  }

  /** All buckets of a table of the application. */
  bucketsOf(table: string): readonly string[] {
    return Array.from({ length: this.#items }, (_, index) => bucketName(table, index));
  }

  executionKey(id: ExecutionId): Item {
    return { bucket: { S: this.executionBucketOf(id.slice(-2)) }, id: { S: id } };
  }

  /** Of the executions whose ids end with this byte. */
  executionBucketOf(lastByte: string): string {
    return twoDigits(Number.parseInt(lastByte, 16) % this.#executions);
  }

  executionBuckets(): readonly string[] {
    return Array.from({ length: this.#executions }, (_, index) => twoDigits(index));
  }
}

/** `schema` is the number that earlier servers compare with their own. */
export function schemaAttributes({ schema, readableFrom }: SchemaVersion): Item {
  return { schema: { N: String(readableFrom) }, written: { N: String(schema) } };
}

/** Of an item that has these attributes. */
function schemaOf(item: Item): StorageSchema {
  const readableFrom = number(item, "schema");
  return { readableFrom, written: Number(item["written"]?.N ?? readableFrom) };
}

/** The layout of tables that are closed, as it was before. */
function opened(kept: Item): Item {
  return { ...kept, schema: kept["open_schema"] ?? kept["schema"]! };
}

/** Whether no server may serve the tables of this layout. */
export function isClosed(kept: Item): boolean {
  return schemaOf(kept).readableFrom === CLOSED_SCHEMA;
}

/** Closes tables to every server. `why`: attributes of the layout that say it. */
export function closing({ meta }: Pick<Tables, "meta">, kept: Item, why: Item): Update {
  const names = Object.keys(why);
  return {
    TableName: meta,
    Key: LAYOUT,
    UpdateExpression: `SET #schema = :closed, open_schema = :open, ${names.map((name, n) => `${name} = :why${n}`).join(", ")}`,
    ExpressionAttributeNames: { "#schema": "schema" },
    ExpressionAttributeValues: {
      ":closed": { N: String(CLOSED_SCHEMA) },
      ":open": opened(kept)["schema"]!,
      ...Object.fromEntries(names.map((name, n) => [`:why${n}`, why[name]!])),
    },
  };
}

/** Lets servers serve them again. */
export function opening({ meta }: Pick<Tables, "meta">, kept: Item): Update {
  return {
    TableName: meta,
    Key: LAYOUT,
    UpdateExpression: "SET #schema = :open REMOVE open_schema, replaced_by",
    ExpressionAttributeNames: { "#schema": "schema" },
    ExpressionAttributeValues: { ":open": opened(kept)["schema"]! },
  };
}

type Update = NonNullable<TransactWriteItem["Update"]>;

/** Of the layout, or of the leadership. Throws a StorageError if this program can't serve the tables. */
export function checkedSchemaOf(table: string, kept: Item): StorageSchema {
  const schema = schemaOf(kept);
  if (isClosed(kept)) {
    const by = kept["replaced_by"]?.S;
    throw new StorageError(
      "none",
      by === undefined
        ? `The table ${table} is restored, and was not taken over. Run radical restore to the end.`
        : `The table ${table} was replaced by ${by}-meta, since an earlier state was restored. Start the server with --storage dynamodb:${by}.`,
    );
  }
  checkSchema(`The table ${table}`, schema, DYNAMO_SCHEMAS);
  return schema;
}

function layoutOf(table: string, kept: Item): Layout {
  checkedSchemaOf(table, kept);
  return new Layout(number(kept, "item_buckets"), number(kept, "execution_buckets"));
}

/** Of an item in the table `items`. */
export function unitOf(item: Item): UnitId {
  const bucket = text(item, "bucket");
  return `${bucket.slice(0, bucket.lastIndexOf("#"))}/${text(item, "key")}` as UnitId;
}

function bucketName(table: string, index: number): string {
  return `${table}#${twoDigits(index)}`;
}

function twoDigits(index: number): string {
  return index.toString().padStart(2, "0");
}

/** FNV-1a over the UTF-16 code units. What is stored depends on it, so it never changes. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // The low bits alone depend on the low bits of the key alone.
  return (hash ^ (hash >>> 16)) >>> 0;
}

interface TableDefinition {
  readonly name: string;
  /** Partition key and, if there is one, sort key; all text. */
  readonly key: readonly string[];
  /** Sort key of the index of the same name. */
  readonly indexed?: string;
  readonly expires: boolean;
}

function definitionsOf({ items, executions, parts, overflow, keys, meta }: Tables): readonly TableDefinition[] {
  return [
    { name: items, key: ["bucket", "key"], expires: false },
    { name: executions, key: ["bucket", "id"], indexed: OPEN, expires: true },
    { name: parts, key: ["id", "part"], expires: false },
    { name: overflow, key: ["id", "part"], expires: true },
    { name: keys, key: ["id"], expires: false },
    { name: meta, key: ["kind", "name"], expires: false },
  ];
}

/**
 * Makes the tables that are missing and waits until all can be used. Throws a StorageError that names the table; tables of
 * somebody else get none beside them.
 */
export async function ensureTables(client: DynamoDBClient, requests: Requests, tables: Tables): Promise<void> {
  const definitions = definitionsOf(tables);
  const missing = await allSettled(definitions, async (definition) => {
    const existing = await naming("Can't use the table", definition.name, describe(client, requests, definition.name));
    if (existing !== null) checkKeys(definition, existing.keys);
    return existing === null;
  });
  await allSettled(definitions, async (definition, index) => {
    const { name, expires } = definition;
    if (missing[index] === true) {
      await naming("Can't make the table", name, create(client, requests, definition));
      checkKeys(definition, await keysOnceReady(client, requests, name));
    }
    if (expires) await naming("Can't set the expiry of the table", name, ensureExpiry(client, requests, name));
  });
}

/** Fails only when nothing is under way any more. */
async function allSettled<T, R>(all: readonly T[], run: (one: T, index: number) => Promise<R>): Promise<readonly R[]> {
  const settled = await Promise.allSettled(all.map(run));
  return settled.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
}

async function naming<T>(what: string, table: string, run: Promise<T>): Promise<T> {
  try {
    return await run;
  } catch (error) {
    throw error instanceof StorageError ? new StorageError("none", `${what} ${table}: ${error.message}`, error) : error;
  }
}

async function keysOnceReady(client: DynamoDBClient, requests: Requests, name: string): Promise<string> {
  const endsAtMs = performance.now() + CREATION_MS;
  for (;;) {
    const existing = await describe(client, requests, name);
    if (existing?.status === "ACTIVE") return existing.keys;
    if (performance.now() > endsAtMs)
      throw new StorageError("none", `The table ${name} is not ready after ${CREATION_MS} ms.`);
    await sleep(existing === null ? 20 : 250);
  }
}

function checkKeys({ name, key, indexed }: TableDefinition, keys: string): void {
  const expected = [...key, ...(indexed === undefined ? [] : [indexed])].join(", ");
  if (keys === expected) return;
  throw new StorageError(
    "none",
    `The table ${name} is not one of this server: its keys are ${keys}, not ${expected}. Choose another prefix.`,
  );
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
