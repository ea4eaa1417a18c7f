/** The storage suite on DynamoDB, and what only DynamoDB has. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoStorage } from "../../src/storage/dynamo/dynamo-storage.ts";
import { describeStorage } from "../../src/storage/storage-conformance.ts";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb-local.ts";

describe.skipIf(!hasDynamoDbLocal())("DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });

  afterAll(() => local.stop());

  const open = (prefix = randomBytes(8).toString("hex")): Promise<DynamoStorage> =>
    DynamoStorage.open({ prefix, endpoint: local.endpoint });

  describeStorage({ test, expect }, async () => {
    const prefix = randomBytes(8).toString("hex");
    let storage = await open(prefix);
    return {
      storage,
      reopen: async () => {
        await storage.close();
        return (storage = await open(prefix));
      },
      expires: true,
      dispose: () => storage.close(),
    };
  });
});
