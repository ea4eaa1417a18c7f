/**
 * Keys in a table of their own, beside those that are sealed with them. It has no point-in-time recovery: a key that was destroyed
 * must not come back.
 */
import { StorageError } from "../storage.ts";
import { SECRET_BYTES, type SealingKey, type SealingKeyStore } from "../sealing/sealing-key.ts";
import { bytes, number, text } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import type { Item } from "./limits.ts";

/** Begins the id of an item that is the key of a recording. */
const RECORDING = "recording:";

/** The keys that executions are sealed with. */
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
    for await (const item of this.#dynamo.scan(this.#table, null)) {
      const id = this.idOf(text(item, "id"));
      if (id !== null) keys.push(this.#keyOf(item, id));
    }
    return keys;
  }

  async add({ id, createdAtMs, secret, neededAtMs }: SealingKey): Promise<void> {
    const times: Item = { ...this.creation(createdAtMs), needed_at_ms: { N: String(neededAtMs) } };
    await this.#dynamo.put({ TableName: this.#table, Item: { ...this.#itemOf(id), secret: { B: secret }, ...times } });
  }

  async need(id: string, neededAtMs: number): Promise<void> {
    await this.#dynamo.update({
      TableName: this.#table,
      Key: this.#itemOf(id),
      UpdateExpression: "SET needed_at_ms = :needed",
      ConditionExpression: "attribute_exists(id)",
      ExpressionAttributeValues: { ":needed": { N: String(neededAtMs) } },
    });
  }

  async destroy(id: string): Promise<void> {
    await this.#dynamo.delete({ TableName: this.#table, Key: this.#itemOf(id) });
  }

  /** The storage has the client. */
  close(): void {}

  /** The id of the key that an item is; null: it is of the other kind. */
  protected idOf(itemId: string): string | null {
    return itemId.startsWith(RECORDING) ? null : itemId;
  }

  protected itemId(id: string): string {
    return id;
  }

  protected creation(createdAtMs: number): Item {
    return { created_at_ms: { N: String(createdAtMs) } };
  }

  protected createdAtMs(item: Item): number {
    return number(item, "created_at_ms");
  }

  #itemOf(id: string): Item {
    return { id: { S: this.itemId(id) } };
  }

  #keyOf(item: Item, id: string): SealingKey {
    const secret = bytes(item, "secret");
    if (secret.length !== SECRET_BYTES)
      throw new StorageError("none", `The key ${id} in ${this.place} is not one: restore it, or delete it.`);
    return { id, secret, createdAtMs: this.createdAtMs(item), neededAtMs: number(item, "needed_at_ms") };
  }
}

/**
 * The keys of recordings, in the same table. A server of an earlier release takes each item for a key of executions, and seals with
 * the youngest. So these items say that they are older than all others, and have their own time beside.
 */
export class DynamoRecordingKeys extends DynamoSealingKeys {
  protected override idOf(itemId: string): string | null {
    return itemId.startsWith(RECORDING) ? itemId.slice(RECORDING.length) : null;
  }

  protected override itemId(id: string): string {
    return RECORDING + id;
  }

  protected override creation(createdAtMs: number): Item {
    return { created_at_ms: { N: "0" }, recorded_at_ms: { N: String(createdAtMs) } };
  }

  protected override createdAtMs(item: Item): number {
    return number(item, "recorded_at_ms");
  }
}
