/** Fields that several messages share, checked as they are read. */
import type { CborReader, CborWriter } from "../cbor.ts";
import { isContentHash } from "../content-hash.ts";
import { isCaller } from "../environment.ts";
import {
  type CommitId,
  type ExecutionId,
  type ModuleHash,
  type SessionId,
  type UnitId,
  isCommitId,
  isExecutionId,
  isModuleHash,
  isSessionId,
  isItemId,
} from "../ids.ts";
import { MalformedError, TooLargeError, UnknownVersionError } from "../malformed-error.ts";
import { RecentTexts } from "../recent.ts";
import { isSpan, isUnitId } from "../span.ts";
import { type Entry, isIntact, type Repair, type Version, type Write } from "../version.ts";
import { FRAMING } from "../wire-version.ts";

/** Starts a message of `length` fields, the protocol version not counted. */
export function openMessage(writer: CborWriter, length: number): void {
  writer.array(length + 1).integer(FRAMING.sent);
}

/** The number of fields that follow the protocol version; `required` of them must be there. */
export function readMessageHead(reader: CborReader, required: number): number {
  const length = reader.array() - 1;
  const version = reader.integer();
  if (version < FRAMING.floor || version > FRAMING.newest) throw new UnknownVersionError(version);
  if (length < required) throw new MalformedError(`message of ${length} fields, at least ${required} expected`);
  return length;
}

/** Skips fields that a later sender added. */
export function closeMessage(reader: CborReader, extra: number): void {
  for (let i = 0; i < extra; i++) reader.skip();
  reader.end();
}

export function readExecutionId(reader: CborReader): ExecutionId {
  const text = reader.ascii32() ?? reader.text();
  if (!isExecutionId(text)) throw new MalformedError("malformed execution id");
  return text;
}

const NAMES = new RecentTexts("name", (_text): _text is string => true);
const MODULE_HASHES = new RecentTexts("module hash", isModuleHash);
const UNIT_IDS = new RecentTexts("unit", isUnitId);
const ITEM_IDS = new RecentTexts("item", isItemId);
const COMMIT_IDS = new RecentTexts("commit id", isCommitId);
const SESSION_IDS = new RecentTexts("session", isSessionId);
const CONTENT_HASHES = new RecentTexts("content hash", isContentHash);

/** On whose behalf a sender asks. */
export function readCaller(reader: CborReader): string {
  const text = reader.text();
  if (!isCaller(text)) throw new MalformedError("malformed caller");
  return text;
}

/** A name that a sender chooses. */
export function readName(reader: CborReader, what: string, maxLength: number): string {
  const text = reader.recentText(NAMES);
  if (text.length > maxLength)
    throw new TooLargeError(`the name of the ${what} is longer than ${maxLength} characters`);
  return text;
}

export function readModuleHash(reader: CborReader): ModuleHash {
  return reader.recentText(MODULE_HASHES);
}

export function readUnitId(reader: CborReader): UnitId {
  return reader.recentText(UNIT_IDS);
}

/** A unit that may be written. */
function readItemId(reader: CborReader): UnitId {
  return reader.recentText(ITEM_IDS);
}

export function readCommitId(reader: CborReader): CommitId {
  return reader.recentText(COMMIT_IDS);
}

export function readSessionId(reader: CborReader): SessionId {
  return reader.recentText(SESSION_IDS);
}

export function writeNullable<T>(writer: CborWriter, value: T | null, write: (value: T) => void): void {
  if (value === null) writer.null();
  else write(value);
}

export function readNullable<T>(reader: CborReader, read: () => T): T | null {
  return reader.nullIfNext() ? null : read();
}

/** Most units in one message; far more than a server takes, and few enough to be decoded in passing. */
const MAX_LISTED_UNITS = 100_000;

export function readUnits<T>(reader: CborReader, read: () => T): readonly T[] {
  const list: T[] = [];
  const count = reader.array();
  if (count > MAX_LISTED_UNITS) throw new TooLargeError(`${count} units in one message; at most ${MAX_LISTED_UNITS}`);
  for (let i = count; i > 0; i--) list.push(read());
  return list;
}

export function writeVersion(writer: CborWriter, version: Version): void {
  writer.array(2).text(version.commitId);
  writeNullable(writer, version.hash, (hash) => writer.text(hash));
}

export function readVersion(reader: CborReader): Version {
  if (reader.array() !== 2) throw new MalformedError("malformed version");
  const commitId = readCommitId(reader);
  return { commitId, hash: reader.nullIfNext() ? null : reader.recentText(CONTENT_HASHES) };
}

export function writeWrites(writer: CborWriter, writes: readonly Write[]): void {
  writer.array(writes.length);
  for (const write of writes) {
    writer.array(2).text(write.unit);
    writeNullable(writer, write.value, (value) => writer.bytes(value));
  }
}

export function readWrites(reader: CborReader): readonly Write[] {
  return readUnits(reader, () => {
    if (reader.array() !== 2) throw new MalformedError("malformed write");
    return { unit: readItemId(reader), value: readValue(reader) };
  });
}

export function writeRepairs(writer: CborWriter, repairs: readonly Repair[]): void {
  writer.array(repairs.length);
  for (const { unit, entry } of repairs) {
    writer.array(3).text(unit);
    writeVersion(writer, entry.version);
    writeNullable(writer, entry.value, (value) => writer.bytes(value));
  }
}

export function readRepairs(reader: CborReader): readonly Repair[] {
  return readUnits(reader, () => {
    if (reader.array() !== 3) throw new MalformedError("malformed repair");
    const unit = readUnitId(reader);
    const entry: Entry = { version: readVersion(reader), value: readValue(reader) };
    if ((entry.value === null) !== (entry.version.hash === null)) throw new MalformedError("repair without its value");
    // Changed on its way, it would be validated by the version that it names. A span is validated by its rows.
    if (!isSpan(unit) && !isIntact(unit, entry)) throw new MalformedError("repair with another value than its version");
    return { unit, entry };
  });
}

/** Values are copied, so that they don't keep their message in memory. */
function readValue(reader: CborReader): Uint8Array | null {
  return readNullable(reader, () => reader.bytes().slice());
}
