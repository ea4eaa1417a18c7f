/**
 * The scans that an isolate was asked for lately. A cache behind its memory finds rows by the query only, so each change of rows
 * is written there for each query around them.
 */
import {
  contains,
  isBelow,
  isSpan,
  type KeyInterval,
  type Query,
  type Span,
  spanOf,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import { isScanUnit, scanUnit } from "../core/directories.ts";

export interface AskedScan {
  readonly span: Span;
  /** Rows that matter, from the start of the interval and from its end. */
  readonly most: { readonly first: number; readonly last: number };
}

const MOST_SCANS = 256;
/** Most scans that are written after one change: the newest. */
const MOST_AROUND = 8;
/** Rows beside those that were asked for, so that some may be deleted. */
const SPARE_ROWS = 8;

export class AskedScans {
  /** In the order of their last use. */
  readonly #asked = new Map<UnitId, AskedScan>();

  add(query: Query): void {
    const unit = scanUnit(query);
    const { kind, table, lo, hi } = query;
    const before = this.#asked.get(unit)?.most ?? { first: 0, last: 0 };
    const rows = query.kind === "rows" ? query.limit + SPARE_ROWS : 0;
    const isLast = query.kind === "rows" && query.isReversed;
    const most = isLast
      ? { ...before, last: Math.max(before.last, rows) }
      : { ...before, first: Math.max(before.first, rows) };
    this.#asked.delete(unit);
    this.#asked.set(unit, { span: { kind, table, lo, hi }, most });
    for (const first of this.#asked.keys()) {
      if (this.#asked.size <= MOST_SCANS) break;
      this.#asked.delete(first);
    }
  }

  /** The scans that may have rows of these items and spans. */
  around(units: readonly UnitId[]): readonly AskedScan[] {
    if (this.#asked.size === 0) return [];
    const changed = units.map(touchedBy);
    const found = [...this.#asked.values()].filter(({ span }) => changed.some((overlaps) => overlaps(span)));
    return found.slice(-MOST_AROUND);
  }
}

function touchedBy(unit: UnitId): (span: Span) => boolean {
  // It came from behind.
  if (isScanUnit(unit)) return () => false;
  const changed = isSpan(unit) ? spanOf(unit) : null;
  if (changed !== null) return (span) => span.kind === changed.kind && intersects(span, changed);
  const { table, key } = splitUnit(unit);
  return (span) => span.table === table && contains(span, key);
}

function intersects(a: KeyInterval, b: KeyInterval): boolean {
  return a.table === b.table && isBelow(a.lo, b.hi) && isBelow(b.lo, a.hi);
}
