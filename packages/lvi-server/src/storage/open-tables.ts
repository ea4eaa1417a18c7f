/** The tables of a deployment on DynamoDB. */
import { withDynamoClient } from "./dynamo-client.ts";
import type { DynamoTables, DynamoTablesOptions } from "./dynamo/dynamo-tables.ts";

export async function openTables(options: DynamoTablesOptions): Promise<DynamoTables> {
  const { DynamoTables } = await withDynamoClient(import("./dynamo/dynamo-tables.ts"));
  return new DynamoTables(options);
}
