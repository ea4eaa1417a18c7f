/** A past for tables of DynamoDB Local, which keeps none. */
import {
  type AttributeValue,
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";

/** Ends of the names of tables that have a past. */
export const COPIED: readonly string[] = ["items", "executions", "parts", "overflow", "meta"];

type Items = readonly Record<string, AttributeValue>[];

/** Tables with a past of one state. */
export class Past {
  readonly #client: DynamoDBClient;
  readonly #kept = new Map<string, Items>();

  constructor(endpoint: string) {
    // Its credentials are those of the environment.
    this.#client = new DynamoDBClient({ endpoint });
  }

  async keep(names: readonly string[]): Promise<void> {
    for (const name of names) this.#kept.set(name, await this.#all(name));
  }

  kept(name: string): Items {
    return this.#kept.get(name) ?? [];
  }

  async restore(from: string, to: string): Promise<void> {
    const { Table } = await this.#client.send(new DescribeTableCommand({ TableName: from }));
    const indexes = Table?.LocalSecondaryIndexes?.map(({ IndexName, KeySchema, Projection }) => ({
      IndexName,
      KeySchema,
      Projection,
    }));
    await this.#client.send(
      new CreateTableCommand({
        TableName: to,
        AttributeDefinitions: Table?.AttributeDefinitions,
        KeySchema: Table?.KeySchema,
        ...(indexes === undefined ? {} : { LocalSecondaryIndexes: indexes }),
        BillingMode: "PAY_PER_REQUEST",
      }),
    );
    for (const item of this.kept(from)) await this.#client.send(new PutItemCommand({ TableName: to, Item: item }));
  }

  async drop(table: string): Promise<void> {
    await this.#client.send(new DeleteTableCommand({ TableName: table }));
  }

  async put(table: string, item: Record<string, AttributeValue>): Promise<void> {
    await this.#client.send(new PutItemCommand({ TableName: table, Item: item }));
  }

  async #all(name: string): Promise<Items> {
    const items: Record<string, AttributeValue>[] = [];
    let from: Record<string, AttributeValue> | undefined;
    do {
      const page = await this.#client.send(
        new ScanCommand({ TableName: name, ConsistentRead: true, ExclusiveStartKey: from }),
      );
      items.push(...(page.Items ?? []));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return items;
  }

  close(): void {
    this.#client.destroy();
  }
}
