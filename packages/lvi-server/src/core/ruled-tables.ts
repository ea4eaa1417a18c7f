/** The rules of tables that the application's current module states. They hold for all requests, whatever module these name. */
import { indexOf, type RulesByTable, type TableRules, tableOf, type UnitId } from "@radical/protocol";

export class RuledTables {
  readonly #private: ReadonlySet<string>;
  readonly #audited: ReadonlySet<string>;

  constructor(rules: RulesByTable = {}) {
    const named = (has: (rule: TableRules) => boolean): ReadonlySet<string> =>
      new Set(Object.entries(rules).flatMap(([table, rule]) => (has(rule) ? [table] : [])));
    this.#private = named(({ isPrivate }) => isPrivate);
    this.#audited = named(({ isAudited }) => isAudited);
  }

  /** Whether nothing of the unit may be at a location. */
  isPrivate(unit: UnitId): boolean {
    return this.#private.size > 0 && this.#private.has(tableBehind(unit));
  }

  /** Whether each followup that writes the unit is audited. */
  isAudited(unit: UnitId): boolean {
    return this.#audited.size > 0 && this.#audited.has(tableBehind(unit));
  }
}

/** Stands for each unit of its table, where a location is told that something has changed. */
export function veiled(unit: UnitId): UnitId {
  return `${tableOf(unit)}/~` as UnitId;
}

/** The table of the item, or the one that an entry's index is of. */
function tableBehind(unit: UnitId): string {
  const table = tableOf(unit);
  return indexOf(table)?.table ?? table;
}
