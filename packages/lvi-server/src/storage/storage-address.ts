/** Where primary storage is, as one text: `sqlite:<file>` or `dynamodb:<prefix>?region=…&endpoint=…`. */
import path from "node:path";
import type { CallHasher } from "../core/call-hash.ts";
import { withDynamoClient } from "./dynamo-client.ts";
import { FileSealingKeys } from "./sealing/file-sealing-keys.ts";
import type { KeyPlaces } from "./sealing/sealing-key.ts";
import { SqliteStorage } from "./sqlite-storage.ts";
import type { Storage } from "./storage.ts";

export type StorageAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | {
      readonly kind: "dynamodb";
      /** Names the tables. */
      readonly prefix: string;
      readonly region?: string;
      readonly endpoint?: string;
    };

/** With the longest ending, a table's name must stay within 255 characters. */
const PREFIX = /^[A-Za-z0-9_.-]{1,200}$/;
const PARAMETERS: readonly string[] = ["region", "endpoint"];

/** The address; or what is wrong with the text, as the end of a sentence about it. */
export function parseStorageAddress(text: string): StorageAddress | string {
  const colon = text.indexOf(":");
  const [kind, rest] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
  if (kind === "sqlite") return rest === "" ? "names no file" : { kind, file: rest };
  if (kind !== "dynamodb") return "is neither sqlite:<file> nor dynamodb:<table prefix>?region=…&endpoint=…";
  const question = rest.indexOf("?");
  const prefix = question < 0 ? rest : rest.slice(0, question);
  if (!PREFIX.test(prefix)) return `has the table prefix "${prefix}"; it is 1 to 200 letters, digits, "_", "." or "-"`;
  const parameters = new URLSearchParams(question < 0 ? "" : rest.slice(question + 1));
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name)) return `has the parameter "${name}"; there are ${PARAMETERS.join(" and ")}`;
  }
  const region = parameters.get("region");
  const endpoint = parameters.get("endpoint");
  if (region !== null && !/^[a-z0-9-]+$/.test(region)) return `has the region "${region}"; it is like eu-central-1`;
  if (endpoint !== null && !/^https?:$/.test(protocolOf(endpoint)))
    return `has the endpoint "${endpoint}"; it is like http://127.0.0.1:8000`;
  return { kind, prefix, ...(region === null ? {} : { region }), ...(endpoint === null ? {} : { endpoint }) };
}

/** `retentionMs`: for a storage that expires done intents itself. `hasher`: for what an older version has stored. Throws a StorageError that says why it can't be used. */
export async function openStorage(
  address: StorageAddress,
  { retentionMs, hasher }: { readonly retentionMs: number; readonly hasher: CallHasher },
): Promise<Storage> {
  switch (address.kind) {
    case "sqlite":
      return new SqliteStorage(address.file, hasher);
    case "dynamodb": {
      const { DynamoStorage } = await withDynamoClient(import("./dynamo/dynamo-storage.ts"));
      return DynamoStorage.open({ ...address, retentionMs });
    }
  }
}

/**
 * The places of the keys that the storage and recordings are sealed with: the folder, if one is named. A file of SQLite has them
 * beside it, and DynamoDB in a table of their own. Null: a storage in memory is not sealed.
 */
export function keyPlacesOf(address: StorageAddress, storage: Storage, folder: string | null): KeyPlaces | null {
  if (folder !== null) return placesIn(folder);
  if (address.kind === "dynamodb") return storage.keyPlaces ?? null;
  return address.file === ":memory:" ? null : placesIn(`${address.file}.keys`);
}

/** An earlier release takes no folder for a key. */
function placesIn(folder: string): KeyPlaces {
  return { keys: new FileSealingKeys(folder), recordings: new FileSealingKeys(path.join(folder, "recordings")) };
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}
