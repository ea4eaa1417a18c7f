/** The items in DynamoDB, to be looked at. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Key, prefixEnd, unitId } from "@radical/protocol";
import type { StoredItem } from "../../core/version-table.ts";
import type { ItemReader } from "../items.ts";
import type { StorageAddress } from "../storage-address.ts";
import type { StoredUnit } from "../storage.ts";
import { Dynamo } from "./dynamo.ts";
import { orderedItems } from "./ordered-scan.ts";
import { DEFAULT_REQUEST_OPTIONS, Requests } from "./requests.ts";
import { storedUnit } from "./stored-unit.ts";
import { Layout, type Tables, tablesOf } from "./tables.ts";

export class DynamoItems implements ItemReader {
  readonly #client: DynamoDBClient;
  readonly #dynamo: Dynamo;
  readonly #tables: Tables;

  constructor({ prefix, region, endpoint }: StorageAddress & { kind: "dynamodb" }) {
    this.#client = new DynamoDBClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      maxAttempts: 1,
    });
    this.#dynamo = new Dynamo(this.#client, new Requests(DEFAULT_REQUEST_OPTIONS));
    this.#tables = tablesOf(prefix);
  }

  async item(table: string, key: string): Promise<StoredItem | null> {
    const layout = await Layout.read(this.#dynamo, this.#tables);
    const item = await this.#dynamo.get(this.#tables.items, layout.itemKey(unitId(table, key)));
    return item === null ? null : storedUnit(item);
  }

  items(table: string | null): AsyncIterable<StoredUnit> {
    return table === null ? this.#all() : this.itemsWith(table, "", null);
  }

  async *itemsWith(table: string, prefix: string, most: number | null): AsyncIterable<StoredUnit> {
    const layout = await Layout.read(this.#dynamo, this.#tables);
    // A bound need not be a key that can be stored.
    const bound = (text: string): Key | null => (text === "" ? null : (text as Key));
    const range = { table, from: bound(prefix), to: bound(prefixEnd(prefix)) };
    let left = most ?? Number.POSITIVE_INFINITY;
    for await (const item of orderedItems(this.#dynamo, this.#tables, layout, range, most)) {
      if (left-- === 0) return;
      yield storedUnit(item);
    }
  }

  async *#all(): AsyncIterable<StoredUnit> {
    for await (const item of this.#dynamo.scan(this.#tables.items, null)) yield storedUnit(item);
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }
}
