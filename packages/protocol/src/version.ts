/**
 * Versions: how two places find out that they hold the same value of a unit without sending it.
 */
import { contentHash, type ContentHash } from "./content-hash.ts";
import type { CommitId, UnitId } from "./ids.ts";

export interface Version {
  /** The execution that last changed the unit; for an absent unit a commit id as of which it was absent. */
  readonly commitId: CommitId;
  /** Binds the version to its content, so that a corrupt or diverged cache fails validation. Null: absent. */
  readonly hash: ContentHash | null;
}

/** The value of a unit, null if it is absent, with its version. */
export interface Entry {
  readonly version: Version;
  readonly value: Uint8Array | null;
}

export interface Write {
  readonly unit: UnitId;
  /** Null deletes the item. */
  readonly value: Uint8Array | null;
}

/** A fresh entry that a reply brings to the cache. */
export interface Repair {
  readonly unit: UnitId;
  readonly entry: Entry;
}

/** Absent equals absent whatever the commit ids: the value is the same, and tombstones need not be kept forever. */
export function sameVersion(a: Version, b: Version): boolean {
  if (a.hash === null || b.hash === null) return a.hash === b.hash;
  return a.commitId === b.commitId && a.hash === b.hash;
}

export function entryOf(commit: CommitId, value: Uint8Array | null): Entry {
  return { version: { commitId: commit, hash: value === null ? null : contentHash(value) }, value };
}

/** Whether the bytes of an entry are those its version names. */
export function isIntact(entry: Entry): boolean {
  return entry.value === null ? entry.version.hash === null : entry.version.hash === contentHash(entry.value);
}
