/** The copies that DynamoDB keeps of a deployment's tables. */
import { withDynamoClient } from "./dynamo-client.ts";
import type { BackupsOptions, DynamoBackups } from "./dynamo/dynamo-backups.ts";
import type { StorageAddress } from "./storage-address.ts";

export async function openBackups(
  address: StorageAddress & { kind: "dynamodb" },
  options: BackupsOptions = {},
): Promise<DynamoBackups> {
  const { DynamoBackups } = await withDynamoClient(import("./dynamo/dynamo-backups.ts"));
  return new DynamoBackups(address, options);
}
