/**
 * One page of the build of an index, or of its end: which rows it goes over, and what it writes. Pure: the core captures the values,
 * and commits the page under locks of all that it has read. A page that meets a change runs again.
 */
import {
  CborReader,
  type DirectoryRow,
  type Entry,
  entryOfStored,
  type IndexDeclaration,
  isEntryKey,
  type Key,
  keySuccessor,
  ownerOfStored,
  present,
  type Query,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { encodeIndexState, type IndexState, isFaulty, stateUnit, withFault } from "./index-state.ts";

export interface Page {
  readonly index: IndexDeclaration;
  /** As of which it begins. */
  readonly state: IndexState;
  /** Whether a registered module names the index; else it is dropped. */
  readonly isNamed: boolean;
  /** Most rows. */
  readonly items: number;
}

/** `needs`: items whose values the page has to know as well. */
export type Turned =
  | { readonly kind: "needs"; readonly units: readonly UnitId[] }
  | {
      readonly kind: "turned";
      readonly reads: readonly UnitId[];
      readonly writes: readonly Write[];
      /** Null: the index is no more. */
      readonly next: IndexState | null;
    };

/** The rows that the page goes over; null: it goes over none. */
export function rowsOf({ index, state, isNamed, items }: Page): Query | null {
  if (isEnding({ state, isNamed })) return null;
  const table = state.phase === "filling" ? index.table : index.name;
  const lo = state.after === null ? "" : keySuccessor(state.after);
  return { kind: "rows", table, lo, hi: "", limit: items, isReversed: false };
}

/** `rows`: as they were found. `captured`: values, those of the rows among them. */
export function turn(page: Page, rows: readonly DirectoryRow[], captured: ReadonlyMap<UnitId, Entry>): Turned {
  const { index, state } = page;
  if (isEnding(page)) return turned(index, [], [], { phase: "dropping", after: null, items: 0, faults: [] });
  switch (state.phase) {
    case "sweeping":
      return sweep(page, rows, captured);
    case "filling":
      return fill(page, rows, captured);
    default:
      return drop(page, rows);
  }
}

/** Nobody names the index, and it is kept still: that ends first. */
function isEnding({ state, isNamed }: Pick<Page, "state" | "isNamed">): boolean {
  return !isNamed && state.phase !== "dropping";
}

/** Removes entries that no item has. */
function sweep(page: Page, rows: readonly DirectoryRow[], captured: ReadonlyMap<UnitId, Entry>): Turned {
  const { index, state } = page;
  const entries = rows.map(({ key }) => {
    const unit = unitId(index.name, key);
    const owner = ownerOfStored(valueOf(captured, unit));
    return { key, unit, owned: owner === null ? null : { owner, item: unitId(index.table, owner) } };
  });
  const items = entries.flatMap(({ owned }) => owned?.item ?? []);
  const needs = items.filter((item) => !captured.has(item));
  if (needs.length > 0) return { kind: "needs", units: needs };
  const writes: Write[] = [];
  for (const { key, unit, owned } of entries) {
    const entry = owned === null ? null : entryOfStored(index, owned.owner, valueOf(captured, owned.item));
    if (entry?.key !== key) writes.push({ unit, value: null });
  }
  const last = rows.length < page.items ? undefined : rows.at(-1);
  const next: IndexState =
    last === undefined ? { ...state, phase: "filling", after: null } : { ...state, after: last.key };
  const reads = new Set([...entries.map(({ unit }) => unit), ...items]);
  return turned(index, [...reads], writes, next);
}

/** Adds the entries that items lack. */
function fill(page: Page, rows: readonly DirectoryRow[], captured: ReadonlyMap<UnitId, Entry>): Turned {
  const { index, state } = page;
  const items = rows.map(({ key }) => {
    const unit = unitId(index.table, key);
    const entry = entryOfStored(index, key, valueOf(captured, unit));
    return { key, unit, entry, to: entry === null || !isEntryKey(entry.key) ? null : unitId(index.name, entry.key) };
  });
  const entries = items.flatMap(({ to }) => to ?? []);
  const needs = entries.filter((unit) => !captured.has(unit));
  if (needs.length > 0) return { kind: "needs", units: needs };
  let { faults } = state;
  const coming = new Map<UnitId, { readonly owner: Key; readonly value: Uint8Array }>();
  for (const { key, unit, entry, to } of items) {
    if (entry === null) continue;
    const fields = (): readonly string[] => fieldsOf(index, present(valueOf(captured, unit), "the item has an entry"));
    if (to === null) {
      faults = withFault(faults, "too-long", fields(), [key]);
      continue;
    }
    const owner = coming.get(to)?.owner ?? ownerOfStored(valueOf(captured, to));
    if (owner === null) coming.set(to, { owner: key, value: entry.value });
    else if (owner !== key) faults = withFault(faults, "duplicates", fields(), [owner, key]);
  }
  const writes = Array.from(coming, ([unit, { value }]): Write => ({ unit, value }));
  const after = rows.at(-1)?.key ?? state.after;
  const done: IndexState = { ...state, after, items: state.items + rows.length, faults };
  const isOver = rows.length < page.items || isFaulty(done);
  const next: IndexState = isOver ? { ...done, phase: faults.length > 0 ? "stopped" : "ready", after: null } : done;
  const reads = new Set([...items.map(({ unit }) => unit), ...entries]);
  // variant: index-page-reads
  return turned(index, [...reads], writes, next);
}

/** Removes all entries. */
function drop({ index, state, items }: Page, rows: readonly DirectoryRow[]): Turned {
  const writes = rows.map(({ key }): Write => ({ unit: unitId(index.name, key), value: null }));
  const next = { ...state, after: rows.at(-1)?.key ?? null, items: state.items + rows.length };
  return turned(index, [], writes, rows.length < items ? null : next);
}

/** The position is stored with the page. */
function turned(
  { name }: IndexDeclaration,
  reads: readonly UnitId[],
  writes: readonly Write[],
  next: IndexState | null,
): Turned {
  const state: Write = { unit: stateUnit(name), value: next === null ? null : encodeIndexState(next) };
  // variant: index-page
  return { kind: "turned", reads, writes: [...writes, state], next };
}

function valueOf(captured: ReadonlyMap<UnitId, Entry>, unit: UnitId): Uint8Array | null {
  return present(captured.get(unit), "a page knows the values of what it goes over").value;
}

/** The indexed fields of a stored item, for people. */
function fieldsOf({ fields }: IndexDeclaration, item: Uint8Array): readonly string[] {
  const reader = new CborReader(item);
  const texts = new Map<string, string>();
  for (let left = reader.map(); left > 0; left--) {
    const name = reader.text();
    const kind = fields.includes(name) ? reader.peek() : null;
    if (kind === "text") texts.set(name, reader.text());
    else if (kind === "integer") texts.set(name, String(reader.integer()));
    else if (kind === "boolean") texts.set(name, String(reader.boolean()));
    else reader.skip();
  }
  return fields.map((field) => texts.get(field) ?? "");
}
