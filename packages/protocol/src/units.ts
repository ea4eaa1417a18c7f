/**
 * Units: two of them *overlap* if a change of one can change the other. A span overlaps the items of its table whose keys are
 * in its interval. Nobody changes a span itself, so two spans overlap only if they are the same. Locks and the registry of
 * listeners ask a {@link UnitMap} for overlaps, and compare no units themselves.
 */
import { splitUnit, tableOf, type UnitId } from "./ids.ts";
import { IntervalTree, type NamedInterval } from "./interval-tree.ts";
import { present } from "./invariant.ts";
import { contains, isSpan, type KeyInterval, keySuccessor, type Span, spanOf } from "./span.ts";

/** Whether a change of one unit can change the other. */
export function overlaps(a: UnitId, b: UnitId): boolean {
  if (a === b) return true;
  const isSpanA = isSpan(a);
  if (isSpanA === isSpan(b)) return false;
  const [span, item] = isSpanA ? [spanIn(a), b] : [spanIn(b), a];
  const { table, key } = splitUnit(item);
  return span.table === table && contains(span, key);
}

function spanIn(unit: UnitId): Span {
  return present(spanOf(unit), "a unit with a colon in its table is a span");
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

/** Items only. */
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

/** The kept units of one table, by interval. */
interface TableUnits {
  readonly spans: IntervalTree;
  /** Null: nobody has asked for the items of a span of the table. */
  items: IntervalTree | null;
}

/** Tables whose units stay in order while no span of theirs is kept. */
const MOST_IDLE_TABLES = 64;

/** Items and spans. Tables without spans cost as much as in an {@link ItemMap}. */
export class SpanMap<Value> implements UnitMap<Value> {
  readonly #values = new Map<UnitId, Value>();
  /** Of the tables of which a span was kept or asked for. */
  readonly #tables = new Map<string, TableUnits>();

  get size(): number {
    return this.#values.size;
  }

  get(unit: UnitId): Value | undefined {
    return this.#values.get(unit);
  }

  set(unit: UnitId, value: Value): void {
    if (!this.#values.has(unit)) this.#indexOf(unit, isSpan(unit))?.add(intervalOf(unit));
    this.#values.set(unit, value);
  }

  delete(unit: UnitId): boolean {
    if (!this.#values.delete(unit)) return false;
    this.#indexOf(unit, false)?.delete(intervalOf(unit));
    if (this.#tables.size > MOST_IDLE_TABLES) this.#forgetIdle(tableOf(unit));
    return true;
  }

  overlapping(unit: UnitId): readonly (readonly [UnitId, Value])[] {
    const others = this.#others(unit);
    const value = this.#values.get(unit);
    const isKept = value !== undefined || this.#values.has(unit);
    if (others.length === 0) return isKept ? [[unit, value as Value]] : NONE;
    const found: (readonly [UnitId, Value])[] = isKept ? [[unit, value as Value]] : [];
    for (const other of others) found.push([other, this.#values.get(other) as Value]);
    return found;
  }

  hasOverlapping(unit: UnitId): boolean {
    return this.#values.has(unit) || this.#others(unit).length > 0;
  }

  /** The kept spans that share a place with the interval, in the order of their lower bounds, each with its value. */
  meeting({ table, lo, hi }: KeyInterval): readonly (readonly [UnitId, Value])[] {
    const spans = this.#tables.get(table)?.spans;
    if (spans === undefined || spans.isEmpty) return NONE;
    return spans.meeting(lo, hi).map((span) => [span, this.#values.get(span) as Value] as const);
  }

  [Symbol.iterator](): Iterator<readonly [UnitId, Value]> {
    return this.#values[Symbol.iterator]();
  }

  /** The spans around an item, or the items in a span. */
  #others(unit: UnitId): readonly UnitId[] {
    if (isSpan(unit)) {
      const { lo, hi } = spanIn(unit);
      return this.#itemsOf(tableOf(unit)).meeting(lo, hi);
    }
    if (this.#tables.size === 0) return NONE;
    const spans = this.#tables.get(tableOf(unit))?.spans;
    if (spans === undefined || spans.isEmpty) return NONE;
    const { key } = splitUnit(unit);
    return spans.meeting(key, keySuccessor(key));
  }

  #itemsOf(table: string): IntervalTree {
    const units = this.#tableUnits(table);
    if (units.items !== null) return units.items;
    const items = new IntervalTree();
    for (const unit of this.#values.keys()) if (!isSpan(unit) && tableOf(unit) === table) items.add(intervalOf(unit));
    return (units.items = items);
  }

  #tableUnits(table: string): TableUnits {
    let units = this.#tables.get(table);
    if (units === undefined) this.#tables.set(table, (units = { spans: new IntervalTree(), items: null }));
    return units;
  }

  /** Null: the units of the table are in no order. */
  #indexOf(unit: UnitId, makes: boolean): IntervalTree | null {
    if (makes) return this.#tableUnits(tableOf(unit)).spans;
    if (this.#tables.size === 0) return null;
    const units = this.#tables.get(tableOf(unit));
    if (units === undefined) return null;
    return isSpan(unit) ? units.spans : units.items;
  }

  #forgetIdle(table: string): void {
    const units = this.#tables.get(table);
    if (units?.spans.isEmpty === true && units.items?.isEmpty !== false) this.#tables.delete(table);
  }
}

function intervalOf(unit: UnitId): NamedInterval {
  if (isSpan(unit)) {
    const { lo, hi } = spanIn(unit);
    return { name: unit, lo, hi };
  }
  const { key } = splitUnit(unit);
  return { name: unit, lo: key, hi: keySuccessor(key) };
}
