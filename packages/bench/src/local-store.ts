/** Data in memory that one isolate has for itself: each step is done at once. */
import {
  compareKeys,
  contains,
  type Key,
  type KeyInterval,
  SpanMap,
  splitUnit,
  unitId,
  type UnitId,
} from "@radical/protocol";
import { lastVersion, type ScannedRow, valueOfCount, valuesOfRows } from "./scanned.ts";
import type { Access, Accessed, StoredValue } from "./store-messages.ts";

const ABSENT: StoredValue = { version: 0, value: null };

export class LocalStore {
  readonly #values = new Map<UnitId, StoredValue>();
  /** By table, in their order. */
  readonly #keys = new Map<string, Key[]>();
  /** Positions of the last writes of items. */
  readonly #versions = new SpanMap<number>();
  #position = 0;

  /** What is there from the beginning. */
  fill(items: Access["writes"]): void {
    for (const [unit, value] of items) this.#put(unit, { version: 0, value });
  }

  // oxlint-disable-next-line typescript/require-await -- the other storage waits
  async access({ reads, queries, expects, writes }: Access): Promise<Accessed> {
    for (const [unit, version] of expects) if (lastVersion(this.#versions, unit) !== version) return null;
    const values = new Map(reads.map((unit) => [unit, this.#values.get(unit) ?? ABSENT]));
    const versionOf = (unit: UnitId): number => lastVersion(this.#versions, unit);
    for (const query of queries) {
      const keys = this.#keysIn(query);
      if (query.kind === "count") {
        values.set(...valueOfCount(query, keys.length, versionOf));
        continue;
      }
      const walked = (query.isReversed ? keys.toReversed() : keys).slice(0, query.limit);
      const rows = walked.map((key) => ({ key, ...this.#values.get(unitId(query.table, key))! }) as ScannedRow);
      for (const [unit, value] of valuesOfRows(query, rows, versionOf)) values.set(unit, value);
    }
    if (writes.size > 0) this.#position++;
    for (const [unit, value] of writes) {
      this.#put(unit, { version: this.#position, value });
      this.#versions.set(unit, this.#position);
    }
    return { position: this.#position, values };
  }

  #put(unit: UnitId, stored: StoredValue): void {
    const wasThere = (this.#values.get(unit)?.value ?? null) !== null;
    this.#values.set(unit, stored);
    if (wasThere === (stored.value !== null)) return;
    const { table, key } = splitUnit(unit);
    let keys = this.#keys.get(table);
    if (keys === undefined) this.#keys.set(table, (keys = []));
    const at = placeOf(keys, (one) => compareKeys(one, key) < 0);
    if (wasThere) keys.splice(at, 1);
    else keys.splice(at, 0, key);
  }

  #keysIn(interval: KeyInterval): readonly Key[] {
    const keys = this.#keys.get(interval.table) ?? [];
    const from = placeOf(keys, (key) => compareKeys(key, interval.lo as Key) < 0);
    const rest = keys.slice(from);
    return rest.slice(
      0,
      placeOf(rest, (key) => contains(interval, key)),
    );
  }
}

/** How many keys of a list, of which only the first ones are meant, are meant. */
function placeOf(keys: readonly Key[], isMeant: (key: Key) => boolean): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isMeant(keys[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
