/**
 * Units: two of them *overlap* if a change of one can change the other. Items overlap only themselves, so a {@link UnitMap}
 * of items is a `Map`. Locks, loads under way and the registry of listeners ask a `UnitMap` for overlaps and compare no
 * units themselves. So units that name several items need another map and nothing else.
 */
import type { UnitId } from "./ids.ts";

/** Whether a change of one unit can change the other. */
export function overlaps(a: UnitId, b: UnitId): boolean {
  return a === b;
}

/** A map by unit that also finds the kept units which overlap a given one. */
export interface UnitMap<Value> extends Iterable<readonly [UnitId, Value]> {
  readonly size: number;
  get(unit: UnitId): Value | undefined;
  set(unit: UnitId, value: Value): void;
  /** Whether the unit was there. */
  delete(unit: UnitId): boolean;
  /** The kept units that overlap the unit, each with its value. Later changes of the map do not show in it. */
  overlapping(unit: UnitId): readonly (readonly [UnitId, Value])[];
  /** Whether a kept unit overlaps the unit. */
  hasOverlapping(unit: UnitId): boolean;
}

const NONE: readonly never[] = [];

/** Units that are items. */
export class ItemMap<Value> implements UnitMap<Value> {
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
    const value = this.#values.get(unit);
    return value === undefined && !this.#values.has(unit) ? NONE : [[unit, value as Value]];
  }

  hasOverlapping(unit: UnitId): boolean {
    return this.#values.has(unit);
  }

  [Symbol.iterator](): Iterator<readonly [UnitId, Value]> {
    return this.#values[Symbol.iterator]();
  }
}
