/**
 * The seal of a stored entry binds its version to the owner and the unit that it was stored for. The version's hash binds
 * the value. So a cache that outlives isolates takes an entry of somebody else, or one with any bit changed, for a miss.
 * Like the hash it detects damage, not malice: the primary validates every version that is used.
 */
import {
  type ContentHash,
  type Entry,
  type UnitId,
  type Version,
  contentHash,
  isCommitId,
  isContentHash,
  isIntact,
} from "@radical/protocol";

const encoder = new TextEncoder();

export function hashOfText(text: string): ContentHash {
  return contentHash(encoder.encode(text));
}

/** `owner`: the application, and the location where several share a store. */
export function sealOf(owner: string, unit: UnitId, { commitId, hash }: Version): ContentHash {
  return hashOfText(JSON.stringify([owner, unit, commitId, hash]));
}

/** An entry as it was read back, with fields of any type. */
export interface Stored {
  readonly seal: unknown;
  readonly commitId: unknown;
  readonly hash: unknown;
  readonly value: unknown;
}

/** The entry as it was put; null if this is not it. */
export function unsealed(owner: string, unit: UnitId, { seal, commitId, hash, value }: Stored): Entry | null {
  if (typeof commitId !== "string" || !isCommitId(commitId)) return null;
  let entry: Entry;
  if (hash === null && value === null) entry = { version: { commitId, hash: null }, value: null };
  else if (typeof hash === "string" && isContentHash(hash) && value instanceof Uint8Array) {
    entry = { version: { commitId, hash }, value };
  } else return null;
  return seal === sealOf(owner, unit, entry.version) && isIntact(unit, entry) ? entry : null;
}
