/** Storages of server processes, and what tests do with them behind the server's back. */
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { unitId } from "@radical/protocol";
import { Layout } from "../src/storage/dynamo/tables.ts";
import type { DynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import type { ServerProcess } from "./test-process.ts";

export interface StorageUnderTest {
  /** For a server. */
  readonly args: readonly string[];
  /** The value of a counter. */
  stored(key: string): Promise<number | null>;
  /** SIGSTOP to a server, where it keeps nothing from others. */
  stop(server: ServerProcess): Promise<void>;
}

export function sqliteStorage(file: string): StorageUnderTest {
  return {
    args: ["--storage", `sqlite:${file}`],
    stored: (key) => {
      const database = new DatabaseSync(file, { readOnly: true, timeout: 60_000 });
      const row = database.prepare("SELECT value FROM items WHERE \"table\" = 'counters' AND key = ?").get(key) as
        | { value: Uint8Array }
        | undefined;
      database.close();
      return Promise.resolve(row?.value[0] ?? null);
    },
    // In the middle of a transaction it would keep the file from everybody.
    stop: async ({ child }) => {
      for (;;) {
        child.kill("SIGSTOP");
        const database = new DatabaseSync(file, { timeout: 100 });
        try {
          database.exec("BEGIN IMMEDIATE; ROLLBACK");
          return;
        } catch {
          child.kill("SIGCONT");
          await new Promise((resolve) => setImmediate(resolve));
        } finally {
          database.close();
        }
      }
    },
  };
}

export function dynamoStorage({ endpoint }: DynamoDbLocal): StorageUnderTest {
  const prefix = randomBytes(8).toString("hex");
  return {
    args: ["--storage", `dynamodb:${prefix}?endpoint=${endpoint}`, "--lease-ms", "1500"],
    stored: async (key) => {
      const client = new DynamoDBClient({ endpoint });
      const Key = new Layout(16, 64).itemKey(unitId("counters", key));
      const { Item } = await client.send(new GetItemCommand({ TableName: `${prefix}-items`, Key }));
      client.destroy();
      return Item === undefined ? null : Number(Item["value"]!.N);
    },
    stop: ({ child }) => {
      child.kill("SIGSTOP");
      return Promise.resolve();
    },
  };
}
