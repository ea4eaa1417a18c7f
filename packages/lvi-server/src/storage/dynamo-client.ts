/** The client of DynamoDB is large, and an optional package: who stores elsewhere neither has it nor waits for it. */
import { StorageError } from "./storage.ts";

const CLIENT = "@aws-sdk/client-dynamodb";

/** The module that needs the client. Throws a StorageError that says how the client is installed, if it is not. */
export async function withDynamoClient<Module>(loading: Promise<Module>): Promise<Module> {
  try {
    return await loading;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    if (code !== "ERR_MODULE_NOT_FOUND" || !String(message).includes(`'${CLIENT}'`)) throw error;
    const words = `Storage at DynamoDB needs the package ${CLIENT}, which is not installed. Install it: npm install ${CLIENT}`;
    throw new StorageError("none", words, error);
  }
}
