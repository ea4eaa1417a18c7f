/**
 * What is stored, to be looked at and taken out: apart from the port of the server, which never goes through all items, and
 * beside whatever server has the leadership. Nothing is written.
 *
 * What is shown has been applied. What an intent has promised is not among it; nor is a part of an execution, in SQLite.
 */
import { DatabaseSync } from "node:sqlite";
import { type CommitId, contentHash, prefixEnd, unitId } from "@radical/protocol";
import type { StoredItem } from "../core/version-table.ts";
import { withDynamoClient } from "./dynamo-client.ts";
import type { StorageAddress } from "./storage-address.ts";
import { StorageError, type StoredUnit } from "./storage.ts";

export interface ItemReader {
  /** Null: there is none. */
  item(table: string, key: string): Promise<StoredItem | null>;
  /**
   * All items of a table in the order of their keys, or of all tables: of SQLite sorted too, of DynamoDB in no order. Of SQLite
   * they are all of one moment; of DynamoDB what is changed meanwhile may be seen as it was or as it is.
   */
  items(table: string | null): AsyncIterable<StoredUnit>;
  /** The items of a table whose keys begin so, in the order of their keys. The caller takes at most so many; null: all. */
  itemsWith(table: string, prefix: string, most: number | null): AsyncIterable<StoredUnit>;
  close(): Promise<void>;
}

/** Throws a StorageError if there is nothing to read from. */
export async function openItems(address: StorageAddress): Promise<ItemReader> {
  switch (address.kind) {
    case "sqlite":
      return new SqliteItems(address.file);
    case "dynamodb": {
      const { DynamoItems } = await withDynamoClient(import("./dynamo/dynamo-items.ts"));
      return new DynamoItems(address);
    }
  }
}

interface Row {
  readonly table: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly commit_id: CommitId;
  readonly hash: string;
}

const COLUMNS = 'SELECT "table", key, value, commit_id, hash FROM items';

class SqliteItems implements ItemReader {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    try {
      this.#database = new DatabaseSync(file, { readOnly: true });
      this.#database.exec("PRAGMA busy_timeout = 5000");
      this.#database.prepare(COLUMNS);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new StorageError("none", `${file} can't be read: ${words}`, error);
    }
  }

  item(table: string, key: string): Promise<StoredItem | null> {
    const row = this.#database.prepare(`${COLUMNS} WHERE "table" = ? AND key = ?`).get(table, key);
    return Promise.resolve(row === undefined ? null : intact(row as unknown as Row));
  }

  items(table: string | null): AsyncIterable<StoredUnit> {
    return table === null ? this.#rows("", []) : this.itemsWith(table, "", null);
  }

  itemsWith(table: string, prefix: string, most: number | null): AsyncIterable<StoredUnit> {
    const end = prefixEnd(prefix);
    const below = end === "" ? [] : [end];
    const limited = most === null ? [] : [most];
    const where = `WHERE "table" = ? AND key >= ?${below.length > 0 ? " AND key < ?" : ""}`;
    return this.#rows(where, [table, prefix, ...below, ...limited], limited.length > 0 ? "LIMIT ?" : "");
  }

  // oxlint-disable-next-line typescript/require-await -- the other implementation waits
  async *#rows(where: string, values: readonly (string | number)[], limit = ""): AsyncIterable<StoredUnit> {
    // One statement sees one moment. SQLite orders text by its UTF-8 bytes (COLLATE BINARY), as `compareKeys` does.
    const statement = this.#database.prepare(`${COLUMNS} ${where} ORDER BY "table", key ${limit}`);
    for (const row of statement.iterate(...values)) yield intact(row as unknown as Row);
  }

  close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }
}

function intact({ table, key, value, commit_id: commitId, hash }: Row): StoredUnit {
  const unit = unitId(table, key);
  if (contentHash(value) !== hash) throw new StorageError("none", `The stored value of ${unit} is corrupt.`);
  return { unit, commitId, value };
}
