/** For tests: the entries of indexes that the items of a store have. */
import { indexEntryOf, splitUnit, unitId, type IndexDeclaration, type UnitId } from "@radical/protocol";

/** The items, of which a later one counts, with their entries behind them. */
export function withEntries(
  indexes: readonly IndexDeclaration[],
  items: Iterable<readonly [UnitId, Uint8Array]>,
): [UnitId, Uint8Array][] {
  const last = new Map(items);
  return [...last, ...entriesOf(indexes, last)];
}

/** The entries that the items have. */
export function entriesOf(
  indexes: readonly IndexDeclaration[],
  items: Iterable<readonly [string, Uint8Array]>,
): [UnitId, Uint8Array][] {
  const found: [UnitId, Uint8Array][] = [];
  for (const [unit, value] of items) {
    const { table, key } = splitUnit(unit as UnitId);
    for (const index of indexes) {
      const entry = index.table === table ? indexEntryOf(index, key, value) : null;
      if (entry !== null) found.push([unitId(index.name, entry.key), entry.value]);
    }
  }
  return found;
}
