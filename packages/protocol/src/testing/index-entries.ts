/** Entries of indexes that must never change: stored ones are found by them. The SDK's tests have the same. */
import { CborWriter } from "../cbor.ts";

export interface GoldenEntry {
  readonly index: string;
  readonly key: string;
  /** The fields of the stored item. */
  readonly item: Readonly<Record<string, string | bigint | boolean | null>>;
  /** Null: the item has none. */
  readonly entry: string | null;
}

export const GOLDEN_ENTRIES: readonly GoldenEntry[] = [
  { index: "t.a", key: "k", item: { a: "x" }, entry: "x\0k" },
  { index: "t=a", key: "k", item: { a: "x" }, entry: "x\0" },
  { index: "t.a", key: "k", item: { a: "" }, entry: "\0k" },
  { index: "t.a", key: "k", item: { a: "1\u00002\u00013\u0002" }, entry: "1\u0001\u00012\u0001\u00023\u0002\0k" },
  { index: "t.a", key: "k/é😀", item: { a: "😀\uffff" }, entry: "😀\uffff\0k/é😀" },
  { index: "t.a+n", key: "k", item: { n: 5n, a: "ann" }, entry: "ann\u00000000000000000005\0k" },
  { index: "t.n+a", key: "k", item: { n: 255n, a: "ann" }, entry: "00000000000000ff\0ann\0k" },
  { index: "t.n", key: "k", item: { n: 0n }, entry: "0000000000000000\0k" },
  { index: "t.n", key: "k", item: { n: -1n }, entry: "-ffffffffffffffff\0k" },
  { index: "t.n", key: "k", item: { n: -(2n ** 63n) }, entry: "-8000000000000000\0k" },
  { index: "t.n", key: "k", item: { n: 2n ** 63n - 1n }, entry: "7fffffffffffffff\0k" },
  { index: "t.u", key: "k", item: { u: 2n ** 64n - 1n }, entry: "ffffffffffffffff\0k" },
  { index: "t.b", key: "k", item: { b: true }, entry: "1\0k" },
  { index: "t=b+a", key: "k", item: { a: "x", b: false }, entry: "0\0x\0" },
  { index: "t.a", key: "k", item: { a: null }, entry: null },
  { index: "t.a+n", key: "k", item: { a: "x", n: null }, entry: null },
  { index: "t.a+n", key: "k", item: { a: "x" }, entry: null },
  { index: "t.a", key: "k", item: {}, entry: null },
];

/** A record with these fields as it is stored. */
export function storedRecord(fields: GoldenEntry["item"]): Uint8Array {
  const pairs = Object.entries(fields);
  const writer = new CborWriter().map(pairs.length);
  for (const [name, value] of pairs) {
    writer.text(name);
    if (value === null) writer.null();
    else if (typeof value === "boolean") writer.boolean(value);
    else if (typeof value === "string") writer.text(value);
    else writer.integer(value);
  }
  return writer.finish();
}
