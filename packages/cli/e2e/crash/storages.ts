/** The storages that crash tests run on. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CREDENTIALS } from "@radical/lvi-server/e2e/dynamodb-local";
import type { StorageChoice } from "./deployment.ts";

/** A killed holder of its lease is known to be dead at once. */
export const SQLITE: StorageChoice = {
  kind: "sqlite",
  options: (folder) => ["--storage", `sqlite:${join(folder, "data.sqlite")}`, "--lease-ms", "4000"],
  environment: {},
};

/** Tables of their own. Each start after a kill waits the lease out. */
export function dynamoDb(endpoint: string): StorageChoice {
  const prefix = randomBytes(8).toString("hex");
  return {
    kind: "dynamodb",
    options: () => ["--storage", `dynamodb:${prefix}?endpoint=${endpoint}`, "--lease-ms", "2500"],
    environment: CREDENTIALS,
  };
}
