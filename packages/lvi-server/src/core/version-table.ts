/**
 * The version table: versions and values of hot units. The server owns all writes to its storage. So the versions in the
 * table are authoritative, and validating hot units reads no storage.
 *
 * Two things could make it wrong, and it excludes both. A load that was overtaken by an apply must not bring back the old
 * value. A load that runs beside an apply must not show one of its writes before the others. So a unit that is being
 * applied is *unsettled*: loads of it under way are ignored, and new ones wait until it is settled.
 *
 * The versions of spans are computed: see `range-table.ts`. Both tables change in the same step, so they agree in each step.
 */
import {
  type CommitId,
  type Entry,
  entryOf,
  isKey,
  isSpan,
  ItemMap,
  keySuccessor,
  maxKeyBytes,
  NO_COMMIT,
  type Span,
  spanOf,
  type UnitId,
  unitId,
  type UnitMap,
  type Version,
  type Write,
} from "@radical/protocol";
import { EntryLog } from "./entry-log.ts";
import { type Hole, RangeTable, type StoredRow } from "./range-table.ts";

/** An item as storage returned it. */
export interface StoredItem {
  readonly commitId: CommitId;
  readonly value: Uint8Array;
}

/** The part of memory that the rows of ranges may take. */
const RANGES_PART = 1 / 2;

export class VersionTable {
  readonly #entries: EntryLog;
  /** The rows of tables, as far as somebody has walked them. */
  readonly ranges: RangeTable;
  /** Loads under way, each with the units whose answer is still wanted. */
  readonly #loads = new Map<number, UnitMap<true>>();
  /** How many applies of the unit are under way. */
  readonly #unsettled: UnitMap<number> = new ItemMap();

  constructor(maxBytes: number, seed: number) {
    this.#entries = new EntryLog(maxBytes, seed);
    this.ranges = new RangeTable(maxBytes * RANGES_PART);
  }

  /** How many units it holds, and the memory that they take. */
  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#entries.bytes + this.ranges.bytes;
  }

  /** The item's entry, if the table holds it. The version of an absent item has the commit id that deleted it, if known. */
  get(unit: UnitId): Entry | undefined {
    return this.#entries.get(unit);
  }

  /** Names the last write of the item, as far as the table knows; null of a span too. */
  commitOf(unit: UnitId): CommitId | null {
    return isSpan(unit) ? null : (this.#entries.get(unit)?.version.commitId ?? null);
  }

  /** Whether the table holds the unit, and in the same version: see `sameVersion`. */
  isCurrent(unit: UnitId, version: Version): boolean {
    const span = spanIn(unit);
    if (span === null) return this.#entries.holds(unit, version);
    const hash = this.ranges.hashOf(span);
    // variant: span-compared
    return hash !== null && hash === version.hash;
  }

  /** The items among the units that the table lacks. */
  missing(units: Iterable<UnitId>): readonly UnitId[] {
    const missing: UnitId[] = [];
    for (const unit of units) if (!this.#entries.has(unit) && !isSpan(unit)) missing.push(unit);
    return missing;
  }

  /** The first hole in one of the spans among the units; null: there is none. */
  holeIn(units: Iterable<UnitId>): Hole | null {
    for (const unit of units) {
      const span = spanIn(unit);
      // variant: span-hole
      const hole = span === null ? null : this.ranges.holeIn(span, false);
      if (hole !== null) return hole;
    }
    return null;
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
    this.ranges.loadFailed(operation);
  }

  /** The item of a hole of one key, if it is being applied: its row comes with that. */
  unsettledIn({ table, lo, hi }: Hole): UnitId | null {
    if (hi !== keySuccessor(lo) || !isKey(lo, maxKeyBytes(table))) return null;
    const unit = unitId(table, lo);
    return this.isUnsettled(unit) ? unit : null;
  }

  scanStarted(operation: number, hole: Hole): void {
    this.ranges.loadStarted(
      operation,
      hole,
      Array.from(this.#unsettled, ([unit]) => unit),
    );
  }

  /** Takes the rows that a scan of the hole found, at most `limit`, and their values if somebody wants these. */
  scanEnded(operation: number, rows: readonly StoredRow[], limit: number, keepsValues: boolean): void {
    const taken = this.ranges.loadEnded(operation, rows, limit);
    if (keepsValues) for (const { unit, entry } of taken) this.#entries.put(unit, entry);
  }

  /** The writes are on their way to storage: nobody can tell whether a load sees them. */
  applyStarted(writes: readonly Write[]): void {
    for (const { unit } of writes) {
      this.#unsettled.set(unit, (this.#unsettled.get(unit) ?? 0) + 1);
      // variant: overtaken-load
      for (const load of this.#loads.values()) for (const [loaded] of load.overlapping(unit)) load.delete(loaded);
    }
    this.ranges.applyStarted(writes);
  }

  /** The writes are in storage. */
  applied(commitId: CommitId, writes: readonly Write[]): void {
    this.applyFailed(writes);
    for (const { unit, value } of writes) this.#entries.put(unit, entryOf(commitId, value));
    this.ranges.applied(commitId, writes);
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
    this.ranges.evict();
    this.#entries.shrink(this.ranges.bytes);
  }
}

function spanIn(unit: UnitId): Span | null {
  return isSpan(unit) ? spanOf(unit) : null;
}
