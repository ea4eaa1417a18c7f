/**
 * Versions: how two places find out that they hold the same value of a unit without sending it.
 */
import { contentHash, type ContentHash } from "./content-hash.ts";
import type { CommitId, UnitId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  contains,
  countHash,
  decodeCount,
  decodeDirectory,
  digestOf,
  type DirectoryRow,
  encodeCount,
  encodeDirectory,
  isSpan,
  type Span,
  spanOf,
} from "./span.ts";

export interface Version {
  /** The execution that last changed the unit; for an absent unit, and for a span, a commit id as of which it was so. */
  readonly commitId: CommitId;
  /** Binds the version to its content, so that a corrupt or diverged cache fails validation. Null: absent. Of a span: its digest. */
  readonly hash: ContentHash | null;
}

/** The value of a unit, null if it is absent, with its version. The value of a span is its directory, or its number of rows. */
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

/**
 * Whether two versions of the unit are the same. Absent equals absent whatever the commit ids: the value is the same, and
 * tombstones need not be kept forever. The commit id of a span only says as of when it is, so spans compare hashes alone.
 */
export function sameVersion(unit: UnitId, a: Version, b: Version): boolean {
  if (a.hash === null || b.hash === null) return a.hash === b.hash;
  return a.hash === b.hash && (a.commitId === b.commitId || isSpan(unit));
}

export function entryOf(commit: CommitId, value: Uint8Array | null): Entry {
  return { version: { commitId: commit, hash: value === null ? null : contentHash(value) }, value };
}

/** The entry of a span of rows as of a commit id. */
export function directoryEntry(asOf: CommitId, rows: readonly DirectoryRow[]): Entry {
  return { version: { commitId: asOf, hash: digestOf(rows) }, value: encodeDirectory(rows) };
}

/** The entry of a span of kind `count` as of a commit id. */
export function countEntry(asOf: CommitId, count: number): Entry {
  return { version: { commitId: asOf, hash: countHash(count) }, value: encodeCount(count) };
}

/** Whether the bytes of an entry are those its version names. */
export function isIntact(unit: UnitId, { version, value }: Entry): boolean {
  const span = isSpan(unit) ? spanOf(unit) : null;
  if (span !== null) return value !== null && isIntactSpan(span, version, value);
  return value === null ? version.hash === null : version.hash === contentHash(value);
}

function isIntactSpan(span: Span, { hash }: Version, value: Uint8Array): boolean {
  try {
    if (span.kind === "count") return hash === countHash(decodeCount(value));
    const rows = decodeDirectory(value);
    return hash === digestOf(rows) && rows.every(({ key }) => contains(span, key));
  } catch (error) {
    if (error instanceof MalformedError) return false;
    throw error;
  }
}
