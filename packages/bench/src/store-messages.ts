/** What a Worker of the systems that Radical is compared with asks its storage, and what it is told: both in CBOR. */
import { CborReader, CborWriter, type Query, type ScanQuery, type UnitId } from "@radical/protocol";

/** One step of the storage, all of it or nothing. */
export interface Access {
  readonly reads: readonly UnitId[];
  /** Ranges to read. */
  readonly queries: readonly Query[];
  /** What was read before must still have these versions; else nothing is done. */
  readonly expects: ReadonlyMap<UnitId, number>;
  /** Empty: nothing is written. */
  readonly writes: ReadonlyMap<UnitId, Uint8Array | null>;
}

export interface StoredValue {
  /** Position of the step that wrote it; 0: it was there from the beginning. Of a span that of the last step that wrote into it. */
  readonly version: number;
  /** Of a span the directory of its rows, or their number. Null: absent. */
  readonly value: Uint8Array | null;
}

/** Null: something has changed that was read before. */
export type Accessed = {
  /** All steps up to this one have been seen, and none after it. */
  readonly position: number;
  /** Of the items; of each range the span that was observed, and the items of its rows. */
  readonly values: ReadonlyMap<UnitId, StoredValue>;
} | null;

export function encodeAccess({ reads, queries, expects, writes }: Access): Uint8Array {
  const writer = new CborWriter().array(4);
  writer.array(reads.length);
  for (const unit of reads) writer.text(unit);
  writer.array(queries.length);
  for (const query of queries) writeQuery(writer, query);
  writer.array(expects.size);
  for (const [unit, version] of expects) writer.array(2).text(unit).integer(version);
  writer.array(writes.size);
  for (const [unit, value] of writes) writeValue(writer.array(2).text(unit), value);
  return writer.finish();
}

export function decodeAccess(bytes: Uint8Array): Access {
  const reader = new CborReader(bytes);
  reader.array();
  const reads = listOf(reader, () => reader.text() as UnitId);
  const queries = listOf(reader, () => readQuery(reader));
  const expects = listOf(reader, () => pairOf(reader, () => Number(reader.integer())));
  const writes = listOf(reader, () => pairOf(reader, () => readValue(reader)));
  return { reads, queries, expects: new Map(expects), writes: new Map(writes) };
}

export function encodeAccessed(accessed: Accessed): Uint8Array {
  if (accessed === null) return new CborWriter().null().finish();
  const { position, values } = accessed;
  const writer = new CborWriter().array(2).integer(position).array(values.size);
  for (const [unit, { version, value }] of values) writeValue(writer.array(3).text(unit).integer(version), value);
  return writer.finish();
}

export function decodeAccessed(bytes: Uint8Array): Accessed {
  const reader = new CborReader(bytes);
  if (reader.nullIfNext()) return null;
  reader.array();
  const position = Number(reader.integer());
  const values = listOf(reader, () => {
    reader.array();
    const unit = reader.text() as UnitId;
    return [unit, { version: Number(reader.integer()), value: readValue(reader) }] as const;
  });
  return { position, values: new Map(values) };
}

/** A count has no limit and no direction. */
function writeQuery(writer: CborWriter, query: Query): void {
  writer.array(5).text(query.table).text(query.lo).text(query.hi);
  if (query.kind === "count") writer.null().null();
  else writer.integer(query.limit).integer(Number(query.isReversed));
}

function readQuery(reader: CborReader): Query {
  reader.array();
  const interval = { table: reader.text(), lo: reader.text(), hi: reader.text() };
  if (reader.nullIfNext()) {
    reader.nullIfNext();
    return { kind: "count", ...interval };
  }
  const limit = Number(reader.integer());
  const scan: ScanQuery = { ...interval, limit, isReversed: Number(reader.integer()) === 1 };
  return { kind: "rows", ...scan };
}

function writeValue(writer: CborWriter, value: Uint8Array | null): void {
  if (value === null) writer.null();
  else writer.bytes(value);
}

function readValue(reader: CborReader): Uint8Array | null {
  return reader.nullIfNext() ? null : reader.copiedBytes();
}

function listOf<T>(reader: CborReader, read: () => T): readonly T[] {
  return Array.from({ length: reader.array() }, read);
}

function pairOf<T>(reader: CborReader, read: () => T): readonly [UnitId, T] {
  reader.array();
  return [reader.text() as UnitId, read()];
}
