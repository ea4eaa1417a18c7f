/**
 * Keys in a table of their own, beside those that are sealed with them. It has no point-in-time recovery: a key that was destroyed
 * must not come back.
 */
import { StorageError } from "../storage.ts";
import { SECRET_BYTES, type SealingKey, type SealingKeyStore } from "../sealing/sealing-key.ts";
import { bytes, number, text } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";

export class DynamoSealingKeys implements SealingKeyStore {
  readonly #dynamo: Dynamo;
  readonly #table: string;

  constructor(dynamo: Dynamo, table: string) {
    this.#dynamo = dynamo;
    this.#table = table;
  }

  get place(): string {
    return `the table ${this.#table}`;
  }

  async list(): Promise<readonly SealingKey[]> {
    const keys: SealingKey[] = [];
    for await (const item of this.#dynamo.scan(this.#table, null)) keys.push(this.#keyOf(item));
    return keys;
  }

  async add({ id, createdAtMs, secret, neededAtMs }: SealingKey): Promise<void> {
    const times: Item = { created_at_ms: { N: String(createdAtMs) }, needed_at_ms: { N: String(neededAtMs) } };
    await this.#dynamo.put({ TableName: this.#table, Item: { ...keyOf(id), secret: { B: secret }, ...times } });
  }

  async need(id: string, neededAtMs: number): Promise<void> {
    await this.#dynamo.update({
      TableName: this.#table,
      Key: keyOf(id),
      UpdateExpression: "SET needed_at_ms = :needed",
      ConditionExpression: "attribute_exists(id)",
      ExpressionAttributeValues: { ":needed": { N: String(neededAtMs) } },
    });
  }

  async destroy(id: string): Promise<void> {
    await this.#dynamo.delete({ TableName: this.#table, Key: keyOf(id) });
  }

  /** The storage has the client. */
  close(): void {}

  #keyOf(item: Item): SealingKey {
    const secret = bytes(item, "secret");
    const id = text(item, "id");
    if (secret.length !== SECRET_BYTES)
      throw new StorageError("none", `The key ${id} in ${this.place} is not one: restore it, or delete it.`);
    return { id, secret, createdAtMs: number(item, "created_at_ms"), neededAtMs: number(item, "needed_at_ms") };
  }
}

function keyOf(id: string): Item {
  return { id: { S: id } };
}
