/** Tables, keys, intervals and rows for tests of whatever works on spans. Few of each, so that they meet. */
import fc from "fast-check";
import type { CommitId, DirectoryRow, Key, KeyInterval } from "../index.ts";
import { commitId, compareKeys, contentHash, entryOf, isBound } from "../index.ts";

/** Code points at each edge of UTF-8 and UTF-16. By UTF-16 the emoji comes before U+E000. */
const CHARACTERS = ["\0", "a", "b", "é", "\u{d7ff}", "\u{e000}", "\u{ffff}", "😀", "\u{10ffff}"] as const;

/** Up to three characters, or none. */
export const bound: fc.Arbitrary<string> = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 3 });

export const key: fc.Arbitrary<Key> = bound.filter((text) => text !== "").map((text) => text as Key);

export const table: fc.Arbitrary<string> = fc.constantFrom("t", "u");

export const interval: fc.Arbitrary<KeyInterval> = fc.record({ table, lo: bound, hi: bound });

/** Any well-formed text that may be a bound. */
export const anyBound: fc.Arbitrary<string> = fc
  .string({ unit: "binary", maxLength: 20 })
  .filter((text) => isBound(text, "t"));

/** Commit ids of one server. */
export const commit: fc.Arbitrary<CommitId> = fc.integer({ min: 1, max: 9 }).map((sequence) => commitId(1, sequence));

export const rows: fc.Arbitrary<readonly DirectoryRow[]> = fc
  .uniqueArray(fc.record({ key, commitId: commit, value: fc.uint8Array({ maxLength: 2 }) }), {
    selector: (row) => row.key,
    maxLength: 12,
  })
  .map((list) =>
    list
      .toSorted((a, b) => compareKeys(a.key, b.key))
      .map(({ key: of, commitId: id, value }) => ({ key: of, commitId: id, hash: contentHash(value) })),
  );

/** The row of an item with this value. */
export function directoryRow(of: string, id: CommitId, value: Uint8Array): DirectoryRow {
  return { key: of as Key, commitId: id, hash: entryOf(id, value).version.hash! };
}
