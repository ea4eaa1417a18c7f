import { expect, test } from "vitest";
import { withDynamoClient } from "./dynamo-client.ts";

const missing = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /a/b.js`), { code: "ERR_MODULE_NOT_FOUND" });

test("without the client the error says how it is installed; other errors stay as they are", async () => {
  await expect(withDynamoClient(Promise.reject(missing("@aws-sdk/client-dynamodb")))).rejects.toThrow(
    "Install it: npm install @aws-sdk/client-dynamodb",
  );
  const other = missing("@smithy/core");
  await expect(withDynamoClient(Promise.reject(other))).rejects.toBe(other);
  expect(await withDynamoClient(Promise.resolve(1))).toBe(1);
});
