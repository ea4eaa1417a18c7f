/**
 * The entries that the primary adds to the writes of an execution near storage, for the indexes that its module lacks. Pure: the
 * core gives the stored values, under locks of all that is named here.
 */
import {
  entryOfStored,
  type IndexDeclaration,
  isEntryKey,
  type Key,
  MAX_ENTRY_KEY_BYTES,
  NOT_UNIQUE,
  notUniqueMessage,
  type Outcome,
  ownerOfStored,
  splitUnit,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import type { IndexState } from "./index-state.ts";

type ValueOf = (unit: UnitId) => Uint8Array | null;

interface Kept {
  readonly declaration: IndexDeclaration;
  readonly state: Pick<IndexState, "phase">;
}

/** An item whose entry in an index goes, comes or moves. */
interface Move {
  readonly index: Kept;
  readonly key: Key;
  readonly from: UnitId | null;
  readonly to: { readonly unit: UnitId; readonly value: Uint8Array } | null;
}

/** Moves of entries, or why the item can't be written. */
export type Moves =
  | { readonly kind: "moves"; readonly moves: readonly Move[]; readonly units: readonly UnitId[] }
  | { readonly kind: "refused"; readonly outcome: Outcome };

/** The entries that differ between the stored items and the written ones. */
export function movesOf(writes: readonly Write[], keptFor: (table: string) => readonly Kept[], stored: ValueOf): Moves {
  const moves: Move[] = [];
  const units = new Set<UnitId>();
  for (const { unit, value } of writes) {
    const { table, key } = splitUnit(unit);
    for (const index of keptFor(table)) {
      const { name } = index.declaration;
      // The stored item may have been there before the index, with fields that are too long.
      const before = entryOfStored(index.declaration, key, stored(unit));
      const after = entryOfStored(index.declaration, key, value);
      if (before?.key === after?.key) continue;
      if (after !== null && !isEntryKey(after.key)) return { kind: "refused", outcome: tooLong(index.declaration) };
      const from = before === null || !isEntryKey(before.key) ? null : unitId(name, before.key);
      const to = after === null ? null : { unit: unitId(name, after.key), value: after.value };
      moves.push({ index, key, from, to });
      if (from !== null) units.add(from);
      if (to !== null) units.add(to.unit);
    }
  }
  return { kind: "moves", moves, units: [...units] };
}

/** The writes that the moves make of the stored entries, or the end of an execution that would break a unique index. */
export function keptWrites(
  moves: readonly Move[],
  stored: ValueOf,
):
  | { readonly kind: "writes"; readonly writes: readonly Write[] }
  | { readonly kind: "refused"; readonly outcome: Outcome } {
  const coming = new Map<UnitId, Uint8Array | null>();
  const entry = (unit: UnitId): Uint8Array | null => coming.get(unit) ?? (coming.has(unit) ? null : stored(unit));
  // All that go first: items of one execution may change places.
  for (const { key, from } of moves)
    // While the index is built, the entry may be that of another item with the same fields.
    // variant: index-owner
    if (from !== null && ownerOfStored(entry(from)) === key) coming.set(from, null);
  for (const { index, key, to } of moves) {
    if (to === null) continue;
    const owner = ownerOfStored(entry(to.unit));
    // An entry that nobody has swept yet may be that of no item. Filling finds the duplicates.
    // variant: index-unique
    if (owner !== null && owner !== key && index.state.phase !== "sweeping")
      return { kind: "refused", outcome: notUnique(index.declaration) };
    if (owner !== key) coming.set(to.unit, to.value);
  }
  return { kind: "writes", writes: Array.from(coming, ([unit, value]): Write => ({ unit, value })) };
}

function notUnique(index: IndexDeclaration): Outcome {
  return { kind: "abort", status: 409, code: NOT_UNIQUE, message: notUniqueMessage(index) };
}

function tooLong({ table, fields }: IndexDeclaration): Outcome {
  const message = `An item of ${table} has more than ${MAX_ENTRY_KEY_BYTES} bytes in ${fields.join(", ")}, so that no index can have it.`;
  return { kind: "abort", status: 400, code: "entry_too_long", message };
}
