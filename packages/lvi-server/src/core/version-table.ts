/**
 * The version table: versions and values of hot units. The server owns all writes to its storage. So the versions in the
 * table are authoritative, and validating hot units reads no storage.
 *
 * Two things could make it wrong, and it excludes both. A load that was overtaken by an apply must not bring back the old
 * value. A load that runs beside an apply must not show one of its writes before the others. So a unit that is being
 * applied is *unsettled*: loads of it under way are ignored, and new ones wait until it is settled.
 */
import {
  type CommitId,
  type Entry,
  entryOf,
  ItemMap,
  NO_COMMIT,
  type UnitId,
  type UnitMap,
  type Version,
  type Write,
} from "@radical/protocol";
import { EntryLog } from "./entry-log.ts";

/** An item as storage returned it. */
export interface StoredItem {
  readonly commitId: CommitId;
  readonly value: Uint8Array;
}

export class VersionTable {
  readonly #entries: EntryLog;
  /** Loads under way, each with the units whose answer is still wanted. */
  readonly #loads = new Map<number, UnitMap<true>>();
  /** How many applies of the unit are under way. */
  readonly #unsettled: UnitMap<number> = new ItemMap();

  constructor(maxBytes: number, seed: number) {
    this.#entries = new EntryLog(maxBytes, seed);
  }

  /** How many units it holds, and the memory that they take. */
  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#entries.bytes;
  }

  /** The unit's entry, if the table holds it. The version of an absent unit has the commit id that deleted it, if known. */
  get(unit: UnitId): Entry | undefined {
    return this.#entries.get(unit);
  }

  /** Whether the table holds the unit, and in the same version. */
  isCurrent(unit: UnitId, version: Version): boolean {
    return this.#entries.holds(unit, version);
  }

  missing(units: Iterable<UnitId>): readonly UnitId[] {
    const missing: UnitId[] = [];
    for (const unit of units) if (!this.#entries.has(unit)) missing.push(unit);
    return missing;
  }

  isUnsettled(unit: UnitId): boolean {
    // variant: unsettled-unit
    return this.#unsettled.hasOverlapping(unit);
  }

  /** The item that storage holds of a unit that nobody writes meanwhile; null: it is absent. */
  found(unit: UnitId, item: StoredItem | null): void {
    this.#entries.put(unit, item === null ? entryOf(NO_COMMIT, null) : entryOf(item.commitId, item.value));
  }

  loadStarted(operation: number, units: Iterable<UnitId>): void {
    const wanted = new ItemMap<true>();
    for (const unit of units) wanted.set(unit, true);
    this.#loads.set(operation, wanted);
  }

  /** Takes what a load found; units that it did not find are absent. */
  loadEnded(operation: number, items: ReadonlyMap<UnitId, StoredItem>): void {
    for (const [unit] of this.#loads.get(operation) ?? []) this.found(unit, items.get(unit) ?? null);
    this.#loads.delete(operation);
  }

  loadFailed(operation: number): void {
    this.#loads.delete(operation);
  }

  /** The writes are on their way to storage: nobody can tell whether a load sees them. */
  applyStarted(writes: readonly Write[]): void {
    for (const { unit } of writes) {
      this.#unsettled.set(unit, (this.#unsettled.get(unit) ?? 0) + 1);
      // variant: overtaken-load
      for (const load of this.#loads.values()) for (const [loaded] of load.overlapping(unit)) load.delete(loaded);
    }
  }

  /** The writes are in storage. */
  applied(commitId: CommitId, writes: readonly Write[]): void {
    this.applyFailed(writes);
    for (const { unit, value } of writes) this.#entries.put(unit, entryOf(commitId, value));
  }

  /** The writes are not in storage and will not be. */
  applyFailed(writes: readonly Write[]): void {
    for (const { unit } of writes) {
      const count = this.#unsettled.get(unit) ?? 0;
      if (count > 1) this.#unsettled.set(unit, count - 1);
      else this.#unsettled.delete(unit);
    }
  }

  /** Forgets what it has no room for; called between steps, so that a step sees what it loaded. */
  evict(): void {
    this.#entries.shrink();
  }
}
