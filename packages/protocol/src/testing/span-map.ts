/**
 * Units that name several items, for tests of everything that works on a {@link UnitMap}. Beside items `table/key` there
 * are the spans `table:v<low>…<high>`: all keys from `low` to `high`, without `high`.
 */
import { compareKeys, type Key, splitUnit, type UnitId, type UnitMap } from "../index.ts";

interface Extent {
  readonly table: string;
  readonly low: Key;
  /** Null: it is an item. */
  readonly high: Key | null;
}

export function spanOf(table: string, low: string, high: string): UnitId {
  return `${table}:v${low}…${high}` as UnitId;
}

function extentOf(unit: UnitId): Extent {
  const found = /^(?<table>[^/:]*):v(?<low>.*)…(?<high>.*)$/s.exec(unit)?.groups;
  if (found !== undefined) return { table: found["table"]!, low: found["low"] as Key, high: found["high"] as Key };
  const { table, key } = splitUnit(unit);
  return { table, low: key, high: null };
}

/** Whether the units have an item in common; so an empty span overlaps nothing but itself. */
export function spansOverlap(a: UnitId, b: UnitId): boolean {
  if (a === b) return true;
  const [x, y] = [extentOf(a), extentOf(b)];
  if (x.table !== y.table) return false;
  if (x.high === null) return y.high !== null && isWithin(x.low, y.low, y.high);
  if (y.high === null) return isWithin(y.low, x.low, x.high);
  const low = compareKeys(x.low, y.low) > 0 ? x.low : y.low;
  return compareKeys(low, x.high) < 0 && compareKeys(low, y.high) < 0;
}

function isWithin(key: Key, low: Key, high: Key): boolean {
  return compareKeys(low, key) <= 0 && compareKeys(key, high) < 0;
}

/** Goes through all units that it keeps. */
export class SpanMap<Value> implements UnitMap<Value> {
  readonly #values = new Map<UnitId, Value>();

  get size(): number {
    return this.#values.size;
  }

  get(unit: UnitId): Value | undefined {
    return this.#values.get(unit);
  }

  set(unit: UnitId, value: Value): void {
    this.#values.set(unit, value);
  }

  delete(unit: UnitId): boolean {
    return this.#values.delete(unit);
  }

  overlapping(unit: UnitId): readonly (readonly [UnitId, Value])[] {
    return [...this.#values].filter(([kept]) => spansOverlap(kept, unit));
  }

  hasOverlapping(unit: UnitId): boolean {
    return this.overlapping(unit).length > 0;
  }

  [Symbol.iterator](): Iterator<readonly [UnitId, Value]> {
    return this.#values[Symbol.iterator]();
  }
}
