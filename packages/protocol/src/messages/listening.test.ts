/** Golden lines stay in the tree, and must decode forever. */
import { describe, expect, test } from "vitest";
import { commitId, unitId } from "../ids.ts";
import { MalformedError } from "../malformed-error.ts";
import { BASE64, hint } from "../testing/messages.ts";
import { entryOf } from "../version.ts";
import { checkListeningQuestion, decodeLine, encodeLine } from "./listening.ts";

const GOLDEN_HINT =
  '[["users/ann","00000003-00000000004d","cfda230602136f95","Y2FiYw=="],["users/bob","00000003-00000000004d",null,null],["posts/a \\"key\\" €","00000003-00000000004d","52313586d18910ff","AP7/"]]\n';

const UNIT = unitId("notes", "a");
const { version } = entryOf(commitId(1, 1), Uint8Array.of(7));
const { commitId: id, hash } = version;
const WHOLE = { unit: UNIT, entry: { version, value: Uint8Array.of(7) } };
const whole = [UNIT, id, hash, "Bw=="];

test("golden line of a hint", () => {
  expect(encodeLine(hint, BASE64)).toBe(GOLDEN_HINT);
  expect(decodeLine(GOLDEN_HINT, BASE64)).toEqual(hint);
});

describe("a line", () => {
  test("that is none, or of a kind that is not known, is null", () => {
    for (const line of ["", "\n", "[", "{}", "null", "7", '"hint"', '["lease",1]'])
      expect(decodeLine(line, BASE64)).toBeNull();
  });

  test("without anything whole is a hint of nothing", () => {
    for (const line of ["[]", "[null]", "[[]]", "[1]"])
      expect(decodeLine(line, BASE64)).toEqual({ kind: "hint", entries: [] });
  });

  test.each([
    ["no unit", [1, id, hash, "Bw=="]],
    ["a unit that is none", ["notes", id, hash, "Bw=="]],
    ["no commit id", [UNIT, "soon", hash, "Bw=="]],
    ["no hash", [UNIT, id, "hash", "Bw=="]],
    ["a value without a hash", [UNIT, id, null, "Bw=="]],
    ["a hash without a value", [UNIT, id, hash, null]],
    ["another value than of its hash", [UNIT, id, hash, "Cw=="]],
    ["a value that is not base 64", [UNIT, id, hash, "%"]],
  ])("passes over an entry with %s, and takes the others", (_what, damaged) => {
    expect(decodeLine(JSON.stringify([damaged, whole]), BASE64)).toEqual({ kind: "hint", entries: [WHOLE] });
  });

  test("may have entries with fields that a later sender has added", () => {
    expect(decodeLine(JSON.stringify([[...whole, "more"]]), BASE64)).toEqual({ kind: "hint", entries: [WHOLE] });
  });

  test("says absent of a unit that was deleted", () => {
    const line = decodeLine(JSON.stringify([[UNIT, id, null, null]]), BASE64);
    expect(line?.entries).toEqual([{ unit: UNIT, entry: entryOf(id, null) }]);
  });
});

test("a question names its location and its listener", () => {
  expect(checkListeningQuestion({ location: "VA", listener: "one", more: 1 })).toEqual({
    location: "VA",
    listener: "one",
  });
  for (const wrong of [
    {},
    { location: "VA" },
    { location: "", listener: "one" },
    { location: 1, listener: "one" },
    { location: "VA", listener: "x".repeat(257) },
  ])
    expect(() => checkListeningQuestion(wrong)).toThrow(MalformedError);
});
