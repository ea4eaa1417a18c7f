import { commitId, type Entry, entryOf, type UnitId, unitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pack, unpack } from "./packed-entries.ts";

const entry = fc
  .tuple(fc.nat(), fc.option(fc.uint8Array({ maxLength: 20 })))
  .map(([sequence, value]): Entry => entryOf(commitId(1, sequence), value));
const entries = fc
  .array(fc.tuple(fc.string({ minLength: 1, unit: "grapheme" }), entry))
  .map((all) => new Map(all.map(([key, one]): [UnitId, Entry] => [unitId("t", key), one])));

test("entries are the same behind a thread's door, absent and empty ones too", () => {
  fc.assert(
    fc.property(entries, entries, (before, sent) => {
      const packed = pack(sent);
      const unpacked = new Map(before);
      unpack(structuredClone(packed, { transfer: [packed.bytes.buffer] }), unpacked);
      expect(unpacked).toEqual(new Map([...before, ...sent]));
    }),
  );
});
