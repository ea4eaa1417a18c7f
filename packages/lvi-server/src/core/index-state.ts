/**
 * How far an index is built, as it is stored: an item of the hidden table `.indexes`, under the name of the index. So a page of
 * a build and the position behind it are one commit, on every storage.
 */
import {
  CborReader,
  CborWriter,
  INDEX_STATES,
  type IndexFault,
  type Key,
  MalformedError,
  splitUnit,
  type UnitId,
  unitId,
} from "@radical/protocol";

const PHASES = ["sweeping", "filling", "ready", "stopped", "dropping"] as const;

/**
 * - `sweeping`: entries that no item has are removed.
 * - `filling`: items get the entries that they lack.
 * - `ready`: an entry exists exactly if its item has the fields.
 * - `stopped`: some items can't be indexed as they are. Nobody keeps entries.
 * - `dropping`: no registered module names the index. Nobody keeps entries, and those that there are go.
 */
export type IndexPhase = (typeof PHASES)[number];

export interface IndexState {
  readonly phase: IndexPhase;
  /** The last key that is done: of an entry while sweeping or dropping, of an item while filling. Null: none is. */
  readonly after: Key | null;
  /** Items, or of a dropped index entries, that are done. */
  readonly items: number;
  readonly faults: readonly IndexFault[];
}

/** Of an index that has just been named for the first time. */
export const UNBUILT: IndexState = { phase: "sweeping", after: null, items: 0, faults: [] };

/** Most bytes of faults: a state is one item. */
const MOST_FAULTS = 100;
const MOST_KEYS = 10;
const MOST_CHARACTERS = 50_000;

/** Whether a build has found so many faults that it looks for no more. */
export function isFaulty({ faults }: IndexState): boolean {
  return faults.length >= MOST_FAULTS || JSON.stringify(faults).length > MOST_CHARACTERS;
}

/** The faults with another item of one: the items of a fault have the same fields. */
export function withFault(
  faults: readonly IndexFault[],
  kind: IndexFault["kind"],
  fields: readonly string[],
  keys: readonly Key[],
): readonly IndexFault[] {
  const at = faults.findIndex((fault) => fault.kind === kind && fault.fields.join("\0") === fields.join("\0"));
  const before = faults[at];
  if (before === undefined) return [...faults, { kind, fields, keys, items: keys.length }];
  const added = keys.filter((key) => !before.keys.includes(key));
  const all = [...before.keys, ...added].slice(0, MOST_KEYS);
  return faults.with(at, { ...before, keys: all, items: before.items + added.length });
}

export function stateUnit(index: string): UnitId {
  return unitId(INDEX_STATES, index);
}

export function encodeIndexState(state: IndexState): Uint8Array {
  return new CborWriter().text(JSON.stringify(state)).finish();
}

/** Throws a MalformedError. */
export function decodeIndexState(bytes: Uint8Array): IndexState {
  const reader = new CborReader(bytes);
  const text = reader.text();
  reader.end();
  const state = JSON.parse(text) as IndexState;
  if (!PHASES.includes(state.phase) || !Number.isSafeInteger(state.items) || !Array.isArray(state.faults))
    throw new MalformedError("malformed state of an index");
  return state;
}

/** The states among stored items, by the name of their index. Throws a MalformedError. */
export function indexStates(
  items: Iterable<{ readonly unit: UnitId; readonly value: Uint8Array }>,
): ReadonlyMap<string, IndexState> {
  return new Map(Array.from(items, ({ unit, value }) => [splitUnit(unit).key, decodeIndexState(value)]));
}
