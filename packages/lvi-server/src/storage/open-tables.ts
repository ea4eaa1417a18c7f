/** The tables of a deployment on DynamoDB. The SDK is large: who needs it not does not wait for it. */
import type { DynamoTables, DynamoTablesOptions } from "./dynamo/dynamo-tables.ts";

export async function openTables(options: DynamoTablesOptions): Promise<DynamoTables> {
  const { DynamoTables } = await import("./dynamo/dynamo-tables.ts");
  return new DynamoTables(options);
}
