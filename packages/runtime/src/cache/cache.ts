/**
 * The cache of a location: entries by unit. It is never trusted. Validation at the primary decides whether an entry is
 * current, so a cache may lose, forget or garble anything and only costs latency.
 *
 * Of spans, memory keeps directories, whatever span they came with (`core/directories.ts`). A cache behind it keeps them by query,
 * under the unit that `scanUnit` gives.
 */
import { compareCommits, type Entry, type UnitId, type Version } from "@radical/protocol";
import { isScanUnit } from "../core/directories.ts";
import type { CachePut } from "../core/effects.ts";
import type { KnownRows } from "../core/span-look.ts";

/** Every implementation runs `cache-conformance.ts`; what one can't is declared there, with the reason. */
export interface Cache {
  /** The entry, if it can be had without waiting; undefined: not in memory, though the cache may hold it. */
  peek(unit: UnitId): Entry | undefined;
  /** The directories that can be had without waiting. */
  readonly directories: KnownRows;
  /**
   * One batch. It leaves out units that are not held, are damaged or can't be had now; it never rejects. For the unit of a scan,
   * memory learns the rows, and their items are in the batch too.
   */
  getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>>;
  /** One batch; each entry is taken or not by {@link takes}. May forget anything at any time; it never rejects. */
  putMany(puts: readonly CachePut[]): Promise<void>;
}

/**
 * Whether a cache that holds `held` takes the put. It goes only forward in the order of commits, so that a late repair
 * can't undo a newer write.
 *
 * With equal commit ids a value is taken. It replaces a garbled copy of itself, or an absence that was read while that
 * commit was still under way.
 */
export function takes(held: Version | undefined, { unit, entry: { version }, disproved }: CachePut): boolean {
  // Memory has put together what it knows of a scan, so this is not older.
  if (isScanUnit(unit)) return true;
  if (held === undefined || compareCommits(version.commitId, held.commitId) > 0) return true;
  if (version.commitId === held.commitId && version.hash !== null) return true;
  return disproved !== undefined && held.commitId === disproved.commitId && held.hash === disproved.hash;
}

/** Of a cache that is not in memory. */
export const NOTHING_KNOWN: KnownRows = { walk: () => undefined, rowsOf: () => undefined, count: () => undefined };
