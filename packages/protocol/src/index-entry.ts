/**
 * Indexes: hidden tables whose items are *entries*. An entry says under which fields an item of the indexed table is found. The
 * name of an index says all about it: `posts.author+at` is an index of `posts`, and `users=email` is a unique one of `users`.
 *
 * The key of an entry consists of the item's fields, each ended by U+0000. Entries of an index that is not unique end with the
 * item's key. The value is the item's key. An entry exists exactly if its item has these fields. So a stored item that lacks
 * one of them, or has null there, has no entry. The SDK makes the same entries (`sdk/assembly/indexes.ts`).
 */
import { CborReader, CborWriter } from "./cbor.ts";
import type { Key } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";

export interface IndexDeclaration {
  /** Of the hidden table with the entries. */
  readonly name: string;
  /** The table whose items are found. */
  readonly table: string;
  /** The names of the fields, in their order in the entries. */
  readonly fields: readonly string[];
  /** Whether two items can't have the same fields. */
  readonly unique: boolean;
}

export interface IndexEntry {
  /** In the hidden table. It may be longer than keys of that table can be: then the item can't be stored. */
  readonly key: Key;
  readonly value: Uint8Array;
}

/** Most characters of the name of an index. */
export const MAX_INDEX_NAME_LENGTH = 255;

/** Longest key of an entry, in UTF-8 bytes. */
export const MAX_ENTRY_KEY_BYTES = 1024;

/** The hidden table in which the primary keeps, by the name of each index, how far it is built. No index has this name. */
export const INDEX_STATES = ".indexes";

const INDEX_NAME =
  /^(?<table>[A-Za-z_][A-Za-z0-9_-]{0,63})(?<kind>[.=])(?<fields>[A-Za-z_$][A-Za-z0-9_$]*(?:\+[A-Za-z_$][A-Za-z0-9_$]*)*)$/;

const FIELD_NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Whether an index can have a field of that name. */
export function isIndexedName(field: string): boolean {
  return FIELD_NAME.test(field);
}

export function indexName({ table, fields, unique }: Omit<IndexDeclaration, "name">): string {
  return `${table}${unique ? "=" : "."}${fields.join("+")}`;
}

/** The index that has the name; null: it is not the name of one. */
export function indexOf(name: string): IndexDeclaration | null {
  if (name.length > MAX_INDEX_NAME_LENGTH) return null;
  const match = INDEX_NAME.exec(name);
  if (match === null) return null;
  const [, table, kind, fields] = match as unknown as [string, string, string, string];
  return { name, table, fields: fields.split("+"), unique: kind === "=" };
}

export function isIndexName(name: string): boolean {
  return indexOf(name) !== null;
}

/**
 * The entry of an item; null: it has none. `item` is its stored value, and null if there is no item. Throws a MalformedError for
 * bytes that are not a value.
 */
export function indexEntryOf(index: IndexDeclaration, key: Key, item: Uint8Array | null): IndexEntry | null {
  if (item === null) return null;
  const parts = partsOf(index.fields, item);
  if (parts === null) return null;
  const prefix = parts.map((part) => `${part}\0`).join("");
  return {
    key: (index.unique ? prefix : prefix + key) as Key,
    value: new CborWriter().text(key).finish(),
  };
}

/** The code with which an execution ends that puts a second item with the same fields. */
export const NOT_UNIQUE = "not_unique";

export function notUniqueMessage({ table, fields }: IndexDeclaration): string {
  return `Another item of ${table} has the same ${fields.join(", ")}.`;
}

/** The key of the item that an entry belongs to. Throws a MalformedError. */
export function itemOfEntry(value: Uint8Array): Key {
  const reader = new CborReader(value);
  const key = reader.text();
  reader.end();
  return key as Key;
}

/** The entry of whatever is stored as an item; null: it has none. Bytes that are not a value have no fields. */
export function entryOfStored(index: IndexDeclaration, key: Key, item: Uint8Array | null): IndexEntry | null {
  return unlessMalformed(() => indexEntryOf(index, key, item));
}

/** The key of the item that whatever is stored as an entry belongs to; null: it belongs to none. */
export function ownerOfStored(entry: Uint8Array | null): Key | null {
  return entry === null ? null : unlessMalformed(() => itemOfEntry(entry));
}

function unlessMalformed<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedError) return null;
    throw error;
  }
}

/** The encoded fields of a stored record; null: it lacks one of them. */
function partsOf(fields: readonly string[], item: Uint8Array): readonly string[] | null {
  const reader = new CborReader(item);
  if (reader.peek() !== "map") return null;
  const found = new Map<string, string>();
  for (let left = reader.map(); left > 0; left--) {
    const name = reader.text();
    const part = fields.includes(name) ? partIn(reader) : null;
    if (part === null) reader.skip();
    else found.set(name, part);
  }
  const parts = fields.map((field) => found.get(field));
  return parts.includes(undefined) ? null : (parts as readonly string[]);
}

/** The next value as a part of an entry's key; null: it is none, and is not read. */
function partIn(reader: CborReader): string | null {
  switch (reader.peek()) {
    case "text":
      return textPart(reader.text());
    case "integer":
      return integerPart(reader.integer());
    case "boolean":
      return reader.boolean() ? "1" : "0";
    default:
      return null;
  }
}

/** U+0000 ends a part, so it can't be in one. The order of texts stays. */
function textPart(text: string): string {
  return text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
}

/** 16 hexadecimal digits, those of a negative number behind a minus sign: parts are in the order of the numbers. */
function integerPart(value: number | bigint): string {
  const number = BigInt(value);
  const digits = BigInt.asUintN(64, number).toString(16).padStart(16, "0");
  return number < 0n ? `-${digits}` : digits;
}
