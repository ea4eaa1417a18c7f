/**
 * The identifiers of the protocol. All are branded strings: printable, comparable, usable as map keys,
 * and not interchangeable by mistake.
 */

import { BLOB_NAMES, BLOB_UPLOADS, BLOBS } from "./blob.ts";
import { INDEX_STATES, isIndexName, MAX_ENTRY_KEY_BYTES } from "./index-entry.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** 128 bits made by the client's location, as 32 lowercase hex characters; the same in every retry. */
export type ExecutionId = Branded<"ExecutionId">;

/** SHA-256 of a module as 64 lowercase hex characters. */
export type ModuleHash = Branded<"ModuleHash">;

/** The thing that is locked, versioned and validated: an item, as `table/key`, or a span (`span.ts`). Opaque on the wire. See `units.ts`. */
export type UnitId = Branded<"UnitId">;

/** The key of an item in its table. */
export type Key = Branded<"Key">;

/**
 * (server epoch, sequence) as fixed-width hex `eeeeeeee-ssssssssssss`. Never reused and only growing: {@link
 * compareCommits}.
 *
 * Departure from the paper (section 3.2), which counts versions per item. Such a counter restarts when a deleted item is
 * created again. Then an old cached version 3 equals a new version 3.
 */
export type CommitId = Branded<"CommitId">;

/** Names the numbered lines that an isolate of a location hears of one server. The server mints it; to a location it is a name only. */
export type SessionId = Branded<"SessionId">;

/** Smaller than every commit id: the version of what was never written. */
export const NO_COMMIT = "00000000-000000000000" as CommitId;

/** In the place of an execution id, for a run outside of any execution: a measurement, say. */
export const NO_EXECUTION = "0".repeat(32) as ExecutionId;

const EXECUTION_ID = /^[0-9a-f]{32}$/;
const MODULE_HASH = /^[0-9a-f]{64}$/;
const COMMIT_ID = /^[0-9a-f]{8}-[0-9a-f]{12}$/;
const SESSION_ID = /^[0-9]{1,16}\.[0-9]{1,16}$/;
const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Longest key of an item of a table, in UTF-8 bytes. */
export const MAX_KEY_BYTES = 512;

export function isExecutionId(text: string): text is ExecutionId {
  return EXECUTION_ID.test(text);
}

export function isModuleHash(text: string): text is ModuleHash {
  return MODULE_HASH.test(text);
}

export function isCommitId(text: string): text is CommitId {
  return COMMIT_ID.test(text);
}

export function isSessionId(text: string): text is SessionId {
  return SESSION_ID.test(text);
}

/** A session of a server of this epoch. `n`: of all its sessions this one only. */
export function sessionId(epoch: number, n: number): SessionId {
  return `${epoch}.${n}` as SessionId;
}

export function isTableName(text: string): boolean {
  return TABLE_NAME.test(text);
}

/** Whether items are stored under the name: that of a table, or a hidden one. */
export function isStoredTable(name: string): boolean {
  return isTableName(name) || isHiddenTable(name);
}

/** The hidden table in which the primary keeps, by the name of each handler with a schedule, how far that has come. */
export const SCHEDULE_STATES = ".schedules";

const HIDDEN_TABLES: ReadonlySet<string> = new Set([INDEX_STATES, SCHEDULE_STATES, BLOBS, BLOB_UPLOADS, BLOB_NAMES]);

/**
 * Whether the name is that of a table which no handler declares. It is that of an index, whose entries are items too, or one in
 * which the primary and the SDK keep something.
 */
export function isHiddenTable(name: string): boolean {
  return isIndexName(name) || HIDDEN_TABLES.has(name);
}

/** Most UTF-8 bytes of a key in a table or an index. */
export function maxKeyBytes(table: string): number {
  return isTableName(table) ? MAX_KEY_BYTES : MAX_ENTRY_KEY_BYTES;
}

/** Keys are well-formed (no lone surrogate), not empty and at most {@link MAX_KEY_BYTES} long in UTF-8. Those of entries are longer. */
export function isKey(text: string, most: number = MAX_KEY_BYTES): text is Key {
  return text.length > 0 && text.isWellFormed() && utf8Length(text) <= most;
}

/** Whether an entry of an index can be stored under the key. */
export function isEntryKey(text: string): text is Key {
  return isKey(text, MAX_ENTRY_KEY_BYTES);
}

/** Whether the text is the unit of an item. `isUnitId` takes spans too. */
export function isItemId(text: string): text is UnitId {
  const slash = text.indexOf("/");
  if (slash <= 0) return false;
  const table = text.slice(0, slash);
  return isStoredTable(table) && isKey(text.slice(slash + 1), maxKeyBytes(table));
}

/** The unit of an item. Throws a RangeError for a table name or key outside the rules above. */
export function unitId(table: string, key: string): UnitId {
  if (!isStoredTable(table)) throw new RangeError(`invalid table name ${JSON.stringify(table)}`);
  const most = maxKeyBytes(table);
  if (!isKey(key, most)) {
    throw new RangeError(
      `invalid key ${JSON.stringify(key.slice(0, 80))} in table ${table}: a key is well-formed text of 1 to ${most} UTF-8 bytes`,
    );
  }
  return `${table}/${key}` as UnitId;
}

/** The table of a unit, an item or a span. */
export function tableOf(unit: UnitId): string {
  const slash = unit.indexOf("/");
  const colon = unit.lastIndexOf(":", slash);
  return unit.slice(0, colon > 0 ? colon : slash);
}

/** The table and key of an item. */
export function splitUnit(unit: UnitId): { readonly table: string; readonly key: Key } {
  const slash = unit.indexOf("/");
  return { table: unit.slice(0, slash), key: unit.slice(slash + 1) as Key };
}

/** The order in which commit ids were taken: negative if `a` is the earlier one. Nothing else compares commit ids. */
export function compareCommits(a: CommitId, b: CommitId): number {
  // Their width is fixed.
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The order of keys, and of units: by their UTF-8 bytes, which is also the order of SQLite and of DynamoDB. Nothing else
 * orders keys or units. JavaScript's `<` compares UTF-16 code units, and so has U+E000 … U+FFFF after all that is above U+FFFF.
 */
export function compareKeys<Ordered extends Key | UnitId>(a: Ordered, b: Ordered): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    // variant: utf8-order
    if (x !== y) return x < 0xd800 || y < 0xd800 ? x - y : afterAll(x) - afterAll(y);
  }
  return a.length - b.length;
}

/** A code unit from U+D800 on, with surrogates after all others. */
function afterAll(code: number): number {
  return code < 0xe000 ? code + 0x2000 : code - 0x800;
}

/** For sorting whatever names a unit. */
export function byUnit(a: { readonly unit: UnitId }, b: { readonly unit: UnitId }): number {
  return compareKeys(a.unit, b.unit);
}

/** Throws a RangeError outside epoch 0 … 2³²−1, sequence 0 … 2⁴⁸−1. */
export function commitId(epoch: number, sequence: number): CommitId {
  if (!Number.isInteger(epoch) || epoch < 0 || epoch > 0xffffffff) throw new RangeError(`invalid epoch ${epoch}`);
  if (!Number.isInteger(sequence) || sequence < 0 || sequence > 0xffffffffffff) {
    throw new RangeError(`invalid sequence ${sequence}`);
  }
  return `${epoch.toString(16).padStart(8, "0")}-${sequence.toString(16).padStart(12, "0")}` as CommitId;
}

/** The parts of which {@link commitId} makes a commit id. */
export function commitParts(id: CommitId): { readonly epoch: number; readonly sequence: number } {
  return { epoch: Number.parseInt(id.slice(0, 8), 16), sequence: Number.parseInt(id.slice(9), 16) };
}

/** Of well-formed text. */
export function utf8Length(text: string): number {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      length += 4;
      i++;
    } else length += 3;
  }
  return length;
}
