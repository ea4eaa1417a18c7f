import { commitId, entryOf, type UnitId, unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { entriesOf } from "./updates.ts";

const UNIT = unitId("notes", "a");

test("an update that is not whole is left out", () => {
  const { version } = entryOf(commitId(1, 1), Uint8Array.of(7));
  const { commitId: id, hash } = version;
  const whole = ["notes/a" as UnitId, id, hash, "Bw=="] as const;
  expect(entriesOf(JSON.stringify([whole]))).toEqual([{ unit: UNIT, entry: { version, value: Uint8Array.of(7) } }]);
  expect(entriesOf(JSON.stringify([["notes/a", id, null, null]]))).toEqual([{ unit: UNIT, entry: entryOf(id, null) }]);
  for (const line of ["", "[", "{}", "[null]", "[[]]"]) expect(entriesOf(line)).toEqual([]);
  for (const damaged of [
    [1, id, hash, "Bw=="],
    [UNIT, "soon", hash, "Bw=="],
    [UNIT, id, "hash", "Bw=="],
    [UNIT, id, null, "Bw=="],
    [UNIT, id, hash, null],
    [UNIT, id, hash, "Cw=="],
    [UNIT, id, hash, "%"],
  ])
    expect(entriesOf(JSON.stringify([damaged, whole]))).toHaveLength(1);
});
