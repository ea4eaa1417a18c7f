/**
 * Compares the items of a table with the entries of an index, both ways, while others write. A page of rows only says where to
 * look. A difference counts when one execution has read the item and the entry: what it reads is of one moment. If the item has
 * moved to another entry meanwhile, the next execution looks there.
 */
import {
  entryOfStored,
  type IndexDeclaration,
  isEntryKey,
  type Key,
  keySuccessor,
  ownerOfStored,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { batchesOf } from "./data-module.ts";

export interface StoredRow {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** A stored value with its place; null: there is none. */
export interface Found {
  readonly unit: UnitId;
  readonly value: Uint8Array | null;
}

/** The entry becomes the value, if it and the item are as they were found. */
export interface Correction {
  readonly item: Found;
  readonly entry: Found;
  readonly becomes: Uint8Array | null;
}

export interface CheckPorts {
  /** The first rows from a key on, as one moment has them. */
  rows(table: string, from: string): Promise<{ readonly rows: readonly StoredRow[]; readonly isLast: boolean }>;
  /** The values of one moment. */
  read(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Uint8Array | null>>;
  /** Says of each whether it was made. */
  correct(corrections: readonly Correction[]): Promise<readonly boolean[]>;
  told(difference: Difference): void;
  /** Hears of each page. */
  progress(done: Checked): void;
}

interface Differing {
  readonly index: IndexDeclaration;
  readonly entry: Key;
  readonly isCorrected: boolean;
}

/**
 * - `missing`: an item lacks its entry.
 * - `extra`: no item has the entry. `key`: of the item that it names; null: it names none.
 * - `duplicate`: another item has the same fields in a unique index, and has the entry.
 * - `too-long`: the fields are too long for an entry.
 */
export type Difference =
  | (Differing & { readonly kind: "missing" | "too-long"; readonly key: Key })
  | (Differing & { readonly kind: "extra"; readonly key: Key | null })
  | (Differing & { readonly kind: "duplicate"; readonly key: Key; readonly other: Key });

export interface Checked {
  readonly items: number;
  readonly entries: number;
  readonly differences: number;
  readonly corrected: number;
}

/** `isCorrecting`: whether entries are written and deleted. Ends early when it is told to, behind a page. */
export async function checkIndex(
  index: IndexDeclaration,
  ports: CheckPorts,
  isCorrecting: boolean,
  signal: AbortSignal,
): Promise<Checked> {
  const check = new IndexCheck(index, ports, isCorrecting, signal);
  // Entries that are wrong go first: one may be in the way of a right one.
  await check.entries();
  await check.items();
  return check.done;
}

/** An entry, and the item to compare it with; null: it names none. */
interface NamedItem {
  readonly entry: Key;
  readonly item: Key | null;
}

/** An item, the entry that it should have, and the item that has it instead, as far as that is known. */
interface OwnEntry {
  readonly item: Key;
  readonly entry: Key;
  readonly owner: Key | null;
}

class IndexCheck {
  readonly #index: IndexDeclaration;
  readonly #ports: CheckPorts;
  readonly #isCorrecting: boolean;
  readonly #signal: AbortSignal;
  done: Checked = { items: 0, entries: 0, differences: 0, corrected: 0 };

  constructor(index: IndexDeclaration, ports: CheckPorts, isCorrecting: boolean, signal: AbortSignal) {
    this.#index = index;
    this.#ports = ports;
    this.#isCorrecting = isCorrecting;
    this.#signal = signal;
  }

  /** Finds the entries that no item has. */
  entries(): Promise<void> {
    return this.#pages(this.#index.name, async (rows) => {
      let open = rows.map(({ key, value }): NamedItem => ({ entry: key, item: ownerOfStored(value) }));
      while (open.length > 0 && !this.#signal.aborted) open = await this.#compareEntries(open);
      this.done = { ...this.done, entries: this.done.entries + rows.length };
    });
  }

  /** Finds the items that lack their entry. */
  items(): Promise<void> {
    return this.#pages(this.#index.table, async (rows) => {
      let open = rows.flatMap(({ key, value }) => this.#entryOf(key, value));
      while (open.length > 0 && !this.#signal.aborted) open = await this.#compareItems(open);
      this.done = { ...this.done, items: this.done.items + rows.length };
    });
  }

  async #pages(table: string, each: (rows: readonly StoredRow[]) => Promise<void>): Promise<void> {
    for (let from: string = ""; !this.#signal.aborted;) {
      const { rows, isLast } = await this.#ports.rows(table, from);
      for (const batch of batchesOf(rows, ({ value }) => value.length)) await each(batch);
      this.#ports.progress(this.done);
      const last = rows.at(-1);
      if (isLast || last === undefined) return;
      from = keySuccessor(last.key);
    }
  }

  /** Gives those that were changed meanwhile. */
  async #compareEntries(open: readonly NamedItem[]): Promise<NamedItem[]> {
    const values = await this.#ports.read(
      open.flatMap(({ entry, item }) => [this.#entryUnit(entry), ...(item === null ? [] : [this.#itemUnit(item)])]),
    );
    const again: NamedItem[] = [];
    const extra: { readonly named: NamedItem; readonly correction: Correction }[] = [];
    for (const named of open) {
      const { entry, item } = named;
      const found = foundIn(values, this.#entryUnit(entry));
      if (found.value === null) continue;
      const owner = ownerOfStored(found.value);
      const ownerItem = owner === null ? found : foundIn(values, this.#itemUnit(owner));
      if (owner !== item) again.push({ entry, item: owner });
      else if (owner === null || entryOfStored(this.#index, owner, ownerItem.value)?.key !== entry)
        extra.push({ named, correction: { item: ownerItem, entry: found, becomes: null } });
    }
    const areMade = await this.#corrected(extra.map(({ correction }) => correction));
    extra.forEach(({ named }, at) => {
      const { entry, item: key } = named;
      if (this.#isCorrecting && areMade[at] !== true) again.push(named);
      else this.#tell({ kind: "extra", index: this.#index, entry, key, isCorrected: this.#isCorrecting });
    });
    return again;
  }

  /** Gives those that were changed meanwhile, and those with another owner to look at. */
  async #compareItems(open: readonly OwnEntry[]): Promise<OwnEntry[]> {
    const values = await this.#ports.read(
      open.flatMap(({ item, entry, owner }) => [
        this.#itemUnit(item),
        this.#entryUnit(entry),
        ...(owner === null ? [] : [this.#itemUnit(owner)]),
      ]),
    );
    const again: OwnEntry[] = [];
    const missing: { readonly own: OwnEntry; readonly correction: Correction }[] = [];
    for (const own of open) {
      const item = foundIn(values, this.#itemUnit(own.item));
      const wanted = entryOfStored(this.#index, own.item, item.value);
      if (wanted === null) continue;
      if (wanted.key !== own.entry) {
        again.push(...this.#entryOf(own.item, item.value));
        continue;
      }
      const entry = foundIn(values, this.#entryUnit(own.entry));
      const owner = ownerOfStored(entry.value);
      if (owner === own.item) continue;
      if (owner === null) missing.push({ own, correction: { item, entry, becomes: wanted.value } });
      else if (owner !== own.owner) again.push({ ...own, owner });
      else this.#tell(this.#withOwner(own, owner, values));
    }
    const areMade = await this.#corrected(missing.map(({ correction }) => correction));
    missing.forEach(({ own }, at) => {
      const { item: key, entry } = own;
      if (this.#isCorrecting && areMade[at] !== true) again.push({ ...own, owner: null });
      else this.#tell({ kind: "missing", index: this.#index, entry, key, isCorrected: this.#isCorrecting });
    });
    return again;
  }

  #withOwner({ item: key, entry }: OwnEntry, owner: Key, values: ReadonlyMap<UnitId, Uint8Array | null>): Difference {
    const common = { index: this.#index, entry, key, isCorrected: false } as const;
    const other = foundIn(values, this.#itemUnit(owner));
    const isOwn = entryOfStored(this.#index, owner, other.value)?.key === entry;
    return isOwn ? { ...common, kind: "duplicate", other: owner } : { ...common, kind: "missing" };
  }

  /** The entry that the item should have: one, or none. */
  #entryOf(item: Key, value: Uint8Array | null): readonly OwnEntry[] {
    const entry = entryOfStored(this.#index, item, value);
    if (entry === null) return [];
    if (isEntryKey(entry.key)) return [{ item, entry: entry.key, owner: null }];
    this.#tell({ kind: "too-long", index: this.#index, entry: entry.key, key: item, isCorrected: false });
    return [];
  }

  async #corrected(corrections: readonly Correction[]): Promise<readonly boolean[]> {
    return this.#isCorrecting && corrections.length > 0 ? this.#ports.correct(corrections) : [];
  }

  #tell(difference: Difference): void {
    const { differences, corrected } = this.done;
    this.done = {
      ...this.done,
      differences: differences + 1,
      corrected: corrected + (difference.isCorrected ? 1 : 0),
    };
    this.#ports.told(difference);
  }

  #itemUnit(key: Key): UnitId {
    return unitId(this.#index.table, key);
  }

  #entryUnit(key: Key): UnitId {
    return unitId(this.#index.name, key);
  }
}

function foundIn(values: ReadonlyMap<UnitId, Uint8Array | null>, unit: UnitId): Found {
  return { unit, value: values.get(unit) ?? null };
}
