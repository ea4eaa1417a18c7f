/** The kinds of requests that the storage makes, each sent until it is answered. All reads are strongly consistent. */
import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  type DeleteItemCommandInput,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type KeysAndAttributes,
  type PutItemCommandInput,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type UpdateItemCommandInput,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { randomUUID } from "node:crypto";
import { atOnce } from "../at-once.ts";
import { type Item, MAX_BATCH_GET, MAX_BATCH_WRITE } from "./limits.ts";
import type { Requests } from "./requests.ts";

/** A condition that did not hold, and the item that it met; null: there is none. */
export interface Met {
  readonly item: Item | null;
}

const WITH_ITEM = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

export class Dynamo {
  readonly #client: DynamoDBClient;
  readonly #requests: Requests;

  constructor(client: DynamoDBClient, requests: Requests) {
    this.#client = client;
    this.#requests = requests;
  }

  async get(table: string, key: Item): Promise<Item | null> {
    const { Item } = await this.#requests.read((abortSignal) =>
      this.#client.send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }), { abortSignal }),
    );
    return Item ?? null;
  }

  /** Null: it was done. */
  put(input: PutItemCommandInput): Promise<Met | null> {
    const command = new PutItemCommand({ ...input, ...WITH_ITEM });
    return conditional(this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal })));
  }

  update(input: UpdateItemCommandInput): Promise<Met | null> {
    const command = new UpdateItemCommand({ ...input, ...WITH_ITEM });
    return conditional(this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal })));
  }

  /** The same, past all requests that wait. */
  updateAtOnce(input: UpdateItemCommandInput): Promise<Met | null> {
    const command = new UpdateItemCommand({ ...input, ...WITH_ITEM });
    return conditional(this.#requests.writeAtOnce((abortSignal) => this.#client.send(command, { abortSignal })));
  }

  delete(input: DeleteItemCommandInput): Promise<Met | null> {
    const command = new DeleteItemCommand({ ...input, ...WITH_ITEM });
    return conditional(this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal })));
  }

  /** Null: all of it was done. Else nothing was, and for each action stands what its condition met, if that failed. */
  async transact(actions: readonly TransactWriteItem[]): Promise<readonly (Met | null)[] | null> {
    // Sent again under the same token, it is carried out once, and answered as the first time.
    const command = new TransactWriteItemsCommand({ TransactItems: [...actions], ClientRequestToken: randomUUID() });
    try {
      await this.#requests.write((abortSignal) => this.#client.send(command, { abortSignal }));
      return null;
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      return (error.CancellationReasons ?? []).map(({ Code, Item }) =>
        Code === "ConditionalCheckFailed" ? { item: Item ?? null } : null,
      );
    }
  }

  /** The items that exist, in no order. The keys are all different. `attributes`: those that are wanted; left out: all. */
  async batchGet(table: string, keys: readonly Item[], attributes?: readonly string[]): Promise<readonly Item[]> {
    const found: Item[] = [];
    const take = (item: Item): "more" => {
      found.push(item);
      return "more";
    };
    await this.batchRead(table, keys, take, attributes);
    return found;
  }

  /** The same, one item after the other; beyond `enough` no more is asked for. */
  async batchRead(
    table: string,
    keys: readonly Item[],
    take: (item: Item) => "more" | "enough",
    attributes?: readonly string[],
  ): Promise<void> {
    const projection = attributes === undefined ? {} : projectionOf(attributes);
    let isEnough = false;
    await atOnce(inGroups(keys, MAX_BATCH_GET), (group) =>
      this.#requests.batch(group, false, async (left, abortSignal) => {
        if (isEnough) return [];
        const command = new BatchGetItemCommand({
          RequestItems: { [table]: { Keys: [...left], ConsistentRead: true, ...projection } },
        });
        const { Responses, UnprocessedKeys } = await this.#client.send(command, { abortSignal });
        for (const item of Responses?.[table] ?? []) isEnough ||= take(item) === "enough";
        return UnprocessedKeys?.[table]?.Keys ?? [];
      }),
    );
  }

  async batchDelete(table: string, keys: readonly Item[]): Promise<void> {
    await atOnce(inGroups(keys, MAX_BATCH_WRITE), (group) =>
      this.#requests.batch(group, true, async (left, abortSignal) => {
        const requests = left.map((key) => ({ DeleteRequest: { Key: key } }));
        const command = new BatchWriteItemCommand({ RequestItems: { [table]: requests } });
        const { UnprocessedItems } = await this.#client.send(command, { abortSignal });
        return (UnprocessedItems?.[table] ?? []).map(({ DeleteRequest }) => DeleteRequest!.Key!);
      }),
    );
  }

  /** All items of all pages. */
  async query(input: QueryCommandInput): Promise<readonly Item[]> {
    const items: Item[] = [];
    for await (const item of this.pages(input)) items.push(item);
    return items;
  }

  /** The same, one item after the other; a page is asked for when its first item is. */
  pages(input: QueryCommandInput): AsyncIterable<Item> {
    return this.#items((start, abortSignal) =>
      this.#client.send(new QueryCommand({ ...input, ConsistentRead: true, ...start }), { abortSignal }),
    );
  }

  /** How many items it would give. */
  async count(input: QueryCommandInput): Promise<number> {
    let count = 0;
    let start: Start | null = {};
    while (start !== null) {
      const from: Start = start;
      const command = new QueryCommand({ ...input, Select: "COUNT", ConsistentRead: true, ...from });
      // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
      const page = await this.#requests.read((abortSignal) => this.#client.send(command, { abortSignal }));
      count += page.Count ?? 0;
      start = page.LastEvaluatedKey === undefined ? null : { ExclusiveStartKey: page.LastEvaluatedKey };
    }
    return count;
  }

  /** All items of a table, one after the other, in no order; of each the attributes that are named, or all. */
  scan(table: string, attributes: readonly string[] | null): AsyncIterable<Item> {
    const projection = attributes === null ? {} : { ProjectionExpression: attributes.join(", ") };
    const input = { TableName: table, ConsistentRead: true, ...projection };
    return this.#items((start, abortSignal) =>
      this.#client.send(new ScanCommand({ ...input, ...start }), { abortSignal }),
    );
  }

  async *#items(send: (start: Start, signal: AbortSignal) => Promise<Page>): AsyncIterable<Item> {
    let start: Start | null = {};
    while (start !== null) {
      const from: Start = start;
      const page = await this.#requests.read((abortSignal) => send(from, abortSignal));
      yield* page.Items ?? [];
      start = page.LastEvaluatedKey === undefined ? null : { ExclusiveStartKey: page.LastEvaluatedKey };
    }
  }
}

/** Where a page begins. */
interface Start {
  ExclusiveStartKey?: Record<string, AttributeValue>;
}

interface Page {
  readonly Items?: Item[] | undefined;
  readonly LastEvaluatedKey?: Record<string, AttributeValue> | undefined;
}

async function conditional(written: Promise<unknown>): Promise<Met | null> {
  try {
    await written;
    return null;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { item: error.Item ?? null };
    throw error;
  }
}

/** A name of its own for each attribute: the language of expressions has many words. */
function projectionOf(
  attributes: readonly string[],
): Pick<KeysAndAttributes, "ProjectionExpression" | "ExpressionAttributeNames"> {
  const names = Object.fromEntries(attributes.map((attribute, n) => [`#a${n}`, attribute]));
  return { ProjectionExpression: Object.keys(names).join(", "), ExpressionAttributeNames: names };
}

export function inGroups<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const groups: (readonly T[])[] = [];
  for (let at = 0; at < all.length; at += size) groups.push(all.slice(at, at + size));
  return groups;
}
