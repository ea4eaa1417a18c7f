/** What is in primary storage, read from the SQLite file while the server runs. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { valueToJson } from "@radical/protocol";

export interface StoredIntents {
  /** Their handlers. */
  readonly pending: readonly string[];
  /** How many. */
  readonly done: number;
}

/** The stored item as JSON; undefined if there is none. */
export function readItem(stateFolder: string, table: string, key: string): unknown {
  return withDatabase(stateFolder, (database) => {
    const row = database.prepare('SELECT value FROM items WHERE "table" = ? AND key = ?').get(table, key);
    return row === undefined ? undefined : (JSON.parse(valueToJson(row["value"] as Uint8Array)) as unknown);
  });
}

export interface StoredItem {
  readonly table: string;
  readonly key: string;
  readonly value: unknown;
}

/** All items, by table and key. */
export function readItems(stateFolder: string): readonly StoredItem[] {
  return withDatabase(stateFolder, (database) =>
    database
      .prepare('SELECT "table", key, value FROM items WHERE value IS NOT NULL ORDER BY "table", key')
      .all()
      .map((row) => ({
        table: String(row["table"]),
        key: String(row["key"]),
        value: JSON.parse(valueToJson(row["value"] as Uint8Array)) as unknown,
      })),
  );
}

export function readIntents(stateFolder: string): StoredIntents {
  return withDatabase(stateFolder, (database) => ({
    pending: database
      .prepare("SELECT handler FROM pending_intents ORDER BY commit_id")
      .all()
      .map((row) => String(row["handler"])),
    done: Number(database.prepare("SELECT count(*) AS count FROM done_intents").get()!["count"]),
  }));
}

function withDatabase<T>(stateFolder: string, read: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(stateFolder, "data.sqlite"), { readOnly: true, timeout: 60_000 });
  try {
    return read(database);
  } finally {
    database.close();
  }
}
