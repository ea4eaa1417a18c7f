/**
 * The units that a purge of a table, or of an item, takes out of a cache. Entries of indexes and rows of scans name fields and keys,
 * and nobody knows which of them are of the item. So all of those of its table go.
 */
import { type UnitId, unitId } from "@radical/protocol";
import { SCAN_TABLE } from "../core/directories.ts";

export interface PurgePart {
  readonly table: string;
  /** Null: all items of the table. */
  readonly key: string | null;
}

/** The beginnings of the units, and one whole unit: that of the item, if only one goes. */
export function purgedUnits({ table, key }: PurgePart): {
  readonly beginnings: readonly string[];
  readonly unit: UnitId | null;
} {
  const indexes = [`${table}.`, `${table}=`];
  const derived = [...indexes, ...[`${table}:`, ...indexes].map((beginning) => `${SCAN_TABLE}${beginning}`)];
  return key === null
    ? { beginnings: [`${table}/`, ...derived], unit: null }
    : { beginnings: derived, unit: unitId(table, key) };
}

/** Whether a purge takes the unit. */
export function isPurged(part: PurgePart, unit: string): boolean {
  const { beginnings, unit: whole } = purgedUnits(part);
  return unit === whole || beginnings.some((beginning) => unit.startsWith(beginning));
}
