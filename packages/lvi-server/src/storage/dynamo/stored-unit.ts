/** An item of the application as it stands in its table. */
import { type CommitId, contentHash } from "@radical/protocol";
import { StorageError, type StoredUnit } from "../storage.ts";
import { nativeOf, text } from "./attributes.ts";
import type { Item } from "./limits.ts";
import { unitOf } from "./tables.ts";

/** Throws a StorageError unless the value is what its hash says. */
export function storedUnit(item: Item): StoredUnit {
  const unit = unitOf(item);
  let value: Uint8Array | null = null;
  try {
    value = nativeOf(item, "value");
  } catch {
    // Told below.
  }
  if (value === null || contentHash(value) !== item["hash"]?.S)
    throw new StorageError("none", `The stored value of ${unit} is corrupt.`);
  return { unit, commitId: text(item, "commit_id") as CommitId, value };
}
