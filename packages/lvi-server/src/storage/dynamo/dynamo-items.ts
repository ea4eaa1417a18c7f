/** The items in DynamoDB, to be looked at: every item of a table is met by going through all tables. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type CommitId, splitUnit, type UnitId, unitId } from "@radical/protocol";
import type { StoredItem } from "../../core/version-table.ts";
import type { ItemReader, StoredUnit } from "../items.ts";
import type { StorageAddress } from "../storage-address.ts";
import { text } from "./attributes.ts";
import { Dynamo } from "./dynamo.ts";
import { intactValue } from "./dynamo-storage.ts";
import type { Item } from "./limits.ts";
import { DEFAULT_REQUEST_OPTIONS, Requests } from "./requests.ts";
import { tablesOf } from "./tables.ts";

export class DynamoItems implements ItemReader {
  readonly #client: DynamoDBClient;
  readonly #dynamo: Dynamo;
  readonly #items: string;

  constructor({ prefix, region, endpoint }: StorageAddress & { kind: "dynamodb" }) {
    this.#client = new DynamoDBClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      maxAttempts: 1,
    });
    this.#dynamo = new Dynamo(this.#client, new Requests(DEFAULT_REQUEST_OPTIONS));
    this.#items = tablesOf(prefix).items;
  }

  async item(table: string, key: string): Promise<StoredItem | null> {
    const item = await this.#dynamo.get(this.#items, { unit: { S: unitId(table, key) } });
    return item === null ? null : storedUnit(item);
  }

  async *items(table: string | null): AsyncIterable<StoredUnit> {
    for await (const item of this.#dynamo.items(this.#items)) {
      const found = storedUnit(item);
      if (table === null || splitUnit(found.unit).table === table) yield found;
    }
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }
}

function storedUnit(item: Item): StoredUnit {
  const unit = text(item, "unit") as UnitId;
  return { unit, commitId: text(item, "commit_id") as CommitId, value: intactValue(unit, item) };
}
