/** Bytes that are larger than an item, as several of them: the same owner, and under a name the numbers from 0. */
import { atOnce } from "../at-once.ts";
import { type Dynamo, inGroups } from "./dynamo.ts";
import { bytes, text } from "./attributes.ts";
import { type Item, PART_BYTES } from "./limits.ts";
import { EXPIRY } from "./tables.ts";

export function countParts(content: Uint8Array): number {
  return Math.max(1, Math.ceil(content.length / PART_BYTES));
}

export class Parts {
  readonly #dynamo: Dynamo;
  readonly #table: string;

  constructor(dynamo: Dynamo, table: string) {
    this.#dynamo = dynamo;
    this.#table = table;
  }

  async put(owner: string, name: string, content: Uint8Array, expiresAtMs: number | null): Promise<void> {
    const expiry: Item = expiresAtMs === null ? {} : { [EXPIRY]: { N: String(Math.ceil(expiresAtMs / 1_000)) } };
    await atOnce(keysOf(owner, name, countParts(content)), async (key) => {
      const index = Number(text(key, "part").slice(-PART_DIGITS));
      const part = content.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
      await this.#dynamo.put({ TableName: this.#table, Item: { ...key, bytes: { B: part }, ...expiry } });
    });
  }

  /** Null: not all of them are there. */
  async read(owner: string, name: string, count: number): Promise<Uint8Array | null> {
    const found = new Map<string, Uint8Array>();
    // A few at once, since an answer brings at most 16 MB.
    for (const group of inGroups(keysOf(owner, name, count), 16)) {
      for (const item of await this.#dynamo.batchGet(this.#table, group))
        found.set(text(item, "part"), bytes(item, "bytes"));
    }
    if (found.size !== count) return null;
    return Buffer.concat([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part));
  }

  keysOf(owner: string, name: string, count: number): readonly Item[] {
    return keysOf(owner, name, count);
  }

  async delete(owner: string, name: string, count: number): Promise<void> {
    await this.#dynamo.batchDelete(this.#table, keysOf(owner, name, count));
  }

  /** Of all parts but those of these owners. */
  async keysOfOthers(owners: ReadonlySet<string>): Promise<readonly Item[]> {
    const keys: Item[] = [];
    for await (const key of this.#dynamo.scan(this.#table, ["id", "part"]))
      if (!owners.has(text(key, "id"))) keys.push(key);
    return keys;
  }
}

const PART_DIGITS = 4;

function keysOf(owner: string, name: string, count: number): readonly Item[] {
  return Array.from({ length: count }, (_, index) => ({
    id: { S: owner },
    part: { S: `${name} ${String(index).padStart(PART_DIGITS, "0")}` },
  }));
}
