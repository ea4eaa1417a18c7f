/**
 * Entries on their way to a worker thread. A run of a range may have a thousand of them. An array of each part and one buffer
 * are copied in a quarter of the time that as many objects take.
 */
import type { CommitId, ContentHash, Entry, UnitId } from "@radical/protocol";

export interface PackedEntries {
  readonly units: readonly UnitId[];
  readonly commitIds: readonly CommitId[];
  readonly hashes: readonly (ContentHash | null)[];
  /** In bytes; -1: the item is absent. */
  readonly lengths: Int32Array;
  /** The values, one after the other, in a buffer of their own. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function pack(entries: ReadonlyMap<UnitId, Entry>): PackedEntries {
  let size = 0;
  for (const { value } of entries.values()) size += value?.length ?? 0;
  const bytes = new Uint8Array(size);
  const lengths = new Int32Array(entries.size);
  const units: UnitId[] = [];
  const commitIds: CommitId[] = [];
  const hashes: (ContentHash | null)[] = [];
  let at = 0;
  for (const [unit, { version, value }] of entries) {
    lengths[units.length] = value?.length ?? -1;
    units.push(unit);
    commitIds.push(version.commitId);
    hashes.push(version.hash);
    if (value !== null) bytes.set(value, at);
    at += value?.length ?? 0;
  }
  return { units, commitIds, hashes, lengths, bytes };
}

/** Adds the entries to others. */
export function unpack({ units, commitIds, hashes, lengths, bytes }: PackedEntries, into: Map<UnitId, Entry>): void {
  let at = 0;
  for (const [index, unit] of units.entries()) {
    const length = lengths[index]!;
    const value = length < 0 ? null : bytes.subarray(at, (at += length));
    into.set(unit, { version: { commitId: commitIds[index]!, hash: hashes[index]! }, value });
  }
}
